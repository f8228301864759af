"""Migrating files on disk: what is written can be taken back, and lint finds nothing new in its structure."""

from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from catmem.errors import ChangedMeanwhileError, DriftError, NotUtf8Error, UnreadableError
from catmem.linting.root_lint import Linter
from catmem.workspace import history
from catmem.workspace.formatting import plan_migrated, write_migrated
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

CONFIG = """\
version: 1
taxonomy:
  categories:
    communication-style: {aliases: [comm]}
    finance: {aliases: [fin], domain: finance}
"""
FLAT = "[COMM] Short.\n§\n[project:x] Uses uv.\n§\nPlain."
SECTIONED = "[project: x] Uses uv.\n§\nPlain.\n\n## Communication Style\nShort.\n"


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [communication-style]")
    put(tmp_path / "homes" / "neo" / "USER.md", FLAT)
    put(tmp_path / "notes" / "notes.md", FLAT)
    return tmp_path


@pytest.fixture
def workspace(place):
    found = Workspace.open(place, search=False)
    yield found
    found.store.close()


@pytest.fixture
def user(place):
    return place / "homes" / "neo" / "USER.md"


@pytest.fixture
def notes(place):
    return place / "notes" / "notes.md"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_file_of_a_profile_is_written_through_its_store_and_restored(workspace, user):
    planned = plan_migrated(workspace, user)
    assert (planned.entity, planned.about.new) == ("neo/user", SECTIONED)
    assert user.read_text() == FLAT
    done = write_migrated(workspace, planned)
    assert (done.revision, done.restore, done.backup) == ("2", "1", None)
    assert user.read_text() == SECTIONED
    assert names(user.parent) == [".catmem", "USER.md"]
    newest = next(workspace.store.log("neo/user"))
    assert (newest.op, newest.note["migrated"]) == ("migrate", {"moved": 1, "tagged": 1, "stayed": 1})
    assert done.restore is not None
    history.restore(workspace, "neo/user", done.restore)
    assert user.read_text() == FLAT


def test_the_revision_to_restore_is_the_one_before(workspace, user):
    workspace.add("neo", "[FIN] Pays monthly.", category="__uncategorized__", target="user")
    before = user.read_bytes()
    done = write_migrated(workspace, plan_migrated(workspace, user))
    assert done.restore is not None
    history.restore(workspace, "neo/user", done.restore)
    assert user.read_bytes() == before


def test_of_a_file_in_no_store_a_copy_is_kept_that_takes_it_back(workspace, notes):
    notes.chmod(0o640)
    done = write_migrated(workspace, plan_migrated(workspace, notes))
    assert (done.revision, done.restore) == (None, None)
    assert done.backup is not None
    assert notes.read_text() == SECTIONED
    assert names(notes.parent) == ["notes.md", done.backup.name]
    assert done.backup.name.startswith("notes.md.bak.")
    assert done.backup.stat().st_mode & 0o777 == 0o640
    done.backup.replace(notes)
    assert notes.read_text() == FLAT


def test_a_file_beside_those_of_a_store_has_a_history_and_a_copy(workspace, user):
    write_migrated(workspace, plan_migrated(workspace, user))
    beside = put(user.parent / "OTHER.md", FLAT)
    done = write_migrated(workspace, plan_migrated(workspace, beside))
    assert beside.read_text() == SECTIONED
    assert done.backup is not None
    assert done.backup.read_text() == FLAT


def test_a_second_run_writes_nothing(workspace, user, notes):
    for path in (user, notes):
        write_migrated(workspace, plan_migrated(workspace, path))
        there, stamp = names(path.parent), path.stat().st_mtime_ns
        again = plan_migrated(workspace, path)
        assert not again.about.changes
        done = write_migrated(workspace, again)
        assert (done.revision, done.restore, done.backup) == (None, None, None)
        assert (names(path.parent), path.stat().st_mtime_ns) == (there, stamp)


def test_a_change_in_between_is_not_written_over(workspace, user, notes):
    for path, error in ((user, DriftError), (notes, ChangedMeanwhileError)):
        planned = plan_migrated(workspace, path)
        path.write_text("somebody else")
        with pytest.raises(error):
            write_migrated(workspace, planned)
        assert path.read_text() == "somebody else"


def test_what_is_not_written_leaves_the_file_and_its_copy_as_they_were(workspace, notes):
    planned = plan_migrated(workspace, notes)
    notes.chmod(0o440)
    with pytest.raises(UnreadableError):
        write_migrated(workspace, planned)
    assert {path.read_text() for path in notes.parent.iterdir()} == {FLAT}


