"""Sort, tidy and promote: of a list of proposals, what is ticked is done, in one revision a file.

``catmem.yaml`` counts as it is now, since a sort declares categories in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import count
from threading import Lock
from typing import Any, TypeVar

from catmem.config.access import visible_categories
from catmem.digest import content_digest
from catmem.errors import CatmemError
from catmem.model.document import Document
from catmem.names import DROP, SECRET, SPLIT, STAYS, parts_of
from catmem.plugins.page.entries_page import EntryDraft, choices, seen_document
from catmem.plugins.page.page_view import Page, PageRequest, of_entity
from catmem.plugins.page.rendering import paged, with_query
from catmem.plugins.page.writing import Redirect, SentForm, bad_form, nothing_ticked, refuse_partly
from catmem.plugins.sorting.sort_files import SortPlan, apply_sort, plan_of
from catmem.plugins.sorting.sort_lines import ACTIONS, LABELLED, SEVERAL, SortLine
from catmem.plugins.sorting.sort_list import ListRow, ReadList
from catmem.plugins.sorting.tidying import Suggestion, list_tidy
from catmem.proposals.promoting import Promoted, promote_learned
from catmem.proposals.proposal import proposal
from catmem.text import counted, plural
from catmem.workspace.profile_memory import seen_file
from catmem.workspace.root import Root, configured_now
from catmem.writing.request import Operation
from catmem.writing.write import write_operations

_SIZE = 50
_GUESSES = 3
"""What a row has buttons for, beside the one that leads to all others."""


def unsorted(asked: PageRequest) -> Page:
    """The entries without a category, each with what is proposed for it."""
    name, target = parts_of(asked.named)
    file = seen_file(asked.workspace, name, target)
    plan = _plan(asked, file.document)
    some = paged(plan.lines, asked.page, _SIZE)
    profile, taxonomy = plan.workspace.profile(name), plan.workspace.config.taxonomy
    return Page(
        "sort.html",
        {
            **of_entity(file.entity),
            "file": file,
            "watched": [(file.entity, file.digest)],
            "rows": [_row(plan, line) for line in some.rows],
            "left": len(plan.lines),
            "titles": plan.titles,
            "seen": visible_categories([*plan.titles], target, profile, taxonomy),
            "may_be_new": choices(asked.workspace, file.entity, file.document, EntryDraft()).may_be_new,
            "base": None if file.warning else file.revision or file.digest,
            "paged": some,
        },
    )


def sort(sent: SentForm) -> Redirect:
    """Write what is ticked, as one revision. Raises ``RequestError`` 422 where nothing is, and as ``apply_sort``."""
    if not any(name.startswith("take-") for name in sent.fields):
        raise nothing_ticked()
    plan = _plan(sent, seen_document(sent))
    given, rows = defaultdict(list), []
    for name, entry_id in sent.fields.items():
        if name.startswith("id-"):
            given[entry_id].append(name.removeprefix("id-"))
    for line in plan.lines:  # by its id: on what is there now, an entry may have another number
        numbers = given[line.entry.id]
        choice = _given(sent, numbers.pop(0)) if numbers else STAYS
        rows.append(ListRow(f"entry {line.number}", line.number, choice, None))
    made = apply_sort(plan, plan.chosen(ReadList(rows)), expected=sent.seen)
    return Redirect(with_query(sent.back, page=None), [(sent.named, made.revision)])


def _given(sent: SentForm, number: str) -> str:
    """What was sent of an entry: where it goes, if it is ticked."""
    if f"take-{number}" not in sent.fields:
        return STAYS
    chosen = sent.get(f"to-{number}")
    new = "" if chosen else sent.get(f"new-{number}").strip().removeprefix("+")
    return f"+{new}" if new else chosen or sent.get(f"other-{number}", STAYS)


def _plan(asked: PageRequest, document: Document) -> SortPlan:
    workspace, (name, target) = configured_now(asked.workspace), parts_of(asked.named)
    path = workspace.path_of(workspace.profile(name), target)
    return plan_of(workspace, path, asked.named, workspace.parse(document.text))


def _row(plan: SortPlan, line: SortLine) -> dict[str, Any]:
    """An entry, what is proposed for it, what has a button, and what can be chosen in its place."""
    actions = {STAYS: "No category", DROP: "Remove it", SECRET: "Remove it: a secret"}
    parts = plan.proposer.parted(line) if SEVERAL in line.marks else ()
    if parts:
        actions[SPLIT] = f"Cut it into {len(parts)} parts"
    says = {**plan.titles, **actions}
    guesses = [each for each in dict.fromkeys((line.choice, *line.likely)) if each != STAYS][:_GUESSES]
    buttons = {each: says[each] for each in [*guesses, *([SPLIT] if parts else [])]}
    ticked = line.sure and line.choice not in ACTIONS and LABELLED not in line.marks
    return {"line": line, "ticked": ticked, "buttons": buttons, "actions": actions, "parts": parts}


# --- tidy and promote: a person chooses, and one button does it ------------------------------------------------------


T = TypeVar("T")

PAIR, TAKE = "pair-", "take-"
"""How the fields of the two forms begin; behind it stands the key of a row."""
_KEPT, _BOTH = ("one", "other"), "both"
"""What can be chosen for a pair."""
_ONE_AT_A_TIME = Lock()
"""Two forms may keep what the other removes, in two files too: the second one sees the list after the first."""


def tidy(asked: PageRequest) -> Page:
    """The pairs, those that say the same first."""
    found = list_tidy(asked.workspace)
    some = paged([*_pairs(found.suggestions).items()], asked.page, _SIZE)
    rows = [(key, pair, _KEPT[0] if pair.operations else _BOTH) for key, pair in some.rows]
    more = {"private": found.private, "problems": found.problems, "kept": _KEPT, "both": _BOTH}
    return Page("tidy.html", {"rows": rows, "paged": some, **more})


def settle(sent: SentForm) -> Redirect:
    """Remove the other entry of each pair of which one is kept: one revision for each file."""
    gone: defaultdict[str, dict[int, Operation]] = defaultdict(dict)
    written: list[tuple[str, str | None]] = []
    with _ONE_AT_A_TIME:
        found = list_tidy(sent.workspace)
        chosen, failed = _chosen(sent, PAIR, _pairs(found.suggestions))
        for pair, keeps in chosen:
            entry = pair.entries[keeps == _KEPT[0]]
            if keeps not in _KEPT or entry.copied:
                raise bad_form(f"the form says {keeps} of a pair")
            gone[entry.entity][entry.line] = Operation("remove", old_text=entry.id, category=entry.category)
        for entity, each in gone.items():
            (name, target), seen = parts_of(entity), found.digests[entity]
            try:
                done = write_operations(sent.workspace, name, [*each.values()], target=target, expected=seen)
                written.append((entity, done.revision))
            except CatmemError as error:
                failed.append(f"{entity}: {error.message}")
    refuse_partly(failed, len(written), "tidied")
    return Redirect(with_query(sent.back, page=None), written)


def promote(asked: PageRequest) -> Page:
    """What specialists have and their sources have not."""
    learned = _learned(asked.workspace)
    sides = {name for each in learned.values() for name in (each.profile, each.source)}
    outside = [entity for entity in asked.overviews.read().outside if parts_of(entity).owner in sides]
    some = paged([*learned.items()], asked.page, _SIZE)
    return Page("promote.html", {"rows": some.rows, "paged": some, "outside": outside})


def propose(sent: SentForm) -> Redirect:
    """Propose what is ticked to the sources."""
    chosen, failed = _chosen(sent, TAKE, _learned(sent.workspace))
    ticked = {_key_of(each) for each, _ in chosen}
    made, unreadable = promote_learned(sent.workspace, chosen=lambda each: _key_of(each) in ticked)
    waiting = [proposal(sent.workspace, each.written.waiting) for each in made if each.written and each.written.waiting]
    failed += [*(f"{each.profile}: {each.error}" for each in made if each.error), *map(str, unreadable)]
    refuse_partly(failed, len(waiting), "proposed")
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
    learned, unreadable = promote_learned(workspace, dry_run=True) if has_source else ([], [])
    if unreadable:
        raise unreadable[0]
    return {_key_of(each): each for each in learned}


def _key_of(each: Promoted) -> str:
    return _key(
        each.profile, each.source, each.target, each.entry.category, each.entry.id, each.replaced and each.replaced.body
    )


def _key(*parts: object) -> str:
    return content_digest([*parts])[-16:]


def _chosen(sent: SentForm, prefix: str, now: Mapping[str, T]) -> tuple[list[tuple[T, str]], list[str]]:
    """The rows of the list ``now`` for which the form says that something is to be done, and what.

    Behind them stands what to say of those that are on the list no more.
    """
    said = {name.removeprefix(prefix): value for name, value in sent.fields.items() if name.startswith(prefix)}
    if not said:
        raise nothing_ticked("nothing is chosen")
    wanted = {key: value for key, value in said.items() if value != _BOTH}
    gone = len(wanted.keys() - now.keys())
    failed = [f"{counted(gone, 'row')} of the list that you saw {plural(gone, 'is', 'are')} not on it any more"]
    return [(now[key], value) for key, value in wanted.items() if key in now], failed if gone else []
