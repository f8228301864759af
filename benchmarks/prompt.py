"""From file to prompt, against Hermes Agent's own memory store, each in a Python process of its own.

Both read the same flat file, cut it into entries, scan each for threats and render the text for the system prompt.
Both have a budget, as Hermes Agent always has one: so large that all entries are shown, which is the most work.
Children report their own time, without start and imports, which `startup` measures. The sides take turns. The entries
are the notes of `benchmarks/notes`, all languages mixed; beyond 646 each gets a number, so that all are different.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Result, compared, faster
from benchmarks.notes import entry

if TYPE_CHECKING:
    from argparse import Namespace

_LIMITS = {14: 4, 100: 8, 1_000: 10, 10_000: 10}
_TURNS = 3
_PROFILE = """\
name: everything
memory_dir: memories
tier: 2
user_memory_categories: ["*"]
include_uncategorized: true
prompt: {style: hermes, budget: {user: 1000000000}}
"""

# What both children do with a function `once` that gives the prompt: run it for a while and report the median.
_TIMING = """
import gc, json, statistics, time
once()
gc.collect()
gc.disable()
taken = []
while len(taken) < 5 or sum(taken) < 1.0 and len(taken) < 500:
    start = time.process_time()
    text = once()
    taken.append(time.process_time() - start)
print(json.dumps({"seconds": statistics.median(taken), "text": text}))
"""

_OURS = """
import datetime, sys
from pathlib import Path
import catmem
path = Path(sys.argv[1]) / "memories" / "USER.md"
profile = catmem.load_profile(Path(sys.argv[1]) / "profiles" / "everything.yaml")
day = datetime.date(2026, 11, 21)
def once():
    return catmem.build_prompt({"user": catmem.parse(path.read_bytes())}, profile, as_of=day).text
"""

# An open root, which looks at its files anew for each prompt.
_OPEN = """
import datetime, sys
import catmem
root = catmem.Workspace.open(sys.argv[1])
day = datetime.date(2026, 11, 21)
def once():
    return root.prompt("everything", as_of=day).text
"""

# What is left if nothing is looked at: the floor for every program that shows what the file says.
_FLOOR = """
import sys
from pathlib import Path
path = Path(sys.argv[1]) / "memories" / "USER.md"
def once():
    return "\\n§\\n".join(path.read_bytes().decode().split("\\n§\\n"))
"""

_THEIRS = """
import logging
logging.disable()
from tools.memory_tool import MemoryStore
def once():
    store = MemoryStore(memory_char_limit=10**9, user_char_limit=10**9)
    store.load_from_disk()
    return store.format_for_system_prompt("user")
"""


def run(options: Namespace) -> list[Result]:
    """The figures of this module; none, with a line that says so, where there is no Hermes Agent to compare with."""
    hermes: Path = options.hermes_python
    if not hermes.is_file():
        print(f"prompt: not measured, for want of Hermes Agent: {hermes} does not exist (see --hermes-python)")
        return []
    return [result for count in _LIMITS for result in _at(count, options.python, hermes)]


def _at(count: int, ours: Path, hermes: Path) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        entries = [entry(number) for number in range(count)]
        (home / "memories").mkdir()
        (home / "memories" / "USER.md").write_text("\n§\n".join(entries), encoding="utf-8")
        (home / "profiles").mkdir()
        (home / "profiles" / "everything.yaml").write_text(_PROFILE, encoding="utf-8")
        (home / "catmem.yaml").write_text("{}\n", encoding="utf-8")
        scripts = {"ours": _OURS, "open": _OPEN, "floor": _FLOOR, "theirs": _THEIRS}
        taken: dict[str, list[float]] = {side: [] for side in scripts}
        for _ in range(_TURNS):
            for side, script in scripts.items():
                measured = _measured(hermes if side == "theirs" else ours, script, home)
                taken[side].append(measured["seconds"])
                if missing := [text for text in entries if text not in measured["text"]]:
                    raise ValueError(f"{side} left {len(missing)} of {count} entries out, so the times do not compare")
    own, opened, floor, theirs = (statistics.median(taken[side]) for side in scripts)
    return [
        faster(f"file to prompt, {count:,} notes", own, theirs, _LIMITS[count]),
        compared(f"the same from an open root, {count:,} notes", opened, theirs),
        compared(f"the floor: reading and joining, {count:,} notes", floor, theirs),
    ]


def _measured(python: Path, script: str, home: Path) -> dict[str, Any]:
    command = [str(python), "-c", script + _TIMING, str(home)]
    environment = {
        "HERMES_HOME": str(home),
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
    }
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, env=environment, cwd=home)
    if result.returncode:
        raise RuntimeError(f"{python} failed:\n{result.stderr}")
    measured: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return measured
