"""What is forgotten, and what is not: in entries, in bytes, and in catmem.seed.lock."""

import json
import os

import pytest

from catmem import Operation
from catmem.errors import UnreadableError
from catmem.model.document import parse
from catmem.seeding.seed_lock import LOCK_NAME
from catmem.workspace.purging import purge
from catmem.workspace.redaction import Redaction, content_redaction, said_in
from catmem.workspace.upkeep import fsck
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.refusals import refusal
from tests.together import together
from tests.unit.seeding.seeds import DAY, bodies, locked, seed, write_files
from tests.unit.workspace.tree import holding

TEXT = "## Talk\nshort answers\n\n## Pay\nThe card is 4711.\n"


@pytest.fixture
def workspace(tmp_path):
    for name in ("neo", "ann"):
        put(tmp_path / "profiles" / f"{name}.yaml", "user_memory_categories: ['*']\n")
        put(tmp_path / "homes" / name / "USER.md", TEXT)
    opened = Workspace.open(tmp_path, search=False)
    yield opened
    opened.store.close()


def kept(workspace, entity="neo/user"):
    """All that an entity's file and history hold."""
    store = workspace.store
    return b"\0".join([store.peek(entity), *(data for _, data in store.replay(entity))]).decode()


def texts(report):
    return [each.entry.body for each in report.entries if each.entity == "neo/user"]


def test_older_wordings_that_hold_the_text_are_forgotten_with_the_present_one_wherever_it_stands(workspace):
    workspace.replace("neo", "4711", "Pay with 4711.")
    workspace.add("neo", "Pay with 4711.", category="talk")
    workspace.add("neo", "4711 is blocked", category="talk", tags={"source": "a call"})
    workspace.remove("neo", "is blocked")
    report = purge(workspace, "neo", "4711\n")
    assert set(texts(report)) == {"Pay with 4711.", "4711 is blocked", "The card is 4711."}
    assert "4711" not in kept(workspace)
    assert "short answers" in workspace.store.peek("neo/user").decode()
    assert not fsck(workspace).damaged


def test_a_dry_run_lists_each_body_with_its_newest_category_and_id(workspace):
    workspace.verify("neo", "4711")
    workspace.replace("neo", "4711", "Pay with 4711.")
    workspace.move("neo", "4711", "talk")
    before = kept(workspace)
    report = purge(workspace, "neo", "4711", dry_run=True)
    (now,) = [entry for entry in workspace.read("neo").document.entries if "4711" in entry.body]
    assert [(each.entity, each.entry.category, each.entry.body) for each in report.entries] == [
        ("neo/user", "talk", "Pay with 4711."),
        ("neo/user", "pay", "Pay with 4711."),
        ("neo/user", "pay", "The card is 4711."),
        ("ann/user", "pay", "The card is 4711."),
    ]
    assert report.entries[0].entry.id == now.id
    assert report.entries[2].entry.tags
    assert (report.entities, kept(workspace)) == (("neo/user", "ann/user"), before)


def test_the_same_words_elsewhere_go_and_other_words_stay(workspace):
    workspace.add("ann", "4711 is my lucky number", category="talk")
    report = purge(workspace, "neo", "4711")
    assert report.entities == ("neo/user", "ann/user")
    assert report.left == (("homes/ann/USER.md", "ann/user holds the words too: purge it there"),)
    assert "The card" not in kept(workspace, "ann/user")
    assert "4711 is my lucky number" in kept(workspace, "ann/user")


def test_an_id_means_one_body_whatever_its_tags(workspace):
    workspace.add("neo", "The card is 4711. Sign for it.", category="pay")
    workspace.verify("neo", "The card is 4711.")
    report = purge(workspace, "neo", parse(TEXT).entries[1].id)
    assert set(texts(report)) == {"The card is 4711."}
    assert kept(workspace).count("The card is 4711.") == kept(workspace).count("The card is 4711. Sign for it.") > 0
    assert not [fault for fault in fsck(workspace).faults if fault.code == "changed_outside"]


def test_several_present_bodies_are_ambiguous(workspace):
    workspace.add("neo", "The card is 4711. Sign for it.", category="pay")
    before = kept(workspace)
    caught = refusal("ambiguous", purge, workspace, "neo", "The card is 4711.")
    assert len(caught.places) == 2
    assert caught.hint.startswith("Nothing was forgotten.")
    assert kept(workspace) == before


