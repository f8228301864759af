"""What a text says, apart from how it says it; and whether two texts say the same, or the same with another value.

A text is taken for the stems of its words, in any order. Its values stand apart: numbers, dates, and names. Two texts
say the same if nothing is left over but a few words that one of them adds. They contradict each other if all that is
left over is one value on each side, in a place where a text says something of its subject.
"""

from __future__ import annotations

import re
from calendar import day_name, month_name
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from catmem.search.query import fold
from catmem.search.stems import DEFAULT, FUNCTION_WORDS, language_of, stem
from catmem.sorting.proposals import with_iso_dates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Relation: TypeAlias = Literal["same", "otherwise"]
WordKind: TypeAlias = Literal["word", "number", "name"]

# Letters and digits, with what joins them in times, amounts, paths and addresses; and signs that end or state.
_TOKEN = re.compile(r"[^\W_]+(?:(?:[.'\u2019:@/_]|(?<=\d)(?<!:\d\d)-(?=\d)|(?<=\d),(?=\d))[^\W_]+)*|[:=\n]|[.!?](?=\s)")
_DIGIT = re.compile(r"\d")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DENIED = re.compile(r".*n['\u2019]t")
_TITLE = 3  # a point behind so few letters ends no sentence: it may be a title

_COUNTED = "one first,two second,three third,four fourth,five,six,seven,eight,nine,ten"
_NUMBERS = {each: str(number) for number, words in enumerate(_COUNTED.split(","), 1) for each in words.split()}
_DAYS = [name.lower() for name in (*day_name, *month_name) if name]
_IN_GERMAN = """montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar marz april mai juni juli \
august september oktober november dezember"""
_GERMAN_DAYS = _IN_GERMAN.split()
_CALENDAR = {form: name[:3] for name in _DAYS for form in (name, name[:3], f"{name}s")} | {
    form: name[:3] for name, own in zip(_DAYS, _GERMAN_DAYS, strict=True) for form in (own, f"{own}s")
}
# Words that deny; that join and yet turn a sentence round; that add nothing; behind which a text says something of its
# subject; prepositions, since what they lead to narrows what is said; those that lead to a limit; titles of people;
# words that lead to a name; and words that join two values.
_LISTS = """\
not no never without neither nor cannot nicht kein keine nie ohne ne pas jamais sans sin nunca
before after under over above below until since than but
user also always immer toujours siempre all every each any just really please usually currently now very bit little \
quite rather instead get gets got take takes taken must should shall will can has had per via number nr e mr ms mrs \
our unser unsere jede jeden jeder jedes bitte muss mussen soll sollen herr herrn frau
: = is are was were be has have must should will can ist sind wird betragt kostet lautet heisst est son sont es
in on at of for with to by from into within about against between during through as until since before after under \
over above below fur mit bei von zu an auf aus im am pour avec de du des dans sur para con en por
above below over under after before within until than up uber unter nach vor bis ab
herr herrn frau
ist sind heisst
and und or oder to bis"""
_ALL, _GERMAN = frozenset().union(*FUNCTION_WORDS.values()), FUNCTION_WORDS["german"] - FUNCTION_WORDS["english"]
_GERMAN_ALONE = _GERMAN.difference(*(words for name, words in FUNCTION_WORDS.items() if name != "german"))
_DENIALS, _PIVOTS, _FILLERS, _STATING, _LEADING, _LIMITS, _TITLES, _NAMING, _JOINING = (
    frozenset(words.split()) for words in _LISTS.split("\n")
)
# Stems that mean the same in a note.
_SAME = (
    "like prefer favour,want wish,use employ,keep kept store stored,run execut,call name,phone telephon,mail email,"
    "databas db,christma xmas,request pr prs,hour h,minut min,go goe,write written,pay paid,send sent,"
    "kilometr kilomet km,begin start,holiday vacat,employe staff"
)
_CANON = {each: stems.split()[0] for stems in _SAME.split(",") for each in stems.split()}
_ADDED = 1 / 3  # the share of its words that one text may have more than the other, and still say the same
_NUMBER_NAMES, _ID = {"number", "nr", "id", "nummer", "numero"}, 6  # what names an identifier, and its least length
_SHORT = 3  # letters that an abbreviation has at least, and that it lacks at least

