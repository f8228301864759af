"""Proposals as files: what is in one, and that only a file as it was written approves."""

from __future__ import annotations

from pathlib import Path

import pytest

from catmem.errors import UnreadableError
from catmem.model.document import parse
from catmem.proposals.proposal_files import approve_merged, export, file_text
from tests.roots import make_root, put_bytes, text_of

PROFILES = {"neo": "user_memory_categories: ['*']\nwritable_categories: ['*']\n"}
USER = "## Rules\n[verified_date: 2026-11-01] Uses tabs.\n§\n[verified_date: 2026-11-01] Deploys on Fridays.\n"


@pytest.fixture
def ws(tmp_path):
    return make_root(tmp_path / "root", config="approval: {}\n", profiles=PROFILES, files={"neo/user": USER})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "proposals"


def propose(ws, old="tabs", new="Uses spaces.", reason="The formatter says so."):
    return ws.proposal(ws.replace("neo", old, new, actor="neo", reason=reason).waiting)


def codes(done):
    return [error.code for error in done[1]]


def test_a_file(ws, folder):
    found = propose(ws)
    (path,) = export(ws, folder)
    assert path.name == f"{found.id}.md"
    head, _, rest = path.read_text(encoding="utf-8").partition("digest: ")
    assert head == (
        f'---\nid: "{found.id}"\nentity: "neo/user"\nproposer: "neo"\nproposed: "{found.timestamp[:10]}"\n'
        'reason: "The formatter says so."\n'
    )
    assert rest.partition("---\n")[2] == (
        "\n## rules\n\n```diff\n- [verified_date: 2026-11-01] Uses tabs.\n+ Uses spaces.\n```\n"
        "\nThe approval verifies this entry.\n"
    )


def test_a_merged_file_approves_and_a_second_run_changes_nothing(ws, folder):
    found = propose(ws)
    export(ws, folder)
    done = approve_merged(ws, folder)
    assert [each.proposal.id for each in done[0]] == [found.id]
    text = text_of(ws)
    assert "Uses spaces." in text
    assert approve_merged(ws, folder) == ([], [])
    assert text_of(ws) == text


def test_what_has_no_file_still_waits(ws, folder):
    propose(ws)
    (path,) = export(ws, folder)
    other = propose(ws, "Fridays", "Never.")
    approve_merged(ws, folder)
    assert [each.id for each in ws.proposals()] == [other.id]
    path.unlink()
    assert approve_merged(ws, folder) == ([], [])


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("spaces", "nothing"),
        lambda text: text + "\n",
        lambda text: text.replace("formatter", "boss"),
        lambda text: "",
        lambda text: text.replace("\n", "\r\n"),
    ],
)
def test_an_edited_file_approves_nothing_and_the_others_go_on(ws, folder, edit):
    first, second = propose(ws), propose(ws, "Fridays", "Never.")
    export(ws, folder)
    path = folder / f"{first.id}.md"
    path.write_bytes(edit(path.read_text(encoding="utf-8")).encode())
    done = approve_merged(ws, folder)
    assert codes(done) == ["not_as_exported"]
    assert done[1][0].path == str(path)
    assert [each.proposal.id for each in done[0]] == [second.id]
    assert "Uses tabs." in text_of(ws)


def test_a_file_under_the_name_of_another_is_forged(ws, folder):
    first, second = propose(ws), propose(ws, "Fridays", "Never.")
    export(ws, folder)
    (folder / f"{first.id}.md").replace(folder / f"{second.id}.md")
    assert codes(approve_merged(ws, folder)) == ["not_as_exported"]
    assert text_of(ws) == USER


def test_unknown_decided_stale_and_linked_files_are_refused(ws, folder):
    export(ws, folder)
    found = {name: propose(ws, old, new) for name, old, new in (("no", "tabs", "a"), ("old", "Fridays", "b"))}
    linked = ws.proposal(ws.add("neo", "Likes tea.", category="rules", actor="neo", proposes=True).waiting)
    export(ws, folder)
    (folder / "p-0000000000.md").write_text(file_text(linked), encoding="utf-8")
    (folder / f"{linked.id}.md").replace(folder / "elsewhere.txt")
    (folder / f"{linked.id}.md").symlink_to("elsewhere.txt")
    ws.reject(found["no"].id)
    put_bytes(ws, "neo/user", USER.replace("on Fridays", "on any Fridays"))
    done = approve_merged(ws, folder)
    assert {Path(error.path).stem: error.code for error in done[1]} == {
        "p-0000000000": "unknown_proposal",
        found["no"].id: "decided",
        found["old"].id: "stale_proposal",
        linked.id: "symlink",
    }
    assert done[0] == []


def test_what_cannot_be_approved_is_not_exported(ws, folder):
    propose(ws)
    put_bytes(ws, "neo/user", USER.replace("Uses tabs", "Uses wide tabs"))
    assert export(ws, folder) == []


def test_the_same_proposal_again_leaves_the_file_as_it_is_also_with_another_reason(ws, folder):
    propose(ws)
    (path,) = export(ws, folder)
    before = path.read_bytes()
    propose(ws)
    export(ws, folder)
    assert path.read_bytes() == before
    propose(ws, reason="Another one.")
    assert len(approve_merged(ws, folder)[0]) == 1


def test_no_text_leaves_its_block_or_hides(ws, folder):
    hostile = "Uses ```` fences.\n```\n## Not a heading"
    put_bytes(ws, "neo/user", f"## Rules\n[verified_date: 2026-11-01] {hostile}\u202e\n```\nend\n")
    found = propose(ws, "fences", "Uses none.")
    (path,) = export(ws, folder)
    said = path.read_text(encoding="utf-8")
    assert "\u202e" not in said
    assert said.count("\n`````diff\n") == said.count("\n`````\n") == 1
    assert [entry for entry in parse(said).by_category if "not-a-heading" in entry] == []
    # Two texts that are written out alike are told apart by the digest.
    assert file_text(found) == said


def test_a_folder_that_is_missing(ws, folder):
    with pytest.raises(UnreadableError) as caught:
        approve_merged(ws, folder)
    assert caught.value.code == "missing"
