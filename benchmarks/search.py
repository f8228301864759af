"""Search over 10,000 entries: cold, warm, and against the memory search of cheetahclaws over as many memories.

Cold is a new workspace on a file that the system has at hand; warm is a further search on the same one. The queries are
a fair mix: a rare word, a word that one entry in five has, two words, a phrase, and one that finds nothing; each figure
is the median over all of them. A word that stands in every entry is shown beside, with no limit: all are ranked.

Both sides search the same texts, each with its own function, in children of their own. cheetahclaws keeps one file a
memory and reads them all at each search. Its own save function writes them, without the index of names that it writes
anew with each, which would make 10,000 of them take hours.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import catmem
from benchmarks.measure import Result, compared, faster, limited, seconds
from benchmarks.notes import entry, questions
from catmem.search.search import search

if TYPE_CHECKING:
    from argparse import Namespace

_ENTRIES = 10_000
_COLD_LIMIT = 0.020
_WARM_LIMIT = 0.003
_TIMES_FASTER = 10
_QUESTION_LIMITS = {630: 0.003, 10_000: 0.025}
_WORDS_OF_A_QUESTION = range(8, 13)
_DAY = date(2026, 11, 21)
_ROUNDS = 15
_THEIR_ROUNDS = 3
_MIX = ("harbour", "invoice", "quarterly harbour", '"travel budget"', "zeppelin")
_EVERYWHERE = "user"

_WORDS = (  # noqa: SIM905 - reads better than a hundred quotes
    "answer approval archive budget calendar call cable chair client colour contract daily delay deploy desk "
    "draft early email evening factory finance folder format garden german hotel hours kitchen language late "
    "launch ledger letter lunch market meeting memo mobile morning network number office order paper payment "
    "phone plan price printer project python quality rate receipt release report review road room sample school "
    "server service shelf short signal source staff station stock summary summer supplier table tax team ticket "
    "tool track train update vendor version visit wall week window winter writing yearly "
).split()

_INSERTED = {1_000: ["harbour"], 200: ["travel", "budget"], 20: ["quarterly"], 5: ["invoice"]}
"""Words that one note of so many has."""

_TIMING = """
import gc, json, statistics, sys, time
queries, rounds = json.loads(sys.argv[2]), int(sys.argv[3])
def timed(run, query):
    start = time.process_time()
    found = run(query)
    return time.process_time() - start, found
def measured(run):
    gc.collect()
    seconds, counts = {query: [] for query in queries}, {}
    for _ in range(rounds):
        for query in queries:
            taken, counts[query] = timed(run, query)
            seconds[query].append(taken)
    return {query: [statistics.median(taken), counts[query]] for query, taken in seconds.items()}
"""

_OURS = """
import datetime
import catmem
from catmem.search.search import search
day = datetime.date(2026, 11, 21)
def cold(query):
    workspace = catmem.Workspace.open(sys.argv[1], search=False)
    return search(workspace, "neo", query, limit=20, as_of=day).total
workspace = catmem.Workspace.open(sys.argv[1], search=False)
def warm(query):
    return search(workspace, "neo", query, limit=20, as_of=day).total
cold(queries[0]), warm(queries[0])
print(json.dumps({"cold": measured(cold), "warm": measured(warm)}))
"""

_THEIRS = """
from pathlib import Path
from cheetahclaws.memory import store
store.USER_MEMORY_DIR = Path(sys.argv[1]) / "memory"
store.get_project_memory_dir = lambda: Path(sys.argv[1]) / "none"
rewrite, store._rewrite_index = store._rewrite_index, lambda scope: None
lines = (Path(sys.argv[1]) / "texts.jsonl").read_text().splitlines()
for number, (text, day) in enumerate(map(json.loads, lines)):
    entry = store.MemoryEntry(
        name=f"note {number}", description=text[:40], type="user", content=text, created=day, last_verified=day)
    store.save_memory(entry)
store._rewrite_index = rewrite
rewrite("user")
def search(query):
    return len(store.search_memory(query.strip('"')))
