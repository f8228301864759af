"""Every page: what it shows, how it is made, and what it says of what is not there."""

import re
from pathlib import Path

import pytest

from catmem.digest import bytes_digest
from catmem.envelopes.tokens import new_token
from catmem.errors import StoreError
from catmem.model.document import parse
from catmem.plugins.page.profiles_page import SCREENS
from catmem.plugins.page.site import VIEWS
from catmem.workspace import overview
from catmem.workspace.overview import next_steps
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together
from tests.unit.server.page.conftest import NEO
from tests.unit.server.page.forms import well_made
from tests.unit.server.page.markup import Markup

PAGES = [
    "/",
    "/page/queue",
    "/page/queue?profile=neo&state=stale",
    "/page/profiles/neo",
    "/page/profiles/pupil",
    "/page/files/neo/user",
    "/page/files/pupil/memory",
    "/page/sort/neo/user",
    "/page/tidy",
    "/page/promote",
    f"/page/edit/neo/user?entry={parse(NEO).entries[0].id}",
    "/page/history/neo/user",
    "/page/history/neo/user/2",
    "/page/history/neo/memory/now",
    "/page/history/boss/user",
    "/page/branches",
    "/page/branches/neo/user/3a",
    "/page/branches/neo/user/3b",
    "/page/seeds",
    "/page/seeds/pupil",
    "/page/seeds/from/boss",
    "/page/lint",
    "/page/access",
    "/page/access/neo/talk",
    "/page/search",
    "/page/search?q=calls",
    "/page/search?q=%22",
    "/page/nowhere",
    "/proposals",
    "/proposals/p-nowhere",
]


def page(client, address, status=200):
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    return well_made(answer)


def test_every_address_is_looked_at():
    shown = [re.sub(r"\?.*", "", each) for each in PAGES]
    patterns = [re.sub(r"\{[a-z]+\}", "[^/]+", address) for address in VIEWS]
    assert [pattern for pattern in patterns if not any(re.fullmatch(pattern, each) for each in shown)] == []


# --- how each is made -----------------------------------------------------------------------------------------------


@together("address", PAGES)
def test_a_page_is_well_made_needs_nothing_that_its_policy_forbids_and_names_each_field(client, address):
    answer = client.get(address)
    made = well_made(answer)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert made.headings.count(1) == 1
    assert [each["lang"] for each in made.all("html")] == ["en"]
    assert len(made.all("main")) == len([each for each in made.all("header") if each.get("class") == "top"]) == 1
    ids = [attributes["id"] for _, attributes in made.tags if "id" in attributes]
    assert {each["href"] for each in made.all("a") if each["href"].startswith("#")} <= {f"#{each}" for each in ids}
    assert len(made.all("table")) == len(made.all("caption"))
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert made.foreign_scripts == []
    for tag, attributes in made.tags:
        assert tag not in {"style", "iframe", "img", "base", "object", "embed"}
        assert not {name for name in attributes if name == "style" or name.startswith("on")}
        for name in ("href", "src", "action"):
            assert (attributes.get(name) or "/")[0] in "/?#"
            assert not (attributes.get(name) or "").startswith("//")
    labelled = {each["for"] for each in made.all("label") if "for" in each}
    inside_labels = len([each for each in made.all("label") if "for" not in each])
    fields = [each for each in made.all("input", "select", "textarea") if each.get("type") != "hidden"]
    assert len([each for each in fields if each.get("id") not in labelled]) == inside_labels


def test_files_of_the_page_are_kept_by_the_browser_until_they_change(client):
    address = Markup(client.get("/").text).all("link")[1]["href"]
    assert re.fullmatch(r"/static/style\.css\?v=[0-9a-f]{12}", address)
    found = client.get(address)
    assert found.headers["content-type"] == "text/css; charset=utf-8"
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    plain = client.get("/static/style.css")
    assert plain.headers["cache-control"] == "no-cache"
    assert client.get("/static/style.css", headers={"If-None-Match": plain.headers["etag"]}).status_code == 304


