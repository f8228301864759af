"""Templates to HTML: everything escaped, and what a browser would act on written out, whatever the template says.

Light or dark is as a person chose it: remembered in a cookie, so that it works without JavaScript.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from catmem.names import category_name
from catmem.plugins.page import formats
from catmem.plugins.page.recent_changes import proposal_of
from catmem.server.requests import form_of, read_values, refuse_query
from catmem.text import counted, plural, printable
from catmem.workspace.changed_entries import did

_FOLDER = Path(__file__).parent


def rendered(template: str, context: Mapping[str, Any]) -> bytes:
    """A page as UTF-8."""
    html: str = environment().get_template(template).render(context)
    # Only names of files can hold what UTF-8 cannot; its escape says the same.
    return html.encode(errors="backslashreplace")


@cache
def environment() -> Environment:
    """The templates, and what they can use."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_finalized,
    )
    names = (
        "basis", "beginning", "changed_from", "day", "days", "moment", "number", "other_tags", "part",
        "reference", "words",
    )  # fmt: skip
    made.filters |= {name: getattr(formats, name) for name in names}
    made.filters |= {"body": formats.body_html, "category": category_name, "count": counted, "did": did}
    made.filters |= {"field": escape, "plural": plural}
    made.globals |= {"static": static_address, "bar_of": formats.bar_of, "proposal_of": proposal_of}
    # What a page for a caller who may write has besides; no other page has a form that writes.
    made.globals |= {"csrf": "", "back": "/", "done": (), "waiting": 0}
    # The files that a page shows, each with the digest of what it shows of it: it tells when one changes.
    made.globals |= {"watched": (), "stranger": False}
    return made


@cache
def static_address(name: str) -> str:
    """The address of a file of the page, with a digest of its content: a new version is fetched, an old one kept."""
    data = (_FOLDER / "static" / name).read_bytes()
    return f"/static/{name}?v={blake2b(data, digest_size=6).hexdigest()}"


def _finalized(value: object) -> object:
    """Whatever stands between braces, before it is escaped: no control characters, no marks that turn a text around."""
    if value is None:
        return ""
    return value if isinstance(value, Markup) else printable(str(value))


_COOKIE = "catmem_theme"
_THEMES = ("auto", "light", "dark")
"""``auto`` is what the system of the person says."""

_TAKES = form_of({name: {"type": "string", "maxLength": 65_536} for name in ("theme", "back")})
_YEAR = 365 * 24 * 3600


def theme_of(request: Request) -> str:
    """What was chosen; ``auto`` where nothing was, or nothing that is known."""
    said = request.cookies.get(_COOKIE)
    return said if said in _THEMES else "auto"


async def choose_theme(request: Request) -> Response:
    """Remember the choice, and go back to where it was made."""
    said = parse_qs((await request.body()).decode("utf-8", "replace"))
    read_values(_TAKES, [(name, value) for name, values in said.items() for value in values])
    refuse_query(request)
    theme, back = (said.get(name, [""])[0] for name in ("theme", "back"))
    answer = RedirectResponse(back if formats.is_own_address(back) else "/", status_code=303)
    if theme in _THEMES:
        answer.set_cookie(_COOKIE, theme, max_age=_YEAR, path="/", httponly=True, samesite="strict")
    return answer
