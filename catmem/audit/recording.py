"""Lines into the audit log of a root: one for each attempt, whatever came of it."""

from __future__ import annotations

import threading

from catmem.config.profile import is_root
from catmem.store.audit_log import AuditLine, AuditLog
from catmem.store.contract import SIDECAR
from catmem.workspace.root import Root

_COUNTING = threading.Lock()


def audit_log(workspace: Root) -> AuditLog:
    """The audit log of a root, whether it was begun or not."""
    return AuditLog(workspace.root / SIDECAR)


def record(workspace: Root, line: AuditLine) -> None:
    """Add a line to the audit log of a root.

    A write is not undone or refused because of its line: where that cannot be written, a warning is logged (to stderr,
    by default), and the operation is counted in ``Root.unlogged``. A folder that is no root gets no log.
    """
    if not is_root(workspace.config):
        return
    try:
        audit_log(workspace).append(line)
    except OSError as error:
        with _COUNTING:
            workspace.unlogged[line.status] += 1
        import logging

        logging.getLogger("catmem.audit").warning(
            "%s: the audit log cannot be written (%s), so it does not tell of this %s of %s (%s)",
            workspace.root / SIDECAR,
            error.strerror or error,
            line.op,
            ascii(line.entity_id),
            line.status,
        )