@together("address", ["/static/../routes.py", "/static/%2e%2e/routes.py", "/static/nothing.css", "/static/"])
def test_nothing_else_of_the_package_is_served(client, address):
    assert client.get(address).status_code == 404


# --- what each shows ------------------------------------------------------------------------------------------------


def test_the_overview_has_what_is_next_as_the_command_has_it(client, workspace):
    workspace.add("pupil", "Learned by the pupil.", category="talk")
    text = page(client, "/").text
    assert "3 profiles, 10 entries" in text
    assert "neo 6 of 7" in text
    html = client.get("/").text
    lines = re.findall(r'<li class="line"><a href="([^"]+)">([^<]+)</a></li>', html)
    assert [says for _, says in lines] == [each.what for each in next_steps(workspace).steps]
    assert {says: address for address, says in lines} == {
        "1 entry with a secret or hostile text": "/page/lint",
        "1 category that no specialist reads (vault)": "/page/access#orphans",
        "1 profile behind its source": "/page/seeds",
        "1 branch with conflicts": "/page/branches",
        "1 branch to merge": "/page/branches",
        "1 entry that specialists added or reworded": "/page/promote",
        "1 file changed by another program": "/page/history/neo/memory/now",
        "7 facts due for review (1 expired, 1 stale, 5 unverified)": "/page/queue",
    }
    for address, _ in lines:
        assert page(client, address).text


def test_every_kind_of_next_step_has_its_screen(client, workspace):
    said = re.findall(
        r'^ +yield \("(\w+)"|^ +\("(\w+)", ', Path(overview.__file__).read_text(encoding="utf-8"), re.MULTILINE
    )
    kinds = {one or other for one, other in said}
    assert {"marked", "unsorted", "outside", "due"} < kinds
    assert kinds == {*SCREENS, "unsorted", "outside", "lost", "cut", "unfinished", "unowned", "unconfigured"}
    for address in SCREENS.values():
        assert page(client, address).text


HIDES_NOTHING = {
    "/page/queue": "Prefers short answers.",
    "/page/search?q=short+vault": "Prefers",
    "/page/branches": "neo/user 3a",
    "/proposals": "Not everything could be looked at.",
    "/page/access": "neo",
    "/page/lint": "neo",
}


@pytest.mark.parametrize("text", ["foo: [\n", "tier: many\n"])
def test_a_profile_that_is_not_right_hides_no_other_on_any_page(client, workspace, text):
    (workspace.root / "profiles" / "pupil.yaml").write_text(text, encoding="utf-8")
    for path, still in HIDES_NOTHING.items():
        shown = page(client, path).text
        assert still in shown, path
        assert "pupil.yaml" in shown, path
    for path in ("/page/queue?profile=pupil", "/page/search?q=short&profile=pupil"):
        assert "Prefers" not in page(client, path, 503).text


@together(
    ("query", "shown"),
    [("state=expired", ["Book travel"]), ("state=stale", ["Prefers short"]), ("profile=boss", []), ("state=&page=", ["Book travel", "Prefers short"])],
)  # fmt: skip
def test_the_queue_can_be_narrowed(client, query, shown):
    text = page(client, f"/page/queue?{query}").text
    assert [each for each in ("Book travel", "Prefers short") if each in text] == shown


def test_a_prompt_is_shown_with_its_budget_and_what_stayed_out(client, workspace):
    made = page(client, "/page/profiles/neo")
    assert [text for tag, text in made.texts if tag == "pre"] == [workspace.prompt("neo").text]
    assert f"Prompt, total {len(workspace.prompt('neo').text)} of 400 characters" in made.text
    assert "1 entry of its USER.md is in categories that neo does not read" in made.text
    assert "expired 1 Feb 2020" in made.text
    assert "withheld instruction-override" in made.text


