"""Keys, tokens and envelopes, as people read of them."""

from __future__ import annotations

from catmem.cli.output import columns, emit, printable, printable_json, say, show_written, shown_path
from catmem.envelopes.agents import Key
from catmem.envelopes.tokens import Token
from catmem.jsonable import jsonable
from catmem.ops.credentials import CredentialList, Keys, NewToken, RemovedTokens
from catmem.ops.table import Call
from catmem.store.envelope import Envelope
from catmem.writing.written import Written

_NOT_SERVED = (
    "'catmem serve' will not start without any: make another, or say --no-tokens there (this once), or "
    "server.require_tokens: false in catmem.yaml (for good)."
)


def _new_key(key: Key, call: Call) -> None:
    emit(printable(f"{key.agent} signs with the key {key.key_id} now\n"))
    say(f"It is in {_where(key)}. Who has this file can write as {key.agent}.")
    if call.root.config.signing.keys is None:
        say("This folder goes by the path of the root: a root that is moved or copied has another one.")


def _keys(value: Keys, call: Call) -> None:
    if not value.keys:
        agent = call.values["agent"]
        say("No keys here." if agent is None else printable(f"{agent} has no key here."))
    say(f"The keys of this root are in {shown_path(value.folder)}.")
    rows = [
        (key.agent, key.key_id, "signs" if value.newest[key.agent] is key else "verifies", _where(key))
        for key in value.keys
    ]
    emit(printable(columns(rows)))


def _removed_keys(removed: list[Key], _: Call) -> None:
    for key in removed:
        emit(printable(f"removed the key {key.key_id} of {key.agent}\n"))


def _where(key: Key) -> str:
    return "the environment" if key.path is None else shown_path(key.path)


def _new_token(value: NewToken, _: Call) -> None:
    emit(f"{value.text}\n")
    who = f"{value.token.label}, {_as_whom(value.token)}"
    say(f"This is the token of {who}. It is shown this once: keep it where only its user reads it.")
    say("Send it as: Authorization: Bearer TOKEN. A server that runs without tokens has to be started again.")


def _tokens(value: CredentialList, call: Call) -> None:
    if not value.there:
        say(f"No tokens in {shown_path(value.path)}.")
    elif not value.tokens:
        say(f"{call.values['agent']} has no token here.")
    if value.wanted is not None:
        say(f"This root wants tokens: {value.wanted}. {_NOT_SERVED}")
    rows = [(t.label, t.token_id, t.scope, t.created, _as_whom(t)) for t in value.tokens]
    emit(printable(columns(rows)))


def _removed_tokens(value: RemovedTokens, _: Call) -> None:
    for token in value.removed:
        emit(printable(f"removed the token {token.token_id} of {token.label}\n"))
    say(f"They were in {shown_path(value.path)}.")
    if value.was_last:
        say(f"That was the last one. {_NOT_SERVED}")


def _as_whom(token: Token) -> str:
    if token.scope == "metrics":
        return "for metrics"
    return "a person" if token.profile is None else f"acting as {token.profile}"


# --- envelopes and what is written by them, as people read it --------------------------------------------------------


def _written(written: Written, _: Call) -> None:
    show_written(written, "written to" if written.entries else "written", {})


def _envelope(envelope: Envelope, _: Call) -> None:
    emit(printable_json(jsonable(envelope)) + "\n")


def _digest(digest: str, _: Call) -> None:
    emit(f"{digest}\n")


TEXTS = {
    Key: _new_key,
    Keys: _keys,
    list: _removed_keys,
    NewToken: _new_token,
    CredentialList: _tokens,
    RemovedTokens: _removed_tokens,
    Written: _written,
    Envelope: _envelope,
    str: _digest,
}
