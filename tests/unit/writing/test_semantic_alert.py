"""``semantic_alert`` of a root: what replaces words by quite other ones is refused until it is confirmed."""

import pytest

from catmem.errors import RefusedError
from catmem.ops.memory_tool import memory_tool
from catmem.writing.request import Operation
from tests.unit.audit.audited import make_audited, outcomes

OLD = "Deploys happen on Fridays at noon."
NEAR = "Deploys happen on Mondays at noon."
FAR = "Never deploy."


def opened(folder, config="semantic_alert: 0.3\n"):
    workspace = make_audited(folder, config)
    workspace.add("neo", OLD, category="work")
    return workspace


def test_words_that_have_little_in_common_need_a_confirm(tmp_path):
    workspace = opened(tmp_path)
    with pytest.raises(RefusedError, match=r"0\.00 of all words, under 0\.3") as refused:
        workspace.replace("neo", "Deploys", FAR)
    assert refused.value.code == "semantic_collision"
    assert workspace.read("neo").revision == "1"
    workspace.replace("neo", "Deploys", NEAR)
    workspace.replace("neo", "Deploys", FAR, confirm=True)
    assert outcomes(workspace)[1:] == [("refused", "semantic_collision"), ("ok", None), ("ok", None)]


def test_what_replaces_no_words_passes(tmp_path):
    workspace = opened(tmp_path, "semantic_alert: 1\n")
    workspace.replace("neo", "Deploys", None, tags={"source": "a talk"})
    workspace.verify("neo", "Deploys")
    workspace.move("neo", "Deploys", "talk")
    workspace.remove("neo", "Deploys")
    workspace.add("neo", FAR, category="work")


def test_of_several_operations_each_replacement_counts_but_for_the_confirmed(tmp_path):
    workspace = opened(tmp_path)
    workspace.add("neo", "Tests run at night.", category="work")
    near = Operation("replace", "Tests run by night.", "Tests")
    with pytest.raises(RefusedError):
        workspace.write("neo", [near, Operation("replace", FAR, "Deploys")])
    assert workspace.write("neo", [near, Operation("replace", FAR, "Deploys", confirm=True)]).changed


def test_a_rollout_in_shadow_mode_lets_it_pass_with_a_note(tmp_path):
    workspace = opened(tmp_path, "semantic_alert: 0.3\nrollout: {mode: shadow}\n")
    written = workspace.replace("neo", "Deploys", FAR)
    assert "would have been refused (semantic_collision)" in written.notes[0]
    assert outcomes(workspace)[1] == ("shadowed", "semantic_collision")


def test_the_tool_asks_and_takes_the_confirm(tmp_path):
    workspace = opened(tmp_path)
    call = {"action": "replace", "old_text": "Deploys", "content": FAR}
    answer = memory_tool(workspace, "neo", call)
    assert (answer["success"], answer["reason"]) == (False, "semantic_collision")
    assert memory_tool(workspace, "neo", call | {"confirm": True})["success"]
    for wrong in ({"action": "remove", "old_text": "Never", "confirm": True}, call | {"confirm": "yes"}):
        assert not memory_tool(workspace, "neo", wrong)["success"]


def test_an_envelope_is_held_to_it_without_asking(tmp_path):
    workspace = opened(tmp_path)
    for content in (f"## Work\n{FAR}\n", [{"action": "replace", "old_text": "Deploys", "content": FAR}]):
        envelope = workspace.envelope("neo", content)
        with pytest.raises(RefusedError) as refused:
            workspace.submit(envelope)
        assert refused.value.code == "semantic_collision"
    assert workspace.submit(envelope, confirm=True).changed


@pytest.mark.parametrize("empty", [{}, [], ""])
def test_an_empty_value_has_no_words_that_could_be_lost(tmp_path, empty):
    entity = "entities:\n  'project:alpha': {content: json, writers: [neo]}\n"
    workspace = make_audited(tmp_path, f"semantic_alert: 0.3\n{entity}")
    workspace.put("project:alpha", empty, expected="0")
    workspace.put("project:alpha", {"plan": "ship on Friday"}, expected="1")
    with pytest.raises(RefusedError) as refused:
        workspace.put("project:alpha", {"status": "done"}, expected="2")
    assert refused.value.code == "semantic_collision"


def test_a_document_without_words_has_none_that_could_be_lost(tmp_path):
    workspace = make_audited(tmp_path, "")
    workspace.add("neo", "…!?", category="work")
    text = "## Work\nShip on Friday.\n"
    assert workspace.submit(workspace.envelope("neo", text, alert=True)).changed
    with pytest.raises(RefusedError):
        workspace.submit(workspace.envelope("neo", "## Work\nNever deploy.\n", alert=True))
