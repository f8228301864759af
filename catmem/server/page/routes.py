"""Which address shows what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from catmem.server.page.changes.entries import add, edit, expire, remove, verify
from catmem.server.page.changes.undo import undo
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
    "/": overview,
    "/page/queue": queue,
    "/page/profiles/{name}": profile_prompt,
    "/page/files/{name}/{target}": whole_file,
    "/page/edit/{name}/{target}": edit_form,
    "/page/history/{name}/{target}": history,
    "/page/history/{name}/{target}/{revision}": revision,
    "/page/branches": all_branches,
    "/page/branches/{name}/{target}/{branch}": one_branch,
    "/page/seeds": seeds,
    "/page/seeds/{name}": one_seed,
    "/page/seeds/from/{source}": seeds_of,
    "/page/lint": lint,
    "/page/access": access,
    "/page/access/{name}/{category}": explained,
    "/page/search": search,
}
"""What is shown, by address."""


CHANGES = {
    "/page/change/verify": writing(verify, says="Verify it"),
    "/page/change/expire": writing(expire, says="Let it expire"),
    "/page/change/remove": writing(remove, says="Remove it"),
    "/page/change/edit": writing(edit, again=edit_again),
    "/page/change/add": writing(add, again=add_again),
    "/page/change/undo": writing(undo),
    "/page/branches/{name}/{target}/{branch}/preview": writing(branches.preview, again=branches.again),
    "/page/branches/{name}/{target}/{branch}/merge": writing(branches.merge, again=branches.again),
    "/page/branches/{name}/{target}/{branch}/drop": writing(branches.drop, again=branches.again),
    "/page/change/seed": writing(seeding.apply, again=seeding.again),
    "/page/history/{name}/{target}/now/adopt": writing(past.adopt, again=past.again),
    "/page/history/{name}/{target}/{revision}/restore": writing(past.restore, again=past.again),
}
"""What a form changes, by the address that it is sent to."""

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
        *(Route(path, reading(view), methods=["GET"]) for path, view in VIEWS.items()),
        *(Route(path, endpoint, methods=["POST"]) for path, endpoint in CHANGES.items()),
        Route("/page/theme", choose_theme, methods=["POST"]),
        Mount("/static", Kept(directory=STATIC), name="static"),
        Route("/page/{rest:path}", reading(nowhere), methods=["GET"]),
    ]
