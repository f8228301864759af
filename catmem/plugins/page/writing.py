"""How a page writes: a plain form, one guarded write, and a page that says what was done.

::

    form ──POST──> person? own form? ──> action ──> 303 to a page that tells of the revision, with Undo
                                           └─ refused ──> a page with the reason, and the form with the person's text
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice, takewhile
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from catmem.config.json_schema import shown
from catmem.envelopes.papers import WriteBase, plain_envelope, submit_read
from catmem.errors import (
    CatmemError,
    DriftError,
    OperationCollisionError,
    RequestError,
    StaleError,
    UnknownRevisionError,
)
from catmem.plugins.page.csrf import Visit, is_own, naming, operation_of, remember, token_of, visit_of
from catmem.plugins.page.formats import Diff, diff_of, own_address, text_of, with_query
from catmem.plugins.page.page_view import OWN_REFERRER, Page, PageRequest, asked_of, error_page, in_html
from catmem.plugins.page.recent_changes import MOST, NOTHING_TO_DO
from catmem.server.guard import DEADLINE, in_thread
from catmem.server.requests import read_values, refuse_other_type, unforeseen
from catmem.staleness.lineage import entry_in
from catmem.store.contract import Revision, Snapshot
from catmem.workspace.history import entity_of
from catmem.workspace.workspace import Workspace
from catmem.writing.request import checked_expected, is_digest
from catmem.writing.written import Written

_MOST_SHOWN = 20
_OLD_VIEW = (StaleError, DriftError, OperationCollisionError, UnknownRevisionError)
_NOT_WRITTEN = "This was not written"


class Since(NamedTuple):
    """What became of a file since a person saw it.

    ``now`` is the name of its revision, ``None`` for a text that has none. ``done`` are the revisions in between, the
    newest first; ``more`` says that there are others. ``diff`` is ``None`` where it is unknown what was seen.
    ``is_there`` says whether the entry of the form is still as it was; ``None`` for a form on none.
    """

    now: str | None
    done: Sequence[Revision]
    more: bool
    diff: Diff | None
    is_there: bool | None


@dataclass(frozen=True, slots=True)
class FormRefusal:
    """Why a form was refused. ``since`` is ``None`` unless it was for what changed.

    ``expected`` and ``op_id`` are what the form says when it is sent again: those of what is there now if that was the
    reason, else the same as before.
    """

    heading: str
    error: CatmemError
    since: Since | None
    expected: str | None
    op_id: str | None

    @property
    def is_final(self) -> bool:
        """Whether the entry that the form is on is another one by now: it cannot be sent again."""
        return self.since is not None and self.since.is_there is False


def refusal_of(sent: SentForm, error: Exception, status: int) -> FormRefusal:
    """What the page of a refused form says. Raises what reading the store raises."""
    plain = plain_refusal(sent, error, status)
    if sent.entity is None or not isinstance(error, _OLD_VIEW):
        return plain
    now = sent.workspace.store.read(sent.named)
    base = now.revision or now.digest
    if base == sent.expected:  # refused for what stands in the file, and not for an old view
        return replace(plain, heading=_NOT_WRITTEN)
    op_id = naming(sent.workspace)(sent.named, base, sent.address, sent.get("entry") or sent.get("about"))
    return replace(plain, since=_since(sent, now), expected=base, op_id=op_id)


def plain_refusal(sent: SentForm, error: Exception, status: int) -> FormRefusal:
    """The same without a look at the store: the form as it was sent."""
    known = error if isinstance(error, CatmemError) else unforeseen()
    heading = "It has changed in the meantime" if status == 409 else _NOT_WRITTEN  # noqa: PLR2004
    return FormRefusal(heading, known, None, sent.expected, sent.fields.get("op_id"))


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


def _since(sent: SentForm, now: Snapshot) -> Since:
    workspace, entity = sent.workspace, sent.named
    seen = seen_text(workspace, entity, sent.expected)
    log = workspace.store.log(entity)
    if seen is None:
        done = list(islice(log, 1))  # without a known beginning, only the newest is sure to have come after it
    else:
        later = takewhile(lambda each: sent.expected not in {each.revision, each.digest}, log)
        done = list(islice((each for each in later if not each.is_branch), _MOST_SHOWN + 1))
    is_there = entry_in(workspace.parse(now.data), sent.get("entry"), sent.get("where")) is not None
    diff = None if seen is None else diff_of(text_of(seen), text_of(now.data))
    return Since(
        now.revision, done[:_MOST_SHOWN], len(done) > _MOST_SHOWN, diff, is_there if "entry" in sent.fields else None
    )


# --- how a page writes: a plain form, one guarded write, and a page that says what was done --------------------------


_MOST_FIELDS = 2_000
_SECONDS = 5.0
_FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class SentForm(PageRequest):
    """A form as a person sent it. ``fields`` is what it says.

    ``entity`` is what it changes (``None``: nothing that the form names), ``expected`` the revision that the person
    saw, or the digest of a text that had none. ``op_id`` is the name of its write. ``back`` is the page that it was
    sent from.
    """

    fields: Mapping[str, str]
    entity: str | None
    expected: str | None
    op_id: str | None
    back: str

    def get(self, name: str, default: str = "") -> str:
        """A field; ``default`` where the form has none."""
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
    """What was done, and where to go: ``address`` may have a query and the id of a place on the page.

    ``written`` are entities, each with its new revision, ``None`` where nothing had to be written.
    """

    address: str
    written: Sequence[tuple[str, str | None]] = ()


FormAction: TypeAlias = Callable[[SentForm], Redirect | Page]
"""Makes the write of a form, or raises ``CatmemError``. Runs in a worker thread.

