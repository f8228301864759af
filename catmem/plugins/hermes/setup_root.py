"""A root over the homes of Hermes Agent: ``catmem init --from-hermes``. Nothing of Hermes Agent's is changed.

::

    ~/.hermes/catmem.yaml            homes: profiles/{name}/memories, the limits of Hermes Agent
    ~/.hermes/catmem-profiles/*.yaml one for each profile of Hermes Agent, which sees all of its own memory, as before
"""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any

from catmem.config.config import CONFIG_NAME
from catmem.config.profile import HERMES_LIMITS
from catmem.errors import CatmemError, ConfigError, UnreadableError, WouldOverwriteError
from catmem.files import os_errors, read_bounded
from catmem.plugins.hermes.memory_store import MemoryStore
from catmem.plugins.hermes.setup_homes import DEFAULT, HermesConfig, Home, all_homes, find_home, read_config
from catmem.plugins.hermes.store_scan import memory_tool
from catmem.workspace.init import MadeOver, NewRoot

if TYPE_CHECKING:
    from collections.abc import Callable


PROFILES = "catmem-profiles"
_SIZE = 1 << 20

_CONFIG = """\
# The root of the memory of these profiles of Hermes Agent, whose own files stay as they are.
version: 1
profiles: {profiles}
# Where Hermes Agent keeps USER.md and MEMORY.md; those of its profile 'default' are in memories/.
homes: profiles/{{name}}/memories
limits: {{user: {user}, memory: {memory}}}   # characters, as Hermes Agent counts them
"""

_PROFILE = """\
# The profile {name} of Hermes Agent. It sees and writes everything in its own two files, as before.
name: {name}
tier: {tier}
{more}
# Name categories here and take out include_uncategorized: then its prompt has no entry of another category, or of none.
user_memory_categories: ["*"]
memory_categories: ["*"]
writable_categories: ["*"]
include_uncategorized: true
"""


def make_root(named: str | None) -> MadeOver:
    """``make_root_over`` the home in the folder ``named``, for ``catmem init --from-hermes``."""
    return make_root_over(find_home(named, option="catmem init --from-hermes DIR"))


def make_root_over(home: Home) -> MadeOver:
    """Write a ``catmem.yaml`` and the profiles into the folder of all homes; files that are there stay as they are.

    A named profile of Hermes Agent whose configuration cannot be read is skipped. Raises ``ConfigError``
    (``hermes_config``) and ``UnreadableError`` for that of the default one, which has the limits of the root, and
    ``WouldOverwriteError`` for a ``catmem.yaml`` with other content.
    """
    homes = all_homes(home)
    limits: dict[str, dict[str, int]] = {}
    skipped: dict[str, CatmemError] = {}
    for name, each in homes.items():
        try:
            config = read_config(each) or HermesConfig("", {}, {})
            limits[name] = {target: config.limit(target) for target in HERMES_LIMITS}
        except CatmemError as error:
            if name == DEFAULT:
                raise
            skipped[name] = error
    texts = {
        CONFIG_NAME: _CONFIG.format(profiles=PROFILES, **limits[DEFAULT]),
        **{f"{PROFILES}/{name}.yaml": _profile(name, limits) for name in limits},
    }
    there = [name for name in texts if os.path.lexists(home.root / name)]
    # A profile that is there may have been edited since; the root itself has to be the one that this makes.
    path = home.root / CONFIG_NAME
    if CONFIG_NAME in there and not (path.is_file() and read_bounded(path, _SIZE) == texts[CONFIG_NAME].encode()):
        raise WouldOverwriteError(home.root, [CONFIG_NAME])
    folder = home.root / PROFILES
    if folder.is_symlink():
        raise UnreadableError(
            "is a symbolic link, and a new root is not written through links",
            code="symlink",
            path=folder,
            hint="Nothing was written. Put a folder there, or move the link away.",
        )
    written = [name for name in texts if name not in there]
    with os_errors(
        "cannot be written", path=home.root, hint="What was written before stays; running it again goes on.", named=True
    ):
        for name in written:
            (home.root / name).parent.mkdir(exist_ok=True)
            with (home.root / name).open("x", encoding="utf-8", newline="") as stream:
                stream.write(texts[name])
    return MadeOver(NewRoot(home.root, tuple(written), tuple(there)), skipped)


def _profile(name: str, limits: dict[str, dict[str, int]]) -> str:
    if name == DEFAULT:
        return _PROFILE.format(name=name, tier=1, more="memory_dir: memories\n")
    more = f"# seed_from: {DEFAULT}   # then 'catmem hermes sync {DEFAULT} --all' copies what it may read from there\n"
    if limits[name] != limits[DEFAULT]:
        more += "limits: {{user: {user}, memory: {memory}}}\n".format(**limits[name])
    return _PROFILE.format(name=name, tier=2, more=more)


# --- put catmem's store in the place of Hermes Agent's, and take it out again ----------------------------------------


_LIMITS = ("memory_char_limit", "user_char_limit")
_METHODS = (
    *("load_from_disk", "add", "replace", "remove", "apply_batch", "format_for_system_prompt", "save_to_disk"),
    *("reset_consolidation_failures", "_path_for", "_entries_for", "_set_entries", "_char_count", "_char_limit"),
    *("_read_file", "_write_file", "_detect_external_drift", "_reload_target"),
)


def use_catmem_store() -> Callable[[], None]:
    """Have Hermes Agent make catmem's ``MemoryStore`` from now on; gives the function that undoes it.

    Stores that exist already stay what they are. Calling it again changes nothing. Raises ``ConfigError``:
    ``no_hermes`` outside of Hermes Agent, ``unknown_hermes`` for a version whose store is another than the one that
    this class is for; nothing is changed then.
    """
    module = memory_tool()
    theirs = getattr(module, "MemoryStore", None)
    if theirs is MemoryStore:
        return lambda: None
    _check(theirs)
    module.MemoryStore = MemoryStore

    def undo() -> None:
        if module.MemoryStore is MemoryStore:
            module.MemoryStore = theirs

    return undo


def register(_: Any) -> None:  # noqa: ANN401 - whatever Hermes Agent passes
    """Put the store in place: what Hermes Agent calls when it loads the plugin ``catmem-store``."""
    use_catmem_store()


def _check(theirs: Any) -> None:  # noqa: ANN401 - whatever stands there
    """Raise ``ConfigError`` unless the installed store is one that this class can stand in for."""
    problem = None
    if not isinstance(theirs, type):
        problem = "it has no class MemoryStore"
    elif tuple(inspect.signature(theirs).parameters) != _LIMITS:
        problem = f"its MemoryStore takes other arguments than {' and '.join(_LIMITS)}"
    else:
        gone = [name for name in _METHODS if not hasattr(theirs, name)]
        problem = f"its MemoryStore has no {gone[0]}" if gone else None
    if problem:
        raise ConfigError(
            f"this version of Hermes Agent is not known: {problem}",
            code="unknown_hermes",
            hint="Hermes Agent's own store stays in use. Use a version that catmem was tested with: 0.19.0.",
        )
