"""How a page writes: a plain form, one guarded write, and a page that says what was done.

::

    form ──POST──> person? own form? ──> action ──> 303 to a page that tells of the revision, with Undo
                                           └─ refused ──> a page with the reason, and the form with the person's text
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from catmem.config.json_schema import shown
from catmem.envelopes.papers import submit_plain
from catmem.errors import (
    CatmemError,
    DriftError,
    OperationCollisionError,
    RequestError,
    StaleError,
    UnknownRevisionError,
)
from catmem.model.document import Document
from catmem.plugins.page.page_view import (
    MOST_CHANGES,
    NOTHING_TO_DO,
    OWN_REFERRER,
    Page,
    PageRequest,
    Visit,
    asked_of,
    error_page,
    in_html,
    is_own,
    operation_of,
    record_of,
    remember,
    token_of,
    visit_of,
)
from catmem.plugins.page.rendering import Diff, diff_of, own_address, text_of, with_query
from catmem.server.guard import in_thread
from catmem.server.requests import refuse_other_type, refuse_query, unforeseen
from catmem.staleness.lineage import entry_in
from catmem.store.contract import Revision, Snapshot
from catmem.workspace.history import entity_of, parent_of
from catmem.workspace.seen_entry import rules_in
from catmem.workspace.workspace import Workspace
from catmem.writing.request import checked_expected, is_digest
from catmem.writing.written import Written

_MOST_SHOWN = 20
_OLD_VIEW = (StaleError, DriftError, OperationCollisionError, UnknownRevisionError)


@dataclass(frozen=True, slots=True)
class FormRefusal:
    """Why a form was refused, and what it says when it is sent again.

    ``expected`` is what it was made on, or what is there now where ``is_old``: it was refused for what changed. Then
    ``done`` are the revisions in between, the newest first, and ``diff`` is what changed, since the newest text before
    where it is unknown what was seen; ``outside`` says that something is in no revision yet. ``gone`` are the fields
    that name an entry which is another one by now.
    """

    heading: str
    error: CatmemError
    expected: str | None
    op_id: str | None
    is_old: bool = False
    outside: bool = False
    done: Sequence[Revision] = ()
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
        now = sent.workspace.store.read(sent.named)
        base = now.revision or now.digest
        if base == sent.expected:  # refused for what stands in the file, and not for an old view
            return replace(plain, heading="This was not written")
        seen = seen_text(sent.workspace, sent.named, sent.expected)
        before = _newest_before(sent, now) if seen is None else seen
        log = sent.workspace.store.log(sent.named)
        later = takewhile(lambda each: sent.expected not in {each.revision, each.digest}, log)
        # Without a known beginning only the newest is sure to have come after it.
        done = islice((each for each in later if not each.is_branch), _MOST_SHOWN if seen is not None else 1)
        return replace(
            plain,
            expected=base,
            op_id=None,
            is_old=True,
            outside=now.revision is None,
            done=list(done),
            diff=None if before is None else diff_of(text_of(before), text_of(now.data)),
            gone=_gone(sent, sent.workspace.parse(now.data)),
        )
    return plain


def _newest_before(sent: SentForm, now: Snapshot) -> bytes | None:
    """The newest text in the history that is another one than what is there now."""
    store, newest = sent.workspace.store, sent.workspace.store.head(sent.named)
    if newest is not None and now.revision is not None:
        newest = record_of(sent.workspace, sent.named, parent_of(newest))
    return None if newest is None else store.read(sent.named, newest.revision).data


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

    ``written`` are entities, each with its new revision, ``None`` where nothing had to be written. ``remarks`` are what
    to know of the write.
    """

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
    """The endpoint of an action. ``takes`` are the fields of its forms beside ``OF_EVERY_FORM``.

    A ``*`` at the end of one stands for any end. A form that is refused is shown again with all of its fields and a
    button that ``says`` what it does, or by ``again``. Without either the page tells why, and offers nothing.
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
    """Write what a form says, as the API makes a plain write of a person: one envelope, through all its guards.

    ``content`` are operations. Raises what ``Workspace.submit`` raises. An old view is
    refused whatever ``on_stale`` says: branches are for agents that cannot try again, and a person can look. It sees
    what it replaces, so it is asked no second time (``semantic_alert``). A secret is refused.
    """
    fields = {"entity_id": sent.named, "content": content, **({} if sent.op_id is None else {"op_id": sent.op_id})}
    how: dict[str, Any] = {"confirm": True, "on_stale": "refuse", "allow_secret": False}
    return submit_plain(sent.workspace, fields, base=sent.seen, **how)


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
    rules = rules_in([entry.body for entry in written.entries])
    withheld = [f"Prompts withhold it: {', '.join(rules)}"] if rules else []
    remarks = () if written.repeated else (*written.warnings, *written.notes, *withheld)
    return Redirect(sent.back if address is None else address, [(written.entity, revision)], remarks)


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


def _sent(asked: PageRequest, fields: Mapping[str, str]) -> SentForm:
    path = asked.path
    return SentForm(
        *(asked.workspace, asked.caller, asked.address, path, asked.query, asked.overviews, asked.remarks),
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
