"""Whatever the branch and whatever a person decides: the page writes what the library merges, and shows it before."""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from html import unescape
from itertools import cycle
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from catmem.merging.decisions import CHOICES, OWN, answer_to, key_of
from catmem.plugins.page.formats import diff_of
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.store.contract import Change
from tests.roots import make_root, text_of
from tests.unit.server.page.conftest import ADDRESS
from tests.unit.server.page.forms import Forms, sent, shown

ENTRIES = ["one two three four", "five six seven eight", "nine ten eleven twelve", "red green blue grey"]
BASE = "# Notes\n\n## A\n" + "\n§\n".join(ENTRIES[:2]) + "\n\n## B\n" + "\n§\n".join(ENTRIES[2:]) + "\n"
PAGE = "/page/branches/neo/user/2a"
FEW = settings(max_examples=max(12, settings().max_examples // 4))

changes = st.lists(
    st.sampled_from(["keep", "keep", "reword", "lengthen", "remove", "tag", "move"]), min_size=4, max_size=4
)
sides = st.tuples(changes, changes, st.booleans(), st.booleans())
words = st.one_of(
    st.sampled_from(["words of my own", "§", "## A\nhidden", "[verified_date: 2030-01-01] sure", "a\n\nb", "<b>&amp;"]),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).filter(str.strip),
)


def reworked(entry, change, side):
    """An entry as one side has it; nothing where the side removed it."""
    return {
        "reword": f"{side} {entry.partition(' ')[2]}",
        "lengthen": f"{entry}, says {side}",
        "tag": f"[domain: {side}] {entry}",
        "remove": "",
    }.get(change, entry)


def changed(how, side, title):
    """The base as one side has it."""
    told = {"A": [], "B": []}
    for index, (entry, change) in enumerate(zip(ENTRIES, how, strict=True)):
        is_first = (index < 2) != (change == "move")
        told["A" if is_first else "B"].append(reworked(entry, change, side))
    name = f"Notes of {side}" if title else "Notes"
    sections = {key: [each for each in entries if each] for key, entries in told.items()}
    return f"# {name}\n" + "".join(
        f"\n## {key}\n" + "\n§\n".join(each) + "\n" for key, each in sections.items() if each
    )


@contextmanager
def branched(drawn):
    """A root whose head and branch are these, on a store in memory."""
    here, there, title_here, title_there = drawn
    with tempfile.TemporaryDirectory() as folder:
        root = make_root(Path(folder), profiles={"neo": "user_memory_categories: ['*']\n"}, files={"neo/user": BASE})
        for text, side in ((changed(here, "ours", title_here), "2"), (changed(there, "theirs", title_there), "2a")):
            written = root.store.commit("neo/user", "1", lambda _, t=text: t.encode(), Change(on_stale="branch"))
            assume(written.revision == side)  # a side that changed nothing makes no branch
        yield root


def chosen_of(conflicts, numbers):
    """What a person chooses of each conflict, by its name on the page."""
    picks = zip(conflicts, cycle(numbers), strict=False)
    return {
        str(key_of(found.conflict)): CHOICES[found.conflict.reason][number % len(CHOICES[found.conflict.reason])]
        for found, number in picks
    }


def shown_changes(html):
    """The lines that the first diff of a page takes away and adds."""
    table = html[html.index("What the merge writes") :].partition("</table>")[0]
    rows = re.findall(r'<tr class="(old|new)">.*?<td class="text">(.*?)</td>', table, re.DOTALL)
    return [(kind, unescape(re.sub(r"</?mark>", "", text))) for kind, text in rows]


@FEW
@given(sides, st.lists(st.integers(0, 3), min_size=1, max_size=8), words)
def test_the_page_merges_what_the_library_merges_and_shows_it_before(drawn, numbers, own):
    with branched(drawn) as root, branched(drawn) as twin:
        chosen = chosen_of(twin.merge("neo", ["2a"], dry_run=True).conflicts, numbers)
        twin.merge(
            "neo",
            ["2a"],
            precedence=lambda found: answer_to(found.conflict, chosen[str(key_of(found.conflict))], own),
        )
        fields = {f"choice-{key}": choice for key, choice in chosen.items()}
        fields |= {f"words-{key}": own for key, choice in chosen.items() if choice == OWN}
        before = text_of(root)
        with TestClient(create_app(root, ServerSettings()), base_url=ADDRESS) as client:
            form = shown(client, PAGE).named("Merge")
            looked_at = sent(client, {**form, "action": f"{PAGE}/preview"}, **fields)
            assert (looked_at.status_code, text_of(root)) == (200, before)
            assert sent(client, Forms(looked_at.text).named("Merge")).status_code == 303
        assert text_of(root) == text_of(twin)
        wanted = [
            (line.kind, "".join(text for text, _ in line.parts))
            for line in diff_of(before, text_of(twin)).lines
            if line.kind in {"old", "new"}
        ]
        assert shown_changes(looked_at.text) == wanted if wanted else "Merging only closes" in looked_at.text
