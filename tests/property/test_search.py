"""What holds for every search: who sees what, filters, and ranks."""

from datetime import date, timedelta

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from catmem.config.access import visible
from catmem.model.document import parse
from catmem.names import UNCATEGORIZED
from catmem.search import search as searching
from catmem.search.index import WIDTH, Index, snippet
from catmem.search.query import parse_query
from catmem.search.search import STATES
from catmem.staleness.freshness import DATED_BY
from tests.property.strategies import texts
from tests.roots import make_root, put_bytes

DAY = date(2026, 11, 21)
WORDS = ["tea", "teapot", "cup", "green", "Café", "茶", "喝茶"]
CATEGORIES = ["talk", "rules", "tea-rules", "vault"]
words = st.sampled_from(WORDS)
days = st.dates(date(2026, 1, 1), DAY)
queries = st.one_of(
    st.lists(st.sampled_from([*WORDS, "te", "cafe", '"green tea"', "rules", "vault"]), min_size=1, max_size=4).map(
        " ".join
    ),
    st.sampled_from(['"tea cup"', "喝茶 tea", "TEA"]),
)


@st.composite
def entries(draw):
    """An entry: some words, perhaps with a date and a tag."""
    body = " ".join(draw(st.lists(words, min_size=1, max_size=6)))
    tags = []
    if draw(st.booleans()):
        tags.append(f"{draw(st.sampled_from(DATED_BY))}: {draw(days)}")
    if draw(st.booleans()):
        tags.append(f"domain: {draw(st.sampled_from(['home', 'work']))}")
    if draw(st.integers(0, 4)) == 0:
        tags.append(f"expires: {draw(days)}")
    return f"[{', '.join(tags)}] {body}" if tags else body


@st.composite
def files(draw):
    """A memory file with entries in some of the categories."""
    sections = [
        f"## {category}\n" + "\n§\n".join(draw(st.lists(entries(), max_size=4)))
        for category in draw(st.lists(st.sampled_from(CATEGORIES), max_size=4))
    ]
    loose = "\n§\n".join(draw(st.lists(entries(), max_size=2)))
    return "\n\n".join([loose, *sections]) + "\n"


profiles = st.lists(st.sampled_from([*CATEGORIES, "t*", "*", "!vault", "!tea-rules"]), max_size=3)


def opened(folder, text, selectors=("*",), memory=""):
    profile = f"user_memory_categories: {list(selectors)}\nmemory_categories: {list(selectors)}\n"
    return make_root(folder, profiles={"neo": profile}, files={"neo/user": text, "neo/memory": memory})


def keys(found):
    return [(each.target, each.entry.start) for each in found]


