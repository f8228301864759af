"""Templates to HTML: everything escaped, and what a browser would act on written out, whatever the template says."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from catmem.server.page import shown
from catmem.text import counted, plural, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    made.filters |= {
        "basis": shown.basis,
        "body": shown.body_html,
        "category": shown.category,
        "changed_from": shown.changed_from,
        "count": counted,
        "day": shown.day,
        "days": shown.days,
        "field": _field,
        "moment": shown.moment,
        "number": shown.number,
        "part": shown.part,
        "plural": plural,
        "reference": shown.reference,
        "untold": shown.untold,
        "words": shown.words,
    }
    made.globals |= {"static": static_address, "bar_of": shown.bar_of}
    # What a page for somebody who may write has besides; no other page has a form that writes.
    made.globals |= {"csrf": "", "back": "/", "done": None}
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


def _field(value: str) -> Markup:
    """A text exactly as it is, for a form field that gives it back."""
    return escape(value)
