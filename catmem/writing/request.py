"""What a writer asks for: one change to a memory file, and a write with all that goes with it.

Nothing is looked at yet: what is refused here is wrong whatever there is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from catmem.config.json_schema import nearest, shown, suggestion
from catmem.errors import EditError, RefusedError, wrong_type

if TYPE_CHECKING:
    from catmem.envelopes.papers import Papers
    from catmem.store.contract import OnDrift, OnStale
    from catmem.writing.drift_guard import ToolSession
    from catmem.writing.entry_write import Write

_FORM = re.compile(r"[0-9]+[a-z]*|sha256:[0-9a-f]{64}")
_DIGEST_NAMED = re.compile(r"(the bytes )?sha256:[0-9a-f]+…?")
_ENTRY_DIGEST = re.compile(r"b2:[0-9a-f]{32}")
Action: TypeAlias = Literal["add", "replace", "remove", "move", "verify"]


MOST_EVIDENCE = 1_000
"""Characters of what a verification was checked against."""

_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "add": (("content",), ("category", "tags", "as_of")),
    "replace": (("old_text",), ("content", "category", "tags", "confirm", "expected")),
    "remove": (("old_text",), ("category", "expected")),
    "move": (("old_text", "to_category"), ("category", "expected")),
    "verify": (("old_text",), ("category", "as_of", "evidence", "expected")),
}
"""What each action needs, and what it takes besides."""

_TEXTS = ("content", "old_text", "category", "to_category", "evidence", "action", "expected")


@dataclass(frozen=True, slots=True)
class Operation:
    """One change.

    ``old_text`` names the entry that is meant: a piece of its body that no other entry holds, or its id (``b2:…``).
    ``category`` is where an ``add`` goes; for the others it narrows the search for the entry. ``tags`` are laid over
    those of the entry, and ``None`` as a value takes a tag away, of an ``add`` the ``created`` that it would set.
    ``as_of`` is the day of an ``add`` or a ``verify``, today by default. ``evidence`` is what a ``verify`` was checked
    against, for the record. A ``replace`` needs ``content``, ``tags`` or both; with ``confirm`` its words may have
    little in common with the old ones where the root asks to be warned of that. ``expected`` is the digest of the entry
    that a refusal named (``drift_guard.text_digest``): the writer saw this text.
    """

    action: Action
    content: str | None = None
    old_text: str | None = None
    category: str | None = None
    to_category: str | None = None
    tags: Mapping[str, str | list[str] | None] | None = None
    as_of: date | None = None
    evidence: str | None = None
    confirm: bool | None = None
    expected: str | None = None

    def __post_init__(self) -> None:
        """Raises ``EditError`` (``wrong_type``) for what is no text, no date or no tags."""
        refuse_no_text(self, _TEXTS)
        if isinstance(self.as_of, datetime) or not isinstance(self.as_of, date | None):
            raise wrong_type("as_of", self.as_of, "a datetime.date")
        if not isinstance(self.tags, Mapping | None):
            raise wrong_type("tags", self.tags, "a mapping")

    def __json__(self) -> dict[str, Any]:
        """What is asked, as JSON-ready data; fields that are not given are left out."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}

    def check(self) -> None:
        """Raise ``EditError`` for an action that there is not, what it needs, and what it does not take."""
        if self.action not in get_args(Action):
            raise EditError(
                f"there is no action {shown(self.action)}",
                code="bad_operation",
                hint=suggestion(str(self.action), get_args(Action), "actions"),
            )
        needs, takes = _FIELDS[self.action]
        given = self.__json__()
        refuse_untaken(self.action, given, ("action", *needs, *takes), "bad_operation")
        missing = [name for name in needs if name not in given]
        if self.action == "replace" and self.content is None and self.tags is None:
            missing.append("content")
        if missing:
            raise EditError(
                f"{self.action} needs {' and '.join(missing)}", code="bad_operation", hint=_SAYS[missing[0]]
            )
        if self.evidence is not None and not 0 < len(self.evidence.strip()) <= MOST_EVIDENCE:
            raise EditError(
                f"evidence has 1 to {MOST_EVIDENCE:,} characters, and this has {len(self.evidence.strip()):,}",
                code="bad_operation",
                hint="Name the source that the fact was checked against.",
            )
        if self.expected is not None and not _ENTRY_DIGEST.fullmatch(self.expected):
            raise EditError(
                f"{shown(self.expected)} is no digest of an entry",
                code="bad_expected",
                hint="Give the digest that a refusal named in found, b2: and 32 digits.",
            )
        refuse_surrogates(text for name in _TEXTS if (text := getattr(self, name)) is not None)
        for key, value in (self.tags or {}).items():
            parts = value if isinstance(value, list) else [value]
            if not all(isinstance(part, str | None) for part in parts):
                raise EditError(
                    f"the tag {shown(key)} is {shown(value)}, and no text",
                    code="bad_tag",
                    key=f"tags.{key}",
                    hint="Give a text, or a list of texts; a day as YYYY-MM-DD.",
                )
            refuse_surrogates([key, *(part for part in parts if isinstance(part, str))])