# Each example is a root on disk.
fewer = settings(max_examples=settings().max_examples // 4)


def search(workspace, query, **choices):
    return workspace.search("neo", query, as_of=DAY, **choices)


@fewer
@given(text=files(), memory=files(), selectors=profiles, query=queries)
def test_nothing_out_of_sight_is_found_or_has_a_part_in_the_rank(tmp_path_factory, text, memory, selectors, query):
    folder = tmp_path_factory.getbasetemp() / "sight"
    workspace = opened(folder, text, selectors, memory)
    profile = workspace.profile("neo")
    found = search(workspace, query)
    for each in found:
        assert each.entry in visible(workspace.view("neo", each.target).document, each.target, profile).entries
    # What stands in hidden sections, even all that is looked for, changes nothing.
    hidden = [category for category in CATEGORIES if profile.selectors("user").position(category) is None]
    assume(hidden)
    seen = []
    for words_there in ("canary", "canary tea green cup 喝茶\n§\ngreen tea"):
        put_bytes(workspace, "neo/user", f"{text}\n## {hidden[0]}\n{words_there}\n")
        seen.append([(each.entry.raw, each.score) for each in search(workspace, query)])
    assert seen[0] == seen[1]


@fewer
@given(text=files(), memory=files(), query=queries, state=st.sets(st.sampled_from(STATES)), limit=st.integers(0, 5))
def test_a_filter_keeps_what_fits_of_the_whole_ranking(  # noqa: PLR0917 - hypothesis gives them by name
    tmp_path_factory, text, memory, query, state, limit
):
    workspace = opened(tmp_path_factory.getbasetemp() / "filter", text, memory=memory)
    every = search(workspace, query)
    said = [(key, each.score) for key, each in zip(keys(every), every, strict=True)]

    def kept(fits):
        return [row for row, each in zip(said, every, strict=True) if fits(each)]

    def filtered(**choices):
        found = search(workspace, query, **choices)
        return [(key, each.score) for key, each in zip(keys(found), found, strict=True)]

    assert filtered(state=state) == kept(lambda each: each.freshness.state in state)
    assert filtered(category="talk") == kept(lambda each: each.entry.category == "talk")
    assert filtered(tags={"domain": "home"}) == kept(lambda each: each.entry.tags.get("domain") == "home")
    assert filtered(limit=limit) == said[:limit]
    assert searching.search(workspace, "neo", query, limit=limit, as_of=DAY).total == len(every)
    assert [each.score for each in every] == sorted((each.score for each in every), reverse=True)


@fewer
@given(text=files(), extra=st.lists(st.sampled_from(["zebra", "other words", "nothing"]), min_size=1), query=queries)
def test_an_entry_that_does_not_fit_takes_no_hit_away(tmp_path_factory, text, extra, query):
    assume("##" in text)  # the first header takes what has no category out of sight
    workspace = opened(tmp_path_factory.getbasetemp() / "more", text)
    before = {(each.entry.category, each.entry.raw) for each in search(workspace, query)}
    put_bytes(workspace, "neo/user", f"{text}\n## other\n" + "\n§\n".join(extra) + "\n")
    after = {(each.entry.category, each.entry.raw) for each in search(workspace, query)}
    assert before == after


@fewer
@given(text=files(), query=queries, data=st.data())
def test_a_newer_date_never_ranks_an_entry_lower(tmp_path_factory, text, query, data):
    workspace = opened(tmp_path_factory.getbasetemp() / "newer", text)
    dated = [each for each in search(workspace, query) if each.freshness.basis in DATED_BY]
    assume(dated)
    chosen = data.draw(st.sampled_from(dated))
    old = chosen.freshness.day
    new = old + timedelta(days=data.draw(st.integers(0, (DAY - old).days)))
    start = chosen.entry.start
    before = keys(search(workspace, query)).index(("user", start))
    raw = chosen.entry.raw.replace(f"{chosen.freshness.basis}: {old}", f"{chosen.freshness.basis}: {new}")
    put_bytes(workspace, "neo/user", text[:start] + raw + text[chosen.entry.end :])
    assert keys(search(workspace, query)).index(("user", start)) <= before


@given(text=texts(), query=queries)
def test_the_index_of_any_text_agrees_with_the_document(text, query):
    document = parse(text)
    index = Index(document)
    assert index.lengths == [len(e.body) for e in document.entries]
    for term in parse_query(query):
        found = index.places(term)
        for number, entry in enumerate(document.entries):
            stands = bool(snippet(entry.body, (term,), len(entry.body) + 1).hits)
            assert number in found if stands else number not in found or entry.category != UNCATEGORIZED


@fewer
@given(text=files(), extra=entries())
def test_every_word_of_an_entry_finds_it_whatever_was_added_before(tmp_path_factory, text, extra):
    workspace = opened(tmp_path_factory.getbasetemp() / "own", text)
    for word in WORDS:
        search(workspace, word)
    edited = f"{text}\n## own\n{extra}\n"
    put_bytes(workspace, "neo/user", edited)
    fresh = opened(tmp_path_factory.getbasetemp() / "own-fresh", edited)
    for word in WORDS:
        found, anew = search(workspace, word), search(fresh, word)
        assert [(each.entry, each.score) for each in found] == [(each.entry, each.score) for each in anew]
        there = {each.start for each in parse(edited).entries if each.category == "own" and word in each.body.split()}
        assert there <= {each.entry.start for each in found}


@given(body=st.text(max_size=400), query=queries, width=st.integers(10, WIDTH))
def test_a_snippet_is_a_piece_of_the_body(body, query, width):
    shown = snippet(body, parse_query(query), width)
    assert len(shown.text) <= max(width, 40) + 2
    ends = [place for hit in shown.hits for place in hit]
    assert ends == sorted(ends)
    assert all(0 <= start < end <= len(shown.text) for start, end in shown.hits)
