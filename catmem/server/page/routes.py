"""Which address shows what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from catmem.server.page.changes.entries import add, edit, expire, remove, undo, verify
from catmem.server.page.reading import reading
from catmem.server.page.settling import branches, past
from catmem.server.page.settling import seeds as seeding
from catmem.server.page.theme import choose_theme
from catmem.server.page.views.access import access, explained
from catmem.server.page.views.branches import all_branches, one_branch
from catmem.server.page.views.entry import add_again, edit_again, edit_form
from catmem.server.page.views.files import whole_file
from catmem.server.page.views.history import history, revision
from catmem.server.page.views.lint import lint
from catmem.server.page.views.nowhere import nowhere
from catmem.server.page.views.overview import overview
from catmem.server.page.views.profiles import profile_prompt
from catmem.server.page.views.queue import queue
from catmem.server.page.views.search import search
from catmem.server.page.views.seeds import one_seed, seeds, seeds_of
from catmem.server.page.writing import writing

if TYPE_CHECKING:
    from os import PathLike, stat_result

    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import Scope

STATIC = Path(__file__).parent / "static"

VIEWS = {
    "/": reading(overview),
    "/page/queue": reading(queue, "profile", "state", "entry", "page"),
    "/page/profiles/{name}": reading(profile_prompt),
    "/page/files/{name}/{target}": reading(whole_file, "category", "entry", "page"),
    "/page/edit/{name}/{target}": reading(edit_form, "entry", "where", "next", "back"),
    "/page/history/{name}/{target}": reading(history, "page"),
    "/page/history/{name}/{target}/{revision}": reading(revision, "since", "to"),
    "/page/branches": reading(all_branches),
    "/page/branches/{name}/{target}/{branch}": reading(one_branch, "page"),
    "/page/seeds": reading(seeds),
    "/page/seeds/{name}": reading(one_seed, "resolve"),
    "/page/seeds/from/{source}": reading(seeds_of, "resolve"),
    "/page/lint": reading(lint, "severity", "rule", "page"),
    "/page/access": reading(access, "target"),
    "/page/access/{name}/{category}": reading(explained),
    "/page/search": reading(search, "q", "profile", "state"),
}
"""What is shown, by address, and what its query may say."""

_ENTRY = ("entry", "where", "next")
_DRAFT = ("content", "category", "new_category", "expires", "domain")
_DECISIONS = ("result", "choice-*", "words-*")

CHANGES = {
    "/page/change/verify": writing(verify, *_ENTRY, says="Verify it"),
    "/page/change/expire": writing(expire, *_ENTRY, says="Let it expire"),
    "/page/change/remove": writing(remove, *_ENTRY, says="Remove it"),
    "/page/change/edit": writing(edit, *_ENTRY, *_DRAFT, "verified", again=edit_again),
    "/page/change/add": writing(add, *_DRAFT, again=add_again),
    "/page/change/undo": writing(undo),
    "/page/branches/{name}/{target}/{branch}/preview": writing(branches.preview, *_DECISIONS, again=branches.again),
    "/page/branches/{name}/{target}/{branch}/merge": writing(branches.merge, *_DECISIONS, again=branches.again),
    "/page/branches/{name}/{target}/{branch}/drop": writing(branches.drop, again=branches.again),
    "/page/change/seed": writing(seeding.apply, "source", "only", "resolve", "file-*", again=seeding.again),
    "/page/history/{name}/{target}/now/adopt": writing(past.adopt, again=past.again),
    "/page/history/{name}/{target}/{revision}/restore": writing(past.restore, again=past.again),
}
"""What a form changes, by the address that it is sent to, and the fields that it may have."""

_YEAR = 365 * 24 * 3600


class Kept(StaticFiles):
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
        Route("/page/theme", choose_theme, methods=["POST"]),
        Mount("/static", Kept(directory=STATIC), name="static"),
        Route("/page/{rest:path}", reading(nowhere), methods=["GET"]),
    ]
