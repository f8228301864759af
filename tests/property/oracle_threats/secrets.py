"""Secrets, and what would send them away: links with a slot for private data, commands that post a file.

A secret is found by a detector with a name: the form of a token that its issuer documents.

Nearly all secrets are, or hold, a *run*: sixteen or more letters, digits and ``_ + / = -`` without a break. Ordinary
words hold none, so one look for a run is all that most text costs; a detector looks only at a run and a little before
it. What is plainly no secret passes: examples of documentation, ``xxxx``, names of variables, references to a vault.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from catmem.threats import chosen
from tests.property.oracle_threats.finding import Threat, merged, places
from tests.property.oracle_threats.fold import Folded, fold_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RUN = 16
_IN_RUN = bytes(
    ord("a") if code < 128 and (chr(code).isalnum() or chr(code) in "_+/=-") else ord(" ") for code in range(256)
)
_A_RUN = b"a" * _RUN
_BEFORE = 96
_FEW_SIGNS = 6
_MANY_SIGNS = 10
_TURNS = 0.3
_BODY = 8000

_PLACEHOLDER = re.compile(r"example|x{4}|\*{3}|0{8}|1234567|your|placeholder|changeme|redacted|dummy", re.IGNORECASE)
_ONE_KIND = re.compile(r"[0-9]+|[a-z]+|[A-Z]+")
_PIECES = re.compile(r"[A-Za-z0-9]{12,}")


class _Detector(NamedTuple):
    """Finds ``rule`` where ``pattern`` fits at a ``sign``, or a little before it (``before`` characters).

    ``is_secret`` looks at the match once more; a sign in small letters of a detector ``in_any_case`` stands for all.
    """

    rule: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    before: int = 0
    in_any_case: bool = False
    is_secret: Callable[[re.Match[str]], bool] | None = None


def _is_real(match: re.Match[str]) -> bool:
    """Whether a token of a known form is no example: an example repeats few characters or says what it is."""
    token = match.group()
    return len(set(token[4:])) >= _FEW_SIGNS and not _PLACEHOLDER.search(token)


def _is_random(match: re.Match[str]) -> bool:
    """Whether what is called a secret looks drawn by lot: no words, no date, no path, no UUID."""
    value = match["value"]
    return not _PLACEHOLDER.search(value) and any(map(_is_drawn_by_lot, _PIECES.findall(value)))


def _is_drawn_by_lot(piece: str) -> bool:
    stretches = _ONE_KIND.findall(piece)
    return (
        # Capitals, small letters and digits take turns in random text; in words and dates they stand together.
        len(stretches) >= _TURNS * len(piece)
        and any(one.isdigit() for one in stretches)
        and len(set(piece)) >= _MANY_SIGNS
    )


def _is_name_and_password(match: re.Match[str]) -> bool:
    """Whether the value of ``Authorization: Basic`` decodes to a name, a colon and a password."""
    import base64

    value = match["value"]
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except ValueError:  # no base 64, no UTF-8, or a sign that only looks like a letter
        return False
    return ":" in text and text.isprintable()


_VALUE = r"[\"'`]?(?P<value>[A-Za-z0-9_+/=~.-]{16,512})"
_DETECTORS = (
    _Detector("aws-access-key", ("AKIA", "ASIA"), re.compile(r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])")),
    _Detector(
        "google-key",
        ("AIza", "GOCSPX-", "ya29."),
        re.compile(r"AIza[\w-]{35}(?![\w-])|GOCSPX-[\w-]{28}|ya29\.[\w-]{20,2000}+", re.ASCII),
    ),
    _Detector(
        "azure-key",
        ("AccountKey=", "AccessKey=", "sig="),
        re.compile(r"AccountKey=[A-Za-z0-9+/]{86}==|AccessKey=[A-Za-z0-9+/]{43}=|sig=[A-Za-z0-9%]{40,100}%3[Dd]"),
    ),
    _Detector(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    ),
    _Detector(
        "gitlab-token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"),
        re.compile(r"(?<![\w-])gl(?:pat|dt|rt|ptt|cbt|soat)-[\w-]{20,300}+", re.ASCII),
    ),
    _Detector(
        "slack-token",
        ("xox", "xapp-"),
        re.compile(
            r"(?<![\w-])(?:xox[abeoprs](?:\.xox[bp])?-[0-9]{1,20}-[\w-]{10,250}+|"
            r"xapp-\d-\w{8,20}-\d{8,20}-\w{32,80})",
            re.ASCII,
        ),
    ),
    _Detector(
        "webhook-url",
        ("hooks.slack.com/", "/api/webhooks/"),
        re.compile(
            r"hooks\.slack\.com/services/T\w{6,20}/B\w{6,20}/\w{20,40}|/api/webhooks/\d{16,20}/[\w-]{60,90}",
            re.ASCII,
        ),
    ),
    _Detector(
        "stripe-key",
        ("sk_live_", "rk_live_", "whsec_"),
        re.compile(r"(?<!\w)(?:[sr]k_live_|whsec_)[A-Za-z0-9+/]{16,250}"),
    ),
    _Detector(
        "model-key",
        ("sk-", "hf_", "gsk_", "r8_", "xai-", "pplx-", "nvapi-"),
        re.compile(
            r"(?<![\w-])(?:sk-(?:ant-[a-z]{3,8}\d\d|proj|svcacct|admin)-[\w-]{40,300}+|sk-[A-Za-z0-9]{48}|"
            r"sk-or-v1-[0-9a-f]{64}|hf_[A-Za-z]{34}|gsk_[A-Za-z0-9]{52}|r8_[A-Za-z0-9]{37}|xai-[A-Za-z0-9]{80}|"
            r"pplx-[A-Za-z0-9]{48}|nvapi-[\w-]{64})(?![\w-])",
            re.ASCII,
        ),
    ),
    _Detector(
        "package-token",
        ("npm_", "pypi-", "dckr_pat_", "rubygems_"),
        re.compile(
            r"(?<!\w)(?:npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{50,400}|dckr_pat_[\w-]{27}|rubygems_[0-9a-f]{48})(?!\w)",
            re.ASCII,
        ),
    ),
    _Detector(
        "service-token",
        ("hvs.", "dop_v1_", "doo_v1_", "shpat_", "SG.", "dapi", "glsa_", "figd_", "lin_api_", "ntn_", "PMAK-",
         "AGE-SECRET-KEY-1"),
        re.compile(
            r"(?<!\w)(?:hvs\.[\w-]{24,200}|do[op]_v1_[0-9a-f]{64}|shpat_[0-9a-f]{32}|SG\.[\w-]{22}\.[\w-]{43}|"
            r"dapi[0-9a-f]{32}|glsa_\w{32}_[0-9a-f]{8}|figd_[\w-]{40,60}|lin_api_\w{40}|ntn_\w{46}|"
            r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}|AGE-SECRET-KEY-1[0-9A-Z]{58})(?!\w)",
            re.ASCII,
        ),
    ),
    _Detector("service-token", (":AA",), re.compile(r"(?<![\w:])\d{8,10}:AA[\w-]{33}(?![\w-])", re.ASCII), before=10),
    _Detector(
        "private-key",
        ("-----BEGIN",),
        re.compile(
            r"-----BEGIN(?: [A-Z0-9]{2,12}){0,3} PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]){0,8}"
            r"(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n]{0,100}\s{1,4}){0,4}"
            rf"[A-Za-z0-9+/]{{16}}[A-Za-z0-9+/=\s\\]{{0,{_BODY}}}+(?:-----END[A-Z0-9 ]{{0,50}}-----)?"
        ),
    ),
    _Detector(
        "jwt",
        ("eyJ",),
        re.compile(r"(?<![\w-])eyJ[\w-]{14,8000}+\.eyJ[\w-]{8,16000}+\.[\w-]{16,2000}", re.ASCII),
    ),
    _Detector(
        "basic-auth",
        ("basic",),
        re.compile(r"(?<![a-z])basic\s{1,3}(?P<value>[A-Za-z0-9+/]{16,400}={0,2})", re.IGNORECASE),
        in_any_case=True,
        is_secret=_is_name_and_password,
    ),
    _Detector(
        "assigned-secret",
        ("passw", "pwd", "secret", "token", "bearer", "api", "access", "auth", "account", "signing", "encryption",
         "private"),
        re.compile(
            r"(?:(?:passw(?:or)?d|passwd|pwd|secret|token(?!i)|"
            r"(?:api|access|secret|auth|account|signing|encryption|private)[_ -]?key)"
            r"[\w-]{0,20}+[\"'`*]{0,3}+(?:\s{0,3}(?::=|=>|[:=])| is)|bearer)\s{0,3}" + _VALUE,
            re.IGNORECASE,
        ),
        in_any_case=True,
        is_secret=_is_random,
    ),
)  # fmt: skip

_LINK = re.compile(r"://(?P<name>[^\s/:@\"'<>]{0,80}):(?P<password>[^\s/@\"'<>]{3,100})@[\w.\[-]")
# In a link these stand for a password, or are what a fresh installation on one's own machine comes with.
_NO_PASSWORD = re.compile(
    r"(?:my|the|your|some|db)?[-_]?(?:pass(?:word|wd)?|pwd|pw|secret|token|key|user(?:name)?|admin|root|postgres|guest|"
    r"changeme|example|test|dev|\.{3}|[x*]{3,100}|\d{1,5})|[$%{\[].{0,99}",
    re.IGNORECASE,
)


def find_secrets(text: str) -> list[Threat]:
    """The secrets that hold a run, in text order; nearly free for a text without one."""
    if len(text) < _RUN:
        return []
    runs = text.encode("ascii", "replace").translate(_IN_RUN)
    if _A_RUN not in runs:
        return []
    return merged(_near_runs(text, runs))


def find_chosen(text: str) -> list[Threat]:
    """Passwords, PINs and logins that people chose, looked for at each letter: these rules are younger than the rest."""
    low = text.replace("\u0130", "i").replace("\u212a", "k")
    low = "".join(each.lower() if each.isascii() else "?" for each in low)
    found = []
    for place in range(len(text)):
        for kind in chosen._KINDS:
            match = kind.pattern.match(text, place) if low.startswith(kind.signs, place) else None
            if match and kind.is_secret(match):
                found.append(Threat("assigned-secret", match.start(), match.end()))
    return found


def find_logins(text: str) -> list[Threat]:
    """Links that carry a name and a password: ``https://ana:...@example.org``."""
    if "@" not in text:
        return []
    links = (_LINK.match(text, place) for place in places("://", text, len("://")))
    return [
        Threat("basic-auth", link.start("name"), link.end("password"))
        for link in links
        if link and link["password"] != link["name"] and not _NO_PASSWORD.fullmatch(link["password"])
    ]


