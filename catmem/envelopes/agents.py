"""Whom an agent acts as, and its keys.

An agent is bound to a profile; a digest tells whether it knows that profile as it is now. Keys are files
``<agent>.<key_id>`` that only their owner may read, or stand in ``CATMEM_KEY_<AGENT>``.

An agent may have several keys at once, so that a new one can be given out before the old one goes. The one whose id
comes last in the alphabet signs; all of them verify. Keys that others could have read or replaced are not used at all.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from catmem import clock
from catmem.config.config import Config, expand_user, user_folder
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import Profile, has_profile, profile_names, refuse_no_root
from catmem.digest import bytes_digest, canonical_json
from catmem.errors import ConfigError, RefusedError, UnknownNameError
from catmem.files import os_errors, permission_or_io
from catmem.names import is_name, key_file_parts
from catmem.store.contract import PERSON
from catmem.store.envelope import Envelope
from catmem.workspace.root import Root


def role_hash(profile: Profile) -> str:
    """The digest of a profile with everything inherited in it: equal roles have equal ones."""
    return bytes_digest(canonical_json(profile.canonical()))


def agents_of(config: Config) -> dict[str, str]:
    """The profile of each agent of the root, by the agent; a profile is the agent of its own name."""
    return {name: name for name in profile_names(config.profiles_dir)} | dict(config.agents)


def profile_of(config: Config, agent: str) -> str | None:
    """The name of an agent's profile, ``None`` for no agent: what ``agents_of`` says, without a look at all others."""
    if agent in config.agents:
        return config.agents[agent]
    if has_profile(config, agent):
        return agent
    return agents_of(config).get(agent)  # a folder that cannot be read is reported, and not taken for an empty one


def bound_profile(workspace: Root, agent: str) -> Profile | None:
    """The profile that an agent acts as, ``None`` for a person. Raises ``RefusedError`` (``role_drift``) if unknown."""
    if agent == PERSON:
        return None
    name = profile_of(workspace.config, agent)
    if name is None:
        raise role_drift()
    return workspace.profile(name)


def fits(envelope: Envelope, profile: Profile) -> bool:
    """Whether an envelope's role is the profile as it is now."""
    named = (envelope.role_id or "").partition("@")[0]
    same = hmac.compare_digest(role_hash(profile), envelope.role_hash or "")
    return named == profile.name and same


def role_drift() -> RefusedError:
    """The refusal of a role that is not that of the writer; in the same words for an agent that there is not."""
    return RefusedError(
        "the role of this envelope is not that of its agent as it is now",
        code="role_drift",
        hint="Nothing was written. Read the profile again; 'catmem role-hash NAME' prints the digest for role_hash.",
    )


# --- keys ----------------------------------------------------------------------------------------------------------

VARIABLE = "CATMEM_KEY_"

_BYTES = 32
_LONGEST = 4096
_HEX = re.compile(rf"(?:[0-9a-fA-F]{{2}}){{{_BYTES},512}}")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Key:
    """One key of an agent. ``path`` is ``None`` for one from the environment."""

    agent: str
    key_id: str
    path: Path | None = None
    secret: bytes = field(default=b"", repr=False)
    __json__ = "agent key_id path"


def keys_folder(config: Config) -> Path:
    """The folder of a root's keys, absolute; it need not exist."""
    # By default it has the name of the root and a digest of its place, below `~/.config/catmem/keys`.
    root = Path(os.path.realpath(config.root))
    if config.signing.keys is None:
        place = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
        named = user_folder() / "keys" / f"{root.name or 'root'}-{place}"
    else:
        named = root / expand_user(config.signing.keys)
    folder = Path(os.path.realpath(named))
    tree = next((each for each in (root, *root.parents) if os.path.lexists(each / ".git")), root)
    for outer in dict.fromkeys((root, tree)):
        if folder == outer or outer in folder.parents:
            raise ConfigError(
                f"the folder of keys {shown(str(named))} is inside of {outer}, which others get to see",
                code="keys_inside",
                path=config.path,
                key="signing.keys",
                hint="Name a folder elsewhere, or leave signing.keys out: then it is below ~/.config/catmem/keys.",
            )
    return folder


def list_keys(config: Config) -> list[Key]:
    """The keys of all agents in the folder, by agent and id, with their secrets left out."""
    folder = keys_folder(config)
    with _opened(folder) as descriptor:
        if descriptor is None:
            return []
        names = sorted(os.listdir(descriptor))  # noqa: PTH208 - the folder that was looked at, not its path
        found = [Key(*parts, folder / name) for name in names if (parts := key_file_parts(name))]
        for key in found:
            name = f"{key.agent}.{key.key_id}"
            _refuse_unsafe(os.stat(name, dir_fd=descriptor, follow_symlinks=False), folder / name)
    return found


def all_keys(config: Config) -> list[Key]:
    """The keys of all agents, by agent, the one that signs at the end; those of the environment too."""
    refuse_no_root(config)
    agents = sorted({*agents_of(config), PERSON, *(key.agent for key in list_keys(config))})
    return [key for agent in agents for key in keys_of(config, agent, agents)]


def keys_of(config: Config, agent: str, known: Collection[str]) -> list[Key]:
    """The keys of an agent with their secrets, the one that signs at the end; those of the environment come last."""
    # `known` are the agents of the root.
    files = [key for key in list_keys(config) if key.agent == agent]
    found: list[Key] = []
    if files:
        with _opened(keys_folder(config)) as descriptor:
            found = [_read(descriptor, key) for key in files if descriptor is not None]
    return [*found, *_from_environment(agent, known)]


def signing_key(config: Config, agent: str, known: Collection[str]) -> Key | None:
    """The key that an agent signs with, the newest; ``None`` if it has none here."""
    keys = keys_of(config, agent, known)
    return keys[-1] if keys else None


