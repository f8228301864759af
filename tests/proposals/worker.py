"""One process of the proof of proposals: an agent that proposes, or a person who decides and writes; see ``proof``.

``python -m tests.proposals.worker ROOT NAME SEED`` works until it is killed, or until the file ``end`` lies in the root.
It notes what it is told, a line each, before it goes on.
"""

import os
import random
import sys
from pathlib import Path
from uuid import uuid4

from catmem import Workspace
from catmem.errors import CatmemError

FACTS = 12
OWNERS = ("boss", "neo")


class ProposalWorker:
    """A worker called ``name``: ``person``, or a profile."""

    def __init__(self, root: Path, name: str, seed: str) -> None:
        self.ws = Workspace.open(root)
        self.actor = None if name == "person" else name
        self.random = random.Random(seed)
        self.told = os.open(root / f"{name}.told", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, *words: object) -> None:
        """Keep a line of what was told, whole, before anything else happens."""
        os.write(self.told, (" ".join(map(str, words)) + "\n").encode())

    def step(self) -> None:
        """Do one thing; a refusal is an answer too."""
        ways = [self.write, self.write, self.decide, self.withdraw] if self.actor else [self.write, self.decide]
        way = self.random.choice([*ways, self.decide] if self.actor is None else ways)
        try:
            way()
        except CatmemError as error:
            self.note("refused", error.code)

    def write(self) -> None:
        """Give a fact another value; an agent's may wait, and may come twice."""
        token = uuid4().hex[:12]
        owner = self.actor if self.actor == "neo" else self.random.choice(OWNERS)
        number = self.random.randrange(FACTS)
        old = next(each.entry.body for each in self.ws.list(owner) if each.entry.body.startswith(f"F{number}:"))
        if self.actor is None and self.random.random() < 0.5:
            self.ws.verify(owner, old)
            return
        done = self.ws.replace(owner, old, content=f"F{number}: {token}", actor=self.actor, op_id=token)
        self.note("proposed" if done.waiting else "written", token, done.waiting or done.revision)

    def decide(self) -> None:
        """Approve, or reject, one of those that are shown; an agent tries with its own too."""
        shown = self.ws.proposals(actor=self.actor)
        if not shown:
            return
        one = self.random.choice(shown)
        if self.random.random() < 0.7:
            done = self.ws.approve(one.id, actor=self.actor)
        else:
            done = self.ws.reject(one.id, actor=self.actor, reason="no")
        self.note("decided", one.id, done.verdict)

    def withdraw(self) -> None:
        """Reject one of its own."""
        own = [each for each in self.ws.proposals(actor=self.actor) if each.agent == self.actor]
        if own:
            one = self.random.choice(own)
            self.note("decided", one.id, self.ws.reject(one.id, actor=self.actor).verdict)


def main() -> None:
    """Work until the end."""
    root, name, seed = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    worker = ProposalWorker(root, name, seed)
    parent = os.getppid()
    while not (root / "end").exists() and os.getppid() == parent:  # not for ever, if the proof itself is killed
        worker.step()


if __name__ == "__main__":
    main()
