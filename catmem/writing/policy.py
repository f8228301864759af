"""Who may write what, what waits for a person, and what is refused whatever is in the file.

A commit takes in what others wrote to the file, and may keep a copy of it. Who has no right to write causes neither:
the refusal comes before a store is asked, and leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from catmem import clock
from catmem.clock import read_date
from catmem.config.access import Rights
from catmem.config.config import Config, Taxonomy
from catmem.config.json_schema import nearest, shown, slip_of_format, suggestion, tag_faults
from catmem.config.profile import Profile, limit_of
from catmem.config.yamlfile import key_text
from catmem.errors import CatmemError, EditError, UnknownNameError
from catmem.model.document import Entry, TagValue, gone_entries
from catmem.names import UNCATEGORIZED, is_declared
from catmem.staleness.freshness import stale_after_days
from catmem.store.contract import EXTERNAL, PERSON, Change, writer_of
from catmem.text import unify_newlines
from catmem.threats import RULES, SECRETS
from catmem.workspace.seen_entry import findings_in
from catmem.workspace.stores import hermes_edits
from catmem.writing.matching import no_match
from catmem.writing.request import Operation, refuse_surrogates

if TYPE_CHECKING:
    from catmem.staleness.lineage import EntryHistory
    from catmem.workspace.root import Root

NAME_SHOWN = 80
"""Characters of a tag's name that are shown."""
MOST_REASON = 500
"""Characters of a reason."""


