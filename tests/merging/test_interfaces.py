"""The same oracle behind the other doors: branches, seeds, changes by other programs, and git, each with real stores."""

import random
import re
import shutil

import pytest

from catmem.errors import AmbiguousError, DriftError, MergeConflictError, NoMatchError
from catmem.model.document import parse
from catmem.store.contract import Change
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.interplay.repository import Repository
from tests.lengths import at_length
from tests.merging.oracle import GRAVE, Oracle, Told, category
from tests.merging.scripts import FULL, RECORDED, Range, scene
from tests.store.stores import kinds, named

MARKED = re.compile(r"^<<<<<<< ours\n(.*?)^=======\n(.*?)^>>>>>>> theirs$", re.MULTILINE | re.DOTALL)
SCENES = range(at_length(60, 12))
TIER_1 = "tier: 1\nuser_memory_categories: ['*']\ninclude_uncategorized: true\n"
SEEDED = TIER_1 + "seed_from: boss{}\n"
WORDS = {"hidden", "false", "misnamed", "lost", "resurrected", "doubled", "invented", "precedence"}
"""The kinds of mistakes that are asked of a door: writes through one give entries their dates, and choose their place."""


def made(seed, size):
    """The first scene from a seed on in which both sides changed something; an empty source would not be seeded."""
    while True:
        drawn = scene(random.Random(seed), size)
        if drawn.ours.edits and drawn.base.text not in drawn.texts[1:] and any(drawn.theirs.items):
            return drawn
        seed += 1_000_000


@pytest.fixture
def workspace(kind, tmp_path):
    """A root with a profile for each scene, and one that seeds it."""
    put(tmp_path / "catmem.yaml", "version: 1\n")
    for name in ("planner", "auditor"):
        put(tmp_path / "profiles" / f"{name}.yaml", TIER_1)
    for seed in SCENES:
        put(tmp_path / "profiles" / f"boss{seed}.yaml", TIER_1)
        put(tmp_path / "profiles" / f"neo{seed}.yaml", SEEDED.format(seed))
    store = kind.make(tmp_path)
    yield Workspace.open(tmp_path, search=False, store=store)
    store.close()


def write(workspace, entity, text, seen, **change):
    """Make a text the next revision of `seen`."""
    return workspace.store.commit(entity, seen, lambda _: text.encode(), Change(**change)).revision


def text_of(workspace, entity):
    return workspace.store.peek(entity).decode()


def play(workspace, name, side, base, seen, **how):
    """Make the edits of a script one by one, on `seen` and then each on the one before; the last revision."""
    bodies = {item.origin: item.body for _, _, item in base.items}
    for edit in side.edits:
        if edit.kind == "add":
            tags = dict(edit.tags)
            seen = workspace.add(
                name, edit.body, category=category(edit.title), tags=tags, expected=seen, **how
            ).revision
            continue
        entries = parse(workspace.store.read(f"{name}/user", seen).data).entries
        (entry,) = [entry for entry in entries if entry.body == bodies[edit.origin]]
        if edit.kind == "remove":
            done = workspace.remove(name, entry.id, expected=seen, **how)
        elif edit.kind == "move":
            done = workspace.move(name, entry.id, category(edit.title), expected=seen, **how)
        else:
            done = workspace.replace(name, entry.id, edit.body, expected=seen, **how)
            bodies[edit.origin] = edit.body
        seen = done.revision
    return seen


def told_by(conflicts):
    return [Told.of(conflict) for conflict in conflicts]


def wrong(found):
    return [mistake for mistake in found if mistake.kind in WORDS]


def assert_right(found):
    """That nothing is wrong in any scene."""
    lines = [f"{scene}: {mistake}" for scene, mistakes in found.items() for mistake in mistakes]
    assert not lines, "\n".join([f"wrong in {sum(map(bool, found.values()))} of {len(found)} scenes:", *lines])


def assert_nothing_is_hidden(found):
    """That nothing grave is wrong in any scene, and that at most one scene in thirty tells a conflict by another name.

    Where a door knows the texts alone, a fact in all other words in another place is told as one that was removed.
    """
    assert_right({scene: [each for each in mistakes if each.kind in GRAVE] for scene, mistakes in found.items()})
    assert sum(map(bool, found.values())) <= len(found) // 30, found


# --- branches ---


