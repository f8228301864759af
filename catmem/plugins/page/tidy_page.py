"""Tidy and promote: what memory says twice, and what specialists learned. A person chooses, and one button does it.

A row is known by its entries, so that a form needs no revision: what it says of a row that is on the list no more is
refused, and then nothing is written. Nor is anything in a file that changes between the list and the write.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from catmem.digest import content_digest
from catmem.errors import CatmemError, RequestError
from catmem.plugins.page.formats import paged, with_query
from catmem.plugins.page.page_view import Page
from catmem.plugins.page.writing import Did, Sent, bad_form, nothing_ticked, refuse_partly
from catmem.plugins.sorting.root_tidy import list_tidy
from catmem.proposals.promoting import promotable, promote_learned
from catmem.proposals.proposal import proposal
from catmem.writing.operation import Operation
from catmem.writing.write import write_operations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.plugins.page.page_view import PageRequest
    from catmem.plugins.page.refusal import FormRefusal
    from catmem.plugins.sorting.suggestions import Suggestion
    from catmem.proposals.promoting import Promoted
    from catmem.workspace.root import Root

T = TypeVar("T")

_SIZE = 50
PAIR, TAKE = "pair-", "take-"
"""How the fields of the two forms begin; behind it stands the key of a row."""
_KEPT, _BOTH = ("one", "other"), "both"
"""What can be chosen for a pair."""
_ONE_AT_A_TIME = Lock()
"""Two forms may keep what the other removes, in two files too: the second one sees the list after the first."""


def tidy(asked: PageRequest, refusal: FormRefusal | None = None) -> Page:
    """The pairs, those that say the same first; of a form that was refused its own, with what was chosen."""
    found = list_tidy(asked.workspace)
    rows = [(key, pair, _KEPT[0] if pair.operations else _BOTH) for key, pair in _pairs(found.suggestions).items()]
    more = {"private": found.private, "problems": found.problems, "kept": _KEPT, "both": _BOTH}
    return _page("tidy.html", asked, PAIR, rows, {**more, "refusal": refusal})


def settle(sent: Sent) -> Did:
    """Remove the other entry of each pair of which one is kept: one revision for each file."""
    gone: defaultdict[str, dict[int, Operation]] = defaultdict(dict)
    written, failed = [], []
    with _ONE_AT_A_TIME:
        found = list_tidy(sent.workspace)
        for pair, keeps in _chosen(sent, PAIR, _pairs(found.suggestions)):
            entry = pair.entries[keeps == _KEPT[0]]
            if keeps not in _KEPT or entry.copied:
                raise bad_form(f"the form says {keeps} of a pair")
            gone[entry.entity][entry.line] = Operation("remove", old_text=entry.id, category=entry.category)
        for entity, each in gone.items():
            (name, target), seen = entity.split("/"), found.digests[entity]
            try:
                done = write_operations(sent.workspace, name, [*each.values()], target=target, expected=seen)
                written.append((entity, done.revision))
            except CatmemError as error:
                failed.append(f"{entity}: {error.message}")
    refuse_partly(failed, len(written), "tidied")
    return Did(with_query(sent.back, page=None), written)


def promote(asked: PageRequest, refusal: FormRefusal | None = None) -> Page:
    """What specialists have and their sources have not; of a form that was refused what was ticked."""
    rows = [(key, each, "") for key, each in _learned(asked.workspace).items()]
    sides = {name for _, each, _ in rows for name in (each.profile, each.source)}
    outside = [entity for entity in asked.overviews.read().outside if entity.partition("/")[0] in sides]
    return _page("promote.html", asked, TAKE, rows, {"outside": outside, "refusal": refusal})


def propose(sent: Sent) -> Did:
    """Propose what is ticked to the sources."""
    ticked = {_key_of(each) for each, _ in _chosen(sent, TAKE, _learned(sent.workspace))}
    made = promote_learned(sent.workspace, chosen=lambda each: _key_of(each) in ticked)
    waiting = [proposal(sent.workspace, each.written.waiting) for each in made if each.written and each.written.waiting]
    refuse_partly([f"{each.profile}: {each.error}" for each in made if each.error], len(waiting), "proposed")
    return Did(with_query(sent.back, page=None), [(each.entity, each.revision) for each in waiting])


def _pairs(found: Sequence[Suggestion]) -> dict[str, Suggestion]:
    """The pairs by key. Of entries that say the same to the letter there may be several: those are counted."""
    pairs: dict[str, Suggestion] = {}
    for pair in found:
        said = [(each.entity, each.category, each.id) for each in pair.entries]
        pairs[next(key for number in count() if (key := _key(*said, number)) not in pairs)] = pair
    return pairs


def _learned(workspace: Root) -> dict[str, Promoted]:
    return {_key_of(each): each for each in promotable(workspace)}


def _key_of(each: Promoted) -> str:
    return _key(each.profile, each.source, each.target, each.entry.category, each.entry.id, each.replaces)


def _key(*parts: object) -> str:
    return content_digest([*parts])[-16:]


def _chosen(sent: Sent, prefix: str, now: Mapping[str, T]) -> list[tuple[T, str]]:
    """The rows of the list ``now`` for which the form says that something is to be done, and what.

    Raises ``RequestError``: 422 where it says nothing, 409 where a row is on the list no more.
    """
    if not _said(sent, prefix):
        raise nothing_ticked("nothing is chosen")
    said = {key: value for key, value in _said(sent, prefix).items() if value != _BOTH}
    if not said.keys() <= now.keys():
        hint = "Nothing was written. What is still on the list keeps your choice: look at it, and send it again."
        raise RequestError(409, "the list is another one than you saw", code="list_changed", hint=hint)
    return [(now[key], value) for key, value in said.items()]


def _said(sent: Sent, prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): value for name, value in sent.fields.items() if name.startswith(prefix)}


def _page(
    template: str, asked: PageRequest, prefix: str, rows: list[tuple[str, T, str]], more: Mapping[str, object]
) -> Page:
    if isinstance(asked, Sent):
        said = _said(asked, prefix)
        rows = [(key, row, said[key]) for key, row, _ in rows if key in said]
    some = paged(rows, asked.page, _SIZE)
    return Page(template, {"rows": some.rows, "paged": some, **more})
