"""The operation import: the memory of another program, or a snapshot, into memory files."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from catmem import clock
from catmem.clock import read_date
from catmem.config.config import Config
from catmem.config.json_schema import known_tags, shown, slip_of_format, suggestion, tag_faults
from catmem.errors import EditError, UnknownNameError
from catmem.jsonable import jsonable
from catmem.linting.renderers import mask_secrets
from catmem.names import UNCATEGORIZED, Target, slugify
from catmem.ops.shared import TRIED, AllowSecret
from catmem.ops.table import Call, Outcome, P, UsageError, operation
from catmem.plugins.importers import read
from catmem.plugins.importers.source_files import Imported, ImportedEntry, LeftOut, leading_day
from catmem.registry import registry
from catmem.syntax.scan import MAX_HEADING
from catmem.syntax.tags import write_block
from catmem.text import MAX_ENTRY_CHARS, MAX_TAG_CHARS, counted, first_line, unify_newlines
from catmem.threats import SECRETS
from catmem.workspace.seen_entry import rules_in, tag_texts, value_texts
from catmem.workspace.workspace import Workspace
from catmem.writing.policy import refuses_secret, secret_hint, undeclared
from catmem.writing.request import Operation
from catmem.writing.written import Written

ANY = "*"
"""In a map: every kind that is not named."""

MOST_AT_ONCE = 1_000
"""New entries of one write."""

_CREATED: dict[str, str | list[str]] = {"created": "2026-01-01"}
"""As long as any date that an entry gets besides."""

_SHOWN = 5
"""Entries that a message names at most."""
_WORDS = 60
"""Characters that a message quotes of one."""

ImportOutcome = Literal["new", "there", "changed", "withheld"]


@dataclass(frozen=True, slots=True)
class Placed:
    """An entry with the place that it gets. ``threats`` are the rules for which a prompt would withhold it.

    ``created`` is the day since when it is known to be, ``None`` if nothing tells. ``outcome``: it is ``new``, it is
    ``there`` already, or what came from the same place is there with other words (``changed``), and then that stays.
    One that is ``withheld`` is left out for its ``threats``.
    """

    entry: ImportedEntry
    target: str
    category: str
    tags: Mapping[str, str | list[str]]
    created: date | None
    threats: tuple[str, ...]
    outcome: ImportOutcome

    def __json__(self) -> dict[str, Any]:
        """The fields as JSON-ready data; what is withheld without its tags and its secrets."""
        withheld = self.outcome == "withheld"
        return {
            "outcome": self.outcome,
            "target": self.target,
            "category": self.category,
            "body": mask_secrets(self.entry.body) if withheld else self.entry.body,
            "tags": {} if withheld else self.tags,
            "place": self.entry.place,
            "kind": self.entry.kind,
            "threats": self.threats,
        }

    @property
    def holds_secret(self) -> bool:
        return not SECRETS.keys().isdisjoint(self.threats)

    def described(self) -> str:
        """Its place, its threats and how it begins, without its secrets."""
        words = first_line(" ".join(mask_secrets(self.entry.body).split()), _WORDS)
        return f"{self.entry.place} ({', '.join(self.threats)}): {words}"


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would do, made for files with the digests ``expected``."""

    profile: str
    entries: tuple[Placed, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    expected: Mapping[str, str]

    @property
    def uncategorized(self) -> Counter[str]:
        """How many new entries have no category, by target."""
        return Counter(each.target for each in self.entries if each.outcome == "new" and each.category == UNCATEGORIZED)


def plan_import(
    workspace: Workspace,
    profile: str,
    imported: Imported,
    *,
    target: str | None = None,
    categories: Mapping[str, str] | None = None,
    skip_withheld: bool = False,
) -> ImportPlan:
    """What bringing ``imported`` into a profile's files would do; nothing is written. ``categories`` are by kind."""
    workspace.profile(profile)
    placing = _Placing(workspace.config, _by_kind(categories or {}, imported), clock.today())
    left_out = list(imported.left_out)
    fitting: list[ImportedEntry] = []
    for entry in imported.entries:
        why = _unfit(entry)
        if why is None:
            fitting.append(entry)
        else:
            left_out.append(_left_out(entry, why))
    targets = sorted({target or each.target or "user" for each in fitting}, reverse=True)
    readings = {each: workspace.read(profile, each) for each in targets}
    seen = {each: _Seen(reading.document.entries) for each, reading in readings.items()}
    placed: list[Placed] = []
    for entry in fitting:
        where = target or entry.target or "user"
        category, tags = placing.category(entry), placing.tags(entry, left_out)
        threats = rules_in([entry.body, *tag_texts(tags)])
        created = placing.created(entry, tags)
        skips = skip_withheld and threats
        outcome: ImportOutcome = "withheld" if skips else seen[where].outcome(entry, tags)
        placed.append(Placed(entry, where, category, tags, created, threats, outcome))
    digests = {each: reading.digest for each, reading in readings.items()}
    masked = (each._replace(value=mask_secrets(each.value)) for each in left_out)
    return ImportPlan(profile, tuple(placed), tuple(masked), tuple(_notes(placed, placing)), digests)


def carry_out(
    workspace: Workspace, plan: ImportPlan, *, dry_run: bool = False, allow_secret: bool = False
) -> list[Written]:
    """Write the new entries of a plan, each file in one revision, or in one for each ``MOST_AT_ONCE`` entries."""
    secret = [each for each in plan.entries if each.outcome == "new" and each.holds_secret]
    if secret and refuses_secret(workspace.config, allow_secret):
        raise EditError(
            f"{counted(len(secret), 'entry')} with a secret, so nothing was written: {_named(secret)}",
            code="secret",
            hint=f"--skip-withheld leaves such entries out. {secret_hint(workspace.config, asks=True)}",
        )
    write = partial(workspace.write, plan.profile, allow_secret=allow_secret, on_stale="refuse")
    additions: dict[str, list[Operation]] = {}
    for each in plan.entries:
        if each.outcome == "new":
            additions.setdefault(each.target, []).append(_addition(each))
    tried: list[Written] = []
    for target, operations in additions.items():
        part, expected = operations[:MOST_AT_ONCE], plan.expected[target]
        tried.append(write(part, target=target, expected=expected, dry_run=True))
    if dry_run:
        return tried
    written: list[Written] = []
    for target, operations in additions.items():
        expected = plan.expected[target]
        for start in range(0, len(operations), MOST_AT_ONCE):
            part = operations[start : start + MOST_AT_ONCE]
            written.append(write(part, target=target, expected=expected))
            expected = written[-1].digest
    return written


def remarks_on(written: Sequence[Written]) -> list[str]:
    """What the writes say of what will not be seen, each thing once."""
    warnings = [f"warning: {warning}" for each in written for warning in each.warnings]
    return list(dict.fromkeys([*warnings, *(note for each in written for note in each.notes)]))


def sort_command(profile: str, target: str) -> str:
    """The command that gives entries of a file a category."""
    return f"catmem sort -p {profile} -t {target}"


def _named(placed: Sequence[Placed]) -> str:
    more = f"; and {len(placed) - _SHOWN:,} more" if len(placed) > _SHOWN else ""
    return f"{'; '.join(each.described() for each in placed[:_SHOWN])}{more}"


def _addition(placed: Placed) -> Operation:
    # The day of the import would make an old fact young: what nothing dates gets no date.
    undated = {"created": None} if placed.created is None else {}
    tags = {**undated, **placed.tags}
    return Operation("add", content=placed.entry.body, category=placed.category, tags=tags, as_of=placed.created)


@dataclass(slots=True)
class _Placing:
    config: Config
    categories: Mapping[str, str]
    today: date

    def __post_init__(self) -> None:
        for name in self.categories.values():
            if self._named(name) is None:
                raise undeclared(name, suggestion(slugify(name), self.config.taxonomy.categories, "categories"))

    def category(self, entry: ImportedEntry) -> str:
        return self._of_kind(entry.kind or "") or UNCATEGORIZED

    def is_lost(self, kind: str) -> bool:
        return self._of_kind(kind) is None

    def _of_kind(self, kind: str) -> str | None:
        said = self.categories.get(kind, self.categories.get(ANY))
        if said is not None:
            return self._named(said)
        # Where some are declared, no profile asks for another one.
        taxonomy = self.config.taxonomy
        return self._named(kind) if taxonomy.named(kind) or not taxonomy.categories else None

    def tags(self, entry: ImportedEntry, left_out: list[LeftOut]) -> dict[str, str | list[str]]:
        """The tags of an entry; fields count where there is a tag of their name. The rest is left out."""
        tags = dict(entry.tags)
        known = known_tags(self.config.tag_schemas)
        for key, value in entry.fields.items():
            if key not in known:
                left_out.append(LeftOut(entry.place, key, value, "no tag of this name is declared"))
            elif key in entry.tags:
                left_out.append(LeftOut(entry.place, key, value, "the entry has a tag of this name already"))
            elif len(write_block(_CREATED | tags | {key: value})) > MAX_TAG_CHARS:
                left_out.append(LeftOut(entry.place, key, value, "the tags of an entry have no room for it"))
            else:
                tags[key] = value
        slips = {key: near for key in tags if key not in known and (near := slip_of_format(key))}
        left_out += [
            LeftOut(entry.place, key, str(tags.pop(key)), f"{near} may be meant") for key, near in slips.items()
        ]
        for key, message in tag_faults(tags, self.config.tag_schemas):
            left_out.append(LeftOut(entry.place, key, str(tags.pop(key, "")), message))
        for key in ("created", "verified_date"):
            day = read_date(tags.get(key))
            if day is not None and day > self.today:
                left_out.append(LeftOut(entry.place, key, str(tags.pop(key)), "it is in the future"))
        return tags

    def created(self, entry: ImportedEntry, tags: Mapping[str, str | list[str]]) -> date | None:
        """The day since when an entry is known to be: by its tags, its text or heading, else its file."""
        stated = read_date(tags.get("created"))
        if stated is not None:
            return stated
        said = [leading_day(_body(entry)), leading_day(entry.kind or ""), read_date(tags.get("verified_date"))]
        for days in (said, [entry.day]):
            past = [day for day in days if day is not None and day <= self.today]
            if past:
                return min(past)
        return None

    def _named(self, name: str) -> str | None:
        """The category that a name names, if entries may go there."""
        taxonomy = self.config.taxonomy
        category = taxonomy.category(name)
        is_open = not (taxonomy.closed or taxonomy.card_titles)
        may_be_new = is_open and category and len(f"## {category}") <= MAX_HEADING
        return category if taxonomy.named(category) or may_be_new else None


class _Seen:
    """What stands in a file, and what this import has put there."""

    def __init__(self, entries: Sequence[Any]) -> None:
        self._bodies = {entry.body for entry in entries}
        self._sources = {source for entry in entries if isinstance(source := entry.tags.get("source"), str)}

    def outcome(self, entry: ImportedEntry, tags: Mapping[str, str | list[str]]) -> ImportOutcome:
        body = _body(entry)
        if body in self._bodies:
            return "there"
        if entry.single and tags.get("source") in self._sources:
            return "changed"
        self._bodies.add(body)
        return "new"


def _body(entry: ImportedEntry) -> str:
    return unify_newlines(entry.body).strip()


def _by_kind(categories: Mapping[str, str], imported: Imported) -> dict[str, str]:
    """The categories by the kinds as they are spelled there; a spelling that is given itself comes first."""
    kinds = {entry.kind: entry.kind.casefold() for entry in imported.entries if entry.kind}
    folded = {kind.casefold(): category for kind, category in categories.items()}
    for kind in categories:
        if kind != ANY and kind.casefold() not in kinds.values():
            raise UnknownNameError(
                f"nothing there is of the kind {shown(kind)}", hint=suggestion(kind, kinds, "kinds that are there")
            )
    return {kind: folded[low] for kind, low in kinds.items() if low in folded} | dict(categories)


def _unfit(entry: ImportedEntry) -> str | None:
    body = _body(entry)
    if not body:
        return "it has no text"
    if len(body) + MAX_TAG_CHARS > MAX_ENTRY_CHARS:
        return f"it has {len(body):,} characters, more than an entry may have"
    try:
        "".join([body, entry.kind or "", *value_texts(entry.tags.values()), *entry.fields.values()]).encode()
    except UnicodeEncodeError:
        return "it holds half of a character (a lone surrogate), which no file can hold"
    return None


def _left_out(entry: ImportedEntry, why: str) -> LeftOut:
    value = entry.body[:200].encode(errors="backslashreplace").decode()
    return LeftOut(entry.place, "entry", value, why)


def _notes(placed: Sequence[Placed], placing: _Placing) -> Iterator[str]:
    new = [each for each in placed if each.outcome == "new"]
    lost = Counter(each.entry.kind for each in new if each.entry.kind and placing.is_lost(each.entry.kind))
    for kind, count in lost.items():
        yield (
            f"no category is called {shown(str(kind))}: {counted(count, 'entry')} of that kind in __uncategorized__; "
            f"--map {shown(f'{kind}=CATEGORY')} puts them elsewhere before they are written, "
            "and 'catmem move' afterwards"
        )
    undated = sum(each.created is None for each in new)
    if undated:
        number = counted(undated, "entry")
        yield f"{number} without a date: nothing tells how old the text is, so it counts as unverified"
    withheld = [each for each in new if each.threats]
    if withheld:
        number = counted(len(withheld), "entry")
        yield (
            f"{number} that a prompt will withhold, because the text looks hostile or holds a secret "
            f"(--skip-withheld leaves such out): {_named(withheld)}"
        )
    skipped = [each for each in placed if each.outcome == "withheld"]
    if skipped:
        yield f"{counted(len(skipped), 'entry')} left out that a prompt would withhold: {_named(skipped)}"
    changed = sum(each.outcome == "changed" for each in placed)
    if changed:
        yield f"{counted(changed, 'entry')} brought in before and changed since, here or there: what is here stays"


@dataclass(frozen=True, slots=True)
class FinishedImport:
    plan: ImportPlan
    written: Sequence[Written]


def _categories(said: Sequence[str]) -> dict[str, str]:
    """``OLD=CATEGORY`` each; the kind may hold ``=``, a category cannot."""
    found: dict[str, str] = {}
    for given in said:
        kind, equals, category = given.rpartition("=")
        if not (equals and kind and category):
            raise UsageError(f"Invalid value for '--map': {given!r} is not of the form OLD=CATEGORY.")
        if found.setdefault(kind, category) != category:
            raise UsageError(f"Invalid value for '--map': {kind!r} is given two categories.")
    return found


@operation(
    "import",
    examples=(
        "catmem import --from cheetahclaws -p trinity ~/.cheetahclaws/memory --dry-run",
        "catmem import --from mcp-memory -p trinity memory.jsonl --map preference=communication-style",
        "catmem import --from hermes -p trinity ~/.hermes",
        "catmem import --snapshot memory.bak.1795417126.json --dry-run",
    ),
    apart={"snapshot": "path source categories skip_withheld"},
    writes={"allow_secret": AllowSecret, **TRIED},
)
def import_(
    call: Call,
    *,
    path: Annotated[str | None, P(argument=True)] = None,
    source: Annotated[
        Literal[*registry().importers] | None,  # type: ignore[valid-type]
        P("The program that wrote PATH; needed for it."),
    ] = None,
    snapshot: Annotated[
        str | None,
        P(
            "Bring back a snapshot ('catmem export --snapshot', or a memory.bak.*.json): each entity that differs "
            "becomes what it says, in one revision.",
            metavar="PATH",
        ),
    ] = None,
    profile: Annotated[str | None, P("The profile whose memory this is; needed for PATH.")] = None,
    target: Annotated[
        Target | None, P("Put all of it into USER.md or MEMORY.md. By default where that program has it, else USER.md.")
    ] = None,
    categories: Annotated[
        Sequence[str],
        P(
            "The category for what that program calls OLD; * for all else. By default the category of that name, and "
            "__uncategorized__ if none is declared. Repeatable.",
            "--map",
            metavar="OLD=CATEGORY",
        ),
    ] = (),
    skip_withheld: Annotated[bool, P("Leave out entries that a prompt would withhold, and name them.")] = False,
) -> Outcome:
    """Bring the memory of another program, at PATH, into the files of a profile.

    PATH is the file or folder in which that program keeps its memory. It is read and never changed. An entry that is
    there already is not added again. What has no place here is listed.

    --snapshot takes the place of PATH, and -p and -t choose some of its entities. An edited snapshot is refused.
    'catmem restore' undoes the revision of an entity.
    """
    named = _categories(categories)
    if snapshot is not None:
        return _bring_back(call, snapshot, profile, target)
    if source is None or profile is None or path is None:
        programs = f"option '--from' ({', '.join(registry().importers)})"
        needed = {programs: source, "option '-p' / '--profile'": profile, "argument 'PATH'": path}
        raise UsageError(f"Missing {next(name for name, given in needed.items() if given is None)}.")
    what: dict[str, Any] = {"target": target, "categories": named, "skip_withheld": skip_withheld}
    plan = plan_import(call.root, profile, read(source, path), **what)
    written = carry_out(call.root, plan, **call.how)
    said = {
        "from": source,
        "path": path,
        "profile": plan.profile,
        "dry_run": call.dry_run,
        "files": [_file_dict(each) for each in written],
        "entries": jsonable(plan.entries),
        "left_out": [each._asdict() for each in plan.left_out],
        "notes": [*remarks_on(written), *plan.notes],
        "uncategorized": dict(plan.uncategorized),
        "next": [sort_command(plan.profile, target) for target in plan.uncategorized],
    }
    return Outcome(FinishedImport(plan, written), said)


def _bring_back(call: Call, path: str, profile: str | None, target: str | None) -> Outcome:
    from catmem.store.contract import Change
    from catmem.workspace.change_plan import apply, write_file
    from catmem.workspace.exporting import plan_snapshot, read_snapshot

    if profile is not None:
        call.root.profile(profile)
    said = read_snapshot(Path(path))
    plan = plan_snapshot(call.root, said, profile=profile, target=target, **call.how)
    if not call.dry_run:
        change = Change(op="restore", note={"snapshot": said["timestamp"]})
        plan = apply(plan, partial(write_file, call.root, change=change))
    shown = {"snapshot": path, "timestamp": said["timestamp"], **jsonable(plan), "dry_run": call.dry_run}
    return Outcome(plan, shown, plan.errors)


def _file_dict(written: Written) -> dict[str, object]:
    usage = {"size": written.usage.size, "limit": written.usage.limit}
    return {"entity": written.entity, "revision": written.revision, "digest": written.digest, "usage": usage}
