"""From each version of the tables to the next: statements that SQLite and PostgreSQL both know."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STEPS: Mapping[int, Sequence[str]] = {
    # Version 2 shows in memory_meta when an entity was last written.
    1: (
        "ALTER TABLE memory_meta ADD COLUMN updated_at TEXT",
        (
            "UPDATE memory_meta SET updated_at = (SELECT timestamp FROM mem_log "
            "WHERE mem_log.entity = memory_meta.entity AND mem_log.sequence = memory_meta.head)"
        ),
        "UPDATE catmem_schema SET version = 2",
    ),
    # Version 3 has a safer function behind PostgreSQL's triggers. ``schema.make_ready`` makes it, as wherever the
    # triggers are not as they must be.
    2: ("UPDATE catmem_schema SET version = 3",),
}
"""What brings tables of a version to the next one; each step ends in saying so."""