def _near_runs(text: str, runs: bytes) -> Iterator[Threat]:
    done = 0
    start = runs.find(_A_RUN)
    while start >= 0:
        end = runs.find(b" ", start)
        end = len(text) if end < 0 else end
        first = max(done, start - _BEFORE)
        yield from _between(text, first, end)
        done, start = end, runs.find(_A_RUN, end)


def _between(text: str, start: int, end: int) -> Iterator[Threat]:
    """What begins with a sign from ``start`` to ``end``; it may reach further."""
    part = text[start:end]
    low = part.replace("\u0130", "i").lower()
    for detector in _DETECTORS:
        looked_at = low if detector.in_any_case else part
        for sign in detector.signs:
            if sign in looked_at:
                yield from _at(sign, detector, text, looked_at, start)


def _at(sign: str, detector: _Detector, text: str, part: str, offset: int) -> Iterator[Threat]:
    is_secret = detector.is_secret or _is_real
    place = part.find(sign)
    while place >= 0:
        match = _match(detector, text, offset + place)
        if match and is_secret(match):
            yield Threat(detector.rule, match.start(), match.end())
        # On from the end of what fitted: nothing is read twice for one sign.
        place = part.find(sign, max(place + len(sign), match.end() - offset if match else 0))


def _match(detector: _Detector, text: str, place: int) -> re.Match[str] | None:
    if not detector.before:
        return detector.pattern.match(text, place)
    for start in range(max(0, place - detector.before), place + 1):
        if match := detector.pattern.match(text, start):
            return match
    return None


