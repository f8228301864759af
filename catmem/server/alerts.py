"""The alert rules for Prometheus: ``python -m catmem.server.alerts > catmem-alerts.yml``."""

from __future__ import annotations

import sys
from pathlib import Path

RULES = Path(__file__).with_name("alerts.yml")
"""The file that the package carries."""


def main() -> None:
    """Print the rules."""
    sys.stdout.write(RULES.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
