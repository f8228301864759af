"""Roots in files for tests of the audit log, and what it says of them."""

from pathlib import Path

from catmem.audit import read_audit
from catmem.store.audit_log import AuditLine
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

PROFILES = {
    "neo": "user_memory_categories: [talk, work]\nwritable_categories: [work]\n",
    "boss": "tier: 1\nuser_memory_categories: ['*']\n",
}
TAXONOMY = "taxonomy: {categories: {talk: {}, work: {}}}\n"


def make_audited(folder: Path, config: str = "") -> Workspace:
    """A root with the profiles ``neo``, who may write to ``work``, and ``boss``, of tier 1."""
    put(folder / "catmem.yaml", f"version: 1\nlimits: {{user: 400}}\n{TAXONOMY}{config}")
    for name, text in PROFILES.items():
        put(folder / "profiles" / f"{name}.yaml", text)
    return Workspace.open(folder, search=False)


def lines(workspace: Workspace) -> list[AuditLine]:
    """The whole audit log, of which no line is damaged."""
    audit = read_audit(workspace)
    assert audit.damaged == ()
    return list(audit.lines)


def outcomes(workspace: Workspace) -> list[tuple[str, str | None]]:
    """Status and reason of each operation, the oldest first."""
    return [(line.status, line.reason) for line in lines(workspace)]
