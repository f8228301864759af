"""The memory provider in Hermes Agent after 0.20, by the documented facts of it: ``newer_hermes`` stands in for it."""

import json
import sys
import threading

import pytest
import yaml

from catmem.errors import ConfigError
from catmem.plugins.hermes.homes import HermesSettings
from catmem.plugins.hermes.memory_store import use_catmem_store
from catmem.plugins.hermes.operations import FOLDER, apply_step, plan_install
from catmem.plugins.hermes.provider import TOOL_NAME
from tests.docs.pages import ROOT
from tests.golden.case import put
from tests.unit.hermes import newer_hermes

CATALOG_FOLDER = ROOT / "packages" / "hermes"


@pytest.fixture(autouse=True)
def _hermes(monkeypatch):
    for name, module in newer_hermes.modules().items():
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture(params=["written by install", "of the catalog"])
def provider(request, provider_home):
    apply_step(plan_install(provider_home, HermesSettings(provider_home.root, "coder")))
    by_install = request.param == "written by install"
    loaded = newer_hermes.load(provider_home.path / FOLDER if by_install else CATALOG_FOLDER)
    yield loaded
    loaded.shutdown()


@pytest.fixture
def manager(provider, provider_home):
    manager = newer_hermes.Manager(provider)
    provider.initialize("one", hermes_home=str(provider_home.path), platform="cli", agent_context="primary")
    return manager


def call(provider, **arguments):
    return json.loads(provider.handle_tool_call(TOOL_NAME, arguments))


def test_its_folder_is_loaded_and_says_whether_it_can_be_used_and_why_not(provider, provider_home):
    assert isinstance(provider, newer_hermes.MemoryProvider)
    assert (provider.name, provider.is_available(), provider.unavailable_reason()) == ("catmem", True, "")
    put(provider_home.path / "catmem.json", '{"version": 1, "root": "/nowhere", "profile": "coder"}')
    assert not provider.is_available()
    assert provider.unavailable_reason().startswith("/nowhere: no such folder")


def test_a_turn_by_any_author_brings_nothing_in_keeps_nothing_and_starts_no_thread(manager, provider_home):
    before = threading.active_count()
    files = {path: path.read_bytes() for path in provider_home.memories.iterdir() if path.is_file()}
    assert "Tea, not coffee." in manager.provider.system_prompt_block()
    assert manager.turn(1, "Hello.", model="large", remaining_tokens=9) == ("", None)
    manager.turn_ends("Hello.", "Hi.", session_id="one", messages=[], turn_author={"name": "Ana"})
    assert manager.provider.pre_compress_checkpoint_api_version == 1
    assert {path: path.read_bytes() for path in files} == files
    assert threading.active_count() == before


def test_another_profile_has_another_signature(manager, provider_home):
    mine = manager.provider.identity_signature()
    assert mine == manager.provider.identity_signature() != ""
    put(provider_home.path / "catmem.json", f'{{"version": 1, "root": "{provider_home.root}", "profile": "default"}}')
    assert manager.provider.identity_signature() not in {mine, ""}


def test_an_entry_that_the_own_tool_named_is_known_to_the_agent(manager, provider_home):
    """Later releases say what an entry was before; without that, what another program wrote is shown first."""
    file = provider_home.memories / "USER.md"
    put(file, file.read_text(encoding="utf-8").replace("Tea, not coffee.", "Cocoa."))
    change = {"action": "replace", "old_text": "Cocoa", "content": "Green tea."}
    manager.tool_wrote({"success": True, "staged": True, "replaced_entry": "Cocoa."}, "replace", "user", "x")
    assert not call(manager.provider, **change)["success"]
    manager.tool_wrote({"success": True, "replaced_entry": "Cocoa."}, "replace", "user", "sk-0123456789abcdef0123")
    assert call(manager.provider, **change)["success"]


def test_the_store_says_for_which_release_it_is_and_what_to_use_in_another():
    tool = sys.modules["tools.memory_tool"]
    theirs = tool.MemoryStore
    with pytest.raises(
        ConfigError, match=r"the store is for Hermes Agent 0\.19\.x, and this one is 0\.21\.3"
    ) as caught:
        use_catmem_store()
    assert (caught.value.code, tool.MemoryStore) == ("unknown_hermes", theirs)
    for way in ("catmem hermes install", "catmem seed"):
        assert way in caught.value.hint


def test_the_catalog_has_the_provider_alone_and_nothing_that_it_refuses():
    entry = yaml.safe_load((ROOT / "packages" / "hermes-catalog.yaml").read_text(encoding="utf-8"))
    assert newer_hermes.catalog_faults(CATALOG_FOLDER, entry) == []
    assert entry["capabilities"]["provides_tools"] == [TOOL_NAME]
    assert sorted(path.name for path in CATALOG_FOLDER.iterdir() if path.is_file()) == ["__init__.py", "plugin.yaml"]