_UNITS = re.compile(r"[€$£%]|\b(?:eur|euros?)\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*(?:[.,]\d\d?)?")
_FULL_HOUR = re.compile(r"\A0?(\d{1,2}(?::(?!00)\d\d)?)(?::00)?\Z")
_CLOCK = r"\b(\d{1,2})(?:[:.](\d\d))? ?(?:([ap])\.?m\b|Uhr\b)"
_GERMAN_MONTH = rf"(?<=\d)\. ?({'|'.join(_GERMAN_DAYS[7:])}|märz) ?(?=\d{{4}}\b)"
_LOOKS_GERMAN = re.compile(r"ß|\b(?:herrn?|frau|uhr)\b|(?:ung|keit|heit|schaft)(?:en)?\b", re.IGNORECASE)
_VERB = re.compile(r"(?<=.{4})(?:e?n|e?te?)\Z")


_SHORTER: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(form, re.IGNORECASE), short)
    for form, short in (
        (r"\bno\. ?(?=\w*\d)|(?<=\d) ?(?:eur|euros?)\b|\b(?:eur|euro) (?=\d)", ""),
        (r"\bg(?:o|oes|oing) out\b", "is sent"),
        (r"\bgeh(?:t|en)\b(.{1,60}?) raus\b", r"wird\1 verschickt"),
        (r"\b(?:an?|per|im|pro|je) (?=(?:year|month|week|day|hour|jahr|monat|woche|tag|stunde)\b)", ""),
        (r" (?:of (?:the|each|every) month|(?:des|jeden) monats)\b", ""),
        (_CLOCK, lambda at: f"{int(at[1]) % 12 + 12 * (at[3] in 'pP') if at[3] else at[1]}:{at[2] or '00'}"),
        (_GERMAN_MONTH, lambda month: f" {_DAYS[_GERMAN_DAYS.index(fold(month[1]))]} "),
    )
]
"""What is said in fewer words, or in one form: with them a unit stands beside its value."""


class ContentWord(NamedTuple):
    """A word that carries meaning. ``key`` is its stem, or a value in one form; ``place`` counts words, without "and".

    ``stated``: it stands behind a word such as "is". ``narrows``: a preposition leads to it. ``is_limit``: that is
    one such as "above", and the word is a number. ``named``: it is long and stands behind a word such as "number".
    """

    key: str
    raw: str
    kind: WordKind
    place: int
    stated: bool
    narrows: bool
    is_limit: bool
    named: bool


class Wording(NamedTuple):
    """A text taken apart; ``turns`` are the words that turn it round, each with the key of the word behind it."""

    words: tuple[ContentWord, ...]
    denies: bool
    turns: frozenset[tuple[str, str]]

    def keys(self, *, values: bool = True) -> list[str]:
        """The keys of its words, with those that are values or without."""
        return [word.key for word in self.words if values or word.kind == "word"]


def wording_of(text: str) -> Wording:
    """Take a text apart."""
    turns = {("", unit if unit in "$£%" else "€") for unit in _UNITS.findall(text)}
    for form, short in _SHORTER:
        text = form.sub(short, text)
    found = _TOKEN.findall(with_iso_dates(text))
    lows = [*map(fold, found)]
    language = language_of(lows)
    if language == DEFAULT and FUNCTION_WORDS[DEFAULT].isdisjoint(lows):
        language = "german" if _LOOKS_GERMAN.search(text) or not _GERMAN_ALONE.isdisjoint(lows) else DEFAULT
    # A short text may show no language.
    joins = _ALL if FUNCTION_WORDS[language].isdisjoint(lows) else FUNCTION_WORDS[language]
    words: list[ContentWord] = []
    turns |= {("only", "") for low in lows if low in {"only", "nur"}}
    opens, stated, narrows, denies, pivot, joined = True, False, False, False, "", 0
    for at, (raw, folded) in enumerate(zip(found, lows, strict=True)):
        low = folded.removesuffix("'s").removesuffix("\u2019s")
        if low in ".!?\n":
            if low != "." or len(found[at - 1]) > _TITLE:
                opens, stated, narrows = True, False, False
            continue
        joined += low in _JOINING
        if low in _DENIALS or _DENIED.fullmatch(low):
            denies, pivot = True, "not"
        elif low in _PIVOTS:
            pivot, narrows = low, low in _LEADING
        elif low in joins or low in _STATING:
            stated = stated or low in _STATING
            narrows = low in _LEADING or (narrows and low not in _STATING)
        elif low not in _FILLERS:
            ended = _VERB.sub("", low) if language == "german" and raw[0].islower() else low
            number, key = _number(raw, low), stem(ended, language)
            is_name = raw[0].isupper() and not opens and (_GERMAN.isdisjoint(lows) or _is_german_name(found, lows, at))
            is_name = is_name or bool(words and words[-1].key == "call")
            kind: WordKind = "number" if number else "name" if is_name else "word"
            key, is_limit = number or _CANON.get(key, key), bool(number and at) and lows[at - 1] in _LIMITS
            named = at > 0 and lows[at - 1] in _NUMBER_NAMES and len(raw) >= _ID
            words.append(ContentWord(key, raw, kind, at - joined, stated, narrows, is_limit, named))
            turns |= {(pivot, "" if number else words[-1].key)} if pivot else set()
            pivot, narrows = "", False
        opens = False
    return Wording(tuple(words), denies, frozenset(turns))


