"""What rules look at (files that were read already, and the root around them), running them, and applying fixes."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from catmem.clock import checked_day, read_date
from catmem.config.access import known_categories
from catmem.config.config import NO_ROOT, Config, Taxonomy
from catmem.config.profile import Profile
from catmem.config.yamlfile import KeyPath, YamlFile
from catmem.digest import content_digest
from catmem.errors import CatmemError, wrong_type
from catmem.linting.rule import Diagnostic, Finding, LintSettings, Region, Rule, all_rules, read_settings
from catmem.model.document import Document, Entry, TagValue, first_of_each, parse
from catmem.model.edit import TextEdit, apply_edits
from catmem.model.slips import entry_at
from catmem.names import Target
from catmem.syntax import tags as tag_blocks
from catmem.syntax.scan import Header
from catmem.text import LineIndex

DATES = ("verified_date", "created", "expires")
"""The tags that hold a day."""

_EMPTY = parse("")


class LintedEntry:
    """An entry with body, tags and dates read once for all rules; ``words`` is the body with single blanks."""

    __slots__ = ("body", "category", "dates", "end", "entry", "pairs", "raw", "start", "tags", "words")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.category, self.start, self.end, raw = entry
        self.raw = raw
        self.pairs: tag_blocks.TagPairs = ()
        self.tags: Mapping[str, TagValue] = {}
        self.dates: Mapping[str, date] = {}
        if raw[0] in tag_blocks.MAY_BEGIN:
            self.pairs, self.body = tag_blocks.read(entry.text)
            if self.pairs:
                self.tags = first_of_each(self.pairs)
                self.dates = {key: day for key in DATES if (day := read_date(self.tags.get(key))) is not None}
        elif "\\" in raw or "\r" in raw:
            self.body = entry.text
        else:
            self.body = raw  # nearly every entry: the text as it stands
        self.words = " ".join(self.body.split())


@dataclass(frozen=True, eq=False)
class _LintedText:
    """A file with a path from the root (with ``/``), the text that was read, and offsets as lines and columns."""

    path: str
    data: bytes = field(default=b"", repr=False)
    error: CatmemError | None = None
    """Why the file could not be read or understood. A file that could not be opened has no ``data``."""

    @cached_property
    def text(self) -> str:
        """The text; U+FFFD stands for bytes that are not UTF-8."""
        return self.data.decode("utf-8", "replace")

    @cached_property
    def line_index(self) -> LineIndex:
        return LineIndex(self.text)

    def line(self, offset: int) -> int:
        """The line, from 1, of the character at ``offset``."""
        return self.line_index.line(offset)

    def region(self, start: int, end: int) -> Region:
        return Region.from_span(self.line_index, start, end)

    def span_at(self, line: int | None, column: int | None = None) -> tuple[int, int]:
        """The span from a line and column (from 1) to the line's end; without a line that of the first line."""
        lines = self.text.split("\n")
        line = min(line or 1, len(lines))
        start = sum(len(before) + 1 for before in lines[: line - 1])
        end = start + len(lines[line - 1].rstrip("\r"))
        return min(start + (column or 1) - 1, end), end


@dataclass(frozen=True, eq=False)
class LintedFile(_LintedText):
    """A memory file, whose it is, and its document: an empty one where the file could not be read (``error``)."""

    document: Document = field(default=_EMPTY, repr=False)
    owner: str | None = None
    target: Target | None = None

    @classmethod
    def from_bytes(
        cls, path: str, data: bytes, config: Config, *, owner: str | None = None, target: Target | None = None
    ) -> LintedFile:
        """Parse the bytes of a memory file as a root of this configuration reads it; never raises for what they are."""
        try:
            return cls(path, data, None, config.taxonomy.parse(data), owner, target)
        except CatmemError as error:
            return cls(path, data, error, owner=owner, target=target)

    @cached_property
    def entries(self) -> tuple[LintedEntry, ...]:
        return tuple(map(LintedEntry, self.document.entries))

    @property
    def headers(self) -> tuple[Header, ...]:
        return self.document.scan.headers

    @cached_property
    def tagged(self) -> tuple[LintedEntry, ...]:
        return tuple(entry for entry in self.entries if entry.tags)


@dataclass(frozen=True, eq=False)
class LintedYaml(_LintedText):
    """``catmem.yaml`` or a profile: what it says and where, and why it is not right."""

    kind: Literal["config", "profile"] = "config"
    yaml: YamlFile = field(default_factory=lambda: YamlFile(None, {}), repr=False)
    profile: Profile | None = None

    def span_of(self, key: KeyPath) -> tuple[int, int]:
        """The span from a key's place to the end of its line; of the nearest key above it that has a place."""
        return self.span_at(*(self.yaml.place(key) or (1, 1)))


