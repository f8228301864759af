"""The same plan raced twice, without guards and with them, and both outcomes side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem.errors import ConfigError
from catmem.service.backends import refuse_no_store
from catmem.service.simulating.race import Outcome, race
from catmem.service.store_names import shown_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.service.simulating.plan import Guard, Trial
    from catmem.store.contract import OnStale

_MOST_PROCESSES = 64
_BETWEEN = {"agents": (1, 1_000), "writes": (1, 1_000_000), "entities": (1, 10_000), "processes": (1, _MOST_PROCESSES)}


@dataclass(frozen=True, slots=True)
class Simulation:
    """A plan, where it was raced (without passwords), and what became of it without guards and with them."""

    trial: Trial
    stores: tuple[str, ...]
    on_stale: OnStale
    unguarded: Outcome
    guarded: Outcome

    def to_dict(self) -> dict[str, Any]:
        """The simulation as JSON-ready data; times are in seconds."""
        return {
            **self.trial.to_dict(),
            "stores": list(self.stores),
            "on_stale": self.on_stale,
            "unguarded": self.unguarded.to_dict(),
            "guarded": self.guarded.to_dict(),
        }


def simulate(trial: Trial, stores: Sequence[str], on_stale: OnStale = "refuse") -> Simulation:
    """Race a plan on throw-away stores of the kinds that are named, first without guards.

    Several stores are shards: each entity is in the one that ``shard_of`` gives. Raises ``ConfigError`` (``bad_store``,
    ``bad_trial``), ``StoreError`` (``not_empty``, ``not_available``, ``missing_extra``).
    """
    for where in stores:
        refuse_no_store(where)
    _refuse_bad(trial, stores)
    guard: Guard = on_stale
    return Simulation(
        trial,
        tuple(map(shown_store, stores)),
        on_stale,
        unguarded=race(trial, "none", stores),
        guarded=race(trial, guard, stores),
    )


def _refuse_bad(trial: Trial, stores: Sequence[str]) -> None:
    """Raise ``ConfigError`` for a plan that cannot be carried out."""
    for name, (least, most) in _BETWEEN.items():
        if not least <= (value := getattr(trial, name)) <= most:
            raise _bad(f"{name} is from {least:,} to {most:,}, and this is {value:,}")
    if not 0 <= trial.think <= 1:
        raise _bad(f"thinking takes from 0 to 1 second, and this is {trial.think:g}")
    files = [where for where in stores if not where.startswith("postgresql://")]
    if not stores or len(set(files)) != len(files):
        raise _bad("each shard is a store of its own: of files and each SQLite database there can be one")


def _bad(message: str) -> ConfigError:
    return ConfigError(message, code="bad_trial", hint="Nothing was done. catmem simulate --help tells what it takes.")
