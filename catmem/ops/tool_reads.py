"""What a model is shown of its memory: lists, searches, proposals; bounded, and in words that it can act on."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from catmem import clock
from catmem.config.access import View, visible
from catmem.config.json_schema import nearest
from catmem.config.profile import limit_of
from catmem.jsonable import jsonable
from catmem.model.document import Entry
from catmem.names import TARGETS, Target, slugify
from catmem.ops.shared import EITHER
from catmem.ops.table import Call, Outcome, P, Tool, operation
from catmem.staleness.freshness import advice, freshness
from catmem.text import size_of
from catmem.workspace.profile_memory import emptied_text
from catmem.workspace.seen_entry import SeenEntry, entry_dict
from catmem.writing.drift_guard import shown_rows
from catmem.writing.written import FileUsage

MOST_ENTRIES = 50
MOST_CHARACTERS = 8_000
"""Of all entries of one answer, as JSON."""
_LONGEST_BODY = 2_000
_LONGEST_WHOLE = 60_000
"""Characters of the entry at the offset that a list is asked for, so that an agent can read a long one."""
_LONGEST_IN_LIST, _MOST_CHANGES = 300, 20
"""Characters of each text of a proposal where several are listed, and changes of one that are shown."""
_NAMED = 50
"""Categories that a message names at most."""
_NOTHING = "Nothing was found. Try other words, or list what is there."
_json = json.JSONEncoder(ensure_ascii=False).encode

_Narrow = Annotated[str | None, P("Only this one.")]
_Offset = Annotated[int | None, P("Entries to skip.")]


@operation("memory list", tool=Tool("List memory", "List what is on file, in the prompt or not."))
def listed(
    call: Call,
    *,
    target: Annotated[Target | None, P(EITHER)] = None,
    category: _Narrow = None,
    offset: _Offset = None,
    proposal: Annotated[str | None, P("Yours that wait: all, or an id.", where_writes_wait=True)] = None,
) -> Outcome:
    """List what is on file, perhaps of one category; of all, also how many entries each category has."""
    if proposal is not None:
        return Outcome(proposed(call, proposal=proposal))
    skipped = offset or 0
    seen, views = sight(call, target, category, skipped, whole=offset is not None)
    message = _counted(len(seen["entries"]), seen["total"], skipped)
    if category is not None and not seen["total"]:
        message += _categories(category, views)
    if category is None:
        counts = Counter(entry.category for view in views for entry in view.entries)
        seen["categories"] = {name: counts[name] for view in views for name in view.categories[:_NAMED]}
    return Outcome({"success": True, "action": "list", **seen, "message": message}, shows=shown_rows)


@operation("memory search", tool=Tool("Search memory", "Find entries, the best and newest first."))
def searched(
    call: Call,
    *,
    query: Annotated[str, P('Any of these words; a "quoted phrase" must be there.')],
    target: Annotated[Target | None, P(EITHER)] = None,
    category: _Narrow = None,
    state: Annotated[Literal["fresh", "stale", "expired", "unverified"] | None, P("Only this state.")] = None,
    offset: _Offset = None,
) -> Outcome:
    """Find entries, without what a prompt would withhold."""
    from catmem.search.search import search

    skipped = offset or 0
    found, total, _ = search(
        call.root,
        str(call.actor),
        query,
        target=target,
        category=category,
        state=None if state is None else {state},
        offset=skipped,
        limit=MOST_ENTRIES,
        to_agent=True,
    )
    shown, cut = shown_found(found, total, skipped)
    message = _counted(len(shown), total, skipped) if total else _NOTHING
    views = [call.root.view(str(call.actor), each) for each in (TARGETS if target is None else (target,))]
    if category is not None and not total:
        message += _categories(category, views)
    lost = [emptied_text(call.root, call.profile, f"{call.actor}/{each.target}", each.document) for each in views]
    warnings = [*filter(None, lost)]
    answer = {
        "success": True, "action": "search", "entries": shown, "total": total, **cut,
        **advice(each["state"] for each in shown), **({"warnings": warnings} if warnings else {}), "message": message,
    }  # fmt: skip
    return Outcome(answer, shows=shown_rows)


_ProposalNamed = Annotated[str, P("The id of one (p-...).")]


@operation("memory proposals")
def proposed(call: Call, *, proposal: _ProposalNamed = "all") -> dict[str, Any]:
    """Say what became of the profile's proposals, of one or of all."""
    from catmem.proposals.proposal import disclosed, disclosed_all

    actor = str(call.actor)
    if proposal == "all":
        known, longest = disclosed_all(call.root, actor, own=True)[0], _LONGEST_IN_LIST
    else:
        known, longest = [disclosed(call.root, proposal, actor, own=True)], _LONGEST_BODY
    shown = _fitting(_cut_changes(each, longest) for each in known)
    said = f"{len(shown)} of {len(known)} shown. A person decides on {sum(not each['decision'] for each in known)}."
    return {"success": True, "action": "proposals", "proposals": shown, "message": said}


@operation("memory withdraw")
def withdrawn(
    call: Call, *, proposal: _ProposalNamed = "all", reason: Annotated[str | None, P("Why.")] = None
) -> dict[str, Any]:
    """Take one of its own proposals back."""
    from catmem.proposals.deciding import reject
    from catmem.proposals.proposal import disclosed

    name = disclosed(call.root, proposal, str(call.actor), own=True)["id"]
    done = reject(call.root, name, reason=reason, actor=call.actor)
    said = f"Proposal {name} is withdrawn. The file is as it was."
    return {"success": True, "action": "withdraw", "proposal": name, "state": done.verdict, "message": said}