def test_with_every_all_bodies_go_at_once(workspace):
    for text in ("4711 opens the door.", "The card is 4711. Sign for it."):
        workspace.add("neo", text, category="pay")
    assert set(texts(purge(workspace, "neo", "4711", every=True, dry_run=True))) >= {"4711 opens the door."}
    assert "4711" in kept(workspace)
    report = purge(workspace, "neo", "4711", every=True)
    assert set(texts(report)) == {"The card is 4711.", "4711 opens the door.", "The card is 4711. Sign for it."}
    assert "4711" not in kept(workspace)


def test_what_nobody_holds_any_more_is_found_in_the_past_also_in_a_tag(workspace):
    workspace.replace("neo", "4711", "No card.")
    workspace.add("neo", "Ask the porter.", category="talk", tags={"source": "letter 4712"})
    workspace.remove("neo", "porter")
    for words, entry in (("4711", "The card is 4711."), ("4712", "Ask the porter.")):
        assert texts(purge(workspace, "neo", words)) == [entry]
        assert words not in kept(workspace)
    assert "No card." in kept(workspace)


# --- where no body holds it ------------------------------------------------------------------------------------------


def test_an_entry_that_holds_it_in_its_tags_is_one_that_holds_it(workspace):
    for name in ("neo", "ann"):
        workspace.add(name, "Ask the porter.", category="talk", tags={"source": "letter about 4711"})
    workspace.add("ann", "Ask the porter.", category="pay")
    refusal("ambiguous", purge, workspace, "neo", "4711")
    report = purge(workspace, "neo", "4711", every=True)
    assert (report.entities, report.left) == (("neo/user", "ann/user"), ())
    assert "4711" not in kept(workspace) + kept(workspace, "ann/user")
    assert [entry.category for entry in workspace.read("ann").document.entries if "porter" in entry.body] == ["pay"]
    assert not fsck(workspace).damaged


@pytest.mark.parametrize("dry_run", [True, False])
@together("line", ["## The 4711 desk\nfront door\n", "# About 4711\n"])
def test_a_line_outside_all_entries_is_refused_and_goes_from_the_past(workspace, line, dry_run):
    path = workspace.path("neo", "user")
    path.write_text(line + TEXT, encoding="utf-8")
    workspace.add("neo", "a note", category="talk")
    before = path.read_bytes()
    caught = refusal("in_line", purge, workspace, "neo", "4711", dry_run=dry_run)
    assert str(caught) == "line 1 of neo/user holds the text outside its entries"
    assert path.read_bytes() == before
    path.write_bytes(before.replace(line.encode(), line.replace("4711", "front").encode()))
    report = purge(workspace, "neo", "4711", dry_run=dry_run)
    assert report.left == ()
    if not dry_run:
        assert "4711" not in kept(workspace)
        assert "a note" in kept(workspace)
        assert not fsck(workspace).damaged


@pytest.mark.parametrize("words", ["zebra", "Zebra", "zebra deal"])
def test_a_category_that_has_it_in_other_capitals_in_its_heading_goes_from_the_history(workspace, words):
    workspace.add("neo", "the price is five", category="zebra-deal")
    workspace.add("neo", f"the {words} pays late", category="zebra-deal")
    assert "## Zebra deal" in workspace.path("neo", "user").read_text(encoding="utf-8")
    path = workspace.path("neo", "user")
    path.write_text(path.read_text(encoding="utf-8").replace("## Zebra deal", "## ZEBRA deal"), encoding="utf-8")
    assert purge(workspace, "neo", words).left == ()
    assert holding(workspace.root, b"zebra") == []


def test_the_name_of_a_writer_that_holds_it_is_named(workspace, monkeypatch):
    monkeypatch.setenv("CATMEM_PERSON", "Zebra Smith")
    workspace.write("neo", [Operation("add", content="The plan is called Zebra.", category="talk")])
    left = {each.why for each in purge(workspace, "neo", "Zebra").left}
    assert "the name of who wrote a revision says it, and stays in the history" in left
    assert any("name of a writer there" in why for why in left)


def test_an_op_id_with_it_is_named(workspace):
    for name in ("neo", "ann"):
        workspace.write(name, [Operation("add", content="a note", category="talk")], op_id="call 4711")
    left = purge(workspace, "neo", "4711").left
    assert {each.path for each in left} == {"homes/neo/.catmem/journal", "homes/ann/.catmem/journal"}
    assert {each.why for each in left} == {"the op_id of a write says it, and stays in the history"}


@together(
    ("old_text", "code"),
    [("", "empty"), (" \n", "empty"), ("4712", "no_match"), ("b2:" + "0" * 32, "no_match"), ("purged", "in_mark")],
)
def test_what_is_no_entry(workspace, old_text, code):
    workspace.add("neo", "It was purged.", category="talk")
    refusal(code, purge, workspace, "neo", old_text)


