"""A marked block in a text that others write too, and the memory of a profile as bullets in it.

A block is found by its name, put in, replaced in its place, taken out again.

Nothing outside of the block changes by a byte. Markers that are not whole pairs leave the text as it is: a begin
without an end could pair with the end of another block, and what stands between would be lost. The line that begins a
block says what was put before and behind it, so what takes it out needs to know no more.

A bullet is what the prompt shows of one entry. What catmem wrote last is known by digests alone (``LastBullet``), so
that no copy of the memory lies beside it; of an entry that memory still has, the words are there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from catmem.config.config import Taxonomy
from catmem.errors import EditError
from catmem.model.pairing import pair_entries
from catmem.names import UNCATEGORIZED
from catmem.prompt.prompt import Prompt, pieces_of
from catmem.text import BOM, dominant_newline, unify_newlines, with_newline

_MARK = re.compile(r"<!-- catmem:(begin|end|file) ([a-z0-9][a-z0-9-]{0,63})((?: [a-z]+=[0-9a-z]+)*) -->[ \t\r]*")
_LIKE_A_MARK = re.compile(r"catmem:(?:begin|end|file)\b", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
FRONTMATTER = re.compile(rf"\A{BOM}?---[ \t]*\r?\n(?:[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)")
_DIGITS = 12


class MarkedText(NamedTuple):
    """A block in a text, or a whole file: where it is, what its mark says, and what it holds, with LF."""

    start: int
    end: int
    said: Mapping[str, str]
    held: str

    @property
    def is_as_written(self) -> bool:
        return self.said.get("sha") == digest(self.held)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]


def find(text: str, name: str) -> MarkedText | None:
    """The block of that name; ``None`` for none. Raises ``EditError`` (``bad_markers``)."""
    pairs: dict[str, MarkedText] = {}
    wrong: list[int] = []
    fenced: list[int] = []
    fence, begun, offset = "", None, 0
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.removeprefix(BOM)
        here, offset = offset + len(whole) - len(line), offset + len(whole) + 1
        mark = _MARK.fullmatch(line)
        if mark is None and _LIKE_A_MARK.search(line) is None:
            fence = "" if begun else _fence_after(line, fence)
        elif fence:
            fenced += [number] if name in line else []
        elif mark is None or mark[1] == "file":
            wrong.append(number)
        elif mark[1] == "begin" and begun is None and mark[2] not in pairs:
            begun = number, here, min(offset, len(text)), mark
        elif mark[1] == "end" and begun is not None and begun[3][2] == mark[2]:
            held = unify_newlines(text[begun[2] : here])
            pairs[mark[2]] = MarkedText(begun[1], min(offset, len(text)), _said(begun[3]), held)
            begun = None
        else:
            wrong.append(number)
    wrong += [begun[0]] if begun else []
    if wrong or fenced:
        raise _bad_markers(name, wrong + fenced)
    return pairs.get(name)


def _said(mark: re.Match[str]) -> dict[str, str]:
    return dict(each.split("=") for each in mark[3].split())


def _fence_after(line: str, fence: str) -> str:
    """Which fence of code is open behind a line, where ``fence`` is open before it."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return "" if found[1][0] == "`" and "`" in found[2] else found[1]
    closes = found[1].startswith(fence) and not found[2].strip()
    return "" if closes else fence


def _bad_markers(name: str, lines: list[int]) -> EditError:
    shown = ", ".join(str(each) for each in sorted(set(lines))[:6])
    return EditError(
        f"the markers of catmem are not whole pairs (line {shown})",
        code="bad_markers",
        hint="The file is as it was. Give each begin its end, or take these lines out with the whole block, which "
        f"holds copies; then run catmem sync {name}.",
    )


def with_block(text: str, name: str, body: str, root: str, *, at_top: bool) -> str:
    """The text with a new block: behind the front matter, or at the end. Raises ``EditError`` (``bad_markers``)."""
    newline = dominant_newline(text)
    if at_top:
        front = FRONTMATTER.match(text)
        place = front.end() if front else len(BOM) if text.startswith(BOM) else 0
    else:
        place = len(text)
        _refuse_open_fence(text, name)
    head, tail = text[:place], text[place:]
    before = 0 if not head.removeprefix(BOM) else 1 if head.endswith("\n") else 2
    before -= 1 if before and at_top else 0
    after = 1 if tail else 0
    said = {"root": root, "before": str(before), "after": str(after)}
    return head + before * newline + _block(name, body, said, newline) + newline + after * newline + tail


def _refuse_open_fence(text: str, name: str) -> None:
    fence = ""
    for line in text.split("\n"):
        fence = _fence_after(line, fence)
    if fence:
        raise EditError(
            "a fence of code is open at the end of the file, and a block behind it would be code",
            code="bad_markers",
            hint=f"The file is as it was. Close the fence, then run catmem sync {name}.",
        )


def replaced(text: str, name: str, block: MarkedText, body: str, root: str) -> str:
    newline = dominant_newline(text)
    said = {"root": root, **{key: block.said[key] for key in ("before", "after") if key in block.said}}
    ending = newline if text[: block.end].endswith("\n") else ""
    return text[: block.start] + _block(name, body, said, newline) + ending + text[block.end :]


def _block(name: str, body: str, said: Mapping[str, str], newline: str) -> str:
    """The lines of a block, without the end of the last; a blank line at each end makes comments of its markers."""
    held = f"\n{body}\n"
    words = " ".join(f"{key}={value}" for key, value in {"v": "1", **said, "sha": digest(held)}.items())
    return with_newline(f"<!-- catmem:begin {name} {words} -->\n{held}<!-- catmem:end {name} -->", newline)


def without(text: str, block: MarkedText) -> str:
    """The text that there was before the block was put in, and what was written outside of it since."""
    newline = dominant_newline(text)
    before, after = (newline * _count(block.said.get(key)) for key in ("before", "after"))
    head, tail = text[: block.start].removesuffix(before), text[block.end :].removeprefix(after)
    joins = head.removeprefix(BOM) and tail and not head.endswith("\n") and not tail.startswith(("\n", "\r\n"))
    return head + (newline if joins else "") + tail


def _count(said: str | None) -> int:
    return int(said) if said in {"1", "2"} else 0


# --- files that catmem has for itself --------------------------------------------------------------------------------


def owned_text(name: str, front: str, body: str, root: str) -> str:
    """The text of a file that catmem has for itself, with its mark behind the front matter."""
    mark = f"<!-- catmem:file {name} v=1 root={root} sha={digest(front + body)} -->"
    return f"{front}{mark}\n\n{body}"


def owned(text: str, name: str) -> MarkedText | None:
    """The whole text, as it says of itself; ``None`` for one that another program or a person wrote."""
    whole = unify_newlines(text)
    front = FRONTMATTER.match(whole)
    head = front[0] if front else ""
    line, _, rest = whole[len(head) :].partition("\n")
    mark = _MARK.fullmatch(line)
    if mark is None or mark[1] != "file" or mark[2] != name:
        return None
    return MarkedText(0, len(text), _said(mark), head + rest.removeprefix("\n"))


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
