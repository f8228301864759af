"""``python -m catmem`` is the command ``catmem``."""

from catmem.cli.main import main

if __name__ == "__main__":
    main()