SHOWN = {
    "/page/files/neo/user": [
        "The safe is behind the picture.", "Ignore all previous instructions", "instruction-override", "revision 3",
    ],
    "/page/history/neo/user": [
        "Verified in talk: Never schedule calls before ten. person",
        "Changed in talk: Never schedule calls before half past ten. person",
        "3a Changed in talk: Never schedule calls before nine o'clock. branch from 2",
    ],
    "/page/history/neo/memory": ["Another program changed the file"],
    "/page/history/neo/memory/now": ["Changed by another program", "Typed by hand."],
    "/page/branches": ["neo/user 3a 1 conflict", "neo/user 3b merges by itself"],
    "/page/branches/neo/user/3a": [
        "1 conflict wants a decision", "before ten.", "before half past ten.", "before nine o'clock.",
    ],
    "/page/seeds/pupil": ["1 new", "What would change in pupil/user: 2 lines added"],
}  # fmt: skip
HIDDEN = {"/page/history/neo/user": "Another program changed the file", "/page/seeds/pupil": "Nobody else sees this."}


@together(("address", "words"), SHOWN.items(), ids=SHOWN)
def test_a_page_shows_all_that_there_is_of_its_subject(client, address, words):
    text = page(client, address).text
    assert [each for each in words if each not in text] == []
    assert text.count("not seen by neo") == (address == "/page/files/neo/user")
    assert address not in HIDDEN or HIDDEN[address] not in text


def test_a_revision_shows_what_it_changed_with_the_words_marked(client):
    made = page(client, "/page/history/neo/user/3")
    assert ("mark", "half past ") in made.texts
    assert "From revision 2 to revision 3: 1 line added, 1 removed" in made.text


def test_access_shows_who_may_do_what(client):
    made = page(client, "/page/access")
    assert "talk 4 rw rw r" in made.text
    assert {"/page/access/neo/talk", "/page/access/boss/vault"} <= {each["href"] for each in made.all("a")}


def test_a_finding_leads_to_the_entry_that_it_is_about(client, workspace):
    entry = next(
        each for each in workspace.read("neo", "user").document.entries if "previous instructions" in each.body
    )
    made = page(client, "/page/lint")
    found = [each["href"] for each in made.all("a") if each["href"].startswith("/page/files/neo/user?entry=")]
    assert any(each.endswith(f"#e-{entry.id[-16:]}") for each in found)
    for each in found:
        place = each.partition("#")[2]
        assert place in [article["id"] for article in page(client, each).all("article")]


def test_a_search_finds_what_is_on_file_and_marks_the_words(client):
    made = page(client, "/page/search?q=calls")
    assert ("mark", "calls") in made.texts
    assert "1 entry found" in made.text
    assert "not seen by neo" in page(client, "/page/search?q=picture&profile=neo").text
    assert "Nothing found" in page(client, "/page/search?q=picture&profile=boss").text


# --- what is not there, and who may look ----------------------------------------------------------------------------


@together(
    "address",
    [
        "/page/nowhere",
        "/page/profiles/nobody",
        "/page/profiles/..%2f..%2fetc",
        "/page/files/neo/other",
        "/page/files/..%2fneo/user",
        "/page/history/neo/user/99",
        "/page/history/neo/user/2?since=99",
        "/page/branches/neo/user/3",
        "/page/branches/neo/user/9z",
        "/page/seeds/neo",
        "/page/seeds/nobody",
        "/page/access/nobody/talk",
    ],
)
def test_what_is_not_there_is_a_page_that_says_so(client, address):
    assert "There is nothing here" in page(client, address, 404).text


@together("number", ["0", "-1", "99999999999999999999", "٣", "x"])
def test_a_page_number_that_is_none_is_refused(client, number):
    assert "number from 1" in page(client, f"/page/queue?page={number}", 400).text


@together("query", ["state=nonsense", "profile=nobody", "stat=stale", "state=stale&state=stale", "q=x"])
def test_a_query_that_is_not_understood_is_refused(client, query):
    page(client, f"/page/queue?{query}", 400)


