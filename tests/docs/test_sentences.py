"""The sentences of the pages in docs/: short enough, and in the words of docs/glossary.md.

Code blocks are not looked at, and code within a sentence counts as one word.
"""

import re
from collections.abc import Iterator

from tests.docs.pages import ROOT, Page, load, read
from tests.together import together

UNREAD = {"api", "cli", "rules"}
"""Pages of lists of fields and rules, or made of docstrings, which tests/unit/test_words.py reads."""
PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md") if path.stem not in UNREAD)
MOST_WORDS = 35

# What a plain sentence does without, and what stands in its place: in the code too (tests/unit/test_words.py), and in docs.
EVERYWHERE = {
    r"doors?": "interface",
    r"outsiders?": "external writer",
    r"told|telling": "say, report, show",
    r"whoever": "a person who, a program that",
    r"nobody": "no person, no profile",
    r"(some|any)body": "a person, another writer",
    r"by other means": "an external change",
    r"from elsewhere": "external",
}
FORBIDDEN = EVERYWHERE | {
    r"tells?": "say, report, show",
    r"such(?! as\b)": "name the thing",
    r"thereby|hence": "so",
    r"meanwhile": "since then, in between",
    r"(is|are) not there": "is missing, does not exist",
    r"good for": "name what it allows",
}
# What is fine once or twice on a page, and dull as a habit.
HABITS = {r"of its own": 2, r"there (is|are)": 2}

_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")
_TABLE_RULE = re.compile(r"[|:\- ]+")
_CODE = re.compile(r"(`+).*?\1")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+")


def sentences(page: Page) -> list[str]:
    """The sentences of a page's prose. A heading, an item of a list and a cell of a table each begin a new one."""
    return [part for block in _blocks(page) for part in _END.split(block) if re.search(r"\w", part)]


def _blocks(page: Page) -> Iterator[str]:
    waiting: list[str] = []
    plain = re.sub(r"(?s)<!--.*?-->", "", "\n".join(page.prose))
    for line in [*_LINK.sub(r"\1", _CODE.sub("CODE", plain)).splitlines(), ""]:
        is_row, is_item, is_heading = line.startswith("|"), _LIST_ITEM.match(line), line.startswith("#")
        if waiting and (is_row or is_item or is_heading or not line.strip()):
            yield " ".join(waiting)
            waiting = []
        if is_row:
            yield from () if _TABLE_RULE.fullmatch(line) else re.split(r"(?<!\\)\|", line.strip("| "))
        elif is_heading:
            yield line
        elif line.strip():
            waiting.append(line[is_item.end() :] if is_item else line.strip())


def words(sentence: str) -> int:
    """How many words a sentence has; signs that stand alone are none."""
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def too_long(page: Page) -> list[str]:
    """The sentences of a page with too many words, each behind their number."""
    return [f"{words(each)}: {each}" for each in sentences(page) if words(each) > MOST_WORDS]


def unwanted(page: Page) -> list[str]:
    """What a page says in words that its readers do without."""
    found = []
    every = sentences(page)
    for word, most in {**dict.fromkeys(FORBIDDEN, 0), **HABITS}.items():
        said = [each for each in every if re.search(rf"\b(?:{word})\b", each, re.IGNORECASE)]
        if len(said) > most:
            found += [f"{word} ({FORBIDDEN.get(word, f'at most {most}')}): {each}" for each in said]
    return found


@together("name", PAGES)
def test_no_sentence_is_too_long(name):
    assert too_long(load(ROOT / "docs" / f"{name}.md")) == []


@together("name", PAGES)
def test_the_words_are_plain(name):
    assert unwanted(load(ROOT / "docs" / f"{name}.md")) == []


LONG = " ".join(["word"] * (MOST_WORDS + 1))
FINE = " ".join(["word"] * MOST_WORDS)


@together(
    "text",
    [
        f"{LONG}.",
        f"# {LONG}",
        f"- {LONG}",
        f"1. {LONG}",
        f"| a | {LONG} |",
        f"{FINE}\n(and more).",
        f"{FINE} `a b c`.",
        f"[{LONG}](there.md).",
    ],
)
def test_a_long_sentence_is_seen(text):
    assert len(too_long(read("made-up.md", text))) == 1


@together(
    "text",
    ["Two doors.", "Nobody is told.", "Such a file.", "It\nis not there.", "There is a. There is b. There are c."],
)
def test_an_unwanted_word_is_seen(text):
    assert unwanted(read("made-up.md", text)) != []


def test_the_glossary_is_in_order_with_a_sentence_and_a_page_for_each_term():
    lines = load(ROOT / "docs" / "glossary.md").text.splitlines()
    found = [re.fullmatch(r"- \*\*\[(.+?)\]\([a-z-]+\.md(?:#.+)?\)\*\*: (.+)\.", line) for line in lines[4:]]
    assert all(found)
    terms = [each[1].strip("`_").lower() for each in found if each]
    assert terms == sorted(terms, key=lambda term: re.sub(r"\W|_", "", term))
    assert not any(". " in each[2] for each in found if each)


# --- the glossary: a page introduces a term in italics behind an article, as in "a *delimiter* is a line" ---

_INTRODUCED = re.compile(r"\b(?:an?|the)\s+\*([^*]+)\*(?!\*)", re.IGNORECASE)
_ENTRY = re.compile(r"^- \*\*\[(.+?)\]\(\S+\)\*\*: ", re.MULTILINE)


def terms(glossary: str) -> list[str]:
    """The terms of a glossary, without what tells two of one name apart ("target of a seed")."""
    return [re.sub(r" of a .*", "", term.strip("`")) for term in _ENTRY.findall(glossary)]


def uses(term: str, text: str) -> bool:
    """Whether a text has the term, as one or several, and also as a name in code (`role_hash`)."""
    *first, last = map(re.escape, term.split())
    last = f"(?:{last}(?:s|es)?|{last.removesuffix('y')}ies)"
    words = r"[\s_-]".join([*first, last])
    return re.search(rf"(?<![^\W_]){words}(?![^\W_])", text, re.IGNORECASE) is not None


def introduced(text: str) -> list[str]:
    """The terms that a page introduces."""
    return [" ".join(term.split()).lower() for term in _INTRODUCED.findall(text)]


GLOSSARY = terms(load(ROOT / "docs" / "glossary.md").text)
# The commands of cli.md and the codes of errors.md count; architecture.md is not for readers of the glossary.
OTHERS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").glob("*.md"))
    if path.stem not in {"architecture", "glossary"}
)


@together("term", GLOSSARY)
def test_a_term_of_the_glossary_is_used_on_another_page(term):
    assert uses(term, OTHERS), "use it, or remove it"


@together("name", [name for name in PAGES if name != "glossary"])
def test_a_term_that_a_page_introduces_stands_in_the_glossary(name):
    known = {term.lower() for term in GLOSSARY}
    found = introduced("\n".join(load(ROOT / "docs" / f"{name}.md").prose))
    assert [term for term in found if term not in known and term.removesuffix("s") not in known] == []


@together("text", ["roles", "a parole hash", "the hash of a role"])
def test_other_words_are_no_use(text):
    assert not uses("role hash", text)
