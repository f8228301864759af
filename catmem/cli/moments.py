"""Options that take a moment or a length of time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from catmem import clock

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH = re.compile(r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s)?")


def length_option(name: str, parameter: str, said: str) -> Callable[[Any], Any]:
    """A length of time such as ``30m`` or ``1h30m``."""
    return click.option(name, parameter, metavar="TIME", callback=_length, help=said)


def moment_option(name: str, said: str) -> Callable[[Any], Any]:
    """A moment: a day, a time stamp, or how long ago it was."""
    return click.option(name, metavar="TIME", callback=_moment, help=said)


def _length(ctx: click.Context, param: click.Parameter, value: str | None) -> timedelta | None:
    if value is None:
        return None
    found = _read_length(value)
    if found is None:
        message = f"{value!r} is not a length of time. Write it as 30m, 2h, 1h30m or 1d."
        raise click.BadParameter(message, ctx=ctx, param=param)
    return found


def _read_length(value: str) -> timedelta | None:
    match = _LENGTH.fullmatch(value)
    if not value or match is None:
        return None
    numbers = [int(each or 0) for each in match.groups()]
    return timedelta(days=numbers[0], hours=numbers[1], minutes=numbers[2], seconds=numbers[3])


def _moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    if value is None:
        return None
    ago = _read_length(value)
    try:
        if ago is not None:
            return clock.now() - ago
        moment = datetime.fromisoformat(value)
        # Without a zone it is UTC, as the log writes it.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = (
            f"{value!r} is no moment. Write a day (2026-11-21), a time in UTC (2026-11-21T12:00:00Z), or how long ago "
            "it was (30m, 2h, 1d)."
        )
        raise click.BadParameter(message, ctx=ctx, param=param) from None
