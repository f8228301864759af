"""Text of somebody else in every place of a page where text of somebody else can stand."""

import pytest

from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation
from tests.golden.case import put
from tests.together import together
from tests.unit.server.page.markup import Markup

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
QUOTES = "\"'><svg onload=alert(3)>"
TURNED = "invoice\u202egnp.exe\u2066"
MARKDOWN = (
    "# Big\n\n[x](javascript:alert(4)) [y](data:text/html,hi) ![z](https://elsewhere.example/z.png) <b onclick=x>b</b>"
)
NASTY = [SCRIPT, QUOTES, TURNED, MARKDOWN, "\x1b[31mred\x07", "{{ 7 * 7 }} {% raw %}", "&lt;b&gt; &amp;"]

ADDRESSES = [
    "/",
    "/page/queue",
    "/page/profiles/neo",
    "/page/files/neo/user",
    "/page/files/neo/user?did=neo/user@3",
    "/page/files/neo/user?did=%3Cscript%3Ealert(1)%3C/script%3E@1",
    "/page/history/neo/user",
    "/page/history/neo/user/1",
    "/page/branches",
    "/page/branches/neo/user/3a",
    "/proposals",
    "/proposals/%3Cimg%20src=x%3E",
    "/page/seeds/pupil",
    "/page/lint",
    "/page/access",
    "/page/search?q=invoice+alert+red",
    "/page/search?q=%3Cscript%3E%22%27%E2%80%AE",
    "/page/files/neo/user?category=%22%3E%3Cscript%3E",
    "/page/nothing/%3Cscript%3Ealert(1)%3C/script%3E",
    "/page/profiles/%3Cimg%20src=x%3E",
    "/page/history/neo/user/%3Cimg%20src=x%3E",
    "/page/access/neo/%3Cimg%20src=x%3E",
]


def hostile_root(folder):
    """A root with such texts in the file of neo, its history, a branch, and proposals."""
    put(folder / "catmem.yaml", "version: 1\n")
    put(folder / "profiles" / "neo.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(folder / "profiles" / "pupil.yaml", "user_memory_categories: ['*']\nseed_from: neo\n")
    entries = "\n§\n".join(f'[created: 2020-01-01, source: "{SCRIPT[:30]}\u202e"] {text}' for text in NASTY)
    put(folder / "homes" / "neo" / "USER.md", f"# {SCRIPT}\n\n## {SCRIPT}\n{entries}\n\n## {TURNED}\nx\n")
    workspace = Workspace.open(folder, search=False)
    first = workspace.add("neo", "Plain words.", category="talk").revision
    workspace.replace("neo", "Plain words.", content=f"Plain words. {SCRIPT}")
    workspace.replace("neo", "Plain words.", content=f"Plain words. {QUOTES}", expected=first, on_stale="branch")
    for words in (SCRIPT, QUOTES, MARKDOWN.partition("!")[0]):  # no agent gets the others stored
        add = Operation("add", content=f"Proposed: {words}", category="talk")
        workspace.write("neo", [add], actor="neo", proposes=True, reason=f"Because {words}"[:200])
    return workspace


@pytest.fixture
def client(tmp_path, browse):
    workspace = hostile_root(tmp_path / "root")
    return browse(workspace)


@pytest.mark.parametrize("address", ADDRESSES)
def test_hostile_text_is_shown_and_does_nothing(client, address):
    answer = client.get(address)
    made = Markup(answer.text)
    assert made.unbalanced == []
    assert made.foreign_scripts == []
    for tag, attributes in made.tags:
        assert tag not in {"img", "iframe", "style", "b"}
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "/")[0] in "/?#"
    for character in "\u202e\u2066\x1b\x07":
        assert character not in answer.text


@together("address", ["/page/files/neo/user", "/page/queue"])
def test_hostile_text_can_be_read(client, address):
    text = Markup(client.get(address).text).text
    for words in (SCRIPT, r"invoice\u202egnp.exe\u2066", r"\x1b[31mred\x07", "{{ 7 * 7 }}"):
        assert words in text
