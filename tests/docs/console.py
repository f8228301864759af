"""Running the console examples of a page in bash, and comparing what they print.

A line that begins with `$ ` is a command, `> ` continues it, and the lines up to the next command are what it prints
(standard output and standard error together), where a line `...` stands for any lines. One shell's folder and exit
status carry over to the next command of the page; a command that fails has to be followed by `$ echo $?`.

A command that begins with a plain `catmem` runs that part in this process, which costs a tenth of a new one; bash runs
what is around it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.commands import catmem

# What installs things or needs the checkout: it is not run here.
_NOT_RUN = re.compile(r"(make|git clone|(python3? -m )?pip3? install|pipx install|cd catmem\b)(\s|$)")
_SECONDS = 60

# `catmem` with words that mean to bash what they mean to `shlex`, and what comes behind it.
_PLAIN = re.compile(
    r"""(catmem(?:\ ++(?:[\w@%+=:,./^-]|'[^']*'|"[^"$`\\!]*")++(?![<>]))*+)\ *((?:[|>;]|2>|&&|\Z).*)""", re.DOTALL
)
# Where a server is, as pages show it.
SHOWN_URL = "http://127.0.0.1:8428"
# What waits, or starts processes of its own.
_PROCESSES = {"mcp", "serve", "simulate", "watch"}


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a console example, and the output that the page shows for it."""

    text: str
    output: str

    @property
    def is_run(self) -> bool:
        return not _NOT_RUN.match(self.text)


def commands(example: str) -> list[Command]:
    """The commands of a console example; ValueError if it does not begin with one."""
    found: list[tuple[list[str], list[str]]] = []
    for line in example.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif not found:
            raise ValueError(f"a console example begins with a command, not with {line!r}")
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    return [Command("\n".join(command), "\n".join(output).rstrip("\n")) for command, output in found]


class Shell:
    """Runs the commands of one page, each in its own bash, in the folder that the one before it ended in."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder = str(folder)
        self.status = 0
        self._left_in = scratch / "folder"
        self._server: subprocess.Popen[str] | None = None
        self._url = SHOWN_URL
        self._printed = [scratch / name for name in ("out", "err")]
        scripts = sysconfig.get_path("scripts")
        self._environment = {
            "CATMEM_PERSON": "",
            "CLAUDE_CONFIG_DIR": "",
            "CODEX_HOME": "",
            "HOME": str(scratch),
            "LANG": "C.UTF-8",
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "TERM": "dumb",
        }

    def serve(self) -> None:
        """Start `catmem serve` in the folder, on a free port; commands and what they print name it by its usual one."""
        self.stop()
        command = [sys.executable, "-m", "catmem", "serve", "--port", "0", "--format", "json"]
        self._server = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._server.stdout is not None
        self._url = json.loads("".join(self._server.stdout.readline() for _ in range(5)))["url"]

    def stop(self) -> None:
        """End the server, if there is one."""
        if self._server is not None:
            self._server.terminate()
            self._server.communicate(timeout=_SECONDS)
            self._server = None

    def run(self, command: str) -> str:
        """What the command prints, without the newlines at its end."""
        return self._run(command.replace(SHOWN_URL, self._url)).replace(self._url, SHOWN_URL)

    def _run(self, command: str) -> str:
        plain = _PLAIN.fullmatch(command)
        if plain is None or plain[2].endswith("&") or _PROCESSES & set(plain[1].split()[1:2]):
            return self._bash(command)
        result = catmem(self.folder, shlex.split(plain[1])[1:], self._environment)
        if not plain[2]:
            self.status = result.exit_code
            return result.output.rstrip("\n")
        out, err = self._printed
        out.write_bytes(result.stdout_bytes)
        err.write_bytes(result.stderr_bytes)
        again = f"_printed() {{ cat '{out}'; cat '{err}' >&2; return {result.exit_code}; }}"
        return self._bash(f"{again}\n_printed {plain[2]}")

    def _bash(self, command: str) -> str:
        script = f"trap 'pwd > \"{self._left_in}\"' EXIT\n(exit {self.status})\n{command}\n"
        result = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
        )
        self.folder = self._left_in.read_text(encoding="utf-8").rstrip("\n")
        self.status = result.returncode
        return result.stdout.decode().rstrip("\n")


def agrees(printed: str, shown: str) -> bool:
    """Whether the output is what the page shows.

    A line `...` stands for any lines, none included, and `…` for anything in a line.
    """
    pieces = [re.escape(piece).replace("…", ".*") for piece in re.split(r"(?m)^\.\.\.(?:\n|\Z)", f"{shown}\n")]
    return re.fullmatch(r"(?:.*\n)*".join(pieces), f"{printed}\n") is not None
