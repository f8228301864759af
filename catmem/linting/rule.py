"""Rules and their settings: each is a function that yields findings, with a code that is never used again for another.

::

    @rule("CM203", "garbage-entry", options={"words": ("test", "todo")})
    def garbage_entry(file: LintedFile, context: Context) -> Iterator[Finding]:
        '''Find entries that say nothing.'''

The docstring is the rule's summary. Its page stands in ``docs/rules.md``: the summary, why it matters, an example, the
fix and, where there are some, the options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from catmem.config.json_schema import nearest, shown, suggestion
from catmem.config.yamlfile import KeyPath, key_text
from catmem.errors import ConfigError, ErrorPlace

if TYPE_CHECKING:
    from os import PathLike

    from catmem.linting.diagnostic import Finding, Severity
    from catmem.linting.linted import Context


RuleScope = Literal["file", "profile", "config", "root"]
"""What a rule is called with: ``file`` a ``LintedFile``, ``profile`` and ``config`` a ``LintedYaml``, ``root`` the
``LintedFile`` of each path, in order of the paths. ``config`` rules get schema files of the root too."""

_TITLE = re.compile(r"^###? (CM\w{3}) .*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``options`` are the defaults of what ``lint.options`` of ``catmem.yaml`` may set for it.

    ``fixes`` says which kind of fix it can offer. ``dated`` rules look at the day, so their results last a day. What a
    ``private`` rule finds is never shown, since output of lint stands in logs that many can read; its messages quote
    nothing.
    """

    code: str
    name: str
    severity: Severity
    scope: RuleScope
    summary: str
    check: Callable[[Any, Context], Iterator[Finding]]
    options: Mapping[str, Any] = field(default_factory=dict)
    fixes: Literal["", "safe", "unsafe"] = ""
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
    fixes: Literal["", "safe", "unsafe"] = "",
    dated: bool = False,
    private: bool = False,
) -> Callable[[_Check], _Check]:
    """Register a function as the rule of this code; the function itself stays as it is.

    An option's default is text, a number, true or false, or a tuple of texts. Raises ``ValueError`` for a code or name
    that is taken.
    """

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
    return dict(sorted(_REGISTERED.items()))


@cache
def _pages() -> Mapping[str, str]:
    """The page of each rule by code, as ``docs/rules.md`` has it."""
    from catmem.resources import rules_text

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
        options = dict(all_rules()[code].options)
        for name, value in given.items():
            fault, hint = f"the rule {code} has no option {shown(name)}", suggestion(name, options, "options")
            if name in options:
                wanted, kind, default = _kind(options[name]), _kind(value), options[name]
                is_right = kind == wanted or (wanted, kind) == ("a number", "a whole number")
                fault = "" if is_right else f"the option {name} of {code} must be {wanted}, and is {kind}"
                written = f"[{', '.join(default)}]" if isinstance(default, tuple) else shown(default)
                hint = f"By default it is {written}."
            if fault:
                raise ConfigError(fault, code="bad_option", hint=hint, **where("options", code, name))
            options[name] = tuple(value) if isinstance(value, list) else value
        return options

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


def _reach(code: str, prefixes: Sequence[str]) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)


def unknown_rule(code: str, **where: Unpack[ErrorPlace]) -> ConfigError:
    """The error for a code that no rule has; its hint names the nearest."""
    known = all_rules()
    named = {rule.name: rule.code for rule in known.values()}
    near = named.get(code) or named.get(nearest(code, named) or "")
    hint = f"Did you mean {near!r}?" if near else suggestion(code, known, "rules")
    return ConfigError(f"there is no rule {shown(code)}", code="unknown_rule", hint=hint, **where)


def _check_code(code: str, **where: Unpack[ErrorPlace]) -> None:
    if not code.startswith("CM") or not any(known.startswith(code) for known in all_rules()):
        raise unknown_rule(code, **where)


def _kind(value: object) -> str:
    if isinstance(value, list | tuple):
        return "a list of texts" if all(isinstance(part, str) for part in value) else "a list of other things"
    # bool before int, since it is one in Python
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "something else")
