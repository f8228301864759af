"""Rules on what is said more than once, or once so and once otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.policy.lint.diagnostic import Finding, Fix, Related
from catmem.policy.lint.removal import removal
from catmem.policy.lint.rule import rule
from catmem.policy.lint.similar import similar_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catmem.policy.lint.facts import EntryFact, FileFacts
    from catmem.policy.lint.linted import Context, LintedEntry, LintedFile, RootFacts
    from catmem.policy.profile import Profile

_FEW_OWNERS = 8


@rule("CM201", "duplicate-entry", fixes="safe")
def duplicate_entry(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries that stand twice in a file, in one category or in two.

    ## Why
    A duplicate costs its length in every prompt. Once one of the two is changed, they contradict each other. Hermes
    Agent keeps only the first of two equal entries when it writes the file.

    Two entries are equal if their words are, whatever blanks stand between and whatever their tags say.

    ## Example
    Bad:

    ```
    Vendor is Acme.
    §
    Vendor is Acme.
    ```

    Good:

    ```
    Vendor is Acme.
    ```

    ## Fix
    The safe fix removes the second if both stand in the same category, with the same text, and the second has no tags
    or the same ones. In two categories, or with different dates, a person has to choose.
    """
    del context
    document = file.document
    if document is None:
        return
    first: dict[str, LintedEntry] = {}
    for entry in file.entries:
        before = first.setdefault(entry.words, entry)
        if before is entry or not entry.words:
            continue
        fix, where = None, ""
        if before.category != entry.category:
            where = f", in the category {before.category}"
        elif before.body == entry.body and entry.tags in ({}, before.tags):
            fix = Fix((removal(document, entry),), safe=True, message="Remove this one")
        message = f"this entry stands on line {file.line(before.start)} already{where}"
        related = Related(file.path, before.start, before.end, "the first of the two")
        yield Finding(entry.start, entry.end, message, "Keep one of the two.", fix, related=(related,))


@rule("CM202", "near-duplicate", severity="hint", scope="root", options={"similarity": 0.8, "words": 5})
def near_duplicate(root: RootFacts, context: Context) -> Iterator[Finding]:
    """Find entries of one profile (or of one file that is nobody's) that say nearly the same.

    ## Why
    Agents write down what they know already, in slightly other words. Both are paid for in every prompt, and sooner or
    later only one of them is kept up to date.

    Compared are the words of the two, in USER.md and MEMORY.md alike. Entries that differ in a number are taken for two
    records of a list, not for one fact. Of entries with different dates that contradict each other CM205 speaks.

    ## Example
    Bad:

    ```
    The user prefers short answers with British spelling.
    §
    User prefers short answers with British spelling.
    ```

    Good:

    ```
    The user prefers short answers with British spelling.
    ```

    ## Fix
    Join the two. There is no fix, since each may hold a word that the other lacks.

    ## Options
    - `similarity`: the share of words in common from which on two entries count as nearly the same (0.8).
    - `words`: entries with fewer distinct words are not compared (5).
    """
    options = context.options("CM202")
    for group in _groups(root).values():
        long = [place for place in group if len(place[1].words) >= options["words"]]
        reported: set[int] = set()
        for pair in similar_pairs([fact.words for _, fact in long], options["similarity"]):
            (path, one), (other_path, other) = long[pair.first], long[pair.second]
            if pair.second in reported or one.digest == other.digest or _contradict(one, other) or _records(one, other):
                continue
            reported.add(pair.second)
            place = f"line {one.line}" if path == other_path else f"line {one.line} of {path}"
            related = Related(path, one.start, one.end, "the other of the two")
            message = f"this says nearly the same as {place} ({pair.similarity:.0%} of the words)"
            yield Finding(
                other.start, other.end, message, "Join the two into one.", related=(related,), path=other_path
            )


@rule("CM205", "contradicting-entries", scope="root", options={"similarity": 0.6, "words": 4})
def contradicting_entries(root: RootFacts, context: Context) -> Iterator[Finding]:
    """Find entries that say nearly the same with another value, at different dates.

    ## Why
    `Vendor for cloud billing is Acme` of March and `Vendor for cloud billing is Globex` of May cannot both hold, and a
    prompt with both lets the model choose. Most likely the later one was added where the earlier should have been
    replaced.

    Compared are dated entries (`verified_date`, else `created`) of one profile, and of profiles that no seeding ties
    together: what a seed has not brought over yet `catmem seed --status` shows. Entries that differ in several
    places, or in a number near their beginning, are taken for two records of a list. A contradiction in quite other
    words is not found.

    ## Example
    Bad:

    ```
    [verified_date: 2026-03-02] Vendor for cloud billing is Acme.
    §
    [verified_date: 2026-05-01] Vendor for cloud billing is Globex.
    ```

    Good:

    ```
    [verified_date: 2026-05-01] Vendor for cloud billing is Globex.
    ```

    ## Fix
    Find out which one holds, and remove the other. There is no fix: the later one need not be right.

    ## Options
    - `similarity`: the share of words in common from which on two entries are about one thing (0.6).
    - `words`: entries with fewer distinct words are not compared (4).
    """
    options = context.options("CM205")
    groups = _groups(root)
    owned = [place for key, group in groups.items() if key[0] == "owner" for place in group]
    seen: set[tuple[str, int, str, int]] = set()
    for group in [*groups.values(), owned]:
        dated = [place for place in group if place[1].day and len(place[1].words) >= options["words"]]
        for pair in similar_pairs([fact.words for _, fact in dated], options["similarity"]):
            older, newer = sorted((dated[pair.first], dated[pair.second]), key=lambda place: place[1].day or "")
            key = older[0], older[1].start, newer[0], newer[1].start
            if key in seen or not _contradict(older[1], newer[1]):
                continue
            if _seeded(_owner(root, older[0]), _owner(root, newer[0]), context.profiles):
                continue
            seen.add(key)
            yield _contradiction(older, newer)


