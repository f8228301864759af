"""Runs in an environment with cheetahclaws, HOME being a scratch folder: save some memories as its own tool does."""

from __future__ import annotations

from cheetahclaws.memory.store import MemoryEntry, save_memory

MEMORIES = [
    {
        "name": "Testing preference",
        "description": "integration tests hit a real database",
        "type": "feedback",
        "content": "Integration tests hit a real database, never mocks.\n**Why:** a mocked migration passed and broke.\n**How to apply:** use the fixture `db`.",
        "created": "2026-04-02",
        "last_verified": "2026-05-20",
        "confidence": 0.8,
        "source": "model",
        "last_used_at": "2026-06-01",
        "conflict_group": "testing",
    },
    {
        "name": "User role",
        "description": "data scientist, new to the frontend",
        "type": "user",
        "content": "The user is a data scientist and new to the frontend.",
        "created": "2026-04-01",
    },
    {
        "name": "Release freeze",
        "description": "no merges after Thursday",
        "type": "project",
        "content": "## Freeze\nNo merges after Thursday.\n§\nThe mobile team cuts its branch then.",
        "created": "2026-04-03",
    },
]

for memory in MEMORIES:
    save_memory(MemoryEntry(**memory))
