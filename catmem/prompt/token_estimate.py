"""How many tokens a text is, estimated by a rule, without a tokenizer and without its vocabulary.

============================  ========================================================================================
a word in Latin letters       a token for each 6 letters begun; one more if a letter is not of the English alphabet
digits                        a token for each 3 begun
Chinese, Japanese, Korean     5 tokens for 4 characters
letters of other scripts      a token for each 2 begun
punctuation                   a token; of the same sign again and again, one for each 4 begun
any other symbol              2 tokens
a line end, several blanks    a token for all that stand together; a single blank is part of the word behind it
============================  ========================================================================================

The steps are chosen for what providers publish of their tokenizers: about 4 characters and three quarters of a word of
English a token, and 1 to 1.5 tokens for a Chinese character. Real tokenizers differ from each other, and from this, by
about a fifth on English, and by up to half on other languages and on code. The share that one text is of another of its
kind is far closer than either count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_LATIN = "\u00c0-\u024f\u1e00-\u1eff"
_PART = re.compile(
    rf"(?P<gap>\n\s*|\s{{2,}})|\s|(?P<english>[A-Za-z]++(?![{_LATIN}]))|(?P<latin>[A-Za-z{_LATIN}]+)|(?P<digits>\d+)|"
    r"(?P<cjk>[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+)|"
    r"(?P<letters>[\u0250-\u1dff\u1f00-\u1fff]+)|(?P<sign>[\x00-\x7f\u00a1-\u00bf\u2010-\u205e])(?P=sign)*|(?P<symbol>.)"
)


def _begun(size: int, step: int) -> int:
    return -(-size // step)


_TOKENS: dict[str | None, Callable[[int], int]] = {
    "english": lambda size: _begun(size, 6),
    "latin": lambda size: _begun(size, 6) + 1,
    "digits": lambda size: _begun(size, 3),
    "cjk": lambda size: _begun(5 * size, 4),
    "letters": lambda size: _begun(size, 2),
    "sign": lambda size: _begun(size, 4),
    "gap": lambda _: 1,
    "symbol": lambda _: 2,
    None: lambda _: 0,
}


def estimated_tokens(text: str) -> int:
    """About how many tokens a model reads for a text: never more than the text has bytes, and none for none."""
    return sum(_TOKENS[part.lastgroup](part.end() - part.start()) for part in _PART.finditer(text))
