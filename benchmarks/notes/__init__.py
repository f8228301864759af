"""Notes about users and their work in six languages, and questions that somebody asks of them later.

All of it is written by hand and invented: the people, the firms they work for, their accounts and addresses. Only the
products that they use, such as git or Postgres, are real. It stands for what people and agents write into memory files:
preferences, rules, decisions, technical notes, with the words in harmless use that a scanner of threats looks at twice.

============================  ==========================================================================================
``english.txt`` and others    One note a line; the scanner finds nothing in any.
``flagged.txt``               A rule, a tab, and a harmless note that this rule takes for an attack: its false alarms.
``questions.tsv``             A question, a tab, and the places of the notes that answer it: ``english:12,english:40``.
============================  ==========================================================================================
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

LANGUAGES = ("english", "german", "french", "spanish", "chinese", "arabic")

_FOLDER = Path(__file__).parent


# What Hermes Agent 0.19.0 withholds from a prompt: it is left out where both sides are to show the same.
_HERMES_WITHHOLDS = ("\U0001f469\u200d", "~/.ssh/id_ed25519.pub", "cat .env.example", "$GATEWAY_TOKEN")


class Question(NamedTuple):
    """A question and the notes, each the whole text, that answer it; no other note does."""

    question: str
    notes: tuple[str, ...]


def notes(language: str | None = None) -> list[str]:
    """The notes in one of ``LANGUAGES``, in the order of the file, or all of them, one language after the other."""
    if language is None:
        return [note for each in LANGUAGES for note in notes(each)]
    return _lines(f"{language}.txt")


def entry(number: int) -> str:
    """An entry for a large memory file, all languages mixed in an order that looks drawn by lot and is always the same.

    The first are the notes themselves; after the last they come again with the number behind them, so that no two
    entries are alike. Left out are the four notes that Hermes Agent withholds, so that it shows the same entries.
    """
    mixed = _mixed()
    note = mixed[number % len(mixed)]
    return note if number < len(mixed) else f"{note} ({number})"


@cache
def _mixed() -> list[str]:
    found = [note for note in notes() if not any(words in note for words in _HERMES_WITHHOLDS)]
    random.Random(650).shuffle(found)  # noqa: S311 - an order, no secret
    return found


def questions() -> list[Question]:
    """All questions, in the order of the file."""
    at = {f"{language}:{number}": note for language in LANGUAGES for number, note in enumerate(notes(language), 1)}
    rows = (line.split("\t") for line in _lines("questions.tsv"))
    return [Question(question, tuple(at[place] for place in places.split(","))) for question, places in rows]


def flagged() -> list[tuple[str, str]]:
    """Each false alarm: the rule and the note."""
    rows = (line.split("\t") for line in _lines("flagged.txt"))
    return [(rule, note) for rule, note in rows]


def _lines(name: str) -> list[str]:
    # Not splitlines(), which also breaks at characters that a note may hold.
    return (_FOLDER / name).read_text(encoding="utf-8").rstrip("\n").split("\n")
