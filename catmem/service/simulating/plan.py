"""What each agent of a simulation does: the same plan for the same seed, however the agents interleave."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Guard: TypeAlias = Literal["none", "refuse", "branch"]
"""``none``: the last writer wins. ``refuse``: compare-and-swap, and again. ``branch``: kept beside, merged later."""

SUBJECTS = ("vendor", "invoice day", "budget", "contact", "cost centre", "currency", "approver", "office")
"""What several agents write about; each entity has a fact of each from the start."""

START = "start"
"""The value that every subject has at first."""

_ADDED = 0.3
"""The share of writes that add a fact of their own; the others change a shared one."""


class Step(NamedTuple):
    """One write: to which entity, about what, what the new value is, and the seconds of thought before it."""

    entity: str
    subject: str
    value: str
    pause: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A race that is planned. ``writes`` is the number of all agents together, ``think`` a mean, in seconds."""

    agents: int = 8
    writes: int = 1_000
    entities: int = 4
    seed: int = 0
    think: float = 0.005
    processes: int = 8

    def to_dict(self) -> dict[str, Any]:
        """The trial as JSON-ready data."""
        return asdict(self)

    def names(self) -> list[str]:
        """The agents."""
        return [f"agent-{number}" for number in range(1, self.agents + 1)]

    def entity_names(self) -> list[str]:
        """The entities."""
        return [f"shared-{number}/user" for number in range(1, self.entities + 1)]

    def steps(self, agent: str) -> list[Step]:
        """What one agent writes, in order."""
        number = self.names().index(agent)
        chance = random.Random(f"{self.seed} {agent}")  # noqa: S311 - chance that can be repeated
        entities = self.entity_names()
        steps = []
        for count in range(len(range(number, self.writes, self.agents))):
            value = f"{agent.removeprefix('agent-')}-{count + 1}"
            subject = f"note {value}" if chance.random() < _ADDED else chance.choice(SUBJECTS)
            steps.append(Step(chance.choice(entities), subject, value, chance.expovariate(1) * self.think))
        return steps

    def team(self, process: int) -> list[str]:
        """The agents that run in one of the processes, each in a thread of its own."""
        return self.names()[process :: self.processes]