search(queries[0])
print(json.dumps({"warm": measured(search)}))
"""


def run(options: Namespace) -> list[Result]:
    """The figures of this module."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make(home)
        ours = _measured(Path(sys.executable), _OURS, home, options.times or _ROUNDS)
        cold, warm = (_over_the_mix(ours[kind]) for kind in ("cold", "warm"))
        results = [
            limited(f"search {_ENTRIES:,} entries, cold", cold, _COLD_LIMIT),
            limited(f"search {_ENTRIES:,} entries, warm", warm, _WARM_LIMIT),
            *(
                limited(f"new question of ten words, {count:,} notes, warm", _new_questions(count, half), most)
                for half, (count, most) in enumerate(_QUESTION_LIMITS.items())
            ),
            *(
                Result(f"  {kind}, a word that all {_ENTRIES:,} have", seconds, None, seconds, None, unit="ms")
                for kind, seconds in ((kind, ours[kind][_EVERYWHERE][0]) for kind in ("cold", "warm"))
            ),
        ]
        if not options.cheetahclaws_python.is_file():
            print(f"search: not compared, for want of cheetahclaws: {options.cheetahclaws_python} does not exist")
            return results
        theirs = _measured(options.cheetahclaws_python, _THEIRS, home, _THEIR_ROUNDS)["warm"]
        for query in ("harbour", _EVERYWHERE):
            if theirs[query][1] != ours["cold"][query][1]:
                raise ValueError(f"they find {theirs[query][1]} of {query!r}, and we {ours['cold'][query][1]}")
        return [
            *results,
            faster("cold, against cheetahclaws", cold, _over_the_mix(theirs), _TIMES_FASTER),
            compared("  warm", warm, _over_the_mix(theirs)),
            compared(
                f"  cold, a word that all {_ENTRIES:,} have", ours["cold"][_EVERYWHERE][0], theirs[_EVERYWHERE][0]
            ),
        ]


def _new_questions(count: int, half: int) -> float:
    """The median time of questions of about ten words over so many notes, each asked once, after as many others.

    They are one ``half`` of all, 0 or 1: what a process keeps of words is not of the other size.
    """
    asked = [each.question for each in questions() if len(each.question.split()) in _WORDS_OF_A_QUESTION][half::2]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "homes" / "neo" / "USER.md"
        file.parent.mkdir(parents=True)
        (Path(folder) / "profiles").mkdir()
        (Path(folder) / "catmem.yaml").write_text("version: 1\n", encoding="utf-8")
        (Path(folder) / "profiles" / "neo.yaml").write_text('user_memory_categories: ["*"]\n', encoding="utf-8")
        entries = "\n§\n".join(entry(number) for number in range(count))
        file.write_text(f"## Notes\n{entries}\n", encoding="utf-8")
        workspace = catmem.Workspace.open(folder, search=False)
        taken = [seconds(partial(search, workspace, "neo", each, limit=20, as_of=_DAY)) for each in asked]
        return statistics.median(taken[len(taken) // 2 :])


def make(home: Path) -> None:
    """A root with one file of entries, about one megabyte, and the same texts for the other side."""
    texts = entry_texts(_ENTRIES)
    (home / "profiles").mkdir()
    (home / "catmem.yaml").write_text("version: 1\n", encoding="utf-8")
    (home / "profiles" / "neo.yaml").write_text('user_memory_categories: ["*"]\n', encoding="utf-8")
    file = home / "homes" / "neo" / "USER.md"
    file.parent.mkdir(parents=True)
    entries = "\n§\n".join(f"[created: {day}] {text}" for text, day in texts)
    file.write_text(f"## Notes\n{entries}\n", encoding="utf-8")
    lines = "".join(json.dumps(row) + "\n" for row in texts)
    (home / "texts.jsonl").write_text(lines, encoding="utf-8")


def entry_texts(count: int) -> list[tuple[str, str]]:
    """Notes of some hundred characters, each with a day, no two alike; the same each time."""
    choose = random.Random(7)  # noqa: S311 - no secret
    texts = []
    for number in range(count):
        words = choose.choices(_WORDS, k=9)
        for place, (every, inserted) in enumerate(_INSERTED.items()):
            if number % every == place:
                words[place : place + len(inserted)] = inserted
        day = f"2026-{choose.randint(1, 11):02}-{choose.randint(1, 20):02}"
        texts.append((f"The user wants, number {number}: {' '.join(words)}.", day))
    return texts


def _over_the_mix(found: dict[str, list[float]]) -> float:
    """The median over the queries of the mix."""
    return statistics.median(found[query][0] for query in _MIX)


def _measured(python: Path, script: str, home: Path, rounds: int) -> dict[str, Any]:
    """What a child measures: by kind and query the median of seconds, and how many entries it found."""
    command = [str(python), "-c", _TIMING + script, str(home), json.dumps([*_MIX, _EVERYWHERE]), str(rounds)]
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=home)
    if result.returncode:
        raise RuntimeError(f"{python} failed:\n{result.stderr}")
    measured: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return measured
