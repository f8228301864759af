"""`catmem` with the folder and the environment of a process, in this process: a tenth of what a new one costs."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest import mock

from click.testing import CliRunner, Result

from catmem.cli.main import group


def catmem(
    folder: Path | str, arguments: Sequence[str], environment: Mapping[str, str] | None = None, said: str = ""
) -> Result:
    """Run the command line in ``folder``, with ``environment`` in the place of our own, and ``said`` as its input.

    Raises what it did not expect.
    """
    with contextlib.chdir(folder), contextlib.ExitStack() as stack:
        if environment is not None:
            stack.enter_context(mock.patch.dict(os.environ, environment, clear=True))
        result = CliRunner().invoke(group, list(arguments), prog_name="catmem", input=said)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result
