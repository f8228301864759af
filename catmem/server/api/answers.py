"""The answers of the API: what the library tells a caller, who is a person or a profile."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from catmem.config.access import Rights
from catmem.config.json_schema import faults_by, shown
from catmem.config.yamlfile import key_text
from catmem.envelopes import submitting
from catmem.envelopes.builder import FIELDS, WriteBase, base_named, is_plain, plain_envelope
from catmem.envelopes.parsing import fields_in, json_of
from catmem.envelopes.submitting import Sender, submit_read
from catmem.errors import (
    EnvelopeError,
    ForbiddenError,
    MergeConflictError,
    RefusedError,
    RequestError,
    UnknownRevisionError,
)
from catmem.names import is_declared, is_name
from catmem.proposals.disclosure import disclosed, disclosed_all
from catmem.server.api.endpoint import Answer, ApiRequest, Deferred, unrecorded
from catmem.server.api.forms import body_schema
from catmem.store.contract import revision_number
from catmem.workspace import answering
from catmem.workspace.overview import next_steps
from catmem.workspace.seen_entry import entry_dict
from catmem.writing.written import advice_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from catmem.server.caller import Caller
    from catmem.workspace.answering import LazyAnswer
    from catmem.workspace.workspace import Workspace
    from catmem.writing.written import Written

_LOGGED = 100
"""Revisions that a log lists by default."""

# --- reading -------------------------------------------------------------------------------------------------------


def head(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """Which revision an entity is at."""
    answer = answering.head_answer(workspace, asked.get("entity_id"), caller.profile)
    return Answer(answer.make(), _base_of(answer))


def read(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Deferred:
    """The entries of an entity that the caller sees."""
    answer = answering.read_answer(
        workspace,
        asked.get("entity_id"),
        caller.profile,
        category=asked.get("category"),
        revision=asked.get("revision"),
        offset=asked.get("offset") or 0,
        limit=asked.get("limit"),
        as_of=asked.get("as_of"),
    )
    return Deferred(lambda: Answer(answer.make(), _base_of(answer)), answer.made_of)


def log(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """The newest revisions of an entity."""
    limit = asked.get("limit") or _LOGGED
    return Answer(answering.log_answer(workspace, asked.get("entity_id"), caller.profile, limit))


def branches(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """The branches that are not merged yet."""
    return Answer(answering.branches_answer(workspace, asked.get("entity_id"), caller.profile))


def prompt(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Deferred:
    """The prompt of a profile, as text or with its role."""
    answer = answering.prompt_answer(
        workspace,
        asked.get("profile"),
        caller.profile,
        source=asked.get("from"),
        categories=_split(asked.get("categories")) or (),
        budget=asked.get("budget"),
        style=asked.get("style"),
        as_of=asked.get("as_of"),
    )

    def make() -> Answer:
        data = answer.make()
        return Answer(data, text=data["text"], warnings=data["warnings"])

    return Deferred(make, answer.made_of)


def proposals(workspace: Workspace, caller: Caller, _: ApiRequest) -> Answer:
    """What waits for a person, as far as the caller may know of it."""
    known, unreadable = disclosed_all(workspace, caller.profile)
    more = {"unreadable": [error.to_dict() for error in unreadable]} if unreadable else {}
    return Answer({"proposals": list(map(_of_entity, known)), **more})


def proposal(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """One proposal, also one that was decided."""
    return Answer(_of_entity(disclosed(workspace, asked.get("id"), caller.profile)))


def lint(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """What lint finds."""
    return Answer(answering.lint_answer(workspace, caller.profile, as_of=asked.get("as_of")))


def status(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """What is next for a person."""
    if caller.profile is not None:
        raise ForbiddenError(f"{caller.profile} may not ask what is next", hint="It tells of everybody's files.")
    found = next_steps(workspace, asked.get("as_of"))
    return Answer({**found.to_dict(), "unreadable": [error.to_dict() for error in found.unreadable]})


def _base_of(answer: LazyAnswer) -> str:
    return unrecorded(str(answer.digest)) if answer.revision is None else answer.revision


# --- writing -------------------------------------------------------------------------------------------------------


def write(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """Make the write of an envelope, or of a plain write."""
    value = _json(asked.body)
    with _with_head(workspace, caller, value):
        return _write(workspace, caller, asked, value)


@contextmanager
def _with_head(workspace: Workspace, caller: Caller, value: Any) -> Iterator[None]:  # noqa: ANN401 - any JSON value
    """Have a refusal for what is there now say what is at the head of the entity that a body names.

    An agent hears no digest of a whole file, of which it may not see all; of a declared entity it reads all.
    """
    try:
        yield
    except RefusedError as error:
        if error.found is not None:
            named = str(value["entity_id"])
            entity = f"{named}/user" if is_name(named) else named
            now = workspace.store.head(entity)
            error.head = {"rev": 0 if now is None else revision_number(now.revision)}
            if now is not None and (caller.is_person or is_declared(entity)):
                error.head |= {"hash": now.digest}
        raise


def _write(workspace: Workspace, caller: Caller, asked: ApiRequest, value: Any) -> Answer:  # noqa: ANN401
    sender = None if caller.profile is None else Sender(caller.agent, caller.profile)
    submit: Callable[..., Written]
    if isinstance(value, dict) and is_plain(value):
        fields = _fit(value, asked.body)
        reason = fields.pop("reason", None)
        if not (reason is None or isinstance(reason, str)):
            raise EnvelopeError(f"reason is {shown(reason)}", key="reason", hint="Nothing was written. Give a text.")
        if asked.retry is not None and fields.setdefault("op_id", asked.retry) != asked.retry:
            raise _contrary("Idempotency-Key", "op_id")
        envelope = plain_envelope(workspace, fields, sender, _base(fields, asked))
        entity, submit = envelope.entity_id, partial(submit_read, workspace, envelope, reason=reason)
    else:
        if isinstance(value, dict):
            if asked.match is not None and str(value.get("prev_rev")) != asked.match.revision:
                raise _contrary("If-Match", "prev_rev")
            if asked.retry is not None and value.get("op_id") != asked.retry:
                raise _contrary("Idempotency-Key", "op_id")
            entity = str(value.get("entity_id"))
        submit = partial(submitting.submit, workspace, value, size=len(asked.body))
    try:
        written = submit(confirm=asked.get("confirm") or False, sender=sender, session=asked.session)
    except UnknownRevisionError as error:
        # To a writer that is an old view like any other: it has to learn what is at the head.
        now = workspace.store.head(entity)
        found = "0" if now is None else now.revision
        raise RefusedError(error.message, code=error.code, found=found, hint=error.hint) from error
    answer = _written(written, to_agent=caller.profile is not None)
    if caller.profile is not None and asked.session is not None:
        asked.session.wrote(written.entries)
        answer |= advice_on(workspace, written, caller.profile)
    if written.waiting is None:
        return Answer(answer, written.revision)
    return Answer(answer | {"waiting": written.waiting}, status=202, place=f"/mem/proposals/{written.waiting}")


def _base(fields: Mapping[str, Any], asked: ApiRequest) -> WriteBase | None:
    """What a plain write is made on. Raises ``RequestError``: 428 where nothing says it, 400 where two things do."""
    match = asked.match
    if match is None:
        if base_named(fields) is None and all(name in fields for name in FIELDS[:2]):
            raise RequestError(
                428,
                "nothing says what this write is made on",
                code="no_base",
                hint="Nothing was written. Send If-Match with the ETag of what you read, or prev_rev.",
            )
        return None
    if base_named(fields) is not None and str(base_named(fields)) != match.revision:
        raise _contrary("If-Match", "prev_rev")
    return WriteBase(match.revision, match.fits)


def _contrary(header: str, field: str) -> RequestError:
    return RequestError(
        400,
        f"{header} is not what {field} says",
        code="bad_precondition",
        hint=f"Nothing was written. Give the same, or leave {header} out.",
    )


def _written(written: Written, *, to_agent: bool) -> dict[str, Any]:
    answer = written.to_dict()
    return {
        "entity_id": written.entity,
        "revision": written.revision,
        "mem_rev": revision_number(written.revision or "0"),
        "changed": written.changed,
        "branch": written.branch,
        "repeated": written.repeated,
        "entries": [entry_dict(entry, to_agent=to_agent) for entry in written.entries],
        "usage": answer["usage"],
        "notes": answer["notes"],
        **({"warnings": answer["warnings"]} if answer["warnings"] or not to_agent else {}),
        **({} if written.crowded is None else {"prompt": answer["prompt"]}),
        **({} if to_agent and not is_declared(written.entity) else {"digest": written.digest}),
    }


def approve(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """Write what a proposal says."""
    words = _fields(asked, "Approve").get("words")
    done = workspace.approve(asked.get("id"), words=words, actor=caller.profile)
    return Answer(_of_entity(done.to_dict()), done.revision)


def reject(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """Close a proposal, or withdraw it."""
    reason = _fields(asked, "Reject").get("reason")
    done = workspace.reject(asked.get("id"), reason=reason, actor=caller.profile)
    return Answer(_of_entity(done.to_dict()), done.revision)


def _of_entity(answer: dict[str, Any]) -> dict[str, Any]:
    """The same with the name that the API has for an entity."""
    return {("entity_id" if name == "entity" else name): value for name, value in answer.items()}


def merge(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """Bring branches together with the head."""
    fields = _fields(asked, "Merge")
    is_free = is_declared(fields["entity_id"])
    try:
        with _with_head(workspace, caller, fields):
            joined = workspace.merge(
                fields["entity_id"],
                fields.get("branches", ()),
                precedence=fields.get("precedence"),
                drop=fields.get("drop", False),
                actor=caller.profile,
                dry_run=fields.get("dry_run", False),
            )
    except MergeConflictError as error:
        if caller.profile is not None and not is_free:
            error.conflicts = tuple(map(_without_texts, error.conflicts))
        raise
    answer = joined.to_dict()
    answer["entity_id"] = answer.pop("entity")
    if caller.profile is not None and not is_free:
        del answer["digest"], answer["warnings"]  # a warning may quote entries; this one does not:
        target, profile = joined.entity.partition("/")[2], workspace.profile(caller.profile)
        rights = Rights(profile, target, workspace.config.taxonomy)
        unmerged = rights.unmerged(joined.entity, joined.plan.after, workspace.parse)
        answer |= {"warnings": list(unmerged)} if unmerged else {}
        answer |= {name: [_without_texts(each) for each in answer[name]] for name in ("conflicts", "settled")}
    return Answer(answer, joined.revision)


def _without_texts(conflict: Mapping[str, Any]) -> dict[str, Any]:
    """A conflict for an agent: it may merge, but its selectors say what it is shown."""
    return {name: conflict[name] for name in ("branch", "reason", "taken") if name in conflict}


def seed_plan(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """What a seed would do, entry by entry: for a person."""
    if caller.profile is not None:
        raise ForbiddenError(
            f"{caller.profile} may not look at what a seed would do",
            hint="It quotes files of other profiles, so it is for a person.",
        )
    plan = workspace.plan_seed(
        asked.get("source"),
        _split(asked.get("targets")),
        target=asked.get("target"),
        as_of=asked.get("as_of"),
        categories=_categories(_split(asked.get("categories")), asked.get("category")),
        fit=asked.get("fit") or False,
    )
    return Answer(plan.to_dict())


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _categories(named: list[str] | None, one: str | None) -> list[str] | None:
    """The categories that a seed keeps to. Raises ``RequestError`` 422 for both forms at once."""
    if named is not None and one is not None:
        raise RequestError(
            422, "category stands beside categories", code="bad_category", hint="Put every category into categories."
        )
    return named if one is None else [one]


def seed(workspace: Workspace, caller: Caller, asked: ApiRequest) -> Answer:
    """Seed other profiles; a file that was refused makes the whole a 409, and the others are seeded."""
    fields = _fields(asked, "Seed")
    targets, only = fields.get("targets"), fields.get("target")
    categories = _categories(fields.get("categories"), fields.get("category"))
    if caller.profile is None:
        plan = workspace.plan_seed(
            fields["source"],
            targets,
            target=only,
            resolve=fields.get("resolve"),
            categories=categories,
            fit=fields.get("fit", False),
        )
        answer = workspace.apply_seed(plan).to_dict()
        errors = [*(each["error"] for each in answer["refused"]), *answer["unreadable"]]
        if not errors:
            return Answer(answer)
        return Answer({**answer, "code": errors[0]["code"], "message": "some files were not seeded"}, status=409)
    from catmem.seeding.applying import seed_answer

    if fields["source"] != caller.profile or "resolve" in fields:
        raise ForbiddenError(
            f"{caller.profile} may not seed that",
            hint="A profile of tier 1 seeds from its own files, and settles nothing.",
        )
    answer = seed_answer(workspace, caller.profile, targets, only, categories, fit=fields.get("fit", False))
    if answer["success"]:
        return Answer(answer)
    return Answer({**answer, "code": answer["reason"], "message": answer["error"]}, status=409)


# --- bodies --------------------------------------------------------------------------------------------------------


def _json(body: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """The JSON value that a body is. Raises ``RequestError`` 400 (``bad_json``)."""
    try:
        return json_of(body.decode())
    except UnicodeDecodeError as error:
        raise _bad_json(f"the body is not UTF-8: byte {error.start}") from None
    except EnvelopeError as error:
        place = "" if error.line is None else f" (line {error.line}, column {error.column})"
        raise _bad_json(f"the body is not JSON that can be read: {error.message}{place}") from None


def _fit(value: Any, body: bytes) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """The object that a body is. Raises ``RequestError`` 400 for what is nested without end, or half a character."""
    try:
        return fields_in(value, len(body))
    except EnvelopeError as error:
        if error.key is not None:
            raise  # the value of one field is wrong, and the whole is JSON
        raise _bad_json(error.message.replace("the envelope", "the body")) from None


def _bad_json(message: str) -> RequestError:
    return RequestError(400, message, code="bad_json", hint="Nothing was done. Send one JSON value in UTF-8.")


def _fields(asked: ApiRequest, form: str) -> dict[str, Any]:
    """The body as its form has it. Raises ``RequestError`` 400, and 422 (``bad_body``)."""
    value = _json(asked.body)
    for key, message, hint in faults_by(body_schema(form), value):
        where = key_text(key) or ""
        where = where if where.isprintable() else ""  # the message shows it, with escapes
        raise RequestError(
            422,
            f"{where}: {message}" if where else message,
            code="bad_body",
            hint=hint or "Nothing was done. /openapi.json has the fields.",
        )
    return _fit(value, asked.body)
