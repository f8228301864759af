"""Edits: what was asked for is there, everything else stays, to the byte."""

from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from catmem.config.config import Config
from catmem.errors import EditError
from catmem.model.document import parse
from catmem.model.edit import (
    add_entry,
    apply_edits,
    move_entry,
    remove_entry,
    replace_entry,
    retag_entry,
)
from catmem.model.layout import formatted, is_shared
from catmem.names import UNCATEGORIZED
from catmem.syntax.scan import scan
from catmem.workspace.profile_memory import Cache
from tests.property.strategies import bodies, categories, stored_form, tag_sets, texts

place = st.integers(0, 10)
declared_sets = st.sampled_from(
    [None, None, ("finance", "rules-old", "communication-style", "über", "c", "a-b", "new_one")]
)


def says(entry):
    return entry.category, entry.body, entry.tags


def stored(document, without=None):
    """Category and stored text of every entry, but the one that starts at ``without``."""
    return [(entry.category, entry.raw) for entry in document.entries if entry.start != without]


def headings(document):
    return [(section.category, section.title) for section in document.sections]


def without_new_title(old, new, entries):
    """The entries of ``old``, after its leading level-1 heading became the title of ``new``."""
    if old.title == new.title:
        return entries
    assert old.title is None
    assert not old.sections
    (category, raw), *rest = entries
    line, _, below = raw.partition("\n")
    assert line.startswith(("# ", "#\t"))
    return [(category, below.strip()), *rest] if below.strip() else rest


def assert_sound(old, edited, gone=None):
    """What holds after every edit: it leads from text to text, a whole scan sees the same, other entries stay."""
    new = edited.document
    assert apply_edits(old.text, edited.edits) == new.text
    assert list(edited.edits) == sorted(edited.edits)
    assert all(one.end <= other.start for one, other in zip(edited.edits, edited.edits[1:], strict=False))
    assert new.scan == scan(new.text, old.scan.categories)
    assert Cache(Config(Path())).made(new, old, old.to_bytes()) == new.to_bytes()
    made = edited.entry.start if edited.entry else None
    assert stored(new, made) == without_new_title(old, new, stored(old, gone))
    assert old.text.startswith("\ufeff") == new.text.startswith("\ufeff")


def with_entries(text):
    return parse(text if parse(text).entries else f"{text}\nan entry")


def pick(document, index):
    return document.entries[index % len(document.entries)]


def unless_bad_tag(operation, *arguments, **settings):
    """The outcome, or no example for a value that no tag block can hold. Every document has room for an edit."""
    try:
        return operation(*arguments, **settings)
    except EditError as error:
        assume(error.code != "bad_tag")
        raise


@given(texts(), bodies(), categories, tag_sets, declared_sets)
@example("", "\ufeffx", UNCATEGORIZED, {}, None)
@example("text", "a\r\r\nb", UNCATEGORIZED, {}, None)
@example("§\r\n§\r", "text", "finance", {}, None)
@example("§\r\n§\r", "text", UNCATEGORIZED, {}, None)
@example(" §\r\n- [ ] todo\n§\r\r\n", "```", UNCATEGORIZED, {}, None)
@example("", "text", "finance", {"source": "x" * 5000}, None)
def test_any_text_can_be_added_to_any_document(text, body, category, tags, declared):
    old = parse(text, declared)
    edited = unless_bad_tag(add_entry, old, body, category=category, tags=tags)
    assert says(edited.entry) == (category, stored_form(body), tags)
    assert edited.entry in edited.document.entries
    assert_sound(old, edited)
    (edit,) = edited.edits
    assert edit.start == edit.end
    sections = headings(edited.document)
    if sections != headings(old):
        opened = next(section for section in sections if section not in headings(old))
        assert opened[0] == category
        sections.remove(opened)
        assert sections == headings(old)
        assert category not in [section.category for section in old.sections]


@given(texts(), bodies(), st.none() | tag_sets, place)
@example("# Title\n", "\ufeff§", None, 0)
@example("a\r\r\na\r\r\n", "```", None, 0)
@example("``` <!--\n## Finance\n\nx -->\n## __uncategorized__\n", "key:\n```", None, 1)
def test_an_entry_can_be_replaced(text, body, tags, index):
    old = with_entries(text)
    entry = pick(old, index)
    edited = unless_bad_tag(replace_entry, old, entry, body, tags=tags)
    assert says(edited.entry) == (entry.category, stored_form(body), entry.tags if tags is None else tags)
    assert_sound(old, edited, gone=entry.start)
    assert headings(edited.document) == headings(old)
    (edit,) = edited.edits
    assert edit.start == entry.start
    assert edit.end == entry.end or not old.text[entry.end : edit.end].strip()
    assert edited.document.entries.index(edited.entry) == old.entries.index(entry)


