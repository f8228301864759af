"""Where a build plays a story: a copy of a root, what is done there, and all that can be seen of it."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import NamedTuple
from zlib import crc32

from tests.same_as.builds import Runner, environment

CAPTURES = {
    "proposal": r"\bp-[0-9a-f]{10}\b",
    "conflict": r"(?<=conflict )[0-9a-f]{10}\b",
    "entry": r"\bb2:[0-9a-f]{32}\b",
    "anchor": r"\b[0-9a-f]{64}\b",
    "key": r"\b\d{8}t\d{6}(?:-\d+)?\b",
    "token": r"\bcatmem_[0-9a-f]{12}_[\w-]{43}\b",
    "output": r"(?s)(?<=--- standard output\n).*(?=--- standard error)",
}
"""What a line may take from what was said before it: ``{proposal}`` is the newest id of a proposal."""
SECONDS = 120
ONE_IN = 10
"""One command in so many is a process of its own, in place of a fork."""


class Story(NamedTuple):
    """Something that is done on a copy of a root."""

    name: str
    root: str
    play: Callable[["Stage"], None]
    is_bare: bool = False
    """On the root as its files are, before the old build did anything there."""
    is_old: bool = False
    """On the root that the old build made, with both builds."""


class Stage:
    """A folder with the copy of a root and a home, one build, and what was seen so far, in order."""

    def __init__(self, runner: Runner, box: Path) -> None:
        """``box`` holds ``root`` and ``home``."""
        self.runner = runner
        self.root = box / "root"
        self.home = box / "home"
        self.seen: list[tuple[str, str]] = []
        self._files = self._memory()
        self._first = self._store()

    def note(self, label: str, text: str) -> None:
        """Keep what was seen; beside it the files that are others now."""
        self.seen.append((label, text))
        files = self._memory()
        for path in sorted({**self._files, **files}):
            if self._files.get(path) != files.get(path):
                self.seen.append((f"{label}: {path}", repr_bytes(files.get(path))))
        self._files = files

    def line(self, line: str) -> None:
        """Do what a line says: a command of catmem, with ``< TEXT`` for its input, or a change of a file (``!``)."""
        words = [self.filled(word) for word in shlex.split(line)]
        if words[0].startswith("!"):
            self._change(words)
            return
        said = ""
        if "<" in words:
            words, (said,) = words[: words.index("<")], words[words.index("<") + 1 :]
        data = said.replace("\\n", "\n").encode()
        done = self.runner.run(words, self.root, self.home, data, fork=crc32(line.encode()) % ONE_IN > 0)
        self.note(
            line, f"exit status {done.status}\n--- standard output\n{done.stdout}--- standard error\n{done.stderr}"
        )

    def lines(self, lines: Iterable[str]) -> None:
        """One line after the other."""
        for line in lines:
            self.line(line)

    def look(self, entities: Iterable[str]) -> None:
        """See what the history says at the end, if anything was done to it."""
        if self._store() != self._first:
            for entity in entities:
                self.line(f"log {entity} --format json")
                self.line(f"show {entity}")

    @contextmanager
    def process(self, *command: str) -> Iterator[subprocess.Popen[str]]:
        """A program of the build that goes on, with pipes. One that does not end is ended."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        given = environment(self.runner.programs, self.home, self.runner.cache)
        program = self.runner.programs / command[0]
        with subprocess.Popen([program, *command[1:]], cwd=self.root, env=given, **pipes) as process:
            watch = Timer(SECONDS, process.kill)
            watch.start()
            try:
                yield process
            finally:
                watch.cancel()
                process.kill()

    def token(self, line: str) -> str:
        """The token that a command makes."""
        self.line(line)
        return self.filled("{token}")

    def filled(self, word: str) -> str:
        """The text with what was said before in the places for it."""
        for name, pattern in CAPTURES.items():
            if f"{{{name}}}" in word:
                found = [each for _, text in self.seen for each in re.findall(pattern, text)]
                word = word.replace(f"{{{name}}}", found[-1] if found else f"no-{name}")
        return word

    def _change(self, words: list[str]) -> None:
        verb, name, *rest = words
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(rest).replace("\\n", "\n")
        match verb:
            case "!put":
                path.write_text(text, encoding="utf-8", newline="")
            case "!append":
                with path.open("a", encoding="utf-8", newline="") as file:
                    file.write(text)
            case "!remove":
                path.unlink()
            case _:
                raise ValueError(f"no such change of a file: {verb}")
        self.note(" ".join(words[:2]), "")

    def _memory(self) -> dict[str, bytes]:
        """The bytes of all files but those of the store itself, which the log shows."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and ".catmem" not in path.parts and path.suffix != ".db"
        }

    def _store(self) -> dict[Path, int]:
        """When each file of the store was changed."""
        return {path: path.stat().st_mtime_ns for path in self.root.glob(".catmem/**/*") if path.is_file()}


def repr_bytes(data: bytes | None) -> str:
    """Bytes as lines to compare: what is no UTF-8, and each end of a line, can be seen."""
    if data is None:
        return "(not there)"
    return "\n".join(repr(line)[1:] for line in data.splitlines(keepends=True))


def copied(template: Path, box: Path) -> None:
    """Put a copy of a root where a build plays."""
    shutil.rmtree(box, ignore_errors=True)
    shutil.copytree(template, box, symlinks=True)
