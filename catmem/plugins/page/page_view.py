"""A view as an answer: for people only, made in a worker thread, and below what was just done, with the way back.

An address names a revision alone: all else of what was done is as the store tells it, and what a write remarked as it
was answered.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from catmem.config.json_schema import shown
from catmem.config.profile import profile_names
from catmem.envelopes.tokens import KEY, Token, caller_of
from catmem.errors import CatmemError, RequestError
from catmem.model.document import Entry
from catmem.names import TARGETS, parts_of
from catmem.plugins.page.rendering import DID, beginning, own_address, proposal_of, rendered, theme_of, with_query
from catmem.plugins.sorting.sort_lines import ACTIONS
from catmem.server.guard import in_thread
from catmem.server.requests import bad_parameter, error_response, form_of, read_values
from catmem.store.contract import DECISION, Revision
from catmem.text import counted, unmerged_warnings
from catmem.workspace.formatting import unread_of
from catmem.workspace.history import closed, did, entity_of, parent_of, undo_fault, words_of
from catmem.workspace.overview import Overviews
from catmem.workspace.workspace import Workspace

_LONGEST_QUERY = 65_536
K = TypeVar("K", bound=str)

OWN_REFERRER = {"Referrer-Policy": "same-origin"}
"""No other site learns an address of the page. With ``no-referrer`` a form of its own would come with the origin
``null``, as the form of another site may."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a person asked to see. ``path`` are the parts of the address, ``query`` what stands behind its ``?``.

    ``remarks`` are what the last writes said, by ``ENTITY@REVISION``.
    """

    workspace: Workspace
    caller: Token
    address: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    overviews: Overviews
    remarks: dict[str, Sequence[str]]

    @property
    def named(self) -> str:
        """The entity that the address names. Raises ``UnknownNameError``."""
        return entity_of(self.workspace, f"{self.path['name']}/{self.path['target']}")

    def choice(self, name: str, known: Iterable[K]) -> K | None:
        """What the query says of ``name``, one of ``known``. Raises ``RequestError`` 400 for anything else."""
        known = list(known)
        found = self.if_there(name, known)
        if found is None and self.query.get(name):
            raise bad_parameter(f"{name} is {shown(self.query[name])}", f"It is one of {', '.join(known)}.")
        return found

    def if_there(self, name: str, known: Iterable[K]) -> K | None:
        """The same of what may have gone since a link was made: that is as good as nothing."""
        said = self.query.get(name)
        return next((each for each in known if each == said), None)

    def link(self, **said: str | None) -> str:
        """The same page where the query says this too (``None``: no more), naming no part of a list and no entry."""
        kept: dict[str, str | None] = {"page": None, "entry": None}
        return f"?{urlsplit(with_query(f'?{urlencode(self.query)}', **(kept | said))).query}"

    @property
    def page(self) -> int:
        """The page of a long list that the query asks for, from 1. Raises ``RequestError`` 400 for no number."""
        said = self.query.get("page") or "1"
        if not (said.isascii() and said.isdecimal() and len(said) <= len("1000000") and int(said) >= 1):
            raise bad_parameter(f"page is {shown(said)}", "It is a number from 1 on.")
        return int(said)

    def page_of(self, entries: Iterable[Entry], size: int) -> int:
        """The page that the query asks for, of ``size`` each: that of the ``entry`` that it names, or a number."""
        named = self.query.get("entry")
        place = next((index for index, each in enumerate(entries) if each.id == named), None)
        return self.page if place is None else place // size + 1


@dataclass(frozen=True, slots=True)
class Page:
    """What is shown: a template, and what goes into it."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


PageView: TypeAlias = Callable[[PageRequest], Page]
"""Looks at the memory and says what is shown. Runs in a worker thread, and writes nothing."""


def of_entity(entity: str) -> dict[str, Any]:
    """What the page of a file says of its entity."""
    name, target = parts_of(entity)
    return {"entity": entity, "name": name, "target": target}


