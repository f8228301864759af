"""Any sequence of stale writes in branch mode, then merges: no acknowledged text is lost but by what somebody said."""

import tempfile
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from catmem.errors import AmbiguousError, CatmemError, NoMatchError
from catmem.merging.merging import MergeRequest, plan_merge
from catmem.model.document import parse
from catmem.store.contract import Revision, merge_bases, tips
from tests.roots import make_root, text_of

PROFILES = {"neo": "user_memory_categories: ['*']\n", "boss": "tier: 1\nuser_memory_categories: ['*']\n"}
BASE = "## A\none two three four\n§\nfive six seven eight\n\n## B\nnine ten eleven twelve\n"
WORDS = ["one", "five", "nine", "new"]
FEW = settings(max_examples=max(15, settings().max_examples // 4))

writes = st.lists(
    st.tuples(
        st.sampled_from(["add", "reword", "remove", "move", "merge", "merge all"]),
        st.integers(0, 30),  # on which revision, or which branch is merged
        st.sampled_from(WORDS),
        st.sampled_from(["a", "b"]),
    ),
    min_size=1,
    max_size=14,
)


def bodies(workspace, revision=None):
    data = workspace.store.read("neo/user", revision).data
    return {entry.body for entry in parse(data).entries}


def play(workspace, steps):
    """Do the steps; each is a write on any revision there was, branches too, or a merge that keeps both."""
    for number, (action, place, word, category) in enumerate(steps):
        names = [each.revision for each in workspace.store.log("neo/user")]
        seen = names[place % len(names)]
        try:
            if action == "add":
                workspace.add("neo", f"new fact {number}", category=category, expected=seen)
            elif action == "reword":
                workspace.replace("neo", word, f"{word} is other now, {number}", expected=seen)
            elif action == "remove":
                workspace.remove("neo", word, expected=seen)
            elif action == "move":
                workspace.move("neo", word, category, expected=seen)
            elif found := workspace.branches("neo"):
                chosen = [] if action == "merge all" else [found[place % len(found)].revision]
                workspace.merge("neo", chosen, precedence="both")
        except (AmbiguousError, NoMatchError):
            continue


@contextmanager
def played(steps):
    """A root in branch mode after these steps."""
    with tempfile.TemporaryDirectory() as folder:
        root = make_root(Path(folder), config="on_stale: branch\n", profiles=PROFILES, files={"neo/user": BASE})
        play(root, steps)
        yield root


def removed_by_somebody(workspace, body):
    """Whether a write of somebody, and no merge, took a text out of what it was made on."""
    for revision in workspace.store.log("neo/user"):
        if revision.op == "merge":
            continue
        before = {each for parent in revision.parents for each in bodies(workspace, parent)}
        if body in before - bodies(workspace, revision.revision):
            return True
    return False


@FEW
@given(writes)
def test_no_text_of_an_acknowledged_write_is_lost(steps):
    with played(steps) as root:
        root.merge("neo", precedence="both")
        assert root.branches("neo") == []
        there = bodies(root)
        for revision in root.store.log("neo/user"):
            for body in bodies(root, revision.revision) - there:
                assert removed_by_somebody(root, body), (body, text_of(root))


@FEW
@given(writes)
def test_all_that_was_ever_written_leads_to_the_head_after_a_merge(steps):
    with played(steps) as root:
        root.merge("neo", precedence="both")
        log = list(root.store.log("neo/user"))
        leading = {root.store.head("neo/user").revision}
        for each in log:  # the newest first
            assert each.revision in leading
            leading.update(each.parents)


@FEW
@given(writes, st.sampled_from(["ours", "theirs"]))
def test_a_side_settles_every_conflict(steps, side):
    with played(steps) as root:
        done = root.merge("neo", precedence=side)
        assert (done.conflicts, root.branches("neo")) == ((), [])
        again = root.merge("neo", precedence=side)
        assert not again.changed


def one_after_the_other(workspace, precedence):
    """Which branches merge by themselves, found with a whole plan for each of them and for those before it."""
    free, left = [], []
    for branch in reversed(workspace.branches("neo")):
        try:
            plan = plan_merge(workspace, MergeRequest("neo", [*free, branch.revision], precedence))
        except CatmemError as error:
            left.append((branch.revision, (), error.code))
            continue
        if plan.conflicts:
            left.append((branch.revision, plan.conflicts, None))
        else:
            free.append(branch.revision)
    text = plan_merge(workspace, MergeRequest("neo", free, precedence)).after if free else text_of(workspace)
    return free, left, text


ranks = st.sampled_from([None, "theirs", ["boss", "person"]])


@FEW
@given(writes, st.lists(st.sampled_from(WORDS[:3]), max_size=3), st.integers(0, 3), ranks)
def test_what_merges_by_itself_is_merged_and_the_rest_is_left(steps, reworded, clean, precedence):
    with played(steps) as root:
        for number, word in enumerate(reworded):
            root.replace("neo", word, f"{word} in the words of branch {number}", expected=1, actor="boss")
        for number in range(clean):
            root.add("neo", f"clean fact {number}", category="a", expected=1)
        free, left, text = one_after_the_other(root, precedence)
        done = root.merge_all(precedence=precedence)
        assert [name for plan in done.merged for name in plan.merged] == free
        assert [(each.branch, each.conflicts, each.error and each.error.code) for each in done.left] == left
        assert text_of(root) == text
        assert {each.revision for each in root.branches("neo")} == {name for name, _, _ in left}


# --- merge bases over any graph of revisions, against the plainest reading of what they are --------------------------


def revision(name, parents):
    return Revision("neo/user", name, tuple(parents), int(name.rstrip("abc")), "", "put", "person", "", "", 0)


@st.composite
def logs(draw):
    """A graph with up to 14 revisions, each with up to three parents, as a log has it: the newest first."""
    made = []
    for number in range(1, draw(st.integers(1, 14)) + 1):
        older = [each.revision for each in made]
        parents = draw(st.lists(st.sampled_from(older), max_size=3, unique=True)) if older else []
        made.append(revision(f"{number}{draw(st.sampled_from(['', 'a']))}", parents))
    return made[::-1]


def ancestors(log, name):
    """Itself and everything that leads to it."""
    parents = {each.revision: each.parents for each in log}
    found, left = set(), [name]
    while left:
        name = left.pop()
        found.add(name)
        left += parents[name]
    return found


@st.composite
def pairs(draw):
    log = draw(logs())
    names = st.sampled_from([each.revision for each in log])
    return log, draw(names), draw(names)


@given(pairs())
def test_merge_bases_are_the_common_ancestors_that_lead_to_no_other(case):
    log, one, other = case
    common = ancestors(log, one) & ancestors(log, other)
    best = {name for name in common if not any(name in ancestors(log, each) for each in common - {name})}
    assert merge_bases(log, one, other) == [each.revision for each in log if each.revision in best]


@given(logs())
def test_tips_are_what_nothing_follows(log):
    followed = {parent for each in log for parent in each.parents}
    assert {each.revision for each in tips(log)} == {each.revision for each in log} - followed
