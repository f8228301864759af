"""The phrases that the scanner looks for: data, read by ``instructions``.

A phrase is tried only where one of its *stems* stands, so ordinary text costs one substring search a stem. Patterns run
over folded letters (``fold``): no blanks, no case, ``l`` written ``i`` (``fold_word`` does it). Every gap is bounded
and none holds another, so the work at one stem is bounded too.
"""

from __future__ import annotations

from dataclasses import dataclass

from catmem.policy.threats.fold import fold_word


@dataclass(frozen=True, slots=True)
class Phrase:
    """One thing to find: tried from ``before`` letters ahead of each of ``stems``, to ``after`` letters behind it.

    One of ``gates`` must stand somewhere in the text before its stems are looked for; they are few and shared by
    phrases, so ordinary text costs few searches. ``near``, where given, must also match the original text from the
    phrase to some characters behind it. A phrase that is ``negatable`` is fine behind "never" and "do not".
    """

    rule: str
    stems: tuple[str, ...]
    gates: tuple[str, ...]
    pattern: str
    before: int = 0
    after: int = 120
    near: str | None = None
    negatable: bool = False


def _phrase(  # noqa: PLR0913  one call a phrase reads as a table
    rule: str,
    stems: str,
    pattern: str,
    *,
    before: int = 0,
    after: int = 120,
    gates: str = "",
    near: str | None = None,
    negatable: bool = False,
) -> Phrase:
    return Phrase(
        rule,
        tuple(fold_word(stems).split()),
        tuple(fold_word(gates or stems).split()),
        fold_word(pattern),
        before,
        after,
        near,
        negatable,
    )


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
    _phrase(
        "instruction-override",
        "ignor disregard forget overrid bypass",
        f"{_DROP}.{{0,44}}?{_EARLIER}.{{0,24}}?{_ORDERS}",
        negatable=True,
    ),
    _phrase(
        "instruction-override",
        "ignor disregard forget overrid bypass",
        f"{_DROP}.{{0,12}}?(?:all|any|every).{{0,20}}?{_STRICT_ORDERS}",
        negatable=True,
    ),
    _phrase(
        "instruction-override",
        "ignor disregard forget",
        f"{_DROP}.{{0,12}}?(?:everything|anything|whatever|all|what)(?:that|else)?.{{0,12}}?"
        "(?:above|before(?:this|that|now|it)|(?:you|they|we|i)(?:have|had|were|was|ve)?(?:been|just|previously|already)?"
        "(?:told|tell|taught|said(?:to)?you|instructed|learned|read|seen))",
        negatable=True,
    ),
    _phrase(
        "instruction-override",
        "ignor zignor vergiss olvida oublie missacht negeer",
        f"(?:z?ignor|vergiss|olvida|oublie|missacht|negeer).{{0,30}}?"
        f"(?:{_FOREIGN_EARLIER}.{{0,24}}?{_FOREIGN_ORDERS}|{_FOREIGN_ORDERS}.{{0,24}}?{_FOREIGN_EARLIER})",
        gates="ignor instru anweis",
    ),
    _phrase(
        "instruction-override",
        "follow obey",
        f"(?:(?:not|nt|never|stop|quit|cease)follow|stopobey|(?:not|nt|never|nolonger)obey|nolongerfollow)(?:ing)?"
        f".{{0,24}}?(?:{_EARLIER}.{{0,20}}?{_ORDERS}|(?:any|all)(?:ofthe)?(?:other)?{_STRICT_ORDERS})",
        before=12,
        gates="instru prompt guideline",
        near=r"(?!.{0,120}\b(?:vendor|customer|supplier)\b)",
    ),
    _phrase(
        "instruction-override",
        "longer",
        f"nolonger(?:bound|restricted|limited|constrained|governed|subject|requiredtofollow|need(?:to)?follow).{{0,24}}?{_ORDERS}"
        f"|your.{{0,24}}?{_STRICT_ORDERS}.{{0,6}}?nolonger(?:apply|applies|valid|bind|count|matter|exist)",
        before=64,
        gates="instru prompt guideline",
    ),
    _phrase(
        "instruction-override",
        "yournew",
        "(?:(?:these|this|here|following|below|now)(?:are|is)(?:now)?yournew|replaceyour.{0,40}?yournew|"
        "yournew(?:system|real|true|only|primary|main|core|actual))(?:system)?"
        f"{_ORDERS}",
        before=64,
        gates="instru prompt guideline",
    ),
    # -- identity-override
    _phrase(
        "identity-override",
        "renow",
        "you(?:a)?renow(?:a(?![bcdfgrtuvw])|an|the|in|dan|un|no|free|called|known|oper|acting|entering|goingto(?:act|be|play)|my)",
        before=4,
        near=r"(?!you(?:'|\u2019| a)?re now (?:in (?:the )?(?:(?-i:[A-Z])|team|group|channel)|(?:a|an|the) "
        r"(?:member|owner|lead|contact|maintainer|reviewer|approver|subscriber|part)\b|no longer on\b|free to\b))",
    ),
    _phrase(
        "identity-override",
        "pretend actas",
        "(?:pretend(?:ing)?(?:that|to|asif)?|actas(?:if|though)?).{0,48}?(?:norestrict|nolimit|norules|noguid|nofilter|nosafety|"
        "nocontent|unrestrict|unfilter|uncensor|unaligned|jailbr|notbound|withoutany(?:restr|limit|filter|rule|guid|safe)|"
        "withoutrestr|withoutfilter|withoutlimit|evil|amoral|norestr)",
    ),
    _phrase(
        "identity-override",
        "fromnowon",
        "fromnowon.{0,8}?you(?:are|re|will|must|should|have|can|shall|do)?.{0,60}?(?:norestr|unrestr|nolimit|nofilter|withoutrestr|"
        "withoutfilter|uncensor|neverrefus|notrefus|cannotrefus|nolonger(?:an|bound|have|follow)|jailbr|obeyonly|onlyobey|"
        "anyrequest|everyrequest|nevermention.{0,10}polic|ignor.{0,12}(?:rule|instruct|guid|polic|safety))",
    ),
    _phrase(
        "identity-override",
        "unrestrict uncensor jailbr developermode",
        "(?:jailbr(?:oken|eak)(?:mode|ed|yourself|enabled|prompt|the(?:model|assistant|ai))|"
        "(?:un(?:restrict|censor)ed)(?:ai|model|assistant|mode|chatbot|persona|version|llm|bot)|"
        "(?:enter|switchto|switchinto|activateyour|enableyour|youarein|yourein|gointo|nowin)(?:the|your)?developermode)",
        gates="jailbr mode assistant",
        before=24,
    ),
    # -- privilege-claim
    _phrase(
        "privilege-claim",
        "myour",
        "ia?myour(?:system|developer|creator|administrator|admin|operator|superuser|master|programmer|maker)",
        before=2,
    ),
    _phrase(
        "privilege-claim",
        "efrom",
        "(?:message|note|notice)from(?:the|your)?(?:system(?!s)|openai|anthropic|google(?:deepmind|ai)|developer|"
        "administrator|admin(?!i)|operator|platform(?:owner|team|admin)|creator|securityteam)",
        before=7,
        near=r".{0,120}?(?:\byou(?:r)?\b|\bassistant\b|\bmodel\b|\bAI\b|:\s*\w)",
    ),
    _phrase(
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
    _phrase(
        "privilege-claim",
        "authori",
        "authori[sz](?:edto|esyouto|edyouto|ationto|ed(?:by)?(?:openai|anthropic|yourdeveloper)).{0,24}?"
        "(?:bypass|ignore|disregard|disable|override|reveal|skip(?:all|any|the(?:safety|policy))|unrestrict)",
    ),
    _phrase(
        "privilege-claim",
        "precedenceover trustedsystem highestpriority",
        "(?:this|thefollowing|these)(?:message|entry|memory|note|instructions?|text|rules?|line).{0,16}?"
        "(?:take|has|have)s?precedenceover.{0,24}?(?:system|allother|anyother|every|your|safety|prompt|instruct)"
        "|(?:treat|consider|regard|handle)(?:this|thefollowing|it|these).{0,24}?as.{0,8}?(?:trustedsystem|highestpriority)",
        gates="system instru prompt",
        before=64,
    ),
    # -- prompt-exfiltration
    _phrase(
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
    _phrase(
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
    _phrase(
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
    _phrase(
        "hide-from-user",
        "mentionth revealth disclosethis",
        "(?:not|nt|never)(?:mention|reveal|disclose|repeat)(?:this|these|that|the(?:existence|presence|contents?)of(?:this|these))"
        "(?:hidden|new|secret|special)?(?:instruct|note|entry|memory|message|rule|directive|command|line|conversation)",
        gates="mentionth instru",
        before=8,
    ),
    _phrase(
        "hide-from-user",
        "secretly tellanyone tellnoone",
        "secretly.{0,12}?(?:send|copy|forward|add|insert|upload|record|append|include|email|transmit|install|exfiltr|change|modify)"
        "|(?:dont|donot|never)tellanyone.{0,10}(?:about)?(?:this|these)(?:instruct|rule|message|note|command)",
        gates="secretly instru",
        before=8,
    ),
    # -- secret-exfiltration
    _phrase(
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
