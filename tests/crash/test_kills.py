"""A process is killed at a system call: what it acknowledged stays, and the next write finishes what it began."""

import pytest

from catmem.store.contract import EXTERNAL, Change
from tests.crash.interleavings import existing
from tests.crash.kills import BY_PERSONS, OPERATIONS, Kill, Killed, Mortal, every_kill, kill_at, killed_state
from tests.crash.outsiders import KINDS
from tests.crash.scene import ENTITY, Scene, line, trial_in
from tests.lengths import at_length

pytestmark = pytest.mark.torture

STEP = at_length(7, 11)
"""The default suite kills at every eleventh call, `make torture` at each."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_is_lost_by_a_kill(folder, name):
    operation = OPERATIONS[name]
    first = list(OPERATIONS).index(name) % STEP
    for kill in every_kill(folder, operation)[first::STEP]:
        with trial_in(folder) as root:
            kill_at(root, operation, kill)


@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_is_lost_by_a_kill_of_the_recovery_after_a_kill(folder, name):
    operation = OPERATIONS[name]
    first = list(OPERATIONS).index(name) % STEP
    for place, kill in enumerate(every_kill(folder, operation)[first :: 3 * STEP]):
        with trial_in(folder) as root:
            kill_at(root, operation, kill, again=Kill(15 + 7 * place))


@pytest.mark.parametrize("meanwhile", ["append", "rename over", "truncate and rewrite", "sed -i", "delete"])
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in BY_PERSONS])
def test_nothing_is_lost_if_an_outsider_writes_before_the_recovery(folder, name, meanwhile):
    operation = OPERATIONS[name]
    first = 3 * list(KINDS).index(meanwhile)
    for kill in every_kill(folder, operation)[40 + first % 7 :: 4 * STEP]:
        with trial_in(folder) as root:
            kill_at(root, operation, kill, meanwhile=meanwhile)


@pytest.mark.parametrize("meanwhile", [[], ["append"]])
def test_a_killed_write_that_took_the_end_away_is_put_in_place(folder, meanwhile):
    """What it replaces begins with its own text, and still was not made from it."""
    scene = Scene(folder)
    existing(scene)
    system = Mortal(None)
    system.kill_at_call = "exchange" if system.features().exchange else "link"
    with pytest.raises(Killed):
        scene.store(system).commit(ENTITY, None, lambda _: line("first"), Change(op="remove"))
    system.bury()
    for kind in meanwhile:
        KINDS[kind](scene, "meanwhile").act()
    store = scene.store()
    scene.add(store, "after")
    assert scene.read() == b"".join(map(line, ["first", *(["meanwhile"] if meanwhile else []), "after"]))
    assert len([each for each in store.log(ENTITY) if each.agent == EXTERNAL]) == len(meanwhile)
    store.close()


@pytest.mark.parametrize("name", ["add", "add with late bytes"])
def test_a_killed_process_leaves_just_what_the_test_says_that_it_leaves(folder, name):
    """The kills here are made by an exception. This holds them against SIGKILL."""
    operation = OPERATIONS[name]
    for point in range(20):
        with trial_in(folder) as root:
            real = killed_state(root, operation, Kill(point, changes=True), real=True)
        with trial_in(folder) as root:
            assert killed_state(root, operation, Kill(point, changes=True), real=False) == real