@dataclass(frozen=True)
class WritePolicy(Rights):
    """Whose file it is, who acts on it, and on which day."""

    root: Root
    owner: Profile
    today: date
    allow_secret: bool = False
    """Whether a person said yes to a secret in the text."""

    @cached_property
    def entity(self) -> str:
        """The file."""
        return f"{self.owner.name}/{self.target}"

    @property
    def config(self) -> Config:
        """The configuration of the root."""
        return self.root.config

    @property
    def to_agent(self) -> bool:
        """Whether answers go to a profile: then they leave out what its prompt would withhold."""
        return self.actor is not None

    def dated(self, tags: Mapping[str, TagValue], body: str, day: str | None) -> dict[str, TagValue]:
        """The tags of new words, ``created`` on a ``day`` if they say none; words that come back keep theirs."""
        dated = {**tags} if day is None or "created" in tags else {"created": day, **tags}
        created = read_date(dated.get("created"))
        if created is None or self.may_verify:
            return dated
        from catmem.staleness.lineage import known_days

        days = known_days(self.root, self.owner.name, self.actor, body)
        known = min((day for day in days if day is not None), default=None)
        if known is None and days:
            del dated["created"]  # nothing dated them
        elif known is not None and known < created:
            dated["created"] = known.isoformat()
        return dated

    def history(self) -> EntryHistory:
        """What the history of the file tells the actor, as it is now."""
        from catmem.staleness.lineage import histories_of

        return histories_of(self.root, self.entity, [self.actor])[0]

    @cached_property
    def limit(self) -> int | None:
        """How many characters the file may have."""
        return limit_of(self.owner, self.target, self.config)

    @cached_property
    def hermes_edits(self) -> bool:
        """Whether stock Hermes Agent may edit the file too."""
        return hermes_edits(self.config, self.owner)

    def category(self, name: str) -> str:
        """The category that a slug, an alias or a title names. Raises ``EditError`` (``bad_category``)."""
        if not (category := self.taxonomy.category(name)):
            raise EditError(
                f"{shown(name)} is not a category", code="bad_category", hint="A category needs a letter or a number."
            )
        return category

    def destination(self, name: str) -> str:
        """The category to which an entry goes; "uncategorized", as people say it, is none, unless it is declared."""
        category = self.category(name)
        is_none = category == UNCATEGORIZED.strip("_") and not self.taxonomy.named(category)
        return UNCATEGORIZED if is_none else category

    def writable_category(self, name: str) -> str:
        """The category of that name, if the actor may write to it and an entry may go there."""
        # What is forbidden is refused first, in the same words for what is declared and what is not.
        category = self.destination(name)
        self.refuse_unwritable(category, name)
        taxonomy = self.taxonomy
        if taxonomy.named(category) or not (taxonomy.closed or taxonomy.card_titles):
            return category
        raise undeclared(name, category_hint(category, taxonomy, "categories to write to", self.may_write))

    def title(self, category: str) -> str | None:
        """The declared title of a category."""
        declared = self.taxonomy.categories.get(category)
        return declared.title if declared else None

    def no_category(self, names: Iterable[str]) -> EditError:
        """The refusal of an addition that needs a category and names none; ``names`` are those it may go to."""
        listed = ", ".join(dict.fromkeys(names))
        hint = f"Name one of {listed}." if listed else "There is none that may be written."
        return EditError("an addition needs a category here", code="no_category", hint=hint)

    def refuse_future(self, day: date | None, done: str) -> None:
        """Raise ``EditError`` (``bad_date``) for a day after today on which something is said to be ``done``."""
        if day is not None and day > self.today:
            message = f"{day} is in the future, and nothing can have been {done} then"
            raise EditError(message, code="bad_date", hint=f"Today is {self.today}.")

    def check_domain(self, category: str, old: Mapping[str, TagValue], new: Mapping[str, TagValue]) -> None:
        """Refuse an actor who may not verify a domain in which an entry would be stale later (``ForbiddenError``)."""
        if new.get("domain") == old.get("domain"):
            return
        before, after = (stale_after_days(category, tags, self.owner, self.config) for tags in (old, new))
        if after > before:
            self.refuse_unverified("domain")

    def check_tags(self, tags: Mapping[str, str | list[str] | None], old: Mapping[str, TagValue] | None) -> None:
        """Look at tags that are given over the ``old`` ones of an entry, ``None`` for a new entry."""
        changed = [key for key, value in tags.items() if value != (old or {}).get(key)]
        for key in changed:
            # An actor who may not verify sets no day of verification, and changes no other date that an entry has.
            if key == "verified_date" or (old is not None and (key == "created" or (key == "expires" and key in old))):
                self.refuse_unverified(key)
        given = {key: value for key, value in tags.items() if value is not None}
        for key in changed:
            if key in given and key not in self.config.tag_schemas and (near := slip_of_format(key)):
                raise EditError(
                    f"the tag {key} is none of the format",
                    code="bad_tag",
                    key=f"tags.{key}",
                    hint=f"Call it {near}, or declare {key} under tags in catmem.yaml.",
                )
        for key, message in tag_faults(given, self.config.tag_schemas):
            raise EditError(
                f"the tag {key[:NAME_SHOWN]} does not fit: {message}",
                code="bad_tag",
                key=f"tags.{key[:NAME_SHOWN]}",
                hint="Give a value that fits its schema, or leave the tag out.",
            )
        for key, done in (("verified_date", "verified"), ("created", "written")):
            if key in changed:
                self.refuse_future(read_date(tags[key]), done)

    def check_threats(self, texts: Sequence[str]) -> str | None:
        """The warning for text that may be stored, ``None`` without one; raises as the function ``check_threats``."""
        return check_threats(texts, self.config, to_agent=self.to_agent, allow_secret=self.allow_secret)


def check_threats(texts: Sequence[str], config: Config, *, to_agent: bool, allow_secret: bool) -> str | None:
    """The warning for text that may be stored. Raises ``EditError`` (``threat``, ``secret``), which quotes nothing."""
    found = findings_in(texts)
    no_secret = refuses_secret(config, allow_secret and not to_agent)
    refused = [each for each in found if (no_secret if each.rule in SECRETS else to_agent)]
    if not refused:
        quiet = SECRETS if config.secrets == "allow" else ()
        rules = sorted({each.rule for each in found if each.rule not in quiet})
        return f"a prompt will withhold this text: {', '.join(rules)}" if rules else None
    rules = sorted({each.rule for each in refused})
    named = ", ".join(rules)
    if SECRETS.keys() >= set(rules):
        hint = secret_hint(config, asks=not to_agent)
        raise EditError(f"this text holds a secret, so it was not stored: {named}", code="secret", hint=hint)
    hints = dict.fromkeys([*(RULES[rule] for rule in rules), *(each.hint for each in refused)])
    raise EditError(f"this text looks hostile, so it was not stored: {named}", code="threat", hint=" ".join(hints))


