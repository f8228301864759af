"""The routes of the page: what is shown at which address, and what each form changes."""

from __future__ import annotations

from functools import partial
from os import PathLike, stat_result
from pathlib import Path
from typing import NoReturn

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from catmem.errors import RequestError
from catmem.plugins.page import decisions_page, entries_page, history_page, page_view, profiles_page

view, change = page_view.reading, page_view.writing
error_page = page_view.error_page
STATIC = Path(__file__).parent / "static"

VIEWS = {
    "/": view(profiles_page.overview),
    "/page/queue": view(decisions_page.queue, "profile", "state", "entry", "page"),
    "/proposals": view(decisions_page.all_proposals, "profile", "category", "page"),
    "/proposals/{id}": view(decisions_page.one_proposal),
    "/page/profiles/{name}": view(profiles_page.profile_prompt),
    "/page/files/{name}/{target}": view(profiles_page.whole_file, "category", "entry", "page"),
    "/page/sort/{name}/{target}": view(decisions_page.unsorted, "page"),
    "/page/tidy": view(decisions_page.tidy, "page"),
    "/page/promote": view(decisions_page.promote, "page"),
    "/page/edit/{name}/{target}": view(entries_page.edit_form, "entry", "where", "next", "back"),
    "/page/history/{name}/{target}": view(history_page.history, "page"),
    "/page/history/{name}/{target}/{revision}": view(history_page.revision, "since", "to"),
    "/page/branches": view(history_page.all_branches),
    "/page/branches/{name}/{target}/{branch}": view(history_page.one_branch),
    "/page/seeds": view(profiles_page.seeds),
    "/page/seeds/{name}": view(profiles_page.one_seed, "resolve"),
    "/page/seeds/from/{source}": view(profiles_page.seeds_of, "resolve"),
    "/page/lint": view(profiles_page.lint, "severity", "rule", "page"),
    "/page/access": view(profiles_page.access, "target"),
    "/page/access/{name}/{category}": view(profiles_page.explained),
    "/page/search": view(profiles_page.search, "q", "profile", "state"),
}
"""What is shown, by address, and what its query may say."""

_ENTRY = ("entry", "where", "next")
_DRAFT = ("content", "category", "new_category", "expires", "domain")
_MOVE = ("category", "new_category")
_TICKED = f"{page_view.TICK}*"
_DECISIONS = ("choice-*", "words-*")
_BRANCH = "/page/branches/{name}/{target}/{branch}"
_HISTORY = "/page/history/{name}/{target}"

CHANGES = {
    "/page/change/verify": change(partial(entries_page.answer, "verify"), *_ENTRY, says="Verify it"),
    "/page/change/expire": change(partial(entries_page.answer, "expire"), *_ENTRY, says="Let it expire"),
    "/page/change/remove": change(partial(entries_page.answer, "remove"), *_ENTRY, says="Remove it"),
    "/page/change/edit": change(entries_page.edit, *_ENTRY, *_DRAFT, "verified", says="Save"),
    "/page/change/add": change(entries_page.add, *_DRAFT, says="Add it"),
    "/page/change/undo": change(entries_page.undo),
    "/page/change/sort": change(decisions_page.sort, "id-*", "take-*", "to-*", "other-*", "new-*", says="Sort ticked"),
    "/page/change/tidy": change(decisions_page.settle, f"{decisions_page.PAIR}*", says="Tidy as chosen"),
    "/page/change/promote": change(decisions_page.propose, f"{decisions_page.TAKE}*", says="Propose ticked"),
    **{
        f"/page/change/ticked/{name}": change(
            partial(entries_page.answer_ticked, name), _TICKED, *_MOVE * (name == "move"), says=f"{says} what is ticked"
        )
        for name, says in entries_page.SAYS.items()
    },
    "/page/change/proposals/approve": change(decisions_page.approve, _TICKED, "content", "reason", says="Approve"),
    "/page/change/proposals/reject": change(decisions_page.reject, _TICKED, "content", "reason", says="Reject"),
    f"{_BRANCH}/preview": change(history_page.preview_merge, *_DECISIONS, again=history_page.branch_again),
    f"{_BRANCH}/merge": change(history_page.merge_branch, *_DECISIONS, again=history_page.branch_again),
    f"{_BRANCH}/drop": change(history_page.drop_branch, again=history_page.branch_again),
    "/page/change/seed": change(
        profiles_page.apply_seed, "source", "only", "resolve", "file-*", says="Seed what was ticked"
    ),
    f"{_HISTORY}/now/adopt": change(history_page.adopt, says="Take it over"),
    f"{_HISTORY}/{{revision}}/restore": change(history_page.restore, says="Restore it"),
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
    return [
        *(Route(path, endpoint, methods=["GET"]) for path, endpoint in VIEWS.items()),
        *(Route(path, endpoint, methods=["POST"]) for path, endpoint in CHANGES.items()),
        Route("/page/theme", page_view.choose_theme, methods=["POST"]),
        Mount("/static", CachedFiles(directory=STATIC), name="static"),
        Route("/page/{rest:path}", view(_nowhere), methods=["GET"]),
    ]


def _nowhere(asked: page_view.PageRequest) -> NoReturn:
    del asked
    raise RequestError("this page does not exist", code="no_such_page", hint="The overview leads to all pages.")
