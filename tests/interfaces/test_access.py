"""What an agent is told through any interface says nothing of another profile, whichever name it gives."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.errors import CatmemError
from catmem.mcp.tools import tools_of
from catmem.ops.library import ask
from catmem.ops.shared import AnyProfile, EntityId
from catmem.ops.table import OPERATIONS, Call, Http, OperationRow, P, Parameter, Tool, UsageError, load_all, operation
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.interfaces.calls import Told, by_http, by_tool, copied
from tests.same_as import roots

load_all()
OTHER = "smith"
FILES = {
    f"profiles/{OTHER}.yaml": "user_memory_categories: ['*']\nmemory_categories: ['*']\nwritable_categories: ['*']\n"
}
SETUP = (
    ("add", "-c", "rules", "The vault is blue."),
    ("replace", "vault", "The vault is green.", "--expected", "1"),
    ("add", "-c", "rules", "Oslo closes at two.", "--expected", "1", "--on-stale", "branch", "--as", OTHER),
    ("add", "-c", "rules", "Lyon closes at noon.", "--as", OTHER, "--propose"),
)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory) -> tuple[Path, Path]:
    """A root, and the same with another profile, of which ``neo`` is to learn nothing."""
    place = tmp_path_factory.mktemp("access")
    for name, text in {"catmem.yaml": roots.CONFIG, **roots.PROFILES, **roots.of_all()}.items():
        put(place / "without" / "root" / name, text)
    _said(place / "without" / "root", "add", "-p", "neo", "-c", "rules", "Rome closes at one.")
    copied(place / "without" / "root", place / "with" / "root")
    for name, text in FILES.items():
        put(place / "with" / "root" / name, text)
    for name, *more in SETUP:
        _said(place / "with" / "root", name, "-p", OTHER, *more)
    return place / "without" / "root", place / "with" / "root"


def _said(root: Path, *line: str) -> None:
    done = CliRunner().invoke(group, [*line, "--root", str(root)])
    assert done.exit_code == 0, done.output


def others(row: OperationRow, interface: Any) -> list[dict[str, Any]]:
    """Calls that name another's profile and entity: in one parameter after the other, and in none."""
    texts = [each for each in row.at(interface) if each.kind is str and "enum" not in each.schema]
    least = {each.name: _own(each) for each in row.at(interface) if each.required or each.param.needed}
    named = [(each, name) for each in texts for name in (OTHER, f"{OTHER}/user", f"{OTHER}/user@1")]
    return [least, *({**least, each.name: [name] if each.many else name} for each, name in named)]


def _own(each: Parameter) -> str:
    return "neo/user" if "entity" in each.name else "neo"


def told(row: OperationRow, interface: str, root: Path, values: dict[str, Any]) -> Told | tuple[str, Any]:
    if interface == "http":
        return by_http(row, root, values, "neo")
    if interface == "tool":
        return by_tool(row, root, values, "neo")
    workspace = Workspace.open(root, search=False)
    with closing(workspace.store):
        try:
            return "", ask(workspace, row.name, "neo", **values)
        except (CatmemError, UsageError) as error:
            return type(error).__name__, error.message


HAVE = [
    pytest.param(row.name, interface, id=f"{row.name}-{interface}")
    for row in OPERATIONS.values()
    for interface, has in (
        ("http", row.http),
        ("tool", row.tool),
        ("library", (row.http or row.tool) and not (row.http and row.http.conditional)),
    )
    if has
]


@pytest.mark.parametrize(("name", "interface"), HAVE)
def test_an_agent_is_told_what_it_would_be_without_another(worlds, tmp_path, name, interface):
    row = OPERATIONS[name]
    door = interface if interface != "library" else "http" if row.http else "tool"
    places = [copied(world, tmp_path / side / "root") for world, side in zip(worlds, "ab", strict=True)]
    for values in others(row, door):
        without, found = (told(row, interface, place, values) for place in places)
        if isinstance(without, Told) and isinstance(found, Told):
            without, found = without[:2], found[:2]
        assert found == without, values


@dataclass(frozen=True)
class Text:
    """What a row that decides nothing itself gives."""

    text: str

    def seen(self, _: Call) -> dict[str, Any]:
        return {"text": self.text}


@pytest.fixture
def rows():
    """Rows whose functions decide nothing."""

    @operation("text", http=Http("GET", "/text", "T", "T."), tool=Tool("T", "T."))
    def text(call: Call, *, entity_id: EntityId) -> Text:
        """Give the text of an entity."""
        return Text(call.root.store.read(entity_id).data.decode())

    @operation("texts", http=Http("GET", "/texts", "T", "T."), tool=Tool("T", "T."))
    def texts(call: Call, *, profile: AnyProfile = None) -> Text:
        """Give the text of a profile."""
        return Text(call.root.store.read(f"{profile or OTHER}/user").data.decode())

    @operation("wipe", tool=Tool("T", "T.", writes=True))
    def wipe(call: Call) -> Text:
        """Take everything away."""
        raise AssertionError

    yield
    del OPERATIONS["text"], OPERATIONS["texts"], OPERATIONS["wipe"]


def test_a_row_that_decides_nothing_is_closed(rows, worlds):
    workspace = Workspace.open(worlds[1], search=False)
    with closing(workspace.store):
        own = ask(workspace, "text", "neo", entity_id="neo")
        assert "Rome closes at one." in own["text"]
        for entity in (OTHER, f"{OTHER}/user", "nobody/user"):
            with pytest.raises(CatmemError) as refused:
                ask(workspace, "text", "neo", entity_id=entity)
            assert refused.value.code == "unknown_name"
        assert ask(workspace, "texts", "neo") == own
        assert "vault" in ask(workspace, "text", "orchestrator", entity_id=OTHER)["text"]


def test_a_tool_that_writes_is_offered_to_tier_1_alone(rows, worlds):
    workspace = Workspace.open(worlds[1], search=False)
    with closing(workspace.store):
        offered = {who: {tool.name for tool in tools_of(workspace, who)} for who in ("neo", "orchestrator")}
    assert offered["neo"] & {"memory_text", "memory_wipe"} == {"memory_text"}
    assert offered["orchestrator"] >= {"memory_text", "memory_wipe"}


def test_a_parameter_that_names_a_profile_says_so():
    with pytest.raises(TypeError, match="whose"):

        @operation("open", http=Http("GET", "/open", "T", "T."))
        def row(call: Call, *, entity: Annotated[str, P()]) -> Text:
            """Give what there is."""
            raise AssertionError

    assert "open" not in OPERATIONS
