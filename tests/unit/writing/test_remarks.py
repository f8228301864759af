"""What the answer to a write says beside what was done: its notes and warnings."""

from datetime import date

import pytest

from catmem.errors import EditError
from tests.roots import make_root, put_bytes

DAY = date(2026, 5, 1)
TEXT = """\
## Talk
[verified_date: 2026-01-02, domain: a] short answers
§
no calls

## Pay
secret
"""
READS_TALK = "user_memory_categories: [talk]\nwritable_categories: ['*']\n"


@pytest.fixture
def workspace(tmp_path):
    profiles = {"neo": READS_TALK, "boss": "tier: 1\nuser_memory_categories: ['*']\n"}
    return make_root(tmp_path, profiles=profiles, files={"neo/user": TEXT})


# --- an addition ---


def test_an_entry_that_is_expired_when_it_is_added_is_noted(workspace):
    (note,) = workspace.add("neo", "Gone already.", category="talk", tags={"expires": "2025-01-01"}).notes
    assert note == "'Gone already.' expired on 2025-01-01, and stays out of prompts until its tag expires is changed"


def test_words_that_begin_like_tags_are_noted(workspace):
    (note,) = workspace.add("neo", "[expires: 2027-01-01] Rent is due.", category="talk").notes
    assert note.endswith("begins like tags, and is kept as words; give tags by name (--tag KEY=VALUE)")
    (note,) = workspace.replace("neo", "no calls", content="[created: 2020-01-01] no calls").notes
    assert "begins like tags" in note
    (note,) = workspace.add("neo", "[mood: good] Rent.", category="talk", actor="neo").notes
    assert note.endswith("kept as words; give tags by name")


def test_what_is_no_text_and_no_operation_is_told(workspace):
    with pytest.raises(EditError, match=r"the tag 'expires' is .*, and no text") as caught:
        workspace.add("neo", "Rent", category="talk", tags={"expires": DAY})
    assert caught.value.code == "bad_tag"
    calls = {
        "operations must be a list": lambda: workspace.write("neo", [{"action": "add", "content": "Rent"}]),
        "operations must be a list of": lambda: workspace.write("neo", None),
        "content must be a text, not list": lambda: workspace.add("neo", ["Rent"]),
        "category must be a text, not list": lambda: workspace.add("neo", "Rent", category=["talk"]),
        "tags must be a mapping, not list": lambda: workspace.add("neo", "Rent", tags=["a"]),
        "target must be a text, not list": lambda: workspace.add("neo", "Rent", target=["user"]),
        "profile must be a text, not int": lambda: workspace.add(1, "Rent"),
        "op_id must be a text, not int": lambda: workspace.add("neo", "Rent", op_id=4),
        "expected must be a text, not list": lambda: workspace.add("neo", "Rent", expected=[4]),
    }
    for message, call in calls.items():
        with pytest.raises(EditError, match=message) as caught:
            call()
        assert caught.value.code == "wrong_type"


def test_a_new_category_that_is_nearly_called_as_another_is_noted_and_shows_an_agent_none_that_it_does_not_see(
    workspace,
):
    done = workspace.add("neo", "no mails", category="talks")
    assert done.notes == ("talks is a new category. Did you mean talk?",)
    assert workspace.add("neo", "no mail", category="talks").notes == ()  # by now it is one
    assert workspace.add("neo", "more", category="pays", actor="neo").notes == ()
    assert workspace.move("neo", "no calls", "pays2").notes == ("pays2 is a new category. Did you mean pays?",)


def test_a_person_is_told_of_any_new_category_where_some_are_declared(tmp_path):
    config = "version: 1\ntaxonomy: {categories: {talk: {}}}\n"
    root = make_root(tmp_path, config=config, profiles={"neo": READS_TALK}, files={"neo/user": TEXT})
    assert root.move("neo", "no calls", "office").notes == (
        "office is a new category; 'catmem access' says who reads it",
    )
    assert root.add("neo", "Open at nine.", category="office").notes == ()


