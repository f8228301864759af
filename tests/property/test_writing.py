"""The writing verbs on any text: the entry that is meant changes, and every other one stays as it is."""

from collections import Counter
from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from catmem.errors import AmbiguousError, DriftError, EditError
from catmem.model.layout import is_shared
from catmem.workspace.workspace import Workspace
from catmem.writing.request import Operation
from tests.golden.case import put
from tests.property.strategies import bodies, categories, stored_form, texts
from tests.roots import put_bytes, text_of
from tests.store.memory import InMemoryStore

DAY = date(2026, 5, 1)
HOSTILE = st.sampled_from(
    [
        "§", "§\n§", "a\n§\nb", "## Admin", "a\n## Admin\nb", "# Title", "\ufeff", "\ufeffa", "a\u2028§\u2028b", "a\x85## Admin",
        "a\r## Admin", "a\r\n§\r\nb", "a\r\r\nb", "\\§", "```", "```\n## Admin", "<!--", "-->", "<!-- a", "[a: b]", "[a: b] c",
        "---\na: b\n---", "\x00", "\x0c§", "## __uncategorized__", "- [created: 2020-01-01] x", "~~~\n§",
    ]
)  # fmt: skip
contents = st.one_of(HOSTILE, bodies(), texts()).filter(lambda text: text.strip())
# A leading level-1 heading becomes the title when the first section arrives; in these the first section is there.
documents = texts().map(lambda text: f"## First\nan entry\n\n{text}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("root")
    put(
        place / "profiles" / "neo.yaml",
        "user_memory_categories: ['*']\nwritable_categories: ['*', __uncategorized__]\n",
    )
    return place


@pytest.fixture(scope="module", autouse=True)
def today():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("catmem.clock.today", lambda: DAY)
        yield


def opened(folder, text):
    workspace = Workspace.open(folder, search=False, store=InMemoryStore())
    put_bytes(workspace, "neo/user", text)
    return workspace


def says(document):
    return [(entry.category, entry.raw) for entry in document.entries]


def parsed(workspace):
    return workspace.parse(text_of(workspace))


@given(text=documents, content=contents, category=categories)
def test_an_addition_is_one_entry_more_in_its_category(folder, text, content, category):
    workspace = opened(folder, text)
    before = parsed(workspace)
    written = workspace.add("neo", content, category=category)
    after = parsed(workspace)
    body = stored_form(content)
    if not written.changed:
        assert text_of(workspace) == text
        assert (category, body) in [(entry.category, entry.body) for entry in before.entries]
        return
    (made,) = written.entries
    assert (made.category, made.body) == (category, body)
    assert made.tags == ({} if is_shared(before) else {"created": "2026-05-01"})
    assert [entry for entry in says(after) if entry != (made.category, made.raw)] == [
        entry for entry in says(before) if entry != (made.category, made.raw)
    ]
    assert len(after.entries) == len(before.entries) + 1
    assert made in after.entries
    titles = [section.title for section in after.sections]
    assert [title for title in titles if title in {section.title for section in before.sections}] == [
        section.title for section in before.sections
    ]
    assert len(titles) - len(before.sections) in {0, 1}
    assert text_of(workspace).endswith("\n") or is_shared(after)


steps = st.builds(
    Operation,
    st.sampled_from(["add", "replace", "remove", "move", "verify"]),
    content=contents,
    old_text=st.sampled_from(["a", "entry", "an entry", "x", "e"]),
    to_category=categories,
    category=st.one_of(st.none(), categories),
)


@given(text=documents, operations=st.lists(steps, min_size=1, max_size=4))
def test_a_batch_is_its_operations_one_by_one(folder, text, operations):
    together, one_by_one = opened(folder, text), opened(folder, text)
    try:
        tried = together.write("neo", operations, dry_run=True)
    except EditError:
        with pytest.raises(EditError):
            together.write("neo", operations)
        assert text_of(together) == text
        return
    written = together.write("neo", operations)
    assert (tried.after, tried.changed, tried.entries) == (written.after, written.changed, written.entries)
    for operation in operations:
        one_by_one.write("neo", [operation])
    assert says(parsed(together)) == says(parsed(one_by_one))


@given(mine=documents, theirs=documents, content=contents, index=st.integers(0, 20))
def test_what_somebody_else_changed_is_refused_or_kept(folder, mine, theirs, content, index):
    workspace = opened(folder, mine)
    put_bytes(workspace, "neo/user", theirs)
    assume(mine != theirs)
    before = parsed(workspace)
    entry = before.entries[index % len(before.entries)]
    try:
        written = workspace.replace("neo", entry.id, content, category=entry.category, expected="1", on_drift="merge")
    except AmbiguousError:
        return
    except DriftError:
        assert text_of(workspace) == theirs
        return
    rest = Counter(says(before)) - Counter([(entry.category, entry.raw)])
    assert rest <= Counter(says(parsed(workspace)))
    assert written.entries[0].body == stored_form(content)
