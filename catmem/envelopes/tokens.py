"""Tokens of callers: each is good for one agent and its profile, or for a person, and for a scope.

Of a token only its digest is kept, in a file that only its owner may read, outside of what git carries. A server looks
at that file again whenever it changed, so a token that was removed is good no more at once.

Where tokens are depends on where the root is and on who runs the server. So that a root is never open to all because
they are not found, the first token leaves a mark in ``.catmem`` of the root, which goes wherever the root goes. It says
where the tokens were, and nothing of what they are. What git carries has no mark: ``server.require_tokens`` in
``catmem.yaml`` says it for good.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from catmem import clock
from catmem.config.config import Config, expand_user
from catmem.config.profile import agents_of, refuse_no_root
from catmem.envelopes.agents import SecretFiles, no_agent, refuse_bad_agent
from catmem.errors import CatmemError, ConfigError, RequestError, UnreadableError
from catmem.files import locked_folder, read_bounded, write_private
from catmem.store.contract import PERSON, SIDECAR

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope as AsgiScope


KEY = "catmem.caller"
"""Where the scope of a request keeps its caller."""

TokenScope = Literal["write", "read", "metrics"]


@dataclass(frozen=True, slots=True)
class Token:
    """Who calls, and what is kept of its token.

    ``label`` is its agent, or what a person or a program is called; the log calls it so. ``profile`` is what it sees
    and may do; ``None`` for a person, who sees all, and for a token that is good for metrics only. ``scope`` is what it
    is good for: ``write`` (reading too), ``read``, or ``metrics`` (nothing but ``/metrics``). All that comes with one
    ``token_id`` is one conversation.
    """

    token_id: str
    label: str
    profile: str | None
    scope: TokenScope = "write"
    created: str = ""
    sha256: str = field(default="", repr=False)
    __json__ = "token_id label profile scope created"

    @property
    def agent(self) -> str:
        """Who writes with it."""
        return PERSON if self.is_person else self.label

    @property
    def is_person(self) -> bool:
        """Whether it sees and may do everything; a token for metrics is not a person's."""
        return self.profile is None and self.scope != "metrics"

    @property
    def may_write(self) -> bool:
        """Whether it is good for writing; what it may write, its profile says."""
        return self.scope == "write"


def caller_of(request: Request) -> Token:
    """Who sent the request. Raises ``RequestError``: 401 without a good token, 403 for a path it is not good for."""
    caller = request.scope.get(KEY)
    if isinstance(caller, Token):
        return caller
    raise no_token()


def no_token() -> RequestError:
    """The refusal of a request without a token that is known here: in the same words, whatever is wrong with it."""
    return RequestError(
        "this server wants a token, and this request has none that is good here",
        code="no_token",
        hint="Send the header 'Authorization: Bearer TOKEN'; 'catmem token new AGENT' makes a token.",
    )


# --- tokens of callers: each is good for one agent and its profile, or for a person, and for a scope -----------------


TOKENS = SecretFiles("tokens", "No token is good until then", "--tokens FILE, or server.tokens in catmem.yaml")
_BYTES = 32
_FORM = re.compile(r"catmem_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST = 4 << 20
_PATIENCE = 10.0
"""Seconds for which others may change the tokens meanwhile."""
MARK = "tokens-wanted.json"
_LARGEST_MARK = 1 << 14


class Tokens:
    """The tokens of a server, as its file has them now."""

    def __init__(self, path: Path) -> None:
        """Raises ``ConfigError`` (``unsafe_tokens``, ``bad_tokens``) and ``UnreadableError``."""
        self._path = path
        self._seen: tuple[int, ...] | None = None
        self._known: dict[str, Token] = {}
        self._look()

    def identify(self, request: AsgiScope) -> Token | None:
        """Who sent a request, by its one ``Authorization`` header; ``None`` without a good token."""
        given = [value for name, value in request["headers"] if name == b"authorization"]
        kind, _, text = (given[0] if len(given) == 1 else b"").decode("latin-1").strip().partition(" ")
        if kind.lower() == "bearer":
            return self.find(text.strip())
        token = self.find(_password(text)) if kind.lower() == "basic" else None
        return token if token is not None and token.is_person else None

    def agents(self) -> list[Token]:
        """The agents that have a token now."""
        return [each for each in self._known.values() if each.profile is not None]

    def find(self, text: str) -> Token | None:
        """What is kept of a token, if it is good. Its id is no secret; the rest is compared in constant time."""
        self._look()
        match = _FORM.fullmatch(text)
        token = self._known.get(match[1]) if match else None
        good = hmac.compare_digest(_digest(text), token.sha256 if token else _digest(""))
        return token if good else None

    def _look(self) -> None:
        mark: tuple[int, ...] = ()
        with TOKENS.errors("read", self._path), suppress(FileNotFoundError):  # without a file there are no tokens
            found = self._path.lstat()
            mark = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode)
        if mark != self._seen:
            self._known = {token.token_id: token for token in read_tokens(self._path)}
            self._seen = mark


def tokens_place(config: Config, given: str | Path | None = None) -> Path:
    """Where a root's tokens are: ``given``, ``server.tokens``, or a file of its own below ``~/.config/catmem``."""
    said = config.server.get("tokens")
    if given is not None:
        named = Path(given).absolute()
    elif said is not None:
        named = Path(os.path.realpath(config.root)) / expand_user(said)
    else:
        named = TOKENS.default(config, ".json")
    return Path(os.path.realpath(named.parent)) / named.name


