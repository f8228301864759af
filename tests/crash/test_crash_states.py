"""The machine stops at any moment, and what was not waited for may be lost: all that was acknowledged is there."""

from __future__ import annotations

from random import Random

import pytest

from catmem.store.files.publication import Publication
from tests.crash.disk import ROOT
from tests.crash.scene import quick_folder, trial_in
from tests.crash.states import Story, check_stopped, stop, tell, tell_at_random
from tests.crash.watched import Watched

STATES = 500
AT_ONCE = 50


@pytest.fixture(scope="module")
def moments(tmp_path_factory):
    with quick_folder(tmp_path_factory.mktemp("told")) as folder:
        return [*tell(folder / "story"), *tell_at_random(folder / "another", Random(1))]


@pytest.mark.parametrize("start", range(0, STATES, AT_ONCE))
def test_a_stop_of_the_machine_loses_nothing_that_was_acknowledged(folder, moments, start):
    states = set()
    for number in range(start, start + AT_ONCE):
        chance = Random(number)
        with trial_in(folder) as root:
            states.add(stop(root, chance.choice(moments), chance))
    assert len(states) > AT_ONCE // 2, "the model should lose something different nearly every time"


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("earlier", [(), ("zeroth",)])
def test_a_new_file_that_is_back_under_its_temporary_name_is_not_doubled(folder, earlier, damaged):
    """The disk lost that the name went away. An outsider had written to that file, another put one in its place."""
    story = Story(folder / "story", Watched, Publication)
    for name in earlier:
        story.add(name)
    story.add("first")
    story.system.close(story.outsider("late"))
    story.replaces("over")
    story.store.close()
    disk = story.system.disk
    neo = disk.find(ROOT, "neo")
    side = disk.find(neo, ".catmem")
    temporary = disk.folders[disk.find(side, "tmp")]
    made = [change for change in temporary.since if change.number == max(each.number or 0 for each in temporary.since)]
    state = disk.everything()
    state.folders[disk.find(side, "tmp")] = temporary.after(made[:1])
    state.files[disk.find(side, "published")] = b""
    if damaged:
        state.files[disk.find(neo, "USER.md")] = bytes(16)
    check_stopped(folder / "stopped", state, story.system.known)
