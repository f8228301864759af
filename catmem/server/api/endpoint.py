"""One path and method of the API: what it takes, what it gives, and who answers; and the ETags of answers.

The tag of an entity is ``"7-1f0c…"``: the revision, and a digest of the answer, which is another one for each caller
and day. A text that no history has yet has ``u`` and a keyed digest in the place of the revision: it tells whether it
is the same text, and nothing else of it, for the key is made anew with each process.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from catmem.policy.schema import is_date, nearest, shown
from catmem.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from catmem.server.caller import Caller
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Snapshot

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema as OpenAPI 3.1 takes it."""

Place: TypeAlias = Literal["query", "path", "header"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a request gives by name. ``schema`` is a text, an integer, a boolean or a date."""

    name: str
    said: str
    schema: Schema
    required: bool = False
    place: Place = "query"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for: its parameters by name, its body, and what it says of revisions that it knows."""

    values: Mapping[str, Any]
    body: bytes = b""
    match: Match | None = None
    retry: str | None = None
    """What ``Idempotency-Key`` names: an ``op_id``."""

    def get(self, name: str) -> Any:  # noqa: ANN401 - as its schema says
        """The value of a parameter, ``None`` where it is not given."""
        return self.values.get(name)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint gives: JSON-ready data, or a text that may be asked for in its place.

    ``base`` is what its ETag says beside a digest: the revision that it shows, or ``tags.unrecorded`` of its text.
    """

    data: Mapping[str, Any]
    base: str | None = None
    text: str | None = None
    status: int = 200
    warnings: Sequence[str] = ()
    """What a header says where the answer is a text, which has no field for it."""


class Deferred(NamedTuple):
    """An answer that is not made yet: ``make`` makes it of ``made_of`` and of what was asked, and of nothing else."""

    make: Callable[[], Answer]
    made_of: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One path and method. ``answer`` is a synchronous call, made in a worker thread.

    ``gives`` names the form of its answer (``forms``), ``body`` that of what it takes. ``statuses`` say which status
    a code of an error has here, where that is another than everywhere.
    """

    method: Literal["GET", "POST"]
    path: str
    name: str
    summary: str
    said: str
    answer: Callable[[Workspace, Caller, Asked], Answer | Deferred]
    gives: str
    parameters: Sequence[Parameter] = ()
    body: str | None = None
    as_text: bool = False
    refusals: Sequence[int] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.method == "POST"


def read_values(parameters: Sequence[Parameter], given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The values of parameters as a request gives them. Raises ``ServerError`` 400 (``bad_parameter``).

    What nobody knows, and what is given twice, is refused: what is quietly left out may be what the caller meant most.
    """
    known = {each.name: each for each in parameters if each.place != "header"}
    values: dict[str, Any] = {}
    for name, text in given:
        if name not in known:
            near = nearest(name, known)
            takes = f"It takes {', '.join(known)}." if known else "It takes none."
            raise bad_parameter(
                f"there is no parameter {shown(name)}", f"Did you mean {near!r}? {takes}" if near else takes
            )
        if name in values:
            raise bad_parameter(f"the parameter {name} is given twice", "Give it once.")
        values[name] = _value(known[name], text)
    for name, parameter in known.items():
        if parameter.required and name not in values:
            raise bad_parameter(f"the parameter {name} is missing", parameter.said)
    return values


def refuse_query(request: Request) -> None:
    """Raise ``ServerError`` 400 (``bad_parameter``) for parameters where a path takes none."""
    read_values((), request.query_params.multi_items())


def bad_parameter(message: str, hint: str) -> ServerError:
    """The refusal of a parameter that cannot be meant."""
    return ServerError(400, message, code="bad_parameter", hint=hint)


def _value(parameter: Parameter, text: str) -> Any:  # noqa: ANN401 - as its schema says
    schema = parameter.schema
    match schema.get("type"):
        case "integer":
            fits = _is_number(text) and schema.get("minimum", 0) <= int(text) <= schema["maximum"]
            value: Any = int(text) if fits else None
        case "boolean":
            fits, value = text in {"true", "false"}, text == "true"
        case _ if schema.get("format") == "date":
            fits = is_date(text)
            value = date.fromisoformat(text) if fits else None
        case _:
            fits, value = _is_text(schema, text), text
    if not fits:
        raise bad_parameter(f"{parameter.name} is {shown(text)}", parameter.said)
    return value


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len("9" * 12)


def _is_text(schema: Schema, text: str) -> bool:
    if "enum" in schema:
        return text in schema["enum"]
    long = len(text) > schema.get("maxLength", 1024) or len(text) < schema.get("minLength", 0)
    return not long and ("pattern" not in schema or bool(_pattern(schema["pattern"]).search(text)))


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    # `$` alone would let a newline pass at the end.
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


_KEY = secrets.token_bytes(32)
_LENGTH = 16
_TAG = re.compile(r'"(?P<base>[0-9]{1,12}[a-z]{0,8}|u[0-9a-f]{32})(?:-[0-9a-f]{16})?"')
_ANY_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


class Match(NamedTuple):
    """What ``If-Match`` names: a revision, or else a text that has none."""

    revision: str | None
    unrecorded: str | None = None

    def fits(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is the text that has no revision."""
        return self.unrecorded is not None and hmac.compare_digest(self.unrecorded, unrecorded(snapshot.digest))


def unrecorded(digest: str) -> str:
    """What stands in a tag for a text without a revision."""
    return "u" + hmac.digest(_KEY, digest.encode(), "sha256").hex()[:32]


def tag_of(body: bytes, base: str | None = None) -> str:
    """The tag of an answer; ``base`` is the revision that it shows, or ``unrecorded`` of its text."""
    digest = hashlib.sha256(body).hexdigest()[:_LENGTH]
    return f'"{digest}"' if base is None else f'"{base}-{digest}"'


def read_match(headers: Sequence[str]) -> Match | None:
    """What ``If-Match`` says, which may stand in several headers.

    Raises ``ServerError`` 400 (``bad_precondition``) for more than one tag, and for ``*``.
    """
    if not headers:
        return None
    header = ", ".join(headers)
    found = _TAG.fullmatch(header.strip())
    if found is None:
        raise ServerError(
            400,
            f"If-Match is {shown(header)}",
            code="bad_precondition",
            hint='Give the ETag of what you read, such as "7". A weak tag, a list and * name no one revision.',
        )
    base = found["base"]
    return Match(None, base) if base.startswith("u") else Match(base)


def is_known(header: str | None, tag: str) -> bool:
    """Whether ``If-None-Match`` says that the caller has the answer of this tag."""
    if header is None:
        return False
    return header.strip() == "*" or tag in _ANY_TAG.findall(header)
