"""One durable ``add`` through the library, against Hermes Agent's, on the same disk; and what a long history costs.

Both sides take turns in children that stay alive, so that a busy disk is busy for both: a round of one add each, again
and again, and the median of the rounds. Wall time, since waiting for the disk is the point.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from benchmarks.measure import Result, limited, slower
from benchmarks.notes import entry

if TYPE_CHECKING:
    from argparse import Namespace

_ROUNDS = 60
_COLD = 5
"""The first rounds, which find files and caches cold, and are left out."""
_LIMITS = {14: 2.5, 100: 2.5, 1_000: 2.5, 10_000: 1.0}
_JOURNAL_LIMIT = 1.3
_COUNTS = (14, 1_000)
_GUARD_LIMIT = 0.001
_HISTORIES = (100, 100_000)
_GROWTH_LIMIT = 1.2
_OPEN_LIMIT = 0.050

_OURS = """
import json, sys, time
from pathlib import Path
import catmem
workspace = catmem.Workspace.open(sys.argv[1], search=False)
number = 0
for line in sys.stdin:
    number += 1
    text = f"Added {number}: " + line.strip()
    wall, cpu = time.perf_counter(), time.process_time()
    workspace.add("neo", text)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps([wall, cpu]), flush=True)
"""

_THEIRS = """
import json, logging, sys, time
logging.disable()
from tools.memory_tool import MemoryStore
store = MemoryStore(memory_char_limit=10**9, user_char_limit=10**9)
store.load_from_disk()
number = 0
for line in sys.stdin:
    number += 1
    text = f"Added {number}: " + line.strip()
    wall, cpu = time.perf_counter(), time.process_time()
    done = store.add("user", text)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert done["success"], done
    print(json.dumps([wall, cpu]), flush=True)
"""

_HISTORY = """
import json, statistics, sys, time
from pathlib import Path
from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from catmem.store.files.system import System
folder, history, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

class Unsynced(System):
    def fsync(self, descriptor):
        pass

def locate(entity):
    return Place(folder, (), "USER.md")

def generate():
    from catmem.store.files.folder import Folder
    from catmem.store.files.records import RecordDraft
    opened = Folder.open(Unsynced(), locate("x"), create=True)
    data = (folder / "USER.md").read_bytes()
    journal = opened.writable_journal
    for number in range(1, history + 1):
        data = data[:-20] + b"%019d\\n" % number
        journal.append(RecordDraft(file="USER.md", op="put", agent="person", revision=str(number),
            parents=(str(number - 1),) if number > 1 else (), op_id=f"{number:032x}"), data)
    (folder / "USER.md").write_bytes(data)
    opened.mark_published(history)
    opened.close()

generate()
opening = []
for _ in range(7):
    start = time.perf_counter()
    store = FileStore(locate, merge=None)
    head = store.head("x")
    opening.append(time.perf_counter() - start)
    assert head.revision == str(history)
    store.close()
store = FileStore(locate, merge=None)
taken, cpu = [], []
for number in range(rounds):
    time.sleep(0.02)  # as calls of a tool come; right behind each other some look twice at what is just written
    busy, start = time.process_time(), time.perf_counter()
    store.commit("x", None, lambda current: current.data[:-20] + b"commit %012d\\n" % number, Change())
    taken.append(time.perf_counter() - start)
    cpu.append(time.process_time() - busy)
found = {"open": opening, "commit": taken, "cpu": cpu}
print(json.dumps({name: statistics.median(values) for name, values in found.items()}))
"""


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    rounds = options.times or _ROUNDS
    return [*_against_hermes(options.hermes_python, rounds), *_long_history(rounds)]


def _against_hermes(hermes: Path, rounds: int) -> list[Result]:
    if not hermes.is_file():
        print(f"store: not compared, for want of Hermes Agent: {hermes} does not exist (see --hermes-python)")
        return []
    results: list[Result] = []
    for count, limit in _LIMITS.items():
        ours, theirs = _taking_turns(hermes, count, rounds, "full")
        results.append(slower(f"add, {count:,} entries, durable", ours[0], theirs[0], limit))
        if count in _COUNTS:
            ours, theirs = _taking_turns(hermes, count, rounds, "journal")
            results.append(slower(f"add, {count:,} entries, durability: journal", ours[0], theirs[0], _JOURNAL_LIMIT))
    return results


def _taking_turns(hermes: Path, count: int, rounds: int, durability: str) -> tuple[list[float], list[float]]:
    """The medians ``[wall, processor]`` of our adds and of theirs."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, ExitStack() as stack:
        home = Path(folder)
        text = "\n§\n".join(entry(number) for number in range(count))
        for side in ("ours/homes/neo", "theirs/memories"):
            (home / side).mkdir(parents=True)
            (home / side / "USER.md").write_text(text, encoding="utf-8")
        (home / "ours" / "profiles").mkdir()
        (home / "ours" / "catmem.yaml").write_text(f"durability: {durability}\n", encoding="utf-8")
        (home / "ours" / "profiles" / "neo.yaml").write_text("{}\n", encoding="utf-8")
        children = [
            stack.enter_context(_child(Path(sys.executable), _OURS, home / "ours")),
            stack.enter_context(_child(hermes, _THEIRS, home / "theirs")),
        ]
        taken: list[list[list[float]]] = [[], []]
        for turn in range(_COLD + rounds):
            for child, rows in zip(children, taken, strict=True):
                rows.append(_ask(child, entry(count + turn)))
        for child in children:
            _pipe(child.stdin).close()
    ours, theirs = taken
    return _medians(ours[_COLD:]), _medians(theirs[_COLD:])


def _child(python: Path, script: str, home: Path) -> subprocess.Popen[str]:
    environment = {
        "HERMES_HOME": str(home),
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
    }
    return subprocess.Popen(
        [str(python), "-c", script, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=environment,
        cwd=home,
    )


def _ask(child: subprocess.Popen[str], line: str) -> list[float]:
    _pipe(child.stdin).write(line + "\n")
    _pipe(child.stdin).flush()
    answer: list[float] = json.loads(_pipe(child.stdout).readline())
    return answer


def _pipe(end: IO[str] | None) -> IO[str]:
    if end is None:
        raise RuntimeError("the child has no pipes")
    return end


def _medians(rows: list[list[float]]) -> list[float]:
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def _long_history(rounds: int) -> list[Result]:
    found: dict[int, dict[str, Any]] = {}
    for history in _HISTORIES:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            (Path(folder) / "USER.md").write_text("\n§\n".join(map(entry, range(14))) + "\n", encoding="utf-8")
            command = [sys.executable, "-c", _HISTORY, folder, str(history), str(rounds)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr)
            found[history] = json.loads(done.stdout)
    short, long = (found[history] for history in _HISTORIES)
    return [
        limited("CPU of a commit, without parsing and editing", short["cpu"], _GUARD_LIMIT),
        slower("a commit after 100,000 commits, against after 100", long["commit"], short["commit"], _GROWTH_LIMIT),
        limited("opening a store of 100,000 commits", long["open"], _OPEN_LIMIT),
    ]
