"""Recall: does a search show the entry that answers a question first, or among five? Plain BM25 stands beside.

The questions and notes are those of ``benchmarks/notes``, all in one file. With ``--locomo FOLDER`` the conversations
of LoCoMo are searched as well (Maharana and others, 2024; ``locomo10.json``, which may not be shipped): a root for
each, an entry for each turn, and the questions whose evidence are turns. Each side sees the same texts.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from datetime import date
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import catmem
from benchmarks.measure import Result
from benchmarks.notes import notes, questions
from catmem.search.search import search

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

DAY = date(2026, 11, 23)
_SHOWN = 50
_KINDS = (("the answer first", 1, False), ("it among five", 5, False), ("its session among five", 5, True))
_WANTED = {"notes": (84, 92), "LoCoMo": (37, 61, 88)}
"""Percent of the questions, by kind."""
_K1, _B = 1.2, 0.75
_UNANSWERABLE = 5
_CONFIG = "version: 1\n"
_PROFILE = 'user_memory_categories: ["*"]\n'


@dataclass(frozen=True, slots=True)
class Turn:
    """A text that is searched: its place, and the group (a session) that it belongs to."""

    place: str
    group: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the places of the turns that answer it."""

    question: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Collection:
    """Turns that are searched together, and what is asked of them."""

    turns: tuple[Turn, ...]
    asked: tuple[Asked, ...]


def run(options: Namespace) -> list[Result]:
    """The figures of this module, in percent of the questions."""
    found = [("notes", [of_notes()])]
    if options.locomo:
        found.append(("LoCoMo", of_locomo(options.locomo)))
    return [row for name, collections in found for row in _rows(name, collections)]


def of_notes() -> Collection:
    """The notes, each a turn of its own group."""
    places = {note: str(number) for number, note in enumerate(notes())}
    turns = tuple(Turn(place, place, note) for note, place in places.items())
    asked = tuple(Asked(each.question, frozenset(places[note] for note in each.notes)) for each in questions())
    return Collection(turns, asked)


def of_locomo(folder: Path) -> list[Collection]:
    """Each conversation of LoCoMo. Questions without evidence (category 5 has none that answers) are left out."""
    samples = json.loads((folder / "locomo10.json").read_text(encoding="utf-8"))
    return [_conversation(sample) for sample in samples]


def _conversation(sample: dict[str, Any]) -> Collection:
    sessions = {key: turns for key, turns in sample["conversation"].items() if re.fullmatch(r"session_\d+", key)}
    turns = tuple(
        Turn(turn["dia_id"], session, f"{turn['speaker']}: {turn['text']}")
        for session, spoken in sessions.items()
        for turn in spoken
    )
    places = {turn.place for turn in turns}
    asked = tuple(
        Asked(each["question"], answers)
        for each in sample["qa"]
        if each.get("category") != _UNANSWERABLE and (answers := frozenset(each.get("evidence", ())) & places)
    )
    return Collection(turns, asked)


# --- the two sides -------------------------------------------------------------------------------------------------


def of_catmem(collection: Collection) -> list[list[str]]:
    """For each question the places that a search of catmem shows, the best first."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "homes" / "neo"
        home.mkdir(parents=True)
        (Path(folder) / "profiles").mkdir()
        (Path(folder) / "catmem.yaml").write_text(_CONFIG, encoding="utf-8")
        (Path(folder) / "profiles" / "neo.yaml").write_text(_PROFILE, encoding="utf-8")
        bodies = [" ".join(turn.text.split()) for turn in collection.turns]
        (home / "USER.md").write_text("## Notes\n" + "\n§\n".join(bodies) + "\n", encoding="utf-8")
        workspace = catmem.Workspace.open(folder, search=False)
        lines = {2 + 2 * number: turn.place for number, turn in enumerate(collection.turns)}
        return [
            [lines[hit.line] for hit in search(workspace, "neo", each.question, limit=_SHOWN, as_of=DAY).found]
            for each in collection.asked
        ]


def of_bm25(collection: Collection) -> list[list[str]]:
    """The same of plain Okapi BM25 over words in small letters."""
    texts = [Counter(re.findall(r"\w+", turn.text.lower())) for turn in collection.turns]
    lengths = [sum(words.values()) for words in texts]
    average = sum(lengths) / len(lengths)
    having = Counter(word for words in texts for word in words)

    def score(number: int, wanted: Sequence[str]) -> float:
        total = 0.0
        for word in wanted:
            count = texts[number][word]
            rarity = log(1 + (len(texts) - having[word] + 0.5) / (having[word] + 0.5))
            total += rarity * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * lengths[number] / average))
        return total

    places = [turn.place for turn in collection.turns]
    ranked = []
    for each in collection.asked:
        wanted = re.findall(r"\w+", each.question.lower())
        scores = [score(number, wanted) for number in range(len(texts))]
        ranked.append(
            [places[number] for number in sorted(range(len(texts)), key=lambda at: -scores[at]) if scores[number]]
        )
    return ranked


def _rows(name: str, collections: Sequence[Collection]) -> list[Result]:
    sides = [[side(each) for each in collections] for side in (of_catmem, of_bm25)]
    asked = sum(len(each.asked) for each in collections)
    rows = []
    for (kind, most, by_group), wanted in zip(_KINDS, _WANTED[name], strict=False):
        ours, theirs = (
            sum(hits(each, shown, most, by_group=by_group) for each, shown in zip(collections, side, strict=True))
            for side in sides
        )
        said = f"{name}, {asked:,} questions: {kind}"
        rows.append(Result(said, ours, theirs, 100 * ours / asked, wanted, at_least=True, unit="%", is_count=True))
    return rows


def hits(collection: Collection, shown: Sequence[Sequence[str]], most: int, *, by_group: bool = False) -> int:
    """How many questions have an answer, or a group that has one, among the first ``most`` that are shown."""
    group = {turn.place: turn.group if by_group else turn.place for turn in collection.turns}
    count = 0
    for asked, places in zip(collection.asked, shown, strict=True):
        first = list(dict.fromkeys(group[place] for place in places))[:most]
        count += not {group[answer] for answer in asked.answers}.isdisjoint(first)
    return count
