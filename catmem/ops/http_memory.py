"""Operations on entities over HTTP: where one is, what it says, and a write as an envelope or a plain one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from catmem import clock
from catmem.entities.contents import content_of
from catmem.errors import CatmemError, EnvelopeError, RefusedError, RequestError, UnknownRevisionError
from catmem.jsonable import jsonable
from catmem.model.document import Entry
from catmem.names import is_declared, is_name, parts_of
from catmem.ops.seen import submitted
from catmem.ops.shared import REVISION, AsOf, EntityId
from catmem.ops.table import Call, Http, Outcome, P, RequestBody, operation
from catmem.staleness.freshness import Freshness, freshness
from catmem.store.contract import revision_number
from catmem.workspace.history import refuse_bounded
from catmem.workspace.profile_memory import emptied_text, read_memory
from catmem.workspace.seen_entry import entry_dicts, rules_in_each
from catmem.writing.drift_guard import shown_rows
from catmem.writing.written import Written

# --- reading ---------------------------------------------------------------------------------------------------------


@operation(
    "head",
    http=Http(
        "GET",
        "/mem/head",
        "Which revision an entity is at",
        "What to give as prev_rev. recorded says whether the text is still that of the revision.",
        "Head",
    ),
)
def head(call: Call, *, entity_id: EntityId) -> Outcome:
    """Say which revision an entity is at; ``recorded`` is false after an external change. Raises ``UnknownNameError``.

    ``mem_rev`` is what an envelope gives as ``prev_rev`` (0: none yet).
    """
    entity, store = entity_id, call.root.store
    now, found = store.read(entity), store.head(entity)
    if found is not None and now.revision not in {None, found.revision}:
        # The head may be ahead of the file, and a write on it would drop what the caller has not read.
        found = next(each for each in store.log(entity) if each.revision == now.revision)
    number = "0" if found is None else found.revision
    said: dict[str, Any] = {"entity": entity, "revision": number, "mem_rev": revision_number(number)}
    said["recorded"] = now.revision is not None
    if found is not None:
        said |= {"agent_id": found.agent, "op": found.op, "timestamp": found.timestamp, "digest": found.digest}
    return Outcome(said, revision=now.revision, unrecorded=now.digest)


@dataclass(frozen=True, slots=True)
class EntityRead:
    """The entries of a memory file that the caller sees, each with its state.

    ``revision`` is ``None`` for a text that no history has yet; ``digest`` and ``text`` are of the whole file.
    """

    entity: str
    revision: str | None
    digest: str
    text: str
    entries: Sequence[tuple[Entry, Freshness]]
    total: int
    more: dict[str, list[str]]
    """``warnings`` of a file that lost all that its history has, and of a category that is like another."""

    def rows(self, *, to_agent: bool) -> list[dict[str, Any]]:
        """The entries with their ages; to a person a hostile text as it stands, with ``threats``."""
        entries = [entry for entry, _ in self.entries]
        shown = entry_dicts(entries, to_agent=to_agent)
        found = [] if to_agent else rules_in_each([[entry.body] for entry in entries])
        for row, threats in zip(shown, found, strict=False):
            row["threats"] = list(threats)
        return [{**row, **jsonable(age)} for row, (_, age) in zip(shown, self.entries, strict=True)]

    def __json__(self) -> dict[str, Any]:
        """All of it, for a person."""
        rest = {"entries": self.rows(to_agent=False), "total": self.total, **self.more}
        return {"entity": self.entity, "revision": self.revision, "digest": self.digest, "text": self.text, **rest}


@operation(
    "read",
    http=Http(
        "GET",
        "/mem/read",
        "Read the entries of an entity",
        "The entries that the caller sees, in file order, each with its state.",
        "Read",
    ),
)
def read(
    call: Call,
    *,
    entity_id: EntityId,
    category: Annotated[str | None, P("Only entries of this category.", form={"maxLength": 1024})] = None,
    revision: Annotated[str | None, P("An old revision: for a person and a profile of tier 1.", form=REVISION)] = None,
    offset: Annotated[int, P("How many to pass over.", minimum=0, maximum=10_000_000)] = 0,
    limit: Annotated[int | None, P("How many at most.", minimum=1, maximum=100_000)] = None,
    as_of: AsOf = None,
) -> Outcome:
    """Read the entries of an entity that the caller sees.

    Raises ``UnknownNameError``, ``ForbiddenError``, ``UnknownRevisionError`` and what reading raises.
    """
    root, entity, profile = call.root, entity_id, call.profile
    if revision is not None and call.actor is not None and not is_declared(entity):
        refuse_bounded(root, call.actor, "read old revisions")
    now = root.store.read(entity, revision)
    if is_declared(entity):
        number = {} if now.revision is None else {"mem_rev": revision_number(now.revision)}
        content = content_of(root.config.entities[entity], now.data)
        value: Any = {"entity": entity, "revision": now.revision, **number, "digest": now.digest, "content": content}
    else:
        named, target = parts_of(entity)
        owner = profile if profile is not None and profile.name == named else root.profile(named)
        measure, day = profile or owner, clock.day(as_of)
        document = root.parse(now.data, root.path_of(owner, target))
        entries = call.rights(target).visible_entries(document)
        if category is not None:
            wanted = root.config.taxonomy.category(category)
            entries = tuple(entry for entry in entries if entry.category == wanted)
        shown = entries[offset : None if limit is None else offset + limit]
        rows = [(entry, freshness(entry, measure, root.config, as_of=day)) for entry in shown]
        lost = emptied_text(root, profile, entity, document) if revision is None else None
        warnings = [lost] if lost else []
        if not (entries or category is None):
            with suppress(CatmemError):  # of the profile's other file, which was not asked for
                warnings += read_memory(root, measure.name, source=named).category_hints([category])
        more = {"warnings": warnings} if warnings else {}
        value = EntityRead(entity, now.revision, now.digest, document.text, rows, len(entries), more)
    shows = (lambda _: {now.digest}) if is_declared(entity) else shown_rows
    return Outcome(value, revision=now.revision, unrecorded=now.digest, shows=shows)


# --- writing ---------------------------------------------------------------------------------------------------------


@contextmanager
def with_head(call: Call, value: Any) -> Iterator[None]:  # noqa: ANN401 - any JSON value
    """Have a refusal for what is there now say what is at the head of the entity that a body names."""
    try:
        yield
    except RefusedError as error:
        if error.found is not None:
            entity = entity_named(value)
            now = call.root.store.head(entity)
            error.head = {"rev": 0 if now is None else revision_number(now.revision)}
            if now is not None and (call.actor is None or is_declared(entity)):
                error.head |= {"hash": now.digest}
        raise


@operation(
    "submit",
    http=Http(
        "POST",
        "/mem/write",
        "Make a write",
        "An envelope, or a plain write of which the server makes one. Written as one revision, or refused: 409 with "
        "reason and head for what is there now (412 where If-Match says what it is made on). 202: it waits, and a "
        "person decides; Location says where to ask. A retry under the same op_id gets the first answer again.",
        "Written",
        conditional=True,
    ),
)
def submit(
    call: Call,
    *,
    confirm: Annotated[bool, P("Write what semantic_alert would refuse, and a person's secret.")] = False,
) -> Outcome:
    """Make the write of an envelope, or of a plain write, which is the body."""
    request_body = call.request_body or RequestBody()
    with with_head(call, request_body.value):
        written = _submitted(call, request_body, confirm=confirm)
    if call.actor is not None and call.session is not None:
        call.session.wrote(written.entries)
    return Outcome(
        written,
        submitted(written, to_agent=False),
        revision=written.revision if written.waiting is None else None,
        waiting=written.waiting,
        shows=shown_rows,
    )


def entity_named(value: Mapping[str, Any]) -> str:
    """The entity that a body names; the name of a profile means its USER.md."""
    named = str(value.get("entity_id"))
    return f"{named}/user" if is_name(named) else named


def _submitted(call: Call, request_body: RequestBody, *, confirm: bool) -> Written:
    from catmem.config.json_schema import shown
    from catmem.envelopes.papers import Sender, is_plain, submit, submit_plain

    sender = None if call.actor is None else Sender(str(call.agent), call.actor)
    made: Callable[..., Written]
    value = request_body.value
    if isinstance(value, dict) and is_plain(value):
        fields = dict(value)
        reason = fields.pop("reason", None)
        if not (reason is None or isinstance(reason, str)):
            raise EnvelopeError(f"reason is {shown(reason)}", key="reason", hint="Nothing was written. Give a text.")
        if request_body.retry is not None and fields.setdefault("op_id", request_body.retry) != request_body.retry:
            raise _contrary("Idempotency-Key", "op_id")
        _refuse_contrary_base(fields, request_body)
        made = partial(submit_plain, call.root, fields, base=request_body.match, reason=reason)
    else:
        if isinstance(value, dict):
            if request_body.match not in {None, str(value.get("prev_rev"))}:
                raise _contrary("If-Match", "prev_rev")
            if request_body.retry not in {None, value.get("op_id")}:
                raise _contrary("Idempotency-Key", "op_id")
        made = partial(submit, call.root, value, size=request_body.size)
    try:
        return made(confirm=confirm, sender=sender, session=call.session)
    except UnknownRevisionError as error:
        # To a writer that is an old view like any other: it has to learn what is at the head.
        now = call.root.store.head(entity_named(value))
        found = "0" if now is None else now.revision
        raise RefusedError(error.message, code=error.code, found=found, hint=error.hint) from error


def _refuse_contrary_base(fields: Mapping[str, Any], request_body: RequestBody) -> None:
    """Raise ``RequestError``: 428 where nothing says what a plain write is made on, 400 where two things do."""
    from catmem.envelopes.papers import FIELDS, base_named

    base = base_named(fields)
    if request_body.match is None:
        if base is None and all(name in fields for name in FIELDS[:2]):
            hint = "Nothing was written. Send If-Match with the ETag of what you read, or prev_rev."
            raise RequestError("nothing says what this write is made on", code="no_base", hint=hint)
    elif base is not None and str(base) != request_body.match:
        raise _contrary("If-Match", "prev_rev")


def _contrary(header: str, field: str) -> RequestError:
    return RequestError(
        f"{header} is not what {field} says",
        code="bad_precondition",
        hint=f"Nothing was written. Give the same, or leave {header} out.",
    )