@given(texts(), tag_sets, place)
@example("§\r\r\n```\n", {"a": "b"}, 0)
def test_an_entry_can_be_retagged(text, tags, index):
    old = with_entries(text)
    entry = pick(old, index)
    tags = tags if entry.body else {**tags, "kept": "yes"}
    edited = unless_bad_tag(retag_entry, old, entry, tags)
    assert says(edited.entry) == (entry.category, entry.body, tags)
    assert_sound(old, edited, gone=entry.start)
    assert headings(edited.document) == headings(old)


@given(texts(), place)
@example("\ufeff§\nfoo", 0)
@example("foo\n§\n# T\n\n## A\n", 0)
def test_an_entry_can_be_removed(text, index):
    old = with_entries(text)
    entry = pick(old, index)
    edited = unless_bad_tag(remove_entry, old, entry)
    assert_sound(old, edited, gone=entry.start)
    assert headings(edited.document) == headings(old)
    (edit,) = edited.edits
    # Outside the entry, only white space and one delimiter line may go.
    beside = old.text[edit.start : entry.start] + old.text[entry.end : edit.end]
    assert beside.strip() in {"", "§"}
    assert not edit.text


@given(texts(), categories, place)
def test_an_entry_can_be_moved(text, category, index):
    old = with_entries(text)
    entry = pick(old, index)
    assume(entry.category != category)
    edited = unless_bad_tag(move_entry, old, entry, category)
    assert says(edited.entry) == (category, entry.body, entry.tags)
    assert_sound(old, edited, gone=entry.start)


@dataclass
class Kept:
    """An entry as the model remembers it; two that say the same are two."""

    category: str
    body: str
    tags: dict = field(default_factory=dict)


class OurOwnDocuments(RuleBasedStateMachine):
    """A document that only these operations made is never a dead end, and says what a plain list of entries says."""

    kept = Bundle("kept")

    @initialize(newline=st.sampled_from(["", "\n", "\r\n"]), bom=st.booleans(), shared=st.booleans())
    def begin(self, newline, bom, shared):
        text = "## Finance\n§\n## __uncategorized__" if shared else newline
        self.document = parse(("\ufeff" if bom else "") + text)
        self.shared = shared
        self.model = []

    def find(self, entry):
        same = [one for one in self.model if one == entry]
        number = next(index for index, one in enumerate(same) if one is entry)
        found = [one for one in self.document.entries if says(one) == (entry.category, entry.body, entry.tags)]
        return found[number if len(found) == len(same) else 0]

    def held(self, entry):
        return any(one is entry for one in self.model)

    @rule(target=kept, body=bodies(3), category=categories, tags=tag_sets)
    def add(self, body, category, tags):
        if body.startswith(("# ", "#\t")) and not self.document.sections:
            return multiple()  # it becomes the title when the first section arrives; not what this machine is about
        try:
            edited = add_entry(self.document, body, category=category, tags=tags)
        except EditError as error:
            assert error.code == "bad_tag"
            return multiple()
        assert_sound(self.document, edited)
        self.document = edited.document
        entry = Kept(category, stored_form(body), tags)
        self.model.append(entry)
        return entry

    @rule(entry=kept)
    def remove(self, entry):
        if self.held(entry):
            self.document = remove_entry(self.document, self.find(entry)).document
            self.model = [one for one in self.model if one is not entry]

    @rule(entry=kept, body=bodies(3))
    def replace(self, entry, body):
        if self.held(entry) and (self.document.sections or not body.startswith(("# ", "#\t"))):
            self.document = replace_entry(self.document, self.find(entry), body).document
            entry.body = stored_form(body)

    @rule(entry=kept, category=categories)
    def move(self, entry, category):
        if self.held(entry) and entry.category != category:
            if entry.body.startswith(("# ", "#\t")):
                return
            self.document = move_entry(self.document, self.find(entry), category).document
            entry.category = category

    @rule(layout=st.sampled_from(["plain", "shared"]))
    def put_into_a_layout(self, layout):
        if not self.shared:
            self.document = parse(formatted(self.document, layout))

    @invariant()
    def says_what_the_model_says(self):
        if not hasattr(self, "document"):
            return
        ours = sorted(repr(says(entry)) for entry in self.document.entries)
        assert ours == sorted(repr((entry.category, entry.body, entry.tags)) for entry in self.model)
        if self.shared:
            assert is_shared(self.document)


TestOurOwnDocuments = OurOwnDocuments.TestCase
TestOurOwnDocuments.settings = settings(max_examples=max(12, settings().max_examples // 5), stateful_step_count=12)
