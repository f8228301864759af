"""What was: the revisions of an entity, its text at each, and the way back to one of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catmem.digest import bytes_digest
from catmem.errors import ConfigError, ForbiddenError, StoreError, UnknownNameError
from catmem.policy.rights import Rights
from catmem.policy.schema import suggestion
from catmem.service import gate
from catmem.service.stores import FILE_NAMES
from catmem.service.writing.budget import Usage, limit_of, size_of
from catmem.service.writing.expected import checked_expected
from catmem.service.writing.remarks import on_adoption
from catmem.service.writing.writer import Written
from catmem.store.contract import Change, sees, stale

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.service.workspace import Workspace
    from catmem.store.contract import Current, Revision


@dataclass(frozen=True, slots=True)
class Replayed:
    """One revision that ``replay`` wrote out."""

    entity: str
    revision: str
    path: Path
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """The revision as JSON-ready data."""
        return {"entity": self.entity, "revision": self.revision, "path": str(self.path), "digest": self.digest}


def entity_of(workspace: Workspace, name: str) -> str:
    """The entity that a person means: ``trinity/user``, or ``trinity`` for the same.

    Raises ``UnknownNameError``, with the nearest name.
    """
    owner, _, target = name.partition("/")
    target = target or "user"
    if target not in FILE_NAMES:
        raise UnknownNameError(
            f"{target!r} is not a target",
            code="unknown_target",
            hint=suggestion(target, FILE_NAMES, "targets"),
        )
    return f"{workspace.profile(owner).name}/{target}"


def log(workspace: Workspace, entity: str, limit: int | None = None) -> list[Revision]:
    """The revisions of an entity, the newest first, at most ``limit``."""
    return list(islice(workspace.store.log(entity_of(workspace, entity)), limit))


def text_at(workspace: Workspace, entity: str, revision: str | None = None) -> bytes:
    """The bytes of an entity at a revision, or as they are now. Raises ``UnknownRevisionError``."""
    return workspace.store.read(entity_of(workspace, entity), revision).data


def restore(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Workspace,
    entity: str,
    revision: str,
    *,
    expected: str | int | None = None,
    dry_run: bool = False,
    actor: str | None = None,
) -> Written:
    """Write the bytes of an old revision again, as a new one; what is there now stays in the history.

    Only a person and a tier-1 profile may. Raises ``ForbiddenError``, ``UnknownRevisionError`` and ``RefusedError``.
    """
    if actor is not None:
        refuse_bounded(workspace, actor, "restore old revisions")
    name, seen = entity_of(workspace, entity), checked_expected(expected)
    old = workspace.store.read(name, revision).data
    before = workspace.store.read(name)
    data, found, digest, adopted = before.data, before.revision, bytes_digest(old), None
    if dry_run:
        if seen is not None and not sees(seen, before.revision, before.digest):
            if not seen.startswith("sha256:"):
                workspace.store.read(name, seen)  # says so if there is no such revision
            raise stale(name, seen, before.revision or before.digest)
    else:

        def update(current: Current) -> bytes:
            nonlocal data
            data = current.data
            return old

        change = Change(op="restore", agent=actor or "person", note={"restored": revision})
        written = gate.commit(workspace, name, seen, update, change)
        found, digest, adopted = written.revision, written.digest, written.adopted
    owner, _, target = name.partition("/")
    text = _text(old)
    return Written(
        entity=name,
        revision=found,
        digest=digest,
        changed=data != old,
        before=_text(data),
        after=text,
        entries=(),
        usage=Usage(size_of(text), limit_of(workspace.profile(owner), target, workspace.config)),
        notes=(on_adoption(adopted),) if adopted else (),
        adopted=adopted,
    )


def replay(workspace: Workspace, to: Path, entity: str | None = None) -> list[Replayed]:
    """Rebuild every revision from the journals and write it as ``TO/<profile>/<FILE>/<revision>.md``.

    ``to`` must be new or empty. Raises ``StoreError``; what was rebuilt until then stays there.
    """
    names = [entity_of(workspace, entity)] if entity else all_entities(workspace)
    try:
        to.mkdir(parents=True, exist_ok=True)
        if any(to.iterdir()):
            raise ConfigError(
                "the folder is not empty", code="not_empty", path=to, hint="Name a new folder, or an empty one."
            )
        return [done for name in names for done in _replayed(workspace, to, name)]
    except OSError as error:
        raise StoreError(
            f"cannot be written: {error.strerror or error}",
            code="not_writable",
            path=to,
            hint="Nothing of the root was touched. Check the rights of the folder and the space on the disk.",
        ) from error


def _replayed(workspace: Workspace, to: Path, entity: str) -> Iterator[Replayed]:
    owner, _, target = entity.partition("/")
    folder = to / owner / Path(FILE_NAMES[target]).stem
    for revision, data in workspace.store.replay(entity):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{revision.revision}.md"
        path.write_bytes(data)
        yield Replayed(entity, revision.revision, path, revision.digest)


def refuse_bounded(workspace: Workspace, actor: str, what: str) -> None:
    """Raise ``ForbiddenError`` unless the profile ``actor`` may do anything: what it asks for spans all categories."""
    if not Rights(workspace.profile(actor), "user", workspace.config.taxonomy).unbounded:
        raise ForbiddenError(f"{actor} may not {what}", hint="A person may, and a tier-1 profile.")


def all_entities(workspace: Workspace) -> list[str]:
    """The entities of all profiles of the root, whether they were ever written or not."""
    return [f"{name}/{target}" for name in workspace.profiles() for target in FILE_NAMES]


def _text(data: bytes) -> str:
    """Bytes for a person to look at; what is no UTF-8 is shown as escapes."""
    return data.decode(errors="backslashreplace")
