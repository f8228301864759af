"""What is told of a name that is not there: nothing of other names to an agent, and nothing that is not known."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from catmem.errors import UnknownNameError, UnreadableError
from catmem.policy.profile import profile_names
from catmem.policy.schema import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.service.workspace import Workspace


@contextmanager
def discreet(workspace: Workspace, actor: str | None) -> Iterator[None]:
    """What is told of names that are not there, where there may be no names at all, or not that of the one who asks.

    A name that is not found is no word of the folder of profiles, if that is away: raises ``UnreadableError``. And a
    profile that was taken out of the root hears of itself what it hears of others, and not who they are.
    """
    try:
        yield
    except UnknownNameError:
        config = workspace.config
        if config.path is not None and not config.profiles_dir.is_dir():
            raise UnreadableError(
                "the folder of profiles is not there",
                code="missing",
                path=config.profiles_dir,
                hint="Bring it back, or set 'profiles' in catmem.yaml to where it is.",
            ) from None
        if actor is not None and actor not in profile_names(config.profiles_dir):
            raise UnknownNameError(
                f"there is no profile {shown(actor)}",
                hint="It is the one that you act as. Whoever runs this memory can bring it back.",
            ) from None
        raise
