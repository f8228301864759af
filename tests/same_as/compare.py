"""What two builds showed in one story, made comparable: what differs from run to run by its nature is replaced."""

import difflib
import re
from typing import NamedTuple

TIMES = {
    "TIME": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|\+00:00| UTC)?|\b\d{8}T\d{6}(?:\.\d+)?Z\b",
    "MODIFIED": r"(?<=last-modified: )\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT",
    "SECONDS": r"(?<=\"seconds\":)\s?[\d.e-]+|(?<![\w.])\d+(?:\.\d+)?(?= ?ms\b| s\b)",
    "KEY": r"(?<!\d)\d{8}t\d{6}(?:-\d+)?\b",
    "ADDRESS": r"(?<=\bat )0x[0-9a-f]+",
    "BUILD": r"/[\w./-]+/same-as/venv-[0-9a-f]{16}(?:/lib/python[\d.]+/site-packages)?",
    "WHEEL": r"/[\w./-]+/catmem-[\w.]+-py3-none-any\.whl",
    "PORT": r"(?<=127\.0\.0\.1:)\d+",
}
"""When and where something was done, by which build, and how long it took. Two moments may be in one second, or in two, so no numbers.
A key of an agent is named by its second."""
IDS = {
    "ASSET": r"(?<=\?v=)[0-9a-f]{12}\b",
    "PROPOSAL": r"p-[0-9a-f]{10}\b",
    "TOKEN": r"catmem_[0-9a-f]{12}_[\w-]{43}",
    "CALLER": r"(?<!v=)(?<![\w-])[0-9a-f]{12}\b",
    "SIGNATURE": r"hmac-sha256:[0-9a-f]{64}\b",
    "RECORD": r"(?<!sha256:)(?<![0-9a-f])[0-9a-f]{64}\b",
    "SESSION": r"(?<=catmem_form=)[\w-]{43}",
    "FORM": r"(?<![0-9a-f])[0-9a-f]{40}\b",
    "SERVER": r"(?<=\")u[0-9a-f]{32}\b",
    "OPERATION": r"(?<!b2:)(?<![0-9a-f])[0-9a-f]{32}\b",
}
"""What is drawn by lot, or has a time in it. Numbered in the order of first appearance: equal ones stay equal."""


class Difference(NamedTuple):
    """A place of a story where the builds differ."""

    story: str
    label: str
    diff: str


class Plain:
    """Replaces what varies; the numbers of one story go on from text to text."""

    _PATTERN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in {**TIMES, **IDS}.items()))

    def __init__(self) -> None:
        self._known: dict[str, dict[str, str]] = {name: {} for name in IDS}

    def __call__(self, text: str) -> str:
        """The text with placeholders."""
        return self._PATTERN.sub(self._placeholder, text)

    def _placeholder(self, match: re.Match[str]) -> str:
        name = str(match.lastgroup)
        if name in TIMES:
            return f"<{name}>"
        known = self._known[name]
        return known.setdefault(match[0], f"<{name} {len(known) + 1}>")


Seen = list[tuple[str, str]]


def differences(story: str, old: Seen, new: Seen) -> list[Difference]:
    """Where two builds did not show the same, in order; what only one of them did stands between what both did."""
    found = []
    plain_old, plain_new = Plain(), Plain()
    labels = [[plain(label) for label, _ in seen] for plain, seen in ((plain_old, old), (plain_new, new))]
    for kind, first, end, start, stop in difflib.SequenceMatcher(None, *labels, autojunk=False).get_opcodes():
        if kind != "equal":
            found += [Difference(story, labels[0][at], f"only the old build\n{old[at][1]}") for at in range(first, end)]
            found += [
                Difference(story, labels[1][at], f"only the new build\n{new[at][1]}") for at in range(start, stop)
            ]
            continue
        for at in range(first, end):
            texts = plain_old(old[at][1]), plain_new(new[at - first + start][1])
            if texts[0] != texts[1]:
                found.append(Difference(story, labels[0][at], _diff(*texts)))
    return found


def _diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", n=1, lineterm="")
    return "\n".join(lines) or f"only the ends of lines differ: {old!r} and {new!r}"


class Meant(NamedTuple):
    """A difference that is meant: patterns of the story, the label and the diff, and the reason."""

    story: str
    reason: str
    label: str = ""
    diff: str = ""
    lines: str = ""
    """A pattern that each line has which only one build shows: nothing else may differ there."""

    def fits(self, found: Difference) -> bool:
        """Whether this is the one."""
        patterns = zip((self.story, self.label, self.diff), found, strict=True)
        return all(re.search(pattern, text) for pattern, text in patterns) and (
            not self.lines or _only_lines(self.lines, found.diff)
        )


def _only_lines(pattern: str, diff: str) -> bool:
    """Whether each line that only one build shows has the pattern, where both builds did the same."""
    first, _, *lines = diff.splitlines()
    changed = [line[1:] for line in lines if line.startswith(("-", "+"))]
    return first == "--- old" and all(re.search(pattern, line) for line in changed)
