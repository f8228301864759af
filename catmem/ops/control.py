"""Operations on who may write and what was written: audit, keys, tokens, envelopes."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from catmem.audit import EVERYTHING, Filter, read_audit, unknown_names
from catmem.config.config import Config
from catmem.config.profile import agents_of, refuse_no_root
from catmem.envelopes import agents
from catmem.envelopes.agents import Key, keys_folder, list_keys, new_key, profile_of, remove_keys
from catmem.envelopes.envelope import MOST_BYTES, Envelope, json_of
from catmem.envelopes.tokens import TokenScope, new_token, read_tokens, remove_tokens, tokens_file, why_wanted
from catmem.errors import EnvelopeError, errors_at
from catmem.files import read_bounded, shown_path
from catmem.jsonable import jsonable
from catmem.names import Target
from catmem.ops.shared import Actor, Owner
from catmem.ops.table import Call, Outcome, P, UsageError, family, operation
from catmem.store.audit_log import Status
from catmem.store.contract import PERSON, OnStale
from catmem.text import MAX_FILE_BYTES, decode
from catmem.writing.request import How
from catmem.writing.written import Written, on_adoption


@operation(
    "audit",
    examples=(
        "catmem audit --since 1d",
        "catmem audit --entity trinity/user --status refused",
    ),
    opens="root",
)
def audit(
    call: Call,
    *,
    entity: Annotated[str | None, P("Only this one; PROFILE alone means both its files.", metavar="ENTITY")] = None,
    agent: Annotated[str | None, P("Only what this agent did; you are 'person'.", metavar="NAME")] = None,
    status: Annotated[Status | None, P("Only operations that ended so.")] = None,
    since: Annotated[
        datetime | None, P("Only from this moment on: a day, a time in UTC, or how long ago (2h).")
    ] = None,
    limit: Annotated[int | None, P("Only the newest N.", "-n --limit", minimum=1)] = None,
) -> Outcome:
    """List what was done to the memory files of the root, the newest last: one line an operation, refused ones too.

    A line has the time (UTC), how it ended, the entity, what was done, by whom, the revisions before and after, and the
    code of a refusal. The log has no text of an entry and no name of a category.

    Exit status 1 if a line of the log is damaged; it prints all others.
    """
    wanted = Filter(entity and entity.rstrip("/"), agent, status, since)
    found = read_audit(call.root, wanted, limit)
    notes = [f"warning: line {each.line} of {each.file} is damaged, so it was passed over" for each in found.damaged]
    if not found.lines:
        notes = [*unknown_names(call.root, wanted), *notes]
        if not call.for_program:
            is_narrow = wanted != EVERYTHING
            notes.insert(0, "No operation was recorded that fits." if is_narrow else "No operation is recorded yet.")
    return Outcome(found, notes=notes, status=int(bool(found.damaged)))


_AgentName = Annotated[str, P(argument=True)]
_Id = Annotated[str | None, P(argument=True)]
_EvenSeveral = Annotated[bool, P("Remove all, where there are several.")]
_TokensFile = Annotated[
    str | None,
    P(
        "The file of tokens. By default that of catmem.yaml, or one for each root below ~/.config/catmem/tokens.",
        "--tokens",
        metavar="FILE",
        path=True,
    ),
]

family(
    "key",
    """Make, list and remove the keys that agents sign their envelopes with.

    A key is a file <agent>.<key_id> that only you may read. Its folder lies outside of the root: it has the name of
    the root's path ('catmem key list' shows it), or is signing.keys of catmem.yaml.
    """,
    ("catmem key new trinity", "catmem key list", "catmem key remove trinity --yes"),
)


@operation("key new", examples=("catmem key new trinity", "catmem key new person"), opens="root")
def key_new(call: Call, *, agent: _AgentName) -> Key:
    """Make a key for AGENT, which signs from now on. Older ones verify until they are removed.

    AGENT is an agent of catmem.yaml, a profile, or person.
    """
    return new_key(call.root.config, agent)


@operation("key list", examples=("catmem key list", "catmem key list --format json"), opens="root")
def key_list(call: Call) -> dict[str, Any]:
    """List the keys of all agents, without their secrets. The newest of each signs."""
    config = call.root.config
    refuse_no_root(config)
    keys = list_keys(config)
    newest = {key.agent: key for key in keys}
    listed = [{**jsonable(key), "signs": newest[key.agent] is key} for key in keys]
    return {"folder": keys_folder(config), "keys": listed}


@operation(
    "key remove",
    examples=("catmem key remove trinity 20261121t120000", "catmem key remove trinity --yes"),
    opens="root",
)
def key_remove(call: Call, *, agent: _AgentName, key_id: _Id = None, yes: _EvenSeveral = False) -> Outcome:
    """Remove a key of AGENT: KEY_ID, or all. What it signed and is not written yet is refused from now on."""
    config = call.root.config
    if key_id is None and not yes:
        _refuse_several("keys", agent, [key.key_id for key in list_keys(config) if key.agent == agent])
    removed = remove_keys(config, agent, key_id)
    return Outcome(removed, {"removed": removed})


def _refuse_several(what: str, agent: str, ids: Sequence[str]) -> None:
    if len(ids) > 1:
        raise UsageError(f"{agent} has {len(ids)} {what}: name one of {', '.join(ids)}, or remove all with --yes.")


family(
    "token",
    """Make, list and remove the tokens that callers of 'catmem serve' have.

    A token is shown once, when it is made. What is kept is its digest, in a file that only you may read.
    """,
    (
        "catmem token new trinity",
        "catmem token new anna --person",
        "catmem token list",
        "catmem token remove trinity --yes",
    ),
)


@operation(
    "token new",
    examples=(
        "catmem token new trinity",
        "catmem token new planner --scope read",
        "catmem token new anna --person",
        "catmem token new prometheus --scope metrics",
    ),
    opens="root",
)
def token_new(
    call: Call,
    *,
    agent: _AgentName,
    person: Annotated[bool, P("For a person, who sees and may do everything; AGENT is what to call them.")] = False,
    scope: Annotated[TokenScope, P("What it allows: to read and write, to read, or the metrics.")] = "write",
    tokens_path: _TokensFile = None,
) -> Outcome:
    """Make a token for AGENT: an agent of catmem.yaml, or a profile. It sees and writes what that profile may."""
    if person and scope == "metrics":
        raise UsageError("--person excludes --scope metrics.")
    config, path = _place(call, tokens_path)
    token, text = new_token(config, path, agent, person=person, scope=scope)
    return Outcome((token, text), {**jsonable(token), "token": text, "path": path})


NOT_SERVED = (
    "'catmem serve' will not start without any: make another, or say --no-tokens there (this once), or "
    "server.require_tokens: false in catmem.yaml (for good)."
)
"""What to say where a root wants tokens and has none."""


@operation("token list", examples=("catmem token list", "catmem token list --format json"), opens="root")
def token_list(call: Call, *, tokens_path: _TokensFile = None) -> dict[str, Any]:
    """List the tokens: their ids, and what they allow."""
    config, path = _place(call, tokens_path)
    tokens = read_tokens(path)
    return {"path": path, "wanted": None if tokens else why_wanted(config, path), "tokens": tokens}


@operation(
    "token remove",
    examples=("catmem token remove trinity 4f0a61c2d9be", "catmem token remove trinity --yes"),
    opens="root",
)
def token_remove(
    call: Call, *, agent: _AgentName, token_id: _Id = None, yes: _EvenSeveral = False, tokens_path: _TokensFile = None
) -> Outcome:
    """Remove a token of AGENT: TOKEN_ID, or all. It stops working at once, at a running server too."""
    config, path = _place(call, tokens_path)
    if token_id is None and not yes:
        _refuse_several("tokens", agent, [token.token_id for token in read_tokens(path) if token.label == agent])
    gone = remove_tokens(path, agent, token_id)
    notes = [f"They were in {shown_path(path)}."]
    if not read_tokens(path) and why_wanted(config, path) is not None:
        notes.append(f"That was the last one. {NOT_SERVED}")
    return Outcome(gone, {"path": path, "removed": gone}, notes=[] if call.for_program else notes)


def _place(call: Call, given: str | None) -> tuple[Config, Path]:
    config = call.root.config
    refuse_no_root(config)
    return config, tokens_file(config, given)


# --- operations on envelopes: signed writes of agents, and the digest of a profile that they name --------------------


@operation(
    "write",
    examples=(
        "catmem write --envelope e.json",
        "catmem envelope -p trinity --add 'Vendor is Acme Ltd.' -c workflow-rules-finance | catmem write --envelope -",
        "catmem write project:alpha alpha.json --expected 7",
    ),
    apart={"place": "entity file expected merges actor"},
)
def write(
    call: Call,
    *,
    entity: Annotated[str | None, P(argument=True)] = None,
    file: Annotated[str | None, P(argument=True)] = None,
    place: Annotated[str | None, P("The envelope as JSON; - for standard input.", "--envelope", metavar="FILE")] = None,
    confirm: Annotated[
        bool, P("Write it also if it has little in common with what is there now, or is a person's and holds a secret.")
    ] = False,
    expected: Annotated[
        str | None, P("What ENTITY is at: what you saw last, or 0 for nothing.", metavar="REVISION|DIGEST")
    ] = None,
    merges: Annotated[
        list[str] | None, P("A branch that FILE brings together with it.", "--merge", metavar="BRANCH")
    ] = None,
    on_stale: Annotated[
        Literal["refuse", "branch"] | None,
        P("If it was made on a revision older than what is there. By default what catmem.yaml says, else refuse."),
    ] = None,
    actor: Actor = None,
) -> Outcome:
    """Make the write of an envelope: by the agent and on the revision that it names, or not at all.

    docs/envelopes.md has the checks in their order. The same envelope again, or one with the same op_id and content,
    writes nothing and gives the first answer again.

    Or write FILE (- for standard input) as the whole content of ENTITY, which catmem.yaml declares: a text, or a JSON
    value (docs/entities.md).

    Exit status 3: another writer came between, or the file or the role is not what the writer knew.
    """
    if place is not None:
        written = _submitted(call, place, confirm=confirm, on_stale=on_stale)
    else:
        from catmem.writing import gate

        workspace = call.root
        if entity is None or file is None or expected is None:
            raise UsageError("Give --envelope FILE; or ENTITY, FILE and --expected REVISION (0 for the first).")
        with gate.checks(workspace, entity, op="write", agent=actor or PERSON):
            content = _entity_content(call, entity, file, actor)
        how: How = {"expected": expected, "actor": actor, "on_stale": on_stale, "confirm": confirm}
        written = workspace.put(entity, content, merges=merges or (), **how)
    return Outcome(written, more={"dry_run": False})


def _entity_content(call: Call, entity: str, file: str, actor: str | None) -> Any:  # noqa: ANN401 - any JSON value
    from catmem.workspace.history import declared_of

    most = MAX_FILE_BYTES
    declared = declared_of(call.root, entity, None if actor is None else call.root.profile(actor))
    with errors_at("standard input" if file == "-" else file):
        text = decode(call.stdin(most) if file == "-" else read_bounded(file, most))
        return json_of(text) if declared.content == "json" else text


def _submitted(call: Call, place: str, *, confirm: bool, on_stale: OnStale | None) -> Written:
    workspace = call.root
    # One byte more than there may be, so that the envelope is refused, and recorded, as any other that is wrong.
    data = call.stdin(MOST_BYTES) if place == "-" else read_bounded(place, MOST_BYTES)
    try:
        return workspace.submit(data, confirm=confirm, on_stale=on_stale)
    except EnvelopeError as error:
        error.path = "standard input" if place == "-" else place
        if place == "-" and not data.strip():
            error.hint = "The command that was to make the envelope has made none."
        raise


@operation(
    "envelope",
    examples=(
        "catmem envelope -p trinity --as trinity --add 'Vendor is Acme Ltd.' -c workflow-rules-finance",
        "catmem envelope -p trinity --as trinity --json operations.json --prev 7 | catmem write --envelope -",
    ),
    apart={"added": "json text", "json": "text"},
    needs={"category": "added"},
)
def envelope(
    call: Call,
    *,
    profile: Owner,
    actor: Actor = None,
    target: Annotated[Target, P("USER.md or MEMORY.md.")] = "user",
    added: Annotated[str | None, P("Add an entry with these words.", "--add")] = None,
    category: Annotated[str | None, P("Where the entry of --add goes.")] = None,
    json: Annotated[
        str | None, P("A list of operations, or the value of a declared entity; or -.", metavar="FILE", file=True)
    ] = None,
    text: Annotated[str | None, P("The text of a declared entity; or -.", metavar="FILE", file=True)] = None,
    prev: Annotated[
        str | None, P("What it is made on. By default the newest, if no other program wrote.", metavar="REVISION")
    ] = None,
    signed: Annotated[bool, P("Fail without a key. An envelope is signed if the agent has one here.")] = False,
) -> Envelope:
    """Print an envelope: one write, with who makes it and on which revision. The file stays as it is.

    Give what it writes with one of --add, --json and --text. If -p names an entity that catmem.yaml declares, such as
    project:alpha, that is its whole JSON value, or text. --as is the agent that writes, by default you, a person.

    'catmem write --envelope' makes the write, here or where the envelope is sent. Without --prev, a text that no
    revision has yet becomes one.
    """
    from catmem.envelopes.papers import make_envelope
    from catmem.workspace.history import entity_for

    content = _content(added, category, json, text)
    acting = None if actor is None else profile_of(call.root.config, actor)
    entity = entity_for(call.root, profile if ":" in profile else f"{profile}/{target}", acting)
    made, adopted = make_envelope(call.root, entity, content, agent=actor, prev=prev, signed=signed or None)
    if adopted is not None:
        call.tell(f"{on_adoption(adopted)}, on which this envelope is made")
    if made.signature is None and call.root.config.signing.required:
        call.tell(f"It is not signed, and has to be in this root: catmem key new {made.agent_id} makes a key.")
    return made


def _content(added: str | None, category: str | None, form: str | None, text: str | None) -> Any:  # noqa: ANN401 - JSON
    if added is None and form is None and text is None:
        raise UsageError("Give one of --add TEXT, --json FILE and --text FILE.")
    if added is not None:
        where = {} if category is None else {"category": category}
        return [{"action": "add", "content": added, **where}]
    if form is not None:
        return json_of(form)
    return text


@operation("role-hash", examples=("catmem role-hash trinity", "catmem role-hash trinity --format json"), opens="root")
def role_hash(call: Call, *, name: Annotated[str, P(argument=True)]) -> Outcome:
    """Print the digest of the profile NAME, with everything that it inherits and that catmem.yaml says for it.

    An agent gives it as role_hash. When the profile changes the digest does, and envelopes with the old one are refused
    (role_drift) until the agent has read its profile again.
    """
    profile = call.root.profile(name)
    digest = agents.role_hash(profile)
    bound = sorted(agent for agent, of in agents_of(call.root.config).items() if of == profile.name)
    return Outcome(digest, {"profile": profile.name, "role_hash": digest, "agents": bound})
