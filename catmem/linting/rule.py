"""What lint says, and what says it: findings, and rules with their settings.

A rule is a function that yields findings, with a code that is never used again for another; docs/first-change.md writes
one. Offsets are in code points of the text of the file (a BOM is its first character); lines and columns are from 1.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, Unpack

from catmem.config.json_schema import faults_by, nearest, shown
from catmem.config.yamlfile import KeyPath, key_text
from catmem.errors import CatmemError, ConfigError, ErrorPlace
from catmem.model.edit import TextEdit
from catmem.registry import at, registry
from catmem.resources import rules_text
from catmem.text import LineIndex

if TYPE_CHECKING:
    from os import PathLike

    from catmem.linting.linted import Context

Severity = Literal["error", "warning", "hint"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
"""From the worst to the mildest."""


def rank(severity: Severity) -> int:
    """How mild a severity is: 0 for an error."""
    return SEVERITIES.index(severity)


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits of the file of the finding, in file order; a *safe* fix changes no words, an unsafe one is a good guess."""

    edits: tuple[TextEdit, ...]
    safe: bool
    message: str
    __json__ = "message safe edits"


class Region(NamedTuple):
    """Where a span begins and ends, in lines and columns from 1; the end is behind the last character."""

    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def from_span(cls, index: LineIndex, start: int, end: int) -> Region:
        return cls(*index.position(start), *index.position(end))


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a finding speaks of, such as the first of two doubles; the engine fills in line and column."""

    path: str
    start: int
    end: int
    message: str
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule yields: a span of the file, what is wrong there in a sentence without a full stop, and what to do."""

    start: int
    end: int
    message: str
    hint: str = ""
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding with its rule, its severity and its place; ``path`` is from the root, with ``/``.

    ``fingerprint`` names what the finding is about (an entry's id, else a digest of the words), so that a code scanner
    knows it again after lines have moved.
    """

    path: str
    start: int
    end: int
    region: Region
    code: str
    name: str
    severity: Severity
    message: str
    hint: str = ""
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    fingerprint: str = ""
    __json__ = "path *region start end code name severity message hint fix related fingerprint"

    @property
    def line(self) -> int:
        """The line, from 1, where it begins."""
        return self.region.line

    @property
    def column(self) -> int:
        """The column, in code points from 1, where it begins."""
        return self.region.column

    @property
    def sort_key(self) -> tuple[str, int, str, int, str]:
        """The order of all output: by path, place and code."""
        return self.path, self.start, self.code, self.end, self.message

    def with_copies(self, copies: Iterable[Diagnostic]) -> Diagnostic:
        """The same, with the places of its copies."""
        same = (Related(one.path, one.start, one.end, "the same in a copy", one.line, one.column) for one in copies)
        return replace(self, related=(*self.related, *same))

    def __str__(self) -> str:
        """``path:line:column: CODE message``."""
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.message}"


@dataclass(frozen=True, slots=True)
class LintResult:
    """What a run found, in order. ``source`` gives the text of a path that is in a diagnostic, ``None`` without one.

    ``errors`` are what was wrong in the configuration. Findings milder than ``min_severity`` are counted and not shown,
    and do not make a run fail.
    """

    diagnostics: Sequence[Diagnostic]
    files: int
    source: Callable[[str], str | None]
    errors: tuple[CatmemError, ...] = ()
    min_severity: Severity = "hint"

    @property
    def exit_status(self) -> int:
        """2 where the configuration is not right, 1 with an error or warning that is shown, else 0."""
        return 2 if self.errors else int(any(each.severity != "hint" for each in self.shown))

    @property
    def shown(self) -> list[Diagnostic]:
        """All that are severe enough to be shown, in order."""
        return [each for each in self.diagnostics if rank(each.severity) <= rank(self.min_severity)]

    def severities(self) -> dict[Severity, int]:
        """How many there are, by severity, from the worst to the mildest."""
        found = Counter(diagnostic.severity for diagnostic in self.diagnostics)
        return {severity: found[severity] for severity in SEVERITIES}


# --- rules and their settings -----------------------------------------------------------------------------------------


RuleScope = Literal["file", "profile", "config", "root"]
"""What a rule is called with: ``file`` a ``LintedFile``, ``profile`` and ``config`` a ``LintedYaml``, ``root`` the
``LintedFile`` of each path, in order of the paths."""

_TITLE = re.compile(r"^###? (CM\w{3}) .*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. A ``dated`` one looks at the day; what a ``private`` one finds is never shown."""

    code: str
    name: str
    severity: Severity
    scope: RuleScope
    summary: str
    check: Callable[[Any, Context], Iterator[Finding]]
    options: Mapping[str, Any] = field(default_factory=dict)
    fixes: Literal["", "safe", "unsafe", "both"] = ""
    dated: bool = False
    private: bool = False
    __json__ = "code name severity scope fixes summary options page"

    @property
    def page(self) -> str:
        """The page of the rule, in Markdown; the summary where it has none."""
        return _pages().get(self.code, self.summary)


_Check = TypeVar("_Check", bound="Callable[..., Iterator[Finding]]")

_REGISTERED: dict[str, Rule] = {}


def rule(  # noqa: PLR0913 - what a rule says of itself, by keyword
    code: str,
    name: str,
    *,
    severity: Severity = "warning",
    scope: RuleScope = "file",
    options: Mapping[str, Any] | None = None,
    fixes: Literal["", "safe", "unsafe", "both"] = "",
    dated: bool = False,
    private: bool = False,
) -> Callable[[_Check], _Check]:
    """Register a function as the rule of this code; its docstring is the summary, ``options`` have the defaults."""

    def register(check: _Check) -> _Check:
        summary = (check.__doc__ or "").strip().partition("\n")[0]
        if code in _REGISTERED or any(name == other.name for other in _REGISTERED.values()):
            raise ValueError(f"{code} {name} is taken")
        said = dict(options or {})
        _REGISTERED[code] = Rule(code, name, severity, scope, summary, check, said, fixes, dated, private)
        return check

    return register


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by code, in order of the codes."""
    import importlib
    import pkgutil

    from catmem.linting import rules

    for module in pkgutil.iter_modules(rules.__path__):
        importlib.import_module(f"{rules.__name__}.{module.name}")
    for place in registry().rules:
        at(place)
    return dict(sorted(_REGISTERED.items()))


@cache
def _pages() -> Mapping[str, str]:
    """The page of each rule by code, as ``docs/rules.md`` has it."""
    _, *titled = _TITLE.split(rules_text())
    return {code: text.strip() for code, text in zip(titled[::2], titled[1::2], strict=True)}


# --- ``lint`` of ``catmem.yaml``: which rules look at which files, how bad their findings are, and their options -----


@dataclass(frozen=True, slots=True)
class LintSettings:
    """What a root wants of lint. Codes may be cut short: ``CM2`` stands for every rule whose code begins so.

    Without ``select`` every rule is on. Where ``select`` and ``ignore`` both name a rule, the longer of the two counts,
    and of equals ``ignore``. ``per_file`` are pairs of a pattern and codes that are off for paths which fit it; ``*``
    stands for any characters, ``/`` too. ``options`` are whole: the defaults with what was set laid over them.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    per_file: tuple[tuple[str, tuple[str, ...]], ...] = ()
    min_severity: Severity = "hint"
    _rules: dict[tuple[str, ...], tuple[Rule, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def narrowed(self, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> LintSettings:
        """With the choices of one run: ``select`` in place of the file's, ``ignore`` beside it."""
        for code in (*select, *ignore):
            _check_code(code)
        return replace(self, select=tuple(select) or self.select, ignore=(*self.ignore, *ignore))

    def rules(self, path: str) -> tuple[Rule, ...]:
        """The rules that look at the file of this path, in order of their codes."""
        ignored = tuple(code for pattern, codes in self.per_file if fnmatchcase(path, pattern) for code in codes)
        found = self._rules.get(ignored)
        if found is None:
            found = self._rules[ignored] = tuple(
                rule
                for code, rule in all_rules().items()
                if not code.startswith(ignored) and _reach(code, self.select or ("CM",)) > _reach(code, self.ignore)
            )
        return found

    def severity_of(self, rule: Rule) -> Severity:
        """How bad the findings of a rule are: as the longest code says that names it, else as the rule says."""
        named = max((code for code in self.severity if rule.code.startswith(code)), key=len, default="")
        return self.severity.get(named, rule.severity)


def read_settings(
    said: Mapping[str, Any],
    *,
    path: str | PathLike[str] | None = None,
    positions: Mapping[KeyPath, tuple[int, int]] | None = None,
) -> LintSettings:
    """The settings of a ``lint`` mapping that fits the schema; ``path`` and ``positions`` are those of its file."""

    def where(*key: str | int) -> ErrorPlace:
        line, column = (positions or {}).get(("lint", *key), (None, None))
        return {"path": path, "line": line, "column": column, "key": key_text(("lint", *key))}

    def merged(code: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """A rule's options, its own and these over them, each checked to be of the kind of its default."""
        if code not in all_rules():
            raise unknown_rule(code, **where("options", code))
        defaults = all_rules()[code].options
        forms = {name: _FORMS[type(default)] for name, default in defaults.items()}
        contents = json.dumps({"type": "object", "properties": forms, "additionalProperties": False})
        for fault in faults_by(contents, given):
            raise ConfigError(fault.message, code="schema", hint=fault.hint, **where("options", code, *fault.key))
        return {**defaults, **{name: tuple(each) if isinstance(each, list) else each for name, each in given.items()}}

    codes: list[tuple[KeyPath, str]] = [
        ((key, index), code) for key in ("select", "ignore") for index, code in enumerate(said.get(key, ()))
    ]
    codes += [(("severity", code), code) for code in said.get("severity", {})]
    for pattern, off in said.get("per_file", {}).items():
        codes += [(("per_file", pattern, index), code) for index, code in enumerate(off)]
    for key, code in codes:
        _check_code(code, **where(*key))
    return LintSettings(
        select=tuple(said.get("select", ())),
        ignore=tuple(said.get("ignore", ())),
        severity=dict(said.get("severity", {})),
        options={code: merged(code, options) for code, options in said.get("options", {}).items()},
        per_file=tuple((pattern, tuple(codes)) for pattern, codes in said.get("per_file", {}).items()),
        min_severity=said.get("min_severity", "hint"),
    )


_FORMS: Mapping[type, Mapping[str, Any]] = {
    tuple: {"type": "array", "items": {"type": "string"}},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
}
"""What an option may be, by the type of its default."""


def _reach(code: str, prefixes: Sequence[str]) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)


_LOOK_ALIKE = str.maketrans("OILS", "0115")


def unknown_rule(code: str, **where: Unpack[ErrorPlace]) -> ConfigError:
    """The error for a code or name that no rule has; its hint names those that begin so, or that were meant."""
    known = all_rules()
    named = {rule.name: rule.code for rule in known.values()}
    number = code[:6].upper().translate(_LOOK_ALIKE)
    near = named.get(nearest(code, named) or "")
    starts = (number[:length] for length in range(len(number), len("CM"), -1))
    begin = next(filter(None, ([each for each in known if each.startswith(start)] for start in starts)), [])
    if near or len(begin) == 1:
        hint = f"Did you mean {near or begin[0]!r}?"
    else:
        hint = f"The nearest are {', '.join(begin)}." if begin else "'catmem rule' lists all rules."
    return ConfigError(f"there is no rule {shown(code)}", code="unknown_rule", hint=hint, **where)


def _check_code(code: str, **where: Unpack[ErrorPlace]) -> None:
    if not code.startswith("CM") or not any(known.startswith(code) for known in all_rules()):
        raise unknown_rule(code, **where)
