"""Every exception that catmem raises, in one tree.

What looks wrong *inside* a memory file is never an exception: it is a problem on the document.

An error says what happened (``message``), a word that a program can test (``code``), where (``path``, ``line``,
``column``, ``key``) and what to do next (``hint``). ``errors.json`` beside this module is the catalogue of all codes:
when each comes, what a person can do, how a command ends with it (``exit_status``: 1 findings, 2 usage or
configuration, 3 drift or conflict, 4 store damage), and what HTTP answers (``http_status``). docs/errors.md shows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

if TYPE_CHECKING:
    from os import PathLike


class ErrorPlace(TypedDict, total=False):
    """Where an error is; ``line`` and ``column`` count from 1, ``key`` is a dotted path in the file (``prompt.style``).

    An error has each of them as an attribute, ``None`` where it is not known.
    """

    path: str | PathLike[str] | None
    line: int | None
    column: int | None
    key: str | None


class ErrorFields(ErrorPlace, total=False):
    """What errors of one class say besides, as attributes too."""

    candidates: Sequence[str]
    places: Sequence[Mapping[str, Any]]
    size: int
    limit: int
    could_go: Sequence[Mapping[str, Any]]
    conflicts: Sequence[Mapping[str, Any]]
    expected: str | None
    found: str | None


@cache
def catalogue() -> dict[str, Any]:
    """The classes of errors by their names: their statuses, and their codes, which may have statuses of their own."""
    listed: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return listed


class CatmemError(Exception):
    """Base of all catmem exceptions; catch it to catch them all."""

    code = "error"
    json_fields: ClassVar[tuple[str, ...]] = ()
    """Attributes of the class that its JSON has besides those of every error."""
    path: str | None = None
    line: int | None = None
    column: int | None = None
    key: str | None = None

    def __init__(
        self, message: str, *, code: str | None = None, hint: str | None = None, **fields: Unpack[ErrorFields]
    ) -> None:
        """``code`` is by default that of the class."""
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.exit_status = self._listed("exit")
        self.hint = hint
        for name, value in fields.items():
            setattr(self, name, value)
        if self.path is not None:
            self.path = str(self.path)

    @property
    def http_status(self) -> int:
        """The status of an answer over HTTP.

        ::

            400  the request is not one          409  refused for what is there now: reason, and what is at the head
            401  no good token                   413  too large
            403  not yours to do                 422  understood, and wrong: an envelope, an edit, a query
            404  not there, for this caller      503  not now: busy, disk, configuration
        """
        return self._listed("http")

    def _listed(self, status: str) -> int:
        name = next(each.__name__ for each in type(self).__mro__ if each.__name__ in catalogue())
        listed = catalogue()[name]
        found: int = listed["codes"].get(self.code, {}).get(status, listed[status])
        return found

    def __str__(self) -> str:
        """One line: ``file:line:column: key: message``, with only the parts that are known."""
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        return ": ".join(part for part in (place, self.key, self.message) if part)

    def __json__(self) -> dict[str, Any]:
        """The error as JSON-ready data; fields that are not known are left out."""
        said = {name: getattr(self, name) for name in ("code", "message", "path", "line", "column", "key", "hint")}
        found = {name: value for name, value in said.items() if value is not None}
        return found | {name: getattr(self, name) for name in self.json_fields}


@contextmanager
def errors_at(path: str | PathLike[str] | None = None, *, hint: str | None = None) -> Iterator[None]:
    """Have errors of the block say that they are about the file ``path``, and ``hint``, each if it is given."""
    try:
        yield
    except CatmemError as error:
        error.path = error.path if path is None else str(path)
        error.hint = hint or error.hint
        raise


class UnreadableError(CatmemError):
    """A file cannot be read. Unreadable is never the same as empty: no operation rewrites such a file."""

    code = "unreadable"


class NotUtf8Error(UnreadableError):
    """Bytes that are not UTF-8; ``offset`` is the first bad byte, counted from 0."""

    code = "not_utf8"
    json_fields = ("offset",)

    def __init__(self, offset: int, reason: str, *, path: str | PathLike[str] | None = None) -> None:
        """``reason`` is what the decoder says of the byte at ``offset``."""
        super().__init__(
            f"not UTF-8: byte {offset}: {reason}",
            path=path,
            hint="The file is as it was. One that is all in another encoding you convert: "
            "iconv -f latin1 -t utf8 FILE > NEW.",
        )
        self.offset = offset


class TooLargeError(UnreadableError):
    """Something over its size limit; nothing past the limit was read."""

    code = "too_large"
    json_fields = ("size", "limit")

    def __init__(
        self, what: str, size: int, limit: int, *, unit: str = "bytes", path: str | PathLike[str] | None = None
    ) -> None:
        """``what`` names the thing in the message ("file", "text"); ``size`` may be a lower bound."""
        super().__init__(
            f"the {what} has {size:,} {unit}, over the limit of {limit:,}",
            path=path,
            hint="Split it, or take out what is not needed.",
        )
        self.size = size
        self.limit = limit

    @property
    def http_status(self) -> int:
        """413 for what was sent; a file here that is too large is not the caller's fault."""
        return _TOO_LARGE if self.path is None else super().http_status


