"""Stores by the names that catmem.yaml gives them: ``files``, ``sqlite:///…``, ``postgresql://…``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from catmem.service.backends import backend_of, refuse_no_store

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.policy.config import Config
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Store


def store_at(workspace: Workspace, where: str) -> Store:
    """The store ``where`` (``files``, ``sqlite:///…``, ``postgresql://…``) of a root, whatever its catmem.yaml says.

    Raises ``ConfigError`` (``bad_store``) for what names no store.
    """
    from catmem.policy.profile import profile_names
    from catmem.service.stores import open_store

    refuse_no_store(where)
    config = replace(workspace.config, store=where)
    return open_store(config, workspace.profile, profile_names(config.profiles_dir), is_own=False)


def shown_store(where: str) -> str:
    """The name of a store as it may be shown: without the password that a URL may hold."""
    scheme, slashes, rest = where.partition("://")
    before, at, host = rest.rpartition("@") if slashes else ("", "", "")
    name = f"{scheme}://{before.partition(':')[0]}@{host}" if at else where
    return re.sub(r"(?i)([?&]\w*password=)[^&]*", r"\1***", name)


def database_file(config: Config, where: str) -> Path | None:
    """The one file that a store is in; ``None`` for another."""
    config = replace(config, store=where)
    return backend_of(config).file(config)
