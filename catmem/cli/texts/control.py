"""The audit log, keys, tokens and envelopes, as people read of them."""

from __future__ import annotations

from typing import Any

from catmem.audit import Audit
from catmem.cli.output import columns, emit, say, show_written, shown_moment
from catmem.envelopes.agents import Key
from catmem.envelopes.tokens import Token
from catmem.files import shown_path
from catmem.jsonable import jsonable
from catmem.ops.control import NOT_SERVED
from catmem.ops.table import Call
from catmem.store.audit_log import AuditLine
from catmem.text import printable, printable_json
from catmem.writing.written import Written

_LONGEST = 19
"""Characters of a digest in the place of a revision."""


def _audit(found: Audit, _: Call) -> None:
    emit(columns([_row(line) for line in found.lines]))


def _row(line: AuditLine) -> tuple[str, ...]:
    revisions = f"{_revision(line.prev_rev)} -> {_revision(None if line.is_refused else line.mem_rev)}"
    row = shown_moment(line.ts), line.status, line.entity_id, line.op, printable(line.who), revisions, line.reason or ""
    return tuple(printable(cell).replace("\n", "\\n").replace("\t", "\\t") for cell in row)


def _revision(revision: str | None) -> str:
    if revision is None:
        return "-"
    return f"{revision[:_LONGEST]}…" if len(revision) > _LONGEST else revision


def _new_key(key: Key, call: Call) -> None:
    emit(printable(f"{key.agent} signs with the key {key.key_id} now\n"))
    say(f"It is in {shown_path(key.path)}. Who has this file can write as {key.agent}.")
    if call.root.config.signing.keys is None:
        say("This folder goes by the path of the root: a root that is moved or copied has another one.")


def _keys(value: dict[str, Any], _: Call) -> None:
    if not value["keys"]:
        say("No keys here.")
    say(f"The keys of this root are in {shown_path(value['folder'])}.")
    rows = [
        (key["agent"], key["key_id"], "signs" if key["signs"] else "verifies", shown_path(key["path"]))
        for key in value["keys"]
    ]
    emit(printable(columns(rows)))


def _new_token(value: tuple[Token, str], _: Call) -> None:
    token, text = value
    emit(f"{text}\n")
    who = f"{token.label}, {_as_whom(token)}"
    say(f"This is the token of {who}. It is shown this once: keep it where only its user reads it.")
    say("Send it as: Authorization: Bearer TOKEN. A server that runs without tokens has to be started again.")


def _tokens(value: dict[str, Any], _: Call) -> None:
    if not value["tokens"]:
        say(f"No tokens in {shown_path(value['path'])}.")
    if value["wanted"] is not None:
        say(f"This root wants tokens: {value['wanted']}. {NOT_SERVED}")
    rows = [(t.label, t.token_id, t.scope, t.created, _as_whom(t)) for t in value["tokens"]]
    emit(printable(columns(rows)))


def _as_whom(token: Token) -> str:
    if token.scope == "metrics":
        return "for metrics"
    return "a person" if token.profile is None else f"acting as {token.profile}"


# --- envelopes and what is written by them, as people read it --------------------------------------------------------


def _written(written: Written, call: Call) -> None:
    show_written(written, "written to" if written.entries else "written", call)


TEXTS = {
    "Audit": _audit,
    "Key": _new_key,
    "key list": _keys,
    "key remove": lambda removed, _: emit(
        printable("".join(f"removed the key {key.key_id} of {key.agent}\n" for key in removed))
    ),
    "token new": _new_token,
    "token list": _tokens,
    "token remove": lambda removed, _: emit(
        printable("".join(f"removed the token {token.token_id} of {token.label}\n" for token in removed))
    ),
    "Written": _written,
    "Envelope": lambda envelope, _: emit(printable_json(jsonable(envelope)) + "\n"),
    "str": lambda digest, _: emit(f"{digest}\n"),
}
"""The renderers, by the names of the types that they know."""
