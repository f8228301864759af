"""What `import catmem` offers is frozen here: a change of the surface is a change of this page."""

import inspect
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
CALLS = {
    "parse": "(data, declared=None, *, aliases=None, limits)",
    "load_profile": "(path, *, profiles_dir=None, config=None)",
    "build_prompt": "(documents, profile, *, as_of, config=None, style=None, counter, missing, warnings)",
    "lint": "(document, *, config=None, as_of=None)",
    "merge": "(base, ours, theirs, *, precedence=None)",
    "memory_tool": "(workspace, profile, arguments, *, session=None)",
    "Workspace.open": "(folder='.', *, search=True, store=None)",
    "Workspace.add": "(self, name, content, *, category=None, tags=None, as_of=None, **how)",
    "Workspace.replace": "(self, name, old_text, content, *, category=None, tags=None, **how)",
    "Workspace.remove": "(self, name, old_text, *, category=None, **how)",
    "Workspace.move": "(self, name, old_text, to_category, *, category=None, **how)",
    "Workspace.verify": "(self, name, old_text, *, category=None, as_of=None, evidence=None, **how)",
    "Workspace.write": "(self, name, operations, **how)",
    "Workspace.submit": "(self, envelope, *, confirm=False, sender=None, on_stale=None)",
    "Workspace.envelope": "(self, name, content, *, target='user', **how)",
    "Workspace.blame": "(self, entity)",
    "Workspace.undo": "(self, entity=None, **how)",
    "Workspace.branches": "(self, entity=None)",
    "Workspace.merge": "(self, entity, branches, **how)",
    "Workspace.merge_all": "(self, *, precedence=None, actor=None, dry_run=False)",
    "Workspace.read": "(self, name, target='user')",
    "Workspace.list": "(self, name, *, target=None, category=None, as_of=None)",
    "Workspace.search": "(self, name, query, **narrowing)",
    "Workspace.plan_seed": "(self, source, targets=None, **how)",
    "Workspace.apply_seed": "(self, plan, *, on_drift=None)",
    "Workspace.parse": "(self, data)",
    "Workspace.prompt": "(self, name, *, source=None, categories, budget=None, as_of=None, style=None, counter)",
    "Workspace.view": "(self, name, target, *, source=None)",
}
MEMBERS = {
    "Envelope": {
        "agent_id", "alert", "canonical", "content", "entity_id", "is_signed_by", "key_id", "mem_hash", "mem_rev", "merges",
        "names_parents", "op_id", "parents", "prev_rev", "request", "role_hash", "role_id", "signature", "signed", "timestamp",
    },
    "Document": {
        "by_category", "digest", "entries", "entries_between", "form", "limits",
        "line", "line_index", "newline", "problems", "sections", "spans", "text",
        "title", "to_bytes",
    },
    "Entry": {
        "body", "category", "count", "end", "html", "id", "index", "raw", "repeated_tags", "start",
        "tag_limit", "tags", "text", "typed_tags",
    },
    "Section": {"category", "end", "header_end", "start", "title"},
    "Problem": {"end", "message", "rule", "start"},
    "Prompt": {"digest", "gaps", "manifest", "text", "warnings"},
    "Merge": {"conflicts", "text"},
    "Diagnostic": {
        "code", "column", "end", "fingerprint", "fix", "hint", "line", "message", "name", "path", "region",
        "related", "severity", "sort_key", "start", "with_copies",
    },
    "Conflict": {"base", "ours", "reason", "theirs"},
    "Workspace": {
        "add", "anew", "apply_seed", "approve", "blame", "branches", "bytes_of", "config", "content", "envelope", "list", "merge", "merge_all", "missing_files", "move", "open", "parse", "path", "path_of", "plan_seed", "problems", "profile", "proposal", "proposals",
        "profiles", "prompt", "put", "read", "reject", "remove", "replace", "root", "search", "store", "submit", "survey", "undo", "unlogged", "verify", "view", "warnings", "write",
    },
    "Operation": {
        "action", "as_of", "category", "check", "confirm", "content", "evidence", "expected", "old_text", "tags", "to_category",
    },
    "Written": {
        "adopted", "after", "before", "bounded", "branch", "changed", "digest", "entity", "entries", "notes",
        "repeated", "revision", "usage", "waiting", "warnings",
    },
}  # fmt: skip
NAMES = {"Profile", "Tags", "__version__", "build_prompt", "lint", "load_profile", "memory_tool", "merge", "parse"}
NAMES |= set(MEMBERS) | set(ERRORS)


def test_the_names():
    assert sorted(catmem.__all__) == sorted(NAMES)


@together("name", sorted(NAMES))
def test_every_name_is_there(name):
    assert getattr(catmem, name) is getattr(catmem, name)
    assert name in dir(catmem)


def test_another_name_is_not_there():
    with pytest.raises(AttributeError, match="prase"):
        catmem.prase  # noqa: B018 - asking is the test


@together("name", CALLS)
def test_the_signatures(name):
    target: object = catmem
    for part in name.split("."):
        target = inspect.getattr_static(target, part) if part == "open" else getattr(target, part)
    function = target.__func__ if isinstance(target, classmethod) else target
    assert shape(function).replace("(cls, ", "(") == CALLS[name]


def shape(function) -> str:
    """A signature without types, and without defaults that are not plain values."""
    parameters = inspect.signature(function).parameters.values()
    plain = str | int | bool | None
    return str(
        inspect.Signature(
            [
                parameter.replace(
                    annotation=inspect.Parameter.empty,
                    default=parameter.default if isinstance(parameter.default, plain) else inspect.Parameter.empty,
                )
                for parameter in parameters
            ]
        )
    )


@together("name", MEMBERS)
def test_the_members(name):
    assert {member for member in dir(getattr(catmem, name)) if not member.startswith("_")} == MEMBERS[name]


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
