"""The HTTP requests: to the API and the page of ``catmem serve``, good ones and bad ones."""

import http.client
import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.same_as.stage import Stage, Story

CALLERS = {
    "neo": "token new neo",
    "boss": "token new orchestrator",
    "anna": "token new anna --person",
    "reader": "token new neo --scope read",
}
"""Who calls where tokens are asked for; ``nobody`` has none, and ``thief`` one that is not good."""
QUIET_HEADERS = frozenset({"date", "server", "content-length"})
"""Headers that say nothing of their own: the length is that of the body, which has ids in it."""
SECONDS = 60
LARGE = 3_000_000

API = """
nobody GET /healthz
nobody GET /readyz
nobody GET /healthz?x=1
nobody GET /mem/head?entity_id=neo/user
thief GET /mem/head?entity_id=neo/user
neo GET /mem/head?entity_id=neo/user
neo GET /mem/head?entity_id=neo
neo GET /mem/head?entity_id=trinity/user
neo GET /mem/head?entity_id=nobody/user
neo GET /mem/head?entity_id=Not%20a%20name
neo GET /mem/head
neo GET /mem/head?entty_id=neo
neo GET /mem/head?entity_id=neo&entity_id=neo
neo HEAD /mem/head?entity_id=neo/user
neo PUT /mem/head?entity_id=neo/user {}
neo DELETE /mem/write
neo OPTIONS /mem/write
neo GET /nowhere
neo GET /mem/read?entity_id=neo/user
neo GET /mem/read?entity_id=neo/user&category=rules&offset=1&limit=1
neo GET /mem/read?entity_id=neo/user&limit=0
neo GET /mem/read?entity_id=neo/user&limit=many
neo GET /mem/read?entity_id=neo/user&as_of=2026-02-30
neo GET /mem/read?entity_id=neo/user&as_of=2020-01-01
neo GET /mem/read?entity_id=neo/user&revision=1
boss GET /mem/read?entity_id=neo/user&revision=1
boss GET /mem/read?entity_id=neo/user&revision=99
boss GET /mem/read?entity_id=orchestrator/user
anna GET /mem/read?entity_id=neo/user
anna GET /mem/read?entity_id=project:alpha
reader GET /mem/read?entity_id=neo/user
reader POST /mem/write {"entity_id": "neo/user", "content": [{"action": "add", "content": "No.", "category": "rules"}], "prev_rev": 1}
neo GET /mem/log?entity_id=neo/user
neo GET /mem/log?entity_id=neo/user&limit=1
boss GET /mem/log?entity_id=neo/user
anna GET /mem/log?entity_id=neo/user&limit=2
anna GET /mem/log?entity_id=neo/user&limit=0
neo GET /mem/branches
boss GET /mem/branches
boss GET /mem/branches?entity_id=neo/user
anna GET /mem/branches?entity_id=nobody/user
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "add", "content": "Over HTTP.", "category": "rules"}], "prev_rev": 0}
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "add", "content": "Over HTTP.", "category": "rules"}], "prev_rev": 3, "op_id": "neo:1"}
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "add", "content": "Over HTTP.", "category": "rules"}], "prev_rev": 3, "op_id": "neo:1"}
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "add", "content": "Another.", "category": "rules"}], "prev_rev": 3, "op_id": "neo:1"}
neo GET /mem/read?entity_id=neo/user
neo POST /mem/write [If-Match: {etag}] {"entity_id": "neo/user", "content": [{"action": "add", "content": "With a tag.", "category": "rules"}]}
neo POST /mem/write [If-Match: {etag}] {"op_id": "neo:2", "entity_id": "neo/user", "content": [{"action": "remove", "old_text": "With a tag"}]}
neo POST /mem/write [If-Match: {etag}] {"op_id": "neo:2", "entity_id": "neo/user", "content": [{"action": "remove", "old_text": "With a tag"}]}
neo POST /mem/write [If-Match: "1"] {"entity_id": "neo/user", "content": [{"action": "add", "content": "Stale.", "category": "rules"}]}
neo POST /mem/write [If-Match: *] {"entity_id": "neo/user", "content": [{"action": "add", "content": "Any.", "category": "rules"}]}
neo POST /mem/write [If-Match: nonsense] {"entity_id": "neo/user", "content": []}
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "replace", "old_text": "due on the 20th", "content": "Due on the 23rd."}], "prev_rev": 4, "reason": "A letter."}
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "replace", "old_text": "15th", "content": "Due on the 23rd."}], "prev_rev": 4, "reason": "A letter."}
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "add", "content": "No.", "category": "vault"}], "prev_rev": 4}
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "explode"}], "prev_rev": 4}
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "add", "contnet": "x"}], "prev_rev": 4}
neo POST /mem/write {"entity_id": "neo/user", "content": "## Rules\\nA whole text.\\n", "prev_rev": 4}
neo POST /mem/write {"entity_id": "trinity/user", "content": [{"action": "add", "content": "x", "category": "rules"}], "prev_rev": 0}
neo POST /mem/write {"entity_id": "project:alpha", "content": {"vendor": "Acme"}, "parents": []}
neo POST /mem/write {"entity_id": "project:alpha", "content": {"vendor": "Bolt"}, "parents": [1]}
neo POST /mem/write?confirm=true {"entity_id": "project:alpha", "content": {"vendor": "Bolt"}, "parents": [1]}
neo POST /mem/write?confirm=perhaps {"entity_id": "project:alpha", "content": {}, "parents": [2]}
neo POST /mem/write {"entity_id": "neo/user"
neo POST /mem/write []
neo POST /mem/write {"entity_id": 5}
neo POST /mem/write {"entity_id": "neo/user", "entity_id": "neo/user"}
neo POST /mem/write [Content-Type: text/plain] {"entity_id": "neo/user"}
neo POST /mem/write
neo POST /mem/write LARGE
neo POST /mem/write {"entity_id": "neo/user", "content": [{"action": "add", "content": "My key is AKIAIOSFODNN7EXAMPLE.", "category": "rules"}], "prev_rev": 4}
anna POST /mem/write {"entity_id": "neo/user", "content": [{"action": "add", "content": "By a person.", "category": "vault"}], "prev_rev": 4}
neo GET /mem/proposals
boss GET /mem/proposals
anna GET /mem/proposals
anna GET /mem/proposals/{proposal}
neo POST /mem/proposals/{proposal}/approve {}
anna POST /mem/proposals/{proposal}/approve {"words": 5}
anna POST /mem/proposals/{proposal}/reject {"reason": "No."}
anna POST /mem/proposals/{proposal}/reject {"reason": "No."}
anna POST /mem/proposals/p-0000000000/approve {}
neo GET /mem/proposals/p-0000000000
neo POST /mem/merge {"entity_id": "neo/user"}
boss POST /mem/merge {"entity_id": "neo/user", "dry_run": true}
anna POST /mem/merge {"entity_id": "neo/user", "precedence": "theirs"}
anna POST /mem/merge {"entity_id": "neo/user", "branches": ["9z"]}
anna POST /mem/merge {"entity_id": "neo/user", "precedence": "perhaps"}
neo GET /prompt/neo
neo GET /prompt/neo [Accept: application/json]
neo GET /prompt/neo?categories=rules,!talk&budget=100&style=xml&as_of=2026-11-21
neo GET /prompt/trinity
neo GET /prompt/neo?style=wide
neo GET /prompt/neo?budget=0
boss GET /prompt/orchestrator?from=neo
anna GET /prompt/nobody
neo POST /seed {"source": "orchestrator"}
boss POST /seed {"source": "orchestrator", "targets": ["neo"]}
anna POST /seed {"source": "neo"}
neo GET /mem/changes?entity=neo
nobody GET /mem/changes
neo POST /mem/changes {}
neo GET /openapi.json
nobody GET /metrics
neo GET /
anna GET / [Accept: text/html]
"""
READS = """
anna GET /mem/read?entity_id=neo/user
anna GET /mem/read?entity_id=orchestrator/memory
anna GET /mem/log?entity_id=neo/user
anna GET /mem/branches
anna GET /mem/proposals
anna GET /prompt/neo [Accept: application/json]
anna GET /readyz
"""
PAGES = """
anna GET / [Accept: text/html]
anna GET /page/queue
anna GET /page/queue?profile=neo&state=stale
anna GET /proposals
anna GET /proposals/{proposal}
anna GET /page/profiles/neo
anna GET /page/profiles/nobody
anna GET /page/files/neo/user
anna GET /page/files/orchestrator/memory?category=notes
anna GET /page/sort/neo/user
anna GET /page/history/neo/user
anna GET /page/history/neo/user/2?since=1
anna GET /page/history/neo/user/99
anna GET /page/branches
anna GET /page/branches/neo/user/3a
anna GET /page/seeds
anna GET /page/seeds/neo
anna GET /page/seeds/from/orchestrator?resolve=source
anna GET /page/lint
anna GET /page/access
anna GET /page/access/neo/rules
anna GET /page/search?q=tabs
anna GET /page/search?q=%22unclosed
anna GET /page/nowhere [Accept: text/html]
anna GET /static/style.css
anna GET /static/nothing.css
anna POST /page/theme theme=dark&back=/
anna POST /page/change/add entity=neo/user
anna GET /page/files/neo/user
anna GET /page/edit/neo/user?entry={entry}
anna FORM /page/change/edit content=Edited on the page.
anna GET /page/files/neo/user
anna FORM /page/change/undo
anna GET /page/files/neo/user?category=rules
anna FORM /page/change/add content=Added+on+the+page.&category=rules
anna GET /page/queue
anna FORM /page/change/verify
anna GET /page/seeds/from/orchestrator
anna FORM /page/change/seed
anna GET /page/sort/neo/user
anna FORM /page/change/sort take-1=1&to-1=rules
anna GET /page/files/neo/user
"""
ROOTS = ("sections", "waiting", "conflicts", "seed-conflicts", "hostile", "sqlite", "bad-profile", "flat")
"""Served without tokens, to a person."""