def checked_reason(reason: str | None, config: Config, *, to_agent: bool) -> str | None:
    """A reason as it is recorded, on one line; ``None`` for an empty one."""
    said = "" if reason is None else " ".join(reason.split())
    refuse_surrogates([said])
    if len(said) > MOST_REASON:
        raise EditError(
            f"a reason has {MOST_REASON} characters at most, and this one has {len(said):,}",
            code="bad_operation",
            hint="Say it in a sentence or two.",
        )
    if said:
        check_threats([said], config, to_agent=to_agent, allow_secret=False)
    return said or None


def refuses_secret(config: Config, allowed: bool) -> bool:  # noqa: FBT001 - the answer of a person
    """Whether text with a secret in it is refused; ``allowed``: a person has said yes to it."""
    return config.secrets == "refuse" or (config.secrets == "ask" and not allowed)


def secret_hint(config: Config, *, asks: bool) -> str:
    """What to do after such a refusal; ``asks``: the writer is a person."""
    hint = "Say where the secret is kept, not what it is."
    if asks and config.secrets == "ask":
        hint += " To store it all the same, repeat it with --allow-secret (over HTTP and in an envelope: confirm)."
    return hint


def policy_of(root: Root, name: str, target: str, actor: Profile | None, *, allow_secret: bool = False) -> WritePolicy:
    """The policy of a write to a file of the profile ``name`` by ``actor`` (``None``: a person), today."""
    # Another's file is refused in the same words as one that there is not.
    taxonomy = root.config.taxonomy
    Rights(actor, target, taxonomy).refuse_other_owner(name)
    return WritePolicy(actor, target, taxonomy, root, root.profile(name), clock.today(), allow_secret)


def undeclared(name: str, hint: str) -> UnknownNameError:
    """The error for a category that ``catmem.yaml`` does not declare."""
    message = f"the category {shown(name)} is not declared in catmem.yaml"
    return UnknownNameError(message, code="unknown_category", hint=hint)


def category_hint(
    name: str, taxonomy: Taxonomy, what: str = "declared categories", may: Callable[[str], bool] = lambda _: True
) -> str:
    """A hint for a category that is not declared: the nearest name, or the categories themselves if they are few."""
    near = nearest(name, filter(may, taxonomy.declared()))
    return f"Did you mean {near!r}?" if near else suggestion(name, filter(may, taxonomy.categories), what)


def body_of(content: str) -> str:
    """The body that an edit will make of a content, which is given to the edit as it is."""
    body = unify_newlines(content).strip()
    if not body:
        raise EditError("there is no text to store", code="empty", hint="Give the entry some text, or remove it.")
    return body


def check_beforehand(operations: Sequence[Operation], policy: WritePolicy) -> None:
    """Raise what each operation is refused with whatever the file holds."""
    # For a profile nothing depends on what it does not see, neither here nor in the plan.
    each_of(operations, lambda operation: _check(operation, policy))


def each_of(operations: Sequence[Operation], act: Callable[[Operation], None]) -> None:
    """Do something with one after the other; of several, the ``key`` of an error says with which it failed."""
    for index, operation in enumerate(operations):
        try:
            act(operation)
        except CatmemError as error:
            if len(operations) > 1:
                error.key = key_text(("operations", index, *([error.key] if error.key else [])))
            raise


