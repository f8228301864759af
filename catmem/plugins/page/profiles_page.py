"""Profiles at a glance; a prompt, and why; a whole file; who may do what; seeds; a search; what lint finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from itertools import groupby
from typing import Any, get_args
from urllib.parse import urlsplit

from catmem import clock
from catmem.config.access import visible
from catmem.config.json_schema import shown
from catmem.config.profile import Profile, limit_of
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, QueryError, RequestError, UnknownNameError
from catmem.linting.linted import LintedFile
from catmem.linting.root_lint import Linter
from catmem.linting.rule import SEVERITIES, Diagnostic
from catmem.model.document import Entry
from catmem.names import FILE_NAMES, TARGETS, UNCATEGORIZED, parts_of
from catmem.plugins.page.entries_page import EntryDraft, choices
from catmem.plugins.page.page_view import Page, PageRequest, Redirect, SentForm, bad_form, refuse_partly
from catmem.plugins.page.rendering import DIFF_LINES, bar_of, diff_of, paged, title_of
from catmem.prompt.prompt import build_prompt
from catmem.prompt.sizes import budget_uses, limit_uses, percent_of
from catmem.search.index import Snippet
from catmem.search.search import Searched, search_everywhere
from catmem.search.search import search as search_one
from catmem.seeding.plan import SeedPlan, seed_order
from catmem.seeding.planner import file_is_due
from catmem.seeding.seed_lock import seeded_copies
from catmem.seeding.slices import Choice, FilePlan, Resolve, conflict_id
from catmem.server.requests import bad_parameter
from catmem.staleness.freshness import State, dated_ahead
from catmem.staleness.lineage import freshness_of
from catmem.text import size_of, unmerged_warnings
from catmem.workspace.overview import Overview, ProfileOverview, next_steps
from catmem.workspace.profile_memory import Reading, seen_file
from catmem.workspace.reports import Fleet, explain, files_of, read_access
from catmem.workspace.root import agent_names, collect_errors, load_each
from catmem.workspace.seen_entry import SeenEntry
from catmem.workspace.workspace import Workspace

_TEXT = 60_000
"""Characters of a prompt that the page shows; the whole is a link away."""


SCREENS = {
    "emptied": "/page/lint?rule=CM401",
    "marked": "/page/lint?rule=CM113",
    "tags": "/page/lint?rule=CM303",
    "withheld": "/page/lint",
    "full": "/page/lint?rule=CM501",
    "mistyped": "/page/lint",
    "selectors": "/page/lint?rule=CM409",
    "headings": "/page/lint?rule=CM104",
    "unread": "/page/access#orphans",
    "hidden": "/page/access",
    "refused": "/page/seeds",
    "seed_conflicts": "/page/seeds",
    "seeds": "/page/seeds",
    "other_seeds": "/page/seeds",
    "branch_conflicts": "/page/branches",
    "branches": "/page/branches",
    "proposals": "/proposals",
    "learned": "/page/promote",
    "due": "/page/queue",
}
"""Where what is next is done, by its kind."""


def overview(asked: PageRequest) -> Page:
    """What is next, as ``catmem status`` has it, and each profile with what it holds and what is due."""
    steps = next_steps(asked.workspace, overviews=asked.overviews)
    seen = steps.overview
    unsorted, outside = (next(iter(each), "") for each in (seen.unsorted, seen.outside))
    screens = SCREENS | {"unsorted": f"/page/sort/{unsorted}", "outside": f"/page/history/{outside}/now"}
    screens["lost"] = next((f"/page/history/{entity}" for entity, whole in seen.outside.items() if whole), "")
    screens["cut"] = next(
        (f"/page/profiles/{line.name}" for line in seen.lines if line.sizes and line.sizes.left_out.get("over_budget")),
        "",
    )
    entries = sum(line.sizes.entries for line in seen.lines if line.sizes)
    more = {"entries": entries, "specialists": specialists(seen), "saved_by": partial(saved_by, seen)}
    return Page("overview.html", {"overview": seen, "steps": steps, "screens": screens, **more})


def specialists(overview: Overview) -> list[ProfileOverview]:
    """The profiles that hold a slice of another's memory, and can be measured; all that can, if none does."""
    measured = [line for line in overview.lines if line.sizes]
    return [line for line in measured if line.slice_of] or measured