_TOO_LARGE = 413


class ConfigError(CatmemError):
    """A ``catmem.yaml``, a profile or a schema that is not right, with file, line and key where they are known."""

    code = "config"


class UnknownNameError(ConfigError):
    """A profile, category or target that is not declared; the hint names the nearest one that is."""

    code = "unknown_name"


class EditError(CatmemError):
    """An edit cannot be made; the document is as it was."""

    code = "edit"


def wrong_type(name: str, value: object, wanted: str = "a text") -> EditError:
    """The refusal of a value of another type than a program has to give."""
    message = f"{name} must be {wanted}, not {type(value).__name__}"
    return EditError(message, code="wrong_type", hint="Nothing was done. The signature says what fits.")


class NoMatchError(EditError):
    """No entry holds the text that was asked for."""

    code = "no_match"


class AmbiguousError(EditError):
    """Several entries hold the text that was asked for; ``candidates`` are their bodies, in file order.

    ``places`` say of each its ``category`` and ``id``, and to a person its ``line``. Both are shown to who asked, so
    they are filtered by access.
    """

    code = "ambiguous"
    json_fields = ("candidates", "places")
    candidates: Sequence[str] = ()
    places: Sequence[Mapping[str, Any]] = ()


class OverBudgetError(EditError):
    """The file would have more characters than its limit; ``size`` is what it would have, ``limit`` what it may.

    ``could_go`` are entries that might leave, as JSON-ready data, filtered by access.
    """

    code = "over_budget"
    json_fields = ("size", "limit", "over_by", "could_go")
    size = limit = 0
    could_go: Sequence[Mapping[str, Any]] = ()

    @property
    def over_by(self) -> int:
        """How many characters are over the limit."""
        return self.size - self.limit


class EnvelopeError(CatmemError):
    """An envelope that cannot be taken; nothing was looked up for it, and nothing written."""

    code = "schema"


class QueryError(CatmemError):
    """A query that cannot be searched for."""

    code = "query"


class ForbiddenError(CatmemError):
    """The one who acts has no right to do this; the hint says what it may do."""

    code = "forbidden"


class ApprovalError(ForbiddenError):
    """A write that waits for a person by ``approval`` of catmem.yaml, through an interface where it cannot wait."""

    code = "needs_approval"


