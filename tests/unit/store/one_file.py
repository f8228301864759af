"""A store on one plain file, and a write that puts a text at its end."""

from typing import Any

from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.folder import Place
from tests.merges import merge_appended

ENTITY = "user"


def store_on(file, **choices: Any) -> FileStore:
    return FileStore(lambda _: Place(file.parent, (), file.name), [ENTITY], **{"merge": merge_appended, **choices})


def add(store, text: bytes, expected: str | None = None, **change: Any):
    return store.commit(ENTITY, expected, lambda current: current.data + text, Change(**change))
