"""The document that a write begins with: bytes that no tool wrote are refused, and not rewritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import DriftError, NotUtf8Error, TooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.model.document import Document


def legible(parse: Callable[[bytes], Document], entity: str, data: bytes) -> Document:
    """The document in an entity's bytes. Raises ``DriftError`` (``not_utf8``, ``too_large``)."""
    try:
        return parse(data)
    except (NotUtf8Error, TooLargeError) as error:
        raise DriftError(
            f"{entity} holds what no tool wrote: {error.message}",
            code="too_large" if isinstance(error, TooLargeError) else "not_utf8",
            hint=f"Nothing was written to it. Mend it by hand, or see what catmem repair {entity} would do.",
        ) from error
