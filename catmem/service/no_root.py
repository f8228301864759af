"""A folder that is no root: nothing is in it, and nobody should be told that all is well there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import ConfigError
from catmem.policy.profile import profile_names

if TYPE_CHECKING:
    from catmem.policy.config import Config


def is_root(config: Config) -> bool:
    """Whether the folder has a ``catmem.yaml``, or profiles at least."""
    return config.path is not None or (config.profiles_dir.is_dir() and bool(profile_names(config.profiles_dir)))


def refuse_no_root(config: Config) -> None:
    """Raise ``ConfigError`` (``no_root``) for a folder that is no root."""
    if not is_root(config):
        raise ConfigError(
            "no catmem.yaml was found here or above, and no profiles",
            code="no_root",
            path=config.root,
            hint="Go to the root or name it with --root; 'catmem init' makes one.",
        )
