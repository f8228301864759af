"""Putting down what became of an attempt: in the counts of the process, and in the audit log of the root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.service.no_root import is_root
from catmem.store.audit import AuditLog
from catmem.store.lasting import SIDECAR

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace
    from catmem.store.audit import Line


def audit_log(workspace: Workspace) -> AuditLog:
    """The audit log of a root, whether it was begun or not."""
    return AuditLog(workspace.root / SIDECAR)


def record(workspace: Workspace, line: Line) -> None:
    """Count an operation, and add its line to the log.

    A write is not undone or refused because of its line: where that cannot be written, a warning is logged (to stderr,
    if nobody has said where to), and the operation counts among the ``unlogged``. A folder that is no root, where there
    is nothing to write to either, gets no log.
    """
    logged = True
    if is_root(workspace.config):
        try:
            audit_log(workspace).append(line)
        except OSError as error:
            logged = False
            _warn(workspace, line, error)
    workspace.counts.add(line, logged=logged)


def _warn(workspace: Workspace, line: Line, error: OSError) -> None:
    import logging

    logging.getLogger("catmem.audit").warning(
        "%s: the audit log cannot be written (%s), so it does not tell of this %s of %s (%s)",
        workspace.root / SIDECAR,
        error.strerror or error,
        line.op,
        ascii(line.entity_id),
        line.status,
    )