def reading(view: PageView, *takes: str) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a view. ``takes`` is what its query may say, beside what was just done."""
    form = form_of({name: {"type": "string", "maxLength": _LONGEST_QUERY} for name in (*takes, DID)})

    async def endpoint(request: Request) -> Response:
        try:
            asked = asked_of(request)
            read_values(form, request.query_params.multi_items())
            visit = visit_of(request) if asked.caller.may_write else None
            status, html = await in_thread(request, _made, request, view, asked, visit)
        except Exception as error:  # noqa: BLE001 - answered as every error of the server is, and logged there
            return error_page(request, error)
        # A page is made anew each time, also on the way back; which one depends on who asks and on light or dark.
        headers = {"Cache-Control": "private, no-cache", "Vary": "Cookie, Authorization", **OWN_REFERRER}
        answer = Response(html, status, headers, "text/html")
        if visit is not None:
            remember(visit, request, answer)
        return answer

    return endpoint


def asked_of(request: Request) -> PageRequest:
    """The request of a person. Raises ``RequestError``: 401, and 403 for everybody else."""
    caller = caller_of(request)
    if not caller.is_person:
        hint = f"A program uses it for the API. The page wants the token of a person: {_MAKES_ONE}"
        raise RequestError("the page is for people, and this token is for a program", code="people_only", hint=hint)
    state = request.app.state
    shared = state.overviews, state.remarks
    return PageRequest(state.workspace, caller, request.url.path, request.path_params, request.query_params, *shared)


def _made(request: Request, view: PageView, asked: PageRequest, visit: Visit | None) -> tuple[int, bytes]:
    page = view(asked)
    said: dict[str, Any] = {
        "link": asked.link,
        "done": recent_changes(asked.workspace, asked.query.get(DID), asked.remarks),
    }
    if visit is not None:
        query = f"?{request.url.query}" if request.url.query else ""
        said |= {"csrf": token_of(visit, asked.caller), "back": own_address(f"{asked.address}{query}")}
    return page.status, in_html(request, page, asked.address, said)


def in_html(request: Request, page: Page, here: str, said: Mapping[str, Any]) -> bytes:
    """A page as UTF-8, for a person. ``here`` is its address; its own context goes before ``said``."""
    workspace: Workspace = request.app.state.workspace
    own = {
        "here": here,
        "root_name": workspace.root.name,
        "theme": theme_of(request),
        "waiting": _waiting(workspace),
        "operation_id": secrets.token_hex,
    }
    return rendered(page.template, {**said, **page.context, **own})


def _waiting(workspace: Workspace) -> int:
    """How many proposals wait. Of a file that cannot be read its own pages say why."""
    found = 0
    for name in profile_names(workspace.config.profiles_dir):
        for target in TARGETS:
            with suppress(CatmemError):
                found += sum(tip.is_proposal for tip in workspace.store.branches(f"{name}/{target}"))
    return found


# --- whose form it is ------------------------------------------------------------------------------------------------
# A form holds a digest of a cookie that no other site can read, and of who asked; and a name for its write, so that a
# double click is one write.

COOKIE = "catmem_form"
_KEY = secrets.token_bytes(32)
_COOKIE = re.compile(r"[A-Za-z0-9_-]{43}")


class Visit(NamedTuple):
    """A browser: its cookie, and whether it has yet to get it."""

    cookie: str
    is_new: bool


def visit_of(request: Request) -> Visit:
    """The browser that sent a request; a new cookie for one that has none, or none of ours."""
    cookie = request.cookies.get(COOKIE, "")
    is_new = _COOKIE.fullmatch(cookie) is None
    return Visit(secrets.token_urlsafe(32) if is_new else cookie, is_new)


def remember(visit: Visit, request: Request, answer: Response) -> None:
    """Give a browser its cookie, if it has none yet."""
    if visit.is_new:
        is_https = request.url.scheme == "https"
        answer.set_cookie(COOKIE, visit.cookie, path="/", httponly=True, samesite="strict", secure=is_https)


def token_of(visit: Visit, caller: Token) -> str:
    """What a form says that is shown in this browser to this person."""
    return _digest(visit.cookie, caller.agent, caller.label)


def is_own(given: str, visit: Visit, caller: Token) -> bool:
    """Whether a form that says this was shown in this browser to this person."""
    return not visit.is_new and hmac.compare_digest(given.encode(), token_of(visit, caller).encode())


def operation_of(given: str, address: str) -> str:
    """The ``op_id`` of what was sent: buttons of one form that lead to several addresses are several writes."""
    return _digest(given, address)


def _digest(*parts: str) -> str:
    return hmac.digest(_KEY, json.dumps(parts).encode(), "sha256").hex()[:40]


# --- errors, and who is not let in -----------------------------------------------------------------------------------

_HEADINGS = {
    401: "This page wants a token",
    403: "This is not for you",
    404: "There is nothing here",
    409: "It has changed in the meantime",
    500: "Something went wrong",
    503: "The memory cannot be read right now",
}
_HOW_TO_GIVE_ONE = (
    "Load it again: the browser asks for a name and a password. Any name will do, and the token is the password."
)
_MAKES_ONE = "'catmem token new NAME --person' makes one, where the server runs."


def error_page(request: Request, error: Exception) -> Response:
    """What programs learn of an error, with the same status, for a person to read."""
    plain = error_response(request, error)
    caller = request.scope.get(KEY)
    said = json.loads(bytes(plain.body))
    if said["code"] == "no_token":
        said |= {"message": "This page wants the token of a person.", "hint": f"{_HOW_TO_GIVE_ONE} {_MAKES_ONE}"}
    context = {
        "here": request.url.path,
        "root_name": request.app.state.workspace.root.name if isinstance(caller, Token) and caller.is_person else "",
        "theme": theme_of(request),
        "error": said,
        "status": plain.status_code,
        "heading": _HEADINGS.get(plain.status_code, "This cannot be shown"),
    }
    headers = {name: value for name, value in plain.headers.items() if not name.startswith("content-")}
    return Response(rendered("error.html", context), plain.status_code, {**headers, **OWN_REFERRER}, "text/html")


# --- what was just done -----------------------------------------------------------------------------------------------


def can_be_undone(revision: Revision) -> bool:
    """Whether the page offers to go back to what was there before a revision: for a write of entries, or of a text."""
    return undo_fault(revision) is None and (revision.op in {"restore", "sort"} or "actions" in revision.note)


def record_of(workspace: Workspace, entity: str, revision: str) -> Revision | None:
    """What the store recorded of a revision; ``None`` for one that is not there."""
    return next((each for each in workspace.store.log(entity) if each.revision == revision), None)


@dataclass(frozen=True, slots=True)
class RecentChange:
    """A revision, and what it did in words. ``record`` is ``None`` where nothing had to be done.

    ``before`` is the revision that Undo goes back to, ``None`` where it cannot: something came after it, or it is no
    change that can be taken back whole. ``about`` is the beginning of the entry that it was on, empty where there are
    several; ``remarks`` are what to know of it. ``closed`` are the branches that it closed. ``proposal`` is what it
    made, decided or took back.
    """

    record: Revision | None
    did: str = ""
    before: str | None = None
    about: str = ""
    remarks: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    proposal: str | None = None


NOTHING_TO_DO = "nothing"
"""What ``did`` says in a query where all was as it should be already."""

MOST_CHANGES = 25
"""Revisions that one form is said to have written."""


def recent_changes(workspace: Workspace, named: str | None, remarks: Mapping[str, Sequence[str]]) -> list[RecentChange]:
    """What ``ENTITY@REVISION`` did, or several with blanks between; nothing of what is no revision that there is."""
    if named == NOTHING_TO_DO:
        return [RecentChange(None)]
    found = (_recent_change(workspace, each, remarks.get(each, ())) for each in (named or "").split(" ")[:MOST_CHANGES])
    return [each for each in found if each is not None]


def _recent_change(workspace: Workspace, named: str, remarks: Sequence[str]) -> RecentChange | None:
    entity, _, revision = named.partition("@")
    store = workspace.store
    try:
        entity = entity_of(workspace, entity)
        head, record = store.head(entity), record_of(workspace, entity, revision)
        text = store.peek(entity).decode(errors="replace")
    except CatmemError:
        return None  # the page itself tells what cannot be read
    if record is None:
        return None
    about = beginning(words_of(workspace, store, [record]).get(revision, ""))
    several = len(record.note.get("actions", ()))
    before = record_of(workspace, entity, parent_of(record)) if record.op == "restore" else None
    known = [f"{each[:1].upper()}{each[1:].rstrip('.')}." for each in remarks]
    known += [*_remarks_on_sort(workspace, record), *(f"{each}." for each in unmerged_warnings(entity, text))]
    return RecentChange(
        record,
        did(record),
        parent_of(record) if head is not None and head.revision == revision and can_be_undone(record) else None,
        about or (counted(several, "entry", "entries") if several > 1 else ""),
        tuple(dict.fromkeys(known)),
        () if DECISION in record.note else closed(record),
        proposal_of(before or record),
    )


def _remarks_on_sort(workspace: Workspace, record: Revision) -> Iterator[str]:
    """What a person should know of a sort: what an undo leaves, who reads what, and how a secret is erased."""
    if record.op != "sort":
        return
    for name in record.note.get("declared", ()):
        yield f"{name} is new in catmem.yaml; an undo leaves it there."
    for name in unread_of(workspace, record.entity, [each for each in record.note["sorted"] if each not in ACTIONS]):
        yield f"No specialist reads {name} in this file."
    for entry_id in record.note.get("secrets", ()):
        yield (
            "The history still has the secret, and so have copies outside, such as the file that 'init --start' read. "
            "Replace it where it was issued, then erase it: "
            f"catmem purge {record.entity} {entry_id} --yes"
        )
