"""What a caller may know of proposals: a person all; a profile its own, and those that it may approve.

Nothing shows a profile that there are others: it is not given the branch that holds a proposal, whose name counts them
all. Of its own it is shown the texts that it may see now, without what a prompt would withhold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catmem.config.access import visible_categories
from catmem.config.profile import Profile
from catmem.errors import CatmemError
from catmem.jsonable import jsonable
from catmem.model.version import Version
from catmem.prompt.styles import blocked_line
from catmem.proposals.proposal import Proposal, ProposedChange, past_proposals, proposal, proposals, unknown_proposal
from catmem.workspace.root import Root
from catmem.workspace.seen_entry import rules_in, tag_texts

MOST_PAST = 20
"""Of its own that wait no more, a profile is shown so many."""


def disclosed_all(
    workspace: Root, actor: str | None, *, own: bool = False
) -> tuple[list[dict[str, Any]], tuple[CatmemError, ...]]:
    """The proposals that wait, the oldest first; for a profile behind them its own that ended, the newest first."""
    found = proposals(workspace, actor=actor)
    waiting = [each for each in found.proposals if not own or each.agent == actor]
    past = [] if actor is None else past_proposals(workspace, actor, MOST_PAST)
    return [data_for(workspace, each, actor) for each in (*waiting, *past)], found.unreadable


def disclosed(workspace: Root, name: str, actor: str | None, *, own: bool = False) -> dict[str, Any]:
    """One proposal, also one that was decided. Raises ``UnknownNameError`` (``unknown_proposal``)."""
    found = proposal(workspace, name, actor=actor)
    if own and found.agent != actor:
        raise unknown_proposal(name, actor)
    return data_for(workspace, found, actor)


def data_for(workspace: Root, found: Proposal, actor: str | None) -> dict[str, Any]:
    """A proposal as data, of which ``actor`` is given what it may know."""
    if actor is not None:
        return _disclosed(workspace, found, workspace.profile(actor))
    said: dict[str, Any] = jsonable(found)
    for change, one in zip(found.changes, said["changes"], strict=True):
        one["place"] = change.place
        if found.state == "waiting" and change.approved is not None:
            one["after"] = change.approved.text  # to the letter what a yes writes
    return said


def _disclosed(workspace: Root, found: Proposal, acting: Profile) -> dict[str, Any]:
    sees = _sight(workspace, found, acting)
    changes = [_changed(change, sees) for change in found.changes]
    # That the file says it by now is for those who see all of it.
    hides_stale = found.state == "stale" and not any(change["stale"] for change in changes)
    hides_stale |= found.state == "done" and found.decision is None and not all(map(sees, found.categories))
    ended = found.decision
    why = None if ended is None or ended.reason is None else safe_text(ended.reason)
    words = None if ended is None or ended.words is None or not sees(ended.words.category) else _text(ended.words)
    return {
        "id": found.id,
        "entity": found.entity,
        "state": "waiting" if hides_stale else found.state,
        "agent": found.agent,
        "reason": found.reason,
        "timestamp": found.timestamp,
        "until": found.until.isoformat(),
        "changes": changes,
        "decision": ended and {"verdict": ended.verdict, "timestamp": ended.timestamp, "reason": why, "words": words},
    }


def _sight(workspace: Root, found: Proposal, acting: Profile) -> Callable[[str], bool]:
    """Which categories the profile may be shown of a proposal, by its rights of now."""
    taxonomy, target = workspace.config.taxonomy, found.entity.partition("/")[2]
    if found.agent != acting.name:
        return acting.approvable(taxonomy).matches
    return lambda category: category in visible_categories((category,), target, acting, taxonomy)


def _changed(change: ProposedChange, sees: Callable[[str], bool]) -> dict[str, Any]:
    sides = zip(("before", "after", "now"), change, strict=True)
    texts = {name: _text(side) if side is not None and sees(side.category) else None for name, side in sides}
    places = dict.fromkeys(side.category for side in change[:2] if side is not None and sees(side.category))
    is_stale = change.is_stale and all(map(sees, change.categories))
    return {"category": change.category, "place": " to ".join(places), "stale": is_stale, **texts}


def _text(version: Version) -> str:
    return safe_text(version.text, version.body, *tag_texts(version.tags))


def safe_text(text: str, *parts: str) -> str:
    """A text, or the line that says why it is withheld."""
    rules = rules_in([text, *parts])
    return blocked_line(", ".join(rules)) if rules else text