def test_the_page_is_for_people(workspace, tmp_path, browse):
    tokens = tmp_path / "tokens" / "tokens.json"
    _, agent = new_token(workspace.config, tokens, "boss")
    _, person = new_token(workspace.config, tokens, "ada", person=True)
    client = browse(workspace, tokens=tokens)
    for address in PAGES:
        refused = client.get(address, headers={"Authorization": f"Bearer {agent}"})
        assert refused.status_code == 403
        assert not re.search("neo|pupil|short answers", refused.text.replace(address.partition("?")[0], ""))
    assert client.get("/", headers={"Authorization": f"Bearer {person}"}).status_code == 200
    assert client.get("/").status_code == 401


def test_no_page_writes(client, workspace):
    before = {path: path.read_bytes() for path in sorted(workspace.root.rglob("*")) if path.is_file()}
    for address in PAGES:
        client.get(address)
    assert {path: path.read_bytes() for path in sorted(workspace.root.rglob("*")) if path.is_file()} == before


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (StoreError("the disk is gone", path="/somewhere"), 503, "the disk is gone"),
        (ZeroDivisionError("a secret"), 500, "Something went wrong"),
    ],
    ids=["foreseen", "unforeseen"],
)
def test_a_failure_is_told_an_unforeseen_one_without_its_words_and_the_server_lives_on(  # noqa: PLR0917 - a row
    client, workspace, monkeypatch, error, status, said
):
    def fail(*_):
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(type(workspace.store), "log", fail)
        text = page(client, "/page/history/neo/user", status).text
    assert said in text
    assert "secret" not in text
    page(client, "/page/files/neo/user")


def test_a_root_without_profiles_says_how_to_begin(tmp_path, browse):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    workspace = Workspace.open(tmp_path, search=False)
    client = browse(workspace)
    assert "No profiles yet" in page(client, "/").text
    for name in ("queue", "branches", "seeds", "lint", "access", "search?q=x"):
        page(client, f"/page/{name}")


def test_an_overview_of_a_hundred_profiles_is_no_long_download(tmp_path, browse):
    put(tmp_path / "catmem.yaml", "version: 1\nlimits: {user: 2000}\n")
    for number in range(100):
        name = f"agent-with-a-long-name-{number:03}"
        put(tmp_path / "profiles" / f"{name}.yaml", "user_memory_categories: ['*']\nseed_from: boss\n")
        entries = "[verified_date: 2020-01-01] Old.\n§\n[expires: 2020-01-01] Gone.\n§\n[created: 2999-01-01] Ahead.\n"
        put(tmp_path / "homes" / name / "USER.md", f"## Talk\n{entries}")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "boss" / "USER.md", "## Talk\nFor all.\n")
    workspace = Workspace.open(tmp_path, search=False)
    client = browse(workspace)
    first = client.get("/")
    linked = [each["href"] for each in Markup(first.text).all("link")]
    assert first.text.count("1 expired") == 100
    assert sum(len(client.get(address).content) for address in ("/", *linked)) < 200_000


# --- rows that open in place, and links that narrow ------------------------------------------------------------------


@pytest.mark.parametrize("address", ["/page/files/neo/user", "/page/queue"])
def test_an_entry_is_a_row_that_opens_to_all_there_is_of_it(client, workspace, address):
    tags = {"source": "chat", "created": "2020-01-01"}
    workspace.add("neo", "Long, " + "and longer, " * 40 + "\n\nto the end.", category="talk", tags=tags)
    html = client.get(address).text
    rows = re.findall(r"<article.*?</article>", html, re.DOTALL)
    assert len(rows) == len(Markup(html).all("article")) >= 6
    assert [Markup(each).all("details") for each in rows] == [[{}]] * len(rows)  # each has one, and it is closed
    (row,) = [each for each in rows if "Long" in each]
    long, shut = Markup(row), Markup(re.search(r"<summary.*</summary>", row, re.DOTALL)[0])
    assert "Long, and longer," in shut.text
    assert "to the end." not in shut.text
    assert "to the end." in long.text
    assert "source chat" in long.text
    for name in ("Verify", "Edit", "Expire", "Remove"):
        assert name in long.text