@dataclass(frozen=True, eq=False)
class Context:
    """What a rule may know besides the file. ``profiles`` are those of the root that are right, by name."""

    config: Config
    as_of: date
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    rule_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    yaml: Mapping[str, LintedYaml] = field(default_factory=dict)
    """``catmem.yaml`` and profiles by path, for rules across files."""

    @property
    def taxonomy(self) -> Taxonomy:
        return self.config.taxonomy

    @cached_property
    def known(self) -> set[str]:
        """The categories that are declared or that a profile names."""
        return known_categories(self.profiles.values(), self.taxonomy)

    @property
    def profile_names(self) -> set[str]:
        """The names of all profiles, also of those that are not right."""
        return {
            each.path.rpartition("/")[2].rpartition(".")[0] for each in self.yaml.values() if each.kind == "profile"
        }

    def options(self, code: str) -> Mapping[str, Any]:
        """The options of a rule: its defaults, and over them what the root sets."""
        return self.rule_options.get(code) or all_rules()[code].options


# --- where in a file the things stand that rules speak of -------------------------------------------------------------


def span_of_first_line(entry: LintedEntry) -> tuple[int, int]:
    """The span of an entry's first line."""
    return entry.start, entry.start + len(entry.raw.partition("\n")[0].rstrip("\r"))


def key_span(entry: LintedEntry, key: str) -> tuple[int, int]:
    """The span of the first ``key`` in the tag block, without the colon."""
    found = re.search(rf"(?:\A|(?<=[\[,\n])) *({re.escape(key)}):", entry.raw)
    return (entry.start + found.start(1), entry.start + found.end(1)) if found else span_of_first_line(entry)


def value_span(entry: LintedEntry, key: str, value: object) -> tuple[int, int]:
    """The span of a plain value behind its key; of the key where the value is written in another form."""
    span = key_span(entry, key)
    found = re.compile(rf": +({re.escape(str(value))}) *[\],\r\n]").match(entry.raw, span[1] - entry.start)
    return (entry.start + found.start(1), entry.start + found.end(1)) if found else span


# --- running the rules ------------------------------------------------------------------------------------------------

_DIGESTED = 4096


def lint(document: Document, *, config: Config | None = None, as_of: date | None = None) -> list[Diagnostic]:
    """What the rules find in a document by itself, in order of the places; its ``path`` is empty.

    ``config`` is that of a root: its categories, tags, and ``lint`` settings count. Without ``as_of`` the rules that
    look at the day (stale, expired, a date in the future) are left out. What needs other files or profiles is left
    out too: ``catmem lint`` looks at those. Raises ``ConfigError`` for ``lint`` settings that are not right, and
    ``EditError`` (``wrong_type``) for a text that was not parsed.
    """
    if not isinstance(document, Document):
        raise wrong_type("the document", document, "a Document (parse makes one)")
    config = config or NO_ROOT
    settings = read_settings(config.lint, path=config.path)
    if as_of is not None:
        checked_day(as_of)
    else:
        settings = settings.narrowed(ignore=[code for code, rule in all_rules().items() if rule.dated])
    context = Context(config, as_of or date.min, rule_options=settings.options)
    file = LintedFile("", document.to_bytes(), document=document)
    across = lint_root({"": file}, context, settings, lambda path: LintedYaml(path) if path else file)
    found = (*lint_file(file, context, settings), *(each for each in across if not each.path))
    return sorted(found, key=attrgetter("sort_key"))


def lint_file(file: LintedFile | LintedYaml, context: Context, settings: LintSettings) -> list[Diagnostic]:
    """Run the rules of one file: a memory file (scope ``file``), a profile or the configuration."""
    scope = "file" if isinstance(file, LintedFile) else file.kind
    return [
        _diagnostic(file, rule, finding, settings)
        for rule in settings.rules(file.path)
        if rule.scope == scope
        for finding in rule.check(file, context)
    ]


def lint_root(
    files: Mapping[str, LintedFile],
    context: Context,
    settings: LintSettings,
    source: Callable[[str], LintedFile | LintedYaml],
) -> list[Diagnostic]:
    """Run the rules that look across files; ``source`` gives a file that one of them found something in."""
    found: list[Diagnostic] = []
    for rule in all_rules().values():
        if rule.scope == "root":
            found += [
                _diagnostic(source(finding.path), rule, finding, settings, source)
                for finding in rule.check(files, context)
                if rule in settings.rules(finding.path)
            ]
    return found


def _diagnostic(
    file: LintedFile | LintedYaml,
    rule: Rule,
    finding: Finding,
    settings: LintSettings,
    source: Callable[[str], LintedFile | LintedYaml] | None = None,
) -> Diagnostic:
    related = []
    for other in finding.related:
        there = source(other.path) if source and other.path not in {"", file.path} else file
        region = there.region(other.start, other.end)
        related.append(replace(other, line=region.line, column=region.column))
    region, severity = file.region(finding.start, finding.end), settings.severity_of(rule)
    return Diagnostic(
        *(file.path, finding.start, finding.end, region, rule.code, rule.name, severity, finding.message),
        hint=finding.hint,
        fix=finding.fix,
        related=tuple(related),
        fingerprint=_fingerprint(file, finding),
    )


