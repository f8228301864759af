"""The memory of a profile as bullets below headings: what a block holds, and what an agent made of it since.

A bullet is what the prompt shows of one entry. What catmem wrote last is known by digests alone (``LastBullet``), so
that no copy of the memory lies beside it; of an entry that memory still has, the words are there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from catmem.config.config import Taxonomy
from catmem.model.pairing import pair_entries
from catmem.names import UNCATEGORIZED
from catmem.plugins.harnesses.marked import digest
from catmem.prompt.prompt import Prompt, pieces_of

_TITLES = {"user": "About the user", "memory": "Notes"}
_HEADING = re.compile(r"(#{1,6}) +(.*?)(?: \(unverified\))?[ #]*")
_BULLET = re.compile(r"[-*+] +")
_NOTE = re.compile(r"\((?:unverified|stale[^()]*|expired[^()]*)\)\s")
_LIKE_A_NOTE = re.compile(r"(\W*)\\(?=[(\[{])")
_LEFT_OUT = re.compile(r"\([0-9,]+ more entr(?:y|ies) did not fit here: ask the memory of [a-z0-9_-]+\.\)")
_MARK_WORD = re.compile(r"catmem:(?=begin|end|file)", re.IGNORECASE)
_IMPORT = re.compile(r"""(?<![A-Za-z0-9])@[^\s,;!?()\[\]{}"'<>`]*""")


class LastBullet(NamedTuple):
    """A bullet as it was written last: of which entry, and what it looked like."""

    target: str
    category: str
    id: str
    digest: str
    lines: int


class Bullet(NamedTuple):
    """An entry as a block shows it; one that an agent wrote there has no ``id``."""

    target: str
    category: str
    id: str
    body: str
    text: str

    @property
    def written(self) -> LastBullet:
        """What the lock keeps of it."""
        return LastBullet(self.target, self.category, self.id, digest(self.text), self.text.count("\n") + 1)


@dataclass(slots=True)
class BulletSection:
    """The bullets of one category of a target, below a heading."""

    target: str
    category: str
    heading: str
    bullets: list[Bullet] = field(default_factory=list)


def sections_of(prompt: Prompt, targets: Iterable[str], safe: Callable[[str], str]) -> list[BulletSection]:
    """What a prompt in the style ``markdown`` shows of these targets, without what it withholds."""
    sections: list[BulletSection] = []
    heading = ""
    for text, fact in pieces_of(prompt):
        if fact is None:
            heading += text
        elif fact.target in targets and not fact.blocked:
            last = sections[-1] if sections else None
            place = fact.target, fact.entry.category
            if last is None or (last.target, last.category) != place:
                last = BulletSection(*place, safe(f"#{heading.strip().rpartition(chr(10))[2]}"))
                sections.append(last)
            last.bullets.append(Bullet(*place, fact.entry.id, fact.body, safe(text.removesuffix("\n"))))
            heading = ""
        else:
            heading = ""
    return sections


def body_of(sections: Sequence[BulletSection], note: str = "") -> str:
    """The text of some sections, a heading above those of each target; nothing where there are none."""
    text = target = ""
    for each in sections:
        if each.bullets:
            text += ("\n" if text else "") + (f"## {_TITLES[each.target]}\n\n" if each.target != target else "")
            text += "\n".join([each.heading, *(bullet.text for bullet in each.bullets)]) + "\n"
            target = each.target
    return text + (f"\n{note}\n" if note else "")


def safe_text(text: str, *, imports: bool) -> str:
    """The text without what a harness would act on: comments, markers, and ``@path`` where that is an import."""
    text = _MARK_WORD.sub(lambda found: f"{found[0]} ", text.replace("<!--", "<! --").replace("-->", "-- >"))
    if imports and "`" in text:  # more of them could close a span of code, and what is in it would be read
        return _IMPORT.sub(lambda found: f"&#64;{found[0][1:]}", text)
    return _IMPORT.sub(r"`\g<0>`", text) if imports else text


def _plain(text: str, was: str) -> str:
    """The body that an agent means by a bullet, which stood there as one of an entry with the body ``was``."""
    first, *others = text.split("\n")
    bullet = _BULLET.match(first)
    body = "\n".join([first[bullet.end() :] if bullet else first, *(line.removeprefix("  ") for line in others)])
    body = _LIKE_A_NOTE.sub(r"\1", _NOTE.sub("", body, count=1), count=1).strip()
    if "@" in was:
        body = re.sub(r"`(@[^\s`]*)`", r"\1", body) if "`" not in was else body.replace("&#64;", "@")
    return body.replace("<! --", "<!--").replace("-- >", "-->") if "--" in was else body


# --- what an agent changed -------------------------------------------------------------------------------------------


class BlockEdit(NamedTuple):
    """What an agent did to a block: ``old`` is the entry's bullet today, ``new`` what stands there now.

    ``disputed``: memory changed an entry of the same category too, and it is not known which is meant.
    """

    action: Literal["add", "replace", "remove"]
    old: Bullet | None
    new: Bullet | None
    disputed: bool = False

    def __json__(self) -> dict[str, str | None]:
        before, after = (each and each.body for each in (self.old, self.new))
        return {"action": self.action, "category": self.at.category, "before": before, "after": after}

    @property
    def at(self) -> Bullet:
        """Where it is."""
        return self.new or self.old  # type: ignore[return-value]  # one is there