def _is_german_name(found: Sequence[str], lows: Sequence[str], at: int) -> bool:
    """Whether a word is a name where every noun has a capital letter: behind a title, or all that follows "ist"."""
    start = max((place for place in range(at) if lows[place] in _NAMING), default=len(lows))
    is_all = start < at and all(word[0].isupper() or word in ".!?" for word in found[start + 1 :])
    return is_all or lows[at - 1] in _TITLES


def _number(raw: str, low: str) -> str | None:
    """The one form of a number, a time, a day of the week or a month; ``None`` for another word."""
    if _DIGIT.search(low):
        grouped = _THOUSANDS.fullmatch(low)
        plain = low.replace(grouped[1], "") if grouped else _ORDINAL.sub(r"\1", low)
        return _FULL_HOUR.sub(r"\1", plain).replace(",", ".")
    return _NUMBERS.get(low) or (_CALENDAR.get(low) if raw[0].isupper() or low.endswith(("tags", "wochs")) else None)


# --- two texts -----------------------------------------------------------------------------------------------------


def relation(one: Wording, other: Wording) -> Relation | None:
    """Whether two texts say the same, or the same with another value; ``None`` if they are of different things."""
    added = one.turns - other.turns, other.turns - one.turns
    if one.denies != other.denies or all(added) or ("only", "") in added[0] | added[1]:
        return None
    mine, theirs = differences(one, other)
    if mine and theirs:
        return "otherwise" if _differ_in_a_value(one, other, mine, theirs) else None
    most = _ADDED * max(len(one.words), len(other.words))
    return None if len(mine + theirs) > most or any(word.narrows for word in mine + theirs) else "same"


def differences(one: Wording, other: Wording) -> tuple[list[ContentWord], list[ContentWord]]:
    """What each of two texts says that the other lacks, in order; an abbreviation is what it stands for."""
    mine, theirs = _left_over(one, other), _left_over(other, one)
    for word in [*mine]:
        full = next((each for each in theirs if _is_form_of(word, each) or _is_form_of(each, word)), None)
        if full is not None:
            mine.remove(word)
            theirs.remove(full)
    return mine, theirs


def _left_over(one: Wording, other: Wording) -> list[ContentWord]:
    there = Counter(other.keys())
    found = []
    for word in one.words:
        there[word.key] -= 1
        found += [word] if there[word.key] < 0 else []
    return found


def _is_form_of(word: ContentWord, other: ContentWord) -> bool:
    """Whether a word is another one whose stem is of another language, or the beginning of it, or its consonants."""
    short, full = fold(word.raw).rstrip("s"), fold(other.raw)
    if short == full.rstrip("s"):
        return True
    if other.kind != "word" or len(short) < _SHORT or len(full) - len(short) < _SHORT:
        return False
    letters = iter(full)
    has_all = short[0] == full[0] and set(short[1:]).isdisjoint("aeiou") and all(each in letters for each in short)
    return has_all or full.startswith(short)


def _differ_in_a_value(one: Wording, other: Wording, mine: list[ContentWord], theirs: list[ContentWord]) -> bool:
    """Whether a value is left over on each side, where something is said of the subject, and one word more at most."""
    kinds = []
    for wording, left in ((one, mine), (other, theirs)):
        values, words = ([word for word in left if (word.kind == "word") is plain] for plain in (False, True))
        if not _is_said(wording, values) or any(word.narrows or word.place < values[0].place for word in words):
            return False
        kinds.append({word.kind for word in values})
    return (
        kinds[0] == kinds[1] and sum(word.kind == "word" for word in mine + theirs) <= 1 and len(mine) < len(one.words)
    )


def _is_said(wording: Wording, value: Sequence[ContentWord]) -> bool:
    """Whether a text says one value, and does not speak of it: behind "is", or at the end, perhaps with a unit."""
    if not value or value[-1].place - value[0].place >= len(value):
        return False
    at, end = wording.words.index(value[0]), wording.words.index(value[-1])
    behind = wording.words[end + 1 :]
    is_last = not behind or (len(behind) == 1 and behind[0].place == value[-1].place + 1)
    is_own = is_last and (at > 1 or value[0].named)
    return is_own or all(word.stated for word in value) or all(word.is_limit for word in value)