def _check(operation: Operation, policy: WritePolicy) -> None:
    operation.check()
    if operation.action == "add":
        _check_addition(operation, policy)
        return
    if operation.action == "verify":
        policy.refuse_unverified()
        policy.refuse_future(operation.as_of, "verified")
        if operation.evidence is not None:
            policy.check_threats([operation.evidence])
    else:
        policy.refuse_without_any_category()
    if operation.to_category is not None:
        policy.writable_category(operation.to_category)
    if operation.category is None:
        return
    category = policy.category(operation.category)
    if operation.action != "verify":
        policy.refuse_unwritable(category, operation.category)
    if not policy.may_see(category):
        raise no_match(operation.old_text or "", (), policy.entity, to_agent=policy.to_agent)


def _check_addition(operation: Operation, policy: WritePolicy) -> None:
    if operation.category is not None:
        policy.writable_category(operation.category)
    elif not (policy.unbounded or policy.only_category() or policy.may_write(UNCATEGORIZED)):
        raise policy.no_category(policy.writable_names())
    policy.check_tags(operation.tags or {}, None)
    policy.refuse_future(operation.as_of, "written")


# --- what waits for a person ------------------------------------------------------------------------------------------


class EntryState(NamedTuple):
    """What makes an entry another one, wherever it stands and however it is laid out."""

    category: str
    body: str
    tags: str
    verified: date | None


def has_to_wait(workspace: Root, entity: str, change: Change, before: bytes, after: bytes) -> bool:
    """Whether ``change``, which makes ``after`` of ``before``, waits by the policy of the root."""
    policy, writer = workspace.config.approval, writer_of(change)
    if policy is None or is_declared(entity) or writer in {PERSON, EXTERNAL}:
        return False
    from catmem.staleness.lineage import differing, histories_of

    is_off = policy.agents == "off" and not policy.categories.patterns
    closes = not is_off and _closes_unmerged(workspace, entity, change, writer)
    if closes or before == after or policy.agents == "all":
        return closes or before != after
    try:
        found = differing(workspace.parse(before), workspace.parse(after))
    except CatmemError:  # what is no text cannot be changed by an agent; another check says so
        return False
    old = _states(gone_entries(found.old, found.new))
    new = _states(gone_entries(found.new, found.old))
    gone, come = old - new, new - old
    if any(policy.categories.matches(each.category) for each in gone | come):
        return True
    taken = _taken(gone, come)
    if policy.agents == "off" or not taken:
        return False
    (history,) = histories_of(workspace, entity, [workspace.profile(writer)])
    return any(history.writers(each.body) != {writer} for each in taken)


def _states(entries: Iterable[Entry]) -> Counter[EntryState]:
    found: Counter[EntryState] = Counter()
    for entry in entries:
        day = read_date(entry.tags.get("verified_date"))
        tags = sorted((key, value) for key, value in entry.tags.items() if day is None or key != "verified_date")
        found[EntryState(entry.category, entry.body, entry.text if entry.repeated_tags else repr(tags), day)] += 1
    return found


def _taken(gone: Counter[EntryState], come: Counter[EntryState]) -> list[EntryState]:
    """What is gone, but for what only has a later day of verification now: each such entry stands for one."""
    dated = sorted((each for each in come.elements() if each.verified), key=lambda each: each.verified or date.min)
    taken = []
    for each in sorted(gone.elements(), key=lambda each: each.verified or date.min):
        later = (other for other in dated if other[:3] == each[:3] and str(other.verified) >= str(each.verified or ""))
        now = next(later, None)
        if now is None:
            taken.append(each)
        else:
            dated.remove(now)
    return taken


def _closes_unmerged(workspace: Root, entity: str, change: Change, writer: str) -> bool:
    """Whether it closes a branch of another writer and need not bring in its text."""
    is_merge = change.op == "merge" and "dropped" not in change.note
    return not is_merge and any(
        each.is_branch and each.revision in change.merges and writer_of(each) != writer
        for each in (workspace.store.log(entity) if change.merges else ())
    )
