"""Operations on entries: add, replace, remove, move, verify."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Annotated, Any

from catmem.errors import CatmemError, EditError, NoMatchError
from catmem.ops.shared import ADDED, CHANGED, WORDED, NarrowCategory
from catmem.ops.table import Call, Option, Outcome, P, Tool, UsageError, operation
from catmem.workspace.profile_memory import read_memory
from catmem.writing.request import Operation, Request, asked_by, is_digest, placed_expected

_WHICH = "Text only it has, or its id."
_OLD = Annotated[str, P(argument=True, metavar="OLD", stdin=True, called="old_text", brief=_WHICH)]
_TAGS = {"additionalProperties": {"type": ["string", "array", "null"], "items": {"type": "string"}}}


def write(call: Call, *asked: Operation) -> Outcome:
    """Make changes as one revision, as ``call.how`` says; the outcome has the ``Written``. Raises what refuses them.

    In a conversation of a model the file may be found by what the changes mean, and the guard asks what it was shown.
    """
    from catmem.writing.drift_guard import shown_rows
    from catmem.writing.write import write_operations

    how, session = call.how, call.session
    profile, operations = how.pop("profile"), asked
    if session is not None:
        operations, how["expected"] = placed_expected(operations, how["expected"])
        call.values["expected"] = how["expected"]
        how["target"] = _target_meant(call, operations, how["target"], how["expected"])
        how |= {"session": session, "proposes": session.proposes}
    try:
        written = write_operations(call.root, profile, operations, **how)
    except NoMatchError as error:
        if call.actor is None:
            error.hint = _hint_on_category(call, profile, operations) or error.hint
        raise
    return Outcome(written, shows=shown_rows)


def _hint_on_category(call: Call, profile: str, operations: Sequence[Operation]) -> str:
    """Which category was meant, if a slip in its name is why no entry was found; else nothing."""
    named = [each.category for each in operations if each.category is not None]
    with suppress(CatmemError):  # a file that was not asked for: this is a hint beside the error
        return " ".join(read_memory(call.root, profile).category_hints(named))
    return ""


def _target_meant(call: Call, operations: Sequence[Operation], target: str | None, expected: str | int | None) -> str:
    """The file that a model's changes mean, which an answer shows if they are refused."""
    from catmem.writing import gate
    from catmem.writing.entry_write import policy_of_meant_file

    profile, is_open = str(call.actor), target is None and expected is None
    with gate.checks(
        call.root, f"{profile}/{'*' if is_open else target or 'user'}", op=asked_by(operations), agent=profile
    ):
        if expected is not None and is_digest(str(expected)) and not call.rights().unbounded:
            # From a profile that does not see the whole file it may be a guess at it.
            raise EditError(
                "expected is a digest, and has to be a revision here",
                code="bad_expected",
                hint="Give the revision that an answer named, or leave expected out.",
            )
        if is_open:
            asked = Request(profile, tuple(operations), profile=profile, op_id=call.values.get("op_id"))
            target = policy_of_meant_file(call.root, asked, call.root.profile(profile)).target
    call.values["target"] = target or "user"
    return target or "user"


@operation("operations", writes=CHANGED)
def several(call: Call, *, operations: Annotated[list[Any], P(brief="Several changes, all or none.")]) -> Outcome:
    """Make several changes as one revision."""
    return write(call, *operations)


@operation(
    "add",
    writes=ADDED,
    examples=(
        "catmem add -p trinity -c workflow-rules-finance 'Vendor is Acme Ltd.'",
        "catmem add -p trinity -c workflow-rules-finance --tag expires=2026-12-31 'Travel goes to cost centre 410.'",
        "catmem add -p trinity -c workflow-rules-finance --tag domain=finance - < fact.txt",
    ),
    tool=Tool(
        "Add to memory",
        "Remember one fact. A text that is there is not added again.",
        writes=True,
        repeats=True,
        into=True,
    ),
)
def add(
    call: Call,
    *,
    content: Annotated[str, P(argument=True, metavar="TEXT", stdin=True, brief="The fact, in a sentence or two.")],
    category: Annotated[
        str | None,
        P(
            "Where it goes. By default the one category that the profile of --as may write; in a file without "
            "sections it needs none.",
            brief="Where it goes.",
        ),
    ] = None,
    tags: Annotated[
        dict[str, Any] | None,
        P("A tag; KEY=[a, b] for a list. Repeatable.", tags=True, form=_TAGS, brief="By name: {given_tags}."),
    ] = None,
    as_of: Annotated[date | None, Option("The day for its tag created, YYYY-MM-DD. By default today.")] = None,
) -> Outcome:
    """Add an entry with the words of TEXT, which may be - for stdin.

    The same words are not added to a category twice. Write a TEXT that begins with - behind --, or give it on stdin.
    """
    if call.interface == "command" and None in (tags or {}).values():
        raise UsageError("--tag KEY= without a value takes a tag away, and a new entry has none yet.")
    return write(call, Operation("add", content=content, category=category, tags=tags, as_of=as_of))


