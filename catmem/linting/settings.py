"""``lint`` of ``catmem.yaml``: which rules look at which files, how bad their findings are, and their options."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from catmem.config.json_schema import nearest, shown, suggestion
from catmem.config.yamlfile import key_text
from catmem.errors import ConfigError
from catmem.linting.rule import all_rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from catmem.config.yamlfile import KeyPath
    from catmem.linting.diagnostic import Severity
    from catmem.linting.rule import Rule


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

    def narrowed(
        self, select: Sequence[str] = (), ignore: Sequence[str] = (), min_severity: Severity | None = None
    ) -> LintSettings:
        """With the choices of one run: ``select`` and ``min_severity`` in place of the file's, ``ignore`` beside it.

        Raises ``ConfigError`` (code ``unknown_rule``).
        """
        for code in (*select, *ignore):
            _check_code(code)
        return replace(
            self,
            select=tuple(select) or self.select,
            ignore=(*self.ignore, *ignore),
            min_severity=min_severity or self.min_severity,
        )

    def rules(self, path: str) -> tuple[Rule, ...]:
        """The rules that look at the file of this path, in order of their codes."""
        ignored = tuple(code for pattern, codes in self.per_file if fnmatchcase(path, pattern) for code in codes)
        found = self._rules.get(ignored)
        if found is None:
            found = tuple(rule for code, rule in all_rules().items() if self._is_on(code, ignored))
            self._rules[ignored] = found
        return found

    def _is_on(self, code: str, ignored: tuple[str, ...]) -> bool:
        return not code.startswith(ignored) and _reach(code, self.select or ("CM",)) > _reach(code, self.ignore)

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
    """The settings of a ``lint`` mapping that fits the schema; ``path`` and ``positions`` are those of its file.

    Raises ``ConfigError``: ``unknown_rule`` for a code that no rule has, ``bad_option`` for an option that its rule
    does not have or a value of the wrong kind.
    """

    def where(*key: str | int) -> dict[str, Any]:
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


def unknown_rule(code: str, **where: Any) -> ConfigError:  # noqa: ANN401 - where it stands, as errors take it
    """The error for a code that no rule has; its hint names the nearest."""
    known = all_rules()
    named = {rule.name: rule.code for rule in known.values()}
    near = named.get(code) or named.get(nearest(code, named) or "")
    hint = f"Did you mean {near!r}?" if near else suggestion(code, known, "rules")
    return ConfigError(f"there is no rule {shown(code)}", code="unknown_rule", hint=hint, **where)


def _check_code(code: str, **where: Any) -> None:  # noqa: ANN401 - as above
    if not code.startswith("CM") or not any(known.startswith(code) for known in all_rules()):
        raise unknown_rule(code, **where)


def _kind(value: object) -> str:
    if isinstance(value, list | tuple):
        return "a list of texts" if all(isinstance(part, str) for part in value) else "a list of other things"
    # bool before int, since it is one in Python
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "something else")