def refuse_no_text(asked: object, names: Iterable[str]) -> None:
    """Raise ``EditError`` (``wrong_type``) for the first of its fields that is neither a text nor ``None``."""
    for name in names:
        if not isinstance(value := getattr(asked, name), str | None):
            raise wrong_type(name, value)


_SAYS = {
    "content": "Give the text of the entry.",
    "old_text": "Give a piece of the entry's text that no other entry holds.",
    "to_category": "Name the category that the entry goes to.",
}


def refuse_untaken(what: str, given: Iterable[str], takes: Collection[str], code: str, key: str | None = None) -> None:
    """Raise ``EditError`` for the first of the names ``given`` that ``what`` does not take."""
    name = next((each for each in given if each not in takes), None)
    if name is not None:
        near = nearest(name, takes)
        meant = f"Did you mean {near!r}? " if near else ""
        raise EditError(
            f"{what} takes no {shown(name)}", code=code, key=key, hint=f"{meant}It takes {', '.join(takes)}."
        )


def refuse_surrogates(texts: Iterable[str]) -> None:
    """Raise ``EditError`` (``not_text``) for a text with a lone surrogate, which no file can hold."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise EditError(
                f"{shown(text)} cannot be written: character {error.start} is a lone surrogate, half of a character",
                code="not_text",
                hint="Give the text as UTF-8.",
            ) from None


# --- what the writer saw last ---------------------------------------------------------------------------------------


def checked_expected(given: str | int | None) -> str | None:
    """The revision or digest as a store takes it; a number is a revision."""
    if given is None:
        return None
    text = str(given)
    refuse_surrogates([text])
    if not _FORM.fullmatch(text):
        raise EditError(
            f"{shown(given)} is neither a revision nor a digest",
            code="bad_expected",
            hint="Give a revision such as 7, or a digest, sha256: and 64 digits: the answer to a write has both.",
        )
    return text


def is_digest(expected: str) -> bool:
    """Whether it names bytes and no revision."""
    return expected.startswith("sha256:")


def hide_digests(error: RefusedError) -> None:
    """Take digests of the whole file out of a refusal: they would tell a profile whether it guesses the rest of it."""
    error.message = _DIGEST_NAMED.sub("other bytes", error.message)
    error.args = (error.message,)
    if error.expected is not None and is_digest(error.expected):
        error.expected = None
    if error.found is not None and is_digest(error.found):
        error.found = None


def placed_expected(
    operations: Sequence[Operation], expected: str | int | None
) -> tuple[tuple[Operation, ...], str | int | None]:
    """The operations with the digest of an entry that ``expected`` is; and the ``expected`` of the whole file."""
    if isinstance(expected, str) and expected.startswith("b2:"):
        if len(operations) != 1:
            raise EditError(
                f"expected names one entry, and there are {len(operations)} operations",
                code="bad_expected",
                hint="Nothing was written. Give it as expected of the operation that changes the entry.",
            )
        return (replace(operations[0], expected=expected),), None
    if expected is not None and any(each.expected is not None for each in operations):
        raise EditError(
            "one expected names the whole file, and another an entry",
            code="bad_expected",
            hint="Nothing was written. Give one of them: that of the entry says that you saw its text.",
        )
    return tuple(operations), expected


def asked_by(operations: Sequence[Operation]) -> str:
    """What the audit log calls a write of these operations: the one action that all of them are, else ``write``."""
    asked = {each.action for each in operations}
    return asked.pop() if len(asked) == 1 and asked <= set(get_args(Action)) else "write"


def finds_its_file(operations: Sequence[Operation]) -> bool:
    """Whether the entries that operations mean say which file of a profile is meant: an addition means none."""
    return bool(operations) and all(isinstance(each.old_text, str) for each in operations)


# --- a whole write ---------------------------------------------------------------------------------------------------


class Asking(TypedDict, total=False):
    """Who asks, on which view, and whether it is only tried; see ``How``."""

    expected: str | int | None
    actor: str | None
    dry_run: bool


class How(Asking, total=False):
    """How a write is made; each may be left out.

    ``target`` is the file of the profile, ``user`` or ``memory``. ``expected`` is what the caller saw last, a revision
    (``7`` or ``"7"``) or a ``sha256:…`` digest: if that is no longer what is there, the write is refused. ``actor`` is
    the profile that acts, ``None`` a person. ``dry_run`` writes nothing. ``on_drift`` is what to do about an external
    change (``adopt``, ``refuse``, ``merge``). ``on_stale`` is what becomes of a write that was made on an older
    revision: refused (``refuse``), or kept beside the head as a ``branch``. ``op_id`` makes a retry safe: the same
    operations under the same one are made once. ``confirm`` writes what the root asks to be warned of
    (``semantic_alert``). ``allow_secret`` is the yes of a person to text with a secret in it, where the root asks for
    one. ``reason`` says why, for the record and for the person who approves. ``proposes``: it waits for a person,
    whatever the policy says.
    """

    target: str | None
    on_drift: OnDrift | None
    on_stale: OnStale | None
    op_id: str | None
    confirm: bool
    allow_secret: bool
    reason: str | None
    proposes: bool


@dataclass(frozen=True, slots=True)
class Request:
    """One write, as it is asked for: what, to which entity, on which view, by whom.

    ``entity`` is ``PROFILE/TARGET``, or the name of a declared entity; ``content`` is what its ``kind`` takes, by
    default a tuple of operations. ``papers`` are the envelope that it came in: what that says is filled in when it is
    read. ``How`` describes the other fields.
    """

    entity: str
    content: Any
    actor: str | None = None
    expected: str | int | None = None
    dry_run: bool = False
    on_drift: OnDrift | None = None
    """``None`` for what the root says; rows that another program changed refuse an agent once (docs/sql.md)."""
    on_stale: OnStale | None = None
    op_id: str | None = None
    merges: tuple[str, ...] = ()
    """Branches that the content brings together with what was there."""
    allow_secret: bool = False
    confirm: bool = False
    """Whether it may have little in common with what is there."""
    reason: str | None = None
    proposes: bool = False
    on_behalf: str | None = None
    """The profile that proposes it, where a person brings it up."""
    session: ToolSession | None = None
    """What an agent knows who writes in a conversation."""
    profile: str = ""
    target: str | None = None
    """The file that operations name. Without a target and a view it is found by what they say."""
    papers: Papers | None = None
    kind: type[Write] | None = None
    """The kind of its content, by default operations."""

    def __post_init__(self) -> None:
        """Raises ``EditError`` (``wrong_type``) for what a program gives in the place of a text."""
        refuse_no_text(self, ("entity", "profile", "target", "actor", "op_id", "reason"))
        if not isinstance(self.expected, int):
            refuse_no_text(self, ("expected",))

    @property
    def agent(self) -> str:
        """Who asks, as the record says it where no envelope says more."""
        from catmem.store.contract import PERSON  # which a prompt, that writes nothing, need not load

        return self.actor or PERSON
