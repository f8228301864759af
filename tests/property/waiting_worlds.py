"""Two worlds that differ in what waits for a person, and the same calls of the profile ``neo`` in both.

In the one, others have proposed: a profile of tier 1 and people, to ``neo``'s own files and to those of others, before
the calls and between them. In the other nothing of theirs waits. What ``neo`` proposes itself waits in both.
"""

import random
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from catmem.errors import CatmemError
from tests.property import worlds

KINDS = ("plain", "shared", "verifies", "closed")
POLICIES = (
    "approval: others\n",
    "approval: all\n",
    "approval: {agents: all, most: 2}\n",
    "approval: {agents: off, categories: [talk, drop]}\n",
)
EACH = 40
"""Calls in one pair of worlds."""

CHANGES = [
    (re.compile(r"p-[0-9a-f]{10}"), "p-"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|\+00:00)"), "WHEN"),
    (re.compile(r'"op_id": ?"[0-9a-f]{32}"'), '"op_id":"-"'),
    (re.compile(r'("\w*)-?[0-9a-f]{16}"'), r'\1"'),
]
"""What is another in every run: ids, times, and tags of answers with these in them."""

THEIRS = ("what the boss proposes", "a person has this wait", "nobody else knows of this proposal")
TEXTS = (
    *worlds.SEEN,
    worlds.ONCE,
    worlds.SECRETS[0][0],
    worlds.SECRETS[1][1],
    *THEIRS,
    "a new fact of neo",
    "another new fact",
    "short answers, always",
    "x",
)
CATEGORIES = ("talk", "talk", "talk", "rules", "drop", "vault", "nowhere")
OWN, OTHERS = "OWN", "OTHERS"
"""What stands in a call for the id of a proposal."""


