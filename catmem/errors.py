"""Every exception that catmem raises, in one tree.

::

    CatmemError
    ├── UnreadableError        a file cannot be read, or not as text
    │   ├── NotUtf8Error       its bytes are not UTF-8 (names the byte offset)
    │   └── TooLargeError      it is over a size limit
    ├── ConfigError            catmem.yaml, a profile or a schema is not right
    │   └── UnknownNameError   a profile, category or target that nobody declared
    └── EditError              an edit cannot be made
        ├── NoMatchError       no entry holds the text that was asked for
        └── AmbiguousError     several entries hold it

What looks wrong *inside* a memory file is never an exception: it is a problem on the document.

An error says what happened (``message``), a word that a program can test (``code``), where (``path``, ``line``,
``column``, ``key``) and what to do next (``hint``). ``exit_status`` is what the command line returns for it:
1 findings, 2 usage or configuration, 3 drift or conflict, 4 store damage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike


class CatmemError(Exception):
    """Base of all catmem exceptions; catch it to catch them all."""

    code = "error"
    exit_status = 2

    def __init__(  # noqa: PLR0913 - each field is given by keyword, where it is known
        self,
        message: str,
        *,
        code: str | None = None,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
        hint: str | None = None,
    ) -> None:
        """``line`` and ``column`` count from 1; ``key`` is a dotted path inside the file (``prompt.style``)."""
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.path = None if path is None else str(path)
        self.line = line
        self.column = column
        self.key = key
        self.hint = hint

    def __str__(self) -> str:
        """One line: ``file:line:column: key: message``, with only the parts that are known."""
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        return ": ".join(part for part in (place, self.key, self.message) if part)

    def to_dict(self) -> dict[str, Any]:
        """The error as JSON-ready data; fields that are not known are left out."""
        fields = {
            "code": self.code,
            "message": self.message,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "key": self.key,
            "hint": self.hint,
        }
        return {name: value for name, value in fields.items() if value is not None}


class UnreadableError(CatmemError):
    """A file cannot be read. Unreadable is never the same as empty: no operation rewrites such a file.

    Codes: ``missing``, ``permission``, ``not_a_file`` (a directory, a FIFO, a device), ``symlink`` (a link where none
    may be), ``io`` (the system said something else).
    """

    code = "unreadable"


class NotUtf8Error(UnreadableError):
    """Bytes that are not UTF-8; ``offset`` is the first bad byte, counted from 0."""

    code = "not_utf8"

    def __init__(self, offset: int, reason: str, *, path: str | PathLike[str] | None = None) -> None:
        """``reason`` is what the decoder says of the byte at ``offset``."""
        super().__init__(
            f"not UTF-8: byte {offset}: {reason}",
            path=path,
            hint="The file was left as it is. Convert it to UTF-8 (for example with iconv), then try again.",
        )
        self.offset = offset

    def to_dict(self) -> dict[str, Any]:
        """Adds ``offset``."""
        return {**super().to_dict(), "offset": self.offset}


class TooLargeError(UnreadableError):
    """Something over its size limit; nothing past the limit was read."""

    code = "too_large"

    def __init__(
        self, what: str, size: int, limit: int, *, unit: str = "bytes", path: str | PathLike[str] | None = None
    ) -> None:
        """``what`` names the thing in the message ("file", "text"); ``size`` may be a lower bound."""
        super().__init__(
            f"the {what} has {size:,} {unit}, over the limit of {limit:,}",
            path=path,
            hint="Split it, or raise the limit where it is set.",
        )
        self.size = size
        self.limit = limit

    def to_dict(self) -> dict[str, Any]:
        """Adds ``size`` and ``limit``."""
        return {**super().to_dict(), "size": self.size, "limit": self.limit}


class ConfigError(CatmemError):
    """A ``catmem.yaml``, a profile or a schema that is not right, with file, line and key where they are known."""

    code = "config"


class UnknownNameError(ConfigError):
    """A profile, category or target that nobody declared; the hint names the nearest that somebody did."""

    code = "unknown_name"


class EditError(CatmemError):
    """An edit cannot be made; the document is as it was."""

    code = "edit"


class NoMatchError(EditError):
    """No entry holds the text that was asked for."""

    code = "no_match"


class AmbiguousError(EditError):
    """Several entries hold the text that was asked for; ``candidates`` are their bodies, in file order."""

    code = "ambiguous"

    def __init__(self, message: str, candidates: Sequence[str], *, hint: str | None = None) -> None:
        """``candidates`` are shown to whoever asked, so the caller filters them by access first."""
        super().__init__(message, hint=hint)
        self.candidates = tuple(candidates)

    def to_dict(self) -> dict[str, Any]:
        """Adds ``candidates``."""
        return {**super().to_dict(), "candidates": list(self.candidates)}
