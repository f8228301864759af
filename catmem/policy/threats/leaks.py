"""Links with a slot for private data, and commands that send secrets away."""

from __future__ import annotations

import re

from catmem.policy.threats.finding import Finding
from catmem.policy.threats.fold import Folded, fold_word

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
SIGNS = ("://", "@", "|", "$")
"""The signs in a text that the searches here start from; a command that sends a secret holds one of them."""
_SENDERS = ("curl", "wget", "netcat", "nc ")
_COMMANDS = ("curi", "wget", "nc")
_PIPED = {sender: re.compile(r"\|\s{0,4}(?:sudo\s)?" + sender, re.IGNORECASE) for sender in _SENDERS}


def find_leaks(folded: Folded) -> list[Finding]:
    """The findings of ``exfiltration-link`` and of commands in ``secret-exfiltration``."""
    text = folded.text
    findings: list[Finding] = []
    if "://" in text:
        findings += [Finding("exfiltration-link", *url.span()) for url in _urls(text) if _SLOT.search(url.group())]
        findings += _addressed("://", folded)
    if "@" in text:
        findings += _addressed("@", folded)
    if any(sign in text for sign in SIGNS) and any(map(folded.letters.__contains__, _COMMANDS)):
        for sender in _SENDERS:
            findings += _commands(sender, folded)
    return findings


def _addressed(sign: str, folded: Folded) -> list[Finding]:
    # From the address back to the order to send: addresses are rarer than words such as "send" or "password".
    text = folded.text
    findings: list[Finding] = []
    place = text.find(sign)
    while place >= 0:
        start = max(0, place - _SENDING_REACH)
        letters = folded.fold(text[start:place])
        if any(map(letters.__contains__, _SENT)) and (match := _SENDING.search(letters)):
            part = Folded.of(text[start:place])
            first, last = part.span(match.start(), match.end()) if part.letters == letters else (0, len(part.text))
            if not _NEGATED.search(text, max(0, start + first - _STRIDE), start + first):
                findings.append(Finding("secret-exfiltration", start + first, start + last))
        place = text.find(sign, place + _STRIDE)
    return findings


def _urls(text: str) -> list[re.Match[str]]:
    # One after the other, never one inside another: the pieces looked at do not overlap.
    found: list[re.Match[str]] = []
    place = text.find("://")
    while place >= 0:
        url = _URL.match(text, place)
        if url:
            found.append(url)
        place = text.find("://", url.end() if url else place + 1)
    return found


def _commands(sender: str, folded: Folded) -> list[Finding]:
    # Line by line, each looked at once: many commands on one line do not multiply the work.
    text, low = folded.text, folded.low
    findings: list[Finding] = []
    place = low.find(sender)
    while place >= 0:
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        sent = _INNER_COMMAND.search(text, place, end) or _SENDS_SECRET.search(text, place, end)
        if sent and sender in {"curl", "wget"}:
            findings.append(Finding("secret-exfiltration", place, sent.end()))
        start = text.rfind("\n", 0, place) + 1
        piped = _last_pipe(text, sender, start, end)
        if piped and _reads_secret(text, start, piped):
            findings.append(Finding("secret-exfiltration", start, piped + 1))
        place = low.find(sender, end)
    return findings


def _last_pipe(text: str, sender: str, start: int, end: int) -> int:
    """The offset of the last pipe into ``sender`` on a line, or 0."""
    last = 0
    for pipe in _PIPED[sender].finditer(text, start, end):
        last = pipe.start()
    return last


def _reads_secret(text: str, start: int, end: int) -> bool:
    if _READS_ENVIRONMENT.search(text, start, end + 1):
        return True
    return _READS_FILE.search(text, start, end) is not None and _SECRET.search(text, start, end) is not None
