"""Sort, tidy and promote: of a list of proposals, what is ticked is done, in one revision a file.

``catmem.yaml`` counts as it is now, since a sort declares categories in it. Where the file changed since it was shown,
each entry that is still there keeps its tick and its choice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count
from threading import Lock
from typing import Any, TypeVar

from catmem.config.access import visible_categories
from catmem.digest import content_digest
from catmem.errors import CatmemError, RequestError
from catmem.model.document import Document
from catmem.names import DROP, SECRET, SPLIT, STAYS
from catmem.plugins.page.entries_page import EntryDraft, choices, seen_document
from catmem.plugins.page.formats import paged, with_query
from catmem.plugins.page.page_view import Page, PageRequest, of_entity
from catmem.plugins.page.writing import FormRefusal, Redirect, SentForm, bad_form, nothing_ticked, refuse_partly
from catmem.plugins.sorting.proposals import ACTIONS, SEVERAL, SortLine, list_tidy
from catmem.plugins.sorting.sort_files import SortPlan, apply_sort, plan_of
from catmem.plugins.sorting.sort_list import ListRow, ReadList
from catmem.plugins.sorting.suggestions import Suggestion
from catmem.proposals.promoting import Promoted, promote_learned
from catmem.proposals.proposal import proposal
from catmem.workspace.profile_memory import Reading, seen_file
from catmem.workspace.root import Root, configured_now
from catmem.writing.request import Operation
from catmem.writing.write import write_operations

_SIZE = 50
_GUESSES = 3
"""What a row has buttons for, beside the one that leads to all others."""


def unsorted(asked: PageRequest) -> Page:
    """The entries without a category, each with what is proposed for it."""
    plan, file = _now(asked)
    some = paged(plan.lines, asked.page, _SIZE)
    return _page(asked, plan, file, [_row(plan, line) for line in some.rows], paged=some)


def sort(sent: SentForm) -> Redirect:
    """Write what is ticked, as one revision. Raises ``RequestError`` 422 where nothing is, and as ``apply_sort``."""
    plan, rows = _plan(sent, seen_document(sent)), []
    for number in (line.number for line in plan.lines):
        choice, new, takes = _given(sent, number)
        rows.append(ListRow(f"entry {number}", number, (f"+{new}" if new else choice) if takes else STAYS, {}, None))
    ticked = {name for name in sent.fields if name.startswith("take-")}
    if not ticked:
        raise nothing_ticked()
    if not ticked <= {f"take-{line.number}" for line in plan.lines}:
        raise bad_form("the form ticks an entry that the file did not have")
    made = apply_sort(plan, plan.chosen(ReadList(rows)), expected=sent.seen)
    return Redirect(with_query(sent.back, page=None), [(sent.named, made.revision)])


def again(sent: SentForm, refusal: FormRefusal) -> Page:
    """Those entries of the form that are still there, with what was chosen for them."""
    (plan, file), given = _now(sent), defaultdict(list)
    for name, entry_id in sent.fields.items():
        if name.startswith("id-"):
            given[entry_id].append(_given(sent, name.removeprefix("id-")))
    rows = [_row(plan, line, given[line.entry.id].pop(0)) for line in plan.lines if given[line.entry.id]]
    return _page(sent, plan, file, rows, refusal=refusal, base=refusal.expected)


def _given(sent: SentForm, number: object) -> tuple[str, str, bool]:
    """What was sent of an entry: what is chosen, the name of a new category, and whether it is ticked."""
    chosen = sent.get(f"to-{number}")
    new = "" if chosen else sent.get(f"new-{number}").strip().removeprefix("+")
    return chosen or sent.get(f"other-{number}", STAYS), new, f"take-{number}" in sent.fields


def _now(asked: PageRequest) -> tuple[SortPlan, Reading]:
    """What is proposed for the file as it is now."""
    file = seen_file(asked.workspace, *asked.named.split("/"))
    return _plan(asked, file.document), file


def _plan(asked: PageRequest, document: Document) -> SortPlan:
    workspace, (name, target) = configured_now(asked.workspace), asked.named.split("/")
    path = workspace.path_of(workspace.profile(name), target)
    return plan_of(workspace, path, asked.named, workspace.parse(document.text))


def _row(plan: SortPlan, line: SortLine, given: tuple[str, str, bool] | None = None) -> dict[str, Any]:
    """An entry, what was ``given`` for it or is proposed, what has a button, and what can be chosen in its place."""
    actions = {STAYS: "No category", DROP: "Remove it", SECRET: "Remove it: a secret"}
    parts = plan.proposer.parted(line) if SEVERAL in line.marks else ()
    if parts:
        actions[SPLIT] = f"Cut it into {len(parts)} parts"
    if given is None or given[0] not in {*plan.titles, *actions}:
        given = line.choice, "", line.sure and line.choice not in ACTIONS
    says = {**plan.titles, **actions}
    guesses = [each for each in dict.fromkeys((line.choice, *line.likely)) if each != STAYS][:_GUESSES]
    buttons = {each: says[each] for each in [*guesses, *([SPLIT] if parts else [])]}
    return {"line": line, "given": given, "buttons": buttons, "actions": actions, "parts": parts}


def _page(asked: PageRequest, plan: SortPlan, file: Reading, rows: Sequence[dict[str, Any]], **more: object) -> Page:
    name, _, target = file.entity.partition("/")
    context = {
        **of_entity(file.entity),
        "file": file,
        "watched": [(file.entity, file.digest)],
        "rows": rows,
        "left": len(plan.lines),
        "titles": plan.titles,
        "seen": visible_categories(
            [*plan.titles], target, plan.workspace.profile(name), plan.workspace.config.taxonomy
        ),
        "may_be_new": choices(asked.workspace, file.entity, file.document, EntryDraft()).may_be_new,
        "base": None if file.warning else file.revision or file.digest,
    }
    return Page("sort.html", {**context, "refusal": None, "paged": None, **more})


# --- tidy and promote: a person chooses, and one button does it ------------------------------------------------------


T = TypeVar("T")

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
    return _ticked_page("tidy.html", asked, PAIR, rows, {**more, "refusal": refusal})


def settle(sent: SentForm) -> Redirect:
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
    return Redirect(with_query(sent.back, page=None), written)


def promote(asked: PageRequest, refusal: FormRefusal | None = None) -> Page:
    """What specialists have and their sources have not; of a form that was refused what was ticked."""
    rows = [(key, each, "") for key, each in _learned(asked.workspace).items()]
    sides = {name for _, each, _ in rows for name in (each.profile, each.source)}
    outside = [entity for entity in asked.overviews.read().outside if entity.partition("/")[0] in sides]
    return _ticked_page("promote.html", asked, TAKE, rows, {"outside": outside, "refusal": refusal})


def propose(sent: SentForm) -> Redirect:
    """Propose what is ticked to the sources."""
    ticked = {_key_of(each) for each, _ in _chosen(sent, TAKE, _learned(sent.workspace))}
    made = promote_learned(sent.workspace, chosen=lambda each: _key_of(each) in ticked)
    waiting = [proposal(sent.workspace, each.written.waiting) for each in made if each.written and each.written.waiting]
    refuse_partly([f"{each.profile}: {each.error}" for each in made if each.error], len(waiting), "proposed")
    return Redirect(with_query(sent.back, page=None), [(each.entity, each.revision) for each in waiting])


def _pairs(found: Sequence[Suggestion]) -> dict[str, Suggestion]:
    """The pairs by key. Of entries that say the same to the letter there may be several: those are counted."""
    pairs: dict[str, Suggestion] = {}
    for pair in found:
        said = [(each.entity, each.category, each.id) for each in pair.entries]
        pairs[next(key for number in count() if (key := _key(*said, number)) not in pairs)] = pair
    return pairs


def _learned(workspace: Root) -> dict[str, Promoted]:
    has_source = any(each.seed_from for each in workspace.profiles().values())
    return {_key_of(each): each for each in (promote_learned(workspace, dry_run=True) if has_source else ())}


def _key_of(each: Promoted) -> str:
    return _key(each.profile, each.source, each.target, each.entry.category, each.entry.id, each.replaces)


def _key(*parts: object) -> str:
    return content_digest([*parts])[-16:]


def _chosen(sent: SentForm, prefix: str, now: Mapping[str, T]) -> list[tuple[T, str]]:
    """The rows of the list ``now`` for which the form says that something is to be done, and what."""
    if not _said(sent, prefix):
        raise nothing_ticked("nothing is chosen")
    said = {key: value for key, value in _said(sent, prefix).items() if value != _BOTH}
    if not said.keys() <= now.keys():
        hint = "Nothing was written. What is still on the list keeps your choice: look at it, and send it again."
        raise RequestError("the list is another one than you saw", code="list_changed", hint=hint)
    return [(now[key], value) for key, value in said.items()]


def _said(sent: SentForm, prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): value for name, value in sent.fields.items() if name.startswith(prefix)}


def _ticked_page(
    template: str, asked: PageRequest, prefix: str, rows: list[tuple[str, T, str]], more: Mapping[str, object]
) -> Page:
    if isinstance(asked, SentForm):
        said = _said(asked, prefix)
        rows = [(key, row, said[key]) for key, row, _ in rows if key in said]
    some = paged(rows, asked.page, _SIZE)
    return Page(template, {"rows": some.rows, "paged": some, **more})
