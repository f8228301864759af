"""What the answer to a write says beside what was done: its notes and warnings."""

from datetime import date

import pytest

from catmem.errors import EditError, UnknownNameError
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


NEW_WORDS = "'long answers' has new words, so its verification of 2026-01-02 is gone; verify it if they hold"
NO_SECOND = "'short answers' is already in talk of neo/user, so no second copy was made; to give it these tags, use replace OLD --tag KEY=VALUE"
LIKE_TAGS = "begins like tags, and is kept as words; give tags by name"
LIKE_A_BOUNDARY = (
    "has a line that looks like a boundary (§ or ##), and is kept as words of one entry; "
    "add each entry by itself, and name its category"
)
TITLED = (
    "the heading at the head of the file ('Deploy on Fridays.') is its title now, and no entry: if it is a fact, add it "
    "without the #"
)
HEADED = "# Deploy on Fridays.\n§\nno calls\n"


def add(content, **how):
    return lambda ws: ws.add("neo", content, category=how.pop("category", "talk"), **how)


def reword(old_text, content, **tags):
    return lambda ws: ws.replace("neo", old_text, content, tags=tags or None)


def move(category, **how):
    return lambda ws: ws.move("neo", "no calls", category, **how)


NOTED = {
    "expired when it is added": (
        add("Gone already.", tags={"expires": "2025-01-01"}),
        "'Gone already.' expired on 2025-01-01, and stays out of prompts until its tag expires is changed",
    ),
    "words like tags": (
        add("[expires: 2027-01-01] Rent is due."),
        f"'[expires: 2027-01-01] Rent is due.' {LIKE_TAGS} (--tag KEY=VALUE)",
    ),
    **{
        f"words like tags, with a slip: {text}": (add(text), f"{text!r} {LIKE_TAGS} (--tag KEY=VALUE)")
        for text in (
            "[Expires: 2027-01-01] Rent.",
            "[expires:2027-01-01] Rent.",
            "[expires: 2027-01-01]Rent.",
            "[expires 2027-01-01] Rent.",
            "[expires=2027-01-01] Rent.",
            "[verified date: 2026-01-01] Rent.",
            "[verified: 2026-01-01, domain: a Rent.",
            "- [domain:finance] Rent.",
            "[domain = finance] Rent.",
            "[created_date: 2026-01-01]. Rent.",
        )
    },
    **{
        f"words like a boundary: {text!r}": (add(text), f"{' '.join(text.split())!r} {LIKE_A_BOUNDARY}")
        for text in ("§", "one\n§\ntwo", "## Pay\nmore", "one\n## Pay")
    },
    "new words like a boundary": (
        reword("no calls", "no calls\n§\nno mails"),
        f"'no calls § no mails' {LIKE_A_BOUNDARY}",
    ),
    "no boundaries": (add("§ 5\n### Pay\n```\n## code\n```"), None),
    "a link, a label and a word of a tag's name": (add("[source code](x) and [expires soon] Rent."), None),
    "words like tags, of an agent": (add("[mood: good] Rent.", actor="neo"), f"'[mood: good] Rent.' {LIKE_TAGS}"),
    "a category nearly called as one that the agent does not see": (add("more", category="pays", actor="neo"), None),
    "new words for what was verified": (reword("short", "long answers"), NEW_WORDS),
    "with other tags": (reword("short", "long answers", domain="b"), NEW_WORDS),
    "with the date of the old ones": (reword("short", "long answers", verified_date="2026-01-02"), NEW_WORDS),
    "tags alone": (reword("short", None, domain="b"), None),
    "the same words": (reword("short", "short answers", domain="b"), None),
    "verified with it": (reword("short", "long answers", verified_date="2026-05-01"), None),
    "no longer verified": (reword("short", "long answers", verified_date=None), None),
    "never verified": (reword("no calls", "calls"), None),
    "another tag for what is there": (add("short answers", tags={"domain": "b"}), NO_SECOND),
    "a list for it": (add("short answers", tags={"domain": ["a"]}), NO_SECOND),
    "one tag more for it": (add("short answers", tags={"source": "me"}), NO_SECOND),
    "its tag and one more": (add("short answers", tags={"domain": "a", "source": "me"}), NO_SECOND),
    "a move": (move("pay", actor="neo"), None),
    "a move to where a hidden one says the same": (
        lambda ws: (put_bytes(ws, "neo/user", TEXT.replace("secret", "no calls")), move("pay", actor="neo")(ws))[1],
        None,
    ),
}


@pytest.mark.parametrize(("write", "note"), NOTED.values(), ids=NOTED)
def test_a_write_is_noted(workspace, write, note):
    written = write(workspace)
    assert written.notes == (() if note is None else (note,))
    assert written.changed is (note != NO_SECOND)
    if note == NEW_WORDS:
        assert "verified_date" not in written.entries[0].tags


