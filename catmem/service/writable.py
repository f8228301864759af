"""Whether a root takes writes at all, found out without making one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.service.profiles import load_each
from catmem.service.stores import FILE_NAMES, sql_store
from catmem.store.files.store import FileStore

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace


def refuse_unwritable(workspace: Workspace) -> None:
    """Raise ``StoreError`` where the database takes no writes, or no memory file of any profile does.

    A file that may not be written keeps nobody from writing the others. Raises as reading does, for a store that is
    not there.
    """
    store = workspace.store
    database = sql_store(store)
    if database is not None:
        database.refuse_unwritable()
    if not isinstance(store, FileStore):
        return
    refused = None
    profiles, _ = load_each(workspace)
    for entity in (f"{profile.name}/{target}" for profile in profiles for target in FILE_NAMES):
        try:
            store.refuse_unwritable(entity)
        except CatmemError as error:
            refused = refused or error
        else:
            return
    if refused is not None:
        raise refused
