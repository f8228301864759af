"""Tidy and promote: what memory says twice, and what specialists learned. A person chooses, and one button does it.

A row is known by its entries, so that a form needs no revision: what it says of a row that is on the list no more is
refused, and then nothing is written.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from catmem.digest import content_digest
from catmem.errors import CatmemError, RequestError
from catmem.proposals.promoting import promote_learned, promoted_between
from catmem.proposals.proposal import proposal
from catmem.server.page.formats import paged, with_query
from catmem.server.page.page_view import Page
from catmem.server.page.writing import Did, bad_form, refuse_partly
from catmem.tidying.root_tidy import list_tidy
from catmem.writing.operation import Operation
from catmem.writing.write import write_operations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.proposals.promoting import Promoted
    from catmem.server.page.page_view import PageRequest
    from catmem.server.page.refusal import FormRefusal
    from catmem.server.page.writing import Sent
    from catmem.tidying.suggestions import Suggestion

T = TypeVar("T")

_SIZE = 50
PAIR, TAKE = "pair-", "take-"
"""How the fields of the two forms begin; behind it stands the key of a row."""
_KEPT = ("one", "other")
BOTH = "both"
"""What can be chosen for a pair."""


# --- tidy ----------------------------------------------------------------------------------------------------------


def tidy(asked: PageRequest, refusal: FormRefusal | None = None, said: Mapping[str, str] | None = None) -> Page:
    """The pairs, those that say the same first; after a ``refusal`` those of the form, with what was ``said``."""
    found = list_tidy(asked.workspace)
    rows = [
        {"key": key, "pair": pair, "keeps": (said or {}).get(PAIR + key, "one" if pair.operations else BOTH)}
        for key, pair in _pairs(found.suggestions).items()
        if said is None or PAIR + key in said
    ]
    context = {"private": found.private, "problems": found.problems, "kept": _KEPT, "both": BOTH}
    return _page("tidy.html", asked, rows, refusal, **context)


def settle(sent: Sent) -> Did:
    """Remove the other entry of each pair of which one is kept: one revision for each file."""
    gone: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for pair, keeps in _chosen(sent, PAIR, _pairs(list_tidy(sent.workspace).suggestions)):
        entry = pair.entries[keeps == "one"]
        if keeps not in _KEPT or entry.copied:
            raise bad_form(f"the form says {keeps} of a pair")
        gone[entry.entity][entry.id] = Operation("remove", old_text=entry.id, category=entry.category)
    written, failed = [], []
    for entity, operations in gone.items():
        name, _, target = entity.partition("/")
        try:
            done = write_operations(sent.workspace, name, [*operations.values()], target=target)
            written.append((entity, done.revision))
        except CatmemError as error:
            failed.append(f"{entity}: {error.message}")
    refuse_partly(failed, len(written), "tidied")
    return Did(with_query(sent.back, page=None), written)


def tidy_again(sent: Sent, refusal: FormRefusal) -> Page:
    """The pairs of a form that are still on the list, with what was chosen."""
    return tidy(sent, refusal, sent.fields)


def _pairs(found: Sequence[Suggestion]) -> dict[str, Suggestion]:
    return {_key(*((each.entity, each.category, each.id) for each in pair.entries)): pair for pair in found}


# --- promote -------------------------------------------------------------------------------------------------------


def promote(asked: PageRequest, refusal: FormRefusal | None = None, said: Mapping[str, str] | None = None) -> Page:
    """What specialists have and their sources have not; after a ``refusal`` what was ticked of it."""
    workspace, sides, why = asked.workspace, set(), None
    try:
        sides = {each.name for pair in promoted_between(workspace) for each in pair}
        found = promote_learned(workspace, dry_run=True)
    except CatmemError as error:
        if error.code != "no_source":
            raise
        found, why = [], error
    rows = [
        {"key": key, "learned": each, "ticked": said is not None}
        for key, each in _learned(found).items()
        if said is None or TAKE + key in said
    ]
    outside = [each for each in asked.overviews.read().outside if each.partition("/")[0] in sides]
    return _page("promote.html", asked, rows, refusal, outside=outside, why=why)


def propose(sent: Sent) -> Did:
    """Propose what is ticked to the sources. Raises ``RequestError`` 422 where nothing is."""
    ticked = _chosen(sent, TAKE, _learned(promote_learned(sent.workspace, dry_run=True)))
    keys = {_learned_key(each) for each, _ in ticked}
    made = promote_learned(sent.workspace, chosen=lambda each: _learned_key(each) in keys)
    waiting = [proposal(sent.workspace, each.written.waiting) for each in made if each.written and each.written.waiting]
    written = [(each.entity, each.revision) for each in waiting]
    failed = [f"{each.profile}: {each.error.message}" for each in made if each.error is not None]
    refuse_partly(failed, len(written), "proposed")
    return Did(with_query(sent.back, page=None), written)


def promote_again(sent: Sent, refusal: FormRefusal) -> Page:
    """What was ticked and is still on the list."""
    return promote(sent, refusal, sent.fields)


def _learned(found: Sequence[Promoted]) -> dict[str, Promoted]:
    return {_learned_key(each): each for each in found}


def _learned_key(each: Promoted) -> str:
    replaced = "" if each.replaced is None else each.replaced.id
    return _key(each.profile, each.source, each.target, each.entry.category, each.entry.id, replaced)


# --- both ----------------------------------------------------------------------------------------------------------


def _key(*parts: object) -> str:
    return content_digest([*parts])[-16:]


def _chosen(sent: Sent, prefix: str, now: Mapping[str, T]) -> list[tuple[T, str]]:
    """The rows of the list ``now`` for which the form says that something is to be done, and what.

    Raises ``RequestError``: 422 where there is none, 409 where one is on the list no more.
    """
    fields = {name.removeprefix(prefix): value for name, value in sent.fields.items() if name.startswith(prefix)}
    said = {key: value for key, value in fields.items() if value != BOTH}
    if not said:
        hint = "Choose what is to be done, and send it again."
        raise RequestError(422, "nothing is chosen", code="nothing_ticked", hint=hint)
    if not said.keys() <= now.keys():
        hint = "Nothing was written. What is still on the list keeps your choice: look at it, and send it again."
        raise RequestError(409, "the list is another one than you saw", code="list_changed", hint=hint)
    return [(now[key], value) for key, value in said.items()]


def _page(
    template: str, asked: PageRequest, rows: Sequence[dict[str, Any]], refusal: FormRefusal | None, **more: object
) -> Page:
    some = paged(rows, 1, len(rows) or 1) if refusal else paged(rows, asked.page, _SIZE)
    return Page(template, {"rows": some.rows, "paged": some, "refusal": refusal, **more})