def test_a_person_is_told_once_of_a_new_category_where_some_are_declared(tmp_path):
    config = "version: 1\ntaxonomy: {categories: {talk: {}}}\n"
    root = make_root(tmp_path, config=config, profiles={"neo": READS_TALK}, files={"neo/user": TEXT})
    assert move("office")(root).notes == ("office is a new category; 'catmem access' says who reads it",)
    assert root.add("neo", "Open at nine.", category="office").notes == ()


@pytest.mark.parametrize("write", [add("x"), move("talk")], ids=["add", "move"])
def test_that_the_heading_of_a_flat_file_becomes_its_title_is_noted(workspace, write):
    put_bytes(workspace, "neo/user", HEADED)
    assert TITLED in write(workspace).notes


@pytest.mark.parametrize("name", ["uncategorized", "Uncategorized"])
def test_uncategorized_is_no_category_but_none(workspace, name):
    assert workspace.move("neo", "no calls", name).entries[0].category == "__uncategorized__"
    assert workspace.add("neo", "Later.", category=name).entries[0].category == "__uncategorized__"


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


def test_a_slip_of_a_category_is_refused_and_shows_an_agent_none_that_it_does_not_see(workspace):
    with pytest.raises(UnknownNameError, match="the category 'talks' is not declared") as caught:
        workspace.add("neo", "no mails", category="talks")
    assert caught.value.code == "unknown_category"
    assert caught.value.hint == "Did you mean 'talk'? If not, declare it below taxonomy.categories in catmem.yaml."
    with pytest.raises(UnknownNameError):
        workspace.move("neo", "no calls", "pay2")
    assert workspace.add("neo", "more", category="pays", actor="neo").notes == ()


@pytest.mark.parametrize("hidden", ["", "\n## Talks\nnever\n", "\n## Walk\nnever\n"])
def test_a_section_that_an_agent_does_not_see_makes_no_name_known(tmp_path, hidden):
    root = make_root(tmp_path, profiles={"neo": READS_TALK}, files={"neo/user": TEXT + hidden})
    with pytest.raises(UnknownNameError) as caught:
        root.add("neo", "no mails", category="talks", actor="neo")
    assert caught.value.hint == "Did you mean 'talk'? If not, declare it below taxonomy.categories in catmem.yaml."
    if "Talks" in hidden:
        assert root.add("neo", "no mails", category="talks").changed


def test_a_name_is_no_slip_if_it_differs_by_a_word_or_the_root_has_it(tmp_path):
    neo = "user_memory_categories: [talk, talc]\nwritable_categories: ['*']\n"
    ada = "user_memory_categories: [talky]\n"
    files = {"neo/user": TEXT, "ada/user": "## Talked\nnever\n"}
    config = "version: 1\ntaxonomy: {categories: {talks: {}}}\n"
    root = make_root(tmp_path, config=config, profiles={"neo": neo, "ada": ada}, files=files)
    for new in ("talk-hr", "talc-y"):
        assert f"{new} is a new category. Did you mean tal" in root.add("neo", "no mails", category=new).notes[0]
    for known in ("talc", "talks", "talky", "talked"):
        assert root.add("neo", "no mails", category=known).changed
    for name in ("talkz", "tlak", "t-alk"):
        with pytest.raises(UnknownNameError):
            root.add("neo", "no mail", category=name)
    with pytest.raises(UnknownNameError):  # an agent learns nothing of other files
        root.add("neo", "no mail", category="talky", target="memory", actor="neo")


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


# --- tags that are slips ---

SLIPS = {
    "teams": "the tag teams is not declared and has no effect; team may be meant",
    "domian": "the tag domian is not declared and has no effect; domain may be meant",
    "mood": None,
    "course": "the tag course is not declared and has no effect; source may be meant",
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


@pytest.mark.parametrize("actor", [None, "neo"])
@pytest.mark.parametrize(
    ("name", "meant"),
    [("verifed_date", "verified_date"), ("verified", "verified_date"), ("expire", "expires"), ("sources", "source")],
)
def test_a_new_tag_that_is_a_slip_of_one_of_the_format_is_refused(tagged, name, meant, actor):
    for write in (
        lambda: tagged.add("neo", "x", category="talk", tags={name: "2026-01-13"}, actor=actor),
        lambda: tagged.replace("neo", "no calls", None, tags={name: "2026-01-13"}, actor=actor),
    ):
        with pytest.raises(EditError, match=f"the tag {name} is none of the format") as caught:
            write()
        assert (caught.value.code, caught.value.key) == ("bad_tag", f"tags.{name}")
        assert caught.value.hint == f"Call it {meant}, or declare {name} under tags in catmem.yaml."


def test_such_a_tag_that_is_there_stays_and_can_go(tagged):
    put_bytes(tagged, "neo/user", "## Talk\n[expire: 2027-01-01] Rent.\n")
    assert tagged.replace("neo", "Rent.", "Rent is due.").entries[0].tags == {"expire": "2027-01-01"}
    assert tagged.replace("neo", "Rent is due.", None, tags={"expire": None}).entries[0].tags == {}
