"""The one way of a write: a request of whatever interface passes the same steps in the same order.

::

    Request ── papers, rights ──> view ── plan, alert, content, approval ──> revision ──> Written
                                   └── asked again if another write was faster

The order of what is refused is a promise (docs/envelopes.md). Steps before the view know nothing of the text; those
after it are asked under the lock of the store, on the text that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from catmem.config.profile import Profile, one_reading
from catmem.errors import ApprovalError, CatmemError, EditError
from catmem.names import TARGETS
from catmem.registry import at, bad_plugin, registry
from catmem.store.contract import PERSON, UNREAD, Change, Current, OnDrift, OnStale, Snapshot, is_branch
from catmem.text import size_of
from catmem.writing.editor import Editor, OperationsEditor, finds_its_file
from catmem.writing.gate import Attempt
from catmem.writing.operation import Operation, asked_by, placed_expected, refuse_no_text
from catmem.writing.written import FileUsage, Written, crowded_out, on_adoption, on_branch, on_restoration, on_waiting

if TYPE_CHECKING:
    from catmem.envelopes.papers import Papers
    from catmem.model.document import Entry
    from catmem.proposals.proposing import NewProposal
    from catmem.store.envelope import Envelope
    from catmem.workspace.root import Root
    from catmem.writing.drift_guard import ToolSession
    from catmem.writing.planning import Plan

_KEPT = ("role_id", "role_hash", "key_id", "signature", "mem_hash", "timestamp")
"""What the history keeps of an envelope beside what every revision has; the content is the revision itself."""


@dataclass(frozen=True, slots=True)
class Request:
    """One write, as it is asked for: what, to which entity, on which view, by whom.

    ``entity`` is ``PROFILE/TARGET``, or the name of a declared entity; ``content`` is what the ``editor`` takes, by
    default a tuple of operations. ``How`` (``writing/written.py``) says what the rest are. ``papers`` are the envelope
    that it came in: what that says is filled in when it is read.
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
    file: tuple[str, str | None] = ("", None)
    """The profile and the target that operations name. Without a target and a view it is found by what they say."""
    papers: Papers | None = None
    editor: type[Editor] = OperationsEditor

    def __post_init__(self) -> None:
        """Raises ``TypeError`` for what a program gives in the place of a text."""
        expected = None if isinstance(self.expected, int) else self.expected
        refuse_no_text(entity=self.entity, profile=self.file[0], target=self.file[1], expected=expected)
        refuse_no_text(actor=self.actor, op_id=self.op_id, reason=self.reason)

    @classmethod
    def of_operations(
        cls,
        name: str,
        operations: Sequence[Operation],
        target: str | None = None,
        **how: Any,  # noqa: ANN401 - fields of a request
    ) -> Request:
        """What operations ask of a file of the profile ``name``; without a target and a view it is to be found."""
        if not (isinstance(operations, list | tuple) and all(isinstance(each, Operation) for each in operations)):
            message = "operations are a list of catmem.Operation, such as [Operation('add', content=...)]"
            raise TypeError(message)
        placed, how["expected"] = placed_expected(operations, how.get("expected"))
        is_open = target is None and how["expected"] is None
        named = "*" if is_open and finds_its_file(placed) else TARGETS[0] if target is None else target
        return cls(f"{name}/{named}", placed, file=(name, target), **how)


@dataclass(slots=True, kw_only=True)
class WriteAttempt(Attempt):
    """A request on its way to the store."""

    asked: Request
    envelope: Envelope | None = None
    """What its papers are, once they are read."""
    acting: Profile | None = None
    """The profile that acts; ``None`` is a person."""
    expected: str | None = None
    """What the writer saw last, a revision or a digest; ``None`` for a writer without a view."""
    plan: Plan | None = None
    """What becomes of a memory file."""
    before: str | None = None
    """The text that the write was made on; ``None`` as long as no new one was made of it."""
    data: bytes = b""
    """The new text; the very object that is there if there is nothing to change."""
    alerted: bool = False
    waits: bool = False
    """Whether it waits for a person."""
    note: dict[str, Any] = field(default_factory=dict)
    """What goes on the record."""
    change: Change = field(default_factory=Change)
    _editor: Editor | None = None
    _current: Current | None = None

    @property
    def actor(self) -> str | None:
        """The name of the profile that acts, or on whose behalf a person does."""
        return self.asked.on_behalf if self.acting is None else self.acting.name

    @property
    def editor(self) -> Editor:
        """What reads the content, once the writer is known."""
        if self._editor is None:
            message = "the writer is not known yet"
            raise AssertionError(message)
        return self._editor

    def alert(self, refusal: CatmemError) -> None:
        """Refuse once, where such refusals are enforced."""
        self.alerted = True
        self.refuse(refusal)

    def begin_session(self) -> None:
        """Begin the conversation of its writer with the entity that it is to write."""
        if self.asked.session is not None and self.acting is not None:
            self.asked.session.begin(self.workspace, self.acting.name, self.entity)

    @property
    def current(self) -> Current:
        """What is there, under the lock."""
        if self._current is None:
            message = "nothing was looked at yet"
            raise AssertionError(message)
        return self._current

    def made_change(self) -> Change:
        """What the store learns of it; the steps add to its note until it is recorded."""
        asked, editor, envelope = self.asked, self.editor, self.envelope
        self.note |= editor.note() | {"actor": self.actor} | _papers_note(envelope)
        self.note |= {"merged": list(asked.merges)} if asked.merges else {}
        agent, request = self.actor or PERSON, None
        if envelope is not None:
            agent, request = envelope.agent_id, envelope.request
        elif asked.op_id:
            request = editor.request()
        return Change(
            op=editor.op(),
            agent=agent,
            op_id=asked.op_id,
            request=request,
            note=self.note,
            on_drift=editor.on_drift(),
            on_stale=asked.on_stale or self.workspace.config.on_stale,
            merges=asked.merges,
            keeps_note=editor.has_evidence,
        )

    def made(self, current: Current) -> bytes:
        """The new bytes of what is there: what the steps under the lock make of it."""
        self.plan = self.before = None
        self._current = current
        run(self, "on the text")
        return self.data


