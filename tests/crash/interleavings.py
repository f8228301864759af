"""A commit with outsiders who act before chosen system calls of it, and what must hold afterwards."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from catmem.errors import BusyError, CatmemError, DriftError
from catmem.store.contract import EXTERNAL, MergeFunction
from catmem.store.files.file_store import FileStore
from catmem.store.files.publication import Publication
from catmem.store.files.system import System
from tests.crash.checks import Lost, check
from tests.crash.outsiders import KINDS, Outsider
from tests.crash.scene import ENTITY, Scene, line, merge_lines, trial_in
from tests.crash.watched import Call, Watched
from tests.merges import merge_appended

Spare: TypeAlias = "Callable[[Call, Outsider], bool]"


class Action(NamedTuple):
    """An outsider of this kind acts before the call with this number."""

    kind: str
    point: int


class Company(Watched):
    """Has outsiders act before the calls that they are meant for."""

    def __init__(
        self,
        scene: Scene,
        outsiders: Sequence[tuple[int, Outsider]],
        under: System | None = None,
        *,
        spare: Spare = lambda call, outsider: False,
    ) -> None:
        """`spare` says that an outsider is not to act before a call."""
        super().__init__(under)
        self.outsiders = outsiders
        self.watching = True
        self.spare = spare
        self.reached = 0
        self.leased = scene.leased

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        if self.watching:
            for point, outsider in self.outsiders:
                if point == call.number:
                    self.reached += 1
                    if not self.spare(call, outsider):
                        self.step_in(outsider)
        if call.name == "sleep":
            return None  # nobody whom it waits for needs time
        result = make()
        if call.name == "lease" and result:
            self.leased.add(call.arguments[0])
        if call.name in {"give_back", "close"} and call.arguments[0] in self.leased:
            self.leased.remove(call.arguments[0])
            if not self.leased:
                self.settle()
        return result

    def step_in(self, outsider: Outsider) -> None:
        for _, other in self.outsiders:
            if other is not outsider and other.busy:
                outsider.beside(other)
        outsider.act()

    def settle(self) -> None:
        """No lease is left: whoever waited has got the file, and does its work, before anything else happens."""
        for _, outsider in self.outsiders:
            outsider.settle()


class Ran(NamedTuple):
    """What became of a commit: the number of its calls, whether it was refused, how many outsiders had their turn."""

    calls: int
    refused: CatmemError | None
    reached: int


def fresh(scene: Scene) -> None:
    """No file, and no store either."""


def written_before(scene: Scene) -> None:
    """A person's file, and no store yet."""
    scene.outside("first")
    scene.outside("a person's")


def existing(scene: Scene) -> None:
    store = scene.store()
    scene.add(store, "first")
    scene.add(store, "second")
    store.close()


def drifted(scene: Scene) -> None:
    """A file that an outsider wrote to since."""
    existing(scene)
    scene.outside("since")


def removed(scene: Scene) -> None:
    existing(scene)
    scene.path.unlink()
    scene.recorded |= scene.visible
    scene.visible.clear()


def late(scene: Scene) -> None:
    """A file whose last version was written to after it was taken out of its place."""
    store = scene.store()
    scene.add(store, "first")
    with scene.path.open("ab", buffering=0) as held:
        scene.add(store, "second")
        held.write(line("late"))
    scene.visible.add(line("late"))
    store.close()


BEGINNINGS: dict[str, Callable[[Scene], None]] = {
    "no file": fresh,
    "a person's file": written_before,
    "a file": existing,
    "a changed file": drifted,
    "a removed file": removed,
    "late bytes": late,
}