class Client:
    """The callers of one server, each with its token and cookies, and what the newest answers said."""

    def __init__(self, stage: Stage, address: str) -> None:
        """``address`` is host and port."""
        self._stage = stage
        self._address = address
        self.tokens: dict[str, str] = {}
        self._cookies: dict[str, str] = {}
        """By name; a person has one browser."""
        self._page = ""
        self._etag = ""

    def line(self, line: str) -> None:
        """Send what a line says: who, the method, the address, headers in brackets, and the body."""
        who, method, target, rest = [*self._stage.filled(line).split(" ", 3), ""][:4]
        rest = rest.replace("{etag}", self._etag)
        headers = dict(re.findall(r"\[([\w-]+): ([^]]*)\](?= |$)", rest))
        body = re.sub(r"^(\[[\w-]+: [^]]*\] ?)*", "", rest)
        if body == "LARGE":
            body = json.dumps({"entity_id": "neo/user", "content": "x" * LARGE})
        if method == "FORM":
            method, body = "POST", self._form(target, body)
        if method == "POST" and body:
            kind = "application/x-www-form-urlencoded" if re.match(r"\w+=", body) else "application/json"
            headers.setdefault("Content-Type", kind)
            headers.setdefault("Origin", f"http://{self._address}")
        if who in self.tokens:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        if who == "anna":
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        self._stage.note(line, self._answer(method, target, headers, body))

    def _answer(self, method: str, target: str, headers: dict[str, str], body: str) -> str:
        connection = http.client.HTTPConnection(self._address, timeout=SECONDS)
        try:
            with suppress(BrokenPipeError):  # a server may have said no before it read all
                connection.request(method, target, body.encode() or None, headers)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "backslashreplace")
        except ConnectionError:
            return "the connection ended without an answer"
        finally:
            connection.close()
        self._etag = answer.getheader("ETag") or self._etag
        for cookie in answer.headers.get_all("Set-Cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        self._page = text
        shown = [f"{name}: {value}" for name, value in sorted(answer.getheaders()) if name.lower() not in QUIET_HEADERS]
        return "\n".join([f"status {answer.status}", *map(_sorted_methods, shown), "", text])

    def _form(self, action: str, given: str) -> str:
        """The first form of the newest page that goes to this address: its hidden fields, but for those that are given."""
        form = re.search(rf'(?s)<form[^>]*action="{action}[^>]*>(.*?)</form>', self._page)
        fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form[1]) if form else []
        chosen = parse_qsl(given)
        names = {name for name, _ in chosen}
        return urlencode([*(each for each in fields if each[0] not in names), *chosen]) or "none=0"