def _papers_note(envelope: Envelope | None) -> dict[str, Any]:
    """What goes on the record of a write that came in an envelope: what vouches for it."""
    if envelope is None:
        return {}
    kept = {name: getattr(envelope, name) for name in _KEPT}
    return {"envelope": {name: value for name, value in kept.items() if value is not None}}


# --- the steps -----------------------------------------------------------------------------------------------------


def papers(a: WriteAttempt) -> None:
    """Find the profile that acts. Refuse an envelope that is not what it has to be, or not from whom it says."""
    if a.asked.papers is not None:
        a.acting = a.asked.papers.check(a)
    elif a.asked.actor is not None:
        a.acting = a.workspace.profile(a.asked.actor)


def rights(a: WriteAttempt) -> None:
    """Find the entity. Refuse who may not write there, and what can be written nowhere."""
    a._editor = a.asked.editor(a)  # noqa: SLF001 - set here alone
    a.editor.check()
    _check_names(a)
    a.change = a.made_change()


def _check_names(a: WriteAttempt) -> None:
    """Refuse an ``op_id`` without a letter, and to merge what is no branch."""
    if a.asked.op_id == "":
        raise EditError("op_id is empty", code="bad_operation", hint="Leave it out, or give a name of your own.")
    for revision in a.asked.merges:
        if not (is_branch(revision) or is_branch(a.expected or "0")):
            raise EditError(
                f"revision {revision} of {a.entity} is no branch, so nothing can merge it",
                code="not_a_branch",
                hint="Nothing was written. 'catmem branches' lists what can be merged.",
            )


def view(attempt: WriteAttempt) -> None:
    """Ask the store whether the writer's view still holds, and write one revision; of a dry run the same is said."""
    try:
        attempt.commit(attempt.expected, attempt.made, attempt.change, rebases=True)
    except ApprovalError:
        # A merge closes branches, which no proposal shows.
        if attempt.plan is None or attempt.asked.merges:
            raise
        attempt.waits = True
    except CatmemError as error:
        refusal = attempt.editor.refusal(error)
        if refusal is error:
            raise
        raise refusal from error


def plan(a: WriteAttempt) -> None:
    """Make the new text. What is forbidden, and what another program changed, is refused here."""
    a.editor.plan()


def alert(a: WriteAttempt) -> None:
    """Refuse, once, what has little in common with what it replaces."""
    a.editor.alert()


def content(a: WriteAttempt) -> None:
    """Refuse what is wrong with the content."""
    a.editor.check_content()


def approval(a: WriteAttempt) -> None:
    """Hold back what asks to wait for a person; what has to by the policy of the root the gate holds back."""
    a.editor.finish()
    if a.asked.proposes and a.data != a.current.data:
        raise ApprovalError(f"this {a.change.op} asks to wait")


When: TypeAlias = Literal["before", "on the text"]


class WriteStep(NamedTuple):
    """One of the steps. ``refusals`` are the codes that docs/envelopes.md puts in an order."""

    run: Callable[[WriteAttempt], None]
    when: When
    refusals: tuple[str, ...] = ()


STEPS = (
    WriteStep(papers, "before", ("schema", "bad_hash", "forbidden", "bad_signature", "clock_skew", "role_drift")),
    WriteStep(rights, "before", ("forbidden",)),
    WriteStep(view, "before", ("hash_collision", "stale_prev", "unknown_revision")),
    WriteStep(plan, "on the text"),
    WriteStep(alert, "on the text", ("semantic_collision",)),
    WriteStep(content, "on the text", ("drift", "structure", "threat", "secret", "over_budget", "no_match")),
    WriteStep(approval, "on the text"),
)
"""The steps of a write, in their order. The store asks those on the text inside of ``view``."""


@cache
def steps_of(names: tuple[str, ...]) -> tuple[WriteStep, ...]:
    """The steps with those of plugins that catmem.yaml names. Raises ``ConfigError`` (``bad_plugin``)."""
    found = list(STEPS)
    for name in names:
        added, before = registry().steps.get(name, ("", ""))
        place = next((place for place, each in enumerate(found) if each.run.__name__ == before), None)
        if place is None:
            raise bad_plugin(f"no plugin adds the step {name!r} to writes, which catmem.yaml names")
        found.insert(place, WriteStep(at(added), found[place].when))
    return tuple(found)


