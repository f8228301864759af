"""An address of the page that leads nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from catmem.server.errors import ServerError

if TYPE_CHECKING:
    from catmem.server.page.reading import Asked


def nowhere(asked: Asked) -> NoReturn:
    """Say so, as a page."""
    del asked
    raise ServerError(404, "this page does not exist", code="no_such_page", hint="The overview leads to all there are.")
