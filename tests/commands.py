"""`catmem` as a process runs it: in this process, for a tenth of what a new one costs; or on a disk that is full."""

import contextlib
import logging
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from unittest import mock

from click.testing import CliRunner, Result

from catmem.cli.main import group


class _AsInAProcess(logging.Handler):
    """A process has no handler of its own, so what is logged goes to standard error, but for JSON; pytest has one."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger("catmem").handlers and logging.lastResort is not None:
            logging.lastResort.handle(record)


def catmem(
    folder: Path | str, arguments: Sequence[str], environment: Mapping[str, str] | None = None, said: str = ""
) -> Result:
    """Run the command line in ``folder``, with ``environment`` in the place of our own, and ``said`` as its input.

    Raises what it did not expect.
    """
    with contextlib.chdir(folder), contextlib.ExitStack() as stack:
        if environment is not None:
            stack.enter_context(mock.patch.dict(os.environ, environment, clear=True))
        handler = _AsInAProcess()
        logging.getLogger().addHandler(handler)
        stack.callback(logging.getLogger().removeHandler, handler)
        stack.enter_context(mock.patch.object(logging.getLogger("catmem"), "handlers", []))
        result = CliRunner().invoke(group, list(arguments), prog_name="catmem", input=said)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


KILLED_BY_THE_LIMIT = (
    "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); "
    "from catmem.cli.main import main; sys.argv[0] = 'catmem'; main()"
)
"""Has the system kill the process where it writes more than it may, in the middle of a file."""


def limited(size: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with words, on a disk that takes no more than so many bytes into a file."""
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
        check=False,
    )