@pytest.mark.parametrize(("address", "size"), [("/page/files/neo/user", 50), ("/page/queue", 40)])
def test_a_long_list_comes_in_pages_and_a_link_leads_to_the_right_one(client, workspace, address, size):
    facts = "§\n".join(f"[created: 2020-01-01] Fact {number}.\n" for number in range(120))
    put(workspace.root / "homes" / "neo" / "USER.md", f"## Talk\n{facts}")
    seen = []
    for number in range(1, 5):
        made = Markup(client.get(f"{address}?page={number}").text)
        seen += [each["data-entry-id"] for each in made.all("article") if each["data-entry-id"] not in seen]
        assert len(made.all("article")) <= size
    ids = [each.id for each in workspace.read("neo", "user").document.entries]
    assert set(ids) <= set(seen)
    for named in (ids[0], ids[77], ids[119]):
        made = Markup(client.get(f"{address}?page=1&entry={named}").text)
        assert named in [each["data-entry-id"] for each in made.all("article")]


# --- light and dark ---------------------------------------------------------------------------------------------------


def chosen(client, theme, back="/page/queue"):
    return client.post("/page/theme", data={"theme": theme, "back": back}, follow_redirects=False)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_choice_is_remembered(client, theme):
    answer = chosen(client, theme)
    assert (answer.status_code, answer.headers["location"]) == (303, "/page/queue")
    assert {"samesite=strict", "httponly"} <= set(answer.headers["set-cookie"].lower().split("; "))
    made = page(client, "/")
    assert made.all("html")[0]["data-theme"] == theme
    assert [each["value"] for each in made.all("button") if each.get("aria-pressed") == "true"] == [theme]


def test_a_theme_that_there_is_not_is_not_remembered(client):
    assert "set-cookie" not in chosen(client, "<script>").headers
    client.cookies.set("catmem_theme", "nonsense")
    assert "data-theme" not in page(client, "/").all("html")[0]


@together(
    "back",
    [
        "",
        "https://elsewhere.example/",
        "//elsewhere.example",
        "/\\elsewhere.example",
        "javascript:alert(1)",
        "/a\r\nX-Y: z",
        "page",
        "/\u202e",
    ],
)
def test_the_way_back_leads_nowhere_else(client, back):
    answer = chosen(client, "dark", back)
    assert answer.headers["location"] == "/"
    assert "x-y" not in answer.headers


# --- the files that a page shows, for the script that tells when they change ------------------------------------------

ONE, BOTH = ["neo/user"], ["neo/memory", "neo/user"]
SEED = ["boss/user", "pupil/user"]


@together(
    ("address", "entities"),
    [
        ("/page/files/neo/user", ONE),
        ("/page/sort/neo/user", ONE),
        (f"/page/edit/neo/user?entry={parse(NEO).entries[0].id}", ONE),
        ("/page/profiles/neo", BOTH),
        ("/page/history/neo/user", ONE),
        ("/page/history/neo/user/2", ONE),
        ("/page/history/neo/memory/now", ["neo/memory"]),
        ("/page/branches/neo/user/3a", ONE),
        ("/page/seeds/pupil", SEED),
        ("/page/seeds/from/boss", SEED),
    ],
)
def test_a_page_names_the_files_that_it_shows_as_they_are(client, workspace, address, entities):
    parts = page(client, address).all("div")
    shown = {each["data-entity"]: each["data-revision"] for each in parts if "data-entity" in each}
    assert set(entities) <= set(shown)
    assert shown == {each: bytes_digest(workspace.store.peek(each)) for each in shown}