def saved_by(overview: Overview, lines: Sequence[ProfileOverview]) -> tuple[int, int, float]:
    """The characters of these prompts, those of the flat files in their place, and the percent saved."""
    flats = {line.name: line.sizes.flat.characters for line in overview.lines if line.sizes}
    prompts = sum(line.sizes.prompt.characters for line in lines if line.sizes)
    flat = sum(max(flats.get(line.name, 0), flats.get(line.slice_of or "", 0)) for line in lines)
    share = percent_of(prompts, flat)
    return prompts, flat, 0.0 if share is None else round(100 - share, 1)


def profile_prompt(asked: PageRequest) -> Page:
    """The prompt of a profile. A file that cannot be read is an error: a prompt without it would be another one."""
    workspace = asked.workspace
    profile = workspace.profile(asked.path["name"])
    documents, problems = files_of(workspace, profile).documents(workspace)
    if problems:
        raise problems[0]
    prompt = build_prompt(documents, profile, as_of=clock.today(), config=workspace.config)
    manifest = prompt.manifest
    budgets = sorted(budget_uses(prompt), key=lambda use: (*TARGETS, "total").index(use.name))
    bars = [bar_of(f"Prompt, {use.name}", use.used, use.of) for use in budgets]
    limits = limit_uses(documents, profile, workspace.config)
    bars += [bar_of(FILE_NAMES[use.name], use.used, use.of) for use in limits]
    out = [row for row in manifest.rows if row.status != "in"]
    return Page(
        "profile.html",
        {
            "profile": profile,
            "watched": [(f"{profile.name}/{target}", documents[target].digest) for target in TARGETS],
            "text": prompt.text[:_TEXT],
            "size": len(prompt.text),
            "more": max(0, len(prompt.text) - _TEXT),
            "manifest": manifest,
            "states": Counter("blocked" if row.status == "blocked" else row.state for row in manifest.rows),
            "inside": len(manifest.rows) - len(out),
            "out": out,
            "hidden": sum(manifest.hidden.values()),
            "bars": bars,
            "missing": [path.name for path in workspace.missing_files(profile.name)],
            "notices": workspace.warnings(profile.name),
            "line": next((each for each in asked.overviews.read().lines if each.name == profile.name), None),
        },
    )


# --- access ----------------------------------------------------------------------------------------------------------

_MOST_COLUMNS = 24
"""Profiles that stand side by side; of more, each category lists the names."""


def access(asked: PageRequest) -> Page:
    """The matrix of categories and profiles; the query may name a ``target``."""
    found = read_access(asked.workspace)
    target = asked.choice("target", FILE_NAMES)
    names = [profile.name for profile in found.profiles]
    return Page(
        "access.html",
        {
            "fleet": found,
            "names": names,
            "wide": len(names) > _MOST_COLUMNS,
            "rows": [_row(found, category, names, target) for category in found.categories],
            "target": target,
            "targets": FILE_NAMES,
            "orphans": found.orphans(),
            "problems": found.problems,
        },
    )


def _row(fleet: Fleet, category: str, names: list[str], target: str | None) -> dict[str, Any]:
    """A category, what each profile may do in it, and the names by right, rarer ones first."""
    marks = tuple((name, fleet.cells[category][name].mark(target)) for name in names)
    named = ((mark, [name for name, each in marks if each == mark]) for mark in ("rw", "rw?", "d", "r", "r?"))
    declared = fleet.is_declared(category) or category.startswith("_")
    return {
        "category": category,
        "declared": declared,
        "entries": fleet.count(category, target),
        "marks": marks,
        "named": tuple(each for each in named if each[1]),
    }


def explained(asked: PageRequest) -> Page:
    """Why one profile may, or may not, read and write one category."""
    why = explain(asked.workspace, asked.path["name"], asked.path["category"])
    return Page("why.html", {"why": why})


# --- a whole file, as a person sees it: every entry with its state, by category --------------------------------------


_SIZE = 50


@dataclass(frozen=True, slots=True)
class Shown(SeenEntry):
    """An entry with its tags that hold a date in the future, and the entities that it is a copy of."""

    in_sight: bool
    ahead: tuple[tuple[str, date], ...]
    follows: tuple[str, ...] = ()


