"""The dashboard for Grafana: ``python -m catmem.server.dashboard > catmem-dashboard.json``."""

from __future__ import annotations

import sys
from pathlib import Path

DASHBOARD = Path(__file__).with_name("dashboard.json")
"""The file that the package carries."""


def main() -> None:
    """Print the dashboard."""
    sys.stdout.write(DASHBOARD.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