class Calls:
    """Calls at every door, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def each(self) -> Iterator[tuple[str, Any]]:
        for _ in range(EACH):
            door = self.chance.choice(["tool", "tool", "hermes", "mcp", "http", "http", "http", "anthropic", "more"])
            yield getattr(self, f"of_{door}")()

    def of_tool(self, door: str = "tool") -> tuple[str, Any]:
        pick = self.chance.choice
        made = self.change() | pick(
            [{}, {}, {"reason": pick(TEXTS)}, {"op_id": pick("12")}, {"expected": str(self.base())}]
        )
        batch = {"operations": [self.change(), self.change()], "target": pick(["user", "memory"])}
        reads = {"action": pick(["list", "prompt", "proposals", "seed"])}
        asks = {"action": pick(["proposals", "withdraw"]), "proposal": self.id()}
        finds = {"action": "search", "query": pick(TEXTS)}
        return door, pick([made, made, made, batch, reads, asks, asks, finds])

    def of_hermes(self) -> tuple[str, Any]:
        return self.chance.choice([self.of_tool("hermes"), self.of_tool("hermes"), ("hermes_prompt", None)])

    def of_mcp(self) -> tuple[str, Any]:
        arguments = self.of_tool()[1]
        if "operations" in arguments or arguments["action"] == "withdraw":
            arguments = {"action": "list", "proposal": self.id()}
        name = {"proposals": "list"}.get(arguments["action"], arguments["action"])
        asked = {key: value for key, value in arguments.items() if key != "action"}
        return "mcp", ("tool", f"memory_{name}", asked)

    def of_http(self) -> tuple[str, Any]:
        pick = self.chance.choice
        body = {"entity_id": pick(["neo/user", "neo/memory"]), "content": [self.change()], "prev_rev": self.base()}
        body |= pick([{}, {}, {"reason": pick(TEXTS)}, {"op_id": pick("12")}])
        decides = f"/mem/proposals/{self.id()}/{pick(['approve', 'reject', 'reject'])}"
        where = pick(["/mem/head", "/mem/read", "/mem/log", "/mem/branches"])
        asked = {"entity_id": pick(["neo/user", "neo/memory", "boss/user", "nobody"])}
        asked |= {"revision": self.base()} if where == "/mem/read" and pick([True, False]) else {}
        plain = pick(["/prompt/neo", "/mem/branches", "/metrics", "/page/queue", "/openapi.json"])
        return "http", pick(
            [
                ("POST", "/mem/write", {}, body),
                ("POST", "/mem/write", {}, body),
                ("POST", decides, {}, {}),
                ("POST", "/mem/merge", {}, {"entity_id": "neo/user"}),
                ("GET", "/mem/proposals", {}, None),
                ("GET", f"/mem/proposals/{self.id()}", {}, None),
                ("GET", where, asked, None),
                ("GET", where, asked, None),
                ("GET", plain, {}, None),
            ]
        )

    def of_anthropic(self) -> tuple[str, Any]:
        pick = self.chance.choice
        path = f"/memories/{pick(['user', 'memory'])}/{pick(CATEGORIES)}.md"
        return "anthropic", pick(
            [
                {"command": "view", "path": pick(["/memories", "/memories/.proposals", path])},
                {"command": "create", "path": path, "file_text": pick(TEXTS)},
                {"command": "str_replace", "path": path, "old_str": pick(TEXTS), "new_str": pick(TEXTS)},
                {"command": "insert", "path": path, "insert_line": 0, "insert_text": pick(TEXTS)},
                {"command": "delete", "path": path},
            ]
        )

    def of_more(self) -> tuple[str, Any]:
        pick = self.chance.choice
        target = pick(["user", "memory"])
        return pick(
            [
                ("others", pick(THEIRS)),
                ("library", (pick(["prompt", "list", "view"]), target, "")),
                ("library", ("search", pick(TEXTS), True)),
            ]
        )

    def change(self) -> dict[str, Any]:
        pick = self.chance.choice
        old = {"old_text": pick(TEXTS)}
        return pick(
            [
                {"action": "add", "content": pick(TEXTS), "category": pick(CATEGORIES)},
                {"action": "add", "content": f"{pick(TEXTS)} {self.chance.randrange(9)}", "category": "talk"},
                {"action": "replace", **old, "content": pick(TEXTS)},
                {"action": "remove", **old},
                {"action": "move", **old, "category": pick(CATEGORIES)},
                {"action": "verify", **old},
            ]
        )

    def base(self) -> str | int:
        """A revision to write on; some are those at which a proposal of somebody may stand."""
        return self.chance.choice([10, 11, 11, 11, 12, 13, "11a", "12a", "12b", "12c", "13a", "13b"])

    def id(self) -> str:
        return self.chance.choice([OWN, OWN, OTHERS, "p-0123456789", "all"])


class Others:
    """What others have wait in a world: nothing in the first."""

    def __init__(self, world: worlds.World, *, propose: bool) -> None:
        self.workspace, self.propose = world.workspace, propose
        self.ids = [f"p-00000000{number}f" for number in range(10)]

    def have(self, text: str) -> None:
        if not self.propose:
            return
        number = len(self.ids)
        self._add(f"{text} {number}", "neo", "user", "boss", "talk")
        self._add(f"{text} {number}", "neo", "user", None, "rules")
        self._add(f"{text} {number}", "neo", "memory", "boss", "vault")
        self._add(f"{text} {number}", "boss", "user", None, "talk")
        self._add(f"{text} {number}", "other", "user", "other", "talk")
        self._one(lambda: self.workspace.remove("neo", worlds.SEEN[2], target="user", actor="boss", proposes=True))
        self._one(lambda: self.workspace.replace("neo", worlds.SEEN[3], text, target="user", proposes=True))

    def _add(self, text: str, owner: str, target: str, actor: str | None, category: str) -> None:
        how = {"target": target, "actor": actor, "category": category}
        self._one(lambda: self.workspace.add(owner, text, **how, proposes=True))

    def _one(self, write: Any) -> None:
        with suppress(CatmemError):  # too many, or the entry is gone
            name = write().waiting
            if name is not None:
                self.ids.insert(0, name)


def told(seed: int, *, propose: bool, make_doors: Any, hidden: int = 0) -> list[tuple[Any, str]]:
    """Each call of a seed with what a world answers, in which others propose or not; ``hidden`` is what it hides."""
    folder = Path(tempfile.mkdtemp())
    try:
        worlds.make(folder, KINDS[seed % len(KINDS)], seed, hidden)
        with (folder / "catmem.yaml").open("a", encoding="utf-8") as config:
            config.write(POLICIES[seed // len(KINDS) % len(POLICIES)])
        world = worlds.opened(folder)
        doors, others, own = make_doors(world), Others(world, propose=propose), []
        world.system.at(worlds.NOW)
        others.have(THEIRS[0])
        found = []
        for number, (door, asked) in enumerate(Calls(seed).each(), 1):
            world.system.at(worlds.NOW + number * worlds.MOMENT)
            if door == "others":
                others.have(asked)
                continue
            said = getattr(doors, door)(_filled(asked, own, others.ids)).replace(str(folder), "ROOT")
            known = {*own, *others.ids, "p-0123456789"}
            own += [each for each in dict.fromkeys(re.findall(r"p-[0-9a-f]{10}", said)) if each not in known]
            found.append(((door, asked), normal(said)))
        doors.close()
        return found
    finally:
        shutil.rmtree(folder)


def normal(said: str) -> str:
    for pattern, instead in CHANGES:
        said = pattern.sub(instead, said)
    return said


def _filled(asked: Any, own: list[str], others: list[str]) -> Any:
    """A call with ids in the place of what stands for them."""
    match asked:
        case str():
            return asked.replace(OWN, own[-1] if own else "p-1111111111").replace(OTHERS, others[0])
        case dict():
            return {key: _filled(value, own, others) for key, value in asked.items()}
        case tuple() | list():
            return type(asked)(_filled(value, own, others) for value in asked)
    return asked