def run(a: WriteAttempt, when: When) -> None:
    """Take the steps of one part."""
    for step in steps_of(a.workspace.config.steps):
        if step.when == when:
            step.run(a)


def write(root: Root, asked: Request) -> Written:
    """Make a write, or say what it would do. Raises what the first step refuses it with."""
    op = asked_by(asked.content) if isinstance(asked.content, tuple) else "write"
    agent = asked.actor or PERSON if asked.papers is None else asked.papers.agent
    a = WriteAttempt(root, asked.entity, op, agent, asked.expected, asked.dry_run, asked=asked)
    with one_reading():
        with a:
            run(a, "before")
            written = _proposed(a, a.plan) if a.waits and a.plan is not None else _answer(a)
            written = replace(written, notes=(*a.notes(), *written.notes))
        # After the attempt, whose time is that of the write.
        if a.editor.terms is None:
            return written
        return replace(written, crowded=crowded_out(root, written, a.actor, a.editor.terms.today))


def write_operations(
    root: Root,
    name: str,
    operations: Sequence[Operation],
    target: str | None = None,
    **how: Any,  # noqa: ANN401 - fields of a request
) -> Written:
    """Make several operations as one revision; see ``Workspace.write``, and ``Request`` for the rest."""
    return write(root, Request.of_operations(name, operations, target, **how))


def _answer(a: WriteAttempt) -> Written:
    """What was done, or would be; to a retry what the first write with its ``op_id`` did."""
    now, terms, plan = a.snapshot, a.editor.terms, a.plan
    if now is None:
        message = "a write that was not refused has a snapshot"
        raise AssertionError(message)
    # A write at the very moment of the commit may have been merged in, so the plan need not be all of it.
    after = plan.document.text if plan is not None and now.data is a.data else a.editor.text(now.data)
    if a.before is None:
        written = _first_answer(a, now, after)
        if written.waiting is not None:
            return written
    else:
        changed = after != a.before or a.editor.has_evidence
        notes = [*on_restoration(now), *(plan.notes if plan is not None else ())]
        notes += [on_adoption(now.adopted)] if now.adopted else []
        written = Written(
            entity=a.entity,
            revision=now.revision,
            digest=now.digest,
            changed=changed,
            before=a.before,
            after=after,
            entries=plan.entries if plan is not None else (),
            usage=FileUsage(size_of(after), None),
            notes=tuple(notes),
            warnings=plan.warnings if plan is not None else (),
            adopted=now.adopted,
        )
    if now.branch and written.changed:
        written = replace(written, branch=True, notes=(*written.notes, on_branch(a.entity, now.revision)))
    if terms is None:
        return written
    return replace(
        written,
        usage=FileUsage(size_of(after), terms.limit),
        warnings=(*written.warnings, *terms.unmerged(after, a.workspace.parse)),
        bounded=not terms.rights.unbounded,
    )


def _first_answer(a: WriteAttempt, now: Snapshot, after: str) -> Written:
    """What the first write with this ``op_id`` did, from its record."""
    store = a.workspace.store
    record = next((each for each in store.log(a.entity) if each.revision == now.revision), None)
    before = store.read(a.entity, record.parents[0] if record and record.parents else "0").data
    if record is not None and record.is_proposal:
        from catmem.proposals.proposing import proposed_before

        return _waiting(a, proposed_before(a.workspace, record), tuple(a.editor.touched(record, before, now.data)))
    return Written(
        entity=a.entity,
        revision=now.revision,
        digest=now.digest,
        changed=True,
        before=a.editor.text(before),
        after=after,
        entries=tuple(a.editor.touched(record, before, now.data)) if record else (),
        usage=FileUsage(size_of(after), None),
        notes=("this was done before, under the same op_id",),
        repeated=True,
    )


def _proposed(a: WriteAttempt, plan: Plan) -> Written:
    """Keep the write as a proposal."""
    from catmem.proposals.proposing import propose

    note = {name: value for name, value in a.note.items() if name != UNREAD}
    made = propose(a, a.current, a.data, replace(a.change, note=note))
    return _waiting(a, made, plan.entries, plan.warnings)


def _waiting(a: WriteAttempt, made: NewProposal, entries: tuple[Entry, ...], warnings: tuple[str, ...] = ()) -> Written:
    """What is in the file now, and the id to ask for."""
    waiting = None if a.dry_run and not made.repeated else made.id
    now, terms = a.workspace.store.read(a.entity), a.editor.terms
    text = now.data.decode(errors="replace")
    return Written(
        entity=a.entity,
        revision=now.revision,
        digest=now.digest,
        changed=False,
        before=text,
        after=text,
        entries=entries,
        usage=FileUsage(size_of(text), terms.limit if terms is not None else None),
        notes=(on_waiting(waiting), *made.notes),
        warnings=warnings,
        bounded=terms is not None and not terms.rights.unbounded,
        waiting=waiting,
        repeated=made.repeated,
    )
