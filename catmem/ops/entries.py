"""Operations on entries: add, replace, remove, move, verify."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from catmem.ops.shared import Actor, AllowSecret, FoundTarget, How, NarrowCategory, Profile, Target
from catmem.ops.table import ONLY_COMMAND, Call, Outcome, P, UsageError, operation

if TYPE_CHECKING:
    from catmem.model.document import Entry
    from catmem.writing.written import Written

_OLD = Annotated[str, P(argument=True, metavar="OLD", stdin=True)]
_WRITTEN = {"entries": "array", "changed": "boolean"}


def _outcome(written: "Written", how: How) -> Outcome:
    return Outcome(written, {**written.to_dict(), "dry_run": how["dry_run"] or False})


@operation(
    "add",
    examples=(
        "catmem add -p trinity -c workflow-rules-finance 'Vendor is Acme Ltd.'",
        "catmem add -p trinity -c workflow-rules-finance --tag expires=2026-12-31 'Travel goes to cost centre 410.'",
        "catmem add -p trinity -c workflow-rules-finance --tag domain=finance - < fact.txt",
    ),
)
def add(
    call: Call,
    *,
    content: Annotated[str, P(argument=True, metavar="TEXT", stdin=True)],
    profile: Profile,
    actor: Actor = None,
    target: FoundTarget = None,
    category: Annotated[
        str | None,
        P(
            "Where it goes. By default the one category that the profile of --as may write; in a file without "
            "sections it needs none.",
            "-c --category",
            metavar="SLUG",
        ),
    ] = None,
    tags: Annotated[
        dict[str, Any] | None,
        P("A tag; KEY=[a, b] for a list. Can be given several times.", "--tag", metavar="KEY=VALUE", tags=True),
    ] = None,
    as_of: Annotated[
        date | None,
        P("The day for its tag created, YYYY-MM-DD. By default today.", metavar="DATE", at=ONLY_COMMAND),
    ] = None,
    allow_secret: AllowSecret = False,
    **how: Unpack[How],
) -> Outcome:
    """Add an entry with the words of TEXT, which may be - for stdin.

    The same words are not added to a category twice. A TEXT that begins with - goes behind -- or comes from stdin.
    """
    given = {key: value for key, value in (tags or {}).items() if value is not None}
    if len(given) != len(tags or {}):
        raise UsageError("--tag KEY= without a value takes a tag away, and a new entry has none yet.")
    more: dict[str, Any] = {"actor": actor, "allow_secret": allow_secret, **how}
    done = call.root.add(profile, content, target=target, category=category, tags=given or None, as_of=as_of, **more)
    return _outcome(done, how)


@operation(
    "replace",
    examples=(
        "catmem replace -p trinity 'Vendor is Acme' 'Vendor is Zenith Ltd.'",
        "catmem replace -p trinity 'Vendor is' --tag domain=finance --tag owner=",
    ),
)
def replace(
    call: Call,
    *,
    old: _OLD,
    new: Annotated[str | None, P(argument=True, metavar="[NEW]", stdin=True)] = None,
    profile: Profile,
    actor: Actor = None,
    target: FoundTarget = None,
    category: NarrowCategory = None,
    tags: Annotated[
        dict[str, Any] | None,
        P(
            "A tag to set; KEY=[a, b] for a list, KEY= to take it away. Can be given several times; other tags stay.",
            "--tag",
            metavar="KEY=VALUE",
            tags=True,
        ),
    ] = None,
    confirm: Annotated[
        bool, P("Write NEW also if it has little in common with the entry (see semantic_alert).")
    ] = False,
    allow_secret: AllowSecret = False,
    **how: Unpack[How],
) -> Outcome:
    """Give the entry that holds OLD the words of NEW. Its tags stay, but for verified_date: new words are not verified.

    Without NEW only tags change.

    OLD is a piece of its text that no other entry holds, or its id. One of OLD and NEW may be - for stdin.
    """
    if new is None and tags is None:
        raise UsageError("Give the new words, or tags with --tag, or both.")
    more: dict[str, Any] = {"actor": actor, "allow_secret": allow_secret, **how}
    done = call.root.replace(profile, old, new, target=target, category=category, tags=tags, confirm=confirm, **more)
    return _outcome(done, how)


@operation("remove", examples=("catmem remove -p trinity 'Book travel to cost centre'",))
def remove(
    call: Call,
    *,
    old: _OLD,
    profile: Profile,
    actor: Actor = None,
    target: FoundTarget = None,
    category: NarrowCategory = None,
    **how: Unpack[How],
) -> Outcome:
    """Remove the entry that holds OLD: a piece of its text that no other entry holds, its id, or - for stdin.

    It stays in the history: 'catmem restore' brings it back, and 'catmem purge' is for what must be forgotten.
    """
    more: dict[str, Any] = {"actor": actor, **how}
    return _outcome(call.root.remove(profile, old, target=target, category=category, **more), how)


@operation("move", examples=("catmem move -p trinity 'Silence is not approval' -c workflow-rules-finance",))
def move(
    call: Call,
    *,
    old: _OLD,
    profile: Profile,
    actor: Actor = None,
    target: FoundTarget = None,
    category: Annotated[str, P("Where it goes.", "-c --category", metavar="SLUG")],
    source: Annotated[str | None, P("Look for the entry in this category only.", "--from", metavar="SLUG")] = None,
    **how: Unpack[How],
) -> Outcome:
    """Put the entry that holds OLD into another category of the same file, with its tags.

    OLD is a piece of its text that no other entry holds, its id, or - for stdin.
    """
    more: dict[str, Any] = {"actor": actor, **how}
    return _outcome(call.root.move(profile, old, category, target=target, category=source, **more), how)


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification of many entries did, file by file, each with the entries that were not verified before."""

    files: Sequence[tuple["Written", Sequence["Entry"]]]
    dry_run: bool

    @property
    def count(self) -> int:
        """How many entries."""
        return sum(len(entries) for _, entries in self.files)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        files = [written.to_dict() for written, _ in self.files]
        return {"verified": self.count, "files": files, "dry_run": self.dry_run}


