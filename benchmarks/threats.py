"""The threat scan: notes of `benchmarks/notes` against Hermes Agent's scanner, hostile text against twice as much.

Hermes Agent runs in a Python process of its own and reports its own time. It looks at the first 65,536 characters of a
text only, so the large text is compared at that size.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import SAME_EACH_TIME, Result, compared, limited, medians, slower
from benchmarks.notes import LANGUAGES, entry, notes
from catmem.threats import scan

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

_LARGE = 2_000_000
_SAME_AS_THEIRS = 65_536
_NOTES = 1_000
_NOTE_LIMIT = 0.000_006
_HOSTILE = 1 << 17
_GROWTH = 2.3
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
for name, texts in json.load(sys.stdin).items():
    taken = []
    for _ in range(7):
        start = time.process_time()
        for text in texts:
            scan_for_threats(text, scope="strict")
        taken.append(time.process_time() - start)
    result[name] = statistics.median(taken)
print(json.dumps(result))
"""


def run(options: Namespace) -> list[Result]:
    """The figures of this module; without Hermes Agent those that need none."""
    times = options.times or 7
    mixed = [entry(number) for number in range(_NOTES)]
    texts = {f"2 MB of notes in {language}": _large(notes(language)) for language in LANGUAGES}
    texts["2 MB of notes, all languages mixed"] = _large(mixed)
    taken = medians({name: _scanning([text]) for name, text in texts.items()}, times)
    results = [Result(name, duration, None, duration, None, unit="ms") for name, duration in taken.items()]
    shared = {
        f"{_NOTES:,} notes, one by one": mixed,
        "64 KiB of notes": [texts["2 MB of notes, all languages mixed"][:_SAME_AS_THEIRS]],
    }
    ours = medians({name: _scanning(some) for name, some in shared.items()}, times)
    theirs = _hermes(Path(options.hermes_python), shared)
    results.append(limited(f"{_NOTES:,} notes, one by one", next(iter(ours.values())), _NOTE_LIMIT * _NOTES))
    results += [compared(f"{name}, against Hermes Agent", ours[name], taken) for name, taken in theirs.items()]
    return results + [_doubling(name, piece, times) for name, piece in _PIECES.items()]


def _doubling(name: str, piece: str, times: int) -> Result:
    text = piece * (_HOSTILE // len(piece))
    # Several calls a run, so that even inputs that are over at once take long enough to be told from noise.
    once = medians({"once": _scanning([text])}, 3)["once"]
    calls = max(1, round(0.02 / max(once, 1e-7)))
    taken = medians({"once": _scanning([text], calls), "twice": _scanning([text * 2], calls)}, times)
    return slower(f"{name}, doubled", taken["twice"], taken["once"], _GROWTH)


def _large(texts: list[str]) -> str:
    joined = "\n".join(texts)
    return "\n".join([joined] * (_LARGE // len(joined.encode()) + 1))


def _scanning(texts: list[str], calls: int = 1) -> Callable[[], int]:
    return lambda: sum(len(scan(text, limit=None)) for _ in range(calls) for text in texts)


def _hermes(python: Path, texts: dict[str, list[str]]) -> dict[str, float]:
    if not python.is_file():
        print(f"threats: Hermes Agent is not compared: {python} does not exist (see --hermes-python)")
        return {}
    with tempfile.TemporaryDirectory() as home:
        environment = {"HERMES_HOME": home, "HOME": home, "PATH": "/usr/bin:/bin", **SAME_EACH_TIME}
        command = [str(python), "-c", _THEIRS]
        result = subprocess.run(
            command,
            input=json.dumps(texts),
            capture_output=True,
            encoding="utf-8",
            check=False,
            env=environment,
            cwd=home,
        )
    if result.returncode:
        raise RuntimeError(f"{python} failed:\n{result.stderr}")
    taken: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return taken
