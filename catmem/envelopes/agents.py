"""Whom an agent acts as, and its keys.

An agent is bound to a profile; a digest tells whether it knows that profile as it is now. Keys are files
``<agent>.<key_id>`` that only their owner may read.

An agent may have several keys at once, so that a new one can be given out before the old one goes. The one whose id
comes last in the alphabet signs; all of them verify. Keys that others could have read or replaced are not used at all.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from catmem import clock
from catmem.config.config import Config, expand_user, user_folder
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import Profile, agents_of, has_profile, refuse_no_root
from catmem.digest import bytes_digest, canonical_json
from catmem.errors import ConfigError, UnknownNameError
from catmem.files import os_errors, permission_or_io
from catmem.names import is_name, key_file_parts
from catmem.store.contract import PERSON
from catmem.workspace.root import Root


def role_hash(profile: Profile) -> str:
    """The digest of a profile with everything inherited in it: equal roles have equal ones."""
    return bytes_digest(canonical_json(profile.canonical()))


def profile_of(config: Config, agent: str) -> str | None:
    """The name of an agent's profile, ``None`` for no agent: what ``agents_of`` says, without a look at all others."""
    if agent in config.agents:
        return config.agents[agent]
    if has_profile(config, agent):
        return agent
    return agents_of(config).get(agent)  # a folder that cannot be read is reported, and not taken for an empty one


def bound_profile(workspace: Root, agent: str) -> Profile | None:
    """The profile that an agent acts as, ``None`` for a person. Raises ``UnknownNameError``."""
    if agent == PERSON:
        return None
    name = profile_of(workspace.config, agent)
    if name is None:
        raise no_agent(agent, agents_of(workspace.config))
    return workspace.profile(name)


def no_agent(agent: str, agents: Iterable[str], more: str = "") -> UnknownNameError:
    """The error for an agent that is none of these."""
    return UnknownNameError(f"there is no agent {shown(agent)}", hint=f"{suggestion(agent, agents, 'agents')}{more}")


# --- files of secrets: keys of agents, and tokens of callers (``envelopes/tokens.py``) -------------------------------

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

T = TypeVar("T")


class SecretFiles(NamedTuple):
    """Where secrets of one kind are: in files that only their owner may read, outside of what git carries."""

    kind: Literal["keys", "tokens"]
    until: str
    """What is said as long as they are not safe."""
    elsewhere: str
    """What to do about a place inside of the root."""

    @property
    def has_keys(self) -> bool:
        """Whether these are keys, and not tokens."""
        return self.kind == "keys"

    def default(self, config: Config, ending: str = "") -> Path:
        """Below ``~/.config/catmem``, by the name of the root and a digest of its place."""
        root = Path(os.path.realpath(config.root))
        place = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
        return user_folder() / self.kind / f"{root.name or 'root'}-{place}{ending}"

    def refuse_inside(self, path: Path, config: Config) -> None:
        """Raise ``ConfigError`` for a place in the root, or in the git working tree that it is in: copies carry it."""
        root = Path(os.path.realpath(config.root))
        tree = next((each for each in (root, *root.parents) if os.path.lexists(each / ".git")), root)
        for outer in dict.fromkeys((root, tree)):
            if path == outer or outer in path.parents:
                raise ConfigError(
                    f"{shown(str(path))}, the place of {self.kind}, is inside of {outer}, which others get to see",
                    code="keys_inside" if self.has_keys else "tokens_inside",
                    path=config.path,
                    hint=f"Name a place elsewhere: {self.elsewhere}.",
                )

    def errors(self, what: Literal["read", "written"], path: Path) -> AbstractContextManager[None]:
        """Say of a place of secrets that it cannot be read or written, for an ``OSError`` of the block."""
        if what == "read":
            hint = f"{self.until}. Give the user who runs catmem the right to read it; it may be no link."
            return os_errors(f"these {self.kind} cannot be read", path=path, hint=hint, code=permission_or_io)
        hint = f"They are as they were. Check the rights of the folder and the disk, or name a place: {self.elsewhere}."
        return os_errors(f"these {self.kind} cannot be written", path=path, hint=hint)

    def content(self, path: Path, most: int, folder: int | None = None) -> bytes | None:
        """The bytes of a file, at most one over ``most``; ``None`` if there is none. Its name is one in ``folder``."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self.errors("read", path):
            try:
                descriptor = os.open(path if folder is None else path.name, flags, dir_fd=folder)
            except FileNotFoundError:
                return None
            try:  # what was looked at is what is read
                self.refuse_open(os.fstat(descriptor), path)
                return os.read(descriptor, most + 1)
            finally:
                os.close(descriptor)

    def refuse_open_folder(self, descriptor: int, folder: Path) -> None:
        """Raise ``ConfigError`` for a folder into which others may put files."""
        found = os.fstat(descriptor)
        if found.st_mode & _OTHERS_WRITE or found.st_uid not in {os.geteuid(), 0}:
            raise self._unsafe(folder, f"others may put files into this folder of {self.kind}", f"chmod 700 {folder}")

    def refuse_open(self, found: os.stat_result, path: Path) -> None:
        """Raise ``ConfigError`` for a file that others may read, and for what is no file."""
        if not stat.S_ISREG(found.st_mode):
            what = f"{self.kind} are kept in files, and this is a link or something else"
            raise self._unsafe(path, what, f"mv {path} elsewhere")
        if found.st_mode & _OTHERS or found.st_uid not in {os.geteuid(), 0}:
            raise self._unsafe(path, f"others than its owner may read this file of {self.kind}", f"chmod 600 {path}")

    def _unsafe(self, path: Path, message: str, remedy: str) -> ConfigError:
        return ConfigError(
            message,
            code="unsafe_key" if self.has_keys else "unsafe_tokens",
            path=path,
            hint=f"{self.until}: {remedy}",
        )

    def meant(self, there: Sequence[T], ids: Sequence[str], named: str | None, owner: str) -> list[T]:
        """Those of an owner that are to go: the one that is ``named``, else all."""
        what = self.kind.removesuffix("s")
        found = [each for each, each_id in zip(there, ids, strict=True) if named in {None, each_id}]
        if not found:
            who, which = owner if is_name(owner) else shown(owner), "" if named is None else f" {shown(named)}"
            listed = f"'catmem {what} list' lists all {self.kind}."
            raise UnknownNameError(
                f"{who} has no {what}{which}",
                code="unknown_key" if self.has_keys else "unknown_token",
                hint=suggestion(named or "", ids, self.kind) if ids else listed,
            )
        return found


# --- keys ----------------------------------------------------------------------------------------------------------

KEYS = SecretFiles(
    "keys",
    "No key of this root is used until then",
    "signing.keys in catmem.yaml; without it they are below ~/.config/catmem/keys",
)
_BYTES = 32
_LONGEST = 4096
_HEX = re.compile(rf"(?:[0-9a-fA-F]{{2}}){{{_BYTES},512}}")


@dataclass(frozen=True, order=True, slots=True)
class Key:
    """One key of an agent."""

    agent: str
    key_id: str
    path: Path
    secret: bytes = field(default=b"", repr=False)
    __json__ = "agent key_id path"


def keys_folder(config: Config) -> Path:
    """The folder of a root's keys, absolute; it need not exist."""
    said = config.signing.keys
    named = KEYS.default(config) if said is None else Path(os.path.realpath(config.root)) / expand_user(said)
    folder = Path(os.path.realpath(named))
    KEYS.refuse_inside(folder, config)
    return folder


