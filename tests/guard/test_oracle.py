"""The oracle of the drift guard is able to fail: doors that are broken on purpose, and one that is not."""

import pytest

from tests.guard.doors import Door
from tests.guard.oracle import Tally, losses, script_of, shortest, shown
from tests.guard.outsider import marks, spans
from tests.guard.sessions import Answer, play

pytestmark = pytest.mark.torture

SESSIONS = range(300)
DIGEST = "b2:" + "d" * 32


class HonestDoor(Door):
    """A plain file. Who changes an entry has seen it whole, in a list, or gives back the digest of the refusal that told it."""

    name = "honest"
    can = frozenset({"list", "replace", "remove", "no match"})

    def __init__(self, folder, script) -> None:
        self.script, self.path, self.refused = script, folder / "USER.md", ""
        text, last = script.setting.text, script.setting.last
        self.path.write_text(text if last is None else f"{text}§\n{last}\n", encoding="utf-8")
        self.recorded = self.entries()

    def __enter__(self):
        self.seen = self.entries() if self.script.setting.last is None else self.entries() & self.recorded
        return self

    def __exit__(self, *_) -> None:
        pass

    def text(self) -> str:
        return self.path.read_bytes().decode().replace("\r", "")

    def entries(self) -> set[str]:
        return {span.text for span in spans(self.text())}

    def call(self, wish) -> Answer:
        text = self.text()
        if wish["action"] == "list":
            self.seen |= self.entries()
            return Answer(text)
        meant = [span for span in spans(text) if wish["old_text"] in span.text]
        if len(meant) != 1:
            return Answer("no such entry", succeeded=False, reason="no_match")
        (span,), new = meant, wish.get("content", "Removed.")
        refusal = self.refusal(span.text, wish.get("expected"))
        if refusal is None:
            self.path.write_bytes((text[: span.start] + new + text[span.end :]).encode())
            self.seen.add(new)
        return refusal or Answer("done")

    def refusal(self, entry, expected) -> Answer | None:
        if entry in self.seen or (expected, entry) == (DIGEST, self.refused):
            return None
        self.refused = entry
        return Answer(entry, succeeded=False, reason="drift", found=DIGEST)


class CarelessDoor(HonestDoor):
    """It drops what nobody was shown."""

    def refusal(self, entry, expected) -> None:
        return None


class LeakyDoor(HonestDoor):
    """It takes its own refusal for a look."""

    def refusal(self, entry, expected) -> Answer | None:
        told = super().refusal(entry, expected)
        self.seen.add(entry)
        return told


def tallied(door) -> Tally:
    tally = Tally(door)
    tally.take(SESSIONS)
    return tally


def lost_marks(story) -> set[str]:
    return {mark for fault in losses(story, strict=True) for mark in fault.marks}


def test_an_honest_door_is_at_no_fault_and_who_gives_a_digest_back_has_read_the_refusal():
    tally = tallied(HonestDoor)
    assert not tally.wrong, tally.examples(1, 1)
    assert not tally.seeds["apart"]
    calls = [call for seed in SESSIONS for call in play(script_of(HonestDoor, seed), HonestDoor).calls]
    assert any(call.answer.reason == "drift" for call in calls)
    assert any(marks(call.before) > marks(call.after) for call in calls)
    assert any(call.expected == DIGEST and call.before != call.after for call in calls)


def test_a_door_that_drops_what_was_not_shown_loses_by_either_law():
    tally = tallied(CarelessDoor)
    assert tally.seeds["lost"] == tally.seeds["unseen"]
    assert len(tally.seeds["lost"]) > 20
    assert not tally.seeds["alone"]


def test_a_door_that_tells_it_in_a_refusal_loses_by_the_strict_law_alone():
    tally = tallied(LeakyDoor)
    assert len(tally.seeds["lost"]) > 5
    assert tally.seeds["unseen"] == []


@pytest.mark.parametrize("door", [CarelessDoor, LeakyDoor])
def test_a_failing_script_is_made_short_and_can_be_played_again(door):
    found = [
        shortest(script_of(door, seed), door, lambda story: losses(story, strict=True))
        for seed in tallied(door).seeds["lost"][:10]
    ]
    for story in found:
        again = script_of(door, story.script.seed).of(story.script.named())
        assert again == story.script
        assert play(again, door) == story
        for place in range(len(again.steps)):
            fewer = again._replace(steps=(*again.steps[:place], *again.steps[place + 1 :]))
            assert not lost_marks(play(fewer, door))
    assert min(len(story.script.steps) + len(story.script.before) for story in found) <= 2
    printed = shown(found[0], losses(found[0], strict=True))
    assert "<<< zqm" in printed
    assert f"--seed {found[0].script.seed} --steps {found[0].script.named()}" in printed
