"""``catmem fsck``, ``doctor``, ``anchor``, ``purge`` and ``repair``: looking after what is kept."""

import json
import re
import shutil

import pytest

from catmem.workspace.root import run_git
from tests.end_to_end.terminal import USER, begun, copied, error_of, run, run_json, snapshot
from tests.together import together

ADD = ("add", "-p", "neo", "-c", "rules", "--tag", "created=2026-11-21")


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    with begun(tmp_path_factory) as folder:
        run(*ADD, "Vendor is Acme.")
    return folder


@pytest.fixture
def user(grown, tmp_path, monkeypatch):
    """A USER.md with two revisions."""
    return copied(grown, tmp_path, monkeypatch)


@pytest.fixture
def sidecar(user):
    return user.parent / ".catmem"


def damage_journal(sidecar):
    """Turn one bit in the middle of the journal's largest file."""
    path = max((sidecar / "journal").iterdir(), key=lambda file: file.stat().st_size)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


# --- fsck ----------------------------------------------------------------------------------------------------------


def test_fsck_notes_a_change_by_other_means_which_is_no_damage(user):
    user.write_text(USER)
    first, second, third = run("fsck").stdout.splitlines()
    assert first.startswith("note[changed_outside]: homes/neo/USER.md: ")
    assert second.startswith("  ")
    assert third == "no damage"


def test_of_a_file_that_was_overwritten_the_last_text_is_named_and_what_is_gone(user):
    """Each answer named ``fsck --repair`` alone, which made a text of the bytes and said ``mended``."""
    revision = run_json("log", "neo/user")["revisions"][0]["revision"]
    user.write_bytes(bytes(range(128, 256)))
    brings = f"'catmem restore neo/user {revision}' brings back the last text that needed no repair"
    for command in (["status"], ["prompt", "neo"], ["fsck"]):
        result = run(*command, status=None)
        assert brings in result.stdout + result.stderr
    gone = f"out of neo/user: 'catmem diff neo/user {revision}' shows what was there, and 'catmem restore"
    assert gone in run("fsck", "neo/user", status=1).stderr
    assert "'catmem fsck neo/user' shows" in run(*ADD, "Two.", status=None).stderr
    assert gone in run("fsck", "neo/user", "--repair").stderr
    assert "that another program took out (neo/user)" in run("status").stdout
    back = run("undo", "neo")
    assert "is not UTF-8: no tool can read neo/user with it" in back.stderr
    assert brings in run("fsck", status=1).stdout
    run("restore", "neo/user", revision)
    assert "took out" not in run("status").stdout


def test_fsck_says_that_a_file_is_no_text(user):
    run("add", "-p", "neo", "-c", "rules", "One.")
    user.write_bytes(user.read_bytes() + b"\xa7\n")
    found = run("fsck", status=1).stdout
    assert ("note[not_utf8]" in found, found.endswith("no history is damaged\n")) == (True, True)
    assert (
        "'catmem fsck neo/user --repair' reads its wrong bytes as Windows-1252" in run("prompt", "neo", status=2).stderr
    )
    run("fsck", "neo", "--repair")
    assert run("fsck").stdout.endswith("no damage\n")


def test_fsck_names_the_newest_recovery_copy_until_it_is_removed(user):
    for word in ("By hand.", "By hand again."):
        user.write_text(user.read_text() + f"§\n{word}\n")
        run(*ADD, "More.", "--expected", "1", status=3)
    copies = sorted(user.parent.glob("USER.md.bak.*"))
    *others, note, hint, end = run("fsck").stdout.splitlines()
    assert not any("recovery_copies" in line for line in others)
    assert note.startswith("note[recovery_copies]: homes/neo/USER.md.bak.")
    assert (note.partition(": the ")[2], end) == ("newest of 2 recovery copies of USER.md", "no damage")
    command = re.search("'catmem (merge .*?)'", hint)[1].split()
    assert user.parents[2] / command[1] == copies[-1]
    assert "Nothing is missing" in run(*command).stdout
    for copy in copies:
        copy.unlink()
    assert "recovery_copies" not in run("fsck").stdout


def test_fsck_finds_damage_and_mends_it(user, sidecar):
    damage_journal(sidecar)
    before = snapshot(user.parent)
    found = run("fsck", status=4)
    assert found.stdout.startswith("damage[")
    assert found.stdout.endswith("1 thing is damaged\n")
    assert snapshot(user.parent) == before
    assert run("fsck", "--repair").stdout.startswith("mended: ")
    assert run("fsck").stdout.endswith("no damage\n")
    assert "Vendor is Acme." in user.read_text()
    run(*ADD, "Vendor is Beta.")