# --- what is on file -------------------------------------------------------------------------------------------------


def sight(
    call: Call, target: str | None, category: str | None = None, offset: int = 0, *, whole: bool = False
) -> tuple[dict[str, Any], list[View]]:
    """What the profile sees now of its file, or of both, perhaps of one category, from the entry at ``offset`` on.

    That one is shown as a ``whole``, other long ones are cut.
    """
    root, profile = call.root, call.root.profile(str(call.actor))
    wanted = None if category is None else root.config.taxonomy.category(category)
    files: dict[str, dict[str, Any]] = {}
    views, warnings = list[View](), list[str]()
    entries: list[tuple[str, Entry]] = []
    for each in TARGETS if target is None else (target,):
        reading = root.read(profile.name, each)
        view = visible(reading.document, each, profile, root.config.taxonomy)
        usage = FileUsage(size_of(reading.document.text), limit_of(profile, each, root.config))
        files[each] = {"entity": reading.entity, "revision": reading.revision, "usage": usage_dict(usage)}
        warnings += call.rights(each).unmerged(reading.entity, reading.document.text, root.parse)
        warnings += filter(None, [emptied_text(root, profile, reading.entity, reading.document)])
        views.append(view)
        entries += [(each, entry) for entry in view.entries if wanted in {None, entry.category}]
    age = partial(freshness, profile=profile, config=root.config, as_of=clock.today())
    shown = _fitting(
        {
            "target": each,
            **_cut(entry_dict(entry, to_agent=True), _LONGEST_WHOLE if whole and not index else _LONGEST_BODY),
            **jsonable(age(entry)),
        }
        for index, (each, entry) in enumerate(entries[offset : offset + MOST_ENTRIES])
    )
    end = offset + len(shown)
    seen = {
        **({"files": files} if target is None else files[target]),
        "entries": shown,
        "total": len(entries),
        **_left_out(len(entries) - end, f"list with offset {end} shows them"),
        **advice(each["state"] for each in shown),
        **({"warnings": warnings} if warnings else {}),
    }
    return seen, views


# --- entries in an answer --------------------------------------------------------------------------------------------


def shown_entries(entries: Sequence[Entry]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Entries as JSON-ready data, as many as an answer takes."""
    shown = _fitting(_cut(entry_dict(entry, to_agent=True)) for entry in entries[:MOST_ENTRIES])
    return shown, _left_out(len(entries) - len(shown), "list shows them")


def shown_found(found: Sequence[SeenEntry], total: int, offset: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What a search found, ``total`` in all, from the one at ``offset`` on, as many as an answer takes."""
    shown = _fitting(
        {"target": each.target, **_cut(entry_dict(each.entry, to_agent=False)), **jsonable(each.freshness)}
        for each in found
    )
    return shown, _left_out(total - offset - len(shown), f"search with offset {offset + len(shown)} shows them")


def usage_dict(usage: FileUsage) -> dict[str, Any]:
    """``{"size": 1074, "limit": 1375, "text": "1,074/1,375 characters"}``."""
    return {"size": usage.size, "limit": usage.limit, "text": str(usage)}


def _fitting(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows, as many as an answer takes; one at least."""
    shown: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        size += len(_json(row))
        if shown and size > MOST_CHARACTERS:
            break
        shown.append(row)
    return shown


def _left_out(count: int, how: str) -> dict[str, Any]:
    if count <= 0:
        return {}
    return {"entries_left_out": count, "entries_note": f"{count} more are not shown here; {how}."}


def _cut(data: dict[str, Any], longest: int = _LONGEST_BODY) -> dict[str, Any]:
    """The data of an entry, with a body and tags that leave room for others."""
    if len(data["body"]) > longest:
        data |= {"body": data["body"][:longest], "cut": True}
    if len(_json(data["tags"])) > longest:
        data |= {"tags": {}, "cut": True}
    return data


def _cut_changes(known: dict[str, Any], longest: int) -> dict[str, Any]:
    """A proposal whose changes leave room for others."""
    changes = [
        {name: value[:longest] if isinstance(value, str) else value for name, value in change.items()}
        for change in known["changes"][:_MOST_CHANGES]
    ]
    return known | {"changes": changes} | ({} if changes == known["changes"] else {"cut": True})


def _counted(count: int, total: int, offset: int) -> str:
    """How many entries of how many are shown, and how to see the rest."""
    entries = "entry" if total == 1 else "entries"
    if count == total:
        return f"{total} {entries}."
    start = f" from offset {offset}" if offset else ""
    rest = f"; offset {offset + count} for the rest" if offset + count < total else ""
    return f"{count} of {total} {entries}{start}{rest}."


def _categories(named: str, views: Sequence[View]) -> str:
    """What to say of a category of which nothing is shown: in the same words whether it is there or not."""
    seen = list(dict.fromkeys(name for view in views for name in view.categories))
    if not seen:
        return ""
    near = nearest(slugify(named), seen)
    meant = f" Did you mean {near!r}?" if near else ""
    more = f" and {len(seen) - _NAMED} more" if len(seen) > _NAMED else ""
    return f"{meant} Categories with entries that you see: {', '.join(seen[:_NAMED])}{more}."
