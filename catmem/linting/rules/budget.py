"""Rules on how much fits: into a file, and into a profile's prompt."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from catmem.config.access import visible_categories
from catmem.config.profile import HERMES_LIMITS, limit_of
from catmem.linting.diagnostic import Finding
from catmem.linting.rule import rule
from catmem.names import FILE_NAMES, UNCATEGORIZED
from catmem.text import size_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from catmem.config.profile import Profile
    from catmem.linting.linted import Context, LintedEntry, LintedFile

_TARGETS = {name: target for target, name in FILE_NAMES.items()}


def _limit(file: LintedFile, context: Context) -> tuple[int, str] | None:
    """The limit of a file in characters, and who sets it: its profile, the root, or Hermes Agent in its home."""
    target = file.target or _TARGETS.get(file.path.rpartition("/")[2])
    if target is None or file.error is not None:
        return None
    owner = context.profiles.get(file.owner or "")
    limit = context.config.limits.get(target) if owner is None else limit_of(owner, target, context.config)
    if limit is not None:
        return limit, "catmem.yaml" if owner is None or target not in owner.limits else f"the profile {owner.name}"
    # As written: where a profile's files are, its own folder, or the template for all, or else the path says.
    folder = (owner.memory_dir or context.config.homes) if owner is not None else file.path
    parts = (*context.config.root.parts, *folder.split("/"))
    return (HERMES_LIMITS[target], "Hermes Agent") if ".hermes" in parts else None


def _last_line(file: LintedFile, message: str, hint: str) -> Finding:
    end = size_of(file.text)
    return Finding(file.text.rfind("\n", 0, end) + 1, end, message, hint)


@rule("CM501", "file-over-limit", severity="error")
def file_over_limit(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find memory files that are longer than they may be."""
    limit, who = _limit(file, context) or (None, "")
    if limit is not None and (size := size_of(file.text)) > limit:
        message = f"the file has {size:,} characters, {size - limit:,} over its limit of {limit:,} ({who})"
        yield _last_line(file, message, "Remove or shorten entries; the first to go are expired ones.")


@rule("CM502", "near-limit", severity="hint", options={"percent": 90})
def near_limit(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find memory files that are nearly full."""
    limit, who = _limit(file, context) or (None, "")
    if limit is None:
        return
    size, percent = size_of(file.text), context.options("CM502")["percent"]
    if size <= limit and 100 * size >= percent * limit:
        message = f"the file has {size:,} of {limit:,} characters ({100 * size // limit} %; {who})"
        yield _last_line(file, message, "Remove what is stale, expired or repeated.")


@rule("CM503", "prompt-over-budget", scope="root", dated=True)
def prompt_over_budget(files: Mapping[str, LintedFile], context: Context) -> Iterator[Finding]:
    """Find profiles whose own files say more than the budget of their prompt holds."""
    owned: dict[str, dict[str, LintedFile]] = {}
    for file in files.values():
        if file.owner is not None and file.target is not None:
            owned.setdefault(file.owner, {})[file.target] = file
    for name, own in owned.items():
        profile = context.profiles.get(name)
        if profile is None or not profile.prompt.budget:
            continue
        shown = {target: _shown(file, target, profile, context) for target, file in own.items()}
        for target, budget in profile.prompt.budget.items():
            among = [(own[each].path, entry) for each in sorted(shown, reverse=True) for entry in shown[each]]
            if target != "total":
                among = [(own[target].path, entry) for entry in shown.get(target, ())]
            size, over = 0, None
            for place in among:
                size += len(place[1].body)
                over = place if over is None and size > budget else over
            if over is not None:
                path, first = over
                message = (
                    f"the entries that {name} selects have {size:,} characters, {size - budget:,} over the {target} "
                    f"budget of {budget:,} of its prompt, so some are left out"
                )
                hint = f"catmem prompt {name} --explain shows which; shorten some, or raise prompt.budget.{target}."
                yield Finding(first.start, first.end, message, hint, path=path)


def _shown(file: LintedFile, target: str, profile: Profile, context: Context) -> list[LintedEntry]:
    """What the profile selects of its own file, in the profile's order, but what has expired and is not shown then."""
    present = dict.fromkeys(entry.category for entry in file.entries)
    places = visible_categories(present, target, profile, context.taxonomy)
    drops = profile.prompt.expired == "drop"
    shown = [
        entry
        for entry in file.entries
        if entry.category in places and not (drops and context.as_of > entry.dates.get("expires", date.max))
    ]
    return sorted(shown, key=lambda each: (each.category == UNCATEGORIZED, places[each.category], each.start))