@pytest.mark.parametrize("name", ["uncategorized", "Uncategorized"])
def test_uncategorized_is_no_category_but_none(workspace, name):
    assert workspace.move("neo", "no calls", name).entries[0].category == "__uncategorized__"
    assert workspace.add("neo", "Later.", category=name).entries[0].category == "__uncategorized__"


# --- other words for what was verified ---


@pytest.mark.parametrize("tags", [None, {}, {"domain": "b"}, {"verified_date": "2026-01-02"}])
def test_new_words_for_a_verified_entry_are_noted(workspace, tags):
    written = workspace.replace("neo", "short", "long answers", tags=tags)
    assert written.notes == (
        "'long answers' has new words, so its verification of 2026-01-02 is gone; verify it if they hold",
    )
    assert "verified_date" not in written.entries[0].tags


@pytest.mark.parametrize(
    ("old_text", "content", "tags"),
    [
        ("short", None, {"domain": "b"}),
        ("short", "short answers", {"domain": "b"}),
        ("short", "long answers", {"verified_date": "2026-05-01"}),
        ("short", "long answers", {"verified_date": None}),
        ("no calls", "calls", None),
    ],
    ids=["tags alone", "the same words", "verified with it", "no longer verified", "never verified"],
)
def test_without_new_words_or_a_verification_there_is_nothing_to_note(workspace, old_text, content, tags):
    written = workspace.replace("neo", old_text, content, tags=tags)
    assert (written.changed, written.notes) == (True, ())


# --- what is there already ---


@pytest.mark.parametrize(
    "tags", [{"domain": "b"}, {"domain": ["a"]}, {"source": "me"}, {"domain": "a", "source": "me"}]
)
def test_tags_for_a_text_that_is_there_need_a_replace(workspace, tags):
    written = workspace.add("neo", "short answers", category="talk", tags=tags)
    (note,) = written.notes
    assert note.endswith("so no second copy was made; to give it these tags, use replace OLD --tag KEY=VALUE")
    assert not written.changed


def test_a_hidden_double_is_not_told(workspace):
    written = workspace.move("neo", "no calls", "pay", actor="neo")
    put_bytes(workspace, "neo/user", TEXT.replace("secret", "no calls"))
    again = workspace.move("neo", "no calls", "pay", actor="neo")
    assert (written.notes, again.notes) == ((), ())


# --- what is verified and expired ---


@pytest.mark.parametrize(
    ("profile", "effect"),
    [
        (READS_TALK, "stays out of prompts until its tag expires is changed"),
        (f"{READS_TALK}prompt: {{expired: note}}\n", "prompts say so"),
    ],
)
@pytest.mark.parametrize("verified", ["", "verified_date: 2026-05-01, "], ids=["now", "already"])
def test_an_expired_entry_that_is_verified_is_noted(tmp_path, profile, effect, verified):
    text = f"## Talk\n[{verified}expires: 2026-04-30] x\n"
    workspace = make_root(tmp_path, profiles={"neo": profile}, files={"neo/user": text})
    assert workspace.verify("neo", "x", as_of=DAY).notes[-1] == f"'x' expired on 2026-04-30, and {effect}"


# --- what its owner does not read ---

UNREAD = "the profile neo does not read the category pay (user), so this will not be in its prompt"
WRITES = {
    "add": lambda ws, category, **how: ws.add("neo", "x", category=category, **how),
    "move": lambda ws, category, **how: ws.move("neo", "no calls", category, **how),
    "replace": lambda ws, category, **how: ws.replace("neo", "s", "x", category=category, **how),
}


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_person_is_warned_of_what_the_owner_does_not_read(workspace, write, dry_run):
    assert write(workspace, "pay", dry_run=dry_run).warnings == (UNREAD,)


