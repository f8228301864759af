"""``sort --ask CMD``: a command of the user, which asks a model."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from tempfile import TemporaryFile

from catmem.errors import ConfigError, errors_at
from catmem.text import decode

_LONGEST = 600
"""Seconds that a command may take."""
_HINT = "Nothing was written. The command gets the prompt on standard input, and prints the answer."


def answer_of(command: str, prompt: str) -> str:
    """What a command of the user's shell answers. Raises ``ConfigError`` (``ask_failed``) and ``UnreadableError``."""
    shell = os.environ.get("SHELL") or "/bin/sh"
    # Files and no pipes: what the command left running may hold its output open, and is not waited for.
    with TemporaryFile() as asked, TemporaryFile() as answer:
        asked.write(prompt.encode())
        asked.seek(0)
        try:
            # In a session of its own, so that all that it started ends with it.
            running = subprocess.Popen(  # noqa: S603 - the user names it
                [shell, "-c", command], stdin=asked, stdout=answer, start_new_session=True
            )
        except OSError as error:
            raise _failed(f"cannot be run by {shell}: {error.strerror}") from error
        with running:
            try:
                status = running.wait(_LONGEST)
            except subprocess.TimeoutExpired as error:
                raise _failed(f"gave no answer within {_LONGEST:,} seconds, and was ended") from error
            finally:
                with suppress(ProcessLookupError):  # what it started and left behind ends too
                    os.killpg(running.pid, signal.SIGKILL)
        if status:
            program = next((word for word in command.split() if "=" not in word), "")  # what follows may be a secret
            raise _failed(f"ended with status {status}: {program}")
        answer.seek(0)
        with errors_at(hint=_HINT):
            return decode(answer.read())


def _failed(why: str) -> ConfigError:
    return ConfigError(f"the command of --ask {why}", code="ask_failed", hint=_HINT)
