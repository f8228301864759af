"""Three documents of which every edit is known: a base, and two sides that were each made of it by a script of edits.

The script knows which entry of the base each entry of a side was; nothing here reads that out of the texts. All that is
drawn comes from a ``random.Random``, so that a seed, or Hypothesis, gives the same scene again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

HEAD = ""
"""The title of the part before the first header."""
TITLES = ["Finance", "People", "Rules", "Travel", "Tools"]
WORDS = """vendor cloud billing invoices are due on the fifteenth prefers short answers british spelling never schedule
calls before ten always ask twice about travel to Lisbon by train with green tea and no sugar in meetings reports go
out every second Friday unless it is a holiday then Monday will do Acme Bolt Core Delta office""".split()  # noqa: SIM905
NAMES = ["Ann Lee", "Omar", "Li Wei", "Zoë Park", "J. R. Ortiz", "Ivo", "Marta Klein", "Ngozi"]
CJK = ["每天早上喝茶", "不喝咖啡", "会议在星期一", "发票月底到期", "住在东京", "喜歡綠茶", "電話は午後だけ"]
ARABIC = ["يفضل الشاي الأخضر", "الاجتماع يوم الاثنين", "المكتب في عمان", "لا اتصالات قبل العاشرة"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
TAGS = {
    "verified_date": ["2026-01-01", "2026-02-02", "2026-03-03", "2026-04-04"],
    "domain": ["finance", "people", "code"],
    "source": ["call", "mail", "chat"],
}


class Item(NamedTuple):
    """An entry of a side. ``origin`` is its number in the base, ``None`` for one that the side added.

    ``moved`` says that the side put it elsewhere; ``known`` that its words still say which entry it is, where they
    are not the ones of the base.
    """

    origin: int | None
    body: str
    tags: dict[str, str]
    moved: bool = False
    known: bool = False


Sections = dict[str, list[Item]]


@dataclass(frozen=True)
class Edit:
    """One step of a script: the number of the entry in the base, and what became of it."""

    kind: str
    origin: int | None
    body: str | None = None
    title: str | None = None
    tags: tuple[tuple[str, str], ...] = ()


@dataclass
class Side:
    """A document whose entries know where they come from, and the script that made it of the base."""

    sections: Sections
    edits: list[Edit] = field(default_factory=list)
    title: str = ""

    @property
    def items(self) -> Iterator[tuple[str, int, Item]]:
        """Each entry, with its section and its place there."""
        return ((title, place, item) for title, items in self.sections.items() for place, item in enumerate(items))

    def find(self, origin: int) -> tuple[str, int, Item] | None:
        """What the entry of the base is here, ``None`` if it was removed."""
        return next((found for found in self.items if found[2].origin == origin), None)

    @property
    def text(self) -> str:
        """The document as text."""
        parts = [f"# {self.title}\n"] if self.title else []
        for title, items in self.sections.items():
            lines = "\n§\n".join(shown(item) for item in items)
            header = f"## {title}\n" if title else ""
            if header or lines:
                parts.append(f"{header}{lines}\n" if lines else header)
        return "\n".join(parts)


def shown(item: Item) -> str:
    """An entry as it stands in a file."""
    tags = ", ".join(f"{key}: {value}" for key, value in item.tags.items())
    return f"[{tags}] {item.body}" if tags else item.body


@dataclass(frozen=True)
class Scene:
    """What a merge is tried on."""

    base: Side
    ours: Side
    theirs: Side

    @property
    def texts(self) -> tuple[str, str, str]:
        """The three texts."""
        return self.base.text, self.ours.text, self.theirs.text


@dataclass(frozen=True)
class Range:
    """How large a scene is, and which edits there are."""

    entries: tuple[int, int] = (1, 12)
    sections: tuple[int, int] = (0, 4)
    edits: tuple[int, int] = (0, 4)
    kinds: tuple[str, ...] = ("reword", "reword", "reword", "remove", "add", "shift", "move", "tag")
    recorded: bool = False
    """Each edit is made by itself and is on record: then an entry may be moved and get other words altogether. What
    arrives in a section arrives at its end."""


FULL = Range()
RECORDED = Range(edits=(1, 3), kinds=("reword", "reword", "remove", "add", "move"), recorded=True)


def scene(random: Random, size: Range = FULL, ours: Range | None = None) -> Scene:
    """A base and two sides; ``ours`` is for our side, where that is edited otherwise."""
    writer = Writer(random, size)
    base = writer.base()
    mine = writer.side(base, [], ours)
    return Scene(base, mine, writer.side(base, mine.edits))


class Writer:
    """Makes one scene. No text that it makes up is there twice, but for edits that both sides make."""

    def __init__(self, random: Random, size: Range) -> None:
        self._random = random
        self._size = size
        self._used: set[str] = set()

    def _chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent

    def _between(self, bounds: tuple[int, int]) -> int:
        return self._random.randint(*bounds)

    # The base.

    def base(self) -> Side:
        """A document."""
        titles = self._random.sample(TITLES, min(self._between(self._size.sections), len(TITLES)))
        sections: Sections = {HEAD: []} | {title: [] for title in titles}
        places = [*titles, HEAD] if titles and self._chance(20) else titles or [HEAD]
        made: list[str] = []
        for number in range(self._between(self._size.entries)):
            body = self._new(
                lambda: self._near(self._random.choice(made)) if made and self._chance(20) else self._text()
            )
            made.append(body)
            sections[self._random.choice(places)].append(Item(number, body, self._tags() if self._chance(30) else {}))
        # Numbered in the order of the file.
        numbers = iter(range(len(made)))
        sections = {title: [item._replace(origin=next(numbers)) for item in items] for title, items in sections.items()}
        return Side(sections, title="What is known" if titles and self._chance(20) else "")

    def _tags(self) -> dict[str, str]:
        return {
            key: self._random.choice(TAGS[key]) for key in self._random.sample(list(TAGS), self._random.randint(1, 2))
        }

    def _new(self, make: Callable[[], str]) -> str:
        """A text that is nowhere yet."""
        for _ in range(20):
            body = make()
            if body not in self._used:
                break
        else:
            body = f"{body} {len(self._used)}"
        self._used.add(body)
        return body

    def _prose(self, low: int, high: int) -> str:
        return " ".join(self._random.choices(WORDS, k=self._random.randint(low, high)))

    def _text(self) -> str:
        choose, number = self._random.choice, self._random.randrange(1000)
        kind = self._random.randrange(10)
        if kind < 3:
            return self._prose(1, 30 if self._chance(30) else 8)
        if kind < 7:
            return choose(
                [
                    f"Deadline: {choose(DAYS)}",
                    f"Budget {number}",
                    f"Age: {number % 100}",
                    f"plan v{number % 20}",
                    f"{choose(WORDS)}: {choose(WORDS)}",
                    f"{choose(NAMES)}: {number}",
                    f"Phone 555-{number:04}",
                    f"Rate = {number / 10}%",
                ]
            )
        if kind == 7:
            return choose(NAMES)
        if kind == 8:
            return choose([*CJK, *ARABIC]) + choose(["", "", f" {number}", "。", f" {choose(NAMES)}"])
        return "\n".join(
            self._prose(1, 8) if self._chance(60) else f"- {self._prose(1, 5)}"
            for _ in range(self._random.randint(2, 4))
        )

    def _near(self, body: str) -> str:
        """Nearly the same: another word in one place."""
        words = body.split(" ")
        words[self._random.randrange(len(words))] = self._random.choice(
            [*WORDS, *DAYS, str(self._random.randrange(1000))]
        )
        return " ".join(words)

    def _reworded(self, body: str) -> str:
        """Other words for an entry: of one word up to all of them."""
        words = body.split(" ")
        kind = self._random.randrange(6)
        if kind == 0 or len(words) == 1:
            return self._text()
        if kind == 1:
            return self._near(body)
        if kind == 2:
            return f"{body} {self._prose(1, 2 * len(words))}"
        if kind == 3:
            return f"{self._prose(1, 2 * len(words))} {body}"
        if kind == 4:
            return " ".join(words[: self._random.randint(1, len(words) - 1)])
        changed = set(self._random.sample(range(len(words)), self._random.randint(1, len(words))))
        return " ".join(self._random.choice(WORDS) if place in changed else word for place, word in enumerate(words))

    # A side.

    def side(self, base: Side, other: list[Edit], size: Range | None = None) -> Side:
        """A document made of the base; some of its edits are of what the other side edited, or the same."""
        if size is not None:
            self._size, size = size, self._size
        side = Side({title: list(items) for title, items in base.sections.items()}, title=base.title)
        for _ in range(self._between(self._size.edits)):
            if other and self._chance(15):
                self._do(base, side, self._random.choice(other))
            elif edit := self._edit(side, other):
                self._do(base, side, edit)
        empty = [title for title, items in side.sections.items() if title and not items]
        for title in empty:
            # The last header stays: without one, the title of the document would be an entry.
            if base.sections.get(title) and len(side.sections) > 2 and self._chance(50):
                del side.sections[title]
        self._size = size or self._size
        return side

    def _edit(self, side: Side, other: list[Edit]) -> Edit | None:
        kind = self._random.choice(self._size.kinds)
        if kind == "add":
            return Edit(
                "add",
                None,
                self._added(other),
                self._place(side),
                tuple(self._tags().items()) if self._chance(20) else (),
            )
        here = [item for _, _, item in side.items if item.origin is not None]
        wanted = {edit.origin for edit in other}
        if self._chance(45) and (both := [item for item in here if item.origin in wanted]):
            here = both
        if not here:
            return None
        item = self._random.choice(here)
        if kind == "reword":
            return Edit(kind, item.origin, self._new(lambda: self._reworded(item.body)))
        if kind == "tag":
            return Edit(kind, item.origin, tags=tuple(self._tags().items()))
        return Edit(kind, item.origin, title=self._place(side) if kind == "move" else None)

    def _added(self, other: list[Edit]) -> str:
        theirs = [edit.body for edit in other if edit.kind == "add" and edit.body]
        return self._new(
            lambda: self._near(self._random.choice(theirs)) if theirs and self._chance(20) else self._text()
        )

    def _place(self, side: Side) -> str:
        titles = [title for title in side.sections if title] or [HEAD]
        if side.sections.get(HEAD) and self._chance(15):
            return HEAD
        # A document without sections stays one: a first header would make a title of a leading line.
        fresh = [title for title in TITLES if title not in side.sections]
        return (
            self._random.choice(fresh)
            if fresh and titles != [HEAD] and self._chance(10)
            else self._random.choice(titles)
        )

    def _do(self, base: Side, side: Side, edit: Edit) -> None:
        """Make an edit on a side, if it can be made there; it may be one that the other side made."""
        if edit.kind == "add":
            items = side.sections.setdefault(edit.title or HEAD, [])
            if all(item.body != edit.body for _, _, item in side.items):
                place = len(items) if self._size.recorded else self._random.randint(0, len(items))
                items.insert(place, Item(None, edit.body or "", dict(edit.tags)))
                side.edits.append(edit)
            return
        found = side.find(edit.origin)
        if found is None:
            return
        title, place, item = found
        items = side.sections[title]
        before = base.find(edit.origin)[2]
        if edit.kind == "remove":
            del items[place]
        elif edit.kind == "tag":
            items[place] = item._replace(tags={**item.tags, **dict(edit.tags)})
        elif edit.kind == "reword":
            known = is_known(before.body, edit.body, base)
            if item.moved and not known and not self._size.recorded:
                return  # with a move and other words, nothing in the texts says which entry it is
            items[place] = item._replace(body=edit.body, known=known)
        elif item.body != before.body and not item.known and not self._size.recorded:
            return
        else:
            to = edit.title if edit.kind == "move" else title
            if (edit.kind == "move" and to == title) or (edit.kind == "shift" and len(items) < 2):
                return
            del items[place]
            there = side.sections.setdefault(to, [])
            places = [each for each in range(len(there) + 1) if to != title or each != place]
            there.insert(places[-1] if self._size.recorded else self._random.choice(places), item._replace(moved=True))
            edit = replace(edit, title=to)
        side.edits.append(edit)


def share(one: str, other: str) -> float:
    """How many of the words of the shorter of two texts are in both, of 1."""
    ones, others = set(one.split()), set(other.split())
    return len(ones & others) / min(len(ones), len(others)) if ones and others else 0.0


def is_known(old: str, new: str, base: Side) -> bool:
    """Whether words alone say that `new` was made of `old`: most are kept, and no other entry of the base has them."""
    words, kept = set(old.split()), set(old.split()) & set(new.split())
    if len(kept) < 4 or 3 * len(kept) < 2 * max(len(words), len(set(new.split()))):
        return False
    return all(share(item.body, new) < 0.4 for _, _, item in base.items if item.body != old)
