"""A session played at a door: what an agent asks, what it is told, and the bytes of the file before and after each call."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.guard.outsider import MARK, NAME, act, is_outsiders, spans
from tests.guard.scripts import HIDDEN, TITLES, Script, filler

if TYPE_CHECKING:
    from random import Random

    from tests.guard.doors import Door
    from tests.guard.scripts import Step

Wish = dict[str, Any]
"""What an agent wants, in the words of the ``memory`` tool; each door says it in its own."""
ID = re.compile(r"b2:[0-9a-f]{32}")


class Answer(NamedTuple):
    """What a door tells an agent. ``found`` and ``revision`` are what a later call may give as ``expected``.

    ``sent`` is what was asked, where a door says that in words of its own.
    """

    text: str
    succeeded: bool = True
    reason: str = ""
    found: str | None = None
    revision: str | None = None
    sent: str = ""


class Call(NamedTuple):
    """One call of the agent, or (with nothing ``asked``) what it is shown when the session opens."""

    step: int
    asked: str
    expected: str | None
    answer: Answer
    before: bytes
    after: bytes


@dataclass(slots=True)
class Story:
    """All that came to pass. ``known`` are the bytes that the session began with."""

    script: Script
    door: type[Door]
    file: bytes
    known: bytes = b""
    calls: list[Call] = field(default_factory=list)
    told: dict[int, str] = field(default_factory=dict)
    """What the outsider did, by its step."""


class Agent:
    """What an agent remembers of the answers, and what it asks for at a step."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.heard, self.revisions = "", ["0"]
        self.refused: tuple[Wish, str] | None = None
        """What it asked last and was refused with something found, and that."""

    def hear(self, wish: Wish, answer: Answer) -> None:
        self.heard += answer.text
        self.refused = (wish, answer.found) if answer.found is not None else self.refused
        self.revisions += [] if answer.revision is None else [answer.revision]

    def wish(self, step: Step, text: str) -> Wish:
        """What it asks for; ``text``, the file, it sees only to guess a piece of it."""
        chance = self.script.chance(step)
        wish = self._wish(step, text, chance)
        if chance.random() < 0.5 and step.what != "prompt":
            wish |= {"target": "user"}
        if step.on == "found" and self.refused is not None and chance.random() < 0.7:
            wish = self.refused[0]
        expected = self._expected(chance)[step.on]
        return wish if expected is None else wish | {"expected": expected}

    def _wish(self, step: Step, text: str, chance: Random) -> Wish:
        category, note = chance.choice(list(TITLES)), f"Note zqa{step.number} of the agent"
        nowhere, some = {"old_text": "nowhere at all"}, chance.choice([1, 2, 3])
        bad = [{"old_text": ""}, {"old_text": "zqf1", "contents": note}, {"content": note}]
        long = filler((self.script.setting.limit or 1_375) + 1, chance)
        left = [span.text for span in spans(text)][chance.choice([1, 99]) :]
        title = f"## {TITLES[category]}\n" if "## " in text else ""
        wishes: dict[str, Wish] = {
            "list": {"action": "list"},
            "list category": {"action": "list", "category": category},
            "list offset": {"action": "list", "offset": chance.choice([1, 2, 30])},
            "search": {"action": "search", "query": chance.choice(["shared", self._name(text, chance), "tea"])},
            "search nothing": {"action": "search", "query": "zebra"},
            "prompt": {"action": "prompt"} | ({"categories": [category]} if chance.random() < 0.3 else {}),
            "head": {"action": "head"},
            "batch": {"operations": [self._change(note, text, chance) for _ in range(some)]},
            "text": {"action": "text", "content": title + "\n§\n".join([*left, note]) + "\n"},
            "no match": {"action": "remove", **nowhere}
            if some == 1
            else {"action": "replace", "content": note, **nowhere},
            "ambiguous": {"action": "replace", "old_text": "shared", "content": note},
            "over budget": {"action": "add", "content": f"{note} {long}", "category": category},
            "bad arguments": {"action": "replace", **chance.choice(bad)},
            "forbidden category": {"action": "add", "content": note, "category": HIDDEN.lower()},
        }
        return wishes.get(step.what) or self._change(note, text, chance, step.what)

    def _change(self, note: str, text: str, chance: Random, what: str = "") -> Wish:
        what = what or chance.choice(["add", "replace", "replace", "remove", "move", "verify"])
        wish = {"action": what, "old_text": self._piece(text, chance)}
        category = chance.choice([None, *TITLES]) if what == "add" else chance.choice(list(TITLES))
        if what == "add":
            wish = {"action": what, "content": f"{note}, {chance.randrange(9)}."}
        if what == "replace":
            wish["content"] = f"{note} that stands for another."
        return wish | ({"category": category} if category and what in {"add", "move"} else {})

    def _piece(self, text: str, chance: Random) -> str:
        """A name of an entry, a guess at a piece that stands in the file, or an id that it was told."""
        ids, draw, apart = ID.findall(self.heard), chance.random(), self.script.mode == "apart"
        if draw < 0.15 and ids and not apart:
            return chance.choice(ids)
        mine = [span.text for span in spans(text) if not (apart and is_outsiders(span.text))]
        if draw < 0.25 and mine:
            entry, start = chance.choice(mine), chance.randrange(40)
            return chance.choice([entry, entry[start : start + 40].strip() or entry])
        return self._name(text, chance)

    def _name(self, text: str, chance: Random) -> str:
        """The name of an entry: one that it heard, or one that is there, rather of those that the outsider touched."""
        apart, draw = self.script.mode == "apart", chance.random()
        there = [span.text for span in spans(text) if not (apart and is_outsiders(span.text))]
        heard = [name for name in NAME.findall(self.heard) if not (apart and is_outsiders(name))]
        if draw < 0.3 and heard:
            return chance.choice(heard)
        touched = [entry for entry in there if MARK.search(entry)]
        named = NAME.findall(chance.choice(touched if touched and draw < 0.75 else there or [""]))
        return named[0] if named else "zqf0"

    def _expected(self, chance: Random) -> dict[str, str | None]:
        """What a change may say that it is made on."""
        current, ids = self.revisions[-1], ID.findall(self.heard)
        return {
            "none": None,
            "found": None if self.refused is None else self.refused[1],
            "current": current,
            "next": str(int(re.sub(r"\D.*", "", current) or 0) + 1),
            "stale": chance.choice(self.revisions[:-1] or ["0"]),
            "id": chance.choice(ids or ["b2:" + "0" * 32]),
            "wrong": chance.choice(["99", "b2:" + "a" * 32, "sha256:" + "0" * 64]),
            "malformed": chance.choice(["abc", "", "b2:12", "-1"]),
        }


def play(script: Script, door: type[Door]) -> Story:
    """Play a script at a door, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="catmem-guard-", ignore_cleanup_errors=True) as made:
        opened, agent = door(Path(made), script), Agent(script)
        file = opened.path
        story = Story(script, door, _bytes(file))
        story.told |= {step.number: act(script, step, file) for step in script.before}
        with opened:
            story.known = _bytes(file)
            shown = opened.open()
            agent.hear({}, shown)
            story.calls.append(Call(0, "", None, shown, story.known, _bytes(file)))
            for step in script.steps:
                if step.who == "outsider":
                    story.told[step.number] = act(script, step, file)
                    continue
                if len(story.calls) == 1 and not door.begins_at_opening:
                    story.known = _bytes(file)
                wish = agent.wish(step, _bytes(file).decode())
                for _ in range(step.times):
                    before = _bytes(file)
                    answer = opened.call(wish)
                    agent.hear(wish, answer)
                    asked = answer.sent or json.dumps(wish, ensure_ascii=False)
                    story.calls.append(Call(step.number, asked, wish.get("expected"), answer, before, _bytes(file)))
        return story


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
