"""What rules that look across files need of a file: small, JSON-ready, and without its words.

A file's facts depend on its bytes and the root's categories alone, so they can be kept with its findings. They hold no
text: an entry's words are there as hashes, enough to find entries that say nearly the same.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from base64 import b64decode, b64encode
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from catmem.policy.staleness import read_date

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from catmem.model.document import Document, Entry
    from catmem.policy.lint.linted import LintedEntry

SKETCH = 32
"""Most hashes that an entry's ``words`` hold."""

_READ = 8192
_DIGEST_BYTES = 8
_DATES = ("verified_date", "created", "expires")

# Letters and digits, with what joins them in names, numbers and addresses between: don't, 3.11, 10.0.0.1, e-mail.
_WORD = re.compile(r"[^\W_]++(?:[.'\u2019:@/-][^\W_]++)*+")
_MARK = re.compile(r"(?:\A|(?<=\n))[ \t]{0,8}<!--[ \t]{0,8}catmem:[^\n>]{0,256}-->[ \t]{0,8}(?=\n|\Z)")
_DIGIT = re.compile(r"\d")
# Scripts that put no blanks between words: Thai to Myanmar, Khmer, kana, Han.
_NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]++")


class EntryFact(NamedTuple):
    """One entry. ``start`` and ``end`` are offsets in the file's text, ``line`` counts from 1."""

    category: str
    line: int
    start: int
    end: int
    digest: str
    """Of the body, blanks made even: equal bodies have equal digests, whatever their tags say."""
    size: int
    """Characters of the body."""
    verified: str | None
    created: str | None
    expires: str | None
    words: tuple[int, ...]
    """Hashes of the distinct words in the order of the text; of more than ``SKETCH`` words the smallest hashes. A hash
    is odd if its word holds a digit."""
    domains: tuple[str, ...]
    """The domains that its tags name."""

    @property
    def day(self) -> str | None:
        """The day of the fact, as ISO 8601: when it was last verified, else created."""
        return self.verified or self.created


class SectionFact(NamedTuple):
    """One section header and the category that it opens."""

    category: str
    line: int
    start: int
    end: int


class FileFacts(NamedTuple):
    """The facts of one memory file. ``path`` is from the root; ``owner`` and ``target`` are ``None`` if nobody's."""

    path: str
    owner: str | None = None
    target: str | None = None
    sections: tuple[SectionFact, ...] = ()
    entries: tuple[EntryFact, ...] = ()

    def to_json(self) -> list[Any]:
        """Sections and entries as JSON data: what the bytes of the file decide."""
        return [
            list(map(list, self.sections)),
            [[*entry[:-2], _packed(entry.words), entry.domains] for entry in self.entries],
        ]

    @classmethod
    def from_json(
        cls,
        data: Any,  # noqa: ANN401 - any JSON value
        *,
        path: str,
        owner: str | None = None,
        target: str | None = None,
    ) -> FileFacts:
        """The facts of the file at ``path`` from what ``to_json`` gave. Raises ``TypeError`` or ``ValueError``."""
        sections, entries = data
        return cls(
            path,
            owner,
            target,
            tuple(SectionFact._make(row) for row in sections),
            tuple(EntryFact._make([*row[:-2], _unpacked(row[-2]), tuple(row[-1])]) for row in entries),
        )


def _packed(words: tuple[int, ...]) -> str:
    """Hashes of 32 bits as base64, half as long as their digits."""
    return b64encode(struct.pack(f"<{len(words)}I", *words)).decode("ascii")


def _unpacked(text: str) -> tuple[int, ...]:
    data = b64decode(text, validate=True)
    if len(data) % 4:
        raise ValueError("not a row of 32-bit numbers")
    return struct.unpack(f"<{len(data) // 4}I", data)


def facts_of(
    document: Document,
    *,
    path: str,
    owner: str | None = None,
    target: str | None = None,
    entries: Iterable[LintedEntry] | None = None,
) -> FileFacts:
    """The facts of a document that stands at ``path``.

    ``entries`` are those of the ``LintedFile``, where there is one: their bodies and tags need no second reading.
    """
    line = document.line_index.line
    return FileFacts(
        path,
        owner,
        target,
        tuple(
            SectionFact(header.category, line(header.start), header.start, header.end)
            for header in document.scan.headers
        ),
        tuple(_entry_fact(entry, line(entry.start)) for entry in (document.entries if entries is None else entries)),
    )


def _entry_fact(entry: Entry | LintedEntry, line: int) -> EntryFact:
    body, tags = without_marks(entry.body), entry.tags
    verified, created, expires = (_day(tags.get(name)) for name in _DATES) if tags else (None, None, None)
    domains = tags.get("domain", []) if tags else []
    return EntryFact(
        entry.category,
        line,
        entry.start,
        entry.end,
        body_digest(body),
        len(body),
        verified,
        created,
        expires,
        word_hashes(body),
        (domains,) if isinstance(domains, str) else tuple(domains),
    )


def without_marks(body: str) -> str:
    """A body without the marks that suppress findings: they are not part of what it says."""
    return _MARK.sub("", body).strip() if "<!--" in body else body


def _day(value: str | list[str] | None) -> str | None:
    day = read_date(value)
    return None if day is None else day.isoformat()


def body_digest(body: str) -> str:
    """16 hex digits of a body: BLAKE2b over its words with single blanks between."""
    return blake2b(" ".join(body.split()).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def word_hashes(text: str) -> tuple[int, ...]:
    """The hashes of an entry's words (``EntryFact.words``); of a long text its first 8,192 characters are read.

    The smallest hashes are a fair sample of the words ("bottom-k sketch"; Cohen and Kaplan, 2007): what two samples
    share says how much the whole texts share.
    """
    hashes = dict.fromkeys(_hashes(text[:_READ].lower()))
    if len(hashes) <= SKETCH:
        return tuple(hashes)
    limit = sorted(hashes)[SKETCH - 1]
    return tuple(value for value in hashes if value <= limit)


def _hashes(text: str) -> Iterable[int]:
    if text.isascii():
        words = _WORD.findall(text)
    else:
        words = [part for word in _WORD.findall(unicodedata.normalize("NFKC", text)) for part in _parts(word)]
    return map(_hash, words)


@lru_cache(maxsize=1 << 15)
def _hash(word: str) -> int:
    """A hash that is the same on every machine, odd for a word that holds a digit."""
    has_digit = not word.isalpha() and _DIGIT.search(word) is not None
    return crc32(word.encode()) & ~1 | has_digit


def _parts(word: str) -> Iterator[str]:
    """The word; of a run without blanks between its words each two neighbours."""
    if word.isascii() or not _NO_BLANKS.search(word):
        yield word
        return
    for run in _NO_BLANKS.findall(word):
        yield from (run[index : index + 2] for index in range(max(1, len(run) - 1)))
    yield from filter(None, _NO_BLANKS.split(word))