def judge_branches(workspace, name, drawn):
    """What is wrong with merging the branches of an entity, in the plan and in what is written."""
    oracle, entity = Oracle(drawn), f"{name}/user"
    before = text_of(workspace, entity)
    plan = workspace.merge(name, dry_run=True)
    told = told_by(found.conflict for found in plan.conflicts)
    yield from wrong(oracle.judge_told(told))
    for winner in ("ours", "theirs"):
        decided = workspace.merge(name, precedence=winner, dry_run=True)
        yield from wrong(oracle.judge_decided(decided.after, decided.conflicts, told, winner))
    if told:
        with pytest.raises(MergeConflictError):
            workspace.merge(name)
        assert text_of(workspace, entity) == before
        workspace.merge(name, precedence="both")
    else:
        workspace.merge(name)
    yield from wrong(oracle.judge_text(text_of(workspace, entity), told))
    assert workspace.branches(name) == []


@pytest.mark.parametrize("kind", kinds())
def test_branches_of_whole_texts(workspace):
    found = {}
    for seed in SCENES:
        drawn, name = made(seed, FULL), f"neo{seed}"
        base, ours, theirs = drawn.texts
        seen = write(workspace, f"{name}/user", base, "0", agent="planner")
        write(workspace, f"{name}/user", ours, seen, agent="planner")
        write(workspace, f"{name}/user", theirs, seen, agent="auditor", on_stale="branch")
        found[seed] = list(judge_branches(workspace, name, drawn))
    assert_right(found)


@pytest.mark.parametrize("kind", kinds())
def test_branches_of_single_edits(workspace):
    # The history says of each which entry it was about, also where the words are all others and it stands elsewhere.
    found = {}
    for seed in SCENES:
        drawn, name = made(seed, RECORDED), f"neo{seed}"
        seen = write(workspace, f"{name}/user", drawn.base.text, "0")
        play(workspace, name, drawn.ours, drawn.base, seen, actor="planner")
        play(workspace, name, drawn.theirs, drawn.base, seen, actor="auditor", on_stale="branch")
        found[seed] = list(judge_branches(workspace, name, drawn))
    assert_right(found)


# --- seeds ---


@pytest.mark.parametrize("kind", kinds())
def test_seeds_after_edits_of_source_and_target(workspace):
    found = {}
    for seed in SCENES:
        drawn, source, target = made(seed, RECORDED), f"boss{seed}", f"neo{seed}"
        write(workspace, f"{source}/user", drawn.base.text, "0")
        workspace.apply_seed(workspace.plan_seed(source, target))
        play(workspace, target, drawn.ours, drawn.base, workspace.store.read(f"{target}/user").revision)
        play(workspace, source, drawn.theirs, drawn.base, workspace.store.read(f"{source}/user").revision)
        plan = workspace.plan_seed(source, target)
        told = told_by(conflict for file in plan.files for conflict in file.conflicts)
        workspace.apply_seed(plan)
        # Until a person has decided, the target keeps what it had.
        oracle = Oracle(drawn)
        judged = [
            *oracle.judge_told(told),
            *oracle.judge_decided(text_of(workspace, f"{target}/user"), [], told, "ours"),
        ]
        found[seed] = wrong(judged)
    assert_nothing_is_hidden(found)


# --- somebody else changed the file ---

ONE_EDIT = Range(edits=(1, 1), kinds=("reword", "remove"))
OTHERS = Range(entries=(1, 6), sections=(0, 2), edits=(1, 3))


class Late:
    """One edit of ours, made on the base, where others wrote their text by now."""

    def __init__(self, drawn):
        (self.edit,) = drawn.ours.edits
        self.drawn = drawn
        self.was = drawn.base.find(self.edit.origin)[2].body
        there = drawn.theirs.find(self.edit.origin)
        self.now = None if there is None else there[2].body
        self.is_untouched = there is not None and there[::2] == drawn.base.find(self.edit.origin)[::2]

    @property
    def names(self):
        """Pieces of the entry that name no other, neither in the base nor now: its words, and all of it."""
        base, now = ([item.body for _, _, item in side.items] for side in (self.drawn.base, self.drawn.theirs))
        pieces = dict.fromkeys([*self.was.split(), *re.findall(r"\w{3,}", self.was), self.was])
        return [
            piece
            for piece in pieces
            if sum(piece in body for body in base) == 1
            and (sum(piece in body for body in now) == 1 if self.now and piece in self.now else True)
        ]

    def make(self, workspace, name, piece, **how):
        """Make the edit; whether it was made."""
        try:
            if self.edit.kind == "remove":
                workspace.remove(name, piece, **how)
            else:
                workspace.replace(name, piece, self.edit.body, **how)
        except (DriftError, NoMatchError, AmbiguousError):
            return False
        return True

    def judge(self, text, made, piece):
        """What is wrong afterwards."""
        stands = {entry.body for entry in parse(text).entries}
        theirs = {item.body for _, _, item in self.drawn.theirs.items}
        same = self.now in (self.was, self.edit.body)
        if made and not same:
            yield f"hidden: {piece!r}, and {self.was!r} was {self.now!r} by then"
        if not made and self.is_untouched:
            yield f"false: {piece!r} is refused, and {self.was!r} is as it was"
        meant = (theirs - {self.was}) | ({self.edit.body} - {None}) if same and made else theirs
        if stands != meant:
            yield f"{piece!r}: the file is wrong about {stands ^ meant}"


