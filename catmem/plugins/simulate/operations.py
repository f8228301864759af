"""The operation simulate: agents that race on shared memory, once without guards and once with them."""

from typing import Annotated, Any, Literal, NamedTuple

from catmem.ops.table import Call, Outcome, P, operation
from catmem.plugins.simulate.simulation import RaceOutcome, Trial, race
from catmem.workspace.stores import shown_store


class Raced(NamedTuple):
    """A plan, raced without guards and with those of ``on_stale``."""

    trial: Trial
    store: str
    on_stale: str
    unguarded: RaceOutcome
    guarded: RaceOutcome

    def __json__(self) -> dict[str, Any]:
        fields = self._asdict()
        return {**fields.pop("trial")._asdict(), **fields}


@operation(
    "simulate",
    examples=(
        "catmem simulate --agents 8 --writes 1000",
        "catmem simulate --store sqlite:///race.db --on-stale branch",
    ),
    rooted=False,
)
def simulate(
    call: Call,
    *,
    agents: Annotated[int, P("How many agents write, each a process.", minimum=1, maximum=64)] = 8,
    writes: Annotated[int, P("How many writes they make together.", minimum=1, maximum=1_000_000)] = 1_000,
    store: Annotated[str, P("What `store` in catmem.yaml may be.", metavar="STORE")] = "files",
    entities: Annotated[int, P("How many memory files they share.", minimum=1, maximum=10_000)] = 4,
    on_stale: Annotated[
        Literal["refuse", "branch"],
        P("What becomes of a guarded write on an older view: made again, or kept as a branch and merged in the end."),
    ] = "refuse",
    seed: Annotated[int, P("Another seed gives another plan.", metavar="N")] = 0,
) -> Outcome:
    """Let agents read, think and write facts into memory files that they share, at once, and count what is lost.

    The same plan is raced twice: without guards, where an agent writes back its copy of the whole file, and with
    them. The root of the race is new, and removed afterwards. A SQLite database must not exist, and a PostgreSQL
    database must hold no entities. Exit status 1 if anything was lost with guards, else 0.
    """
    del call
    trial = Trial(agents, writes, entities, seed)
    unguarded, guarded = race(trial, "none", store), race(trial, on_stale, store)
    lost = guarded.silent_overwrites or guarded.unrecorded
    return Outcome(Raced(trial, shown_store(store), on_stale, unguarded, guarded), status=int(bool(lost)))