class RefusedError(CatmemError):
    """A write that was refused because of what is there now. Nothing was written over bytes that are not recorded.

    ``expected`` is what the caller saw, ``found`` what is there (revisions or digests). ``drift_backup`` is the file
    that holds an external writer's bytes, if there was one. ``head`` is what is at the head, ``rev`` and ``hash``,
    where an interface tells it. Of rows in a database also ``generation_observed`` and ``generation_actual``: how often
    they had been changed when catmem last wrote, and now.
    """

    code = "refused"
    expected: str | None = None
    found: str | None = None
    drift_backup: str | None = None
    generation_observed: int | None = None
    generation_actual: int | None = None
    head: Mapping[str, Any] | None = None

    def __json__(self) -> dict[str, Any]:
        """Adds ``reason`` (the code), ``remediation`` (the hint), ``expected``, ``found`` and ``drift_backup``.

        Of rows in a database ``generation_observed`` and ``generation_actual`` too.
        """
        said = {"reason": self.code, "remediation": self.hint, "expected": self.expected, "found": self.found}
        return {**super().__json__(), **said, "drift_backup": self.drift_backup, **self.generations()}

    def generations(self) -> dict[str, int]:
        """The generations that are known, as fields."""
        both = {"generation_observed": self.generation_observed, "generation_actual": self.generation_actual}
        return {name: number for name, number in both.items() if number is not None}


class StaleError(RefusedError):
    """Another write of catmem came between the caller's read and its write."""

    code = "stale_prev"


class DriftError(RefusedError):
    """The file was changed from outside since it was last seen, or holds what catmem must not rewrite."""

    code = "drift"
    entry: Any = None
    """The ``Entry`` that the writer does not know as it is now."""
    is_of_file: bool = False
    """Whether it is about the file as it stands, and not about its last change: a copy of all of it is kept."""


class BusyError(RefusedError):
    """Another writer is at work and did not stop in time."""

    code = "busy"


class MergeConflictError(RefusedError):
    """Both sides of a merge changed the same entry, and nothing says who wins.

    ``conflicts`` are JSON-ready: of each its ``reason``, ``category``, and the texts of ``base``, ``ours``, ``theirs``.
    They are shown to who asked, so they are filtered by access.
    """

    code = "merge_conflict"
    json_fields = ("conflicts",)
    conflicts: Sequence[Mapping[str, Any]] = ()


class OperationCollisionError(RefusedError):
    """Its writer made another write under the same ``op_id``."""

    code = "hash_collision"


class ProposalError(RefusedError):
    """A proposal that cannot be made, or that cannot be decided so; nothing was written."""

    code = "decided"


class ChangedMeanwhileError(RefusedError):
    """What was read and shown is not what is there now: a file that is rewritten by hand, a fact of a review."""

    code = "changed_meanwhile"


class WouldOverwriteError(CatmemError):
    """Files with other content stand where new ones should go; ``paths`` names them, and nothing was written."""

    code = "would_overwrite"

    def __init__(
        self,
        folder: str | PathLike[str],
        paths: Sequence[str],
        hint: str = "Choose another folder, or move them away first.",
    ) -> None:
        """``paths`` are relative to ``folder``; ``hint`` says what to do next."""
        said = f"these files are already there, with other content: {', '.join(paths)}"
        super().__init__(said, path=folder, hint=f"Nothing was written. {hint}")
        self.paths = tuple(paths)


class RequestError(CatmemError):
    """A request that is refused for what it is, and not for what it asks of the memory.

    ``headers`` are added to the answer.
    """

    code = "request"

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hint: str | None = None,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """``status``, from 400 on, for an answer with another status than all others of its code."""
        super().__init__(message, code=code, hint=hint)
        self.status = status or self._listed("http")
        self.headers = dict(headers or {})

    @property
    def http_status(self) -> int:
        """That of this answer alone, or of its code."""
        return self.status


class UnknownRevisionError(CatmemError):
    """A revision that is not, or no longer, in the journal."""

    code = "unknown_revision"


class StoreError(CatmemError):
    """The store cannot work; what was acknowledged before is safe, and the file is whole."""

    code = "io"


class DamagedError(StoreError):
    """What the store keeps is damaged, so nothing is written until ``catmem fsck`` has looked at it."""

    code = "damaged"
