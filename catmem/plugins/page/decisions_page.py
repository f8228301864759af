"""What a person decides: proposals, facts that are due, entries to sort, doubles to tidy, facts to promote.

Each decision is a record of its own. What cannot be decided so is named, and the rest is done.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import count, groupby
from threading import Lock
from typing import Any, TypeVar

from catmem.config.access import visible_categories
from catmem.digest import bytes_digest, content_digest
from catmem.errors import CatmemError
from catmem.model.document import Document
from catmem.names import DROP, SECRET, SPLIT, STAYS, category_name, parts_of
from catmem.plugins.page.entries_page import EntryDraft, choices, in_field, seen_document
from catmem.plugins.page.page_view import (
    TICK,
    Page,
    PageRequest,
    Redirect,
    SentForm,
    bad_form,
    nothing_ticked,
    of_entity,
    refuse_partly,
)
from catmem.plugins.page.rendering import Paged, paged, reference, with_query
from catmem.plugins.sorting.operations import SortPlan, apply_sort, plan_of
from catmem.plugins.sorting.sort_lines import ACTIONS, LABELLED, SEVERAL, ListRow, ReadList, SortLine
from catmem.plugins.sorting.tidying import Suggestion, list_tidy
from catmem.proposals.deciding import Decided
from catmem.proposals.promoting import Promoted, promote_learned
from catmem.proposals.proposal import Proposal, proposal, proposals
from catmem.staleness.review import Due, DueState, Review
from catmem.text import counted, plural
from catmem.workspace.profile_memory import seen_file
from catmem.workspace.root import Root, agent_names, configured_now
from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation
from catmem.writing.write import write_operations

_QUEUE = "/proposals"
_PROPOSALS = 25
_MOST_TEXT, _MOST_CHANGES = 4_000, 10
"""Characters and changes of a proposal that the list shows whole."""


def all_proposals(asked: PageRequest) -> Page:
    """What waits in all files, the oldest first; the query may name a ``profile`` and a ``category``."""
    found, unreadable = proposals(asked.workspace)
    categories = {name: category_name(name) for each in found for name in sorted(each.categories)}
    profiles = {_owner(each): _owner(each) for each in found}
    name, slug = asked.if_there("profile", profiles), asked.if_there("category", categories)
    chosen = [each for each in found if name in {None, _owner(each)} and slug in {None, *each.categories}]
    narrowed = {"profiles": profiles, "profile": name, "categories": categories, "category": slug}
    # Nothing is decided on in the list that it does not show to the letter.
    long = {each.id for each in chosen if _size(each) > _MOST_TEXT or len(each.changes) > _MOST_CHANGES}
    context = {**narrowed, "alone": None, "words": None, "total": len(found), "problems": unreadable, "long": long}
    return _page(asked.workspace, paged(chosen, asked.page, _PROPOSALS), context)


def _size(found: Proposal) -> int:
    return sum(len(side.text) for change in found.changes for side in change if side is not None)


def one_proposal(asked: PageRequest) -> Page:
    """A proposal, also one that was decided. Raises ``UnknownNameError``."""
    found = proposal(asked.workspace, asked.path["id"])
    context = {"alone": found, "words": _words(found), "total": 0, "problems": (), "long": ()}
    return _page(asked.workspace, paged([found], 1, 1), context)


def _page(workspace: Workspace, some: Paged, context: Mapping[str, Any]) -> Page:
    digests = {each.entity: bytes_digest(workspace.store.peek(each.entity)) for each in some.rows}
    return Page("proposals.html", {**context, "paged": some, "watched": list(digests.items())})


def _owner(found: Proposal) -> str:
    return parts_of(found.entity).owner


def _words(found: Proposal) -> str | None:
    """The words of the one entry that a proposal makes, as a field gives them back; ``None`` where it is not one."""
    made = [change.after.body for change in found.changes if change.after is not None]
    return in_field(made[0]) if len(made) == 1 else None


# --- forms -----------------------------------------------------------------------------------------------------------


def approve(sent: SentForm) -> Redirect:
    """Write what is ticked; of one alone in the words of the person, if these are other ones."""
    return _each(sent, "approved")


def reject(sent: SentForm) -> Redirect:
    """Close what is ticked, for the reason that the person gave."""
    return _each(sent, "rejected")


def _each(sent: SentForm, verdict: str) -> Redirect:
    names, failed, done = _ticked(sent), [], []
    if not names:
        raise nothing_ticked("no proposal is ticked")
    for name in names:
        try:
            done.append(_decided(sent, verdict, name))
        except CatmemError as error:
            if len(names) == 1:
                raise
            failed.append(error.message if name in error.message else f"{name}: {error.message}")
    refuse_partly(failed, len(done), verdict)
    # The newest first: of the revisions of one file, that is the one that can be taken back.
    written = [(each.proposal.entity, each.revision) for each in reversed(done)]
    return Redirect(_QUEUE if sent.back.startswith(f"{_QUEUE}/") else sent.back, written)


def _decided(sent: SentForm, verdict: str, name: str) -> Decided:
    if verdict == "rejected":
        return sent.workspace.reject(name, reason=sent.get("reason").strip() or None)
    words = sent.fields.get("content")
    is_own = words is not None and words != _words(proposal(sent.workspace, name))
    return sent.workspace.approve(name, words=words if is_own else None)


def _ticked(sent: SentForm) -> list[str]:
    return [field.removeprefix(TICK) for field in sent.fields if field.startswith(TICK)]


# --- the facts that a person should look at: unverified, stale, expired, dated in the future -------------------------


DUE: dict[DueState, str] = {
    "unverified": "Unverified",
    "expired": "Expired",
    "stale": "Stale",
    "future": "Dated in the future",
}
_FACTS = 40


def queue(asked: PageRequest) -> Page:
    """What is due, in the order of a review; the query may name a ``profile``, a ``state`` and an ``entry``."""
    profiles = agent_names(asked.workspace)
    name, state = asked.choice("profile", profiles), asked.choice("state", DUE)
    review = Review(asked.workspace, profiles=[name] if name else ())
    due = review.due()
    elsewhere = review.elsewhere() if name else []
    counts = Counter(each.state for each in [*due, *elsewhere])
    chosen = [each for each in [*due, *elsewhere] if state in {None, each.state}]
    some = paged(chosen, asked.page_of((each.entry for each in chosen), _FACTS), _FACTS)
    groups = list(_grouped(review, some.rows, {each.key for each in elsewhere}))
    return Page(
        "queue.html",
        {
            "profiles": {each: each for each in profiles},
            "named": asked.query.get("entry"),
            "profile": name,
            "states": DUE,
            "state": state,
            "counts": counts,
            "due": len(due),
            "elsewhere": len(elsewhere),
            "paged": some,
            "groups": groups,
            "copies": review.copies,
            "problems": review.unreadable,
            "as_of": review.as_of,
        },
    )


def _grouped(
    review: Review, due: Sequence[Due], elsewhere: Collection[tuple[str, str]]
) -> Iterator[tuple[str, list[dict[str, Any]], dict[str, str]]]:
    """The facts of each profile in their order, and the entities of which several can be ticked, each with its base."""

    @cache
    def base(entity: str) -> str:
        try:
            return review.base(entity)
        except CatmemError as error:  # a history that cannot be read hides no fact
            review.unreadable.append(error)
            return ""

    rows: list[dict[str, Any]] = []
    for index, each in enumerate(due):
        # After the last one the person looks at the one before it.
        beside = due[index + 1] if index + 1 < len(due) else due[index - 1] if index else None
        rows.append(
            {
                "due": each,
                "base": base(each.entity),  # empty where no answer can be written
                "next": "" if beside is None else beside.entry.id,
                "follows": list(_followed(review, each)),
                "elsewhere": each.key in elsewhere,
            }
        )
    for name, some in groupby(rows, key=lambda row: parts_of(row["due"].entity).owner):
        facts = list(some)
        answered = Counter((row["due"].entity, row["base"]) for row in facts if row["base"] and not row["elsewhere"])
        many = {entity: base for (entity, base), count in answered.items() if count > 1}
        yield name, facts, many


def _followed(review: Review, due: Due) -> Iterator[tuple[str, str | None]]:
    """The entities that a fact is a copy of, each with the address of the same fact there if it is due there."""
    for entity, is_due in review.sources_of(due).items():
        address = with_query("/page/queue", profile=parts_of(entity).owner, entry=due.entry.id)
        yield entity, f"{address}#{reference(due.entry.id)}" if is_due else None


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
    learned = _learned(asked.workspace)
    sides = {name for each in learned.values() for name in (each.profile, each.source)}
    outside = [entity for entity in asked.overviews.read().outside if parts_of(entity).owner in sides]
    some = paged([*learned.items()], asked.page, _SIZE)
    return Page("promote.html", {"rows": some.rows, "paged": some, "outside": outside})


def propose(sent: SentForm) -> Redirect:
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
    """The rows for which a form says that something is to be done, and what; and what to say of those that are gone."""
    said = {name.removeprefix(prefix): value for name, value in sent.fields.items() if name.startswith(prefix)}
    if not said:
        raise nothing_ticked("nothing is chosen")
    wanted = {key: value for key, value in said.items() if value != _BOTH}
    gone = len(wanted.keys() - now.keys())
    failed = [f"{counted(gone, 'row')} of the list that you saw {plural(gone, 'is', 'are')} not on it any more"]
    return [(now[key], value) for key, value in wanted.items() if key in now], failed if gone else []