# --- entries that are taken out of bytes ------------------------------------------------------------------------------


def redaction(body, text=None):
    """Of an entry, by a text or, as by its id, by its body alone."""
    return Redaction(parse, text or body, frozenset([body]), is_exact=text is None)


@together("newline", [b"\n", b"\r\n"])
@together(
    ("stored", "body"),
    [
        ("in", "in"),
        ("[source: a call] in", "in"),
        ("- [source: a call]  in", "- in"),
        ("[source: a call]\nin\r\nside", "in\nside"),
        ("---\nsource: a call\n---\nin", "in"),
        ("\\## in\n\\§", "## in\n§"),
        ("\\[source: a call] in", "[source: a call] in"),
        ("- \\[a: b] in", "- [a: b] in"),
        ("[source: a call]", "[source: a call]"),
        ("```\n## in\n```", "```\n## in\n```"),
    ],
)
def test_an_entry_goes_in_every_form_and_all_other_bytes_stay(stored, body, newline):
    frame = [
        b"## In round",
        b"in\xc3\xa9 in it",
        b"\xc2\xa7",
        None,
        b"\xc2\xa7",
        b"Come in.",
        b"",
        b"## In",
        b"the end",
    ]
    lines = [stored.encode() if line is None else line for line in frame]
    expected = newline.join([b"[purged]" if line is None else line for line in frame])
    data = newline.join(lines)
    assert redaction(body)(data) == expected
    assert redaction(body)(expected) == expected
    assert redaction(body)(data + b"\xff") == b"[purged]"
    assert redaction(body)(expected + b"\xff") == expected + b"\xff"


def test_bytes_without_the_entry_are_not_even_parsed():
    def unread(data):
        raise AssertionError(data)

    assert Redaction(unread, "secret")(b"plain") == b"plain"


@together("data", [b"one\nsecret\ntwo", b"b0VIM\0secret\0x", b"[source: x] secret\r\n", b"two\nsecret\n\xff"])
def test_where_there_are_no_entries_the_end_of_a_line_counts(data):
    assert redaction("secret").in_bytes(data)
    assert redaction("now\nsecret").in_bytes(data)
    assert not redaction("secret").in_bytes(b"\xffsecrets\nno secret!\ntwo\nother")


@together(
    "text",
    [
        r'[source: "Z\xfcrich Quartz 4711\x2d2209"]',
        r'"Z\U000000FCrich\x20Quartz 4711\u002D2209"',
        "> Z\xfcrich\n> Quartz 4711-2209",
        "# Z\xfcrich Quartz\n#  4711-2209",
        "Zu\u0308rich Quartz 4711-2209",
        r"Zu\u0308rich Quartz 4711-2209",
    ],
)
def test_words_are_found_in_other_spellings_of_them(text):
    for words in ("Z\xfcrich Quartz 4711-2209", "Zu\u0308rich Quartz 4711-2209"):
        assert said_in(words, text)
        for encoding in ("utf-8", "utf-16-le", "utf-32", "utf-32-be"):
            assert said_in(words, text.encode(encoding))
        assert content_redaction(words)(text.encode()) == b"[purged]"
    assert not said_in("Z\xfcrich Quartz 4711-2209", "Z\xfcrich > Quartz 4711-2209")


@together("text", ["4711", "caf\xe9 4711"])
@together("encoding", ["cp1252", "utf-16-le", "utf-16-be"])
def test_the_text_counts_there_too_and_in_files_of_others(text, encoding):
    data = (
        f"\xe9 {text}\n".encode(encoding).join([b"\xff\xfe", b""])
        if "16" in encoding
        else f"{text} \xe9".encode(encoding)
    )
    for each in (redaction("the card 4711", text), redaction("the card 4711", text).elsewhere()):
        assert (each.in_bytes(data), each(data)) == (True, b"[purged]")


def test_what_is_over_the_limit_goes_whole_and_nothing_but_that():
    data = b"x" * (16 << 20)
    assert redaction("secret")(b"secret\n" + data) == b"[purged]"
    assert redaction("secret")(b"secrets\n" + data) == b"secrets\n" + data


@together(("data", "cut"), [(b"a\n\xc2\xa7\nthe sec\xc2", True), (b"a\n\xc2\xa7\nth", False), (b"", False)])
def test_half_an_entry_at_the_end_is_noticed(data, cut):
    assert redaction("the secret").is_cut(data) is cut


