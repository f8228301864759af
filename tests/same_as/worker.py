"""Runs in the environment of a build: loads the package once, and forks for each command line that comes in.

A fork costs a fifth of a new process, and has its own folder, environment, streams, exit status and end. Of the build it
knows the name of the package and the console script alone, so that any layout of modules will do.
"""

import gc
import json
import os
import pkgutil
import signal
import sys
import traceback
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec

SECONDS = 120
PACKAGE = "catmem"
LIBRARIES = ("click", "yaml", "jsonschema", "mistune", "ahocorasick", "snowballstemmer", "sqlalchemy")


def main() -> None:
    (script,) = entry_points(group="console_scripts", name=PACKAGE)
    command_line = script.load()
    preload()
    for line in iter(sys.stdin.buffer.readline, b""):
        child = os.fork()
        if child == 0:
            become(json.loads(line))
            end(status_of(command_line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def preload() -> None:
    """Import all modules, but for those that need a program which is not installed here."""
    for name in filter(find_spec, LIBRARIES):  # an older build may need one that a newer has no use for
        import_module(name)
    for module in pkgutil.walk_packages(import_module(PACKAGE).__path__, f"{PACKAGE}."):
        if module.name.endswith("__main__"):
            continue
        try:
            import_module(module.name)
        except ImportError as error:
            if (error.name or PACKAGE).startswith(PACKAGE):
                raise
    gc.collect()
    gc.freeze()  # no child looks at, and so copies, what all have


def become(request) -> None:
    """Be the process that the request describes. One that does not end is ended, and its status says so."""
    signal.alarm(SECONDS)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        opened = os.open(request[name], os.O_RDONLY if name == "stdin" else os.O_WRONLY | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(os.dup(0), encoding="utf-8")  # the old one may have read ahead
    sys.argv = [PACKAGE, *request["arguments"]]


def status_of(command_line) -> int:
    """The exit status that Python would end with."""
    try:
        code = command_line()
    except SystemExit as error:
        code = error.code
    except BaseException:  # noqa: BLE001 - whatever it is, Python would print it and end
        traceback.print_exc()
        return 1
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def end(status: int) -> None:
    """End at once: Python's own end would touch, and so copy, all that was loaded."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
