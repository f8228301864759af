"""``--ask CMD``: a command of the user that gets a prompt on its standard input, and prints what a model answers."""

from __future__ import annotations

import shlex
import subprocess

from catmem.errors import ConfigError, UnreadableError
from catmem.text import decode

_HINT = "Nothing was written. The command gets the prompt on standard input, and prints JSON."


def answer_of(command: str, prompt: str) -> str:
    """What the command answers. Raises ``ConfigError`` (``ask_failed``) and ``UnreadableError``."""
    try:
        words = shlex.split(command) or [""]
        done = subprocess.run(words, input=prompt.encode(), stdout=subprocess.PIPE, check=False)  # noqa: S603 - the user names it
        failed = f"ended with status {done.returncode}" if done.returncode else ""
    except (OSError, ValueError) as error:
        failed = f"cannot be run: {getattr(error, 'strerror', None) or error}: {command.partition(' ')[0]}"
    if failed:
        raise ConfigError(f"the command of --ask {failed}", code="ask_failed", hint=_HINT)
    try:
        return decode(done.stdout)
    except UnreadableError as error:
        error.hint = _HINT
        raise
