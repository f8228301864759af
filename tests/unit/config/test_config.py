"""``catmem.yaml``, and selectors. Files that are refused stand in tests/conformance/profiles/bad/ (config-…)."""

import unicodedata

import pytest

from catmem.config.config import (
    Category,
    Config,
    Selectors,
    Signing,
    Taxonomy,
    find_root,
    load_config,
    selector_fault,
)
from catmem.config.json_schema import validate
from catmem.errors import ConfigError, UnreadableError
from tests.together import together


@pytest.fixture
def config_of(tmp_path):
    def load(text):
        (tmp_path / "catmem.yaml").write_text(text, encoding="utf-8")
        return load_config(tmp_path)

    return load


EVERYTHING = """\
version: 1
profiles: who
homes: "~/.hermes/profiles/{name}/memories"
store: sqlite:///memory.db
taxonomy:
  closed: true
  card_titles: true
  categories:
    communication-style: {title: Communication Style, aliases: [COMM, How We Talk]}
    workflow-rules-finance:
      title: Workflow Rules (Finance)
      domain: finance
      require_tags: [verified_date]
      stale_after: 180d
domains: {finance: {stale_after: 30d}, design: {}}
tags: {owner: {type: string}}
limits: {user: 1375, memory: 2200}
stale_after: 60d
prompt: {style: xml, budget: {total: 9000}}
agents: {planner-2: planner}
signing: {required: true, keys: ~/keys, clock_skew: 5m}
lint: {ignore: [CM203], per_file: {"homes/*": [CM5]}}
"""


