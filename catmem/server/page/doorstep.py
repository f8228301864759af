"""What a person reads who comes without the token of one: in the words of a browser, and not of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from starlette.requests import Request

    from catmem.server.caller import Caller

MAKES_ONE = "'catmem token new NAME --person' makes one, where the server runs."


class Turned(NamedTuple):
    """Why somebody is not let in, and what to do."""

    message: str
    hint: str


def turned_away(request: Request) -> Turned:
    """What to tell a browser that sent no token of a person."""
    tokens = request.app.state.tokens
    agent = None if tokens is None else tokens.agent_at_browser(request)
    if agent is not None:
        return Turned(for_people(agent), what_it_may(agent))
    return Turned(
        "This page wants the token of a person.",
        "Load it again: the browser asks for a name and a password. Any name will do, and the token is the password. "
        + MAKES_ONE,
    )


def for_people(agent: Caller) -> str:
    """Why the page is not for the holder of this token."""
    whose = "for metrics" if agent.scope == "metrics" else f"that of the agent {agent.agent}"
    return f"the page is for people, and this token is {whose}"


def what_it_may(agent: Caller) -> str:
    """What the token is good for, and what the page wants."""
    if agent.scope == "metrics":
        may = "It reads /metrics and nothing else"
    else:
        writes = ", and writes what that may" if agent.may_write else " and writes nothing"
        may = f"A program reads with it what the profile {agent.profile} sees{writes}, below /mem and /prompt"
    return f"{may}. The page wants the token of a person: {MAKES_ONE}"
