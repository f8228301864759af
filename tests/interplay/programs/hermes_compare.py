"""Give the same calls to Hermes Agent's own MemoryStore and to catmem's, and say all that there is to see of both.

``hermes_compare.py FOLDER``, with a case on each line of stdin: ``files`` (``{"MEMORY.md": text}``; a folder for ``null``),
``limits`` (two numbers) and ``calls`` (``[method, argument, ...]``), as JSON. Bytes that are no UTF-8 stand as lone surrogates.
Answers each with a line: what either side showed, for each call, beginning with the first ``load_from_disk``, an object.
"""

import json
import logging
import re
import sys
from pathlib import Path

import tools.memory_tool as hermes

from catmem.plugins.hermes import memory_store as ours

logging.disable()
STAMP = re.compile(r"\.bak\.[0-9TZ]+(-[0-9]+)?")
TARGETS = ("memory", "user")
NAMES = ("MEMORY.md", "USER.md")


class Side:
    """One of the two stores, with a folder of its own."""

    def __init__(self, kind, folder, case):
        self.folder = folder / "memories"
        self.folder.mkdir(parents=True)
        for name, text in case["files"].items():
            self.put(name, text)
        self.enter()
        self.store = kind(*case["limits"])

    def enter(self):
        hermes.get_memory_dir = lambda: self.folder

    def put(self, name, text):
        if text is None:
            (self.folder / name).mkdir()
            return
        (self.folder / name).write_bytes(text.encode(errors="surrogateescape"))

    def text(self, name):
        return (self.folder / name).read_bytes().decode(errors="surrogateescape")

    def step(self, name, arguments):
        """What a call answers, and everything that can be seen after it."""
        self.enter()
        return {"answer": self.answer(name, arguments)} | self.seen()

    def answer(self, name, arguments):
        if name == "write outside":
            return self.put(*arguments)
        try:
            answer = getattr(self.store, name)(*arguments)
        except (ValueError, RuntimeError, AttributeError) as error:
            return f"raises {type(error).__name__}"
        text = json.dumps(answer).replace(str(self.folder), "FOLDER")
        return json.loads(STAMP.sub(".bak", text))

    def seen(self):
        # .catmem is the store's own.
        found = {path.name for path in self.folder.iterdir() if path.name != ".catmem"}
        store = self.store
        return {
            "names": sorted({STAMP.sub(".bak", name) for name in found if not name.endswith(".lock")}),
            "locks": sorted(name for name in found if name.endswith(".lock")),
            "files": {name: self.text(name) for name in NAMES if (self.folder / name).is_file()},
            "entries": {target: list(store._entries_for(target)) for target in TARGETS},
            "sizes": [store._char_count(target) for target in TARGETS],
            "limits": [store._char_limit(target) for target in TARGETS],
            "prompt": [store.format_for_system_prompt(target) for target in TARGETS],
            "snapshot": store._system_prompt_snapshot,
            "failures": store._consolidation_failures,
            "read": [self.answer("_read_file", [hermes.MemoryStore._path_for(target)]) for target in TARGETS],
            # Hermes has one name for the copies of one second, so that of two the second is lost.
            "backups": sorted({self.text(name) for name in found if STAMP.search(name)}),
            "copies": sum(STAMP.search(name) is not None for name in found),
        }


def sides(folder, case):
    found = {}
    for name, kind in (("theirs", hermes.MemoryStore), ("ours", ours.MemoryStore)):
        side = Side(kind, folder / name, case)
        found[name] = [side.step(call, arguments) for call, *arguments in [["load_from_disk"], *case["calls"]]]
    ours.FILES.close()
    return found


folder = Path(sys.argv[1])
for number, line in enumerate(sys.stdin):
    print(json.dumps(sides(folder / str(number), json.loads(line))), flush=True)
