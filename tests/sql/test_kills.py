"""No acknowledged write and no row of a direct client is lost: clients and the server are killed, and tools commit beside."""

import pytest

from tests.race.kills import kill_writers
from tests.sql.drift import REFUSALS, lost, race
from tests.sql.server_kills import kill_server
from tests.store.stores import kinds

WRITES, MOST_TURNS = 500, 4  # a busy machine takes in many rows at once, so there may be few adoptions in a turn
DATABASES = [kind for kind in kinds() if kind.id in {"sqlite", "postgresql"}]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", DATABASES)
def test_clients_are_killed(kind, tmp_path):
    killed = kill_writers(tmp_path, 50, kind=kind.name)
    assert killed.wrong == []
    assert killed.kills == 50
    assert killed.acknowledged > 20
    assert killed.repeated > 5


@pytest.mark.postgresql
def test_the_server_is_killed(tmp_path):
    killed = kill_server(tmp_path, 4)
    assert killed.wrong == []
    assert killed.kills == 4
    assert killed.acknowledged > 20


# --- direct clients change rows while tools commit: 500 changes here, 10,000 in `make torture` ---


@pytest.mark.parametrize("kind", DATABASES)
def test_no_row_of_a_direct_client_is_ever_lost(kind, tmp_path):
    adopted = 0
    for turn in range(MOST_TURNS):
        folder = tmp_path / str(turn)
        folder.mkdir()
        ended = race(kind.name, folder, WRITES)
        assert (ended.lost, ended.dropped, ended.wrong) == ([], [], [])
        assert ended.made > 0.6 * WRITES
        assert ended.commits > 10
        assert {"insert", "append", "replace", "move", "delete"} <= set(ended.ways)
        assert set(ended.refused) <= REFUSALS
        adopted += ended.adopted
        if adopted > 10:
            return
    pytest.fail(f"{MOST_TURNS} races met {adopted} external changes")


def test_what_nobody_has_any_more_is_lost():
    texts = [b"tool-0-000001\n", b"client-1-000002 client-1-000003"]
    made = ["client-1-000002", "client-1-000003", "client-2-000001", "client-2-000002"]
    assert lost(made, ["client-2-000001"], texts) == ["client-2-000002"]
