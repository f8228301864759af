"""``--ask CMD``: a command of the user that gets a prompt on its standard input, and prints what a model answers."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from threading import Thread

from catmem.errors import ConfigError, UnreadableError
from catmem.ops.table import UsageError
from catmem.text import decode

VARIABLE = "CATMEM_ASK"
"""The environment variable with the command of a bare ``--ask``. No file of a root names one: others may write it."""
_LONGEST = 600
"""Seconds that a command may take."""
_MOST = 1 << 20
"""Bytes that it may print."""
_LOOK, _LAST = 0.05, 1.0
"""Seconds between two looks whether it ended, and for the rest of its output then."""
_HINT = "Nothing was written. The command gets the prompt on standard input, and prints the answer."


def command_of(given: str) -> str:
    """The command that was given, or that the environment names. Raises ``UsageError`` if there is none."""
    command = given.strip() or os.environ.get(VARIABLE, "").strip()
    if not command:
        raise UsageError(f"Name a command, such as --ask 'llm -m MODEL', or set {VARIABLE}.")
    return command


def answer_of(command: str, prompt: str) -> str:
    """What a command of the user's shell answers. Raises ``ConfigError`` (``ask_failed``) and ``UnreadableError``."""
    shell = os.environ.get("SHELL") or "/bin/sh"
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is signal.SIG_DFL:  # as Ctrl-C, so that the command ends too
            signal.signal(ending, signal.default_int_handler)
    try:
        # In a session of its own, so that all that it started ends with it.
        asked = subprocess.Popen(  # noqa: S603 - the user names it
            [shell, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
    except OSError as error:
        raise _failed(f"cannot be run by {shell}: {error.strerror}") from error
    with asked:
        try:
            answer = _exchanged(asked, prompt.encode())
        finally:
            with suppress(ProcessLookupError):  # what it started and left behind ends too
                os.killpg(asked.pid, signal.SIGKILL)
    if asked.returncode:
        program = next((word for word in command.split() if "=" not in word), "")  # what follows may be a secret
        raise _failed(f"ended with status {asked.returncode}: {program}")
    try:
        return decode(answer)
    except UnreadableError as error:
        error.hint = _HINT
        raise


def _exchanged(asked: subprocess.Popen[bytes], prompt: bytes) -> bytes:
    """What a command prints until it ends: what it left running may hold its output open, and is not waited for."""
    answer, end = bytearray(), time.monotonic() + _LONGEST

    def give() -> None:
        # It may end, or end its input, before it has read all.
        with suppress(OSError, ValueError), asked.stdin as stream:  # type: ignore[union-attr]
            stream.write(prompt)

    def take() -> None:
        while len(answer) <= _MOST and (more := os.read(asked.stdout.fileno(), _MOST)):  # type: ignore[union-attr]
            answer.extend(more)

    taking = Thread(target=take, daemon=True)
    taking.start()
    Thread(target=give, daemon=True).start()
    while taking.is_alive() and asked.poll() is None and time.monotonic() < end:
        taking.join(_LOOK)
    taking.join(_LAST if asked.returncode is not None else 0)
    if len(answer) > _MOST:
        raise _failed(f"printed more than {_MOST:,} bytes, and was ended")
    try:
        asked.wait(max(0, end - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise _failed(f"gave no answer within {_LONGEST:,} seconds, and was ended") from error
    return bytes(answer)


def _failed(why: str) -> ConfigError:
    return ConfigError(f"the command of --ask {why}", code="ask_failed", hint=_HINT)