# A slot may hold blanks: "?s=<short summary>".
_URL = re.compile(r"://[^\s\"'`]{1,400}(?: [\w -]{1,40}[}>\]])?")
_SLOT = re.compile(
    r"(?:[{<\[]|%7B)\s?(?:[\w-]{1,20}[_. -]){0,2}?"
    r"(?:conversation|chat|history|memory|memories|prompt|context|user_?(?:data|info|input|message)|summary|secrets?|passwords?|"
    r"credentials?|base64[\w-]{0,20}|instructions|private[\w-]{0,20}|cookies?)"
    r"(?:[_. -][\w-]{1,20}){0,2}?\s?(?:[}>\])]|%7D)",
    re.IGNORECASE,
)
_HIDDEN_FILE = (
    r"(?:\.env\b|\.netrc|\.pgpass|\.npmrc|\.pypirc|id_(?:rsa|ed25519|ecdsa)|credentials|\.aws/|\.ssh/|\.gnupg/|/etc/(?:passwd|shadow)|"
    r"USER\.md|MEMORY\.md)"
)
_KEY_VARIABLE = r"\$\{?\w{0,40}(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL)"
_SECRET = re.compile(f"{_HIDDEN_FILE}|{_KEY_VARIABLE}", re.IGNORECASE)
_INNER_COMMAND = re.compile(r"(?:\$\(|`)\s{0,4}(?:cat|env|printenv|base64)\b", re.IGNORECASE)
_SENDS_SECRET = re.compile(
    r"(?:\s-d|\s--data[\w-]{0,12}|\s-F|\s--form|\s-T|\s--upload-file|\s--post-(?:file|data))[ =]?[^\s|]{0,80}?"
    f"(?:{_HIDDEN_FILE}|{_KEY_VARIABLE})|[?&][\\w-]{{1,40}}={_KEY_VARIABLE}",
    re.IGNORECASE,
)
_READS_FILE = re.compile(r"\b(?:cat|tar|base64|head|less|zip)\b")
_READS_ENVIRONMENT = re.compile(r"(?<![\w./-])(?:env|printenv)\s{0,4}\|")
_SENDING = re.compile(
    fold_word(
        "(?:send|post|upload|transmit|forward|email|leak|exfiltrat|copy|submit|deliver|report|relay|push)(?:e|ing)?.{0,12}?"
        "(?:all|your|my|any|every|theuser|their|whole|entire|full|stored|content|the).{0,30}?(?:apikey|accesskey|password|secret|"
        "credential|privatekey|sshkey|accesstoken|authtoken|sessiontoken|cookies|conversation|chathistory|chatlog|memory|memories|"
        "envfile|envvar|environmentvariable|personaldata|privatedata|userdata|theirdata|creditcard|tokens).{0,48}?"
        "(?:to|at|via|into|through)"
    )
)
_SENT = tuple(
    fold_word("key password secret credential token cookies conversation chat memor env data creditcard").split()
)
_NEGATED = re.compile(r"\b(?:do not|don['\u2019]?t|never|must not|should not|cannot)\b[^.!?\n]{0,20}\Z", re.IGNORECASE)
_STRIDE = 64
_SENDING_REACH = 280
LEAK_SIGNS = ("://", "@", "|", "$")
"""The signs in a text that the searches here start from; a command that sends a secret holds one of them."""
_SENDERS = ("curl", "wget", "netcat", "nc ")
_COMMANDS = ("curi", "wget", "nc")
_PIPED = {sender: re.compile(r"\|\s{0,4}(?:sudo\s)?" + sender, re.IGNORECASE) for sender in _SENDERS}


