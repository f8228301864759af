import inspect
import json
from pathlib import Path

import pytest

from catmem import errors
from catmem.errors import (
    CatmemError,
    DamagedError,
    OverBudgetError,
    StaleError,
    StoreError,
    catalogue,
)
from catmem.jsonable import jsonable

CLASSES = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, Exception)]


def test_each_class_has_a_code_of_its_own():
    assert len({one.code for one in CLASSES}) == len(CLASSES)  # type: ignore[attr-defined]
    assert {listed["exit"] for listed in catalogue().values()} == {1, 2, 3, 4}


def test_the_exit_status_of_a_code_is_not_that_of_its_class():
    assert (StoreError("x").exit_status, StoreError("x", code="bad_store").exit_status) == (4, 2)
    assert (DamagedError("x").exit_status, OverBudgetError("x", size=2, limit=1).exit_status) == (4, 1)


def test_an_error_of_a_plugin_has_the_statuses_of_what_it_is_a_kind_of():
    class PluginError(StaleError):
        code = "of_plugin"

    assert (PluginError("x").exit_status, PluginError("x").http_status) == (3, 409)


@pytest.mark.parametrize(
    ("places", "shown"),
    [
        ({}, "not right"),
        ({"path": "a.yaml"}, "a.yaml: not right"),
        ({"path": Path("a.yaml"), "line": 3, "column": 4}, "a.yaml:3:4: not right"),
        ({"path": "a.yaml", "line": 3, "key": "prompt.style"}, "a.yaml:3: prompt.style: not right"),
        ({"key": "name"}, "name: not right"),
        ({"hint": "Mend it.", "code": "other"}, "not right"),
    ],
)
def test_one_line_with_what_is_known(places, shown):
    error = CatmemError("not right", **places)
    assert str(error) == shown
    fields = jsonable(error)
    assert fields == {
        "code": "error",
        "message": "not right",
        **{name: str(value) if name == "path" else value for name, value in places.items()},
    }
    assert json.loads(json.dumps(fields)) == fields
