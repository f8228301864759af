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
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from catmem.config.json_schema import shown
from catmem.config.profile import profile_names
from catmem.envelopes.papers import submit_plain
from catmem.envelopes.tokens import KEY, Token, caller_of
from catmem.errors import (
    CatmemError,
    DriftError,
    OperationCollisionError,
    RequestError,
    StaleError,
    UnknownRevisionError,
)
from catmem.model.document import Document, Entry
from catmem.names import TARGETS, parts_of
from catmem.plugins.page import rendering
from catmem.plugins.page.rendering import DID, THEME, THEMES, Diff, diff_of, own_address, rendered, text_of, with_query
from catmem.plugins.sorting.migrating import unread_of
from catmem.plugins.sorting.sort_lines import ACTIONS
from catmem.server.guard import in_thread
from catmem.server.requests import (
    bad_parameter,
    error_response,
    form_of,
    read_values,
    refuse_other_type,
    refuse_query,
    unforeseen,
)
from catmem.staleness.lineage import entry_in
from catmem.store.contract import DECISION, Revision
from catmem.text import counted, unmerged_warnings
from catmem.workspace.history import closed, entity_of, parent_of, undo_fault, words_of
from catmem.workspace.overview import Overviews
from catmem.workspace.seen_entry import rules_in
from catmem.workspace.workspace import Workspace
from catmem.writing.request import checked_expected, is_digest
from catmem.writing.written import Written

_LONGEST_QUERY = 65_536
K = TypeVar("K", bound=str)

OWN_REFERRER = {"Referrer-Policy": "same-origin"}
"""No other site learns an address of the page. With ``no-referrer`` a form of its own would come with the origin
``null``, as the form of another site may."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a person asked to see; ``remarks`` are what the last writes said, by ``ENTITY@REVISION``."""

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
    template: str
    context: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


PageView: TypeAlias = Callable[[PageRequest], Page]
"""Looks at the memory and says what is shown. Runs in a worker thread, and writes nothing."""


def of_entity(entity: str) -> dict[str, Any]:
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
        "theme": rendering.theme_of(request),
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
        "theme": rendering.theme_of(request),
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


NOTHING_TO_DO = "nothing"
"""What ``did`` says in a query where all was as it should be already."""

MOST_CHANGES = 25
"""Revisions that one form is said to have written."""


