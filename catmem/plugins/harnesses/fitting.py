"""What a harness is shown of a profile's memory: the profile's prompt, as far as the harness takes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from catmem.prompt.prompt import Prompt
from catmem.prompt.styles import Style
from catmem.text import plural
from catmem.workspace.profile_memory import ProfileMemory


class FittedPrompt(NamedTuple):
    """A prompt, how many entries had to stay out of it for its length, and the line that says so."""

    prompt: Prompt
    left_out: int = 0
    note: str = ""

    @property
    def text(self) -> str:
        """The prompt with that line behind it."""
        return self.prompt.text + (f"\n{self.note}\n" if self.note else "")


def fitted(
    memory: ProfileMemory,
    share: Callable[[FittedPrompt], float],
    *,
    style: Style | None = None,
    as_of: date | None = None,
) -> FittedPrompt:
    """The prompt of a profile; ``share`` says what part of the harness's limit it takes, and what is over it stays out.

    What leaves first is what leaves first for a budget of the profile, whose own budgets hold as well.
    """
    made = FittedPrompt(memory.prompt(as_of=as_of, style=style))
    own, budget = memory.profile, len(made.prompt.text)
    while made.prompt.text and (taken := share(made)) > 1:
        budget = min(int(budget / taken), budget - 1)
        limits = {**own.prompt.budget, "total": max(budget, 0)}
        less = replace(memory, profile=replace(own, prompt=replace(own.prompt, budget=limits)))
        prompt = less.prompt(as_of=as_of, style=style)
        left_out = sum(row.budget is not None for row in prompt.manifest.rows)
        note = f"({left_out:,} more {plural(left_out, 'entry')} did not fit here: ask the memory of {own.name}.)"
        made = FittedPrompt(prompt, left_out, note)
    return made
