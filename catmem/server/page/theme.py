"""Light or dark, as a person chose it: remembered in a cookie, so that it works without JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.responses import RedirectResponse

from catmem.server.api.endpoint import Parameter, read_values
from catmem.server.page.addresses import is_own_address

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

COOKIE = "catmem_theme"
THEMES = ("auto", "light", "dark")
"""``auto`` is what the system of the person says."""

_TAKES = [Parameter(name, "", {"type": "string", "maxLength": 65_536}) for name in ("theme", "back")]
_YEAR = 365 * 24 * 3600


def theme_of(request: Request) -> str:
    """What was chosen; ``auto`` where nothing was, or nothing that is known."""
    said = request.cookies.get(COOKIE)
    return said if said in THEMES else "auto"


async def choose_theme(request: Request) -> Response:
    """Remember the choice, and go back to where it was made."""
    said = parse_qs((await request.body()).decode("utf-8", "replace"))
    read_values(_TAKES, [(name, value) for name, values in said.items() for value in values])
    read_values((), request.query_params.multi_items())
    theme, back = (said.get(name, [""])[0] for name in ("theme", "back"))
    answer = RedirectResponse(back if is_own_address(back) else "/", status_code=303)
    if theme in THEMES:
        answer.set_cookie(COOKIE, theme, max_age=_YEAR, path="/", httponly=True, samesite="strict")
    return answer
