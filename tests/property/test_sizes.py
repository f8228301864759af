"""What holds of the sizes of any prompt, and of any estimate of tokens."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from catmem.config.config import NO_ROOT
from catmem.config.profile import Profile, PromptSettings
from catmem.model.document import parse
from catmem.prompt.sizes import Size, WholeSizes, estimated_tokens, measure

DAY = date(2026, 11, 21)
TAGS = ["", "[verified_date: 2026-11-01] ", "[verified_date: 2026-01-01] ", "[expires: 2026-02-01] "]
WORDS = ["short", "Größe", "会议", "42", "a-b", "the office"]

texts = st.text(alphabet=st.characters(codec="utf-8"))
bodies = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
sections = st.lists(
    st.tuples(st.sampled_from(["talk", "pay", "code"]), st.lists(st.tuples(st.sampled_from(TAGS), bodies), max_size=3)),
    max_size=4,
)
profiles = st.builds(
    lambda user, memory, **how: Profile(
        "neo", user_memory_categories=user, memory_categories=memory, prompt=PromptSettings(order="file", **how)
    ),
    user=st.sampled_from([(), ("talk",), ("pay", "code"), ("*",)]),
    memory=st.sampled_from([(), ("talk",), ("*",)]),
    style=st.sampled_from(["markdown", "xml", "hermes"]),
    stale=st.sampled_from(["note", "drop"]),
    unverified=st.sampled_from(["note", "plain"]),
    expired=st.sampled_from(["note", "drop"]),
)


def written(drawn):
    return "".join(
        f"## {title}\n" + "\n§\n".join(f"{tags}{body}" for tags, body in entries) + "\n\n" for title, entries in drawn
    )


@given(texts, texts)
def test_a_text_has_no_more_tokens_than_bytes_and_a_part_no_more_than_the_whole(one, other):
    assert estimated_tokens(one) <= len(one.encode())
    assert estimated_tokens(one) <= estimated_tokens(one + other) <= estimated_tokens(one) + estimated_tokens(other) + 1


@given(texts, texts)
def test_lines_are_counted_by_themselves(one, other):
    both = estimated_tokens(one.strip()) + 1 + estimated_tokens(other.strip())
    assert estimated_tokens(f"{one.strip()}\n{other.strip()}") == both or not (one.strip() and other.strip())


@given(sections, sections, profiles)
def test_a_prompt_shows_no_more_facts_than_flat_files(user, memory, profile):
    whole = WholeSizes(profile, {"user": parse(written(user)), "memory": parse(written(memory))}, NO_ROOT, DAY)
    sizes = measure(whole, profile)
    assert sizes.flat.tokens <= sizes.files.tokens
    for name in ("stale", "expired"):
        assert sizes.left_out.get(name, 0) + sizes.marked.get(name, 0) <= sizes.in_flat[name]
    bodies = [body for drawn in (user, memory) for _, entries in drawn for _, body in entries]
    assert len(whole.facts) == len(bodies)
    flat = ["\n§\n".join(body for _, entries in drawn for _, body in entries) for drawn in (user, memory)]
    assert sizes.flat == Size(sum(map(len, flat)), sum(map(estimated_tokens, flat)))
