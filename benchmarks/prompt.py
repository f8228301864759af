"""From file to prompt, against Hermes Agent's own memory store, each in a Python process of its own.

Both read the same flat file, cut it into entries, scan each for threats and render the text for the system prompt.
Children report their own time, without start and imports, which `startup` measures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Result, compared, faster

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

_LIMIT = 10
_ENTRY_CHARACTERS = 208
_COUNTS = (14, 100, 1_000, 10_000)
_BUSY_COUNT = 1_000
_BUSY = (
    (
        "The user prefers uv over pip in the system Python and deploys on Tuesdays in production mode; notes are on "
        "https://example.org/docs \u2014 see the prompt for the budget review in the shared folder."
    ),
    (
        "Project Harbour, the booking site: public beta planned for February; staging runs on port 8443, logs are in "
        "/var/log/harbour, and the assistant restarts it with `systemctl restart harbour` after each deploy."
    ),
    (
        "Bevorzugt kurze Antworten; f\u00fcr Besprechungen gilt: nie vor zehn Uhr. \u00c4nderungen werden dienstags "
        "ausgeliefert, R\u00fcckfragen bitte schriftlich, und Zahlen stehen ab drei in einer Tabelle."
    ),
    (
        "Prefers numbers in a table as soon as there are more than three; the result first and then the reasons, with "
        "sources named; never a call before ten in the morning and never on a Friday afternoon."
    ),
)
_PROFILE = """\
name: everything
tier: 2
user_memory_categories: ["*"]
include_uncategorized: true
prompt: {style: hermes}
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
profile = catmem.load_profile(Path(sys.argv[1]) / "everything.yaml")
day = datetime.date(2026, 11, 21)
def once():
    return catmem.build_prompt({"user": catmem.parse(path.read_bytes())}, profile, as_of=day).text
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
    results = [faster(*_at(count, hermes, entry_text), _LIMIT) for count in _COUNTS]
    # Text that gives a scanner something to look at in three entries of four costs us relatively more than them. The
    # figure has no limit, and is shown.
    return [*results, compared(*_at(_BUSY_COUNT, hermes, busy_text))]


def _at(count: int, hermes: Path, text: Callable[[int], str]) -> tuple[str, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        entries = [text(number) for number in range(count)]
        (home / "memories").mkdir()
        (home / "memories" / "USER.md").write_text("\n§\n".join(entries), encoding="utf-8")
        (home / "everything.yaml").write_text(_PROFILE, encoding="utf-8")
        ours = _measured(Path(sys.executable), _OURS, home)
        theirs = _measured(hermes, _THEIRS, home)
    for side, measured in {"catmem": ours, "Hermes Agent": theirs}.items():
        if missing := [entry for entry in entries if entry not in measured["text"]]:
            raise ValueError(f"{side} left {len(missing)} of {count} entries out, so the times do not compare")
    kind = "entries" if text is entry_text else "entries with links, names and umlauts"
    return f"file to prompt, {count:,} {kind}", ours["seconds"], theirs["seconds"]


def entry_text(number: int) -> str:
    """An ordinary note of exactly 208 characters, no two alike."""
    start = f"Note {number}: invoices of vendor {number * 7919 % 10_007} are due on the 15th; "
    filler = (
        "ask the finance lead before approving anything above the limit, and keep the receipts in the shared folder. "
    )
    return (start + filler * 2)[: _ENTRY_CHARACTERS - 1] + "."


def busy_text(number: int) -> str:
    """A note of about 200 characters: three of four hold words, links or letters that a scanner has to look at."""
    return f"{number}: {_BUSY[number % len(_BUSY)]}"


def _measured(python: Path, script: str, home: Path) -> dict[str, Any]:
    command = [str(python), "-c", script + _TIMING, str(home)]
    environment = {"HERMES_HOME": str(home), "HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=home)
    if result.returncode:
        raise RuntimeError(f"{python} failed:\n{result.stderr}")
    measured: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return measured
