"""The stem of a word, and the words that only join others, in the languages that have stems here.

Stems are those of Snowball (https://snowballstem.org), from the library snowballstemmer. A word is stemmed in the
language of the text around it, which its function words show: those of the first hundred words decide.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT = "english"
"""The language of a text in which no function word shows another."""

_LOOKED_AT = 100
SHORTEST_STEM = 3

# Folded, as texts are: no accents, small letters. Words that people also look for alone are left out, such as "can".
_WORDS = {
    "english": (
        "a about after all also am an and any are as at be because been before being but by did do does doing "
        "for from had has have having he her here hers him his how i if in into is it its me my no not of off "
        "on once only or our ours she should so some such than that the their theirs them then there these "
        "they this those to too was we were what when where which while who whom why with would you your "
        "yours"
    ),
    "german": (
        "aber alle als am an auch auf aus bei bis da damit dann das dass dem den denn der des die dies diese "
        "diesem diesen dieser dieses doch du durch ein eine einem einen einer eines er es fur hat hatte ich "
        "ihm ihn ihr im in ist ja kein keine kann man mein mit nach nicht noch nur oder ob ohne sein seine "
        "sich sie sind so uber um und uns unser vom von vor wann warum was welche welcher welches wenn wer "
        "werden wie wir wird wo zu zum zur"
    ),
    "french": (
        "a au aux avec ce cela ces cet cette comme comment dans de des du elle elles en est et etre il ils je "
        "la le les leur leurs lui mais me mes mon ne nos notre nous on ou par pas pour pourquoi qu quand que "
        "quel quelle quelles quels qui quoi sa sans se ses son sont sur ta tes toi ton tu un une vos votre "
        "vous y"
    ),
    "spanish": (
        "a al ante como con cual cuales cuando de del desde donde el ella ellas ellos en entre era es esa ese "
        "eso esta este esto fue ha hay la las le les lo los me mi mis muy ni no nos o para pero por porque "
        "que quien se sin sobre son su sus tambien te tiene tu un una unas unos y ya yo"
    ),
    "italian": (
        "a al alla anche che chi ci come con cosa da dal dalla dei del della di dove e ed essere gli ha ho i "
        "il in io la le lo ma mi nel nella noi non o per perche piu quale quando questa questo se si sono su "
        "sua sul suo ti un una uno"
    ),
    "portuguese": (
        "a ao aos as com como da das de do dos e ela ele em entre era essa esse esta este eu foi ha isso ja "
        "mais mas me meu muito na nao nas no nos o onde os ou para pela pelo por porque quais qual quando que "
        "quem se sem ser sua seu tem um uma"
    ),
    "dutch": (
        "aan als bij dan dat de den der deze die dit een en er haar had heb heeft hem het hij hoe hun ik "
        "in is ja je kan maar me met mijn moet na naar niet nog nu of om ons onze ook op over te tot uit van "
        "voor waar waarom wanneer wat we welke wie wij wordt ze zich zij zijn zo"
    ),
}
FUNCTION_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
"""The words of a language that only join others."""

_LANGUAGES = {
    word: tuple(language for language, known in FUNCTION_WORDS.items() if word in known)
    for word in frozenset().union(*FUNCTION_WORDS.values())
}


def language_of(words: Iterable[str]) -> str:
    """The language that most of the function words among the first words are of; English if none shows another."""
    hits = Counter(language for word in islice(words, _LOOKED_AT) for language in _LANGUAGES.get(word, ()))
    best = max(hits, key=hits.__getitem__, default=DEFAULT)
    return best if hits[best] > max(1, hits[DEFAULT]) else DEFAULT  # one word alone may be of any language


@lru_cache(maxsize=65_536)
def stem(word: str, language: str) -> str:
    """The stem of a folded word."""
    return str(_stemmer(language).stemWord(word))


def beginning(word: str) -> str:
    """Letters with which nearly all words begin that have the stem of ``word`` in some language: three or four."""
    return word[: max(SHORTEST_STEM, min(SHORTEST_STEM + 1, len(word) - 4))]


@cache
def _stemmer(language: str) -> Any:  # noqa: ANN401 - the library has no types
    import snowballstemmer  # type: ignore[import-untyped]

    return snowballstemmer.stemmer(language)