def test_removing_is_an_edit():
    assert redaction("secret").without(b"## A\nsecret\n\xc2\xa7\ncaf\n", "neo/user") == b"## A\ncaf\n"
    assert redaction("secret").without(b"caf\xe9\n", "neo/user") == b"caf\xe9\n"
    with pytest.raises(UnreadableError, match="neo/user holds the text"):
        redaction("secret").without(b"secret\n\xc2\xa7\ncaf\xe9\n", "neo/user")


def test_the_categories_of_a_note_go_if_their_slugs_say_it():
    note = {
        "actions": [{"action": "add", "category": "plan-b", "id": "b2:1"}],
        "sorted": {"plan-b": 2, "trips": 1, "talk": 1},
        "declared": ["plan-b"],
    }
    gone = {
        "actions": [{"action": "add", "category": "[purged]", "id": "b2:1"}],
        "sorted": {"[purged]": 2, "trips": 1, "talk": 1},
        "declared": ["[purged]"],
    }
    plan = redaction("the plan b", text="plan")
    assert plan.note(note, b"## Plan B\nAt four.\n") == gone
    assert plan.note(gone, b"## Plan B\nAt four.\n") == gone
    assert redaction("uncategorized", text="uncategorized").note({"sorted": {"__uncategorized__": 1}}, b"") == {
        "sorted": {"__uncategorized__": 1}
    }


# --- catmem.seed.lock and the copies of it ----------------------------------------------------------------------------

# No digest and no time of a journal has this text by chance.
CARD = 'The card is "4711-0815".\n\\## Not a header'
SEEDED = f"## Talk\nLikes tea.\n§\n[source: call] {CARD}\n§\nAsk for 47 cards.\n"


@pytest.fixture
def seeded(tmp_path):
    opened = Workspace.open(write_files(tmp_path, text=SEEDED), search=False)
    seed(opened, "neo", "ann")
    yield opened
    opened.store.close()


@pytest.fixture
def lock(seeded):
    return seeded.root / LOCK_NAME


def test_the_text_goes_from_the_lock_and_the_report_says_so(seeded, lock):
    before = lock.read_bytes()
    assert b"4711-0815" in before
    assert LOCK_NAME in purge(seeded, "boss", "4711-0815", dry_run=True).files
    assert lock.read_bytes() == before
    report = purge(seeded, "boss", "4711-0815")
    assert holding(seeded.root, b"4711-0815") == []
    assert LOCK_NAME in report.files
    assert report.left == ()
    assert locked(seeded) == locked(seeded, "ann/user") == ["Likes tea.", "Ask for 47 cards."]


@pytest.mark.parametrize("entity", ["boss", "neo"])
def test_a_seed_after_it_brings_nothing_back_and_takes_nothing_away(seeded, entity):
    purge(seeded, entity, "4711-0815")
    assert seeded.plan_seed("boss", ["neo", "ann"], as_of=DAY).in_sync
    seed(seeded, "neo", "ann")
    assert bodies(seeded) == ["Likes tea.", "Ask for 47 cards."]
    assert holding(seeded.root, b"4711-0815") == []


