"""Templates to HTML, and how values look in them: everything escaped, and what a browser would act on written out.

Light or dark is as a person chose it: remembered in a cookie, so that it works without JavaScript.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import SequenceMatcher
from functools import cache, partial
from hashlib import blake2b
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from mistune import HTMLRenderer, create_markdown
from starlette.requests import Request

from catmem.clock import read_date
from catmem.model.document import Document, TagValue
from catmem.names import UNCATEGORIZED, UNCATEGORIZED_TITLE, category_name
from catmem.staleness.freshness import Freshness
from catmem.store.contract import DECISION, PROPOSAL, Revision
from catmem.text import counted, plural, printable, unified_diff
from catmem.workspace.history import did
from catmem.workspace.workspace import Workspace

_FOLDER = Path(__file__).parent


def rendered(template: str, context: Mapping[str, Any]) -> bytes:
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
    looks = (basis, beginning, changed_from, day, days, moment, other_tags, reference, words)
    made.filters |= {each.__name__: each for each in looks}
    made.filters |= {"number": "{:,}".format, "part": partial(quote, safe="")}
    made.filters |= {"body": body_html, "category": category_name, "count": counted, "did": did}
    made.filters |= {"field": escape, "plural": plural}
    made.globals |= {"static": static_address, "bar_of": bar_of, "proposal_of": proposal_of}
    # What a page for a caller who may write has besides; no other page has a form that writes.
    made.globals |= {"csrf": "", "back": "/", "done": (), "waiting": 0}
    # The files that a page shows, each with the digest of what it shows of it: it tells when one changes.
    made.globals |= {"watched": ()}
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


THEME = "catmem_theme"
THEMES = ("auto", "light", "dark")
"""``auto`` is what the system of the person says."""


def theme_of(request: Request) -> str:
    """What was chosen; ``auto`` where nothing was, or nothing that is known."""
    said = request.cookies.get(THEME)
    return said if said in THEMES else "auto"


# --- how values look --------------------------------------------------------------------------------------------------

BODY = 4_000
"""Characters of a body that a page shows; it says how many there are more."""

_MOST_HTML = 60_000
"""Characters of HTML that these may become; what would become more is plain text."""

DIFF_LINES = 600
"""Lines of one diff that a page shows."""

_HEADING = re.compile(r"<(/?)h[1-6]>")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST_COMPARED = 2_000
"""Characters of a line in which the words that changed are looked for."""
_ALIKE = 0.4
_DATE = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b")


def body_html(text: str) -> Markup:
    """A body as HTML: Markdown, of which nothing is executed or loaded, without headings, which are the page's."""
    shown = printable(text[:BODY])
    html = str(_markdown(shown))
    if len(html) > _MOST_HTML:  # an address that is said once may stand behind a thousand links
        html = f"<pre>{escape(shown)}</pre>"
    more = len(text) - BODY
    if more > 0:
        html += f'<p class="more">… and {more:,} characters more</p>'
    return Markup(_HEADING.sub(r"<\1p>", html))  # noqa: S704 - made of escaped text


