"""What a write leaves no room for: entries that the prompt of its profile has no longer, or not yet, for its budget.

It is worked out after the write, from the text before and the text after, and only where the profile has a budget that
the file counts for. A prompt is made of the profile's own files; who else may be given slices of them is not looked at.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from catmem import clock
from catmem.errors import CatmemError
from catmem.names import TARGETS
from catmem.policy.prompt import build_prompt
from catmem.service.writing.written import Crowded, Written

if TYPE_CHECKING:
    from datetime import date

    from catmem.model.document import Document
    from catmem.policy.manifest import Row
    from catmem.policy.profile import Profile
    from catmem.policy.prompt import Prompt
    from catmem.service.workspace import Workspace


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