@operation(
    "verify",
    examples=(
        "catmem verify -p trinity 'Vendor is Acme'",
        "catmem verify -p neo --as-of 2026-11-02 uv",
        "catmem verify -p trinity --all -c approval-conventions --dry-run",
        "catmem verify -p neo --search 'package manager'",
        "catmem verify -p neo uv --evidence 'uv.lock at 4f2c1d'",
    ),
)
def verify(
    call: Call,
    *,
    old: Annotated[str | None, P(argument=True, metavar="[OLD]", stdin=True)] = None,
    whole_category: Annotated[bool, P("Every entry of the category that -c names.", "--all", at=ONLY_COMMAND)] = False,
    query: Annotated[
        str | None,
        P("Every entry that the profile sees and that has all words of QUERY.", "--search", metavar="QUERY"),
    ] = None,
    profile: Profile,
    actor: Actor = None,
    target: Annotated[
        Target | None,
        P(
            "USER.md or MEMORY.md. By default the one that holds the entry; with --all and --search both.",
            "-t --target",
        ),
    ] = None,
    category: NarrowCategory = None,
    as_of: Annotated[
        date | None,
        P(
            "The day on which it was found to hold, YYYY-MM-DD: not before its last verification and not after today, "
            "which is the default.",
            metavar="DATE",
        ),
    ] = None,
    evidence: Annotated[
        str | None, P("What it was checked against; the history keeps it, and catmem log shows it.", metavar="TEXT")
    ] = None,
    allow_secret: AllowSecret = False,
    **how: Unpack[How],
) -> Outcome:
    """Say that the entry that holds OLD still holds: its tag verified_date becomes the day.

    OLD is a piece of its text that no other entry holds, its id, or - for stdin. --all and --search take the place of
    OLD: they verify many entries, in one revision a file, and --dry-run lists them.
    """
    _refuse_mixture(old, query, category, whole_category=whole_category)
    more: dict[str, Any] = {"actor": actor, "allow_secret": allow_secret, "evidence": evidence, "as_of": as_of, **how}
    if old is not None:
        written = call.root.verify(profile, old, target=target, category=category, **more)
        _tell_of_source(call, [written])
        return _outcome(written, how)
    done = call.root.verify_all(profile, target=target, category=category, query=query, **more)
    _tell_of_source(call, done)
    newly = [(each, list(_newly(call, each)) if evidence is None else each.entries) for each in done]
    return Outcome(Verified(newly, how["dry_run"] or False))


def _refuse_mixture(old: str | None, query: str | None, category: str | None, *, whole_category: bool) -> None:
    given = [name for name, is_given in (("OLD", old), ("--all", whole_category), ("--search", query)) if is_given]
    if old == "" or query == "":
        given.append("OLD" if old == "" else "--search")
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other: each says which entries are meant.")
    if not given:
        raise UsageError("Say which entries: OLD for one, --all -c CATEGORY, or --search QUERY.")
    if whole_category and category is None:
        raise UsageError("--all needs -c CATEGORY, whose entries it verifies.")


def _tell_of_source(call: Call, done: Sequence["Written"]) -> None:
    """Where to verify the sources of seeded copies: a review asks there, and a seed brings the answer to all copies."""
    from catmem.seeding.lockfile import copies_in

    for written in () if call.for_program else done:
        said = {(entry.category, entry.body) for entry in written.entries}
        before = call.root.parse(written.before).entries
        copies = copies_in(
            call.root, written.entity, [each.id for each in before if (each.category, each.body) in said]
        )
        for entry, source in ((entry, each) for entry, sources in copies.items() for each in sorted(sources)):
            command = "catmem verify -p {} -t {}".format(*source.split("/"))
            call.tell(f"this is a copy of {source}: verify it there, too ({command} {entry}), then 'catmem seed --all'")


def _newly(call: Call, written: "Written") -> Iterator["Entry"]:
    # Some may have had the day.
    before = {(entry.category, entry.id) for entry in call.root.parse(written.before).entries}
    return (entry for entry in written.entries if (entry.category, entry.id) not in before)
