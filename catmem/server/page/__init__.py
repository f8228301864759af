"""The page: what a person sees of the memory, rendered here, readable without JavaScript.

It is for people: a caller that is bound to a profile is refused, whatever it asks for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from catmem.errors import RequestError
from catmem.server.page import (
    branches,
    entries,
    files,
    history,
    lint,
    profiles,
    queue,
    reading,
    rendering,
    search,
    seeds,
    writing,
)

if TYPE_CHECKING:
    from os import PathLike, stat_result

    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import Scope

view, change = reading.reading, writing.writing
STATIC = Path(__file__).parent / "static"

VIEWS = {
    "/": view(profiles.overview),
    "/page/queue": view(queue.queue, "profile", "state", "entry", "page"),
    "/page/profiles/{name}": view(profiles.profile_prompt),
    "/page/files/{name}/{target}": view(files.whole_file, "category", "entry", "page"),
    "/page/edit/{name}/{target}": view(entries.edit_form, "entry", "where", "next", "back"),
    "/page/history/{name}/{target}": view(history.history, "page"),
    "/page/history/{name}/{target}/{revision}": view(history.revision, "since", "to"),
    "/page/branches": view(branches.all_branches),
    "/page/branches/{name}/{target}/{branch}": view(branches.one_branch, "page"),
    "/page/seeds": view(seeds.seeds),
    "/page/seeds/{name}": view(seeds.one_seed, "resolve"),
    "/page/seeds/from/{source}": view(seeds.seeds_of, "resolve"),
    "/page/lint": view(lint.lint, "severity", "rule", "page"),
    "/page/access": view(profiles.access, "target"),
    "/page/access/{name}/{category}": view(profiles.explained),
    "/page/search": view(search.search, "q", "profile", "state"),
}
"""What is shown, by address, and what its query may say."""

_ENTRY = ("entry", "where", "next")
_DRAFT = ("content", "category", "new_category", "expires", "domain")
_DECISIONS = ("result", "choice-*", "words-*")

CHANGES = {
    "/page/change/verify": change(entries.verify, *_ENTRY, says="Verify it"),
    "/page/change/expire": change(entries.expire, *_ENTRY, says="Let it expire"),
    "/page/change/remove": change(entries.remove, *_ENTRY, says="Remove it"),
    "/page/change/edit": change(entries.edit, *_ENTRY, *_DRAFT, "verified", again=entries.edit_again),
    "/page/change/add": change(entries.add, *_DRAFT, again=entries.add_again),
    "/page/change/undo": change(entries.undo),
    "/page/branches/{name}/{target}/{branch}/preview": change(branches.preview, *_DECISIONS, again=branches.again),
    "/page/branches/{name}/{target}/{branch}/merge": change(branches.merge, *_DECISIONS, again=branches.again),
    "/page/branches/{name}/{target}/{branch}/drop": change(branches.drop, again=branches.again),
    "/page/change/seed": change(seeds.apply, "source", "only", "resolve", "file-*", again=seeds.again),
    "/page/history/{name}/{target}/now/adopt": change(history.adopt, again=history.again),
    "/page/history/{name}/{target}/{revision}/restore": change(history.restore, again=history.again),
}
"""What a form changes, by the address that it is sent to, and the fields that it may have."""

_YEAR = 365 * 24 * 3600


class CachedFiles(StaticFiles):
    """Files that a browser keeps: an address with a digest (``?v=…``) never has another content."""

    def file_response(
        self, full_path: str | PathLike[str], stat_result: stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """The file, and for how long it may be kept: without a digest it is asked for again each time."""
        answer = super().file_response(full_path, stat_result, scope, status_code)
        versioned = scope["query_string"].startswith(b"v=")
        answer.headers["Cache-Control"] = f"public, max-age={_YEAR}, immutable" if versioned else "no-cache"
        return answer


def routes() -> list[BaseRoute]:
    """The routes of the page."""
    return [
        *(Route(path, endpoint, methods=["GET"]) for path, endpoint in VIEWS.items()),
        *(Route(path, endpoint, methods=["POST"]) for path, endpoint in CHANGES.items()),
        Route("/page/theme", rendering.choose_theme, methods=["POST"]),
        Mount("/static", CachedFiles(directory=STATIC), name="static"),
        Route("/page/{rest:path}", view(_nowhere), methods=["GET"]),
    ]


def _nowhere(asked: reading.PageRequest) -> NoReturn:
    del asked
    raise RequestError(
        404, "this page does not exist", code="no_such_page", hint="The overview leads to all there are."
    )