def test_the_words_that_a_target_keeps_go_too(seeded):
    for entity, old, new in (("neo/user", CARD, "Pay by 0815-4711 alone."), ("boss/user", CARD, "Cash it is.")):
        home = seeded.root / "homes" / entity.partition("/")[0] / "USER.md"
        home.write_text(home.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    seed(seeded, "neo", resolve="target")
    assert b"0815-4711" in (seeded.root / LOCK_NAME).read_bytes()
    report = purge(seeded, "neo", "0815-4711")
    assert holding(seeded.root, b"0815-4711") == [] == list(report.left)
    seed(seeded, "neo")
    assert bodies(seeded) == ["Likes tea.", "Ask for 47 cards."]


def test_a_lock_without_the_text_is_left_as_it_is(seeded, lock):
    seeded.add("boss", "The pin is odd.", category="talk")
    before = lock.read_bytes(), lock.stat().st_mtime_ns
    assert LOCK_NAME not in purge(seeded, "boss", "pin is odd").files
    assert (lock.read_bytes(), lock.stat().st_mtime_ns) == before


def test_what_only_the_lock_still_says_in_other_words_goes_as_well(seeded, lock):
    # The base of the next merge is an older wording, which the file and its history need not have.
    text = lock.read_text(encoding="utf-8")
    lock.write_text(text.replace("The card is", "Her card is"), encoding="utf-8")
    purge(seeded, "boss", "4711-0815")
    assert b"4711-0815" not in lock.read_bytes()


def test_the_same_words_in_a_file_that_no_seed_touched(seeded, lock):
    put(seeded.root / "profiles" / "zoe.yaml", "user_memory_categories: ['*']\n")
    put(seeded.root / "homes" / "zoe" / "USER.md", f"## Own\n{CARD}\n")
    report = purge(seeded, "zoe", "4711-0815")
    assert LOCK_NAME in report.files
    assert holding(seeded.root, b"4711-0815") == []


SPELLINGS = {
    "as it is, in no record": (lambda text: text, False),
    "as ASCII": (lambda text: json.dumps(text)[1:-1], True),
    "as ASCII in capitals, in no record": (lambda text: json.dumps(text)[1:-1].replace("\\u00fc", "\\u00FC"), False),
    "all as escapes, in no record": (lambda text: "".join(f"\\u{ord(each):04x}" for each in text), False),
}


@pytest.mark.parametrize(("spell", "named"), SPELLINGS.values(), ids=SPELLINGS)
def test_a_text_goes_however_json_spells_it(seeded, lock, spell, named):
    said = "The password für Zoë is swordfish."
    seeded.add("boss", said, category="talk")
    seed(seeded, "neo", "ann")
    data = json.loads(lock.read_bytes())
    if not named:
        for record in data["seeds"].values():
            record["boss/user"]["entries"] = {}
    spelled = json.dumps(data, ensure_ascii=False).replace(said, spell(said))
    lock.write_text(spelled, encoding="utf-8")
    copy = put(lock.with_name(f"{LOCK_NAME}.bak.20261121T000000000000Z"), spelled[:-9])
    purge(seeded, "boss", "password für Zoë")
    assert "swordfish" not in json.dumps(json.loads(lock.read_bytes()))
    assert not copy.exists()


BROKEN = {
    "cut": lambda data: data[:-9],
    "not UTF-8": lambda data: data + b"\xff",
    "of a newer version": lambda data: data.replace(b'"version": 1', b'"version": 2'),
    "both sides of a merge": lambda data: b"<<<<<<< a\n" + data + b"=======\n" + data + b">>>>>>> b\n",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_lock_that_cannot_be_read_is_named(seeded, lock, broken):
    data = broken(lock.read_bytes())
    lock.write_bytes(data)
    report = purge(seeded, "boss", "4711-0815")
    (left,) = report.left
    assert left.path == LOCK_NAME
    assert ("of version 2" if b'"version": 2' in data else "by hand") in left.why
    assert lock.read_bytes() == data


def test_a_lock_that_is_no_file_is_named_and_none_is_made_where_there_is_none(seeded, lock):
    lock.unlink()
    purge(seeded, "boss", "47 cards")
    assert not lock.exists()
    os.mkfifo(lock)
    (left,) = purge(seeded, "boss", "4711-0815").left
    assert left.path == LOCK_NAME


def test_copies_of_a_lock_that_was_not_whole_go(seeded, lock):
    lock.write_bytes(lock.read_bytes()[:-9])
    seed(seeded, "neo", "ann")
    (kept,) = seeded.root.glob(f"{LOCK_NAME}.bak.*")
    (seeded.root / f".{LOCK_NAME}-x1y2z3_4").write_bytes(b'"The card is \\"4711-0815\\".\\n## Not a header"')
    report = purge(seeded, "boss", "4711-0815")
    assert {kept.name, f".{LOCK_NAME}-x1y2z3_4"} <= set(report.removed)
    assert holding(seeded.root, b"4711-0815") == []


@together(
    "words, tag",
    [('"Kode" 4711', 'mail "Kode" 4711'), ("a\\b/c4711", "on a\\b/c4711"), ("g\xe4 4711", "g\\u00E4 4711")],
)
def test_an_entry_whose_tag_spells_it_in_quotes_is_one_that_holds_it(workspace, words, tag):
    source = f'"{tag}"' if "\\u" in tag else json.dumps(tag, ensure_ascii=False).replace("/", "\\/")
    spelled = TEXT + f"\n## Door\n[source: {source}, who: [neo, {source}]] Plain one.\n"
    for name in ("neo", "ann"):
        workspace.path(name, "user").write_text(spelled, encoding="utf-8")
    assert purge(workspace, "neo", words).entities == ("neo/user", "ann/user")
    for name in ("neo", "ann"):
        assert "Plain one" not in kept(workspace, f"{name}/user")
    workspace.path("neo", "memory").write_text(spelled, encoding="utf-8")
    workspace.add("neo", f"Door {words}.", category="talk")
    assert [each.why for each in purge(workspace, "neo", words).left] == [
        "neo/memory holds the words too: purge it there"
    ]
