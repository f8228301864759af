"""Files that are migrated, whole or not at all: what is written can be taken back."""

from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from catmem.errors import ChangedMeanwhileError, DriftError, UnreadableError
from catmem.linting.root_lint import Linter
from catmem.plugins.sorting.migrating import plan_migrated, write_migrated
from catmem.workspace import history
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.refusals import refusal

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
def labelled(tmp_path):
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [communication-style]")
    put(tmp_path / "homes" / "neo" / "USER.md", FLAT)
    put(tmp_path / "notes" / "notes.md", FLAT)
    return tmp_path


@pytest.fixture
def migrating(labelled):
    found = Workspace.open(labelled, search=False)
    yield found
    found.store.close()


@pytest.fixture
def user(labelled):
    return labelled / "homes" / "neo" / "USER.md"


@pytest.fixture
def notes(labelled):
    return labelled / "notes" / "notes.md"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_file_of_a_profile_is_written_through_its_store_and_its_last_revision_can_be_restored(migrating, user):
    migrating.add("neo", "[FIN] Pays monthly.", category="__uncategorized__", target="user")
    before = user.read_bytes()
    planned = plan_migrated(migrating, user)
    assert (planned.entity, user.read_bytes()) == ("neo/user", before)
    done = write_migrated(migrating, planned)
    assert (done.revision, done.restore, done.backup) == ("3", "2", None)
    assert user.read_text() == planned.about.new
    assert names(user.parent) == [".catmem", "USER.md"]
    newest = next(migrating.store.log("neo/user"))
    assert (newest.op, newest.note["migrated"]) == ("migrate", {"moved": 2, "tagged": 1, "stayed": 1})
    history.restore(migrating, "neo/user", "2")
    assert user.read_bytes() == before


def test_a_file_beside_those_of_a_store_has_a_history_and_a_copy(migrating, user):
    write_migrated(migrating, plan_migrated(migrating, user))
    beside = put(user.parent / "OTHER.md", FLAT)
    done = write_migrated(migrating, plan_migrated(migrating, beside))
    assert beside.read_text() == SECTIONED
    assert done.backup is not None
    assert done.backup.read_text() == FLAT


def test_a_second_run_writes_nothing(migrating, user, notes):
    for path in (user, notes):
        write_migrated(migrating, plan_migrated(migrating, path))
        there, stamp = names(path.parent), path.stat().st_mtime_ns
        again = plan_migrated(migrating, path)
        assert not again.about.changes
        done = write_migrated(migrating, again)
        assert (done.revision, done.restore, done.backup) == (None, None, None)
        assert (names(path.parent), path.stat().st_mtime_ns) == (there, stamp)


def test_a_change_in_between_is_not_written_over(migrating, user, notes):
    for path, error in ((user, DriftError), (notes, ChangedMeanwhileError)):
        planned = plan_migrated(migrating, path)
        path.write_text("somebody else")
        with pytest.raises(error):
            write_migrated(migrating, planned)
        assert path.read_text() == "somebody else"


def test_what_is_not_written_leaves_the_file_and_its_copy_as_they_were(migrating, notes):
    planned = plan_migrated(migrating, notes)
    notes.chmod(0o440)
    with pytest.raises(UnreadableError):
        write_migrated(migrating, planned)
    assert {path.read_text() for path in notes.parent.iterdir()} == {FLAT}
    notes.chmod(0o640)
    notes.write_bytes(b"\xff")
    assert refusal("not_utf8", plan_migrated, migrating, notes).path == str(notes)


def test_a_link_that_is_named_stays_one(migrating, labelled, notes):
    link = labelled / "link.md"
    link.symlink_to(notes)
    done = write_migrated(migrating, plan_migrated(migrating, link))
    assert link.is_symlink()
    assert notes.read_text() == SECTIONED
    assert done.backup is not None
    assert done.backup.parent == notes.parent


UNDECLARED = "without effect, since 'tags' in catmem.yaml does not declare it: project"


def test_the_owner_is_told_what_the_prompt_loses(migrating, user, labelled, notes):
    put(
        labelled / "profiles" / "neo.yaml",
        "{user_memory_categories: [communication-style], include_uncategorized: true}",
    )
    put(user, FLAT + "\n§\n[FIN] Pays.")
    assert plan_migrated(migrating, user).warnings == (
        UNDECLARED,
        "the prompt of neo loses 1 entry that will be in finance",
    )
    assert plan_migrated(migrating, notes).warnings == (UNDECLARED,)
    put(labelled / "profiles" / "neo.yaml", "{user_memory_categories: ['*'], include_uncategorized: true}")
    assert plan_migrated(migrating, user).warnings == (UNDECLARED,)


def test_a_limit_that_the_headers_go_over_is_told(migrating, user, labelled):
    put(
        labelled / "profiles" / "neo.yaml",
        "{user_memory_categories: ['*'], include_uncategorized: true, limits: {user: 60}}",
    )
    _, warning = plan_migrated(migrating, user).warnings
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
    labelled = tmp_path_factory.mktemp("samples")
    put(labelled / "catmem.yaml", SAMPLE_CONFIG)
    files = [put(labelled / "files" / path.stem / "MEMORY.md", path.read_bytes()) for path in SAMPLES]
    before = errors_of_structure(labelled)
    migrating = Workspace.open(labelled, search=False)
    plans = [plan_migrated(migrating, path) for path in files]
    for planned in plans:
        write_migrated(migrating, planned)
    migrating.store.close()
    return labelled, files, before, plans


def errors_of_structure(labelled):
    """The findings of the families CM1 and CM3, in-band labels apart, by file and code."""
    found = Linter.open(labelled, select=["CM1", "CM3"], as_of=date(2026, 11, 21)).run()
    assert found.errors == ()
    assert found.files >= len(SAMPLES)
    return Counter((each.path, each.code) for each in found.diagnostics)


def test_the_samples_are_migrated_and_nothing_is_lost(samples):
    labelled, files, _, plans = samples
    migrating = Workspace.open(labelled, search=False)
    moved = 0
    for planned, path in zip(plans, files, strict=True):
        old, new = migrating.parse(planned.about.old), migrating.parse(path.read_bytes())
        words = Counter(f"{each.label}{''.join(each.body.split())}".replace(" ", "") for each in planned.about.entries)
        loose = [entry for entry in old.entries if entry.category == "__uncategorized__"]
        assert words == Counter("".join(entry.body.split()) for entry in loose)
        assert len(new.entries) == len(old.entries)
        moved += planned.about.counts["moved"]
    assert len(plans) == len(SAMPLES) == 34
    assert moved == 44


def test_lint_finds_nothing_new_in_their_structure(samples):
    labelled, _, before, _ = samples
    after = errors_of_structure(labelled)
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
