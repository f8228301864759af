"""What the page writes is byte for byte what an agent's door and the library write for the same change."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catmem.clock import today
from tests.days import stand_still
from tests.roots import put_bytes, text_of
from tests.unit.server.page.changing import CONFIG, STORES, root, served
from tests.unit.server.page.forms import sent, shown

DAY = today()
TODAY = DAY.isoformat()
LINES = [
    "",
    "a",
    "Short words.",
    "§",
    "## Talk",
    "[domain: x] y",
    "  two",
    "é\u0301",
    "日本語",
    "\\§",
    "\u202eb",
    "---",
    "`x`",
]
TEXTS = st.lists(st.sampled_from(LINES), min_size=1, max_size=4).map("\n".join)
TAGS = st.sampled_from(["", "[verified_date: 2020-01-01] ", "[expires: 2020-02-01, domain: [a, b]] ", "[source: me]\n"])
ENTRIES = st.lists(st.tuples(TAGS, st.text("abc \n", min_size=1).filter(str.strip)), min_size=1, max_size=4)
ENDS = st.sampled_from(["\n", "\r\n"])


@pytest.fixture(scope="module", autouse=True)
def standing_day():
    """The day of the constant, however late it is when a long run comes here."""
    with pytest.MonkeyPatch.context() as patch:
        stand_still(patch, DAY)
        yield


@pytest.fixture(scope="module", params=STORES, ids=["files", "sqlite"])
def both(request, tmp_path_factory):
    """A root where neo is changed on the page, and boss by the library; both may hold whatever."""
    folder = tmp_path_factory.mktemp("alike") / "root"
    workspace = root(folder, request.param, text="", config=CONFIG.replace("limits: {user: 1200}\n", ""))
    with served(workspace) as client:
        yield client, workspace
    workspace.store.close()


NUMBERS = count()


def document(entries, end):
    """A document of these entries, in two categories; each time another one, so that it is a revision of its own."""
    half = len(entries) // 2 + 1
    parts = ["\n§\n".join(f"{tags}{body.strip()}" for tags, body in some) for some in (entries[:half], entries[half:])]
    text = f"# {next(NUMBERS)}\n\n## Talk\n{parts[0]}\n"
    return (f"{text}\n## Rules\n{parts[1]}\n" if parts[1] else text).replace("\n", end)


def operations(entry, act, text, category):
    """What a person would ask of the library."""
    named = {"old_text": entry.id, "category": entry.category}
    expired = "expires" in entry.tags
    verified = {"verified_date": TODAY, **({"expires": None} if expired else {})}
    if act == "verify":
        verify = {"action": "verify", **named, "as_of": TODAY}
        return [{"action": "replace", **named, "tags": verified} if expired else verify]
    if act == "remove":
        return [{"action": "remove", **named}]
    if act == "add":
        return [{"action": "add", "content": text, "category": category}]
    moves = [] if category == entry.category else [{"action": "move", **named, "to_category": category}]
    if text == entry.body:
        return moves
    return [*moves, {"action": "replace", **named, "category": category, "content": text}]


@settings(max_examples=max(20, settings().max_examples // 3))
@given(ENTRIES, ENDS, st.sampled_from(["verify", "remove", "add", "edit"]), TEXTS, st.sampled_from(["talk", "rules"]))
def test_the_page_writes_what_the_library_writes(  # noqa: PLR0917 - what is drawn
    both, entries, end, act, text, category
):
    client, workspace = both
    whole = document(entries, end)
    for name in ("neo", "boss"):
        put_bytes(workspace, f"{name}/user", whole)
    before = text_of(workspace)
    entry = workspace.read("neo", "user").document.entries[-1]
    if act == "edit":
        form = shown(client, f"/page/edit/neo/user?entry={entry.id}&where={entry.category}").named("Save")
        form["fields"].pop("verified", None)
        answer = sent(client, form, content=text, category=category)
    elif act == "add":
        answer = sent(client, shown(client, "/page/files/neo/user").named("Add it"), content=text, category=category)
    else:
        form = shown(client, "/page/files/neo/user").named("Verify", entry=entry.id, where=entry.category)
        answer = sent(client, {**form, "action": f"/page/change/{act}"})
    asked = operations(entry, act, text, category)
    told = client.post("/mem/write", json={"entity_id": "boss/user", "content": asked, "prev_rev": _head(workspace)})
    if not asked:
        assert answer.status_code == 303
        assert text_of(workspace) == before
        return
    assert (answer.status_code == 303) == (told.status_code == 200), (answer.text, told.text)
    assert text_of(workspace) == text_of(workspace, "boss/user")


def _head(workspace):
    return int(workspace.store.head("boss/user").revision)
