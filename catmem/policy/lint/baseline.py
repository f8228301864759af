"""A baseline: findings that were there before, which do not count, so that a root can begin with lint at once.

As JSON: a version, and how many findings there were of each path, code and fingerprint. Lines are not in it, so it
holds when text moves; whoever changes an entry sees its findings.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from catmem.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from catmem.policy.lint.diagnostic import Diagnostic

BASELINE_VERSION = 1

_Key = tuple[str, str, str]
_HINT = "Write it again with 'catmem lint --write-baseline'."


def write_baseline(diagnostics: Iterable[Diagnostic]) -> str:
    """The baseline of all findings that a mark does not suppress, as text with a final newline, keys sorted."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for path, code, fingerprint in sorted(_key(each) for each in diagnostics if each.suppressed != "inline"):
        counts = found.setdefault(path, {}).setdefault(code, {})
        counts[fingerprint] = counts.get(fingerprint, 0) + 1
    return json.dumps({"version": BASELINE_VERSION, "findings": found}, indent=1, ensure_ascii=False) + "\n"


def read_baseline(data: bytes, path: str | PathLike[str]) -> Mapping[_Key, int]:
    """How many findings of each key do not count. Raises ``ConfigError`` (code ``bad_baseline``)."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        message = f"the baseline is not JSON: {error}"
        raise ConfigError(message, code="bad_baseline", path=path, hint=_HINT) from None
    version = said.get("version") if isinstance(said, dict) else None
    if version != BASELINE_VERSION:
        message = f"the baseline must have the version {BASELINE_VERSION}, and has {json.dumps(version)}"
        raise ConfigError(message, code="bad_baseline", path=path, hint=_HINT)
    try:
        return dict(_counts(said["findings"]))
    except (KeyError, AttributeError, TypeError, ValueError):
        message = "the baseline does not have the right form"
        raise ConfigError(message, code="bad_baseline", path=path, hint=_HINT) from None


def _counts(findings: Any) -> Iterable[tuple[_Key, int]]:  # noqa: ANN401 - any JSON value
    for path, codes in findings.items():
        for code, counts in codes.items():
            for fingerprint, count in counts.items():
                if not isinstance(count, int):
                    raise TypeError
                yield (path, code, fingerprint), count


def without_old(diagnostics: Iterable[Diagnostic], old: Mapping[_Key, int]) -> list[Diagnostic]:
    """The same diagnostics in their order; those of the baseline, no more than it counts of each, as suppressed."""
    left = Counter(old)
    result: list[Diagnostic] = []
    for diagnostic in diagnostics:
        key = _key(diagnostic)
        if not diagnostic.suppressed and left[key] > 0:
            left[key] -= 1
            result.append(replace(diagnostic, suppressed="baseline"))
        else:
            result.append(diagnostic)
    return result


def _key(diagnostic: Diagnostic) -> _Key:
    return diagnostic.path, diagnostic.code, diagnostic.fingerprint
