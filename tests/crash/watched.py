"""A `System` that lets a test stand between the store and each of its calls."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from catmem.store.files.system import System

CALLS = (
    "open",
    "close",
    "read_at",
    "write_at",
    "truncate",
    "fsync",
    "status",
    "look",
    "may_write",
    "names",
    "make_folder",
    "link",
    "rename",
    "exchange",
    "unlink",
    "change_mode",
    "change_owner",
    "copy_attributes",
    "lock",
    "lock_holder",
    "unlock",
    "lease",
    "lease_stands",
    "give_back",
    "sleep",
)
"""The methods that a test may stand before or behind: those that look at the disk, change it, or wait."""

ASKED = ("clock", "now", "token", "boot", "booted_at", "features", "mount")
"""The rest: what the machine says of itself. These are passed on as they are."""


class Call(NamedTuple):
    """One call: its number, counted from 0, its name and what it was given."""

    number: int
    name: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]

    @property
    def swaps(self) -> bool:
        """Whether it puts the store's new file in its place."""
        return self.name == "exchange" or (self.name == "link" and self.arguments[0] == "USER.md")

    def __str__(self) -> str:
        """The call in short, for messages."""
        said = [repr(each) if not isinstance(each, bytes) else f"{len(each)} bytes" for each in self.arguments]
        said += [f"{name}={value!r}" for name, value in self.keywords.items()]
        return f"{self.number} {self.name}({', '.join(said)})"


class Watched(System):
    """Passes every call on to `under`. A subclass says in `around` what happens before, instead and after."""

    def __init__(self, under: System | None = None) -> None:
        self.under = under or System()
        self.calls: list[Call] = []

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        """Make the call, and return what it gave."""
        return make()

    def _passed(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        call = Call(len(self.calls), name, arguments, keywords)
        self.calls.append(call)
        return self.around(call, functools.partial(getattr(self.under, name), *arguments, **keywords))


def _watched(name: str) -> Callable[..., Any]:
    @functools.wraps(getattr(System, name))
    def passed(self: Watched, *arguments: Any, **keywords: Any) -> Any:
        return self._passed(name, arguments, keywords)

    return passed


def _asked(name: str) -> Callable[..., Any]:
    @functools.wraps(getattr(System, name))
    def passed(self: Watched, *arguments: Any) -> Any:
        return getattr(self.under, name)(*arguments)

    return passed


for _name in CALLS:
    setattr(Watched, _name, _watched(_name))
for _name in ASKED:
    setattr(Watched, _name, _asked(_name))