A ``Page`` is shown as it is: what a form would write, or what it could not write of many things."""

Again: TypeAlias = Callable[[SentForm, FormRefusal], Page]
"""Shows the form again that was refused, with what the person typed. Runs in a worker thread, and writes nothing."""


def writing(
    action: FormAction, *takes: str, says: str = "", again: Again | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of an action. ``takes`` are the fields of its forms beside ``OF_EVERY_FORM``.

    A ``*`` at the end of one stands for any end.
    A form that is refused is shown again by ``again``; by default on a page of its own, with all of its fields and a
    button that ``says`` what it does. Without either the page tells why, and offers nothing.
    """

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
            return await _refused(request, visit, sent, error, again or plainly(says))
        return RedirectResponse(_done_address(did), 303, OWN_REFERRER)

    return endpoint


def put(sent: SentForm, content: str | Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Written:
    """Write what a form says, as the API makes a plain write of a person: one envelope, through all its guards.

    ``content`` is a whole text, its JSON form, or operations. Raises what ``Workspace.submit`` raises. An old view is
    refused whatever ``on_stale`` says: branches are for agents that cannot try again, and a person can look. It sees
    what it replaces, so it is asked no second time (``semantic_alert``). A secret is refused.
    """
    expected = sent.seen
    base = WriteBase(expected)
    if is_digest(expected):
        base = WriteBase(None, lambda snapshot: snapshot.digest == expected)
    fields = {"entity_id": sent.named, "content": content, **({} if sent.op_id is None else {"op_id": sent.op_id})}
    envelope = plain_envelope(sent.workspace, fields, None, base)
    return submit_read(sent.workspace, envelope, confirm=True, on_stale="refuse", allow_secret=False)


def done(sent: SentForm, written: Written, address: str | None = None) -> Redirect:
    """What a write did, shown at ``address``; by default on the page that the form was sent from.

    A form that is sent twice gets the same answer both times, as long as that is true: raises ``StaleError`` for one
    whose revision is the newest no longer, since it may be sent again for what was taken back in the meantime.
    """
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
    return Redirect(sent.back if address is None else address, [(written.entity, revision)])


def nothing_ticked(message: str = "no entry is ticked") -> RequestError:
    """The refusal of a form that says of nothing that it is meant."""
    return RequestError(message, code="nothing_ticked", hint="Tick or choose what you mean, and send it again.")


def refuse_partly(failed: Sequence[str], done: int, verb: str) -> None:
    """Raise ``RequestError`` 409 where some of several changes ``failed``: the others were ``done``."""
    if failed:
        message = f"{len(failed):,} of {len(failed) + done:,} were not {verb}: {'; '.join(failed)}"
        raise RequestError(message, code="partly_decided", hint=f"The others were {verb}: {done:,}.")


def bad_form(message: str) -> RequestError:
    """The refusal of what no form of the page says."""
    return RequestError(message, code="bad_form", hint="Nothing was done. Reload the page, and send it again.")


# --- what was sent ---------------------------------------------------------------------------------------------------


async def _fields(request: Request, takes: Sequence[str]) -> dict[str, str]:
    """The fields of a form. Raises ``RequestError``: 415, and 400 for what no browser sends, or no form of the page."""
    read_values((), request.query_params.multi_items())
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


def _sent(asked: PageRequest, fields: Mapping[str, str]) -> SentForm:
    path = asked.path
    return SentForm(
        *(asked.workspace, asked.caller, asked.address, path, asked.query, asked.overviews),
        fields=fields,
        entity=f"{path['name']}/{path['target']}" if {"name", "target"} <= path.keys() else fields.get("entity"),
        expected=fields.get("expected"),
        op_id=operation_of(fields["op_id"], asked.address) if "op_id" in fields else None,
        back=own_address(fields.get("back", "")),
    )


def _refuse_foreign(sent: SentForm, visit: Visit) -> None:
    if not is_own(sent.get("csrf"), visit, sent.caller):
        raise RequestError(
            "this form was not shown in this browser since the server was started",
            code="foreign_form",
            hint="Nothing was written. If it says what you want, send it again; or reload the page it came from.",
        )


# --- answers ---------------------------------------------------------------------------------------------------------


def _done_address(did: Redirect) -> str:
    written = [f"{entity}@{revision}" for entity, revision in did.written if revision is not None]
    return with_query(did.address, did=" ".join(written[:MOST]) or NOTHING_TO_DO)


async def _refused(request: Request, visit: Visit, sent: SentForm, error: Exception, again: Again) -> Response:
    """The page of a form that was refused: why, and the form with what the person typed."""
    plain = error_page(request, error)  # which also logs it, and tells who mends the store
    # The time of the request may be over, and that be the reason: showing it has a time of its own.
    request.scope[DEADLINE] = asyncio.get_running_loop().time() + _SECONDS
    try:
        page = await in_thread(request, _shown_again, sent, error, plain.status_code, again)
        answer = await _shown(request, visit, sent, replace(page, status=plain.status_code))
    except RequestError:
        return plain  # too busy for more than the reason
    answer.headers.update({name: plain.headers[name] for name in ("retry-after",) if name in plain.headers})
    return answer


async def _shown(request: Request, visit: Visit, sent: SentForm, page: Page) -> Response:
    said = {"csrf": token_of(visit, sent.caller), "back": sent.back}
    html = await in_thread(request, in_html, request, page, urlsplit(sent.back).path, said)
    answer = Response(html, page.status, OWN_REFERRER, "text/html")
    remember(visit, request, answer)
    return answer


def _shown_again(sent: SentForm, error: Exception, status: int, again: Again) -> Page:
    try:
        return again(sent, refusal_of(sent, error, status))
    except CatmemError:  # what the form is about cannot be read, so there is nothing to send it again to
        return plainly("")(sent, plain_refusal(sent, error, status))


OF_EVERY_FORM = ("csrf", "back", "entity", "expected", "op_id")
"""The fields that every form of the page may have."""
_OF_THE_FORM = frozenset({"csrf", "entity", "expected", "op_id", "back"})
_TYPED = frozenset({"content"})


def plainly(says: str) -> Again:
    """A page with every field of the form: what a person types in sight, the rest as it was."""

    def again(sent: SentForm, refusal: FormRefusal) -> Page:
        kept = {name: value for name, value in sent.fields.items() if name not in _OF_THE_FORM | _TYPED}
        typed = {name: value for name, value in sent.fields.items() if name in _TYPED}
        return Page("refused.html", {"refusal": refusal, "sent": sent, "says": says, "kept": kept, "typed": typed})

    return again