@pytest.mark.parametrize("include", [None, True, False])
@pytest.mark.parametrize("selectors", ["[talk]", "['*']", "[talk, '!__uncategorized__']"])
@pytest.mark.parametrize("text", ["one\n", "one\n\n## Talk\ntwo\n"], ids=["flat", "with sections"])
def test_the_warning_agrees_with_the_prompt(tmp_path, include, selectors, text):
    profile = f"user_memory_categories: {selectors}\n"
    if include is not None:
        profile += f"include_uncategorized: {str(include).lower()}\n"
    workspace = make_root(tmp_path, profiles={"neo": profile}, files={"neo/user": text})
    written = workspace.add("neo", "new words", category="__uncategorized__")
    assert bool(written.warnings) != ("new words" in workspace.prompt("neo").text)


# --- entries that say the same ---

ALIKE = "'same' is in talk 2 times, word for word; the first of them was meant"
ON_ALIKE = {
    "replace": (lambda ws: ws.replace("neo", "same", "other"), "## Talk\nother\n§\nx\n§\nsame\n"),
    "remove": (lambda ws: ws.remove("neo", "same"), "## Talk\nx\n§\nsame\n"),
    "move": (lambda ws: ws.move("neo", "same", "pay"), "## Talk\nx\n§\nsame\n\n## Pay\nsame\n"),
    "verify": (lambda ws: ws.verify("neo", "same"), "## Talk\n[verified_date: 2026-05-01] same\n§\nx\n§\nsame\n"),
}


@pytest.mark.parametrize(("write", "after"), ON_ALIKE.values(), ids=ON_ALIKE)
def test_of_entries_that_say_the_same_the_first_is_meant(workspace, write, after):
    put_bytes(workspace, "neo/user", "## Talk\nsame\n§\nx\n§\nsame\n")
    written = write(workspace)
    assert (written.after, written.notes) == (after, (ALIKE,))


# --- the first section of a flat file ---

HEADED = "# Deploy on Fridays.\n§\nmine\n"
TITLED = (
    "the heading at the head of the file ('Deploy on Fridays.') is its title now, and no entry: if it is a fact, add it "
    "without the #"
)
FIRST_SECTION = {
    "add": lambda ws: ws.add("neo", "x", category="talk"),
    "move": lambda ws: ws.move("neo", "mine", "talk"),
}


@pytest.mark.parametrize("write", FIRST_SECTION.values(), ids=FIRST_SECTION)
def test_that_the_heading_of_a_flat_file_becomes_its_title_is_noted(workspace, write):
    put_bytes(workspace, "neo/user", HEADED)
    assert TITLED in write(workspace).notes


# --- tags that are slips ---

SLIP = "the tag verifed_date is not declared and has no effect; verified_date may be meant"
SLIPS = {
    "verifed_date": SLIP,
    "verified": SLIP.replace("verifed_date is", "verified is"),
    "expire": SLIP.replace("verifed_date is", "expire is").replace("verified_date may", "expires may"),
    "mood": None,
    "team": None,
    "domain": None,
}


@pytest.fixture
def tagged(tmp_path):
    config = "version: 1\ntags: {team: {}}\n"
    profiles = {"neo": READS_TALK + "may_verify: true\n"}
    return make_root(tmp_path, config=config, profiles=profiles, files={"neo/user": TEXT})


@pytest.mark.parametrize("actor", [None, "neo"])
@pytest.mark.parametrize(("name", "note"), SLIPS.items(), ids=SLIPS)
def test_a_new_tag_that_is_nearly_a_known_one_is_written_and_noted(tagged, name, note, actor):
    tags = {name: "2026-13-01" if name != "domain" else "a"}
    added = tagged.add("neo", "x", category="talk", tags=tags, actor=actor)
    replaced = tagged.replace("neo", "no calls", None, tags=tags, actor=actor)
    for written in (added, replaced):
        assert written.entries[0].tags.items() >= tags.items()
        assert [each for each in written.notes if "declared" in each] == ([] if note is None else [note])