def whole_file(asked: PageRequest) -> Page:
    """The entries of a file in file order; the query may name a ``category``."""
    workspace, entity = asked.workspace, asked.named
    owner, target = parts_of(entity)
    profile = workspace.profile(owner)
    file = seen_file(workspace, owner, target)
    document = file.document
    categories = list(dict.fromkeys(entry.category for entry in document.entries))
    wanted = asked.if_there("category", categories)
    entries = [entry for entry in document.entries if wanted in {None, entry.category}]
    some = paged(entries, asked.page_of(entries, _SIZE), _SIZE)
    follows: Mapping[tuple[str, str], frozenset[str]] = {}
    problems: list[CatmemError] = []
    with collect_errors(problems):  # a record of seeds that cannot be read hides no entry
        follows = seeded_copies(workspace, entity)
    limit, characters = limit_of(profile, target, workspace.config), size_of(document.text)
    draft = EntryDraft(category=wanted or "")
    groups = list(_grouped(workspace, profile, file, some.rows, follows))
    return Page(
        "file.html",
        {
            "profile": profile,
            "entity": entity,
            "target": target,
            "file": file,
            "categories": {each: title_of(workspace, document, each) for each in categories},
            "category": wanted,
            "named": asked.query.get("entry"),
            "paged": some,
            "groups": groups,
            "can_tick": any(not row.follows for _, _, rows in groups for row in rows),
            "problems": problems,
            "unmerged": unmerged_warnings(entity, document.text),
            "size": characters,
            "bar": None if limit is None else bar_of(FILE_NAMES[target], characters, limit),
            "total": len(document.entries),
            "unsorted": len(document.by_category.get(UNCATEGORIZED, ())),
            "recorded": file.warning is None and workspace.store.head(entity) is not None,
            # A file whose history cannot be read cannot be written to either.
            "base": None if file.warning else file.revision or file.digest,
            "choices": choices(workspace, entity, document, draft),
            "draft": draft,
        },
    )


def _grouped(
    workspace: Workspace,
    profile: Profile,
    file: Reading,
    entries: Sequence[Entry],
    follows: Mapping[tuple[str, str], frozenset[str]],
) -> Iterator[tuple[str, str, list[Shown]]]:
    """Entries of one category that stand together, with its title."""
    entity, document, day = file.entity, file.document, clock.today()
    target = parts_of(entity).target
    ages = freshness_of(workspace, profile, entity, document, entries, as_of=day, reader=None)
    in_sight = {entry.start for entry in visible(document, target, profile, workspace.config.taxonomy).entries}
    rows: list[Shown] = []
    for entry, age in zip(entries, ages, strict=True):
        line, sources = document.line(entry.start), tuple(sorted(follows.get((entity, entry.id), ())))
        rows.append(Shown(entity, line, entry, age, entry.start in in_sight, dated_ahead(entry.tags, day), sources))
    for category, some in groupby(rows, key=lambda row: row.entry.category):
        yield category, title_of(workspace, document, category), list(some)


SIDES: tuple[Choice, ...] = ("target", "source", "both")
FIELD = "file-"
"""What the names of the fields begin with that choose files."""

_ROWS = 200
_MOST = 20
_LINES_OF_MANY = 150


def seeds(asked: PageRequest) -> Page:
    overview = asked.overviews.read()
    found = [(line, line.seeded) for line in overview.lines if line.seeded is not None]
    waiting = Counter(seeded.source for _, seeded in found if not seeded.in_step)
    return Page(
        "seeds.html",
        {
            "lines": [line for line, _ in sorted(found, key=lambda each: (each[1].in_step, each[0].name))],
            "sources": [source for source, count in sorted(waiting.items()) if count > 1],
            "behind": waiting.total(),
            "problems": overview.problems,
        },
    )


def one_seed(asked: PageRequest) -> Page:
    """What seeding one profile would change, file by file. Raises ``UnknownNameError`` for one that nothing seeds."""
    name = asked.workspace.profile(asked.path["name"]).name
    source = next((source for source, targets in seed_order(asked.workspace)[0].items() if name in targets), None)
    if source is None:
        raise UnknownNameError(f"nothing seeds {name}", hint="Its profile names no source in seed_from.")
    return _seed_page(asked.workspace, source, name, asked.query.get("resolve", ""))


def seeds_of(asked: PageRequest) -> Page:
    """What seeding everybody that a profile seeds would change."""
    source = asked.workspace.profile(asked.path["source"]).name
    return _seed_page(asked.workspace, source, None, asked.query.get("resolve", ""))


