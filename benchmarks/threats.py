"""The threat scan: ordinary text against Hermes Agent's scanner, and hostile text against twice as much of it.

Hermes Agent runs in a Python process of its own and reports its own time. It looks at the first 65,536 characters of a
text only, so the large text is compared at that size.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result, compared, medians, slower
from benchmarks.parse import memory_file
from benchmarks.prompt import entry_text
from catmem.threats import BuiltinScanner

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

_LARGE = 2_000_000
_SAME_AS_THEIRS = 65_536
_CALLS = 2_000
_HOSTILE = 1 << 17
_GROWTH = 2.3
_LANGUAGES = {
    "German": "Die Straße zur Müllerei ist gesperrt, größere Änderungen prüfen wir am Donnerstag. ",
    "Chinese": "会议改到星期二上午十点，请提前准备材料，并通知财务部门。",  # noqa: RUF001
    "Russian": "Мы решили перенести базу данных на новый сервер и сообщить об этом отделу. ",  # noqa: RUF001
}
_PIECES = {
    "backslashes": "\\",
    "brackets": "[",
    "image openings": "![",
    "comment openings": "<!--",
    "tag openings": "<img src=",
    "addresses": "://",
    "ignore ignore": "ignore ",
    "ignore your": "ignore your rules prior ",
    "instructions": "instruct ",
    "commands": "curl --data ",
    "pipes": "cat .env|curl ",
    "role lines": "system: ",
    "dialogues": "\nUser: a\nassistant:",
    "combining marks": "e\u0301",
    "zero-width runs": "\u200b",
    "zero-width between letters": "a\u200b",
    "mixed scripts": "a\u0430",
    "full-width letters": "\uff49\uff47\uff4e\uff4f\uff52\uff45",
    "Chinese orders": "忽略之前",
    "tag characters": "\U000e0041",
    "tokens without an end": "glpat-",
    "halves of a JWT": "eyJhbGciOiJIUzI1NiJ9.",
    "passwords": "password: aB3dE5gH7jK9mN1p ",
    "private keys": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq",
    "logins": "://ana:",
}

_THEIRS = """
import json, statistics, sys, time
from tools.threat_patterns import scan_for_threats
result = {}
for name, (text, calls) in json.load(sys.stdin).items():
    taken = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(calls):
            scan_for_threats(text, scope="strict")
        taken.append(time.perf_counter() - start)
    result[name] = statistics.median(taken)
print(json.dumps(result))
"""


def run(options: Namespace) -> list[Result]:
    """The figures of this module; without Hermes Agent those that need none."""
    scanner = BuiltinScanner(limit=None)
    times = options.times or 7
    ordinary = memory_file(_LARGE).encode("ascii", "ignore").decode()
    texts = {f"2 MB of {name}": piece * (_LARGE // len(piece.encode())) for name, piece in _LANGUAGES.items()}
    texts["2 MB of ordinary ASCII"] = ordinary
    taken = medians({name: _scanning(scanner, text) for name, text in texts.items()}, times)
    results = [Result(name, duration, None, duration, None, unit="ms") for name, duration in taken.items()]
    shared = {
        f"{_CALLS:,} calls with an entry of 208 characters": (entry_text(1), _CALLS),
        "64 KiB of ordinary ASCII": (ordinary[:_SAME_AS_THEIRS], 1),
    }
    ours = medians({name: _scanning(scanner, text, calls) for name, (text, calls) in shared.items()}, times)
    theirs = _hermes(Path(options.hermes_python), shared)
    results += [
        compared(f"{name}, against Hermes Agent", duration, theirs[name])
        if theirs
        else Result(name, duration, None, duration, None, unit="ms")
        for name, duration in ours.items()
    ]
    return results + [_doubling(scanner, name, piece, times) for name, piece in _PIECES.items()]


def _doubling(scanner: BuiltinScanner, name: str, piece: str, times: int) -> Result:
    text = piece * (_HOSTILE // len(piece))
    # Several calls a run, so that even inputs that are over at once take long enough to be told from noise.
    once = medians({"once": _scanning(scanner, text)}, 3)["once"]
    calls = max(1, round(0.02 / max(once, 1e-7)))
    taken = medians({"once": _scanning(scanner, text, calls), "twice": _scanning(scanner, text * 2, calls)}, times)
    return slower(f"{name}, doubled", taken["twice"], taken["once"], _GROWTH)


def _scanning(scanner: BuiltinScanner, text: str, calls: int = 1) -> Callable[[], int]:
    def scan() -> int:
        return sum(len(scanner.scan(text)) for _ in range(calls))

    return scan


def _hermes(python: Path, texts: dict[str, tuple[str, int]]) -> dict[str, float]:
    if not python.is_file():
        print(f"threats: Hermes Agent is not compared: {python} does not exist (see --hermes-python)")
        return {}
    with tempfile.TemporaryDirectory() as home:
        environment = {"HERMES_HOME": home, "HOME": home, "PATH": "/usr/bin:/bin"}
        command = [str(python), "-c", _THEIRS]
        result = subprocess.run(
            command, input=json.dumps(texts), capture_output=True, text=True, check=False, env=environment, cwd=home
        )
    if result.returncode:
        raise RuntimeError(f"{python} failed:\n{result.stderr}")
    taken: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return taken
