"""Clients of a database are killed at random moments, and so is the server: no acknowledged write is lost."""

import pytest

from tests.race.kills import kill_writers
from tests.sql.server_kills import kill_server
from tests.store.stores import kinds

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