def tokens_file(config: Config, given: str | Path | None = None) -> Path:
    """The same for a caller that puts tokens there, or trusts those that are."""
    # Not in the root, or in the git working tree that it is in: there a copy of the root would carry them.
    path = tokens_place(config, given)
    TOKENS.refuse_inside(path, config)
    return path


def read_tokens(path: Path) -> list[Token]:
    """The tokens of a file, by label and age; none where there is no file."""
    data = TOKENS.content(path, _LARGEST)
    if data is None:
        return []
    try:
        found = _parsed(data)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(
            "this file of tokens is damaged, or of another version",
            code="bad_tokens",
            path=path,
            hint="No token is valid until then. Bring it back, or remove it and make new tokens: catmem token new.",
        ) from error
    return sorted(found, key=lambda token: (token.label, token.created, token.token_id))


def new_token(
    config: Config, path: Path, label: str, *, person: bool = False, scope: TokenScope = "write"
) -> tuple[Token, str]:
    """Make a token, and give what is kept of it and the token itself, which is nowhere else."""
    refuse_no_root(config)
    refuse_bad_agent(label, "a token")
    bound = None
    if not person and scope != "metrics":
        agents = agents_of(config)
        if label not in agents:
            more = (
                " A name that is no profile's is given one under 'agents' in catmem.yaml; --person makes a token for "
            )
            raise no_agent(label, sorted(agents), f"{more}a person.")
        bound = agents[label]
    text = f"catmem_{secrets.token_hex(6)}_{secrets.token_urlsafe(_BYTES)}"
    created = clock.timestamp_in_seconds(clock.now())
    token = Token(text.split("_")[1], label, bound, scope, created, _digest(text))
    with _changing(path) as tokens:
        remember_tokens(config, path)  # before there is one: a root that is served without would not know of it
        tokens.append(token)
    return token, text


def remove_tokens(path: Path, label: str, token_id: str | None = None) -> list[Token]:
    """Take away a token by its label and id, or all of the label."""
    with _changing(path) as tokens:
        there = [token for token in tokens if token.label == label]
        meant = TOKENS.meant(there, [token.token_id for token in there], token_id, label)
        tokens[:] = [token for token in tokens if token not in meant]
    return meant


def _password(text: str) -> str:
    """The password of a header for ``Basic``, an empty text if it is none."""
    try:
        return base64.b64decode(text.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _parsed(data: bytes) -> list[Token]:
    """The tokens of a file; ``ValueError`` and its like for what is none."""
    if len(data) > _LARGEST:
        raise ValueError(len(data))
    said = json.loads(data)
    found = [Token(**each) for each in said["tokens"]]
    if said["version"] != 1 or len({token.token_id for token in found}) != len(found) or not all(map(_is_right, found)):
        raise ValueError(said["version"])
    return found


def _is_right(token: Token) -> bool:
    texts = (token.token_id, token.label, token.created, token.sha256, token.profile or "")
    is_known = token.scope in get_args(TokenScope)
    return is_known and all(isinstance(text, str) for text in texts) and _DIGEST.fullmatch(token.sha256) is not None


@contextmanager
def _changing(path: Path) -> Iterator[list[Token]]:
    """The tokens of a file, to change; written whole in the end, under a lock."""
    with ExitStack() as stack:
        with TOKENS.errors("written", path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = stack.enter_context(locked_folder(path.parent, _PATIENCE))
        TOKENS.refuse_open_folder(folder, path.parent)
        tokens = read_tokens(path)
        yield tokens
        with TOKENS.errors("written", path):
            write_private(folder, path.name, {"version": 1, "tokens": [asdict(token) for token in tokens]})


# --- whether a root wants them ---------------------------------------------------------------------------------------


def why_wanted(config: Config, path: Path) -> str | None:
    """Why a root is not to be served without tokens, as half a sentence about it; ``None`` if nothing says so."""
    said = config.server.get("require_tokens")
    if said is not None:
        return "catmem.yaml says server.require_tokens" if said else None
    if "tokens" in config.server:
        return "catmem.yaml names a file of them, as server.tokens"
    if os.path.lexists(path):
        return "it had some, of which the last was removed"
    return _marked(config.root / SIDECAR / MARK)


def remember_tokens(config: Config, path: Path) -> None:
    """Have a root remember that it wants tokens, and that they are kept at ``path``."""
    place, said = config.root / SIDECAR / MARK, {"version": 1, "kept": str(path)}
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        with locked_folder(place.parent, _PATIENCE) as folder:
            write_private(folder, MARK, said)
    except OSError as error:
        if "require_tokens" in config.server:
            return  # that is what counts
        raise UnreadableError(
            f"the root cannot remember that it wants tokens: {error.strerror or error}",
            code="not_writable",
            path=place,
            hint="Check the rights of .catmem, or say it in catmem.yaml: server: {require_tokens: true}.",
        ) from error


def _marked(place: Path) -> str | None:
    """What the mark says; ``None`` if there is none. One that cannot be read is one all the same."""
    try:
        data = read_bounded(place, _LARGEST_MARK, follow_symlink=False)
        return f"it had some, which were in {json.loads(data)['kept']}"
    except CatmemError as error:
        return None if error.code == "missing" else f"it is unknown whether it had some: {place}: {error.message}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return "it had some"
