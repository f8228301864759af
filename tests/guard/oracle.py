"""The law of the drift guard, judged by bytes and answers alone.

A mark of the outsider that leaves the file in a call must have stood in an earlier answer of the session, or in its own
arguments. Judged strictly only an answer that succeeded counts, and a refusal whose digest a later call gives back as
``expected``. What stood in a file without a history when the session began is no outsider's.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

from tests.guard.doors import Door
from tests.guard.outsider import marks, spans
from tests.guard.scripts import Script, draw
from tests.guard.sessions import Story, play

ALARMS = frozenset({"drift", "stale_prev"})
_DIGEST = re.compile(r"b2:[0-9a-f]{32}|sha256:[0-9a-f]{64}")


class Fault(NamedTuple):
    """What is wrong with a call, by its place in the story; ``marks`` are those that were lost."""

    call: int
    marks: tuple[str, ...] = ()


def losses(story: Story, *, strict: bool) -> list[Fault]:
    """The calls that took away text of the outsider which the session had not been shown."""
    found = []
    known = set() if story.script.setting.last is not None else marks(story.known)
    refused: dict[str | None, str] = {}
    for place, call in enumerate(story.calls):
        known |= marks(call.asked) | marks(refused.pop(call.expected, ""))
        lost = marks(call.before) - marks(call.after) - known
        if lost:
            found.append(Fault(place, tuple(sorted(lost))))
        if call.answer.succeeded or not strict:
            known |= marks(call.answer.text)
        elif _DIGEST.fullmatch(call.answer.found or ""):
            refused[call.answer.found] = call.answer.text
    return found


def alarms(story: Story) -> list[Fault]:
    """The calls that were refused for a change by others, though nobody else touched what they mean.

    Left out are calls that choose what they are made on, and files with an entry longer than the limit.
    """
    if story.told and (story.script.mode == "mixed" or story.door.states_base):
        return []
    return [
        Fault(place)
        for place, call in enumerate(story.calls)
        if call.answer.reason in ALARMS
        and call.expected is None
        and not _is_too_long(call.before, story.script.setting.limit)
    ]


def _is_too_long(data: bytes, limit: int | None) -> bool:
    return limit is not None and any(len(span.text) > limit for span in spans(data.decode()))


# --- many sessions --------------------------------------------------------------------------------------------------


def script_of(door: type[Door], seed: int) -> Script:
    """The script of a seed for a door."""
    return draw(seed, door.can, door.names_more)


def verdicts(door: type[Door], seed: int) -> list[str]:
    """Those of ``Tally.seeds`` that the session of a seed belongs to."""
    story = play(script_of(door, seed), door)
    found = {
        "lost": losses(story, strict=door.strict),
        "unseen": losses(story, strict=False),
        "apart" if story.told else "alone": alarms(story),
    }
    return [name for name, faults in found.items() if faults]


class Tally:
    """What became of sessions at one door."""

    def __init__(self, door: type[Door]) -> None:
        self.door, self.sessions = door, 0
        self.seeds: dict[str, list[int]] = {"lost": [], "unseen": [], "alone": [], "apart": []}
        """Sessions that lost text, and text that no answer at all had shown; and that were alarmed, by their mode."""

    def take(self, seeds: Sequence[int], processes: int = 1) -> None:
        """Play these sessions."""
        self.sessions += len(seeds)
        with ProcessPoolExecutor(processes) if processes > 1 else nullcontext() as pool:
            work = partial(verdicts, self.door)
            found = map(work, seeds) if pool is None else pool.map(work, seeds, chunksize=10)
            for seed, names in zip(seeds, found, strict=True):
                for name in names:
                    self.seeds[name].append(seed)

    @property
    def wrong(self) -> list[int]:
        """The sessions that may not be."""
        return self.seeds["lost"] + self.seeds["alone"]

    def __str__(self) -> str:
        lost, unseen, alone, apart = (f"{len(seeds):,}" for seeds in self.seeds.values())
        return (
            f"{self.door.name}: {self.sessions:,} sessions; {lost} lost text ({unseen} text that no answer at all had "
            f"shown); false alarms to an agent alone {alone}, beside an outsider elsewhere {apart}"
        )

    def examples(self, most: int, tried: int) -> str:
        """The shortest scripts of so many kinds, of so many that were tried: of losses, and of false alarms."""
        found = []
        lost = partial(losses, strict=self.door.strict)
        for seeds, faults in ((self.seeds["lost"], lost), (self.seeds["alone"] + self.seeds["apart"], alarms)):
            short = [shortest(script_of(self.door, seed), self.door, faults) for seed in seeds[:tried]]
            kinds: dict[str, Story] = {}
            for story in sorted(short, key=lambda story: len(story.calls) + len(story.told)):
                kinds.setdefault(kind(story), story)
            found += [shown(story, faults(story)) for story in [*kinds.values()][:most]]
        return "\n\n".join(found)


# --- one session ------------------------------------------------------------------------------------------------------


def shortest(script: Script, door: type[Door], faults: Callable[[Story], list[Fault]]) -> Story:
    """The story of the script without the steps and repetitions that the fault does not need."""
    story: Story | None = play(script, door)
    found = story
    while found is not None:
        story, tried = found, (play(shorter, door) for shorter in _shorter(found.script))
        found = next((each for each in tried if faults(each)), None)
    return story


def _shorter(script: Script) -> Iterator[Script]:
    steps = script.steps
    for place in reversed(range(len(steps))):
        yield script._replace(steps=(*steps[:place], *steps[place + 1 :]))
    if script.before:
        yield script._replace(before=())
    for place, step in enumerate(steps):
        simpler = [step._replace(times=step.times - 1)] * (step.times > 1) + [step._replace(on="none")] * (
            step.on != "none"
        )
        for each in simpler:
            yield script._replace(steps=(*steps[:place], each, *steps[place + 1 :]))


def kind(story: Story) -> str:
    """What is done in words, by which failing scripts of one kind are told from others."""
    steps = (*story.script.before, *story.script.steps)
    return f"{story.script.setting.last is None} " + ", ".join(
        f"{step.what} x{step.times} on {step.on}" if step.who == "agent" else step.what for step in steps
    )


def shown(story: Story, faults: list[Fault]) -> str:
    """A story that a person can follow and play again."""
    script, wrong = story.script, {fault.call: " ".join(["  <<<", *(fault.marks or ["alarm"])]) for fault in faults}
    history = "a history" if script.setting.last is not None else "no history"
    lines = [
        f"python -m tests.guard {story.door.name} --seed {script.seed} --steps {script.named()}",
        f"    {script.mode}; tier {script.setting.tier}, limit {story.script.setting.limit}, {history}, and this file:",
        *(f"    | {line[:60]}" for line in story.file.decode().splitlines() if line),
    ]
    for step in (*script.before, *script.steps):
        if step.number in story.told:
            lines.append(f"{step.number:>3} outsider {story.told[step.number]}")
        for place, call in enumerate(story.calls):
            if call.step == step.number and call.asked:
                said = "ok" if call.answer.succeeded else f"refused: {call.answer.reason}, found {call.answer.found}"
                asked = re.sub(r"(?s)(.{130}).{20,}(.{80})", r"\1 … \2", call.asked)
                lines.append(f"{call.step:>3} agent {asked} -> {said}{wrong.get(place, '')}")
    return "\n".join(lines)
