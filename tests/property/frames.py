"""Small readers of the three styles' frames, written from docs/prompt.md and apart from the code that writes them.

Each gives back what a model could take for the frame: the targets, and in each the categories (as shown) with the
number of entries, in markdown of bullets. A line ends wherever any program may end it. What fits no frame raises ``BrokenFrameError``.
"""

import xml.etree.ElementTree as ET
from unittest import mock

from catmem.prompt.prompt import _Draft

RULE = "═" * 46
HEADERS = {"USER PROFILE (who the user is) [": "user", "MEMORY (your personal notes) [": "memory"}
HEADINGS = {"# About the user": "user", "# Notes": "memory"}

BULLETS = ("- ", "* ", "+ ")

Frame = dict[str, list[tuple[str, int]]]


class BrokenFrameError(AssertionError):
    pass


def unscanned():
    """Prompts as they are built without the threat scan, so that the frames have to hold by themselves."""
    return mock.patch.multiple(_Draft, _scan_text=lambda *_: False, _scan_entries=lambda *_: False)


def read_markdown(text: str) -> Frame:
    frame: Frame = {}
    target = ""
    for line in text.splitlines():
        if line.startswith("# "):
            target = HEADINGS[line]
            if target in frame:
                raise BrokenFrameError(line)
            frame[target] = []
        elif line.startswith("## "):
            frame[target].append((line[3:].removesuffix(" (unverified)"), 0))
        elif line.startswith("- "):
            title, count = frame[target][-1]
            frame[target][-1] = (title, count + 1)
        elif line and not line.startswith("  "):
            raise BrokenFrameError(line)
    return frame


def most_bullets(body: str) -> int:
    """How many bullets an entry may show as in markdown: one that is a list shows its own, if no note is above it."""
    lines = body.splitlines()
    return sum(line.startswith(BULLETS) for line in lines) if lines and lines[0].startswith(BULLETS) else 1


def read_xml(text: str) -> Frame:
    root = ET.fromstring(f"<prompt>{text}</prompt>")  # noqa: S314 - the text was made a moment ago
    frame: Frame = {}
    for memory in only(root, "memory"):
        target = memory.attrib["target"]
        if target in frame:
            raise BrokenFrameError(target)
        categories = only(memory, "category")
        frame[target] = [(category.attrib["name"], len(only(category, "entry"))) for category in categories]
        for entry in memory.iter("entry"):
            only(entry, "nothing")
    return frame


def only(element: ET.Element, tag: str) -> list[ET.Element]:
    if any(child.tag != tag or (child.tail or "").strip() for child in element):
        raise BrokenFrameError(ET.tostring(element))
    return list(element)


def read_hermes(text: str) -> Frame:
    """Entries have no category here: all stand under one without a name."""
    lines = text.splitlines()
    frame: Frame = {}
    target = ""
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.strip().startswith("═"):
            opens = lines[index] == RULE and lines[index + 2] == RULE
            target = next((name for start, name in HEADERS.items() if lines[index + 1].startswith(start)), "")
            if not opens or not target or target in frame:
                raise BrokenFrameError(line)
            frame[target] = [("", 1)]
            index += 3
            continue
        if line.lstrip().startswith(("USER PROFILE (", "MEMORY (")):
            raise BrokenFrameError(line)
        if line.rstrip() == "§":
            frame[target] = [("", frame[target][0][1] + 1)]
        index += 1
    return frame


READERS = {"markdown": read_markdown, "xml": read_xml, "hermes": read_hermes}
