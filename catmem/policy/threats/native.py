"""Orders to drop instructions, in languages that do not use Latin letters.

The fold keeps Latin letters only, so these few run over the text in lower case, with hidden characters taken out when
there are any. First version: one attack class, seven languages, and no disguise but hidden characters.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from catmem.policy.threats.finding import Finding

if TYPE_CHECKING:
    from catmem.policy.threats.fold import Folded

# Each stem with the pattern that is tried around it, and how many characters before it the pattern may begin.
_PATTERNS: tuple[tuple[str, int, str], ...] = (
    # Chinese
    (
        "忽略",
        0,
        "忽略.{0,12}?(?=[之以先上前此所])(?:之前|以前|先前|上面|上述|以上|前面|此前|所有).{0,12}?(?:指令|指示|提示|规则|規則|命令)",
    ),
    (
        "无视",
        0,
        "无视.{0,12}?(?=[之以先上前此所])(?:之前|以前|先前|上面|上述|以上|前面|此前|所有).{0,12}?(?:指令|指示|提示|规则|命令)",
    ),
    (
        "忘记",
        0,
        "忘记.{0,12}?(?=[之以先上前此所])(?:之前|以前|先前|上面|上述|以上|前面|此前|所有).{0,12}?(?:指令|指示|提示|规则|命令)",
    ),
    # Japanese
    (
        "無視",
        40,
        "(?:以前|これまで|今まで|上記|前).{0,10}?(?:指示|命令|ルール|プロンプト|指令).{0,10}?無視(?!しない)",
    ),
    # Korean
    ("무시", 40, "(?:이전|위의|앞의|앞선|기존).{0,12}?(?:지시|명령|지침|프롬프트|규칙).{0,10}?무시(?!하지)"),
    # Russian, Ukrainian
    (
        "игнорир",
        0,
        "игнорир.{0,30}?(?:предыдущ|прежн|ранее|вышеуказан|свои ).{0,30}?(?:инструкц|указани|правил|команд)",
    ),
    ("забудь", 0, "забудь.{0,30}?(?:предыдущ|прежн|все|ранее|свои ).{0,30}?(?:инструкц|указани)"),
    ("ігнору", 0, "ігнору.{0,30}?(?:попередн|\u0443\u0441\u0456 |всі ).{0,30}?(?:інструкц|вказівк)"),
    # Arabic
    ("تجاهل", 0, "تجاهل.{0,30}?(?:التعليمات|الأوامر|القواعد).{0,20}?(?:السابقة|أعلاه)"),
    # Hindi
    ("निर्देश", 30, "(?:पिछले|पहले|पूर्व).{0,20}?निर्देश.{0,24}?(?:अनदेखा|नज़रअंदाज़|भूल)"),
)
_REACH = 90
_WORD_REACH = 16


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def find_native(folded: Folded) -> list[Finding]:
    """The findings of ``instruction-override`` outside Latin letters; called for text outside ASCII only."""
    low = folded.low
    places: list[int] | None = None
    if folded.suspects:
        places = [place for place, char in enumerate(low) if char not in folded.suspects]
        low = "".join(low[place] for place in places)
    findings: list[Finding] = []
    for stem, before, pattern in _PATTERNS:
        place = low.find(stem)
        while place >= 0:
            compiled = _compiled(pattern)
            look = compiled.search if before else compiled.match
            match = look(low, max(0, place - before), place + _REACH)
            if match:
                start, last = match.start(), match.end() - 1
                if places is not None:
                    start, last = places[start], places[last]
                end = last + 1
                while end < min(len(folded.text), last + _WORD_REACH) and folded.text[end].isalpha():
                    end += 1
                findings.append(Finding("instruction-override", start, end))
            place = low.find(stem, max(place + len(stem), match.end() if match else 0))
    return findings
