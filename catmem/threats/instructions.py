"""Phrases that give a model orders: the table of them, and the search.

A phrase is tried only where one of its *stems* stands, so ordinary text costs one substring search a stem. Patterns run
over folded letters (``fold``): no blanks, no case, ``l`` written ``i`` (``fold_word`` does it). Every gap is bounded
and none holds another, so the work at one stem is bounded too. What is found is checked against the original text: word
starts, sentence ends, negation.

The fold keeps Latin letters only, so the few phrases in other scripts run over the text in lower case, with hidden
characters taken out when there are any. First version of these: one attack class, seven languages, and no disguise but
hidden characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from catmem.threats.finding import Threat, places
from catmem.threats.fold import fold_word, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from catmem.threats.fold import Folded


# What a phrase must not be followed by depends on where its text ends.
_MUST_NOT_FOLLOW = re.compile(r"\(\?![^()]*\)")


class Phrase:
    """One thing to find: tried from ``before`` letters ahead of each of ``stems``, to ``after`` letters behind it.

    One of ``gates``, by default the stems, must stand somewhere in the text before its stems are looked for; they are
    few and shared by phrases, so ordinary text costs few searches. ``near``, where given, must also match the original
    text from the phrase to some characters behind it. A phrase that is ``negatable`` is fine behind "never" and "do
    not".
    """

    def __init__(  # noqa: PLR0913  one call a phrase reads as a table
        self,
        rule: str,
        stems: str,
        pattern: str,
        *,
        before: int = 0,
        after: int = 120,
        gates: str = "",
        near: str | None = None,
        negatable: bool = False,
    ) -> None:
        """``stems`` and ``gates`` have blanks between them."""
        self.rule, self.before, self.after, self.near, self.negatable = rule, before, after, near, negatable
        self.stems = fold_word(stems).split()
        self.gates = fold_word(gates or stems).split()
        self.pattern = fold_word(pattern)
        self.loose = _MUST_NOT_FOLLOW.sub("", self.pattern)


def _any(words: str) -> str:
    return "(?:" + "|".join(words.split()) + ")"


_DROP = _any("ignor disregard forget overrid bypass")
_ORDERS = _any(
    "instruction guideline directive directions guardrail restriction safeguard constraint prompt polic(?:y|ies) rules "
    "commands orders programming training(?!set|data|plan|course)"
)
_STRICT_ORDERS = _any("instruction guideline directive guardrail restriction safeguard systemprompt")
_EARLIER = _any(
    "previous(?!ly) prior(?!it) above earlier preceding foregoing your yous?aw youw?ere youreceived youhave "
    "system(?!s|atic) safety original(?!ly) initial(?!i) openai anthropic developer"
)
# German, French, Spanish, Portuguese, Italian, Dutch, Polish, Swedish, Danish; accents are folded away.
_FOREIGN_EARLIER = _any(
    "vorherig vorig bisherig obig deine precedent anterior previas prevedent poprzedn wczesniejsz tidigare tidligere "
    "eerdere"
)
_FOREIGN_ORDERS = _any(
    "anweisung instruc instruk instrui instrut istruz regeln regels reglas regles regras regole vorgaben consignes "
    "befehle polecen"
)
PHRASES: tuple[Phrase, ...] = (
    # -- instruction-override
    Phrase(
        "instruction-override",
        "ignor disregard forget overrid bypass",
        f"{_DROP}.{{0,44}}?{_EARLIER}.{{0,24}}?{_ORDERS}",
        negatable=True,
    ),
    Phrase(
        "instruction-override",
        "ignor disregard forget overrid bypass",
        f"{_DROP}.{{0,12}}?(?:all|any|every).{{0,20}}?{_STRICT_ORDERS}",
        negatable=True,
    ),
    Phrase(
        "instruction-override",
        "ignor disregard forget",
        f"{_DROP}.{{0,12}}?(?:everything|anything|whatever|all|what)(?:that|else)?.{{0,12}}?"
        "(?:above|before(?:this|that|now|it)|(?:you|they|we|i)(?:have|had|were|was|ve)?(?:been|just|previously|already)?"
        "(?:told|tell|taught|said(?:to)?you|instructed|learned|read|seen))",
        negatable=True,
    ),
    Phrase(
        "instruction-override",
        "ignor zignor vergiss olvida oublie missacht negeer",
        f"(?:z?ignor|vergiss|olvida|oublie|missacht|negeer).{{0,30}}?"
        f"(?:{_FOREIGN_EARLIER}.{{0,24}}?{_FOREIGN_ORDERS}|{_FOREIGN_ORDERS}.{{0,24}}?{_FOREIGN_EARLIER})",
        gates="ignor instru anweis",
    ),
    Phrase(
        "instruction-override",
        "follow obey",
        f"(?:(?:not|nt|never|stop|quit|cease)follow|stopobey|(?:not|nt|never|nolonger)obey|nolongerfollow)(?:ing)?"
        f".{{0,24}}?(?:{_EARLIER}.{{0,20}}?{_ORDERS}|(?:any|all)(?:ofthe)?(?:other)?{_STRICT_ORDERS})",
        before=12,
        gates="instru prompt guideline",
        near=r"(?!.{0,120}\b(?:vendor|customer|supplier)\b)",
    ),
    Phrase(
        "instruction-override",
        "longer",
        f"nolonger(?:bound|restricted|limited|constrained|governed|subject|requiredtofollow|need(?:to)?follow).{{0,24}}?{_ORDERS}"
        f"|your.{{0,24}}?{_STRICT_ORDERS}.{{0,6}}?nolonger(?:apply|applies|valid|bind|count|matter|exist)",
        before=64,
        gates="instru prompt guideline",
    ),
    Phrase(
        "instruction-override",
        "yournew",
        "(?:(?:these|this|here|following|below|now)(?:are|is)(?:now)?yournew|replaceyour.{0,40}?yournew|"
        "yournew(?:system|real|true|only|primary|main|core|actual))(?:system)?"
        f"{_ORDERS}",
        before=64,
        gates="instru prompt guideline",
    ),
    # -- identity-override
    Phrase(
        "identity-override",
        "renow",
        "you(?:a)?renow(?:a(?![bcdfgrtuvw])|an|the|in|dan|un|no|free|called|known|oper|acting|entering|goingto(?:act|be|play)|my)",
        before=4,
        near=r"(?!you(?:'|\u2019| a)?re now (?:in (?:the )?(?:(?-i:[A-Z])|team|group|channel)|(?:a|an|the) "
        r"(?:member|owner|lead|contact|maintainer|reviewer|approver|subscriber|part)\b|no longer on\b|free to\b))",
    ),
    Phrase(
        "identity-override",
        "pretend actas",
        "(?:pretend(?:ing)?(?:that|to|asif)?|actas(?:if|though)?).{0,48}?(?:norestrict|nolimit|norules|noguid|nofilter|nosafety|"
        "nocontent|unrestrict|unfilter|uncensor|unaligned|jailbr|notbound|withoutany(?:restr|limit|filter|rule|guid|safe)|"
        "withoutrestr|withoutfilter|withoutlimit|evil|amoral|norestr)",
    ),
    Phrase(
        "identity-override",
        "fromnowon",
        "fromnowon.{0,8}?you(?:are|re|will|must|should|have|can|shall|do)?.{0,60}?(?:norestr|unrestr|nolimit|nofilter|withoutrestr|"
        "withoutfilter|uncensor|neverrefus|notrefus|cannotrefus|nolonger(?:an|bound|have|follow)|jailbr|obeyonly|onlyobey|"
        "anyrequest|everyrequest|nevermention.{0,10}polic|ignor.{0,12}(?:rule|instruct|guid|polic|safety))",
    ),
    Phrase(
        "identity-override",
        "unrestrict uncensor jailbr developermode",
        "(?:jailbr(?:oken|eak)(?:mode|ed|yourself|enabled|prompt|the(?:model|assistant|ai))|"
        "(?:un(?:restrict|censor)ed)(?:ai|model|assistant|mode|chatbot|persona|version|llm|bot)|"
        "(?:enter|switchto|switchinto|activateyour|enableyour|youarein|yourein|gointo|nowin)(?:the|your)?developermode)",
        gates="jailbr mode assistant",
        before=24,
    ),
    # -- privilege-claim
    Phrase(
        "privilege-claim",
        "myour",
        "ia?myour(?:system|developer|creator|administrator|admin|operator|superuser|master|programmer|maker)",
        before=2,
    ),
    Phrase(
        "privilege-claim",
        "efrom",
        "(?:message|note|notice)from(?:the|your)?(?:system(?!s)|openai|anthropic|google(?:deepmind|ai)|developer|"
        "administrator|admin(?!i)|operator|platform(?:owner|team|admin)|creator|securityteam)",
        before=7,
        near=r".{0,120}?(?:\byou(?:r)?\b|\bassistant\b|\bmodel\b|\bAI\b|:\s*\w)",
    ),
    Phrase(
        "privilege-claim",
        "override",
        "(?:system|admin|administrator|developer|emergency|priority|safety|prompt|security|root)override"
        "(?:code|engaged|activated|accepted|enabled|mode|protocol|initiated|authori|granted|in?effect)?",
        before=16,
        gates="overrid",
        near=r"[^\n]{6,30}?override\W{0,3}(?:code|engaged|activated|accepted|enabled|mode|protocol|initiated|"
        r"authori|granted|in effect)"
        r"|[^\n]{6,30}?override\s*[:\]!]",
    ),
    Phrase(
        "privilege-claim",
        "authori",
        "authori[sz](?:edto|esyouto|edyouto|ationto|ed(?:by)?(?:openai|anthropic|yourdeveloper)).{0,24}?"
        "(?:bypass|ignore|disregard|disable|override|reveal|skip(?:all|any|the(?:safety|policy))|unrestrict)",
    ),
    Phrase(
        "privilege-claim",
        "precedenceover trustedsystem highestpriority",
        "(?:this|thefollowing|these)(?:message|entry|memory|note|instructions?|text|rules?|line).{0,16}?"
        "(?:take|has|have)s?precedenceover.{0,24}?(?:system|allother|anyother|every|your|safety|prompt|instruct)"
        "|(?:treat|consider|regard|handle)(?:this|thefollowing|it|these).{0,24}?as.{0,8}?(?:trustedsystem|highestpriority)",
        gates="system instru prompt",
        before=64,
    ),
    # -- prompt-exfiltration
    Phrase(
        "prompt-exfiltration",
        "systemprompt instruct yourprompt initialprompt",
        "(?:reveal|leak|disclose|repeat|recite|output|print|show|display|dump|give|tellme|tellus|paste|expose|write(?:out|down)|"
        "share|send|translate|summari[sz]e|quote|whatis|whatare|copy).{0,24}?(?:your|thefull|theentire|theexact|thecomplete|"
        "thehidden|theoriginal|theinitial|thewhole|verbatim).{0,16}?(?:systemprompt|initialprompt|instruct|prompt)"
        "|(?:reveal|leak|disclose|repeat|recite|dump)(?:me|us)?(?:the)?(?:systemprompt|initialprompt)",
        gates="prompt instru",
        before=72,
        after=32,
        negatable=True,
    ),
    Phrase(
        "prompt-exfiltration",
        "above",
        "(?:repeat|print|output|copy|recite|translate|echo|writeout|returnme|give(?:me)?)(?:back)?"
        "(?:verbatim)?(?:everything|allofthetext|allthetext|thewords|everyword|allthewords|allmessages|theentireconversation)"
        "(?:written|that(?:is|was)|you(?:see|read))?above",
        gates="everything thetext",
        before=64,
        after=8,
    ),
    # -- hide-from-user
    Phrase(
        "hide-from-user",
        "theuser",
        "(?:donot|dont|never|mustnot|shouldnot|without|avoid).{0,10}?(?:tell|inform|notify|alert|mention(?:this|it|that|ing)|letting)"
        "(?:ing)?.{0,20}?theuser(?:s)?"
        "|without(?:asking|informing|notifying|telling|thepermissionof|theknowledgeof)theuser"
        "|without(?:the)?users?(?:s)?(?:knowledge|noticing|consent|knowing|permission)"
        "|(?:keep|hide|conceal|withhold)(?:this|it|that|these|all|your|theseinstructions)?.{0,24}?from(?:the)?user(?!s|int|name|m)"
        "|(?:dont|donot|never)letthe(?:user)(?:know|see|find|notice)",
        before=56,
        after=24,
        near=r"(?!.{0,80}?\btwice\b)",
        negatable=True,
    ),
    Phrase(
        "hide-from-user",
        "mentionth revealth disclosethis",
        "(?:not|nt|never)(?:mention|reveal|disclose|repeat)(?:this|these|that|the(?:existence|presence|contents?)of(?:this|these))"
        "(?:hidden|new|secret|special)?(?:instruct|note|entry|memory|message|rule|directive|command|line|conversation)",
        gates="mentionth instru",
        before=8,
    ),
    Phrase(
        "hide-from-user",
        "secretly tellanyone tellnoone",
        "secretly.{0,12}?(?:send|copy|forward|add|insert|upload|record|append|include|email|transmit|install|exfiltr|change|modify)"
        "|(?:dont|donot|never)tellanyone.{0,10}(?:about)?(?:this|these)(?:instruct|rule|message|note|command)",
        gates="secretly instru",
        before=8,
    ),
    # -- secret-exfiltration
    Phrase(
        "exfiltration-link",
        "theurl thelink querystring imageurl aurl alink",
        "(?:append|add|encode|includ|embed|put|insert|attach|plac)(?:e|ing)?.{0,48}?(?:conversation|memor(?:y|ies)|secret|password|"
        "apikey|userdata|chathistory|personal|message|credential|email|token|summary|context).{0,30}?"
        "(?:to|in|into|as|inside|at).{0,16}?(?:url|link|querystring)",
        gates="theurl thelink",
        before=110,
        after=16,
        near=r"(?!.{0,160}?\bcommit\b)",
    ),
)

_BY_STEM: dict[str, list[Phrase]] = {}
for _phrase in PHRASES:
    for _stem in _phrase.stems:
        _BY_STEM.setdefault(_stem, []).append(_phrase)
STEMS = tuple(_BY_STEM)
GATES = tuple(dict.fromkeys(gate for phrase in PHRASES for gate in phrase.gates))
"""The words in the folded letters that all phrases start from, and those of which each needs one."""

# A sentence end between two words of a phrase: "what we ignore. All previous instructions ..." is no order.
_SENTENCE_END = re.compile(r"(?<=\w\w)[.!?\u3002\uff01\uff1f][\"')\]*_]{0,3}\s")
_WORD = re.compile(r"\w{2,}")
_NEGATION = re.compile(
    r"\b(?:do not|don['\u2019]?t|does not|doesn['\u2019]?t|never|must not|mustn['\u2019]?t|should not|"
    r"shouldn['\u2019]?t|cannot|can['\u2019]?t|may not)\s{1,2}(?:ever\s)?\Z",
    re.IGNORECASE,
)
_NEGATION_REACH = 20
_BEHIND = 240
_WORD_REACH = 24


class Start(NamedTuple):
    """A phrase that may stand around ``place`` in the folded letters, where its ``stem`` is."""

    phrase: Phrase
    stem: str
    place: int


def instruction_starts(letters: str, found: Mapping[str, Sequence[int]]) -> list[Start]:
    """Where phrases may stand, by the places of ``STEMS`` and ``GATES``; no part of the text has any elsewhere."""
    starts: list[Start] = []
    for stem in found:
        for phrase in _BY_STEM.get(stem, ()):
            if not found.keys().isdisjoint(phrase.gates):
                look, before, after = _search(phrase.loose, phrase.before), phrase.before, phrase.after
                starts += [
                    Start(phrase, stem, place)
                    for place in found[stem]
                    if look(letters, max(0, place - before), place + after)
                ]
    return starts


def find_instructions(folded: Folded, starts: Iterable[Start]) -> Iterator[Threat]:
    """The findings of all phrases."""
    done: Start | None = None
    step = 0
    for start in starts:
        phrase, stem, place = start
        if done is None or done.phrase is not phrase or done.stem != stem:
            done, step = start, 0
        if place < step:
            continue
        look = _search(phrase.pattern, phrase.before)
        match = look(folded.letters, max(0, place - phrase.before), place + phrase.after)
        if match and (finding := _confirmed(phrase, folded, *folded.span(match.start(), match.end()))):
            yield finding
            # On from the end of what fitted: nothing is read twice for one stem.
            step = max(place + len(stem), match.end())


@cache
def _search(pattern: str, before: int) -> Callable[[str, int, int], re.Match[str] | None]:
    compiled = _compiled(pattern)
    return compiled.search if before else compiled.match


@cache
def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    # Compiled when first needed: most runs of the command line never need most of them.
    return re.compile(pattern, flags)


def _confirmed(phrase: Phrase, folded: Folded, start: int, end: int) -> Threat | None:
    text = folded.text
    if start and text[start - 1].isalnum():
        return None
    found = text[start:end]
    ends = len(_SENTENCE_END.findall(found))
    # Stops between nearly all the words are a disguise, one stop is the end of a sentence.
    if ends and ends * 2 < len(_WORD.findall(found)):
        return None
    if phrase.negatable and _NEGATION.search(text, max(0, start - _NEGATION_REACH), start):
        return None
    if phrase.near and not _compiled(phrase.near, re.IGNORECASE).match(text, start, end + _BEHIND):
        return None
    last = min(len(text), end + _WORD_REACH)
    while end < last and text[end].isalnum():
        end += 1
    return Threat(phrase.rule, start, end)


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
_NATIVE_WORD_REACH = 16


# The one script of these that has capitals.
_CAPITALS = frozenset(map(chr, range(0x400, 0x430)))


def native_starts(folded: Folded) -> list[int]:
    """Where in the text a phrase outside Latin letters has its stem, or the line of one with hidden characters begins.

    No phrase goes over the end of a line, so hidden characters are taken out of the lines that have them alone.
    """
    small = folded.unusual
    if not small.isdisjoint(_CAPITALS):
        small = frozenset(char.lower() for char in small)
    rows = [row for row in _PATTERNS if small.issuperset(row[0])]
    if not rows:
        return []
    text = _small(folded, rows)
    starts = _stems(rows, text)
    end = 0
    for place in folded.suspect_places:
        if place >= end:
            start = text.rfind("\n", 0, place) + 1
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            starts += [start] if _stems(rows, without(folded.suspects, text[start:end])) else []
    return starts


def _stems(rows: Iterable[tuple[str, int, str]], text: str) -> list[int]:
    return [
        place
        for stem, before, pattern in rows
        for place in places(stem, text)
        if _looked_at(pattern, before, text, place)
    ]


def find_native(folded: Folded) -> list[Threat]:
    """The findings of ``instruction-override`` outside Latin letters; called for text that has ``native_starts``."""
    text, bare = folded.text, without(folded.suspects, _small(folded, _PATTERNS))
    findings: list[Threat] = []
    for stem, before, pattern in _PATTERNS:
        step = 0
        for place in places(stem, bare):
            if place < step:
                continue
            match = _looked_at(pattern, before, bare, place)
            if match:
                start, last = _place_in_text(folded, match.start()), _place_in_text(folded, match.end() - 1)
                end = last + 1
                while end < min(len(text), last + _NATIVE_WORD_REACH) and text[end].isalpha():
                    end += 1
                findings.append(Threat("instruction-override", start, end))
                step = match.end()
    return findings


def _small(folded: Folded, rows: Iterable[tuple[str, int, str]]) -> str:
    """The text, in small letters if a stem has such and the text has others."""
    if any(stem[0].upper() in _CAPITALS for stem, _, _ in rows) and not folded.unusual.isdisjoint(_CAPITALS):
        return folded.text.replace("\u0130", "I").lower()
    return folded.text


def _place_in_text(folded: Folded, place: int) -> int:
    # The n-th hidden character stood in front of what is now n characters nearer to the beginning.
    return place + bisect_right(folded.hidden_before, place)


def _looked_at(pattern: str, before: int, bare: str, place: int) -> re.Match[str] | None:
    return _search(pattern, before)(bare, max(0, place - before), place + _REACH)
