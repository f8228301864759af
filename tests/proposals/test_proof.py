"""Proposals are decided while agents write and are killed: 40 answers here, 10,000 in `make torture`."""

from dataclasses import replace

from tests.proposals.proof import prove, wrong_in
from tests.proposals.worker import FACTS
from tests.roots import make_root

PROFILES = {"boss": "tier: 1\nuser_memory_categories: ['*']\nmay_approve: ['*']\n"}
FILE = "## Rules\n" + "\n§\n".join(f"F{number}: begin" for number in range(FACTS)) + "\n"


def test_nothing_is_lost_applied_late_or_approved_by_its_proposer(tmp_path):
    ended = prove(tmp_path, 40)
    assert ended.wrong == []
    assert ended.told["proposed"]


def test_the_judge_finds_what_is_wrong(tmp_path):
    ws = make_root(tmp_path, config="approval: others\n", profiles=PROFILES, files={"boss/user": FILE})
    name = ws.replace("boss", "F1: begin", content="F1: next", actor="boss").waiting
    ws.approve(name)
    right = list(ws.store.replay("boss/user"))
    assert wrong_in(right) == []
    *before, (decision, data) = right
    by_its_proposer = [*before, (_by(decision, "boss"), data)]
    assert wrong_in(by_its_proposer) == [f"{name} was approved by its proposer"]
    other_text = [*before, (decision, data.replace(b"F2: begin", b"F2: slipped in"))]
    assert wrong_in(other_text) == [f"{name} (approved) wrote something else than it said"]
    first, *rest = right
    changed = [
        (first[0], first[1]),
        rest[0],
        (_late(first[0]), FILE.replace("F1: begin", "F1: other").encode()),
        *rest[1:],
    ]
    assert f"{name} was applied on a changed entry" in wrong_in(changed)


def _by(revision, agent):
    return replace(revision, agent=agent)


def _late(revision):
    return replace(revision, revision="10", parents=("1",))
