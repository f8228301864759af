"""Why a profile reads, may write or may verify a category, or not: the setting that decides, where it stands, in words.

The answers are those of ``catmem.policy.fleet``; here only the word that decided them is looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from catmem.names import FILE_NAMES
from catmem.policy.access import Rights
from catmem.policy.fleet import access_of
from catmem.policy.profile import ORCHESTRATOR_TIER, SELECTOR_KEYS
from catmem.policy.selector import Selectors, is_pattern, split
from catmem.policy.yamlfile import key_text
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.policy.config import Taxonomy
    from catmem.policy.fleet import Cell, Sight
    from catmem.policy.profile import Place, Profile
    from catmem.policy.yamlfile import KeyPath

Asked = Literal["user", "memory", "write", "verify"]
Rule = Literal[
    "selected", "taken-away", "not-selected", "closed", "include-uncategorized", "tier-1", "may-verify", "not-seen"
]

_READ_KEYS = {"user": SELECTOR_KEYS[0], "memory": SELECTOR_KEYS[1]}
_WRITE_KEY = SELECTOR_KEYS[2]


class Reason(NamedTuple):
    """One answer and what decides it.

    ``asked`` is what is read (``user`` for USER.md, ``memory`` for MEMORY.md), ``write`` or ``verify``. ``place`` is
    where the deciding word stands, ``None`` where a default decides; ``inherited_from`` the profile whose file that is,
    if it is a parent's.
    """

    asked: Asked
    answer: Sight
    rule: Rule
    because: str
    selector: str | None = None
    key: str | None = None
    place: Place | None = None
    inherited_from: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The reason as JSON-ready data; ``path`` and ``line`` stand for the place."""
        said = self._asdict()
        place = said.pop("place")
        return said | {"path": place.path if place else None, "line": place.line if place else None}


def reasons(
    profile: Profile, category: str, taxonomy: Taxonomy, written: Profile | None = None
) -> tuple[Reason, Reason, Reason, Reason]:
    """Why ``profile`` may read ``category`` (a slug, no alias) of USER.md and of MEMORY.md, write it and verify it.

    ``written`` is the profile as its files say it, aliases of categories not resolved, to quote from.
    """
    cell = access_of(profile, (category,), taxonomy)[category]
    case = _Case(profile, category, taxonomy, cell, written or profile)
    return case.read("user"), case.read("memory"), case.write(), case.verify()