def late(seed):
    """The first scene from a seed on in which our side made its edit, and theirs did something."""
    while True:
        drawn = scene(random.Random(seed), OTHERS, ONE_EDIT)
        if drawn.ours.edits and drawn.theirs.edits and drawn.base.text != drawn.theirs.text:
            return Late(drawn)
        seed += 1_000_000


@pytest.mark.parametrize("kind", kinds())
def test_a_write_on_an_older_view_changes_no_entry_that_others_changed(workspace):
    found = {}
    for seed in SCENES:
        mine, name = late(seed), f"neo{seed}"
        seen = write(workspace, f"{name}/user", mine.drawn.base.text, "0")
        for piece in mine.names:
            write(workspace, f"{name}/user", mine.drawn.theirs.text, None)
            is_made = mine.make(workspace, name, piece, expected=seen, on_drift="merge")
            found.setdefault(seed, []).extend(mine.judge(text_of(workspace, f"{name}/user"), is_made, piece))
    assert_right(found)


@pytest.mark.parametrize("kind", [named("files")], ids=["files"])
@pytest.mark.parametrize("on_drift", ["adopt", "merge"])
def test_an_entry_that_another_program_changed_is_not_written_over_at_once(workspace, kind, tmp_path, on_drift):
    found = {}
    for seed in SCENES:
        mine, name = late(seed), f"neo{seed}"
        write(workspace, f"{name}/user", mine.drawn.base.text, "0")
        # A person without a view names the entry by a word, and means what is on file.
        piece = next((each for each in mine.names if mine.now and each in mine.now), mine.was)
        kind.file(tmp_path, f"{name}/user").write_bytes(mine.drawn.theirs.text.encode())
        is_made = mine.make(workspace, name, piece, on_drift=on_drift)
        found[seed] = list(mine.judge(text_of(workspace, f"{name}/user"), is_made, piece))
    assert_right(found)


# --- git ---

MERGED_BY_GIT = range(at_length(60, 12))


def both(found):
    """Both sides of a conflict as entries, in the place of git's marks."""
    return "\n§\n".join(side.rstrip("\n") for side in found.groups() if side)


@pytest.mark.skipif(shutil.which("git") is None, reason="NOT TESTED: git is not installed on this machine")
def test_git_merges_and_says_which_files_are_in_conflict(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    repository = Repository(tmp_path)
    repository.set_up()
    scenes = {f"homes/neo{seed}/USER.md": made(seed, FULL) for seed in MERGED_BY_GIT}
    base, ours, theirs = ({file: each.texts[n].encode() for file, each in scenes.items()} for n in range(3))
    repository.commit(base, "base")
    repository.git("checkout", "--quiet", "-b", "theirs")
    repository.commit(theirs, "theirs")
    repository.git("checkout", "--quiet", "main")
    repository.commit(ours, "ours")
    done = repository.run("git", "merge", "--no-edit", "theirs")
    unmerged = set(repository.unmerged())
    assert done.returncode == (1 if unmerged else 0)
    found = {}
    for file, drawn in scenes.items():
        oracle, text = Oracle(drawn), (tmp_path / file).read_text()
        wrong_here = found.setdefault(file, [])
        if file in unmerged:
            # git names the conflicts to a person; that there is one is all that a program is told.
            told = [Told("body", body, None, None) for body in oracle.words]
            if not oracle.may_conflict():
                wrong_here.append("false")
            # Of two sets of tags both stand between the marks, each with the words.
            found_here = wrong(oracle.judge_text(MARKED.sub(both, text), told))
            wrong_here += [mistake for mistake in found_here if mistake.kind != "doubled"]
        else:
            wrong_here += wrong(oracle.judge(text, []))
    assert_right(found)