@operation(
    "replace",
    writes=WORDED,
    examples=(
        "catmem replace -p trinity 'Vendor is Acme' 'Vendor is Zenith Ltd.'",
        "catmem replace -p trinity 'Vendor is' --tag domain=finance --tag owner=",
    ),
    tool=Tool("Replace in memory", "Give one entry other text or tags.", writes=True, destroys=True),
)
def replace(
    call: Call,
    *,
    old: _OLD,
    new: Annotated[
        str | None, P(argument=True, stdin=True, called="content", brief="The new text; without it only tags change.")
    ] = None,
    category: NarrowCategory = None,
    tags: Annotated[
        dict[str, Any] | None,
        P(
            "A tag to set; KEY=[a, b] for a list, KEY= to take it away. Repeatable; other tags stay.",
            tags=True,
            form=_TAGS,
            brief="By name; null takes one away.",
        ),
    ] = None,
    confirm: Annotated[
        bool,
        P(
            "Write NEW also if it has little in common with the entry (see semantic_alert).",
            brief="After semantic_collision: write it.",
        ),
    ] = False,
) -> Outcome:
    """Give the entry that holds OLD the words of NEW. Its tags stay, but for verified_date: new words are not verified.

    Without NEW only tags change.

    OLD is a piece of its text that no other entry holds, or its id. One of OLD and NEW may be - for stdin.
    """
    if new is None and tags is None:
        raise UsageError("Give the new words, or tags with --tag, or both.")
    return write(call, Operation("replace", new, old, category, tags=tags, confirm=confirm or None))


@operation(
    "remove",
    writes=CHANGED,
    examples=("catmem remove -p trinity 'Book travel to cost centre'",),
    tool=Tool("Remove from memory", "Remove one entry that is wrong or of no use.", writes=True, destroys=True),
)
def remove(call: Call, *, old: _OLD, category: NarrowCategory = None) -> Outcome:
    """Remove the entry that holds OLD: a piece of its text that no other entry holds, its id, or - for stdin.

    It stays in the history, and 'catmem restore' brings it back. To erase a text for good, use 'catmem purge'.
    """
    return write(call, Operation("remove", old_text=old, category=category))


@operation(
    "move",
    writes=CHANGED,
    examples=("catmem move -p trinity 'Silence is not approval' -c workflow-rules-finance",),
    tool=Tool(
        "Move in memory",
        "Put one entry into another category; its text and tags stay.",
        writes=True,
        destroys=True,
        into=True,
    ),
)
def move(
    call: Call,
    *,
    old: _OLD,
    category: Annotated[str, P("Where it goes.")],
) -> Outcome:
    """Put the entry that holds OLD into another category of the same file, with its tags.

    OLD is a piece of its text that no other entry holds, its id, or - for stdin.
    """
    return write(call, Operation("move", old_text=old, to_category=category))


@operation(
    "verify",
    writes=WORDED,
    examples=(
        "catmem verify -p trinity 'Vendor is Acme'",
        "catmem verify -p neo --as-of 2026-11-02 uv",
        "catmem verify -p neo uv --evidence 'uv.lock at 4f2c1d'",
    ),
    tool=Tool(
        "Verify memory",
        "Say that one entry was checked today and still holds.",
        writes=True,
        repeats=True,
        without=frozenset({"op_id", "reason"}),
    ),
)
def verify(
    call: Call,
    *,
    old: _OLD,
    category: NarrowCategory = None,
    as_of: Annotated[
        date | None,
        Option(
            "The day on which it was found to hold, YYYY-MM-DD: not before its last verification and not after today, "
            "which is the default."
        ),
    ] = None,
    evidence: Annotated[
        str | None,
        P(
            "What it was checked against; the history keeps it, and catmem log shows it.",
            brief="The source you checked.",
        ),
    ] = None,
) -> Outcome:
    """Say that a fact still holds: the entry with OLD gets the day as its verified_date.

    OLD is a piece of its text that no other entry holds, its id, or - for stdin.
    """
    return write(call, Operation("verify", old_text=old, category=category, as_of=as_of, evidence=evidence))
