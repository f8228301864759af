"""How long a file is, and what could leave when it is too long; what a write crowds out of a prompt."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem import clock
from catmem.errors import CatmemError, OverBudgetError
from catmem.names import TARGETS
from catmem.policy.staleness import freshness
from catmem.service.seen_entry import preview
from catmem.service.writing.written import Crowded, Written

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from catmem.model.document import Document, Entry
    from catmem.policy.config import Config
    from catmem.policy.manifest import Row
    from catmem.policy.profile import Profile
    from catmem.policy.prompt import Prompt
    from catmem.service.workspace import Workspace

_NAMED = 20
_FIRST_TO_GO = ("expired", "stale", "unverified", "fresh")


class Usage(NamedTuple):
    """Characters (code points) of a file, and how many it may have; ``None`` is no limit."""

    size: int
    limit: int | None

    def __str__(self) -> str:
        """``1,074/1,375 characters``."""
        return f"{self.size:,}{'' if self.limit is None else f'/{self.limit:,}'} characters"


def over_budget(entity: str, before: int, size: int, limit: int, named: Sequence[dict[str, Any]]) -> OverBudgetError:
    """The refusal of a write after which a file would be over its limit; ``named`` are entries that could go."""
    return OverBudgetError(
        f"{entity} would have {size:,} characters, {size - limit:,} over its limit of {limit:,}; it has {before:,} now",
        size=size,
        limit=limit,
        could_go=named,
        hint="Nothing was written. Shorten or remove other entries first, or do both in one batch: the limit is "
        "checked on the result.",
    )


def could_go(
    entries: Sequence[Entry], owner: Profile, config: Config, as_of: date, *, to_agent: bool
) -> list[dict[str, Any]]:
    """The entries that might leave, as JSON-ready data: expired, stale, unverified, then the oldest; at most 20."""
    rated = []
    for index, entry in enumerate(entries):
        found = freshness(entry, owner, config, as_of=as_of)
        day = found.day.isoformat() if found.day else ""
        rated.append((_FIRST_TO_GO.index(found.state), day, index, found.state, entry))
    return [
        {
            "id": entry.id,
            "category": entry.category,
            "state": state,
            "date": day or None,
            "text": preview(entry, to_agent=to_agent),
            "size": len(entry.raw),
        }
        for _, day, _, state, entry in sorted(rated, key=lambda row: row[:3])[:_NAMED]
    ]


def crowded_out(workspace: Workspace, written: Written, actor: str | None, as_of: date | None = None) -> Crowded | None:
    """What a write has the prompt of its profile leave out that was in it before, or that it has just written.

    ``None`` for nothing, and for what ``actor`` (``None``: a person) is not told: a profile hears of its own prompt
    only.
    """
    name, _, target = written.entity.partition("/")
    if not written.changed or written.branch or written.repeated or actor not in {None, name}:
        return None
    try:
        profile = workspace.profile(name)
        if not profile.prompt.budget.keys() & {target, "total"}:
            return None
        return _Room(workspace, profile, target, as_of or clock.today()).crowded(written)
    except CatmemError:
        return None  # there is no prompt at all then, which whoever asks for it is told; the write was made


class _Room:
    """The prompt of one profile, before a write and after it."""

    def __init__(self, workspace: Workspace, profile: Profile, target: str, as_of: date) -> None:
        self.workspace = workspace
        self.profile = profile
        self.target = target
        self.as_of = as_of
        self.others: dict[str, Document] = {}
        if "total" in profile.prompt.budget:
            other = next(each for each in TARGETS if each != target)
            self.others[other] = workspace.view(profile.name, other).document

    def crowded(self, written: Written) -> Crowded | None:
        after = self._left_out(self._prompt(written.after, self.profile))
        if not after:
            return None
        before = Counter(_key(row) for row in self._left_out(self._prompt(written.before, self.profile)))
        new = [row for row in after if not _was(before, row)]
        if not new:
            return None
        name = str(new[0].budget)
        own = {(self.target, entry.category, entry.id) for entry in written.entries}
        return Crowded(
            profile=self.profile.name,
            budget=name,
            limit=self.profile.prompt.budget[name],
            size=self._size(written.after, name),
            entries=tuple(new),
            left_out=len(after),
            written=any(_key(row) in own for row in new),
        )

    def _prompt(self, text: str, profile: Profile) -> Prompt:
        documents = {**self.others, self.target: self.workspace.parse(text.encode())}
        from catmem.policy.prompt import build_prompt

        return build_prompt(documents, profile, as_of=self.as_of, config=self.workspace.config)

    @staticmethod
    def _left_out(prompt: Prompt) -> list[Row]:
        return [row for row in prompt.manifest.rows if row.budget is not None]

    def _size(self, text: str, name: str) -> int:
        """What the prompt counts of a budget if that one keeps nothing out; those of the files go before the total."""
        kept = {key: value for key, value in self.profile.prompt.budget.items() if name == "total" and key in TARGETS}
        free = replace(self.profile, prompt=replace(self.profile.prompt, budget=kept))
        prompt = self._prompt(text, free)
        return len(prompt.text) if name == "total" else prompt.manifest.sizes[name]


def _key(row: Row) -> tuple[str, str, str]:
    return row.target, row.category, row.id


def _was(before: Counter[tuple[str, str, str]], row: Row) -> bool:
    """Whether one such entry was left out before; each counts once."""
    found = before[_key(row)] > 0
    before[_key(row)] -= found
    return found