# --- doctor --------------------------------------------------------------------------------------------------------


def test_doctor_says_what_each_folder_is_on(user):
    (folder,) = [line for line in run("doctor").stdout.splitlines() if line.startswith("homes/")]
    assert re.fullmatch(r"homes/neo: \w+, history of 2 records", folder)


def test_doctor_says_where_git_would_take_the_history_in(user):
    root = user.parents[2]
    warning = "git does not ignore .catmem/"
    assert warning not in run("doctor").stderr
    run_git("-C", str(root), "init", "-q")
    assert run("doctor").stderr.count(warning) == 1
    (root / ".gitignore").write_text(".catmem/\n*.bak.*\n")
    assert warning not in run("doctor").stderr


# --- anchor --------------------------------------------------------------------------------------------------------


def test_an_anchor_holds_however_much_is_written_later(user):
    (line,) = run("fsck", "--anchors").stdout.splitlines()
    assert list(json.loads(line)) == ["folder", "store", "sequence", "line"]
    (user.parents[2] / "anchors").write_text(f"{line}\n")
    for fact in ("one", "two", "three"):
        run(*ADD, f"Fact {fact}.")
    assert run("fsck", "--check", "anchors").stdout == "the histories hold every anchor\n"
    assert run_json("fsck", "--check", "-", input=line) == {"held": True, "faults": []}


def test_an_anchor_reveals_a_history_that_was_put_back(user, sidecar, tmp_path):
    shutil.copytree(user.parent, tmp_path / "copy")
    run(*ADD, "Vendor is Beta.")
    line = run("fsck", "--anchors").stdout
    shutil.rmtree(user.parent)
    shutil.copytree(tmp_path / "copy", user.parent)
    assert run("fsck").stdout == "no damage\n"
    assert run("fsck", "--check", "-", input=line, status=4).stdout.startswith("damage[rolled_back]: homes/neo: ")
    said = run_json("fsck", "--check", "-", input=line, status=4)
    assert (said["held"], [fault["code"] for fault in said["faults"]]) == (False, ["rolled_back"])


@together(
    ("name", "content", "code"),
    [
        *(("bad", text, "bad_anchor") for text in (b"no anchor", b"[]", b"{}", b"1")),
        ("bad", b'{"store": "a", "line": "b", "sequence": "c"}', "bad_anchor"),
        ("bad", b"\xff", "not_utf8"),
        ("nothing", None, "missing"),
        ("homes", None, "not_a_file"),
    ],
)
def test_what_is_no_anchor_is_refused(user, tmp_path, name, content, code):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert error_of("fsck", "--check", name)["code"] == code


# --- purge ---------------------------------------------------------------------------------------------------------


def test_a_dry_run_of_purge_says_what_would_be_erased_and_shows_no_secret(user):
    result = run("purge", "neo", "Acme", "--dry-run")
    assert result.stdout.startswith("would be erased from neo/user and 1 revision:\n  rules  b2:")
    assert result.stderr == "Nothing was erased.\n"
    run("add", "-p", "neo", "-c", "rules", "API key: Zk39fjQ0sLm28dhGs7Yt4Wp1", "--allow-secret")
    assert "Zk39" not in run("purge", "neo", "API key", "--dry-run").stdout


def test_purge_names_what_it_found_in_other_files(user):
    run("add", "-p", "boss", "-c", "rules", "--tag", "created=2026-11-21", "Vendor is Acme.")
    shown = run("purge", "neo", "Acme", "--dry-run").stdout.splitlines()
    assert shown[2] == "in boss/user:"
    assert shown[3].split(maxsplit=2)[2] == "Vendor is ***."
    done = run("purge", "neo", "Acme", "--yes").stdout.splitlines()
    assert done[0].startswith("erased from neo/user, boss/user and ")
    assert [line.split()[:2] for line in done[1:4]] == [line.split()[:2] for line in shown[1:4]]
    assert "Acme" not in str(done)


@pytest.mark.parametrize("words", ["Zk39", "a code\nin two lines"])
def test_purge_never_says_the_words(user, words):
    def purge(*choices, status=0):
        return run("purge", "neo", "-", *choices, input=f"{words}\n", status=status).output

    said = [purge("--yes", status=2)]
    for end in ("first", "second"):
        run("add", "-p", "neo", "-c", "rules", "-", input=f"The code is {words}, {end}.")
    said += [
        purge("--dry-run", status=2),
        purge("--every", "--dry-run"),
        purge("--every", "--yes"),
        run("audit").output,
    ]
    said += [purge("--yes", "--format", "json", status=2)]
    assert not any(line in each for each in said for line in words.splitlines())
    assert "holds the words" in said[0]
    assert "2 entries of neo/user hold the words: line" in said[1]


