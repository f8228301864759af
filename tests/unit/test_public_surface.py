"""The names that `import catmem` offers, and the tree of errors. Members and signatures stand in docs/api.md."""

import subprocess
import sys

import pytest

import catmem
from catmem import errors
from tests.together import together

ERRORS = {
    "CatmemError": "Exception",
    "UnreadableError": "CatmemError",
    "NotUtf8Error": "UnreadableError",
    "TooLargeError": "UnreadableError",
    "ConfigError": "CatmemError",
    "UnknownNameError": "ConfigError",
    "EditError": "CatmemError",
    "NoMatchError": "EditError",
    "AmbiguousError": "EditError",
    "OverBudgetError": "EditError",
    "EnvelopeError": "CatmemError",
    "QueryError": "CatmemError",
    "ForbiddenError": "CatmemError",
    "RefusedError": "CatmemError",
    "StaleError": "RefusedError",
    "DriftError": "RefusedError",
    "BusyError": "RefusedError",
    "MergeConflictError": "RefusedError",
    "OperationCollisionError": "RefusedError",
    "ProposalError": "RefusedError",
    "UnknownRevisionError": "CatmemError",
    "StoreError": "CatmemError",
    "DamagedError": "StoreError",
}
OF_ONE_FEATURE = {
    "ChangedMeanwhileError": "RefusedError",
    "ApprovalError": "ForbiddenError",
    "WouldOverwriteError": "CatmemError",
    "RequestError": "CatmemError",
}
"""Errors of one command each; they stand in `catmem.errors` alone."""
NAMES = {
    *("Conflict", "Diagnostic", "Document", "Entry", "Envelope", "Merge", "Operation", "Problem", "Profile", "Prompt"),
    *("Section", "Tags", "Workspace", "Written", "__version__", *ERRORS),
    *("build_prompt", "lint", "load_profile", "memory_tool", "merge", "parse"),
}


def test_the_names():
    assert sorted(catmem.__all__) == sorted(NAMES)


@together("name", sorted(NAMES))
def test_every_name_is_there(name):
    assert getattr(catmem, name) is getattr(catmem, name)
    assert name in dir(catmem)


def test_another_name_is_not_there():
    with pytest.raises(AttributeError, match="prase"):
        catmem.prase  # noqa: B018 - asking is the test


def test_what_a_workspace_holds():
    held = {name for name in dir(catmem.Workspace) if not callable(getattr(catmem.Workspace, name))}
    assert {name for name in held if not name.startswith("_")} == {"config", "root", "store", "unlogged"}


def test_the_tree_of_errors():
    raised = {
        name: value for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)
    }
    assert {name: value.__base__.__name__ for name, value in raised.items()} == ERRORS | OF_ONE_FEATURE
    assert all(getattr(catmem, name) is raised[name] for name in ERRORS)


def test_the_docstring_example_holds():
    run = subprocess.run(
        [sys.executable, "-m", "doctest", catmem.__file__], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
    assert ">>>" in (catmem.__doc__ or "")
