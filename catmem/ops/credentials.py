"""Operations on credentials: the keys that agents sign with, and the tokens that callers of the server show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from catmem.envelopes.caller import Scope
from catmem.ops.table import Call, Outcome, P, UsageError, family, operation

if TYPE_CHECKING:
    from catmem.config.config import Config
    from catmem.envelopes.agents import Key
    from catmem.envelopes.tokens import Token

_Agent = Annotated[str, P(argument=True)]
_AnyAgent = Annotated[str | None, P(argument=True)]
_Id = Annotated[str | None, P(argument=True)]
_Tokens = Annotated[
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

    A key is a file <agent>.<key_id> that only you may read, in a folder outside of the root, which goes by the root's
    path ('catmem key list' names it) or is signing.keys of catmem.yaml; or it is in the variable CATMEM_KEY_<AGENT>, as
    KEY_ID:HEX.
    """,
    ("catmem key new trinity", "catmem key list", "catmem key remove trinity --all"),
)


@operation("key new", examples=("catmem key new trinity", "catmem key new person"), opens="root")
def key_new(call: Call, *, agent: _Agent) -> "Key":
    """Make a key for AGENT, which signs from now on. Older ones verify until they are removed.

    AGENT is an agent of catmem.yaml, a profile, or person.
    """
    from catmem.envelopes.agents import new_key

    return new_key(call.root.config, agent)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of an agent or of all, and the newest of each agent, which signs."""

    folder: Path
    keys: Sequence["Key"]
    newest: Mapping[str, "Key"]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        listed = [{**key.to_dict(), "signs": self.newest[key.agent] is key} for key in self.keys]
        return {"folder": str(self.folder), "keys": listed}


@operation("key list", examples=("catmem key list", "catmem key list trinity --format json"), opens="root")
def key_list(call: Call, *, agent: _AnyAgent = None) -> Keys:
    """List the keys of AGENT or of all agents, without their secrets. The newest of each signs."""
    from catmem.envelopes.agents import all_keys, keys_folder, refuse_bad_agent

    config = call.root.config
    if agent is not None:
        refuse_bad_agent(agent)
    keys = [key for key in all_keys(config) if agent in {None, key.agent}]
    return Keys(keys_folder(config), keys, {key.agent: key for key in keys})


@dataclass(frozen=True, slots=True)
class RemovedKeys:
    """Keys that are gone."""

    removed: Sequence["Key"]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"removed": [key.to_dict() for key in self.removed]}


@operation(
    "key remove",
    examples=("catmem key remove trinity 20261121t120000", "catmem key remove trinity --all"),
    opens="root",
)
def key_remove(
    call: Call,
    *,
    agent: _Agent,
    key_id: _Id = None,
    every: Annotated[bool, P("All keys of the agent.", "--all")] = False,
) -> RemovedKeys:
    """Remove a key of AGENT: KEY_ID, or the only one. What it signed and is not written yet is refused from now on."""
    from catmem.envelopes.agents import remove_keys

    if every and key_id is not None:
        raise UsageError("KEY_ID and --all exclude each other.")
    return RemovedKeys(remove_keys(call.root.config, agent, key_id, every=every))


family(
    "token",
    """Make, list and remove the tokens that callers of 'catmem serve' have.

    A token is shown once, when it is made. What is kept is its digest, in a file that only you may read.
    """,
    (
        "catmem token new trinity",
        "catmem token new anna --person",
        "catmem token list",
        "catmem token remove trinity --all",
    ),
)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token and its text, which is shown this once."""

    token: "Token"
    text: str


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
    agent: _Agent,
    profile: Annotated[
        str | None, P("The profile of the agent, to be sure that it is that one.", "-p --profile", metavar="NAME")
    ] = None,
    person: Annotated[bool, P("For a person, who sees and may do everything; AGENT is what to call them.")] = False,
    scope: Annotated[
        Scope,
        P("What it is good for: reading and writing, reading only, or the metrics only.", shows_default=True),
    ] = "write",
    tokens_path: _Tokens = None,
) -> Outcome:
    """Make a token for AGENT: an agent of catmem.yaml, or a profile. It sees and writes what that profile may."""
    from catmem.envelopes.tokens import new_token

    if person and (profile is not None or scope == "metrics"):
        raise UsageError("--person excludes --profile and --scope metrics.")
    if scope == "metrics" and profile is not None:
        raise UsageError("--scope metrics excludes --profile.")
    config, path = _place(call, tokens_path)
    token, text = new_token(config, path, agent, profile=profile, person=person, scope=scope)
    return Outcome(NewToken(token, text), {**token.to_dict(), "token": text, "path": str(path)})


@dataclass(frozen=True, slots=True)
class CredentialList:
    """The tokens of an agent, or all; ``wanted`` says why the root wants some, where it has none ``there``."""

    path: Path
    wanted: str | None
    tokens: Sequence["Token"]
    there: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"path": str(self.path), "wanted": self.wanted, "tokens": [each.to_dict() for each in self.tokens]}


@operation("token list", examples=("catmem token list", "catmem token list trinity --format json"), opens="root")
def token_list(call: Call, *, agent: _AnyAgent = None, tokens_path: _Tokens = None) -> CredentialList:
    """List the tokens of AGENT or of all: their ids, and what they are good for."""
    from catmem.envelopes.tokens import read_tokens, why_wanted

    config, path = _place(call, tokens_path)
    there = read_tokens(path)
    tokens = [token for token in there if agent in {None, token.label}]
    return CredentialList(path, None if there else why_wanted(config, path), tokens, bool(there))


@dataclass(frozen=True, slots=True)
class RemovedTokens:
    """Tokens that are gone; ``was_last``: the root has no other, and wants some."""

    path: Path
    removed: Sequence["Token"]
    was_last: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"path": str(self.path), "removed": [token.to_dict() for token in self.removed]}


@operation(
    "token remove",
    examples=("catmem token remove trinity 4f0a61c2d9be", "catmem token remove trinity --all"),
    opens="root",
)
def token_remove(
    call: Call,
    *,
    agent: _Agent,
    token_id: _Id = None,
    every: Annotated[bool, P("All tokens of the agent.", "--all")] = False,
    tokens_path: _Tokens = None,
) -> RemovedTokens:
    """Remove a token of AGENT: TOKEN_ID, or the only one. It is good no more at once, at a running server too."""
    from catmem.envelopes.tokens import read_tokens, remove_tokens, why_wanted

    if every and token_id is not None:
        raise UsageError("TOKEN_ID and --all exclude each other.")
    config, path = _place(call, tokens_path)
    gone = remove_tokens(path, agent, token_id, every=every)
    return RemovedTokens(path, gone, not read_tokens(path) and why_wanted(config, path) is not None)


def _place(call: Call, given: str | None) -> tuple["Config", Path]:
    from catmem.config.profile import refuse_no_root
    from catmem.envelopes.tokens import tokens_file

    config = call.root.config
    refuse_no_root(config)
    return config, tokens_file(config, given)