def _sorted_methods(header: str) -> str:
    """The header; Starlette keeps the methods of a route in a set, so their order is that of a hash."""
    name, _, value = header.partition(": ")
    return f"{name}: {', '.join(sorted(value.split(', ')))}" if name.lower() == "allow" else header


@contextmanager
def served(stage: Stage, *options: str) -> Iterator[str]:
    """The address of a server of the build, which is gone afterwards; its log is kept."""
    with stage.process("catmem", "serve", "--port", "0", "--format", "json", *options) as server:
        said = ""
        while not said.endswith("}\n"):
            part = server.stdout.readline()
            if not part:
                raise RuntimeError(f"catmem serve ended: {server.communicate()[1]}")
            said += part
        address = urlsplit(json.loads(said)["url"]).netloc
        yield address
        server.send_signal(signal.SIGINT)
        _, log = server.communicate(timeout=SECONDS)
    stage.note("the end of the server", f"exit status {server.returncode}\n{said}{_plain_log(log)}")


def _plain_log(log: str) -> str:
    """The lines of a log without their times, sorted: a line comes after its answer, so two may change places.

    The frames of a traceback are left out: where the lines of a module are is no matter of a user's.
    """
    lines = [re.sub(r"^[\d-]{10} [\d:,]+ ", "", line) for line in log.splitlines()]
    return "\n".join(
        sorted(line for line in lines if line and not line.startswith((" ", "Traceback ", "During handling")))
    )


def _play(stage: Stage, lines: list[str], *, tokens: bool) -> None:
    asked = {name: stage.token(line) for name, line in CALLERS.items()} if tokens else {}
    with served(stage, *(() if tokens else ("--no-tokens",))) as address:
        client = Client(stage, address)
        client.tokens = asked | ({"thief": "catmem_000000000000_" + "x" * 43} if tokens else {})
        for line in lines:
            client.line(line)


def stories() -> list[Story]:
    """With tokens the whole API; without them what a person reads, and the page, of roots of many kinds."""
    found = [Story("requests/api", "served", partial(_play, lines=_lines(API), tokens=True))]
    found += [
        Story(f"requests/page/{root}", root, partial(_play, lines=_lines(READS + PAGES), tokens=False))
        for root in ROOTS
    ]
    return found


def _lines(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]
