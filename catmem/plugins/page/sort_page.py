"""The entries of a file without a category, as ``catmem sort`` has them: what is ticked is sorted in one revision.

``catmem.yaml`` counts as it is now, since a sort declares categories in it. Where the file changed since it was shown,
each entry that is still there keeps its tick and its choice.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from catmem.config.access import visible_categories
from catmem.names import DROP, SECRET, SPLIT, STAYS
from catmem.plugins.page.entries_page import EntryDraft, choices, seen_document
from catmem.plugins.page.formats import paged, with_query
from catmem.plugins.page.page_view import Page, of_entity
from catmem.plugins.page.writing import Did, bad_form, nothing_ticked
from catmem.plugins.sorting.proposals import ACTIONS, SEVERAL
from catmem.plugins.sorting.sort_files import apply_sort, plan_of
from catmem.plugins.sorting.sort_list import ListRow, ReadList
from catmem.workspace.profile_memory import seen_file
from catmem.workspace.root import configured_now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.model.document import Document
    from catmem.plugins.page.page_view import PageRequest
    from catmem.plugins.page.refusal import FormRefusal
    from catmem.plugins.page.writing import Sent
    from catmem.plugins.sorting.proposals import SortLine
    from catmem.plugins.sorting.sort_files import SortPlan
    from catmem.workspace.profile_memory import Reading

_SIZE = 50
_GUESSES = 3
"""What a row has buttons for, beside the one that leads to all others."""


def unsorted(asked: PageRequest) -> Page:
    """The entries without a category, each with what is proposed for it."""
    plan, file = _now(asked)
    some = paged(plan.lines, asked.page, _SIZE)
    return _page(asked, plan, file, [_row(plan, line) for line in some.rows], paged=some)


def sort(sent: Sent) -> Did:
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
    return Did(with_query(sent.back, page=None), [(sent.named, made.done.revision)])


def again(sent: Sent, refusal: FormRefusal) -> Page:
    """Those entries of the form that are still there, with what was chosen for them."""
    (plan, file), given = _now(sent), defaultdict(list)
    for name, entry_id in sent.fields.items():
        if name.startswith("id-"):
            given[entry_id].append(_given(sent, name.removeprefix("id-")))
    rows = [_row(plan, line, given[line.entry.id].pop(0)) for line in plan.lines if given[line.entry.id]]
    return _page(sent, plan, file, rows, refusal=refusal, base=refusal.expected)


def _given(sent: Sent, number: object) -> tuple[str, str, bool]:
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
