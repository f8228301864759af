"""The answers of Hermes's store, word for word, and those for what it has no answer to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from catmem.errors import CatmemError

Answer = dict[str, Any]

_PREVIEW = 80


def failure(error: str, **more: object) -> Answer:
    """A call that did nothing, and why."""
    return {"success": False, "error": error, **more}


def success(target: str, message: str, count: int, size: int, limit: int) -> Answer:
    """A call that is done."""
    return {
        "success": True,
        "done": True,
        "target": target,
        "usage": f"{percent(size, limit)}% — {size:,}/{limit:,} chars",
        "entry_count": count,
        "message": message,
        "note": "Write saved. This update is complete — do not repeat it.",
    }


def percent(size: int, limit: int) -> int:
    """How full the file is, at most 100."""
    return min(100, int((size / limit) * 100)) if limit > 0 else 0


def given_up(failures: int) -> Answer:
    """The end of a turn's tries to make room."""
    return {
        "success": False,
        "done": True,
        "error": (
            f"Memory consolidation failed {failures} times "
            "this turn. Stop retrying memory calls — leave memory unchanged for "
            "now and continue with your reply to the user. The fact can be saved "
            "in a later turn."
        ),
    }


def full(error: str, entries: Sequence[str], size: int, limit: int) -> Answer:
    """A call that was refused with the file before the agent's eyes, so that it makes room."""
    return failure(error, current_entries=[*entries], usage=f"{size:,}/{limit:,}")


def add_over_limit(content: str, size: int, limit: int) -> str:
    """No room for a new entry."""
    return (
        f"Memory at {size:,}/{limit:,} chars. "
        f"Adding this entry ({len(content)} chars) would exceed the limit. "
        f"Consolidate now: use 'replace' to merge overlapping entries into "
        f"shorter ones or 'remove' stale or less important entries (see "
        f"current_entries below), then retry this add — all in this turn."
    )


def replace_over_limit(new_size: int, limit: int) -> str:
    """No room for a longer text."""
    return (
        f"Replacement would put memory at {new_size:,}/{limit:,} chars. "
        f"Shorten the new content, or 'remove' other stale or less important "
        f"entries to make room (see current_entries below), then retry — all "
        f"in this turn."
    )


def batch_over_limit(operations: int, new_size: int, limit: int) -> str:
    """No room for what a batch comes to."""
    return (
        f"After applying all {operations} operations, memory would be at "
        f"{new_size:,}/{limit:,} chars -- over the limit. Remove or shorten more "
        f"entries in the same batch (see current_entries below), then retry."
    )


def no_match(old_text: str, entries: Sequence[str], action: str) -> Answer:
    """No entry holds the text."""
    return failure(
        f"No entry matched '{old_text}'. Check current_entries below and retry with the exact text of the entry you "
        f"want to {action}.",
        current_entries=[*entries],
    )


def several_match(old_text: str, matches: Sequence[str]) -> Answer:
    """Several entries hold the text, and they differ."""
    previews = [entry[:_PREVIEW] + ("..." if len(entry) > _PREVIEW else "") for entry in matches]
    return failure(f"Multiple entries matched '{old_text}'. Be more specific.", matches=previews)


def kept(text: str) -> str:
    """What to know of a change to an entry to which another program had appended a text."""
    return f"Another program had added this to the entry. It stays, as a separate entry: {text}"


def drift(path: Path, backup: str) -> Answer:
    """Another writer put more into one entry than the tool writes."""
    return failure(
        f"Refusing to write {path.name}: file on disk has content that "
        f"wouldn't round-trip through the memory tool (likely added by "
        f"the patch tool, a shell append, a manual edit, or a "
        f"concurrent session). A snapshot was saved to {backup}. "
        f"Resolve the drift first — either rewrite the file as a clean "
        f"§-delimited list of entries, or move the extra content out — "
        f"then retry. This guard exists to prevent silent data loss "
        f"(issue #26045).",
        drift_backup=backup,
        remediation=(
            "Open the .bak file, integrate the missing entries into the "
            "memory tool one at a time via memory(action=add, content=...), "
            "then remove or rewrite the original file to a clean state."
        ),
    )


def refused(path: Path, error: CatmemError, backup: str | None) -> Answer:
    """The file cannot be read, or not be written: what Hermes's own store takes for empty, or raises."""
    saved = f" A snapshot was saved to {backup}." if backup else ""
    more: Answer = {"drift_backup": backup} if backup else {}
    return failure(
        f"Refusing to write {path.name}: {error.message}. The file is as it was.{saved}"
        if not error.hint or "in place" not in error.hint
        else f"{path.name}: {error.message}. {error.hint}",
        **more,
        remediation=error.hint or "Nothing was written. Have a person look at the file, then retry.",
        reason=error.code,
    )