def _contradiction(older: _Place, newer: _Place) -> Finding:
    (path, old), (newer_path, new) = older, newer
    place = f"line {new.line}" if newer_path == path else f"line {new.line} of {newer_path}"
    message = f"{place} says otherwise and is newer ({new.day} against {old.day})"
    related = Related(newer_path, new.start, new.end, f"the newer of the two, of {new.day}")
    return Finding(
        old.start, old.end, message, "Find out which holds, and remove the other.", related=(related,), path=path
    )


@rule("CM206", "duplicate-elsewhere", severity="hint", scope="root")
def duplicate_elsewhere(root: RootFacts, context: Context) -> Iterator[Finding]:
    """Find entries that stand in another file as well: the other one of the profile, or one of another profile.

    ## Why
    Two files that one prompt is made of should say a thing once. Two profiles that both keep a fact keep it up to date
    by chance: give it to the orchestrator, and seed it.

    Profiles of which one is seeded from the other, or both from a third, are meant to hold the same and are not
    compared. Nor are files that are nobody's.

    ## Example
    Bad: `Vendor is Acme.` in `homes/trinity/USER.md` and in `homes/trinity/MEMORY.md`.

    Good: it stands in one of them.

    ## Fix
    Keep one. There is no fix, since the two files are written one by one.
    """
    first: dict[str, list[tuple[str, FileFacts, EntryFact]]] = {}
    for path, facts in root.files.items():
        if facts.owner is None:
            continue
        for fact in facts.entries:
            known = first.setdefault(fact.digest, [])
            same = (
                each
                for each in known
                if each[0] != path and not _seeded(each[1].owner, facts.owner, context.profiles) and fact.size
            )
            before = next(same, None)
            if before is not None:
                other_path, _, other = before
                message = f"this entry stands in {other_path} too, on line {other.line}"
                related = Related(other_path, other.start, other.end, "the other of the two")
                yield Finding(fact.start, fact.end, message, "Keep it in one place.", related=(related,), path=path)
            if len(known) < _FEW_OWNERS and all(each[0] != path for each in known):
                known.append((path, facts, fact))


# --- across entries ------------------------------------------------------------------------------------------------

_Place = tuple[str, "EntryFact"]


def _groups(root: RootFacts) -> dict[tuple[str, str], list[_Place]]:
    """The entries of each owner, and of each file that is nobody's, with their paths."""
    groups: dict[tuple[str, str], list[_Place]] = {}
    for path, facts in root.files.items():
        key = ("file", path) if facts.owner is None else ("owner", facts.owner)
        groups.setdefault(key, []).extend((path, fact) for fact in facts.entries)
    return groups


def _owner(root: RootFacts, path: str) -> str | None:
    return root.files[path].owner


def _seeded(one: str | None, other: str | None, profiles: Mapping[str, Profile]) -> bool:
    """Whether two different profiles are tied by seeding: one from the other, or both from a third."""
    if one is None or other is None or one == other:
        return False
    sources = [profiles[name].seed_from if name in profiles else None for name in (one, other)]
    return one == sources[1] or other == sources[0] or (sources[0] is not None and sources[0] == sources[1])


def _contradict(one: EntryFact, other: EntryFact) -> bool:
    """Whether two similar entries have different dates and differ in one place, each in words of its own."""
    if not one.day or not other.day or one.day == other.day or one.digest == other.digest:
        return False
    mine, theirs = _own_words(one.words, other.words), _own_words(other.words, one.words)
    if not mine or not theirs or not (_side_by_side(mine, one.words) and _side_by_side(theirs, other.words)):
        return False
    return not _numbered(one, other)


def _side_by_side(some: Sequence[int], words: Sequence[int]) -> bool:
    """Whether some of the words stand together, with one other between them at most."""
    return words.index(some[-1]) - words.index(some[0]) <= len(some)


def _records(one: EntryFact, other: EntryFact) -> bool:
    """Whether two similar entries differ in a number: the second line of a list rather than the same fact again."""
    return any(word & 1 for word in set(one.words) ^ set(other.words))


def _numbered(one: EntryFact, other: EntryFact) -> bool:
    """Whether all that two entries differ in are numbers, the first of them near the beginning: `Server 1 is …`."""
    mine, theirs = _own_words(one.words, other.words), _own_words(other.words, one.words)
    first = min(one.words.index(mine[0]), other.words.index(theirs[0]))
    return all(word & 1 for word in (*mine, *theirs)) and 2 * first < min(len(one.words), len(other.words))


def _own_words(words: Sequence[int], others: Iterable[int]) -> list[int]:
    known = set(others)
    return [word for word in words if word not in known]
