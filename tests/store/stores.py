"""The stores that the contract's tests run over. A new store is one more ``Kind`` in ``KINDS``, and nothing else.

A test takes ``@pytest.mark.parametrize("kind", kinds())`` and makes what it needs from the kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from catmem.store.contract import Store
from tests.merges import merge_appended
from tests.sql.postgres import MISSING
from tests.store.dict_store import DictStore

ENTITIES = ("trinity/user", "trinity/memory", "neo/user")
"""Those that ``verify`` looks at in a store that has to be told."""


@dataclass(frozen=True)
class Kind:
    """A kind of store.

    ``make(folder)`` opens a store that keeps what it has in ``folder``. ``lasting``: a second one made on the same
    folder, in this process or another, holds the same entities. ``file(folder, entity)`` is the plain file of an
    entity where outsiders can write to it, else ``None``. ``missing`` says why the kind cannot be tested here.
    """

    name: str
    make: Callable[[Path], Store]
    lasting: bool = True
    file: Callable[[Path, str], Path] | None = None
    missing: str = ""

    def reopen(self, store: Store, folder: Path) -> Store:
        """Close a store and open it again."""
        store.close()
        return self.make(folder) if self.lasting else store


def _memory(folder: Path) -> Store:
    from tests.store.memory import InMemoryStore

    return InMemoryStore()


def _files(folder: Path) -> Store:
    from catmem.store.files.file_store import FileStore
    from catmem.store.files.folder import Place

    def locate(entity: str) -> Place:
        *parents, name = entity.split("/")
        return Place(folder, tuple(parents), f"{name.upper()}.md")

    return FileStore(locate, ENTITIES, merge=merge_appended)


def _file_of(folder: Path, entity: str) -> Path:
    *parents, name = entity.split("/")
    return folder.joinpath(*parents, f"{name.upper()}.md")


def _sqlite(folder: Path) -> Store:
    return sql_store(f"sqlite:///{folder}/catmem.db", folder)


def _postgresql(folder: Path) -> Store:
    from tests.sql.server import url_of

    return sql_store(url_of(folder), folder)


def sql_store(url: str, folder: Path, **options: Any) -> Store:
    """A store on a database; ``folder`` is where it keeps copies of rows that others changed."""
    from catmem.model.document import parse
    from catmem.plugins.sql.sql_store import SqlStore
    from catmem.workspace.rows import RowCodec

    return SqlStore(url, RowCodec(parse), folder=folder, **options)


def _dict(folder: Path) -> Store:
    return DictStore(folder / "store.json")


KINDS = (
    Kind("memory", _memory, lasting=False),
    Kind("files", _files, file=_file_of),
    Kind("sqlite", _sqlite),
    Kind("postgresql", _postgresql, missing=MISSING),
    Kind("dict", _dict),
)


def named(name: str) -> Kind:
    """The kind with that name. Raises ``KeyError``."""
    return {kind.name: kind for kind in KINDS}[name]


def kinds(*, lasting: bool = False) -> list[object]:
    """Parameters for ``parametrize``: all kinds, or those that are lasting."""
    found = [kind for kind in KINDS if kind.lasting or not lasting]
    if find_spec("catmem.plugins") is None:
        found = [kind for kind in found if kind.name not in {"sqlite", "postgresql"}]
    postgresql = {"postgresql": [pytest.mark.postgresql]}
    return [pytest.param(kind, id=kind.name, marks=postgresql.get(kind.name, [])) for kind in found]
