"""Rules: each a function that yields findings, with a code that is never used again for another.

::

    @rule("CM203", "garbage-entry", options={"words": ("test", "todo")})
    def garbage_entry(file: LintedFile, context: Context) -> Iterator[Finding]:
        '''Find entries that say nothing.'''

The docstring is the rule's summary. Its page stands in ``docs/rules.md``: the summary, then the headings Why, Example,
Fix and, where there are some, Options.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from catmem.linting.diagnostic import Finding, Severity
    from catmem.linting.linted import Context

Scope = Literal["file", "profile", "config", "root", "store"]
"""What a rule is called with: ``file`` a ``LintedFile``, ``profile`` and ``config`` a ``LintedYaml``, ``root`` the
``LintedFile`` of each path, in order of the paths, ``store`` the ``StoreFault``s. ``config`` rules get schema files of
the root too."""

FAMILIES: Mapping[str, str] = {
    "CM1": "structure",
    "CM2": "entries",
    "CM3": "tags",
    "CM4": "profiles and configuration",
    "CM5": "budget",
    "CM6": "safety",
    "CM9": "store",
}
"""What the rules of each hundred are about."""

_CODE = re.compile(r"CM[1-9][0-9]{2}")
_NAME = re.compile(r"[a-z]+(?:-[a-z0-9]+)*")
_TITLE = re.compile(r"^###? (CM\w{3}) .*\n", re.MULTILINE)
_HEADING = re.compile(r"^##(## (?:Why|Example|Fix|Options))$", re.MULTILINE)


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
    scope: Scope
    summary: str
    check: Callable[[Any, Context], Iterator[Finding]]
    options: Mapping[str, Any] = field(default_factory=dict)
    fixes: Literal["", "safe", "unsafe"] = ""
    dated: bool = False
    private: bool = False

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
    scope: Scope = "file",
    options: Mapping[str, Any] | None = None,
    fixes: Literal["", "safe", "unsafe"] = "",
    dated: bool = False,
    private: bool = False,
) -> Callable[[_Check], _Check]:
    """Register a function as the rule of this code; the function itself stays as it is.

    An option's default is text, a number, true or false, or a tuple of texts. Raises ``ValueError`` for a code or
    name of the wrong form or one that is taken, and for a rule without a summary: each is a mistake in this package.
    """

    def register(check: _Check) -> _Check:
        summary = (check.__doc__ or "").strip().partition("\n")[0]
        if not _CODE.fullmatch(code) or code[:3] not in FAMILIES or not _NAME.fullmatch(name) or not summary:
            raise ValueError(f"{code} {name}: not a rule's code, name and summary")
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
    """The page of each rule by code, as ``docs/rules.md`` has it, its headings two levels further up."""
    from catmem.resources import rules_text

    _, *titled = _TITLE.split(rules_text())
    return {code: _HEADING.sub(r"\1", text).strip() for code, text in zip(titled[::2], titled[1::2], strict=True)}
