"""A root over the homes of Hermes Agent: ``catmem init --from-hermes``. Nothing of Hermes Agent's is changed.

::

    ~/.hermes/catmem.yaml            homes: profiles/{name}/memories, the limits of Hermes Agent
    ~/.hermes/catmem-profiles/*.yaml one for each profile of Hermes Agent, which sees all of its own memory, as before
"""

from __future__ import annotations

import os

from catmem.config.config import CONFIG_NAME
from catmem.config.profile import HERMES_LIMITS
from catmem.errors import CatmemError, UnreadableError, WouldOverwriteError
from catmem.files import os_errors, read_bounded
from catmem.plugins.hermes.setup_homes import DEFAULT, HermesConfig, Home, all_homes, find_home, read_config
from catmem.workspace.init import NewRoot

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


def make_root(named: str | None) -> tuple[NewRoot, dict[str, CatmemError]]:
    """``make_root_over`` the home in the folder ``named``, for ``catmem init --from-hermes``."""
    return make_root_over(find_home(named, option="catmem init --from-hermes DIR"))


def make_root_over(home: Home) -> tuple[NewRoot, dict[str, CatmemError]]:
    """Write a ``catmem.yaml`` and the profiles into the folder of all homes; files that are there stay as they are.

    A named profile of Hermes Agent whose configuration cannot be read is left out. Raises ``ConfigError``
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
    return NewRoot(home.root, tuple(written), tuple(there)), skipped


def _profile(name: str, limits: dict[str, dict[str, int]]) -> str:
    if name == DEFAULT:
        return _PROFILE.format(name=name, tier=1, more="memory_dir: memories\n")
    more = f"# seed_from: {DEFAULT}   # then 'catmem hermes sync {DEFAULT} --all' copies what it may read from there\n"
    if limits[name] != limits[DEFAULT]:
        more += "limits: {{user: {user}, memory: {memory}}}\n".format(**limits[name])
    return _PROFILE.format(name=name, tier=2, more=more)
