"""The HTTP API: what each path gives and takes stands in ``endpoints``, and the OpenAPI document is made from that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.server.api.serving import routes_of

if TYPE_CHECKING:
    from starlette.routing import BaseRoute


def routes() -> list[BaseRoute]:
    """The routes of the API, and that of its OpenAPI document."""
    from catmem.server.api.endpoints import ENDPOINTS
    from catmem.server.openapi import route

    return [*routes_of(ENDPOINTS), route()]