def _seed_page(workspace: Workspace, source: str, name: str | None, resolve: str) -> Page:
    """What a seed of ``name``, or of all that ``source`` seeds, would change by now."""
    is_one = name is not None
    targets = _targets(workspace, source, name)
    plan = workspace.plan_seed(source, targets, resolve=_resolved(resolve), every_entry=is_one)
    found = [each for each in plan.files if is_one or each.conflicts or file_is_due(each, plan)]
    most = DIFF_LINES if is_one else _LINES_OF_MANY
    return Page(
        "seed.html",
        {
            "name": name,
            "source": source,
            "resolve": resolve,
            "begun": f"{resolve}." if resolve and resolve not in SIDES else "",
            "plan": plan,
            "files": [_seeded_file(each, plan, most) for each in found[:_MOST]],
            "more": len(found) - _MOST,
            "watched": [
                *((each.target, bytes_digest(each.before.encode())) for each in found[:_MOST]),
                *((entity, read.digest) for entity, read in plan.read.items()),
            ],
        },
    )


def _resolved(said: str) -> Resolve | None:
    """What an address or a form says of conflicts: a side for all, or ``ID-SIDE`` of some with ``.`` between."""
    sides: dict[str, Choice] = {each: each for each in SIDES}
    if not said or said in sides:
        return sides.get(said)
    pairs = [each.partition("-") for each in said.split(".")]
    if any(not name or side not in sides for name, _, side in pairs):
        raise bad_parameter(f"resolve is {shown(said)}", f"It is one of {', '.join(SIDES)}, or ID-SIDE.")
    return {name: sides[side] for name, _, side in pairs}


def _targets(workspace: Workspace, source: str, name: str | None) -> Sequence[str]:
    """The profiles that are seeded. Raises ``UnknownNameError`` for a source that seeds no profile."""
    targets = [name] if name else seed_order(workspace)[0].get(source, [])
    if not targets:
        raise UnknownNameError(f"{source} seeds no profile", hint="A profile names its source with seed_from.")
    return targets


def _seeded_file(plan: FilePlan, whole: SeedPlan, most: int) -> dict[str, Any]:
    """One file of a target: its plan, what it would change, its entries by how they stand, and its open conflicts."""
    hidden = {"in_sync", "conflict"} if plan.conflicts else {"in_sync"}  # open conflicts are shown with both sides
    counts = Counter[str](row.state for row in plan.rows)
    settled = counts["conflict"] - sum(conflict.reason != "title" for conflict in plan.conflicts)
    counts += Counter(settled=settled, conflict=-settled)
    return {
        "plan": plan,
        "diff": diff_of(plan.before, plan.after, most),
        "counts": counts,
        "rows": [row for row in plan.rows if row.state not in hidden][:_ROWS],
        "conflicts": [(conflict_id(plan.target, conflict), conflict) for conflict in plan.conflicts],
        "due": file_is_due(plan, whole),
    }


# --- forms -----------------------------------------------------------------------------------------------------------


def apply_seed(sent: SentForm) -> Redirect:
    """Seed the files that were chosen, from what is there now. What was refused is named; the others are done."""
    workspace, source, resolve = sent.workspace, sent.get("source"), sent.get("resolve")
    chosen = {name.removeprefix(FIELD) for name in sent.fields if name.startswith(FIELD)}
    if not chosen:
        raise RequestError(
            "no file is chosen", code="nothing_chosen", hint="Nothing was written. Tick the files to be seeded."
        )
    targets = _targets(workspace, source, sent.get("only") or None)
    files = {target: [each for each in targets if f"{each}/{target}" in chosen] for target in FILE_NAMES}
    if len(chosen) > sum(map(len, files.values())):
        raise bad_form("the form chooses a file that was not on its page")
    results = [
        workspace.apply_seed(workspace.plan_seed(source, names, target=target, resolve=_resolved(resolve)))
        for target, names in files.items()
        if names
    ]
    written = [(each.target, each.revision) for result in results for each in result.files]
    refused = [each for result in results for each in result.refused]
    refuse_partly([f"{each.name}: {each.error}" for each in refused], len(written), "seeded")
    return Redirect(urlsplit(sent.back).path, written)


