"""The command ``catmem``, and ``python -m catmem``: what has to be quick is answered before the command line loads."""

import sys
from contextlib import suppress
from importlib import import_module

from catmem.commands import QUICK


def main() -> None:
    """Run the command (the entry point of the package)."""
    module = QUICK.get(sys.argv[1]) if len(sys.argv) > 1 else None
    with suppress(ModuleNotFoundError):  # of a plugin that is away the command line says so
        if module is not None and import_module(module).answered(sys.argv[2:]):
            return
    from catmem.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
