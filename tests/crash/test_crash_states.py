"""The machine stops at any moment, and what was not waited for may be lost: all that was acknowledged is there."""

from random import Random

import pytest

from catmem.store.files.publication import Publication
from tests.crash.disk import ROOT, Disk
from tests.crash.scene import quick_folder, trial_in
from tests.crash.states import Story, check_stopped, stop, tell, tell_at_random
from tests.crash.watched import Watched
from tests.lengths import at_length

pytestmark = pytest.mark.torture

STATES = at_length(500, 250)
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
    parts = Parts(story.system.disk)
    state = parts.disk.everything()
    state.folders[parts.tmp] = parts.temporary_names()[-1]
    state.files[parts.published] = b""
    if damaged:
        state.files[parts.file] = bytes(16)
    check_stopped(folder / "stopped", state, story.system.known)


@pytest.mark.parametrize("retired", [True, False])
def test_the_temporary_name_of_an_older_write_of_the_same_text_is_not_taken_for_that_of_a_newer(folder, retired):
    """The disk lost all names in `tmp/` since the first write, and the text of the first is to be restored."""
    story = Story(folder / "story", Watched, Publication)
    story.add("first")
    story.system.close(story.outsider("outside"))
    story.insert("second")
    story.restore("1")
    story.store.close()
    moments = story.system.moments
    swap = max(number for number, moment in enumerate(moments) if " exchange(" in moment.told)
    parts = Parts(moments[swap - 1].disk)
    state = parts.disk.everything()
    state.folders[parts.tmp] = parts.temporary_names()[0]
    state.files[parts.published] = b""
    if not retired:
        state.folders[parts.gen].clear()
    check_stopped(folder / "stopped", state, moments[swap - 1].known)


class Parts:
    """The parts of the store's folder on a disk, by their numbers."""

    def __init__(self, disk: Disk) -> None:
        def find(folder: int, name: str) -> int:
            number = disk.find(folder, name)
            assert number is not None
            return number

        self.disk = disk
        neo = find(ROOT, "neo")
        side = find(neo, ".catmem")
        self.file = find(neo, "USER.md")
        self.published = find(side, "published")
        self.tmp, self.gen = find(side, "tmp"), find(side, "gen")

    def temporary_names(self) -> list[dict[str, int]]:
        """What `tmp/` held each time when a file had been made in it."""
        tmp, held, made = self.disk.folders[self.tmp], [], 0
        for place, change in enumerate(tmp.since, 1):
            if (change.number or 0) > made:
                made = change.number or 0
                held.append(tmp.after(tmp.since[:place]))
        return held