def list_keys(config: Config, of: str | None = None) -> list[Key]:
    """The keys in the folder by agent and id, their secrets left out; those of an agent with theirs."""
    folder = keys_folder(config)
    with _opened(folder) as descriptor:
        if descriptor is None:
            return []
        names = os.listdir(descriptor)  # noqa: PTH208 - the folder that was looked at, not its path
        found = sorted(Key(*parts, folder / name) for name in names if (parts := key_file_parts(name)))
        for key in found:  # if others could have read or replaced one, none is used
            KEYS.refuse_open(os.stat(key.path.name, dir_fd=descriptor, follow_symlinks=False), key.path)
        return found if of is None else [_read(descriptor, key) for key in found if key.agent == of]


def signing_key(config: Config, agent: str) -> Key | None:
    """The key that an agent signs with, the newest; ``None`` if it has none here."""
    keys = list_keys(config, agent)
    return keys[-1] if keys else None


def new_key(config: Config, agent: str) -> Key:
    """Make another key for an agent, which signs from now on; older ones still verify."""
    refuse_no_root(config)
    refuse_bad_agent(agent)
    agents = [*agents_of(config), PERSON]
    if agent not in agents:
        raise no_agent(agent, agents)
    folder = keys_folder(config)
    taken = {key.key_id for key in list_keys(config) if key.agent == agent}
    now = clock.now().strftime("%Y%m%dt%H%M%S")
    key_id = next(name for name in (now, *(f"{now}-{count}" for count in range(2, 1000))) if name not in taken)
    with KEYS.errors("written", folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _opened(folder) as descriptor:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            name = f"{agent}.{key_id}"
            secret = secrets.token_hex(_BYTES)
            with os.fdopen(os.open(name, flags, 0o600, dir_fd=descriptor), "w", encoding="ascii") as stream:
                stream.write(f"{secret}\n")
                stream.flush()
                os.fsync(stream.fileno())
    return Key(agent, key_id, folder / name, bytes.fromhex(secret))


def remove_keys(config: Config, agent: str, key_id: str | None = None) -> list[Key]:
    """Take away a key of an agent, or all of them. What they signed verifies no more."""
    refuse_no_root(config)
    refuse_bad_agent(agent)
    there = [key for key in list_keys(config) if key.agent == agent]
    meant = KEYS.meant(there, [key.key_id for key in there], key_id, agent)
    folder = keys_folder(config)
    with KEYS.errors("written", folder), _opened(folder) as descriptor:
        for key in meant:
            os.unlink(key.path.name, dir_fd=descriptor)
    return meant


def refuse_bad_agent(agent: str, what: str = "an agent") -> None:
    """Raise ``ConfigError`` (``bad_name``) for what no agent can be called, before a path is made of it."""
    if not is_name(agent):
        hint = "A name has 1 to 64 small letters, digits, '_' and '-', and begins with a letter or digit."
        raise ConfigError(f"{shown(agent)} cannot be the name of {what}", code="bad_name", hint=hint)


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """The folder, opened, if it is there and only its owner can write to it."""
    with KEYS.errors("read", folder):
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            descriptor = -1
    if descriptor < 0:
        yield None
        return
    try:
        KEYS.refuse_open_folder(descriptor, folder)
        yield descriptor
    finally:
        os.close(descriptor)


def _read(folder: int, key: Key) -> Key:
    """The key with its secret."""
    text = (KEYS.content(key.path, _LONGEST, folder) or b"").decode(errors="replace").strip()
    if not _HEX.fullmatch(text):
        hint = "A key has 32 bytes or more, as hexadecimal digits: 'catmem key new AGENT' makes one."
        raise ConfigError("this is no key", code="bad_key", path=key.path, hint=hint)
    return replace(key, secret=bytes.fromhex(text))