def edits_in(
    held: str, written: Sequence[LastBullet], today: Sequence[BulletSection], taxonomy: Taxonomy, targets: Sequence[str]
) -> list[BlockEdit]:
    """What was changed in what a block holds, since the bullets ``written`` were put there."""
    now: dict[tuple[str, str, str], list[Bullet]] = {}
    for bullet in (each for section in today for each in section.bullets):
        now.setdefault(bullet[:3], []).append(bullet)
    left = [*written]
    new = _unknown_bullets(held, left, taxonomy, targets)
    # A bullet that is missing, and that memory has still, was changed or taken out.
    missing = [now[each[:3]].pop(0) for each in left if now.get(each[:3])]
    gone = {each[:2] for each in left} - {each[:2] for each in missing}
    kept = [each for bullets in now.values() for each in bullets]
    found: list[Bullet] = []
    for each in new:
        same = next(
            (bullet for bullet in kept if bullet[:2] == each[:2] and each.body in {bullet.body, bullet.text}), None
        )
        if same is None:
            found.append(each)
        else:
            kept.remove(same)  # memory says so by now
    pairs = _pairs(missing, found)
    edits = [
        BlockEdit("replace", old, found[pairs[here]]._replace(body=_plain(found[pairs[here]].text, old.body)))
        if here in pairs
        else BlockEdit("remove", old, None)
        for here, old in enumerate(missing)
    ]
    taken = set(pairs.values())
    return edits + [
        BlockEdit("add", None, each, each[:2] in gone) for there, each in enumerate(found) if there not in taken
    ]


def _pairs(old: Sequence[Bullet], new: Sequence[Bullet]) -> dict[int, int]:
    """Which bullet each old one became: one that is like it, or all that are left of a category in their order."""
    pairs = {here: there for here, there in pair_entries(old, new).items() if old[here].target == new[there].target}
    for place in dict.fromkeys(each[:2] for each in old):
        left = [here for here, each in enumerate(old) if each[:2] == place and here not in pairs]
        free = [there for there, each in enumerate(new) if each[:2] == place and there not in pairs.values()]
        pairs |= dict(zip(left, free, strict=True)) if len(left) == len(free) else {}
    return pairs


def _unknown_bullets(held: str, left: list[LastBullet], taxonomy: Taxonomy, targets: Sequence[str]) -> list[Bullet]:
    """The bullets that catmem did not write; those that it did are taken out of ``left``."""
    target, category = targets[0], UNCATEGORIZED
    lines, found, at = held.split("\n"), list[Bullet](), 0
    while at < len(lines):
        line = lines[at]
        heading = _HEADING.fullmatch(line)
        known = None if heading else _known(lines, at, [each for each in left if each[:2] == (target, category)])
        if heading is not None:
            named = next(
                (
                    name
                    for name, title in _TITLES.items()
                    if name in targets and heading[2] == title and heading[1] == "##"
                ),
                None,
            )
            target = named or target
            category = UNCATEGORIZED if named else _category(heading[2], taxonomy)
        elif known is not None:
            left.remove(known)
            at += known.lines
            continue
        elif line.strip() and not _LEFT_OUT.fullmatch(line.strip()):
            end = at + 1
            while end < len(lines) and _goes_on(lines, end):
                end += 1
            text = "\n".join(each.rstrip() for each in lines[at:end])
            found.append(Bullet(target, category, "", _plain(text, ""), text))
            at = end
            continue
        at += 1
    return found


def _goes_on(lines: Sequence[str], at: int) -> bool:
    """Whether a line belongs to the bullet above it; a blank one does between two that are indented."""
    line = lines[at] if lines[at].strip() else "".join(lines[at + 1 : at + 2])
    if line.startswith("  "):
        return True
    return bool(lines[at].strip()) and _BULLET.match(line) is None and _HEADING.fullmatch(line) is None


def _known(lines: Sequence[str], at: int, written: Iterable[LastBullet]) -> LastBullet | None:
    return next((each for each in written if digest("\n".join(lines[at : at + each.lines])) == each.digest), None)


def _category(title: str, taxonomy: Taxonomy) -> str:
    return UNCATEGORIZED if title == "Uncategorized" else taxonomy.category(title) or UNCATEGORIZED


def with_edits(today: Sequence[BulletSection], edits: Iterable[BlockEdit]) -> list[BulletSection]:
    """The sections of today with what an agent changed in them, as long as that is not decided."""
    made = [BulletSection(each.target, each.category, each.heading, [*each.bullets]) for each in today]
    for edit in edits:
        section = next((each for each in made if (each.target, each.category) == edit.at[:2]), None)
        if section is None:
            section = BulletSection(*edit.at[:2], f"### {edit.at.category}")
            made.append(section)
        for each in made:
            if edit.old and each is not section and edit.old in each.bullets:
                each.bullets.remove(edit.old)  # it stands under another heading now
        # The bullet of an entry for which the file has no room is not there; what an agent made of it is.
        place = section.bullets.index(edit.old) if edit.old in section.bullets else len(section.bullets)
        section.bullets[place : place + 1] = [edit.new] if edit.new else []
    return sorted(made, key=lambda each: list(_TITLES).index(each.target))
