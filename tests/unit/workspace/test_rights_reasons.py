"""Why a profile may do something: the deciding word, its place, in a sentence."""

import pytest

from catmem.config.config import load_config
from catmem.config.profile import find_profile
from catmem.jsonable import jsonable
from catmem.workspace.reports import reasons
from tests.golden.case import put
from tests.together import together

LOOSE = "__uncategorized__"
CONFIG = """\
taxonomy:
  closed: {closed}
  categories: {{talk: {{}}, finance-vendors: {{aliases: [vendors]}}, finance-payroll: {{}}}}
"""
ASKED = ("user", "memory", "write", "verify")


@pytest.fixture
def ask(tmp_path):
    """Ask why a profile with this YAML, which may extend ``base``, may do something."""

    def asked(what, category, text, *, base="{}", closed=True):
        put(tmp_path / "catmem.yaml", CONFIG.format(closed=str(closed).lower()))
        put(tmp_path / "profiles" / "base.yaml", base)
        put(tmp_path / "profiles" / "neo.yaml", text)
        config = load_config(tmp_path)
        found = reasons(find_profile(config, "neo"), category, config.taxonomy)
        assert tuple(reason.asked for reason in found) == ASKED
        return found[ASKED.index(what)]

    return asked


UNSAID = "include_uncategorized is not said, so only who names no category reads such entries"
VERIFY = "may_verify is not said, and by default only tier 1 may"
FINANCE = "memory_categories: ['finance-*', '!finance-payroll']"


@together(
    ("text", "category", "said"),
    [
        (FINANCE, "finance-vendors", ("yes", "selected", "'finance-*' of memory_categories selects it")),
        (FINANCE, "finance-payroll", ("no", "taken-away", "'!finance-payroll' of memory_categories takes it away")),
        ("memory_categories: ['!talk']", "talk", ("no", "taken-away", "'!talk' of memory_categories takes it away")),
        (FINANCE, "talk", ("no", "not-selected", "no selector of memory_categories matches it")),
        (FINANCE, "finance-slip", ("no", "closed", "'finance-*' of memory_categories would match, but the taxonomy is closed and does not declare this category: patterns select declared ones only")),
        ("memory_categories: [vendors]", "finance-vendors", ("yes", "selected", "'finance-vendors' of memory_categories selects it")),
        ("{}", "talk", ("no", "not-selected", "no selector of memory_categories matches it")),
        ("memory_categories: []", "talk", ("no", "not-selected", "no selector of memory_categories matches it")),
        ("{}", LOOSE, ("yes", "include-uncategorized", UNSAID)),
        ("user_memory_categories: [talk]", LOOSE, ("no", "include-uncategorized", UNSAID)),
        ("include_uncategorized: true", LOOSE, ("yes", "include-uncategorized", "include_uncategorized is true")),
        ("{include_uncategorized: false, memory_categories: ['*']}", LOOSE, ("no", "include-uncategorized", "include_uncategorized is false")),
        ("{include_uncategorized: true, memory_categories: ['!*']}", LOOSE, ("no", "taken-away", "'!*' of memory_categories takes it away")),
        ("memory_categories: [__uncategorized__]", LOOSE, ("yes", "selected", "'__uncategorized__' of memory_categories selects it")),
    ],
)  # fmt: skip
def test_reading(ask, text, category, said):
    reason = ask("memory", category, text)
    assert (reason.answer, reason.rule, reason.because) == said


@together(
    ("text", "category", "said"),
    [
        ("{user_memory_categories: [talk], writable_categories: [talk]}", "talk", ("yes", "selected", "'talk' of writable_categories selects it")),
        ("writable_categories: [talk]", "talk", ("yes", "selected", "'talk' of writable_categories selects it")),
        ("writable_categories: ['*']", LOOSE, ("no", "not-selected", "no selector of writable_categories matches it")),
        ("tier: 1", "talk", ("yes", "tier-1", "a profile of tier 1 may write to every category of every profile's files")),
        ("tier: 1", "slip", ("yes", "tier-1", "a profile of tier 1 may write to every category of every profile's files; but nothing can be added to it while catmem.yaml does not declare it")),
    ],
)  # fmt: skip
def test_writing(ask, text, category, said):
    reason = ask("write", category, text)
    assert (reason.answer, reason.rule, reason.because) == said


@together(
    ("text", "said"),
    [
        ("{}", ("no", "may-verify", VERIFY)),
        ("{tier: 1, user_memory_categories: [talk]}", ("yes", "may-verify", VERIFY)),
        ("{tier: 1, may_verify: false}", ("no", "may-verify", "may_verify is false")),
        ("{may_verify: true, user_memory_categories: [talk], memory_categories: [talk]}", ("yes", "may-verify", "may_verify is true")),
        ("may_verify: true", ("no", "not-seen", "it can verify only what it reads")),
    ],
)  # fmt: skip
def test_verifying(ask, text, said):
    reason = ask("verify", "talk", text)
    assert (reason.answer, reason.rule, reason.because) == said


def test_the_place_is_that_of_the_deciding_selector(ask):
    reason = ask("memory", "finance-payroll", "tier: 2\nmemory_categories:\n- finance-*\n- '!finance-payroll'\n")
    assert (reason.selector, reason.key) == ("!finance-payroll", "memory_categories[1]")
    assert (reason.place.path.rpartition("/")[2], reason.place.line, reason.inherited_from) == ("neo.yaml", 4, None)


def test_the_parent_that_a_setting_comes_from_is_named(ask):
    reason = ask("memory", "talk", "extends: base\n", base="# a comment\nmemory_categories: [talk]\n")
    assert (reason.place.path.rpartition("/")[2], reason.place.line, reason.inherited_from) == ("base.yaml", 2, "base")


def test_a_default_has_no_place(ask):
    reason = ask("memory", LOOSE, "{}")
    assert (reason.place, reason.selector, reason.key) == (None, None, "include_uncategorized")
    assert jsonable(reason) == {
        "asked": "memory",
        "answer": "yes",
        "rule": "include-uncategorized",
        "because": reason.because,
        "selector": None,
        "key": "include_uncategorized",
        "inherited_from": None,
        "path": None,
        "line": None,
    }


def test_in_an_open_taxonomy_a_pattern_selects_what_nobody_declared(ask):
    assert ask("memory", "finance-slip", FINANCE, closed=False).rule == "selected"
