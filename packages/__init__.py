"""What other programs install catmem by; ``make.py`` makes it from ``description.toml``."""
