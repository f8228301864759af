"""Proposals as files for a pull request: one Markdown file each, and the approval of those that were merged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catmem.digest import content_digest
from catmem.errors import CatmemError, ProposalError, UnreadableError
from catmem.files import os_errors, read_bounded, replace_file
from catmem.text import DEFAULT_LIMITS, printable, printable_json

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.proposals.deciding import Decided
    from catmem.proposals.proposal import Proposal
    from catmem.workspace.workspace import Workspace


def export(workspace: Workspace, folder: Path, entity: str | None = None) -> list[Path]:
    """Write each proposal that can be approved now as ``ID.md`` into ``folder``; a file of that name is written anew.

    Raises as ``Workspace.proposals``, and ``UnreadableError`` (``not_writable``).
    """
    found = workspace.proposals(entity)
    files = {folder / f"{each.id}.md": file_text(each) for each in found if each.state == "waiting"}
    with os_errors("cannot be written", path=folder, hint="Choose a folder that you may write.", named=True):
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            replace_file(path, text.encode(), mode=0o644)
    return list(files)


def approve_merged(workspace: Workspace, folder: Path) -> tuple[list[Decided], list[CatmemError]]:
    """Approve each proposal whose file in ``folder`` is, byte for byte, what an export would write now.

    Returns what was approved, and why each other file was refused; one that was approved before is neither. Raises
    ``UnreadableError`` (``missing``).
    """
    if not folder.is_dir():
        raise UnreadableError("no such folder", code="missing", path=folder, hint="Check the path.")
    done: list[Decided] = []
    refused: list[CatmemError] = []
    for path in sorted(folder.glob("p-*.md")):
        try:
            data = read_bounded(path, DEFAULT_LIMITS.file_bytes, follow_symlink=False)
            found = workspace.proposal(path.stem)
            if data != file_text(found).encode():
                raise ProposalError(
                    f"this is not the file of {found.id} as an export writes it now",
                    code="not_as_exported",
                    hint="Nothing was approved by it. Export again, and review what the file says then.",
                )
            if found.state != "approved":
                done.append(workspace.approve(found.id))
        except CatmemError as error:
            error.path = str(path)
            refused.append(error)
    return done, refused


def file_text(found: Proposal) -> str:
    """The file of a proposal. Another try of the same proposal changes none of it."""
    sides = [[each and (each.category, each.text) for each in change[:2]] for change in found.changes]
    head = {"id": found.id, "entity": found.entity, "proposer": found.who, "proposed": found.timestamp[:10]}
    said = {"reason": found.reason, "checked_against": "; ".join(found.evidence)}
    # Below, what a terminal would act on is written out, which two texts may share; the digest is of one.
    head |= {key: words for key, words in said.items() if words} | {"digest": content_digest(sides)}
    lines = ["---", *(f"{key}: {printable_json(value)}" for key, value in head.items()), "---"]
    for change in found.changes:
        signed = (
            f"{sign} {line}" for sign, side in zip("-+", change, strict=False) if side for line in side.text.split("\n")
        )
        block = printable("\n".join(signed))
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block)), default=0))
        lines += ["", f"## {printable(change.place)}", "", f"{fence}diff", block, fence]
        lines += ["", "The approval verifies this entry."] if change.verifies else []
    return "\n".join([*lines, ""])
