"""Another program that changes a memory file: what it makes of the text, and how it puts it there.

It knows of the format that a line ``§`` ends an entry and that ``## `` begins a section, and nothing of catmem.
"""

import re
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.guard.scripts import SIZES, TITLES, Script, Step, filler

MARK = re.compile(r"zqm\d+(?:start|mid|end)")
NAME = re.compile(r"zq[fa]\d+|zqm\d+start")
"""A word that names an entry: of the first file, of the agent, of the outsider."""


class Span(NamedTuple):
    """Where an entry stands in a text."""

    start: int
    end: int
    text: str


def marks(text: str | bytes) -> set[str]:
    """The marks of the outsider's texts in a text."""
    return set(MARK.findall(text if isinstance(text, str) else text.decode(errors="replace")))


def spans(text: str) -> list[Span]:
    """The entries of a text."""
    found, start, at = [], None, 0
    for line in [*text.splitlines(keepends=True), "§"]:
        if line.strip() == "§" or line.startswith(("## ", "# ")):
            if start is not None and text[start:at].strip():
                entry = text[start:at].strip()
                begin = text.index(entry, start)
                found.append(Span(begin, begin + len(entry), entry))
            start = None
        elif start is None:
            start = at
        at += len(line)
    return found


def is_outsiders(entry: str) -> bool:
    """Whether an entry is one that in a session ``apart`` the outsider alone touches."""
    named = NAME.search(entry)
    return named is not None and (named[0].startswith("zqm") or (named[0][:3] == "zqf" and int(named[0][3:]) % 2 == 1))


def act(script: Script, step: Step, path: Path) -> str:
    """Do a step of the outsider; what was done, in words."""
    chance = script.chance(step)
    text = path.read_bytes().decode() if path.exists() else ""
    new, told = _changed(script, step, text, chance)
    if not new.strip():
        return "nothing, since the file would be empty"
    how = chance.choice(["in place", "by a rename"])
    if new.startswith(text) and chance.random() < 0.5:
        how = "by an append"
        with path.open("ab") as file:
            file.write(new[len(text) :].encode())
    elif how == "in place":
        path.write_bytes(new.encode())
    else:
        beside = path.with_name(".outsider")
        beside.write_bytes(new.encode())
        beside.replace(path)
    return f"{told}, {how}"


def _changed(script: Script, step: Step, text: str, chance: Random) -> tuple[str, str]:
    """The new text, and what was done to the old one."""
    apart, limit, there = script.mode == "apart", script.setting.limit, spans(text)
    entries = [span for span in there if not apart or is_outsiders(span.text)]
    is_small = limit is not None and (apart or (limit < 3_000 and chance.random() < 0.6))
    size, number = (60 if is_small else chance.choice(list(SIZES))) // 2, step.number
    own = f"zqm{number}start {filler(size, chance)} zqm{number}mid {filler(size, chance)} zqm{number}end"
    kept = [span.text for span in there if (apart and span not in entries) or chance.random() < 0.5]
    line, has_sections = "\r\n" if "\r\n" in text else "\n", "## " in text
    title = f"## {chance.choice(list(TITLES.values()))}{line}" if has_sections else ""
    span = chance.choice(entries or there or [Span(0, 0, "")])
    name = (NAME.findall(span.text) or ["an entry"])[0]
    new = chance.choice([own, f"Fact {name} is now {own}"])
    left = re.sub(r"§\s*§", "§", text[: span.start] + text[span.end :])
    old = chance.choice(re.findall(r"(?m)^## [^\r\n]*", text) or ["## none"])
    changes = {
        "crlf": (re.sub("\r?\n", "\r\n", text), "rewrites the file with CRLF"),
        "rename section": (text.replace(old, title.strip(), 1), f"renames {old!r} to {title.strip()!r}"),
        "clean file": (
            title + "\n§\n".join([*kept, own]) + "\n",
            f"writes a clean file with {len(kept)} entries and {{}}",
        ),
        "new entry": (f"{text.rstrip()}{line}§{line}{own}{line}", "adds the entry {}"),
        "delete": (left, f"deletes {name}"),
        "move": (f"{left.rstrip()}{line}{title or f'§{line}'}{span.text}{line}", f"moves {name} to the end"),
        "rewrite": (text[: span.start] + new + text[span.end :], f"rewrites {name} as {{}}"),
        "grow on the line": (f"{text[: span.end]} {own}{text[span.end :]}", f"puts {{}} behind {name}, on its line"),
        "grow below": (f"{text[: span.end]}{line}{own}{text[span.end :]}", f"puts {{}} behind {name}, on a new line"),
    }
    what = "new entry" if not entries or (apart and has_sections and step.what == "clean file") else step.what
    return changes[what][0], changes[what][1].format(f"{own[:30]}… ({len(own):,} characters)")