def recent_changes(
    workspace: Workspace, named: str | None, remarks: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """What ``ENTITY@REVISION`` did, or several with blanks between; nothing of what is no revision that there is."""
    if named == NOTHING_TO_DO:
        return [{"record": None}]
    found = (_recent_change(workspace, each, remarks.get(each, ())) for each in (named or "").split(" ")[:MOST_CHANGES])
    return [each for each in found if each is not None]


def _recent_change(workspace: Workspace, named: str, remarks: Sequence[str]) -> dict[str, Any] | None:
    """What a revision did, in words; ``may_undo``: whether Undo takes it back."""
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
    about = rendering.beginning(words_of(workspace, store, [record]).get(revision, ""))
    several = len(record.note.get("actions", ()))
    before = record_of(workspace, entity, parent_of(record)) if record.op == "restore" else None
    known = [f"{each[:1].upper()}{each[1:].rstrip('.')}." for each in remarks]
    known += [*_remarks_on_sort(workspace, record), *(f"{each}." for each in unmerged_warnings(entity, text))]
    return {
        "record": record,
        "may_undo": head is not None and head.revision == revision and can_be_undone(record),
        "about": about or (counted(several, "entry") if several > 1 else ""),
        "remarks": [*dict.fromkeys(known)],
        "closed": () if DECISION in record.note else closed(record),
        "proposal": rendering.proposal_of(before or record),
    }


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


_OLD_VIEW = (StaleError, DriftError, OperationCollisionError, UnknownRevisionError)


@dataclass(frozen=True, slots=True)
class FormRefusal:
    """Why a form was refused, and what it says when it is sent again.

    ``expected`` is what it was made on, or what is there now where ``is_old``: it was refused for what changed, since
    what was seen as ``diff`` has it. ``gone`` are the fields that name an entry which is another one by now.
    """

    heading: str
    error: CatmemError
    expected: str | None
    op_id: str | None
    is_old: bool = False
    entity: str = ""
    diff: Diff | None = None
    gone: frozenset[str] = frozenset()


def refusal_of(sent: SentForm, error: Exception, status: int) -> FormRefusal:
    """What the page of a refused form says. Raises what reading the store raises."""
    known = error if isinstance(error, CatmemError) else unforeseen()
    is_conflict = status == 409  # noqa: PLR2004
    heading = "It has changed in the meantime" if is_conflict else "This was not written"
    plain = FormRefusal(heading, known, sent.expected, sent.fields.get("op_id"))
    if sent.entity is None or not isinstance(error, _OLD_VIEW):
        return plain
    with suppress(CatmemError):  # what cannot be read has changed in no way that could be shown
        store = sent.workspace.store
        now, newest = store.read(sent.named), store.head(sent.named)
        base = now.revision or now.digest
        if base == sent.expected:  # refused for what stands in the file, and not for an old view
            return replace(plain, heading="This was not written")
        seen = seen_text(sent.workspace, sent.named, sent.expected)
        if seen is None and newest is not None:  # the newest text in the history that is another one
            seen = store.read(sent.named, parent_of(newest) if now.revision else newest.revision).data
        diff = None if seen in {None, now.data} else diff_of(text_of(seen or b""), text_of(now.data))
        gone = _gone(sent, sent.workspace.parse(now.data))
        return replace(plain, expected=base, op_id=None, is_old=True, entity=sent.named, diff=diff, gone=gone)
    return plain


def _gone(sent: SentForm, document: Document) -> frozenset[str]:
    """The fields of a form that name an entry which a document has not."""
    named = {name: value.partition(" ")[::2] for name, value in sent.fields.items() if name.startswith(TICK)}
    if "entry" in sent.fields:
        named["entry"] = sent.get("entry"), sent.get("where")
    return frozenset(name for name, (entry, where) in named.items() if entry_in(document, entry, where) is None)


def seen_text(workspace: Workspace, entity: str, expected: str | None) -> bytes | None:
    """The bytes that a form was made on; ``None`` where they are no longer known."""
    if expected is None:
        return None
    store = workspace.store
    if is_digest(expected):
        now = store.read(entity)
        if now.digest == expected:
            return now.data
        expected = next((each.revision for each in store.log(entity) if each.digest == expected), None)
    try:
        return None if expected is None else store.read(entity, expected).data
    except UnknownRevisionError:
        return None


TICK = "tick-"
"""How the names of the boxes begin; behind it stands what differs, and the value is ``ID CATEGORY``."""
TYPED = {
    "content": "Text",
    "category": "Category",
    "new_category": "New category",
    "expires": "Holds until",
    "domain": "Domain",
    "reason": "Reason",
}
"""What a person types into forms, and what it is called where a form is shown again."""


def refused_page(sent: SentForm, refusal: FormRefusal, says: str) -> Page:
    """Why a form was refused, with what the person typed, to be sent again or, where it cannot be, to be copied."""
    fields = {name: value for name, value in sent.fields.items() if name not in {*OF_EVERY_FORM, *refusal.gone}}
    typed = {name: value for name, value in fields.items() if name in TYPED or name.startswith("new-")}
    is_final = "entry" in refusal.gone or refusal.error.code == "partly_decided"
    if refusal.gone and not any(name.startswith(TICK) for name in fields):
        is_final = True
    return Page(
        "refused.html",
        {
            "refusal": refusal,
            "sent": sent,
            "says": says,
            "can_send": bool(says) and not is_final,
            "typed": [(name, TYPED.get(name, TYPED["new_category"]), value) for name, value in typed.items()],
            "kept": {name: value for name, value in fields.items() if name not in typed},
        },
    )


# --- how a page writes: a plain form, one guarded write, and a page that says what was done --------------------------


_MOST_FIELDS = 2_000
_MOST_REMARKS = 256
_FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class SentForm(PageRequest):
    """A form as a person sent it: what it changes, what the person saw, and the page that it was sent from."""

    fields: Mapping[str, str]
    entity: str | None
    expected: str | None
    op_id: str | None
    back: str

    def get(self, name: str, default: str = "") -> str:
        return self.fields.get(name, default)

    @property
    def named(self) -> str:
        """The entity. Raises ``RequestError`` 400 for a form that names none, and ``UnknownNameError``."""
        if self.entity is None:
            raise bad_form("the form does not say which file it changes")
        return entity_of(self.workspace, self.entity)

    @property
    def seen(self) -> str:
        """What the person saw. Raises ``RequestError`` 400 for a form that does not say it, and ``EditError``."""
        expected = checked_expected(self.expected)
        if expected is None:
            raise bad_form("the form does not say which revision it was made on")
        return expected


class Redirect(NamedTuple):
    """What was done (entities with their new revisions), what to know of it, and where to go."""

    address: str
    written: Sequence[tuple[str, str | None]] = ()
    remarks: Sequence[str] = ()


FormAction: TypeAlias = Callable[[SentForm], Redirect | Page]
"""Makes the write of a form, or raises ``CatmemError``. Runs in a worker thread.

A ``Page`` is shown as it is: what a form would write, or what it could not write of many things."""

Again: TypeAlias = Callable[[SentForm, FormRefusal], Page]
"""Shows the form again that was refused, with what the person typed. Runs in a worker thread, and writes nothing."""


def writing(
    action: FormAction, *takes: str, says: str = "", again: Again | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of an action, which takes these fields beside ``OF_EVERY_FORM``; a ``*`` stands for any end."""

    async def endpoint(request: Request) -> Response:
        try:
            asked = asked_of(request)
            sent = _sent(asked, await _fields(request, (*OF_EVERY_FORM, *takes)))
        except Exception as error:  # noqa: BLE001 - answered as every error of the server is, and logged there
            return error_page(request, error)
        visit = visit_of(request)
        try:
            _refuse_foreign(sent, visit)
            did = await in_thread(request, action, sent)
            if isinstance(did, Page):
                return await _shown(request, visit, sent, did)
        except Exception as error:  # noqa: BLE001 - the same, with the form
            return await _refused(request, visit, sent, error, again or partial(refused_page, says=says))
        written = [f"{entity}@{revision}" for entity, revision in did.written if revision is not None]
        if written and did.remarks:
            sent.remarks[written[0]] = did.remarks
            if len(sent.remarks) > _MOST_REMARKS:
                del sent.remarks[next(iter(sent.remarks))]
        address = with_query(did.address, did=" ".join(written[:MOST_CHANGES]) or NOTHING_TO_DO)
        return RedirectResponse(address, 303, OWN_REFERRER)

    return endpoint


def put(sent: SentForm, content: Sequence[Mapping[str, Any]]) -> Written:
    """Write what a form says as a person's plain write, who sees what it replaces; no old view, no secret."""
    fields = {"entity_id": sent.named, "content": content, **({} if sent.op_id is None else {"op_id": sent.op_id})}
    how: dict[str, Any] = {"confirm": True, "on_stale": "refuse", "allow_secret": False}
    return submit_plain(sent.workspace, fields, base=sent.seen, **how)


def done(sent: SentForm, written: Written, address: str | None = None) -> Redirect:
    """What a write did. A form that was sent before is answered alike as long as what it wrote is the newest."""
    revision = written.revision if written.changed or written.repeated else None
    if written.repeated:
        now = sent.workspace.store.read(written.entity)
        if now.revision != revision:
            raise StaleError(
                f"this form was sent before, and wrote revision {revision}: this time nothing was written",
                code="sent_before",
                expected=revision,
                found=now.revision or now.digest,
                hint="If what it wrote is gone and shall be there again, send it on what is there now.",
            )
    rules = rules_in([entry.body for entry in written.entries])
    withheld = [f"Prompts withhold it: {', '.join(rules)}"] if rules else []
    remarks = () if written.repeated else (*written.warnings, *written.notes, *withheld)
    return Redirect(sent.back if address is None else address, [(written.entity, revision)], remarks)


def nothing_ticked(message: str = "no entry is ticked") -> RequestError:
    return RequestError(message, code="nothing_ticked", hint="Tick or choose what you mean, and send it again.")


def refuse_partly(failed: Sequence[str], done: int, verb: str) -> None:
    """Raise ``RequestError`` 409 where some of several changes ``failed``: the others were ``done``."""
    if failed:
        message = f"{len(failed):,} of {len(failed) + done:,} were not {verb}: {'; '.join(failed)}"
        raise RequestError(message, code="partly_decided", hint=f"The others were {verb}: {done:,}.")


def bad_form(message: str) -> RequestError:
    return RequestError(message, code="bad_form", hint="Nothing was done. Reload the page, and send it again.")


# --- what was sent ---------------------------------------------------------------------------------------------------


async def _fields(request: Request, takes: Sequence[str]) -> dict[str, str]:
    """The fields of a form. Raises ``RequestError``: 415, and 400 for what no browser sends, or no form of the page."""
    refuse_query(request)
    refuse_other_type(request, _FORM_TYPE, "a form", "Programs write to /mem/write.")
    try:
        text = (await request.body()).decode("ascii")
        given = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise bad_form("the form cannot be read") from None
    fields = dict(given)
    if len(fields) != len(given):
        raise bad_form("the form says something twice")
    unknown = next((name for name in fields if not any(fnmatchcase(name, each) for each in takes)), None)
    if unknown is not None:
        raise bad_form(f"the form has a field {shown(unknown)}, and this address takes {', '.join(takes)}")
    # A browser sends every line end of a textarea as two characters.
    return {name: value.replace("\r\n", "\n") for name, value in fields.items()}


_YEAR = 365 * 24 * 3600


async def choose_theme(request: Request) -> Response:
    """Remember the choice, and go back to where it was made."""
    said = await _fields(request, ("theme", "back"))
    theme, back = said.get("theme", ""), said.get("back", "")
    answer = RedirectResponse(back if rendering.is_own_address(back) else "/", 303)
    if theme in THEMES:
        answer.set_cookie(THEME, theme, max_age=_YEAR, path="/", httponly=True, samesite="strict")
    return answer


def _sent(asked: PageRequest, fields: Mapping[str, str]) -> SentForm:
    path = asked.path
    return SentForm(
        *(asked.workspace, asked.caller, asked.address, path, asked.query, asked.overviews, asked.remarks),
        fields=fields,
        entity=f"{path['name']}/{path['target']}" if {"name", "target"} <= path.keys() else fields.get("entity"),
        expected=fields.get("expected"),
        # Buttons of one form that lead to several addresses are several writes.
        op_id=_digest(fields["op_id"], asked.address) if "op_id" in fields else None,
        back=own_address(fields.get("back", "")),
    )


def _refuse_foreign(sent: SentForm, visit: Visit) -> None:
    is_own = hmac.compare_digest(sent.get("csrf").encode(), token_of(visit, sent.caller).encode())
    if visit.is_new or not is_own:
        raise RequestError(
            "this form was not shown in this browser since the server was started",
            code="foreign_form",
            hint="Nothing was written. If it says what you want, send it again; or reload the page it came from.",
        )


# --- answers ---------------------------------------------------------------------------------------------------------


async def _refused(request: Request, visit: Visit, sent: SentForm, error: Exception, again: Again) -> Response:
    """The page of a form that was refused: why, and the form with what the person typed."""
    plain = error_page(request, error)  # which also logs it, and tells who mends the store
    try:
        page = await in_thread(request, lambda: again(sent, refusal_of(sent, error, plain.status_code)))
        return await _shown(request, visit, sent, replace(page, status=plain.status_code))
    except CatmemError:
        return plain  # what the form is about cannot be read


async def _shown(request: Request, visit: Visit, sent: SentForm, page: Page) -> Response:
    said = {"csrf": token_of(visit, sent.caller), "back": sent.back}
    html = await in_thread(request, in_html, request, page, urlsplit(sent.back).path, said)
    answer = Response(html, page.status, OWN_REFERRER, "text/html")
    remember(visit, request, answer)
    return answer


OF_EVERY_FORM = ("csrf", "back", "entity", "expected", "op_id")
"""The fields that every form of the page may have."""
