"""What rules that look across files need of a file: small, JSON-ready, and without its words.

A file's facts depend on its bytes and the root's categories alone, so they can be kept with its findings. They hold no
text: an entry's words are there as hashes, enough to find entries that say nearly the same.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from base64 import b64decode, b64encode
from hashlib import blake2b
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from catmem.policy.lint.linted import LintedEntry, LintedFile

SKETCH = 32
"""Most hashes that an entry's ``words`` hold."""

_READ = 8192
_DIGEST_BYTES = 8

DATES = ("verified_date", "created", "expires")
"""The tags that hold a day."""

# Letters and digits, with what joins them in names, numbers and addresses between: don't, 3.11, 10.0.0.1, e-mail.
_WORD = re.compile(r"[^\W_]++(?>(?:[.'\u2019:@/-][^\W_]++)*)")
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
        """Sections and entries as JSON data: what the bytes of the file decide.

        The words of all entries are one text, base64 of 32-bit numbers: it is most of what is kept.
        """
        words = [word for entry in self.entries for word in entry.words]
        rows = [[*entry[:-2], len(entry.words), entry.domains] for entry in self.entries]
        packed = b64encode(struct.pack(f"<{len(words)}I", *words)).decode("ascii")
        return [list(map(list, self.sections)), rows, packed]

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
        sections, rows, packed = data
        numbers = b64decode(packed, validate=True)
        if len(numbers) != 4 * sum(row[-2] for row in rows):
            raise ValueError("not as many hashes as the entries have")
        words = iter(struct.unpack(f"<{len(numbers) // 4}I", numbers))
        return cls(
            path,
            owner,
            target,
            tuple(SectionFact._make(row) for row in sections),
            tuple(EntryFact._make([*row[:-2], tuple(islice(words, row[-2])), tuple(row[-1])]) for row in rows),
        )


def facts_of(file: LintedFile) -> FileFacts:
    """The facts of a memory file; no section and no entry of one that is not text."""
    if file.document is None:
        return FileFacts(file.path, file.owner, file.target)
    line = file.document.line_index.line
    sections = tuple(
        SectionFact(header.category, line(header.start), header.start, header.end)
        for header in file.document.scan.headers
    )
    entries = tuple([_entry_fact(entry, line(entry.start)) for entry in file.entries])
    return FileFacts(file.path, file.owner, file.target, sections, entries)


def _entry_fact(entry: LintedEntry, line: int) -> EntryFact:
    body = without_marks(entry.body)
    verified, created, expires = (_iso(entry.dates.get(key)) for key in DATES) if entry.dates else (None, None, None)
    domains = entry.tags.get("domain", ())
    return EntryFact(
        entry.category,
        line,
        entry.start,
        entry.end,
        body_digest(entry.words),
        len(body),
        verified,
        created,
        expires,
        word_hashes(entry.words),
        (domains,) if isinstance(domains, str) else tuple(domains),
    )


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def without_marks(body: str) -> str:
    """A body without the marks that suppress findings: they are not part of what it says."""
    return _MARK.sub("", body).strip() if "<!--" in body else body


def body_digest(words: str) -> str:
    """16 hex digits of a body's words, with one blank between (``LintedEntry.words``): BLAKE2b."""
    return blake2b(words.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def word_hashes(text: str) -> tuple[int, ...]:
    """The hashes of the words of a text (``EntryFact.words``); of a long one its first 8,192 characters are read.

    The smallest hashes are a fair sample of the words ("bottom-k sketch"; Cohen and Kaplan, 2007): what two samples
    share says how much the whole texts share.
    """
    hashes = dict.fromkeys(chain.from_iterable(map(_KNOWN.__getitem__, text[:_READ].lower().split())))
    if len(hashes) <= SKETCH:
        return tuple(hashes)
    limit = sorted(hashes)[SKETCH - 1]
    return tuple(value for value in hashes if value <= limit)


class _Known(dict[str, tuple[int, ...]]):
    """The hashes of each piece that was seen before: most words come again and again."""

    def __missing__(self, piece: str) -> tuple[int, ...]:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        self[piece] = found = _hashes(piece)
        return found


_MOST_KNOWN = 1 << 16
_KNOWN = _Known()


def _hashes(piece: str) -> tuple[int, ...]:
    """The hashes of the words in a piece of text without blanks: mostly one, with its punctuation."""
    if piece.isascii():
        words = _WORD.findall(piece)
    else:
        words = [part for word in _WORD.findall(unicodedata.normalize("NFKC", piece)) for part in _parts(word)]
    return tuple(map(_hash, words))


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
