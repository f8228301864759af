"""The kinds of stores that ``store`` of catmem.yaml may name: how each is opened, and where it keeps entities.

A new store is one more entry in ``BACKENDS``, with its form in ``schemas/config.schema.json``.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from catmem.config.config import expand_user
from catmem.config.profile import memory_dir
from catmem.errors import ConfigError, StoreError
from catmem.names import FILE_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from catmem.config.config import Config
    from catmem.config.profile import Profile
    from catmem.model.document import Document
    from catmem.store.contract import Store


_SQLITE = "sqlite:///"


class Opening(NamedTuple):
    """What a store is opened with.

    ``profile`` finds a profile by its name; ``names`` are the profiles whose entities ``verify`` looks at in files.
    ``parse`` is how the root reads a document. ``is_own``: it is the store of the root, and not one to copy from or to.
    """

    config: Config
    profile: Callable[[str], Profile]
    names: Iterable[str]
    parse: Callable[[bytes], Document]
    is_own: bool


@dataclass(frozen=True, slots=True)
class Backend:
    """A kind of store.

    ``form`` is the regular expression of its names in catmem.yaml. ``has_files``: each entity is a Markdown file in the
    folder of its profile, which other programs edit. ``file`` is the one file that all of the store is in, if it is.
    ``scratch`` gives the name of a store that is there for a moment, at or below that of a root, and removes all of it
    afterwards; a store that is nowhere but in the folders of its root has nothing to remove.
    """

    form: str
    open: Callable[[Opening], Store]
    has_files: bool = False
    file: Callable[[Config], Path | None] = lambda _: None
    scratch: Callable[[Config], AbstractContextManager[str]] = lambda config: nullcontext(config.store)


def _open_files(opening: Opening) -> Store:
    from catmem.store.files.file_store import FileStore
    from catmem.workspace.stores import locate, merge_files

    config = opening.config
    return FileStore(
        lambda entity: locate(config, opening.profile, entity),
        [f"{name}/{target}" for name in opening.names for target in FILE_NAMES],
        merge=lambda base, ours, theirs: merge_files(config, base, ours, theirs),
        durable=config.durability == "full",
    )


def _open_database(opening: Opening, url: str, *, extra: str) -> Store:
    config = opening.config
    try:
        from catmem.store.sql.sql_store import SqlStore
    except ModuleNotFoundError as error:
        raise StoreError(
            f"the store of this root is a database, and {error.name} is not installed",
            code="missing_extra",
            path=config.path,
            hint=f"Run: pip install 'catmem[{extra}]'",
        ) from error
    from catmem.workspace.rows import RowCodec
    from catmem.workspace.stores import tier_of

    codec = RowCodec(opening.parse, tier_of(opening.profile))
    return SqlStore(url, codec, folder=config.root, root=config.root if opening.is_own else None)


def _sqlite_url(config: Config) -> str:
    """The URL with a whole path: that in catmem.yaml is taken from the root."""
    path, mark, options = config.store.removeprefix(_SQLITE).partition("?")
    return f"{_SQLITE}{config.root / expand_user(path)}{mark}{options}"


def _sqlite_file(config: Config) -> Path:
    return Path(_sqlite_url(config).removeprefix(_SQLITE).partition("?")[0]).resolve()


@contextmanager
def _new_file(config: Config) -> Iterator[str]:
    from catmem.store.sql.scratch import new_file

    with new_file(_sqlite_file(config)):
        yield config.store


def _new_schema(config: Config) -> AbstractContextManager[str]:
    from catmem.store.sql.scratch import new_schema

    return new_schema(config.store)


BACKENDS = {
    "files": Backend("files", _open_files, has_files=True),
    "sqlite": Backend(
        "sqlite:///.+",
        lambda opening: _open_database(opening, _sqlite_url(opening.config), extra="sql"),
        file=_sqlite_file,
        scratch=_new_file,
    ),
    "postgresql": Backend(
        "postgresql://.+",
        lambda opening: _open_database(opening, opening.config.store, extra="postgres"),
        scratch=_new_schema,
    ),
}
"""Each kind of store by the scheme that its name in catmem.yaml begins with."""


def backend_of(config: Config) -> Backend:
    """The kind of store that ``store`` of a root names. Raises ``ConfigError`` (``bad_store``)."""
    backend = BACKENDS.get(_scheme(config.store))
    if backend is None:
        raise _bad_store(config.store)
    return backend


def refuse_no_store(where: str) -> None:
    """Raise ``ConfigError`` (``bad_store``) for what is not written as a store in catmem.yaml."""
    backend = BACKENDS.get(_scheme(where))
    if backend is None or not re.fullmatch(backend.form, where):
        raise _bad_store(where)


def _bad_store(where: str) -> ConfigError:
    return ConfigError(
        f"{_scheme(where)!r} names no store",
        code="bad_store",
        hint="Say files, sqlite:///.catmem/memory.db (from the root; four slashes for a whole path) or "
        "postgresql://host/database.",
    )


def memory_files(config: Config, profile: Profile) -> Mapping[str, Path]:
    """The memory file of each target of a profile, which other programs edit; none where entities are no files.

    Raises ``ConfigError`` (``outside_root``) and ``UnreadableError``.
    """
    if not backend_of(config).has_files:
        return {}
    folder = memory_dir(profile, config)
    return {target: folder / name for target, name in FILE_NAMES.items()}


def places(config: Config, profile: Profile) -> Mapping[str, Path]:
    """Where each entity of a profile is, for a person: its file, or a name such as ``sqlite:trinity/user``.

    Raises as ``memory_files``.
    """
    files = memory_files(config, profile)
    return files or {target: Path(entity_name(config, f"{profile.name}/{target}")) for target in FILE_NAMES}


def entity_name(config: Config, entity: str) -> str:
    """The name of an entity that is no file, such as ``sqlite:trinity/user``."""
    return f"{_scheme(config.store)}:{entity}"


def _scheme(where: str) -> str:
    return where.partition(":")[0]


# --- by name -------------------------------------------------------------------------------------------------------


def shown_store(where: str) -> str:
    """The name of a store as it may be shown: without the password that a URL may hold."""
    scheme, slashes, rest = where.partition("://")
    before, at, host = rest.rpartition("@") if slashes else ("", "", "")
    name = f"{scheme}://{before.partition(':')[0]}@{host}" if at else where
    return re.sub(r"(?i)([?&]\w*password=)[^&]*", r"\1***", name)


def store_file(config: Config, where: str) -> Path | None:
    """The one file that the store ``where`` is in; ``None`` for another."""
    config = replace(config, store=where)
    return backend_of(config).file(config)


def scratch(config: Config, where: str) -> AbstractContextManager[str]:
    """The name of a store at ``where`` that is there for a moment, and of which nothing is left; see ``Backend``."""
    config = replace(config, store=where)
    return backend_of(config).scratch(config)