def test_a_link_that_is_named_stays_one(workspace, place, notes):
    link = place / "link.md"
    link.symlink_to(notes)
    done = write_migrated(workspace, plan_migrated(workspace, link))
    assert link.is_symlink()
    assert notes.read_text() == SECTIONED
    assert done.backup is not None
    assert done.backup.parent == notes.parent


def test_a_file_that_is_no_text_is_left(workspace, notes):
    notes.write_bytes(b"\xff")
    with pytest.raises(NotUtf8Error) as caught:
        plan_migrated(workspace, notes)
    assert caught.value.path == str(notes)


UNDECLARED = "without effect, since 'tags' in catmem.yaml does not declare it: project"


def test_the_owner_is_told_what_the_prompt_loses(workspace, user, place, notes):
    put(place / "profiles" / "neo.yaml", "{user_memory_categories: [communication-style], include_uncategorized: true}")
    put(user, FLAT + "\n§\n[FIN] Pays.")
    assert plan_migrated(workspace, user).warnings == (
        UNDECLARED,
        "the prompt of neo loses 1 entry that will be in finance",
    )
    assert plan_migrated(workspace, notes).warnings == (UNDECLARED,)
    put(place / "profiles" / "neo.yaml", "{user_memory_categories: ['*'], include_uncategorized: true}")
    assert plan_migrated(workspace, user).warnings == (UNDECLARED,)


def test_a_limit_that_the_headers_go_over_is_told(workspace, user, place):
    put(
        place / "profiles" / "neo.yaml",
        "{user_memory_categories: ['*'], include_uncategorized: true, limits: {user: 60}}",
    )
    _, warning = plan_migrated(workspace, user).warnings
    assert warning == "neo/user has 61 characters with its headers, over its limit of 60"


# --- real files -----------------------------------------------------------------------------------------------------

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("sample-*.md"))
SAMPLE_CONFIG = """\
version: 1
taxonomy:
  categories:
    environment: {aliases: [Xxxxxxx, Xxxx]}
    projects: {aliases: [Xxxxxx, Xxxxxxxxxx, Xxxxxx XX, Xxxxx]}
    people: {aliases: [Xxx, Xxxxxxxx, Xxxx xxxxxxxxx, Xxxxx Xxxxxxxxx]}
    identity: {}
"""
"""The letters of the samples are masked; these are the most frequent words before a colon."""


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Each sample in a root of its own kind, migrated: the texts before and after, and the plans."""
    place = tmp_path_factory.mktemp("samples")
    put(place / "catmem.yaml", SAMPLE_CONFIG)
    files = [put(place / "files" / path.stem / "MEMORY.md", path.read_bytes()) for path in SAMPLES]
    before = errors_of_structure(place)
    workspace = Workspace.open(place, search=False)
    plans = [plan_migrated(workspace, path) for path in files]
    for planned in plans:
        write_migrated(workspace, planned)
    workspace.store.close()
    return place, files, before, plans


def errors_of_structure(place):
    """The findings of the families CM1 and CM3, in-band labels apart, by file and code."""
    found = Linter.open(place, select=["CM1", "CM3"], as_of=date(2026, 11, 21)).run()
    assert found.errors == ()
    assert found.files >= len(SAMPLES)
    return Counter((each.path, each.code) for each in found.diagnostics)


def test_the_samples_are_migrated_and_nothing_is_lost(samples):
    place, files, _, plans = samples
    workspace = Workspace.open(place, search=False)
    moved = 0
    for planned, path in zip(plans, files, strict=True):
        old, new = workspace.parse(planned.about.old), workspace.parse(path.read_bytes())
        words = Counter(f"{each.label}{''.join(each.body.split())}".replace(" ", "") for each in planned.about.entries)
        loose = [entry for entry in old.entries if entry.category == "__uncategorized__"]
        assert words == Counter("".join(entry.body.split()) for entry in loose)
        assert len(new.entries) == len(old.entries)
        moved += planned.about.counts["moved"]
    assert len(plans) == len(SAMPLES) == 34
    assert moved == 44


def test_lint_finds_nothing_new_in_their_structure(samples):
    place, _, before, _ = samples
    after = errors_of_structure(place)
    assert {code for _, code in after - before} == set()
    labels = "CM108"
    assert sum(n for (_, code), n in after.items() if code == labels) < sum(
        n for (_, code), n in before.items() if code == labels
    )


def test_each_sample_comes_back_from_its_copy(samples):
    _, files, _, plans = samples
    for path, planned, sample in zip(files, plans, SAMPLES, strict=True):
        copies = [each for each in path.parent.iterdir() if ".bak." in each.name]
        if planned.about.changes:
            (copy,) = copies
            assert copy.read_bytes() == sample.read_bytes()
        else:
            assert (copies, path.read_bytes()) == ([], sample.read_bytes())
            assert names(path.parent) == ["MEMORY.md"]
