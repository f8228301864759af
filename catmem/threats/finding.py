"""What the scanner reports, a rule and a span; and how the rules search."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, AnyStr, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Places = Mapping[str, Sequence[int]]

SECRETS: Mapping[str, str] = {
    "aws-access-key": "An access key of Amazon Web Services (AKIA..., ASIA...).",
    "google-key": "A key or token of Google: an API key, an OAuth client secret or an access token.",
    "azure-key": "A key of Azure storage or of a service bus, or the signature of a shared link.",
    "github-token": "A token of GitHub: personal, OAuth, app or fine-grained.",
    "gitlab-token": "A token of GitLab: personal, deploy, runner or trigger.",
    "slack-token": "A token of Slack.",
    "webhook-url": "A link that lets everybody who has it post into a channel of Slack or Discord.",
    "stripe-key": "A live key of Stripe or the secret of its webhooks.",
    "model-key": "A key of a service that runs models: OpenAI, Anthropic, Hugging Face, Groq, xAI and others.",
    "package-token": "A token of a package registry: npm, PyPI, Docker Hub or RubyGems.",
    "service-token": "A token of another service with a known form: Vault, DigitalOcean, SendGrid, Telegram, age.",
    "private-key": "A private key in PEM form, with its body.",
    "jwt": "A signed JSON Web Token.",
    "basic-auth": "A name with a password in a link or in a header of HTTP.",
    "assigned-secret": "A random text that is called a password, a token, a secret or a key; a chosen password or PIN.",
}
"""Detector of secrets to one sentence that says what it finds; they are rules like all others."""

_CHARACTERS: Mapping[str, str] = {
    "hidden-character": "A character that does not show, or a private one, where no script or emoji needs it.",
    "control-character": "A control character other than tab and newline, or an exotic line separator.",
    "bidi-control": "A character that turns the direction of text, so that people read another text than programs.",
    "tag-character": "A tag character (U+E0000 to U+E007F), which can carry a whole message that does not show.",
    "variation-selector": "A variation selector after a character that takes none, or several in a row.",
    "mixed-script": "A word that mixes Latin letters with letters of another script that look the same.",
    "encoded-letters": "A run of numeric character references that spell out a word.",
}
RULES: Mapping[str, str] = {
    **_CHARACTERS,
    "instruction-override": "Words that tell a model to drop, ignore or replace its instructions.",
    "identity-override": "Words that give a model another identity, or one without limits.",
    "privilege-claim": "Words that claim the authority of the system, a developer or an operator.",
    "prompt-exfiltration": "Words that ask a model to give away its prompt or its context.",
    "hide-from-user": "Words that tell a model to keep something from the people it works for.",
    "secret-exfiltration": "Words or a command that send secrets, memory or conversation somewhere else.",
    "exfiltration-link": "A link with a place to put private data, or words that ask to put data into one.",
    "remote-image": "An image or other content that is fetched from a remote place as soon as it is shown.",
    "role-marker": "Text that looks like the frame around a prompt: a chat role, a template token, a system tag.",
    "hidden-markup": "An HTML comment or style that hides words from people and not from a model.",
    "too-large-to-scan": "The text is over the scanner's limit; none of it was scanned, so all of it is blocked.",
    **SECRETS,
}
"""Rule name to one sentence that says what the rule finds."""


@dataclass(frozen=True, slots=True)
class Threat:
    """One suspicious place: ``text[start:end]``, in code points, found by ``rule`` (a key of ``RULES``)."""

    rule: str
    start: int
    end: int

    @property
    def hint(self) -> str:
        """What to do when the text is fine."""
        if self.rule == "too-large-to-scan":
            return "Split the text, or give the scanner a higher limit."
        if self.rule in _CHARACTERS:
            return "Delete these characters, or write what they stand for in plain words (U+200B)."
        if self.rule in SECRETS:
            return "Say where the secret is kept, not what it is. Take it out with 'catmem purge' and replace it."
        return "Say the same in other words: describe what was said, and do not write it as an order to a model."


def places(sign: AnyStr, text: AnyStr, step: int = 1) -> Iterator[int]:
    """Where a sign stands in a text; the next one is looked for ``step`` characters on."""
    place = text.find(sign)
    while place >= 0:
        yield place
        place = text.find(sign, place + step)


def pattern(written: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """What ``re.compile`` gives, compiled when it is first used: a run of the command line uses few."""
    return cast("re.Pattern[str]", _Pattern(written, flags))


class _Pattern:
    def __init__(self, written: str, flags: re.RegexFlag) -> None:
        self._written, self._flags = written, flags

    def __getattr__(self, method: str) -> object:
        # Called for what is not there: from now on it is.
        found = getattr(re.compile(self._written, self._flags), method)
        setattr(self, method, found)
        return found
