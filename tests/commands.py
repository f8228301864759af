"""`catmem` with the folder and the environment of a process, in this process: a tenth of what a new one costs."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING
from unittest import mock

from click.testing import CliRunner

from catmem.cli.main import group

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from click.testing import Result


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