def test_purge_counts_the_kept_texts_that_it_removes(user):
    for number in range(4):
        run("replace", "-p", "neo", "Acme", f"Acme, {number}.")
    for choice, count in (("--dry-run", 4), ("--yes", 5)):  # the last is the text that purge itself takes the place of
        said = run("purge", "neo", "Acme", choice).stdout
        assert f"removed:\n  homes/neo/.catmem/gen: {count} kept texts of old revisions\n" in said
        assert said.count("/gen") == 1


def test_purge_says_what_to_do_with_a_category_that_is_called_so(user):
    config = user.parents[2] / "catmem.yaml"
    config.write_text(config.read_text().replace("    rules: {}\n", "    rules: {}\n    deal-zk39: {}\n"))
    run("add", "-p", "neo", "-c", "deal-zk39", "The zk39 deal is signed.")
    for choice in ("--dry-run", "--yes"):
        said = run("purge", "neo", "-", choice, input="zk39\n").output
        assert "zk39" not in said
        assert "  deal-***  b2:" in said
        assert "take the name out of catmem.yaml and the profiles, and seed once more" in said
    assert "(***)" not in run("purge", "neo", "15th", "--yes").output


@together("choices", [(), ("--yes", "--dry-run")])
def test_purge_wants_to_be_told_whether_it_is_meant(user, choices):
    before = snapshot(user.parents[2])
    assert "cannot be undone" in run("purge", "neo", "Acme", *choices, status=2).stderr
    assert snapshot(user.parents[2]) == before


# --- repair --------------------------------------------------------------------------------------------------------

LATIN = USER.encode().replace(b"Never before ten.", b"Caf\xe9 before ten.")


def test_a_repair_is_shown_before_it_is_made(user):
    user.write_bytes(LATIN)
    before = snapshot(user.parents[2])
    result = run("fsck", "neo", status=1)
    assert snapshot(user.parents[2]) == before
    assert "\n-Caf\\xe9 before ten.\n+Café before ten.\n" in result.stdout
    assert "Windows-1252" in result.stderr
    assert result.stderr.endswith("Nothing was written. Do it with --repair.\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_no_repair_guesses_what_another_encoding_with_nul_bytes_says(user, encoding):
    user.write_bytes(before := "## Talk\nGr\xfc\xdfe.\n".encode(encoding))
    result = run("fsck", "neo/user", "--repair", status=2)
    assert "iconv -f utf-16 -t utf-8" in result.stderr
    assert user.read_bytes() == before


def test_a_repair_keeps_a_copy_and_makes_the_file_writable(user):
    user.write_bytes(LATIN)
    refused = run(*ADD, "New.", status=3).stderr
    assert ("error[not_utf8]" in refused, "expected nothing" in refused) == (True, False)
    assert "copied to homes/neo/USER.md.bak." in refused
    mended = run("fsck", "neo/user", "--repair")
    assert (mended.stdout.startswith("neo/user: mended (revision "), "would" in mended.stderr) == (True, False)
    assert user.read_bytes() == LATIN.replace(b"\xe9", "é".encode())
    assert LATIN in [copy.read_bytes() for copy in user.parent.glob("USER.md.bak.*")]
    run(*ADD, "New.")
    assert run("fsck", "neo").stderr.startswith("nothing to repair")


def test_a_file_with_too_many_entries_is_refused_and_never_empty_until_it_is_restored(user):
    kept = user.read_bytes()
    many = kept + "§\nx\n".encode() * 100_001
    user.write_bytes(many)
    assert error_of("list", "-p", "neo")["code"] == "too_large"
    assert error_of("search", "-p", "neo", "Acme")["code"] == "too_large"
    refused = error_of(*ADD, "More.", status=3)
    assert (refused["code"], "repair" in refused["hint"]) == ("too_large", False)
    assert "over the limit of 100,000" in refused["message"]
    assert "100,000" in run("lint", status=1).stdout
    run("fsck")
    assert run_json("log", "neo/user")["revisions"]
    assert user.read_bytes() == many
    run("restore", "neo/user", "2")
    assert user.read_bytes() == kept
    run("restore", "neo/user", "3")
    assert user.read_bytes() == many
