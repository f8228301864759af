"""Copy the entities of a root from one store to another, with all that they ever were, and compare every revision.

The source is only read, and one revision at a time is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import cast

from catmem import clock
from catmem.config.profile import named_entities, profile_names, refuse_no_root
from catmem.digest import bytes_digest
from catmem.errors import ConfigError, StoreError, UnreadableError
from catmem.store.contract import EXTERNAL, LastingStore, Revision, Store, not_empty
from catmem.text import few
from catmem.workspace.root import Root
from catmem.workspace.stores import backend_of, open_store, refuse_no_store


@dataclass(frozen=True, slots=True)
class CopiedEntity:
    """An entity that was copied; ``adopted``: the last revision holds what the source has in its file alone."""

    entity: str
    revisions: int
    head: str
    digest: str
    branches: tuple[str, ...] = ()
    adopted: bool = False


def copy_root(workspace: Root, source: str, target: str) -> list[CopiedEntity]:
    """Copy all entities of a root, recorded or not, from one store to another; both are said as in catmem.yaml."""
    refuse_no_root(workspace.config)
    for where in (source, target):
        refuse_no_store(where)
    first, second = (replace(workspace.config, store=where) for where in (source, target))
    from_file, to_file = (backend_of(config).file(config) for config in (first, second))
    if source == target or (from_file is not None and from_file == to_file):
        hint = "Name two stores, for example files and sqlite:///.catmem/memory.db."
        raise ConfigError("a store cannot be copied to itself", code="same_store", hint=hint)
    if from_file is not None and not from_file.is_file():
        raise UnreadableError("no such file", code="missing", path=from_file, hint="Nothing was copied.")
    settle = backend_of(first).settling(first)
    with closing(store_at(workspace, source)) as from_store, closing(store_at(workspace, target)) as to_store:
        names = sorted({*from_store.entities(), *named_entities(workspace.config)})
        left = sorted((from_store.rows().keys() - set(names)) | {each for each in names if from_store.bad_rows(each)})
        if left:
            raise StoreError(
                f"rows of {few(left)} are of no profile, or no entries",
                code="bad_rows",
                hint="Nothing was copied. 'catmem fsck', where this store is that of the root, says what is wrong with "
                "each. Mend or delete them.",
            )
        copied = copy_entities(from_store, to_store, names)
    if copied and to_file is not None:
        with closing(store_at(workspace, target, is_own=True)) as own:
            cast("LastingStore", own).mend()  # the root knows it from now on: a lost one is not made anew
    # Until one of them is written to, the files have all that is in the database.
    settle = backend_of(second).settling(second) if backend_of(first).has_files else settle
    settle()
    return copied


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """What a store keeps of an entity: the newest revision, how many there are, and the branches to be merged."""

    entity: str
    head: str
    revisions: int
    branches: tuple[str, ...]
    generation_observed: int | None
    generation_actual: int | None


def store_info(store: Store) -> list[StoredEntity]:
    """What a store keeps, entity by entity."""
    heads = {entity: store.head(entity) for entity in store.entities()}
    generations = store.generations()
    return [
        StoredEntity(
            entity,
            head.revision if head else "0",
            sum(1 for _ in store.log(entity)),
            tuple(sorted(each.revision for each in store.branches(entity) if each.is_branch and not each.is_proposal)),
            *generations.get(entity, (None, None)),
        )
        for entity, head in heads.items()
    ]


def copy_entities(source: Store, target: Store, entities: Sequence[str]) -> list[CopiedEntity]:
    """Copy the histories of ``entities``; those that have none, and no text, are left out."""
    there = [each for each in entities if source.head(each) is not None or source.peek(each)]
    for entity in there:
        if target.head(entity) is not None:
            raise not_empty(entity)
        if target.peek(entity) not in {b"", source.peek(entity)}:
            raise not_empty(entity, "a text that no record has")
    return [_copy(source, target, each) for each in there]


def _copy(source: Store, target: Store, entity: str) -> CopiedEntity:
    begun = clock.timestamp(clock.now())
    target.import_history(entity, _history(source, entity, begun))
    where = _first_difference(_history(source, entity, begun), target.replay(entity))
    if where is not None:
        raise _differs(entity, f"at revision {where}")
    copied = _copied(source, entity)
    head, now = target.head(entity), target.read(entity)
    if head is None or (head.revision, head.digest, now.digest) != (copied.head, copied.digest, copied.digest):
        raise _differs(entity, "in its newest revision")
    if _branches(target, entity) != copied.branches:
        raise _differs(entity, "in its branches")
    return copied


def _history(source: Store, entity: str, begun: str) -> Iterator[tuple[Revision, bytes]]:
    """Every revision with its bytes, and as the last what others wrote since, as a revision of ``external``."""
    newest: str | None = None
    for recorded, data in source.replay(entity):
        if bytes_digest(data) != recorded.digest:
            raise StoreError(
                f"{entity}: the bytes of revision {recorded.revision} are not those that were recorded",
                code="copy_differs",
                hint="The source is damaged there, and nothing of this entity was copied. catmem fsck says more.",
            )
        if not recorded.is_branch:
            newest = recorded.revision
        yield recorded, data
    now = source.read(entity)
    if now.revision is None:
        adopted = Revision(
            entity=entity,
            revision=str(int(newest or "0") + 1),
            parents=() if newest is None else (newest,),
            sequence=0,
            timestamp=begun,
            op="adopt",
            agent=EXTERNAL,
            op_id=f"unrecorded-{now.digest.removeprefix('sha256:')[:32]}",
            digest=now.digest,
            size=len(now.data),
            note={"while": "copy"},
        )
        yield adopted, now.data


def _first_difference(wanted: Iterator[tuple[Revision, bytes]], found: Iterator[tuple[Revision, bytes]]) -> str | None:
    """The first revision in which two histories differ, in its record or its bytes."""
    for ours, theirs in zip_longest(wanted, found):
        if ours is None or theirs is None:
            return str((ours or theirs)[0].revision)
        if ours != (replace(theirs[0], sequence=ours[0].sequence), theirs[1]):  # the sequence is the store's own
            return ours[0].revision
    return None


def _copied(source: Store, entity: str) -> CopiedEntity:
    count, head, now = sum(1 for _ in source.log(entity)), source.head(entity), source.read(entity)
    adopted = now.revision is None
    revision = str(int(head.revision if head else "0") + adopted)
    return CopiedEntity(entity, count + adopted, revision, now.digest, _branches(source, entity), adopted)


def _branches(store: Store, entity: str) -> tuple[str, ...]:
    return tuple(sorted(each.revision for each in store.branches(entity) if each.is_branch))


def _differs(entity: str, where: str) -> StoreError:
    return StoreError(
        f"{entity}: the copy is not what the source has, {where}",
        code="copy_differs",
        hint="A program may have written meanwhile. The source is as it was. Stop what writes to it, and copy to an "
        "empty store.",
    )


def store_at(workspace: Root, where: str, *, is_own: bool = False) -> Store:
    """The store ``where`` (``files``, ``sqlite:///…``, ``postgresql://…``) of a root, whatever its catmem.yaml says."""
    refuse_no_store(where)
    config = replace(workspace.config, store=where)
    return open_store(config, workspace.profile, profile_names(config.profiles_dir), workspace.parse, is_own=is_own)
