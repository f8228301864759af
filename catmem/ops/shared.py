"""Parameters that several operations share, and what several of them tell."""

from datetime import date
from functools import partial
from typing import Annotated, Literal, NamedTuple

from catmem.names import Target, parts_of, slugify
from catmem.ops.table import NO_COMMAND, NO_TOOL, Call, Option, P
from catmem.workspace.profile_memory import Reading, emptied_text
from catmem.workspace.stores import backend_of

REVISION = {"pattern": "^([0-9]{1,12}|[1-9][0-9]{0,11}[a-z]{1,8})$"}
CATEGORY = {"minLength": 1, "maxLength": 1024}
"""What the JSON Schemas of names say."""
EITHER = "user: facts on the user; memory: notes. Default: both."
AsOf = Annotated[date | None, P("The day to judge dates by, YYYY-MM-DD. By default today.", at=NO_TOOL)]
OneFile = Annotated[Target | None, P("Only USER.md or only MEMORY.md.")]
InCategory = Annotated[str | None, P("Only this category.")]
_OF_PROFILE = partial(P, whose="profile", caller=NO_COMMAND)
Owner = Annotated[str, _OF_PROFILE("The profile whose memory this is.")]
AnyProfile = Annotated[str | None, _OF_PROFILE("The profile whose memory this is. By default that of all profiles.")]
Actor = Annotated[
    str | None, P("The profile that acts, within its rights. By default you, a person.", caller=NO_COMMAND)
]
EntityArgument = Annotated[str, P(argument=True, whose="file")]
EntityId = Annotated[
    str,
    P(
        "The entity: PROFILE/user or PROFILE/memory (PROFILE alone is PROFILE/user), or one that catmem.yaml declares.",
        argument=True,
        metavar="ENTITY",
        brief="PROFILE/user, PROFILE/memory or declared.",
        called="entity_id",
        whose="entity",
    ),
]
_PLACE = "USER.md or MEMORY.md. By default that of the entry, or of the category to add to; with --expected USER.md."
FoundTarget = Annotated[Target | None, P(_PLACE, brief="Default: both.")]
AddTarget = Annotated[Target | None, P(_PLACE, brief="user: facts on the user; memory: notes. Default: by category.")]
NarrowCategory = Annotated[str | None, P("Look for the entry in this category only.", brief="Only this one.")]
DryRun = Annotated[bool, P("Write nothing; show what would change.", at=NO_TOOL)]
Interactive = Annotated[bool, Option("Show each conflict, and ask.")]
AllowSecret = Annotated[
    bool,
    Option(
        "Store text that holds a key, a token or a password. Else a terminal asks you, and elsewhere it is refused "
        "(secrets in catmem.yaml)."
    ),
]
ReasonOption = Annotated[
    str | None, P("Why, for the history and for the person who approves.", brief="Why.", where_writes_wait=True)
]


Expected = Annotated[
    str | None,
    P(
        "The revision or digest that you saw last, as 'catmem list --format json' gives it. If the file has another "
        "one now, nothing is written (exit status 3).",
        metavar="REVISION|DIGEST",
        brief="Revision you saw; old: refused.",
    ),
]


class ExternalChange(NamedTuple):
    """What another program changed in a file, and the revision that it is now, unless it is a dry run."""

    entity: str
    revision: str | None
    diff: str


TRIED = {"dry_run": DryRun}
RESTORED = {"actor": Actor, "expected": Expected, **TRIED}
_WHOSE = {"profile": Owner, "actor": Actor, "target": FoundTarget}
_HOW = {
    "expected": Expected,
    "on_stale": Annotated[
        Literal["refuse", "branch"] | None,
        Option(
            "If --expected is older than the file: write nothing (refuse), or keep the change as a branch (branch). By "
            "default what catmem.yaml says, else refuse."
        ),
    ],
    "op_id": Annotated[str | None, P(brief="Same for a repeat.", at=NO_COMMAND)],
    "reason": ReasonOption,
    "proposes": Annotated[bool, Option("Make it a proposal, which waits for a person.", "--propose")],
    **TRIED,
}
CHANGED = _WHOSE | _HOW
WORDED = _WHOSE | {"allow_secret": AllowSecret} | _HOW
ADDED = WORDED | {"target": AddTarget}
"""The parameters of a write to entries, and of one with new words; see ``catmem.writing.request.How``."""


def refuse_undeclared(call: Call, category: str | None) -> None:
    """Raise ``UnknownNameError`` (``unknown_category``) for a category that a closed taxonomy does not declare."""
    taxonomy = call.root.config.taxonomy
    if category is not None and taxonomy.closed and slugify(category) not in taxonomy.declared():
        from catmem.writing.policy import category_hint, undeclared

        raise undeclared(category, category_hint(slugify(category), taxonomy))


def tell_of_category(call: Call, category: str | None) -> None:
    """Say to a person that no profile names a category and no file has it, and which one was meant."""
    from catmem.workspace.reports import unknown_category

    if category is not None and not call.for_program and (said := unknown_category(call.root, category)):
        call.tell(said)


def tell_of_file(call: Call, file: Reading) -> None:
    """Say why the history of a file was not looked at, if it was not; else that the file lost what that holds."""
    owner = call.root.profile(parts_of(file.entity).owner)
    said = file.warning or emptied_text(call.root, owner, file.entity, file.document)
    if said is not None:
        call.tell(f"warning: {said}")


def tell_of_rows(call: Call, profile: str, target: str | None = None) -> None:
    """Say which rows of a profile's files, or of one of them, are not shown, since they are no entries."""
    if backend_of(call.root.config).has_files:
        return
    from catmem.workspace.upkeep import row_notes

    for note in row_notes(call.root, profile, target):
        call.tell(f"warning: {note}")
