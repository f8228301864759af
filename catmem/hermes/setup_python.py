"""Whether the Python of Hermes Agent can import catmem: found by the ``hermes`` command that is on the PATH."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

_FIRST_LINE = 4096
_SECONDS = 30
_TRY = "import catmem.hermes.plugin"


def hermes_python() -> Path | None:
    """The interpreter that the ``hermes`` command names in its first line; ``None`` where that cannot be known."""
    found = shutil.which("hermes")
    if found is None:
        return None
    try:
        with Path(found).open("rb") as stream:
            line = stream.readline(_FIRST_LINE)
    except OSError:
        return None  # nothing is known of it then, and that is what is said
    if not line.startswith(b"#!"):
        return None
    python = Path(line[2:].decode(errors="replace").strip())
    is_python = python.is_absolute() and python.name.startswith("python")
    return python if is_python and python.is_file() else None


def can_import(python: Path) -> bool | None:
    """Whether an interpreter can import the plugin; ``None`` if it does not answer."""
    with tempfile.TemporaryDirectory() as empty:
        # In a folder of its own: the working folder would count as a place to import from.
        try:
            done = subprocess.run(  # noqa: S603 - the interpreter that the user's own hermes command names
                [str(python), "-c", _TRY], cwd=empty, capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return done.returncode == 0
