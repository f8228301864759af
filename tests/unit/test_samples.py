"""Real files: nothing is lost, and a flat one reads as Hermes Agent reads it."""

from pathlib import Path

import pytest

from catmem.model.document import parse
from catmem.names import UNCATEGORIZED

SAMPLES = sorted((Path(__file__).parents[1] / "samples").glob("sample-*.md"))
PAGE = "sample-46.md"
FLAT = [path for path in SAMPLES if path.name != PAGE]


def as_hermes_reads(text):
    return [part.strip() for part in text.split("\n§\n") if part.strip()]


@pytest.fixture(params=SAMPLES, ids=lambda path: path.stem)
def sample(request):
    return request.param.read_bytes()


@pytest.fixture(params=FLAT, ids=lambda path: path.stem)
def flat(request):
    return request.param.read_bytes()


def test_there_are_samples():
    assert len(SAMPLES) == 34
    assert len(FLAT) == 33


def test_the_bytes_come_back(sample):
    assert parse(sample).to_bytes() == sample


def test_a_flat_file_reads_as_hermes_reads_it(flat):
    document = parse(flat)
    assert [entry.raw for entry in document.entries] == as_hermes_reads(flat.decode())
    assert list(document.by_category) == [UNCATEGORIZED]
    assert document.sections == ()
    assert document.title is None


def test_real_text_is_never_a_tag_block_and_needs_no_escape(flat):
    for entry in parse(flat).entries:
        assert entry.tags == {}
        assert entry.body == entry.raw


def test_nothing_looks_wrong(sample):
    assert parse(sample).problems == ()


def test_a_page_with_headings_becomes_sections():
    text = next(path for path in SAMPLES if path.name == PAGE).read_text(encoding="utf-8")
    assert len(as_hermes_reads(text)) == 1
    document = parse(text)
    assert document.title == "USER.md — Auto-Injected User Profile"
    assert [section.category for section in document.sections] == [
        "identity",
        "communication-style",
        "role",
        "boundaries",
    ]
    assert {category: len(entries) for category, entries in document.by_category.items()} == {
        UNCATEGORIZED: 1,
        "identity": 1,
        "communication-style": 1,
        "role": 1,
        "boundaries": 1,
    }
    assert document.by_category["identity"][0].body.startswith("- Xxxx: {{")
