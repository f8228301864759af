"""Rules for Prometheus and a dashboard for Grafana: ``python -m catmem.server.monitoring alerts`` or ``dashboard``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ALERTS = Path(__file__).with_name("alerts.yml")
"""Alert rules for Prometheus."""
DASHBOARD = Path(__file__).with_name("dashboard.json")
"""A dashboard for Grafana."""


def main() -> None:
    """Print one of the two."""
    files = {"alerts": ALERTS, "dashboard": DASHBOARD}
    reader = argparse.ArgumentParser("python -m catmem.server.monitoring")
    reader.add_argument("what", choices=files, help="rules for Prometheus, or a dashboard for Grafana")
    sys.stdout.write(files[reader.parse_args().what].read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