class _Case(NamedTuple):
    profile: Profile
    category: str
    taxonomy: Taxonomy
    cell: Cell
    written: Profile

    def read(self, target: Literal["user", "memory"]) -> Reason:
        answer = self.cell.reads(target)
        selectors, key = self.profile.selectors(target, self.taxonomy), _READ_KEYS[target]
        if self.category == UNCATEGORIZED and _deciding(selectors, self.category) is None:
            return self._included(target, answer)
        return self._selected(target, answer, selectors, key)

    def write(self) -> Reason:
        answer: Sight = "yes" if self.cell.write else "no"
        if self.profile.tier == ORCHESTRATOR_TIER:
            because = "a profile of tier 1 may write to every category of every profile's files"
            return self._reason("write", answer, "tier-1", self._but_closed(because), at=("tier",))
        found = self._selected("write", answer, self.profile.writable(self.taxonomy), _WRITE_KEY)
        if answer == "yes" and self.cell.reads() == "no":
            found = found._replace(because=f"{found.because}; it can add there, and sees nothing of it (a drop)")
        return found._replace(because=self._but_closed(found.because)) if answer == "yes" else found

    def verify(self) -> Reason:
        said = self.profile.may_verify
        at: KeyPath = ("tier",) if said is None else ("may_verify",)
        if said is None:
            tier_1 = self.profile.tier == ORCHESTRATOR_TIER
            because = f"may_verify is not said, and tier {self.profile.tier} may {'' if tier_1 else 'not '}by default"
        else:
            because = f"may_verify is {'true' if said else 'false'}"
        if not Rights(self.profile, "user", self.taxonomy).may_verify:
            return self._reason("verify", "no", "may-verify", because, at=at)
        answer = self.cell.reads()
        if answer == "no":
            because += ", but it can verify only what it reads"
            return self._reason("verify", "no", "not-seen", because, at=at)
        whose = "any profile" if self.profile.tier == ORCHESTRATOR_TIER else "its own files"
        where = " and ".join(file for target, file in FILE_NAMES.items() if self.cell.reads(target) != "no")
        because += f"; it counts for what it reads, in {where} of {whose}"
        return self._reason("verify", answer, "may-verify", because, at=at)

    def _included(self, asked: Asked, answer: Sight) -> Reason:
        """What decides on entries without a category where no selector names them."""
        said = self.profile.include_uncategorized
        if said is None:
            because = "include_uncategorized is not said: such entries are seen in a file without section headers only"
        else:
            because = f"include_uncategorized is {'true' if said else 'false'}"
        if not said and any(is_pattern(split(each)[1]) for each in self._quotable(_READ_KEYS[asked])):
            because += "; a pattern never selects entries without a category"
        return self._reason(asked, answer, "include-uncategorized", because, at=("include_uncategorized",))

    def _selected(self, asked: Asked, answer: Sight, selectors: Selectors, key: str) -> Reason:
        """What decides where selectors do."""
        index = _deciding(selectors, self.category)
        quoted = self._quotable(key)
        if index is not None:
            selector = quoted[index]
            if answer != "no":
                because = f"{self._quote(selector)} of {key} selects it"
                return self._reason(asked, answer, "selected", because, selector, (key, index))
            because = f"{self._quote(selector)} of {key} takes it away"
            before = _deciding(Selectors(selectors.patterns[:index], selectors.declared), self.category)
            if before is not None and not selectors.patterns[before].startswith("!"):
                because += f", after {quoted[before]!r} has selected it"
            return self._reason(asked, answer, "taken-away", because, selector, (key, index))
        wider = _deciding(Selectors(selectors.patterns), self.category)
        if wider is not None:
            because = (
                f"{quoted[wider]!r} of {key} would match, but the taxonomy is closed and does not declare this "
                "category: patterns select declared ones only"
            )
            return self._reason(asked, answer, "closed", because, quoted[wider], (key, wider))
        if not quoted:
            because = f"{key} is empty" if (key,) in self.profile.places else f"{key} is not said"
        else:
            because = f"no selector of {key} matches it"
            if self.category == UNCATEGORIZED and any(is_pattern(split(each)[1]) for each in quoted):
                because += ": a pattern never selects entries without a category"
        return self._reason(asked, answer, "not-selected", because, at=(key,))

    def _quotable(self, key: str) -> tuple[str, ...]:
        """The selectors as the file says them."""
        return tuple(getattr(self.written, key))

    def _quote(self, selector: str) -> str:
        """The selector, with what it means if it is an alias."""
        meant = self.taxonomy.aliases.get(split(selector)[1])
        return repr(selector) if meant is None else f"{selector!r} (an alias of {meant})"

    def _but_closed(self, because: str) -> str:
        if self.taxonomy.closed and self.taxonomy.named(self.category) is None:
            return f"{because}; but nothing can be added to it while catmem.yaml does not declare it"
        return because

    def _reason(  # noqa: PLR0913, PLR0917 - the fields of a reason
        self,
        asked: Asked,
        answer: Sight,
        rule: Rule,
        because: str,
        selector: str | None = None,
        at: KeyPath = (),
    ) -> Reason:
        place = self.profile.places.get(at)
        parent = None if place is None else _stem_of(place, self.profile.path)
        return Reason(asked, answer, rule, because, selector, key_text(at), place, parent)


def _deciding(selectors: Selectors, category: str) -> int | None:
    """The index of the last selector that has a say on a category."""
    for index in reversed(range(len(selectors.patterns))):
        one = Selectors((selectors.patterns[index],), selectors.declared)
        if one.matches(category) or one.takes_away(category):
            return index
    return None


def _stem_of(place: Place, own: Path | None) -> str | None:
    """The name of the parent in whose file the place is; ``None`` for the profile's own."""
    if own is None or place.path == str(own):
        return None
    return place.path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
