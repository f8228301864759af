"""The memory of a profile as it is at one moment: the profile and its files, each read once.

Text, warnings and manifest of a prompt are made of one such state of the disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catmem import clock
from catmem.errors import CatmemError
from catmem.names import TARGETS
from catmem.policy.access import visible
from catmem.policy.profile import one_reading
from catmem.service.backends import places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date
    from pathlib import Path

    from catmem.model.document import Document
    from catmem.policy.config import Config
    from catmem.policy.profile import Profile
    from catmem.policy.prompt import Prompt
    from catmem.policy.styles import Style
    from catmem.policy.threats import Scanner
    from catmem.service.listing import Notice
    from catmem.service.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ProfileMemory:
    """What a profile may be shown: the documents of ``owner`` by target, and where they are, for a person."""

    profile: Profile
    owner: Profile
    documents: Mapping[str, Document]
    paths: Mapping[str, Path]
    config: Config

    def prompt(
        self,
        *,
        as_of: date | None = None,
        style: Style | None = None,
        scanner: Scanner | None = None,
        counter: Callable[[str], int] = len,
    ) -> Prompt:
        """The prompt of the profile; see ``Workspace.prompt``."""
        from catmem.policy.prompt import build_prompt

        return build_prompt(
            self.documents,
            self.profile,
            as_of=as_of or clock.today(),
            config=self.config,
            style=style,
            scanner=scanner,
            counter=counter,
        )

    def warnings(self) -> tuple[Notice, ...]:
        """What a person should know who builds that prompt; see ``Workspace.warnings``."""
        from catmem.service.listing import notices

        found: list[Notice] = []
        for target in TARGETS:
            view = visible(self.documents[target], target, self.profile, self.config.taxonomy)
            found += notices(view, self.paths[target], self.profile, self.config)
        return tuple(found)


def read_memory(workspace: Workspace, name: str, *, source: str | None = None) -> ProfileMemory:
    """What the profile ``name`` may be shown of its own files, or of those of ``source``, as they are now.

    Raises ``ConfigError`` and ``UnreadableError``.
    """
    with one_reading():
        profile = workspace.profile(name)
        owner = workspace.profile(source) if source is not None else profile
        paths = places(workspace.config, owner)
        documents = {target: read_document(workspace, owner, target, paths[target]) for target in TARGETS}
        return ProfileMemory(profile, owner, documents, paths, workspace.config)


def read_document(workspace: Workspace, profile: Profile, target: str, path: Path) -> Document:
    """The document of a profile's file at ``path``; an empty one for a missing file. Raises ``UnreadableError``."""
    return parsed_at(workspace, workspace.bytes_of(profile, target, path), path)


def parsed_at(workspace: Workspace, data: bytes, path: Path) -> Document:
    """The document in some bytes; what is wrong with them says the ``path``."""
    try:
        return workspace.parse(data)
    except CatmemError as error:
        error.path = str(path)
        raise
