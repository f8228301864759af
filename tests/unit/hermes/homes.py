"""Scratch homes of Hermes Agent for tests: the default one, and some of named profiles."""

from pathlib import Path

from catmem.plugins.hermes.homes import Home, all_homes, home_at
from tests.golden.case import put

CONFIG = """\
# mine
model: small
_config_version: 33
memory:
  user_char_limit: 1375   # characters
  provider: ''
"""


def make_homes(folder: Path, *names: str, config: str | None = CONFIG) -> dict[str, Home]:
    """The homes of ``default`` and of these profiles, each with this configuration."""
    for path in (folder, *(folder / "profiles" / name for name in names)):
        (path / "memories").mkdir(parents=True)
        if config is not None:
            put(path / "config.yaml", config)
    return all_homes(home_at(folder))


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