class _HtmlRenderer(HTMLRenderer):
    """mistune's own, but that no image is loaded: fetching one would tell its owner who reads this memory."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        del url, title
        return f"<em>{text}</em>"  # rendered already, so it is escaped


_markdown = create_markdown(renderer=_HtmlRenderer(escape=True))


def text_of(data: bytes) -> str:
    """Bytes for a person to look at; what is no text is shown as escapes."""
    return data.decode(errors="backslashreplace")


def words(value: str) -> str:
    """The name of a state or an operation as words."""
    return value.replace("_", " ").replace("-", " ")


def basis(freshness: Freshness) -> str:
    """Where the date of a fact comes from, as words that stand between its state and that date."""
    # No fact is judged by a day on which it will expire.
    said = {"verified_date": "verified", "expires": "on"}
    return said.get(freshness.basis or "", words(freshness.basis or ""))


def other_tags(
    tags: Mapping[str, TagValue], freshness: Freshness | None, ahead: Sequence[tuple[str, date]] = ()
) -> dict[str, TagValue]:
    """The tags of a fact without those whose date stands beside its state: by ``freshness``, and ``ahead`` of today."""
    shown = dict(ahead)
    if freshness is not None and freshness.basis is not None and freshness.day is not None:
        shown.setdefault(freshness.basis, freshness.day)
    return {key: value for key, value in tags.items() if read_date(value) is None or read_date(value) != shown.get(key)}


def day(value: date | None) -> str:
    """``21 Nov 2026``; nothing for no day."""
    return "" if value is None else f"{value.day} {value:%b} {value.year}"


def days(text: str) -> str:
    """A sentence with its dates as ``day`` has them."""
    return _DATE.sub(lambda found: day(read_date(found[0])) or found[0], text)


def moment(timestamp: str) -> str:
    """``21 Nov 2026, 14:05 UTC``; what is no moment stays as it is."""
    try:
        at = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    return f"{at.day} {at:%b} {at.year}, {at:%H:%M} UTC"


def reference(entry_id: str) -> str:
    """The id of an entry's place on a page."""
    return f"e-{re.sub(r'[^0-9a-z]', '', entry_id.lower())[-16:]}"


_BEGINNING = 80


def beginning(body: str, most: int = _BEGINNING) -> str:
    """The first line of a body, cut off behind ``most`` characters."""
    line = body.strip().partition("\n")[0]
    return line if len(line) <= most else f"{line[:most].rstrip()}…"


class Bar(NamedTuple):
    """How full something is. ``filled`` is a width, at most ``100%``; ``level`` is ``calm``, ``near`` or ``over``."""

    name: str
    used: int
    of: int
    percent: int
    filled: str
    level: str


_NEAR = 85
_FULL = 100


def bar_of(name: str, used: int, of: int) -> Bar:
    percent = round(100 * used / of) if of else (100 if used else 0)
    level = "over" if used > of else "near" if percent >= _NEAR else "calm"
    return Bar(name, used, of, percent, f"{min(percent, _FULL)}%", level)


def proposal_of(revision: Revision) -> str | None:
    """The id of the proposal that a revision is, or that it ended."""
    note = revision.note
    found = note[DECISION]["proposal"] if DECISION in note else note.get(PROPOSAL, {}).get("id")
    return None if found is None else str(found)


# --- addresses -------------------------------------------------------------------------------------------------------

DID = "did"
"""What the query of a page calls the revision that a form just wrote."""

_LONGEST_ADDRESS = 2_000


def own_address(address: str) -> str:
    """An address if it is a page of ours, without what was done last and without a place on it; else the overview."""
    return with_query(address).partition("#")[0] if is_own_address(address) else "/"


def is_own_address(address: str) -> bool:
    """Whether an address is a place of this page and nowhere else."""
    if not (address.startswith("/") and address.isascii() and address.isprintable()):
        return False
    if len(address) > _LONGEST_ADDRESS or address.startswith("//") or "\\" in address:
        return False
    parts = urlsplit(address)
    return not (parts.scheme or parts.netloc)


def with_query(address: str, **said: str | None) -> str:
    """An address whose query also says this, in the place of what it said of ``did`` and the same names."""
    parts = urlsplit(address)
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in {DID, *said}]
    added = [(name, value) for name, value in said.items() if value is not None]
    return urlunsplit(parts._replace(query=urlencode([*kept, *added], safe="/@:")))


# --- diffs -----------------------------------------------------------------------------------------------------------


class DiffLine(NamedTuple):
    """One line of a diff with its numbers on either side; ``parts`` are texts, each changed or not."""

    kind: str
    old: int | None
    new: int | None
    parts: tuple[tuple[str, bool], ...]


class Diff(NamedTuple):
    """What differs between two texts. ``hidden`` lines are not shown."""

    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    hidden: int