def test_everything(config_of, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    config = config_of(EVERYTHING)
    assert config.root == tmp_path
    assert config.path == tmp_path / "catmem.yaml"
    assert config.profiles_dir == tmp_path / "who"
    assert str(config.home("trinity")) == "/home/somebody/.hermes/profiles/trinity/memories"
    assert config.store == "sqlite:///memory.db"
    assert config.taxonomy == Taxonomy(
        closed=True,
        card_titles=True,
        categories={
            "communication-style": Category("communication-style", "Communication Style", ("comm", "how-we-talk")),
            "workflow-rules-finance": Category(
                "workflow-rules-finance", "Workflow Rules (Finance)", (), "finance", ("verified_date",), 180
            ),
        },
    )
    assert config.domains == {"finance": 30}
    assert config.tag_schemas == {"owner": {"type": "string"}}
    assert config.limits == {"user": 1375, "memory": 2200}
    assert config.stale_after == 60
    assert config.prompt == {"style": "xml", "budget": {"total": 9000}}
    assert validate({"prompt": config.prompt}, "profile") == []
    assert config.agents == {"planner-2": "planner"}
    assert config.signing == Signing(required=True, keys="~/keys", clock_skew=300)
    assert config.lint == {"ignore": ["CM203"], "per_file": {"homes/*": ["CM5"]}}


def test_without_a_file_everything_has_a_default(tmp_path):
    config = load_config(tmp_path)
    assert config == Config(tmp_path)
    assert config.path is None
    assert config.profiles_dir == tmp_path / "profiles"
    assert config.home("neo") == tmp_path / "homes" / "neo"
    assert (config.store, config.stale_after) == ("files", 90)
    assert config.taxonomy.closed_slugs is None


def test_a_root_that_is_no_folder_is_no_root(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(UnreadableError):
            load_config(path)


def test_a_folder_or_a_broken_link_is_not_taken_for_a_missing_file(tmp_path):
    (tmp_path / "catmem.yaml").symlink_to(tmp_path / "nothing")
    with pytest.raises(UnreadableError):
        load_config(tmp_path)
    assert find_root(tmp_path) == tmp_path
    (tmp_path / "catmem.yaml").unlink()
    (tmp_path / "catmem.yaml").mkdir()
    with pytest.raises(UnreadableError) as caught:
        load_config(tmp_path)
    assert caught.value.code == "not_a_file"


def test_a_configuration_with_the_other_ending_of_yaml_is_not_passed_over(tmp_path):
    (tmp_path / "catmem.yml").write_text("taxonomy: {closed: true}\n")
    with pytest.raises(ConfigError, match="the configuration of a root is called") as caught:
        load_config(tmp_path)
    assert "Rename it to catmem.yaml" in caught.value.hint
    (tmp_path / "catmem.yaml").write_text("version: 1\n")
    assert not load_config(tmp_path).taxonomy.closed


def test_the_root_is_found_upward(tmp_path, monkeypatch):
    deep = tmp_path / "root" / "a" / "b"
    deep.mkdir(parents=True)
    assert find_root(deep) is None
    (tmp_path / "root" / "catmem.yaml").touch()
    assert find_root(deep) == tmp_path / "root"
    assert find_root(tmp_path / "root") == tmp_path / "root"
    assert find_root(tmp_path) is None
    monkeypatch.chdir(deep)
    assert find_root(".") == tmp_path / "root"
    assert load_config("..").root == tmp_path / "root" / "a"  # absolute
    (deep / "catmem.yaml").touch()
    assert find_root(deep) == deep


@together(
    ("homes", "expected"),
    [
        ("people", "/srv/place/people/neo"),
        ("people/{name}", "/srv/place/people/neo"),
        ("people/{name}/{name}", "/srv/place/people/neo/neo"),
        ("/srv/people", "/srv/people/neo"),
        ("~/people", "/home/me/people/neo"),
        ("~", "/home/me/neo"),
        ("a~b", "/srv/place/a~b/neo"),
    ],
)
def test_homes(tmp_path, monkeypatch, homes, expected):
    monkeypatch.setenv("HOME", "/home/me")
    config = Config(tmp_path, homes=homes)
    assert str(config.home("neo")) == expected.replace("/srv/place", str(tmp_path))


def test_no_path_is_made_of_a_bad_name(tmp_path):
    with pytest.raises(ConfigError) as caught:
        Config(tmp_path).home("../neo")
    assert caught.value.code == "bad_name"


def test_a_name_that_is_not_declared_is_a_slug_of_its_own_and_aliases_are_resolved_in_exact_selectors_only(config_of):
    taxonomy = config_of(EVERYTHING).taxonomy
    resolved = ("communication-style", "!communication-style", "comm*", "other")
    assert taxonomy.resolved(("comm", "!comm", "comm*", "other")) == resolved
    assert (taxonomy.category("Travel (abroad)"), taxonomy.named("Travel (abroad)")) == ("travel-abroad", None)
    assert (taxonomy.category("!"), taxonomy.named("!")) == ("", None)
    assert taxonomy.named("__uncategorized__") == "__uncategorized__"


def test_a_category_without_a_title_gets_one_whose_slug_it_is(config_of):
    config = config_of("taxonomy: {categories: {workflow-rules: {}, _x: {}, '2024': {}, ß: {}}}\n")
    assert [category.title for category in config.taxonomy.categories.values()] == ["Workflow Rules", "_X", "2024", "ß"]


def test_a_title_may_be_that_of_an_alias(config_of):
    config = config_of("taxonomy: {categories: {comm: {title: Communication Style, aliases: [communication-style]}}}\n")
    assert config.taxonomy.categories["comm"].title == "Communication Style"


# --- selectors of categories -----------------------------------------------------------------------------------------


CATEGORIES = ["communication-style", "finance-payroll", "finance-tools", "working-relationship"]


def test_unmatched_names_selectors_that_match_nothing():
    selectors = Selectors(("finance-*", "!finance-payrol", "desing-*", "*"))
    assert selectors.unmatched(CATEGORIES) == ["!finance-payrol", "desing-*"]
    assert selectors.unmatched([]) == list(selectors.patterns)


@together(
    "selector",
    ["a", "a-b_c", "!a", "*", "a*", "!a-*", "__uncategorized__", "стиль-*", "沟通", "!façade-*", "x\u030c*", "a*-*-b",
     "हिन्दी*", "2024"],
)  # fmt: skip
def test_slugs_and_patterns_are_fine(selector):
    assert selector_fault(selector) is None


@together(
    ("selector", "hint"),
    [
        ("Workflow Rules", "workflow-rules"),
        ("Workflow Rules (Finance)", "workflow-rules-finance"),
        ("!Workflow Rules", "!workflow-rules"),
        ("finance_", None),
        ("-a", "'a'"),
        ("a--b", "a-b"),
        ("ﬁnance", "finance"),
        ("", "slug"),
        ("!", "slug"),
        ("!!a", "'!a'"),
        ("???!", "pattern"),
        ("A*", "small letters"),
        ("a *", "small letters"),
        ("a*,b*", "one selector"),
        ("[a", "pattern"),
        ("rules-?", "'?' and '['"),
        ("rules-[a-p]*", "'?' and '['"),
        ("a\n*", "pattern"),
    ],
)
def test_what_can_match_nothing_is_a_fault_with_a_hint(selector, hint):
    fault = selector_fault(selector)
    if hint is None:
        assert fault is None
        return
    message, said = fault
    assert hint in said
    assert "is not a selector" in message
    assert "\n" not in message


@together(
    "selector",
    [
        *("*-", "a.*", "a,b*", "!SECRET*", "!finance--*", "Workflow Rules*", "!-secret*", "ﬁnance-*"),
        unicodedata.normalize("NFD", "é*"),
    ],
)
def test_a_pattern_that_no_slug_fits_is_a_fault(selector):
    message, hint = selector_fault(selector)
    assert "is not a selector" in message
    assert "small letters" in hint
