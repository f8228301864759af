"""Rules on what a single entry says: nothing, or too much."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from catmem.policy.lint.diagnostic import Finding, Fix
from catmem.policy.lint.rule import rule
from catmem.policy.lint.spans import first_line, removal
from catmem.policy.lint.suppress import without_marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from catmem.policy.lint.linted import Context, LintedFile


_NOTHING = (
    *("test", "testing", "todo", "tbd", "fixme", "asdf", "foo", "bar", "foobar", "hello", "hello world"),
    *("placeholder", "none", "null", "nil", "n/a", "na", "nothing", "empty", "unknown", "example", "sample", "dummy"),
    *("delete me", "remove me", "ok", "okay", "yes", "no", "memory", "note", "notes"),
)


@rule("CM203", "garbage-entry", options={"words": _NOTHING}, fixes="unsafe")
def garbage_entry(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries that say nothing: a test, a placeholder, a lone word.

    ## Why
    An agent that tries out its memory leaves `test` behind, and a template leaves `<your name here>`. A lone word is
    mostly the rest of a sentence. All of them stand in every prompt from then on.

    A lone word in a script that puts no blanks between words (Chinese, Japanese, Thai) is not reported, nor is one with
    a digit or a sign in it: an address, a path, a number.

    ## Example
    Bad:

    ```
    test
    §
    TODO
    §
    <your name here>
    ```

    Good:

    ```
    Tests run with pytest.
    ```

    ## Fix
    The unsafe fix removes the entry.

    ## Options
    - `words`: what counts as nothing when it is all that an entry says, in small letters.
    """
    words = context.options("CM203")["words"]
    for entry in file.entries:
        body = entry.body
        if len(body) > _SHORT and not body.startswith(_MAY_BEGIN_LONG):
            continue
        what = _garbage(without_marks(body), words)
        if what:
            fix = Fix((removal(file.document, entry),), safe=False, message="Remove the entry")
            yield Finding(entry.start, entry.end, f"this entry is {what}", "Say what is meant, or remove it.", fix)


_SHORT = 120
_MAY_BEGIN_LONG = ("Lorem", "lorem", "<!--")
_FRAME = " \t\r\n.,;:!?…-\u2013\u2014*_~`'\"()[]{}<>#|/\\=+"
_PLACEHOLDER = re.compile(
    r"<[^<>\n]{1,80}>|\{\{[^{}\n]{1,80}\}\}|\[(?:insert|your|enter|add|describe|fill)\b[^\[\]\n]{0,80}\]|x{3,}|_{3,}"
    r"|(?:insert|enter|add|put) [^\n]{1,40} here\.?|lorem ipsum\b.*",
    re.IGNORECASE | re.DOTALL,
)
_LONE_WORD = re.compile(r"[^\W\d_]{1,40}")
_NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def _garbage(body: str, words: Collection[str]) -> str:
    """What kind of nothing a body is; empty for one that says something."""
    if not body:
        return ""  # a rule of its own, or a mark
    if _PLACEHOLDER.fullmatch(body):
        return "a placeholder"
    bare = body.strip(_FRAME)
    if not bare:
        return "only punctuation"
    if " ".join(bare.casefold().split()) in words:
        return "a test or a placeholder"
    if _LONE_WORD.fullmatch(bare) and not _NO_BLANKS.search(bare):
        return "a lone word"
    return ""


@rule("CM204", "long-entry", options={"limit": 1000})
def long_entry(file: LintedFile, context: Context) -> Iterator[Finding]:
    """Find entries over a length.

    ## Why
    An entry is one fact: it is dated, verified, replaced and left out of a prompt as a whole. One of a thousand
    characters holds several, and when the budget is short all of them go at once.

    ## Example
    Bad: an entry into which a whole page was pasted.

    Good: one entry for each fact of that page, and its address.

    ## Fix
    Cut it into several entries, or shorten it. There is no fix.

    ## Options
    - `limit`: characters (code points) of an entry as stored (1000).
    """
    limit = context.options("CM204")["limit"]
    for entry in file.entries:
        size = len(entry.raw)
        if size > limit:
            message = f"this entry has {size:,} characters, {size - limit:,} over the limit of {limit:,}"
            yield Finding(*first_line(entry), message, "Cut it into several, or shorten it.")


@rule("CM207", "entry-without-text", fixes="unsafe")
def entry_without_text(file: LintedFile, _: Context) -> Iterator[Finding]:
    """Find entries that hold tags and no text.

    ## Why
    No prompt shows such an entry. Most often a delimiter or a header came between the tags and their text, which then
    stands there without a date.

    ## Example
    Bad:

    ```
    [verified_date: 2026-05-01]
    §
    Vendor is Acme.
    ```

    Good:

    ```
    [verified_date: 2026-05-01]
    Vendor is Acme.
    ```

    ## Fix
    The unsafe fix removes the entry. If its tags belong to the entry below, remove the delimiter instead.
    """
    for entry in file.entries:
        if not entry.body:
            fix = Fix((removal(file.document, entry),), safe=False, message="Remove the entry")
            yield Finding(
                entry.start, entry.end, "this entry has tags and no text", "Give it a text, or remove it.", fix
            )
