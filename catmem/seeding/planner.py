"""Seeding on disk: a plan for several targets at once, and carrying it out.

The lock is written last: where a seed was stopped before that, the next finds what was done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

from catmem import clock
from catmem.config.access import Rights, known_categories, meant_category
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import Profile, has_profile, limit_of, memory_dir, one_reading
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, ConfigError, DriftError, EditError, UnknownNameError, UnreadableError, wrong_type
from catmem.files import shown_path
from catmem.model.document import Document, Version
from catmem.model.layout import shared_within
from catmem.model.slips import heading_slips
from catmem.names import TARGETS, UNCATEGORIZED, is_entity, parts_of
from catmem.seeding.plan import SeedPlan, SeedRequest, seed_chain, seed_order
from catmem.seeding.seed_lock import LOCK_NAME, SeedFile, SeedLock, SeedRecord
from catmem.seeding.slices import (
    CLONED_HINT,
    FilePlan,
    Offered,
    OfferedFile,
    Seeded,
    SeedInputs,
    cloned_entries,
    is_settled,
    named_of,
    offer,
    on_cloned,
    plan_file,
    sliced,
    without_cloned,
)
from catmem.staleness.freshness import DATED_BY
from catmem.staleness.lineage import CLOCKS, body_key, histories_of
from catmem.store.contract import PERSON, Change, Current, Snapshot
from catmem.text import MAX_FILE_BYTES, conflict_at, counted, few, plural, size_of
from catmem.workspace.change_plan import RefusedChange, apply
from catmem.workspace.history import refuse_bounded
from catmem.workspace.profile_memory import lost_entries, lost_text, read_memory
from catmem.workspace.root import Root, load_each, log_attempt
from catmem.workspace.stores import hermes_edits
from catmem.writing import gate
from catmem.writing.matching import parse_for_write
from catmem.writing.written import could_go, notes_on, on_title, over_budget


def plan_seed(workspace: Root, asked: SeedRequest) -> SeedPlan:
    """What a seed would do; see ``Workspace.plan_seed``."""
    with one_reading():
        if asked.actor is not None:  # before it learns of any other profile
            refuse_bounded(workspace, asked.actor, "seed the memory of other profiles")
        unreadable: list[CatmemError] = []
        if asked.targets is None:
            sources, unreadable = seed_order(workspace)
            asked = replace(asked, targets=sources.get(workspace.profile(asked.source).name, []))
            if unreadable and not asked.targets:
                raise unreadable[0]
        plan = _Planning(workspace, asked.checked(workspace.config.taxonomy)).plan()
        refused = [RefusedChange(shown_path(error.path or "profiles"), error) for error in unreadable]
        return replace(plan, refused=(*plan.refused, *refused))


# --- the plan --------------------------------------------------------------------------------------------------------


class _Planning:
    def __init__(self, workspace: Root, asked: SeedRequest) -> None:
        self.workspace = workspace
        self.asked = asked
        self.files = TARGETS if asked.target is None else (asked.target,)
        self.source = workspace.profile(asked.source)
        self.profiles = {name: workspace.profile(name) for name in asked.targets or ()}
        self._refuse()
        self.named = known_categories((self.source, *self.profiles.values()), workspace.config.taxonomy)
        """The categories that are declared, or that one of these profiles names."""
        self.lock_data, self.lock = SeedFile(workspace).read()
        self.given: dict[str, list[SeedRecord]] = {}
        self.handed_on: dict[str, list[SeedRecord]] = {}
        """The records of a target and of a source."""
        for record in self.lock.records.values():
            self.given.setdefault(record.target, []).append(record)
            self.handed_on.setdefault(record.source, []).append(record)
        self.gone: dict[SeedRecord, str] = {}
        """What a target still has of a source whose profile is no more, and what to say of it."""
        self.read: dict[str, Snapshot] = {}
        self.parts: dict[str, SeedInputs] = {}

    def _refuse(self) -> None:
        """Raise for what makes the whole seed wrong."""
        if not self.profiles:
            raise ConfigError("no target is named", code="seed_target", hint="Name one or more profiles.")
        if self.source.name in self.profiles:
            raise ConfigError(
                f"{self.source.name} cannot be seeded from itself",
                code="seed_target",
                hint="Nothing was seeded. Name other profiles as targets.",
            )
        config = self.workspace.config
        homes = {memory_dir(self.source, config): self.source.name}
        for profile in self.profiles.values():
            seed_chain(self.workspace.profile, profile)
            other = homes.setdefault(memory_dir(profile, config), profile.name)
            if other != profile.name:
                raise ConfigError(
                    f"{profile.name} keeps its memory in the same folder as {other}",
                    code="seed_target",
                    path=profile.path,
                    hint="Nothing was seeded. Give it a memory_dir of its own.",
                )

    def plan(self) -> SeedPlan:
        files: list[FilePlan] = []
        refused: list[RefusedChange] = []
        offers = self.offers()
        for target, offered in offers.items():
            self._refuse_emptied(target, offered)
        for name, profile in self.profiles.items():
            for target, offered in offers.items():
                try:
                    found = self._file(profile, target, offered)
                except CatmemError as error:
                    refused.append(RefusedChange(f"{name}/{target}", error))
                else:
                    files += [] if found is None else [found]
        warnings, others = self._about_files(files), dict(self._about_others())
        return SeedPlan(
            asked=self.asked,
            profiles=self.profiles,
            files=tuple(files),
            refused=tuple(refused),
            notes=(
                *self._about_lock(files),
                *self._about_losses(files),
                *self._about_nothing(offers, gives=bool(files or refused)),
                *self._about_slips(offers),
                *others.values(),
                *self.gone.values(),
                *self._about_sources(),
                *warnings,
            ),
            warnings=tuple(warnings),
            others=tuple(others),
            parts=self.parts,
            lock_data=self.lock_data,
            lock=self.lock,
            gone=tuple(self.gone),
            read=self.read,
            clocks=self._clocks(files),
        )

    def _clocks(self, files: Iterable[FilePlan]) -> dict[str, Mapping[str, str | None]]:
        """How old the entries without a date of their own are: a copy is as old as what it is a copy of."""
        clocks: dict[str, Mapping[str, str | None]] = {}
        changed = [each for each in files if each.changes]
        for source in {each.source for each in changed}:
            targets = [each.target for each in changed if each.source == source]
            document = self.parts[targets[0]].offered.document
            undated = [entry for entry in document.entries if not any(key in entry.tags for key in DATED_BY)]
            readers = [self.profiles[parts_of(target).owner] for target in targets if undated]
            # Each target gets the clocks of what it may see, and no others.
            for target, history in zip(targets, histories_of(self.workspace, source, readers), strict=False):
                seen = history.rights.filter_visible(undated)
                since = history.since(document, seen)
                clocks[target] = {body_key(entry.body): since.get(entry.start) for entry in seen}
        return clocks

    def offers(self) -> dict[str, OfferedFile]:
        """What the source has to give, by target. Raises ``UnknownNameError`` for an unknown category."""
        offers = {target: self._offer(target) for target in self.files}
        acting = None if self.asked.actor is None else self.workspace.profile(self.asked.actor)
        known = set[str]()
        for target, offered in offers.items():
            records = self.handed_on.get(f"{self.source.name}/{target}", ())
            on_record = {each.category for record in records for each in record.entries}
            may_see = Rights(acting, target, self.workspace.config.taxonomy).may_see
            known.update(filter(may_see, self.named | offered.categories | on_record))
        unknown = next((each for each in self.asked.categories or () if each not in known), None)
        if unknown is not None:
            raise UnknownNameError(
                f"there is no category {shown(unknown)} to seed from {self.source.name}",
                code="unknown_category",
                hint=f"Nothing was seeded. {suggestion(unknown, known, 'categories')}",
            )
        return offers

    def _offer(self, target: str) -> OfferedFile:
        workspace, entity = self.workspace, f"{self.source.name}/{target}"
        reading = self.read[entity] = workspace.store.read(entity)
        document = workspace.parse(reading.data, workspace.path_of(self.source, target))
        refuse_unmerged(workspace, entity, document.text)
        return offer(document, target, self.source, workspace.config.taxonomy, as_of=self.asked.day)

    def _refuse_emptied(self, target: str, offered: OfferedFile) -> None:
        """Raise for a source whose entries are gone, or their categories, and were seeded: most likely a loss."""
        is_flat, source, document = _is_flat(offered), f"{self.source.name}/{target}", offered.document
        seeded = [
            each
            for record in self.handed_on.get(source, ())
            for each in record.entries
            if parts_of(record.target).owner in self.profiles and not (is_flat and each.category == UNCATEGORIZED)
        ]
        if not seeded or (not is_flat and any(each.text in document.text for each in seeded)):
            return
        lost = lost_entries(self.workspace, source, self.read[source].data)
        taken = {body for each in seeded if (body := Version.read("", each.text).body) in (lost.bodies if lost else ())}
        if document.entries and not is_flat and not taken:
            return
        back = f": {lost}" if lost else f". Bring it back: catmem log {source}, then catmem restore {source} REVISION"
        back = f". Sort it again: catmem sort -p {self.source.name}{back}" if is_flat and not lost else back
        from catmem.workspace.upkeep import unread_note  # a seed without a loss loads none of it

        if unread := unread_note(self.workspace):
            back = f": {unread}"
        what = "has no category" if is_flat else "is missing, or has nothing"
        raise UnreadableError(
            f"{source} {what} any more of what was seeded from it",
            code="source_empty",
            path=self.workspace.path_of(self.source, target),
            hint=f"Nothing was seeded, and nothing was removed{back}. If it is meant, leave an entry in a category of "
            f"it (or add one: catmem add -p {self.source.name} -c CATEGORY TEXT), say so with 'catmem status --adopt' "
            f"of what another program did, and seed again; or remove {LOCK_NAME}, and the copies stay.",
        )

    def _file(self, profile: Profile, target: str, offered: OfferedFile) -> FilePlan | None:
        """The plan of one file; ``None`` if there is nothing to say of it."""
        parts = self.parts[f"{profile.name}/{target}"] = self._parts(profile, target, offered)
        replaces = self.asked.replace_cloned and not _is_flat(offered)
        is_new = parts.base is None
        if is_new and not (parts.slice or replaces):
            return None
        data = self.workspace.bytes_of(profile, target)
        text = data.decode(errors="replace")  # what is no text is refused where it is parsed
        refuse_unmerged(self.workspace, parts.target, text)
        kept = "\ufffd" not in text and all(each.text in text for each in parts.base or ())
        if data and kept and not (self.asked.every_entry or replaces) and is_settled(parts):
            entries = self.lock.records[parts.target, parts.source].entries
            return FilePlan(parts.target, parts.source, "", "", entries)
        document = parse_for_write(self.workspace.parse, parts.target, data)
        plan = plan_within(self.workspace, self.asked, profile, parts, document)
        return None if is_new and not (parts.slice or plan.cloned) else plan

    def _parts(self, profile: Profile, target: str, offered: OfferedFile) -> SeedInputs:
        """What goes into the plan of one file."""
        entity, source = f"{profile.name}/{target}", f"{self.source.name}/{target}"
        record = self.lock.records.get((entity, source))
        entries = () if record is None else record.entries
        others = (each for each in self.given.get(entity, ()) if each.source != source)
        return SeedInputs(
            entity,
            source,
            offered,
            tuple(filter(self._is_asked, sliced(offered, target, profile, self.workspace.config.taxonomy))),
            None if record is None else tuple(filter(self._is_asked, entries)),
            held=frozenset(each.key for other in others for each in other.entries),
            beside=tuple(each for each in entries if not self._is_asked(each)),
        )

    def _is_asked(self, each: Offered | Seeded) -> bool:
        return self.asked.categories is None or each.key[0] in self.asked.categories

    # --- notes -----------------------------------------------------------------------------------------------------

    def _about_lock(self, files: Iterable[FilePlan]) -> list[str]:
        """What to know of the lock: what is not whole in it, and where a seed can only add."""
        notes = [f"{LOCK_NAME} {note}" for note in self.lock.notes]
        blind = [each.target for each in files if not each.is_known and each.before.strip()]
        if blind and (self.lock.notes or not self.lock_data):
            notes.append(
                f"nothing is on record of an earlier seed of {few(blind)}: entries are added and none is taken away"
            )
        return notes

    def _about_losses(self, files: Iterable[FilePlan]) -> list[str]:
        """What other programs changed, and no person looked at: in sources, and what they took out of targets."""
        head = self.workspace.store.head
        changed = [each for each, read in self.read.items() if read.revision is None and head(each) is not None]
        notes = [f"another program changed {it}, which this hands on: 'catmem diff {it}' shows it" for it in changed]
        looked = {entity: read.data for entity, read in self.read.items()}
        for each in files:
            if each.count("removed_in_target") or (each.changes and not each.before.strip()):
                looked[each.target] = each.before.encode()
        lost = (lost_text(self.workspace, None, entity, data) for entity, data in looked.items())
        return [*notes, *filter(None, lost)]

    def _about_nothing(self, offers: Mapping[str, OfferedFile], *, gives: bool) -> Iterator[str]:
        """Files of the source none of whose entries has a category, or that no target gets anything of it at all."""
        name, flat, unread = self.source.name, list[str](), list[str]()
        for target, offered in offers.items():
            taken = any(each.slice for each in self.parts.values() if each.offered is offered)
            categories = {entry.category for entry in offered.document.entries}
            flat += [target] if categories == {UNCATEGORIZED} and not taken else []
            hidden, taxonomy = categories - offered.categories, self.workspace.config.taxonomy
            unread += [each for one in self.profiles.values() for each in named_of(hidden, target, one, taxonomy)]
        if flat:
            files, only = (f" and {name}/".join(flat), f" -t {flat[0]}" if len(flat) == 1 else "")
            yield f"no entry of {name}/{files} has a category, so none is seeded: catmem sort -p {name}{only}"
        elif unread and not gives:
            what = f"{few(sorted({*unread}))} of its own files, so none of it is seeded"
            yield f"the profile {name} does not read {what}: catmem access --why {name} {min(unread)}"
        elif not gives:
            yield f"{name} has no entry in a category that its targets read: catmem add -p {name} -c CATEGORY TEXT"

    def _about_sources(self) -> Iterator[str]:
        """Targets that their profile has seeded from another source, which alone 'seed --all' takes."""
        for name, profile in self.profiles.items():
            if profile.seed_from not in {None, self.source.name}:
                again = f"after a change of {self.source.name} type 'catmem seed {self.source.name} {name}' again"
                yield f"{name} has seed_from: {profile.seed_from}, so 'catmem seed --all' does not do this; {again}"

    def _about_others(self) -> Iterator[tuple[tuple[str, str], str]]:
        """By file and source what targets still have of another source than their own, and that has it no more."""
        for entity, parts in self.parts.items():
            name, own = parts_of(entity).owner, {each.key for each in parts.slice}
            for record in self.given.get(entity, ()):
                other = parts_of(record.source).owner
                if other in {self.source.name, self.profiles[name].seed_from}:
                    continue
                text = self.workspace.store.peek(entity).decode(errors="replace")
                old = [each for each in record.entries if each.key not in own and each.text in text]
                if old and not has_profile(self.workspace.config, other):
                    said = f"{counted(len(old), 'entry')} of {record.source} in {entity}"
                    counts = f"{plural(len(old), 'counts', 'count')} as its own now: catmem remove -p {name} TEXT"
                    self.gone[record] = f"there is no profile {other} any more, so {said} {counts}"
                    continue
                with suppress(CatmemError):  # lint names a profile that is not right
                    text = self.workspace.store.peek(record.source).decode(errors="replace")
                    if count := sum(each.text not in text for each in old):
                        said = f"{counted(count, 'entry')} of {record.source} that {other} reworded or removed since"
                        yield (entity, other), f"{entity} has {said}: catmem seed {other} {name}"

    def _about_slips(self, offers: Mapping[str, OfferedFile]) -> Iterator[str]:
        """Headers of the source and selectors of targets that mean another category: what was seeded of that goes."""
        taxonomy = self.workspace.config.taxonomy
        known = {*taxonomy.declared(), *(each for offered in offers.values() for each in offered.categories)}
        meant = {
            each: meant_category(each, self.named) for file in offers.values() for each in file.document.by_category
        }
        mistyped = {each: near for each, near in meant.items() if near is not None}
        if mistyped:  # which another profile may name
            named = known_categories(load_each(self.workspace)[0], taxonomy)
            mistyped = {each: near for each, near in mistyped.items() if each not in named}
        known -= mistyped.keys()
        for target, offered in offers.items():
            entity, document = f"{self.source.name}/{target}", offered.document
            for category in filter(mistyped.__contains__, document.by_category):
                near = mistyped[category]
                yield f"no profile names {category}, which is a category of {entity}; did you mean {near!r}?"
            for start, _, title in heading_slips(document, taxonomy.named):
                line = document.line(start)
                yield f"line {line} of {entity} looks like a section header and is text of an entry: ## {title}"
        for name, profile in self.profiles.items():
            if any(profile.selectors(target, taxonomy).unmatched(known) for target in offers):
                with suppress(CatmemError):  # a file that cannot be read is refused by itself
                    slips = read_memory(self.workspace, name).slips(known)
                    yield from (f"profile {name}: {each.message}" for each in slips)

    def _about_files(self, files: Iterable[FilePlan]) -> list[str]:
        """Clones, and categories that are asked for and that some targets do not read."""
        notes = [on_cloned(each, replaced=self.asked.replace_cloned) for each in files if each.cloned]
        for category in self.asked.categories or ():
            names = [
                name
                for name, profile in self.profiles.items()
                if not any(
                    named_of([category], target, profile, self.workspace.config.taxonomy) for target in self.files
                )
            ]
            notes += [f"{few(names)} gets nothing of {category}: the profile does not name it"] if names else []
        return notes


def _is_flat(offered: OfferedFile) -> bool:
    """Whether the source has entries, seen by its profile or not, and no section."""
    return bool(offered.document.entries) and not offered.document.scan.headers


# --- one file, to write it too ---------------------------------------------------------------------------------------


def refuse_unmerged(workspace: Root, entity: str, text: str) -> None:
    """Raise ``DriftError`` (``unmerged``) for a source or a target in which git left its conflict markers."""
    marker = conflict_at(text)
    if marker is None:
        return
    error = DriftError(
        f"{entity} holds git's conflict markers",
        code="unmerged",
        path=workspace.path(*parts_of(entity)),
        hint="Nothing was seeded from it or to it. Keep one version, take the marker lines out, and seed again.",
    )
    error.line = text.count("\n", 0, marker) + 1
    raise error


def plan_within(
    workspace: Root, asked: SeedRequest, profile: Profile, parts: SeedInputs, document: Document
) -> FilePlan:
    """The plan of one file of ``profile``, which is ``document`` now. Raises ``EditError`` and ``OverBudgetError``."""
    cloned = cloned_entries(parts, document, asked.categories)
    ours = without_cloned(parts, document, cloned) if asked.replace_cloned else document
    plan = plan_file(parts, ours, resolve=asked.resolve)
    plan = replace(plan, before=document.text, cloned=len(cloned))
    if plan.changes and hermes_edits(workspace.config, profile):
        limit = limit_of(profile, parts_of(plan.target).target, workspace.config)
        most = None if limit is None else max(limit, size_of(plan.before))
        plan = replace(plan, after=shared_within(workspace.parse(plan.after), most) or plan.after)
    refuse_too_long(workspace, profile, plan, asked.day)
    return plan


def refuse_too_long(workspace: Root, profile: Profile, plan: FilePlan, as_of: date) -> None:
    """Raise ``OverBudgetError`` if a seed would put a file of ``profile`` over its limit, or further over it."""
    target, config = parts_of(plan.target).target, workspace.config
    most, size = MAX_FILE_BYTES, len(plan.after.encode())
    if size > most and plan.changes:
        raise EditError(
            f"{plan.target} would have {size:,} bytes, and catmem reads {most:,} at most",
            code="too_large",
            hint="Nothing was written to it. Remove or shorten entries there or in the source.",
        )
    limit = limit_of(profile, target, config)
    before, after = size_of(plan.before), size_of(plan.after)
    if limit is None or after <= max(limit, before):
        return
    named = could_go(workspace.parse(plan.after).entries, profile, config, as_of)
    error = over_budget(plan.target, before, after, limit, named)
    error.hint = (
        f"Nothing was written to it. {CLONED_HINT if plan.cloned else ''}Remove or shorten "
        "entries there or in the source, or raise its limit."
    )
    raise error


# --- carrying it out: one guarded write for each file, then the lock; and what the memory tool tells of it ------------


UNREAD = "\ufffd"
"""What a file is taken to have held that could not be read: it is planned anew if it can be read by now."""
_AT_ONCE = 8
"""Files that are written at the same time."""


def apply_seed(workspace: Root, plan: SeedPlan) -> SeedPlan:
    """Carry out a plan, on what is there by now: one guarded write for each file that changes, then the lock."""
    if not isinstance(plan, SeedPlan):
        raise wrong_type("the plan", plan, "a SeedPlan (plan_seed makes one)")
    file = SeedFile(workspace)
    if not (_unread(plan) or plan.gone or any(file_is_due(each, plan) for each in plan.files)):
        with one_reading():
            return _Applying(workspace, plan, file).run()
    with one_reading(), file.held():
        now = {entity: bytes_digest(workspace.store.peek(entity)) for entity in plan.read}
        # Something may have been taken out of a source for good, or a target may read less by now.
        is_old = file.data() != plan.lock_data or any(now[entity] != read.digest for entity, read in plan.read.items())
        if is_old or any(workspace.profile(name) != each for name, each in plan.profiles.items()):
            plan = plan_seed(workspace, plan.asked)
        return _Applying(workspace, plan, file).run()


def file_is_due(each: FilePlan, plan: SeedPlan) -> bool:
    """Whether there is anything to write of one file of a plan: the file, or what is on record of it."""
    return each.changes or _is_news(each, plan.lock)


def _unread(plan: SeedPlan) -> list[RefusedChange]:
    """What could not be read, and is tried once more: the store keeps a copy of it, or it has been mended."""
    return [each for each in plan.refused if isinstance(each.error, DriftError) and each.name in plan.parts]


def _is_news(plan: FilePlan, lock: SeedLock) -> bool:
    """Whether other entries count as seeded after a plan than the lock has on record."""
    record = lock.records.get((plan.target, plan.source))
    old = () if record is None else record.entries
    return old is not plan.entries and Counter(each.key for each in old) != Counter(each.key for each in plan.entries)


class _Applying:
    def __init__(self, workspace: Root, plan: SeedPlan, file: SeedFile) -> None:
        self.workspace = workspace
        self.plan = plan
        self.file = file
        self.done = [each for each in plan.files if not each.changes]
        """What the lock is to say: the files that stay as they are, and each that was written."""

    def run(self) -> SeedPlan:
        """Write file after file, and the lock in any case: what was done is on record also if this is interrupted."""
        plan, again = self.plan, _unread(self.plan)
        lost = (FilePlan(each.name, plan.parts[each.name].source, UNREAD, "", ()) for each in again)
        left = tuple(each for each in plan.refused if each not in again)
        for each in left:
            if is_entity(each.name):
                attempt = gate.Attempt(self.workspace, each.name, "seed", plan.asked.actor or PERSON)
                log_attempt(self.workspace, attempt.line(0.0, each.error))
        try:
            made = apply(replace(plan, files=(*plan.files, *lost), refused=left), self._write, at_once=_AT_ONCE)
        finally:
            kept = self._write_lock()
        notes = () if kept is None else (f"what was in {LOCK_NAME} is kept as {kept}",)
        return replace(made, notes=(*made.notes, *notes))

    def _write(self, planned: FilePlan) -> FilePlan:
        """Write one file; where another text is there by now, what the seed makes of that."""
        made, plan = planned, self.plan

        def update(current: Current) -> bytes:
            nonlocal made
            document = parse_for_write(self.workspace.parse, planned.target, current.data)
            refuse_unmerged(self.workspace, planned.target, document.text)
            made = planned
            if document.text != planned.before:
                profile = self.workspace.profile(parts_of(planned.target).owner)
                made = plan_within(self.workspace, plan.asked, profile, plan.parts[planned.target], document)
            return made.after.encode()

        agent = plan.asked.actor or PERSON
        change = Change(
            op="seed", agent=agent, note=self._history_note(planned), on_drift=self.workspace.config.on_drift
        )
        snapshot = gate.commit(self.workspace, planned.target, None, update, change)
        title = on_title(self.workspace.parse(made.before), self.workspace.parse(made.after))
        notes = (*notes_on(snapshot), *(() if title is None else (title,)))
        made = replace(made, revision=snapshot.revision if made.changes else None, notes=notes)
        self.done.append(made)
        return made

    def _history_note(self, planned: FilePlan) -> dict[str, Any]:
        """From where it is seeded, and how old its entries without a date are."""
        read, known = self.plan.read[planned.source], self.plan.clocks.get(planned.target, {})
        note = {"source": planned.source, "source_revision": read.revision, "source_digest": read.digest}
        keys = [body_key(each.version.body) for each in self.plan.parts[planned.target].slice] if known else []
        clocks = {key: known[key] for key in keys if key in known}
        return {**note, CLOCKS: clocks} if clocks else note

    def _write_lock(self) -> str | None:
        lock, day = self.plan.lock, min(self.plan.asked.day, clock.today())
        news = [(each, self.plan.read[each.source]) for each in self.done if _is_news(each, lock)]
        records = [
            *(replace(each, entries=()) for each in self.plan.gone),
            *(
                SeedRecord(each.target, each.source, read.revision, read.digest, day, each.entries)
                for each, read in news
            ),
        ]
        return self.file.write(self.plan.lock_data, lock.put(records)) if records else None


# --- for the memory tool -------------------------------------------------------------------------------------------

_MOST_ROWS = 50


def seed_answer(done: SeedPlan) -> dict[str, Any]:
    """What a profile that seeded others from its own files sees of it: numbers, and no texts."""
    refused = [each for each in done.refused if is_entity(each.name)]
    # What needs a look comes first, then what changed.
    files = sorted(done.files, key=lambda each: 0 if each.conflicts else 1 if each.revision is not None else 2)
    rows = [*({"entity": each.name, "refused": each.error.code} for each in refused), *map(_row, files)]
    answer: dict[str, Any] = {"success": not done.refused, "action": "seed", "source": done.asked.source}
    answer |= {"files": rows[:_MOST_ROWS]}
    answer |= {"files_left_out": len(rows) - _MOST_ROWS} if len(rows) > _MOST_ROWS else {}
    if done.lock.notes:
        answer["note"] = f"{LOCK_NAME} is not whole: entries were added and none was taken away. Tell a person."
    answer |= {"warnings": list(done.warnings)} if done.warnings else {}
    if done.refused:
        wrong = counted(len(done.refused) - len(refused), "profile")
        answer |= {
            "error": f"{len(refused)} of {counted(len(rows), 'file')} and {wrong} were not seeded",
            "reason": done.errors[0].code,
            "remediation": "The others were seeded. Do not try again now: a person has to look at these.",
        }
    written = sum(each.revision is not None for each in done.files)
    said = f"{written} written, {len(done.files) - written} unchanged, {len(refused)} refused."
    if conflicts := sum(len(each.conflicts) for each in done.files):
        said += f" {conflicts} in conflict: the targets' entries stay, and a person settles it."
    return {**answer, "message": said}


def _row(plan: FilePlan) -> dict[str, Any]:
    settled = 0 if plan.conflicts else plan.count("conflict")
    return {
        "entity": plan.target,
        "added": plan.count("new"),
        "changed": plan.count("changed_in_source", "changed_in_both") + settled,
        "removed": plan.count("removed_from_source"),
        "conflicts": len(plan.conflicts),
        "left_out": len(plan.withheld),
        "revision": plan.revision,
    }