def new_key(config: Config, agent: str) -> Key:
    """Make another key for an agent, which signs from now on; older ones still verify."""
    refuse_no_root(config)
    refuse_bad_agent(agent)
    agents = [*agents_of(config), PERSON]
    if agent not in agents:
        raise UnknownNameError(f"there is no agent {shown(agent)}", hint=suggestion(agent, agents, "agents"))
    folder = keys_folder(config)
    taken = {key.key_id for key in list_keys(config) if key.agent == agent}
    now = clock.now().strftime("%Y%m%dt%H%M%S")
    key_id = next(name for name in (now, *(f"{now}-{count}" for count in range(2, 1000))) if name not in taken)
    with _writing(folder):
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


def remove_keys(config: Config, agent: str, key_id: str | None = None, *, every: bool = False) -> list[Key]:
    """Take away a key of an agent, all of them with ``every``, or the only one. What it signed verifies no more."""
    refuse_no_root(config)
    refuse_bad_agent(agent)
    there = [key for key in list_keys(config) if key.agent == agent]
    meant = [key for key in there if key_id in {None, key.key_id}]
    if not meant:
        what = f"{agent} has no key" + ("" if key_id is None else f" {shown(key_id)}")
        raise UnknownNameError(
            what, code="unknown_key", hint=suggestion(key_id or "", [k.key_id for k in there], "keys")
        )
    if len(meant) > 1 and not every:
        raise ConfigError(
            f"{agent} has {len(meant)} keys, and none was named",
            code="which_key",
            hint=f"Name one of {', '.join(key.key_id for key in meant)}, or say that all are meant (--all).",
        )
    folder = keys_folder(config)
    with _writing(folder), _opened(folder) as descriptor:
        for key in meant:
            os.unlink(f"{key.agent}.{key.key_id}", dir_fd=descriptor)
    return meant


def refuse_bad_agent(agent: str) -> None:
    """Raise ``ConfigError`` (``bad_name``) for what no agent can be called, before a path is made of it."""
    if not is_name(agent):
        hint = "A name has 1 to 64 small letters, digits, '_' and '-', and begins with a letter or digit."
        raise ConfigError(f"{shown(agent)} cannot be the name of an agent", code="bad_name", hint=hint)


def variable(agent: str) -> str:
    """The name of the variable that may hold an agent's keys."""
    return VARIABLE + agent.upper().replace("-", "_")


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """The folder, opened, if it is there and only its owner can write to it."""
    hint = "Check signing.keys in catmem.yaml, and the rights of the folder."
    with os_errors("the folder of keys cannot be read", path=folder, hint=hint, code=permission_or_io):
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            descriptor = -1
    if descriptor < 0:
        yield None
        return
    try:
        found = os.fstat(descriptor)
        if found.st_mode & _OTHERS_WRITE or found.st_uid not in {os.geteuid(), 0}:
            raise _unsafe(folder, "others may put files into this folder of keys", f"chmod 700 {folder}")
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_unsafe(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _unsafe(path, "a key is a file, and this is a link or something else", f"mv {path} elsewhere")
    if found.st_mode & _OTHERS or found.st_uid not in {os.geteuid(), 0}:
        raise _unsafe(path, "others than its owner may read this key", f"chmod 600 {path}")


def _read(folder: int | None, key: Key) -> Key:
    """The key with its secret. What was looked at is what is read: the file is opened first."""
    path = key.path or Path()
    with os_errors(
        "this key cannot be read",
        path=path,
        hint="Nothing was written. Give the user who runs catmem here the right to read it.",
        code=permission_or_io,
    ):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path.name, flags, dir_fd=folder)
        try:
            _refuse_unsafe(os.fstat(descriptor), path)
            text = os.read(descriptor, _LONGEST).decode(errors="replace").strip()
        finally:
            os.close(descriptor)
    return Key(key.agent, key.key_id, path, _secret(text, path=path))


def _from_environment(agent: str, known: Collection[str]) -> list[Key]:
    """The keys in an agent's variable, in the order in which they stand there: ``KEY_ID:HEX``, with blanks between."""
    name = variable(agent)
    text = os.environ.get(name, "")
    if not text.strip():
        return []
    if any(variable(other) == name for other in {*known, PERSON} - {agent}):
        raise ConfigError(
            f"{name} could be the keys of several agents",
            code="bad_key",
            hint="Names that differ by - and _ only share a variable. Keep these keys in files: catmem key new AGENT.",
        )
    found: list[Key] = []
    for part in text.split():
        key_id, colon, secret = part.partition(":")
        if not (colon and is_name(key_id)):
            raise ConfigError(f"{name} has to hold KEY_ID:HEX", code="bad_key", hint=_FORM)
        found.append(Key(agent, key_id, None, _secret(secret, variable=name)))
    return found


_FORM = "A key has 32 bytes or more, as hexadecimal digits: 'catmem key new AGENT' makes one."


def _secret(text: str, *, path: Path | None = None, variable: str = "it") -> bytes:
    if not _HEX.fullmatch(text):
        raise ConfigError(f"{variable if path is None else 'this'} is no key", code="bad_key", path=path, hint=_FORM)
    return bytes.fromhex(text)


def _unsafe(path: Path, message: str, remedy: str) -> ConfigError:
    return ConfigError(message, code="unsafe_key", path=path, hint=f"No key of this root is used until then: {remedy}")


def _writing(folder: Path) -> AbstractContextManager[None]:
    hint = "Check the rights of the folder, or name another as signing.keys in catmem.yaml."
    return os_errors("the folder of keys cannot be written", path=folder, hint=hint)