def find_leaks(folded: Folded) -> list[Threat]:
    """The findings of ``exfiltration-link`` and of commands in ``secret-exfiltration``."""
    text = folded.text
    findings: list[Threat] = []
    if "://" in text:
        findings += [Threat("exfiltration-link", *url.span()) for url in _urls(text) if _SLOT.search(url.group())]
        findings += _addressed("://", folded)
    if "@" in text:
        findings += _addressed("@", folded)
    if any(sign in text for sign in LEAK_SIGNS) and any(map(folded.letters.__contains__, _COMMANDS)):
        for sender in _SENDERS:
            findings += _commands(sender, folded)
    return findings


def _addressed(sign: str, folded: Folded) -> Iterator[Threat]:
    # From the address back to the order to send: addresses are rarer than words such as "send" or "password".
    text = folded.text
    for place in places(sign, text, _STRIDE):
        start = max(0, place - _SENDING_REACH)
        letters = folded.fold(text[start:place])
        if any(map(letters.__contains__, _SENT)) and (match := _SENDING.search(letters)):
            part = Folded.of(text[start:place])
            first, last = part.span(match.start(), match.end()) if part.letters == letters else (0, len(part.text))
            if not _NEGATED.search(text, max(0, start + first - _STRIDE), start + first):
                yield Threat("secret-exfiltration", start + first, start + last)


def _urls(text: str) -> Iterator[re.Match[str]]:
    # One after the other, never one inside another: the pieces looked at do not overlap.
    place = text.find("://")
    while place >= 0:
        url = _URL.match(text, place)
        if url:
            yield url
        place = text.find("://", url.end() if url else place + 1)


def _commands(sender: str, folded: Folded) -> Iterator[Threat]:
    # Line by line, each looked at once: many commands on one line do not multiply the work.
    text, low = folded.text, folded.low
    place = low.find(sender)
    while place >= 0:
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        sent = _INNER_COMMAND.search(text, place, end) or _SENDS_SECRET.search(text, place, end)
        if sent and sender in {"curl", "wget"}:
            yield Threat("secret-exfiltration", place, sent.end())
        start = text.rfind("\n", 0, place) + 1
        piped = max((pipe.start() for pipe in _PIPED[sender].finditer(text, start, end)), default=0)
        if piped and _reads_secret(text, start, piped):
            yield Threat("secret-exfiltration", start, piped + 1)
        place = low.find(sender, end)


def _reads_secret(text: str, start: int, end: int) -> bool:
    if _READS_ENVIRONMENT.search(text, start, end + 1):
        return True
    return _READS_FILE.search(text, start, end) is not None and _SECRET.search(text, start, end) is not None
