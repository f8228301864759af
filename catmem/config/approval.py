"""Which writes of agents wait until a person says yes: ``approval`` of catmem.yaml (docs/approvals.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from catmem.config.selector import Selectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Level: TypeAlias = Literal["free", "verified", "wait"]
"""``free``: made at once. ``verified``: waits where the entry has a ``verified_date``. ``wait``: always waits."""

ACTIONS = ("add", "replace", "remove", "verify", "seed")
"""What a rule may speak of. A move is a ``replace``."""

_DEFAULTS: Mapping[str, Level] = {
    "add": "free",
    "replace": "verified",
    "remove": "verified",
    "verify": "free",
    "seed": "free",
}


class Writer(NamedTuple):
    """The profile that writes, its tier, and the interface that its write comes in by."""

    profile: str
    tier: int
    interface: str


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """An exception: for which changes it is, and the levels that it gives. What is ``None`` fits every change."""

    levels: Mapping[str, Level]
    category: Selectors | None = None
    profile: Sequence[str] | None = None
    domain: Sequence[str] | None = None
    tier: int | None = None
    interface: str | None = None

    def fits(self, writer: Writer, category: str, domain: str | None) -> bool:
        """Whether the rule is for a change by this writer in this category and domain."""
        return (
            (self.category is None or self.category.matches(category))
            and (self.profile is None or is_among(writer.profile, self.profile))
            and (self.domain is None or (domain is not None and is_among(domain, self.domain)))
            and self.tier in {None, writer.tier}
            and self.interface in {None, writer.interface}
        )


@dataclass(frozen=True, slots=True)
class Approval:
    """The policy of a root. ``shadow``: what would wait is made, and the answer says so.

    ``days`` is how long a proposal waits, ``most`` how many of one profile wait for one file, ``stacks`` whether two of
    a profile on the same entry both wait. ``promote`` selects the categories in which what specialists learn is
    proposed to the profile that they are seeded from.
    """

    shadow: bool = False
    levels: Mapping[str, Level] = field(default_factory=lambda: _DEFAULTS)
    rules: tuple[ApprovalRule, ...] = ()
    days: int = 30
    most: int = 20
    stacks: bool = False
    promote: tuple[str, ...] = ()

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Approval:
        """The policy that the checked key ``approval`` says."""
        return cls(
            shadow=said.get("mode") == "shadow",
            levels={**_DEFAULTS, **_levels(said)},
            rules=tuple(_rule(each) for each in said.get("rules", ())),
            days=said.get("days", 30),
            most=said.get("most", 20),
            stacks=said.get("later") == "stack",
            promote=tuple(said.get("promote", ())),
        )

    def level(self, action: str, writer: Writer, category: str, domain: str | None) -> Level:
        """What holds for one action on one entry: the first rule that fits it and names the action, else the root's."""
        for rule in self.rules:
            if action in rule.levels and rule.fits(writer, category, domain):
                return rule.levels[action]
        return self.levels[action]


def _levels(said: Mapping[str, Any]) -> dict[str, Level]:
    return {action: said[action] for action in ACTIONS if action in said}


def _rule(said: Mapping[str, Any]) -> ApprovalRule:
    return ApprovalRule(
        levels=_levels(said),
        category=Selectors(tuple(said["category"])) if "category" in said else None,
        **{key: said[key] for key in ("profile", "domain", "tier", "interface") if key in said},
    )


def is_among(name: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns fits a name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