def _fingerprint(file: LintedFile | LintedYaml, finding: Finding) -> str:
    """The id of the entry that the finding is about, else a digest of the words that it spans, else of its message."""
    if isinstance(file, LintedFile):
        entry = entry_at(file.entries, finding.start)
        if entry is not None and entry.start <= finding.start:
            return entry.entry.id
    words = file.text[finding.start : min(finding.end, finding.start + _DIGESTED)]
    return content_digest([words or finding.message])


# --- applying fixes: those that do not get in each other's way, round after round, until nothing changes -------------


_ROUNDS = 10
"""Some fixes lead to others; after so many rounds the findings that are left stay for a person."""


Fixed: TypeAlias = tuple[Mapping[str, str], Sequence[Diagnostic]]
"""The new text of each file that fixing changes, by its path, and the findings that are fixed."""


def fix_all(
    texts: Callable[[str], str],
    lint: Callable[[Mapping[str, str]], Sequence[Diagnostic]],
    parse: Callable[[str], Document],
    *,
    unsafe: bool = False,
) -> Fixed:
    """Fix until nothing changes; ``lint`` gives the diagnostics of files with other texts, ``texts`` what one says."""
    now: dict[str, str] = {}
    done: list[Diagnostic] = []
    for _ in range(_ROUNDS):
        before = now.copy()
        found = [each for each in lint(before) if each.fix and each.fix.edits and (each.fix.safe or unsafe)]
        for path, fixable in groupby(sorted(found, key=attrgetter("sort_key")), key=attrgetter("path")):
            old = now[path] if path in now else texts(path)
            new, fixed = fix_once(old, fixable, parse)
            if new != old:
                now[path] = new
                done += fixed
        if now == before:
            break
    return dict(sorted(now.items())), done


def fix_once(
    text: str, diagnostics: Iterable[Diagnostic], parse: Callable[[str], Document]
) -> tuple[str, list[Diagnostic]]:
    """One round on one file: the text after as many of the fixes as go together, and the findings they belong to."""
    before, edits = parse(text), list[TextEdit]()
    clear: list[tuple[Diagnostic, Sequence[TextEdit]]] = []
    for diagnostic in diagnostics:
        own = diagnostic.fix.edits if diagnostic.fix is not None else ()
        if _fits(own, edits, len(text)):
            clear.append((diagnostic, own))
            for edit in own:
                insort(edits, edit)
    # One that reaches further than it should is found by halves, each on top of those that were fine.
    done, edits, waiting = list[Diagnostic](), [], [clear] if edits else []
    while waiting:
        some = waiting.pop()
        more = sorted([*edits, *(edit for _, own in some for edit in own)])
        if _others_stay(before, more, parse):
            done += [diagnostic for diagnostic, _ in some]
            edits = more
        elif len(some) > 1:
            waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
    return apply_edits(text, edits), done


def _fits(edits: Sequence[TextEdit], taken: Sequence[TextEdit], length: int) -> bool:
    """Whether edits lie in the text, in order, and clear of those that are taken: not even touching them."""
    inside = all(0 <= edit.start <= edit.end <= length for edit in edits)
    in_order = all(one.end <= other.start for one, other in pairwise(edits))
    return inside and in_order and not any(_touches(taken, edit.start, edit.end) for edit in edits)


def _others_stay(before: Document, edits: Sequence[TextEdit], parse: Callable[[str], Document]) -> bool:
    """Whether every entry that no edit touches is still there, byte for byte, in a category that was not edited.

    And whether edits that only take out leave no line that was none of an entry, such as a header, to be read as one.
    """
    renames = any(_touches(edits, header.start, header.end) for header in before.scan.headers)
    renames = renames or any("##" in edit.text for edit in edits)

    def counted(entries: Iterable[Entry]) -> Counter[tuple[str, str]]:
        return Counter(("" if renames else entry.category, entry.raw) for entry in entries)

    untouched = (entry for entry in before.entries if not _touches(edits, entry.start, entry.end))
    after = parse(apply_edits(before.text, edits)).entries
    if not any(edit.text for edit in edits):
        left = sum(not _covers(edits, entry) for entry in before.entries)
        if len(after) > left:
            return False
    return not counted(untouched) - counted(after)


def _covers(edits: Sequence[TextEdit], entry: Entry) -> bool:
    """Whether one of some edits in file order reaches over the whole of an entry."""
    index = bisect_left(edits, entry.end, key=lambda edit: edit.end)
    return index < len(edits) and edits[index].start <= entry.start


def _touches(edits: Sequence[TextEdit], start: int, end: int) -> bool:
    """Whether an edit, of some in file order that do not overlap, overlaps a span or stands at one of its ends."""
    index = bisect_left(edits, start, key=lambda edit: edit.end)
    return index < len(edits) and edits[index].start <= end