def diff_of(before: str, after: str, most: int = DIFF_LINES) -> Diff:
    """The lines in which two texts differ, with those around them; of changed lines also the words."""
    # Where only one of them ends in a newline, that is a difference.
    ends = before.endswith("\n") != after.endswith("\n")
    lines = list(_numbered(unified_diff(_lines(before, ends=ends), _lines(after, ends=ends), "a", "b")))
    added, removed = (sum(line.kind == kind for line in lines) for kind in ("new", "old"))
    return Diff(tuple(_with_words(lines[:most])), added, removed, max(0, len(lines) - most))


def _lines(text: str, *, ends: bool) -> list[str]:
    # Split at LF alone, as the format does. A carriage return is shown, since it may be all that changes.
    *whole, last = printable(text.replace("\r\n", "\\r\n")).split("\n")
    return [f"{line}\n" for line in whole] + ([last + _NO_NEWLINE * ends + "\n"] if last else [])


_NO_NEWLINE = " (no newline at the end)"
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_KINDS = {"-": "old", "+": "new", " ": "same"}


def _numbered(unified: Iterator[str]) -> Iterator[DiffLine]:
    old = new = 0
    for index, line in enumerate(unified):
        if index < 2:  # noqa: PLR2004 - the names of the two texts
            continue
        hunk = _HUNK.match(line)
        if hunk and line[0] == "@":
            old, new = int(hunk[1]), int(hunk[2])
            if max(old, new) > 1:
                yield DiffLine("gap", None, None, ())
            continue
        kind, text = _KINDS[line[0]], line[1:].rstrip("\n")
        yield DiffLine(kind, old if kind != "new" else None, new if kind != "old" else None, ((text, False),))
        old, new = old + (kind != "new"), new + (kind != "old")


def _with_words(lines: Sequence[DiffLine]) -> Iterator[DiffLine]:
    """The lines with the words marked that changed, where lines were changed one for one."""
    runs = [list(run) for _, run in groupby(lines, key=lambda line: line.kind)]
    for olds, news in pairwise(runs):
        if (olds[0].kind, news[0].kind, len(olds)) == ("old", "new", len(news)):
            for index, (old, new) in enumerate(zip(olds, news, strict=True)):
                ours, theirs = _marked(old.parts[0][0], new.parts[0][0])
                olds[index], news[index] = old._replace(parts=ours), new._replace(parts=theirs)
    return (line for run in runs for line in run)


_DiffParts = tuple[tuple[str, bool], ...]


def _marked(old: str, new: str) -> tuple[_DiffParts, _DiffParts]:
    plain = ((old, False),), ((new, False),)
    if len(old) + len(new) > _LONGEST_COMPARED:
        return plain
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return plain
    ours: list[tuple[str, bool]] = []
    theirs: list[tuple[str, bool]] = []
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        for parts, piece in ((ours, before[start:end]), (theirs, after[other_start:other_end])):
            if piece:
                parts.append(("".join(piece), tag != "equal"))
    return tuple(ours), tuple(theirs)


def changed_from(text: str, old: str) -> _DiffParts:
    """A text in parts, each new since ``old`` or not; nothing where too much of it is, or it is too long to compare."""
    parts = _marked(old, text)[1]
    return parts if any(changed for _, changed in parts) else ()


# --- pages of long lists ---------------------------------------------------------------------------------------------


class Paged(NamedTuple):
    """One page of a long list; ``first`` and ``last`` count from 1."""

    rows: Sequence[Any]
    page: int
    pages: int
    total: int
    first: int
    last: int


def paged(rows: Sequence[Any], page: int, size: int) -> Paged:
    """The page ``page`` of some rows, from 1, each of ``size``; the last for one behind it."""
    pages = max(1, -(-len(rows) // size))
    page = min(page, pages)
    start, end = (page - 1) * size, min(page * size, len(rows))
    return Paged(rows[start:end], page, pages, len(rows), start + 1 if rows else 0, end)


def title_of(workspace: Workspace, document: Document, category: str) -> str:
    """What a category is called: as declared, else as its section is."""
    declared = workspace.config.taxonomy.categories.get(category)
    if declared is not None and declared.title:
        return declared.title
    if category == UNCATEGORIZED:
        return UNCATEGORIZED_TITLE
    return next((section.title for section in document.sections if section.category == category), category)