_MOST_FOUND = 50
_LONGEST = 400
"""Characters of a query that are looked for."""

STATES: tuple[State, ...] = get_args(State)


def search(asked: PageRequest) -> Page:
    """The entries that a query finds, the best first; the query may name a ``profile`` and a ``state``."""
    profiles = agent_names(asked.workspace)
    query = asked.query.get("q", "").strip()[:_LONGEST]
    name, state = asked.choice("profile", profiles), asked.choice("state", STATES)
    searched, problem = Searched([], 0), None
    look = partial(search_one, asked.workspace, name) if name else partial(search_everywhere, asked.workspace)
    if query:
        try:
            searched = look(query, limit=_MOST_FOUND, state=[state] if state else None, whole=True)
        except QueryError as error:
            problem = error

    @cache
    def seen(name: str, target: str) -> frozenset[str]:
        document, profile = asked.workspace.read(name, target).document, asked.workspace.profile(name)
        return frozenset(visible(document, target, profile, asked.workspace.config.taxonomy).categories)

    hits = [
        {
            "name": (owner := parts_of(hit.entity).owner),
            "found": hit,
            "pieces": tuple(_pieces(hit.snippet)),
            "ahead": dated_ahead(hit.entry.tags, clock.today()),
            "in_sight": hit.entry.category in seen(owner, hit.target),
        }
        for hit in searched.found
    ]
    return Page(
        "search.html",
        {
            "q": query,
            "profiles": profiles,
            "profile": name,
            "states": STATES,
            "state": state,
            "hits": hits,
            "total": searched.total,
            "unreadable": searched.unreadable,
            "problem": problem,
        },
        422 if problem else 200,
    )


def _pieces(snippet: Snippet) -> Iterator[tuple[str, bool]]:
    place = 0
    for start, end in snippet.hits:
        if start > place:
            yield snippet.text[place:start], False
        yield snippet.text[start:end], True
        place = end
    if place < len(snippet.text):
        yield snippet.text[place:], False


# --- what lint finds in the whole root -------------------------------------------------------------------------------


_FINDINGS = 100

REVIEWED = frozenset({"CM307", "CM308"})
"""The rules whose findings a review asks about."""


def lint(asked: PageRequest) -> Page:
    """Findings by file, those of copies with what they follow; the query may name a ``severity`` and a ``rule``."""
    with closing(Linter.open(asked.workspace.root)) as linter:
        found = linter.run()
        counted = found.diagnostics
        severity = asked.choice("severity", SEVERITIES)
        rule = asked.if_there("rule", [each.code for each in counted])
        chosen = [each for each in counted if severity in {None, each.severity} and rule in {None, each.code}]
        listed = linter.once(chosen)
        some = paged(listed, asked.page, _FINDINGS)
        by_file = groupby(some.rows, key=lambda each: each[0].path)
        profiles = {f"profiles/{each.name}.yaml": each.name for each in load_each(asked.workspace)[0]}
        files = [_file(linter, path, rows, profiles.get(path)) for path, rows in by_file]
    names = {each.code: each.name for each in counted}
    rules = Counter(each.code for each in counted)
    return Page(
        "lint.html",
        {
            "found": found,
            "severity_counts": Counter(each.severity for each in counted),
            "rule_counts": rules,
            "severity": severity,
            "rule": rule,
            "rules": {code: f"{code} {names[code]}" for code, _ in rules.most_common()},
            "paged": some,
            "files": files,
            "total": len(counted),
            "in_copies": len(chosen) - len(listed),
        },
    )


def _file(
    linter: Linter, path: str, found: Iterable[tuple[Diagnostic, Sequence[Diagnostic]]], profile: str | None
) -> dict[str, Any]:
    """The findings of a file, each with its entry, whether a review asks about it, and the files with copies of it."""
    entity, file, rows = linter.entity(path), linter.file(path), list[dict[str, Any]]()
    entries = file.document.entries if entity is not None and isinstance(file, LintedFile) else ()
    for each, copies in found:
        entry = next((one.id for one in entries if one.start <= each.start < one.end), None)
        followers = sorted({linter.entity(copy.path) or copy.path for copy in copies})
        rows.append({"finding": each, "entry": entry, "reviewed": each.code in REVIEWED, "copies": followers})
    return {"path": path, "entity": entity, "profile": profile, "findings": rows}
