"""What lint found before, kept by content in ``.catmem`` of the root, so that a second run is near free.

It is only a shortcut: without it, or with one that is not right, everything is worked out again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import catmem.policy.lint
from catmem.digest import content_digest
from catmem.service.derived import read_derived, write_derived

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMIT = 1 << 30
_RESULTS = "lint.json"
_FACTS = "lint-facts.json"


def tool_digest() -> str:
    """A digest of which catmem this is: name, size and time of every module, so that other rules give another one."""
    package = Path(catmem.policy.lint.__file__).parents[2]
    stamps = []
    for where, _, files in os.walk(package):
        for name in files:
            if name.endswith((".py", ".json")):
                found = os.stat(os.path.join(where, name))  # noqa: PTH116, PTH118 - a hundred files, at every start
                stamps.append([os.path.relpath(where, package), name, found.st_size, found.st_mtime_ns])
    return content_digest(sorted(stamps))


class LintCache:
    """Results by path, each with the digest of the bytes that it belongs to; all of them for one ``key``.

    Facts are as large as the files and only needed when one of them has changed, so they are in a file of their own.
    """

    def __init__(self, folder: Path | None, key: str) -> None:
        """``folder`` is ``.catmem`` of the root, ``None`` to keep nothing; ``key`` is what all results depend on."""
        self.root: list[Any] | None = None
        """What was found across files: a digest of all of them, and the diagnostics."""
        self.note: str | None = None
        """Why nothing could be kept, if so."""
        self._folder = folder
        self._key = key
        kept = self._read(_RESULTS)
        self._files: Mapping[str, Any] = kept.get("files", {})
        self._new: dict[str, Any] = {}
        self._old_root = self.root = kept.get("root")
        self._facts: Mapping[str, Any] | None = None
        self._new_facts: dict[str, Any] = {}

    def _read(self, name: str) -> dict[str, Any]:
        if self._folder is None:
            return {}
        found = read_derived(self._folder / name, _LIMIT)
        fits = isinstance(found, dict) and found.get("key") == self._key and isinstance(found.get("files"), dict)
        return found if fits else {}

    def get(self, name: str, digest: str) -> Any:  # noqa: ANN401 - JSON data
        """What was kept for a file with these bytes, as a list of one; ``None`` if nothing."""
        kept = self._files.get(name)
        if not isinstance(kept, list) or kept[:1] != [digest]:
            return None
        self._new[name] = kept
        return kept[1:]

    def put(self, name: str, digest: str, result: Any) -> None:  # noqa: ANN401 - JSON data
        """Keep a result."""
        self._new[name] = [digest, result]

    def get_facts(self, name: str, digest: str) -> Any:  # noqa: ANN401 - JSON data
        """The facts that were kept for a file with these bytes; ``None`` if none were."""
        if self._facts is None:
            self._facts = self._read(_FACTS).get("files", {})
        kept = self._facts.get(name)
        return kept[1] if isinstance(kept, list) and kept[:1] == [digest] else None

    def put_facts(self, name: str, digest: str, facts: Any) -> None:  # noqa: ANN401 - JSON data
        """Keep the facts of a file. Of those that are kept before ``write``, all are written, and no others."""
        self._new_facts[name] = [digest, facts]

    def write(self) -> None:
        """Write what this run looked at, if it is anything new. A root that cannot be written to gives a ``note``."""
        if self._folder is None:
            return
        try:
            if self._new_facts:
                self._write(_FACTS, {"key": self._key, "files": self._new_facts})
            if self._new.keys() != self._files.keys() or not self._is_old():
                self._write(_RESULTS, {"key": self._key, "root": self.root, "files": self._new})
        except OSError as error:
            self.note = f"what was found could not be kept for the next run: {error.strerror or error}"

    def _write(self, name: str, value: Mapping[str, Any]) -> None:
        assert self._folder is not None  # noqa: S101 - looked at by the caller
        self._folder.mkdir(exist_ok=True)
        write_derived(self._folder, name, value)

    def _is_old(self) -> bool:
        same = all(self._new[name] is self._files[name] for name in self._new)
        return same and self.root is self._old_root