def interleave(
    root: Path,
    beginning: str,
    actions: Sequence[Action],
    *,
    merge: MergeFunction = merge_lines,
    under: System | None = None,
    publication: type[Publication] = Publication,
    spare: Spare = lambda call, outsider: False,
) -> Ran:
    """Commit once with these outsiders, let them finish, commit again, and check. Raises `Lost`."""
    scene = Scene(root, merge)
    BEGINNINGS[beginning](scene)
    scene.seen.clear()
    outsiders = [
        (action.point, KINDS[action.kind](scene, f"outsider {number}")) for number, action in enumerate(actions)
    ]
    system = Company(scene, outsiders, under, spare=spare)
    store = scene.store(system, publication)
    there = scene.read()
    try:
        refused = _commit(scene, store)
        calls = len(system.calls)
        system.watching = False
        acted = [outsider for _, outsider in outsiders if outsider.acted]
        for outsider in acted:
            outsider.finish()
        unsure = _expect(scene, acted)
        if refused is not None:
            _repeat(scene, store, refused)
        check(scene, store, unsure=unsure, system=under)
        if not any(outsider.removed or outsider.contested for outsider in acted):
            _look_for_halves(scene, store, there)
    finally:
        for _, outsider in outsiders:
            outsider.finish()
        store.close()
    return Ran(calls, refused, system.reached)


def _commit(scene: Scene, store: FileStore) -> CatmemError | None:
    try:
        scene.add(store, "ours", op_id="ours")
    except (BusyError, DriftError) as refused:
        return refused
    return None


def _repeat(scene: Scene, store: FileStore, refused: CatmemError) -> None:
    """A refused write said the truth: nothing was written. And it can be repeated."""
    ours = line("ours")
    if "Nothing was written" in (refused.hint or ""):
        history = b"".join(data for _, data in store.replay(ENTITY))
        if ours in scene.read() or ours in history:
            raise Lost(f"{refused}: {refused.hint} But it was.")
    scene.add(store, "ours", op_id="ours")
    if "is kept as revision" in refused.message:
        scene.visible.remove(ours)
        scene.recorded.add(ours)


def _expect(scene: Scene, acted: Sequence[Outsider]) -> set[bytes]:
    """Say what must be visible now; the answer is what may be."""
    unsure: set[bytes] = set()
    for outsider in acted:
        if outsider.exposed:
            unsure |= outsider.lines
        elif outsider.contested:
            # It was put over text that it never saw. Where the two cannot be joined, one is in the history alone.
            unsure |= outsider.lines
            scene.recorded |= outsider.lines
        else:
            scene.visible |= outsider.lines
    for outsider in acted:
        gone = {each for each in scene.visible | unsure if each in outsider.removed}
        scene.visible -= gone
        unsure |= gone
        scene.recorded |= {each for each in gone if any(each in data for data in scene.acknowledged.values())}
    return unsure


def _look_for_halves(scene: Scene, store: FileStore, there: bytes) -> None:
    """No write was made on half of a text, or made half of one."""
    before = set(there.splitlines(keepends=True))
    ours = [data for revision, data in store.replay(ENTITY) if line("ours") in data and revision.agent != EXTERNAL]
    for data in [*scene.seen, *ours]:
        if not before <= set(data.splitlines(keepends=True)):
            raise Lost(f"a write was made on half of something: {data!r}; the file was {there!r}")


# --- which ones -----------------------------------------------------------------------------------------------------


def one_deep(
    folder: Path,
    beginning: str,
    kind: str,
    *,
    first: int = 0,
    step: int = 1,
    under: System | None = None,
    spare: Spare = lambda call, outsider: False,
) -> Iterator[Ran]:
    """One outsider, before every `step`th call."""
    point = first
    while True:
        with trial_in(folder) as root:
            merge = merge_lines if KINDS[kind].inserts else merge_appended
            ran = interleave(root, beginning, [Action(kind, point)], merge=merge, under=under, spare=spare)
        if not ran.reached:
            return
        yield ran
        point += step


def two_deep(number: int) -> tuple[str, tuple[Action, Action]]:
    """A pair of outsiders, the same for the same number: half of them close together."""
    chance = random.Random(number)
    beginning = chance.choice(sorted(BEGINNINGS))
    first = chance.randrange(LONGEST)
    second = first + chance.choice((0, 1, 2, 3, chance.randrange(LONGEST), chance.randrange(LONGEST)))
    return beginning, (Action(chance.choice(list(KINDS)), first), Action(chance.choice(list(KINDS)), second))


LONGEST = 100
"""Calls of the longest commit that nobody disturbs, about."""
