"""catmem's store in the place of Hermes Agent's own: ``load_from_disk`` and ``add``, in Hermes's Python, scan included.

Both stores live in one process, each with a folder of its own on the same disk, and take turns, with a pause before
each call, as the calls of a tool come. Wall time, since waiting for the disk is part of it.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result, slower
from benchmarks.notes import entry

if TYPE_CHECKING:
    from argparse import Namespace

_ROUNDS = 60
_COUNTS = (14, 100, 1_000)
_LIMIT = 2.5

_SCRIPT = """
import json, logging, statistics, sys, time
from pathlib import Path
logging.disable()
import tools.memory_tool as hermes
from catmem.plugins.hermes import memory_store as ours

home, rounds, entries = Path(sys.argv[1]), int(sys.argv[2]), json.load(sys.stdin)
cold = 20
stores, taken = {}, {side: {"add": [], "load": []} for side in ("theirs", "ours")}

def enter(side):
    folder = home / side / "memories"
    hermes.get_memory_dir = lambda: folder
    return folder

for side in taken:
    folder = enter(side)
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("\\n§\\n".join(entries), encoding="utf-8")
    kind = hermes.MemoryStore if side == "theirs" else ours.MemoryStore
    stores[side] = kind(10**9, 10**9)
for number in range(cold + rounds):
    for side, store in stores.items():
        enter(side)
        adding = lambda: store.add("memory", f"{entries[0]} {number}")
        for name, call in (("load", store.load_from_disk), ("add", adding)):
            time.sleep(0.02)
            start = time.perf_counter()
            done = call()
            taken[side][name].append(time.perf_counter() - start)
            assert done is None or done["success"], done
files = {side: (home / side / "memories" / "MEMORY.md").read_bytes() for side in stores}
assert files["theirs"] == files["ours"]
print(json.dumps({f"{side} {name}": statistics.median(values[cold:])
    for side, both in taken.items() for name, values in both.items()}))
"""


def run(options: Namespace) -> list[Result]:
    """The figures of this module; none without a Hermes Agent that has catmem beside it."""
    python = Path(options.hermes_python)
    asked = [str(python), "-c", "import catmem, tools.memory_tool"]
    if not python.is_file() or subprocess.run(asked, capture_output=True, check=False).returncode:
        print(f"hermes_store: not compared: {python} has not both Hermes Agent and catmem (see --hermes-python)")
        return []
    results: list[Result] = []
    for count in _COUNTS:
        found = _measured(python, count, options.times or _ROUNDS)
        for call in ("load", "add"):
            theirs = found[f"theirs {call}"]
            results.append(slower(f"{call}, {count:,} entries", found[f"ours {call}"], theirs, _LIMIT))
    return results


def _measured(python: Path, count: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as home:
        environment = {
            "HERMES_HOME": home,
            "HOME": home,
            "PATH": "/usr/bin:/bin",
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
        }
        command = [str(python), "-c", _SCRIPT, home, str(rounds)]
        texts = json.dumps([entry(number) for number in range(count)])
        done = subprocess.run(
            command, input=texts, capture_output=True, encoding="utf-8", check=False, env=environment, cwd=home
        )
    if done.returncode:
        raise RuntimeError(f"{python} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
