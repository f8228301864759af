"""The reference in docs/api.md, made from the docstrings of what `catmem.__all__` offers and of what these return.

The text of the page before the reference stays.
"""

import inspect
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

import catmem
from catmem.config.access import View
from catmem.envelopes.papers import Sending
from catmem.merging.merging import MergePlan
from catmem.search.search import Narrowing, SearchHit
from catmem.seeding.plan import SeedPlan
from catmem.workspace.profile_memory import Reading
from catmem.writing.request import How
from tests.docs.pages import ROOT, made_anew

PAGE = ROOT / "docs" / "api.md"
BEGIN = "<!-- From here on made from the docstrings by `make docs`. -->\n"
RETURNED: tuple[Any, ...] = (Reading, View, SearchHit, SeedPlan, MergePlan)
KEYWORDS: tuple[Any, ...] = (How, Narrowing, Sending)


def page() -> str:
    """The whole page, with the reference made anew."""
    return made_anew(PAGE, BEGIN, reference())


def reference() -> str:
    """Functions, the methods of a Workspace, the types that go in and out, and the errors."""
    offered = {name: getattr(catmem, name) for name in catmem.__all__ if name != "__version__"}
    types = [value for value in offered.values() if isinstance(value, type)]
    errors = [value for value in types if issubclass(value, catmem.CatmemError)]
    records = [value for value in types if value not in errors and value is not catmem.Workspace]
    parts = [
        "## Functions\n",
        *(_callable(name, value) for name, value in offered.items() if inspect.isfunction(value)),
    ]
    parts += ["## Workspace\n", f"{_said(catmem.Workspace)}\n"]
    methods = inspect.getmembers(catmem.Workspace, callable)
    parts += [_callable(name, value) for name, value in methods if not name.startswith("_")]
    parts += [_keywords(value) for value in KEYWORDS]
    parts += ["## Types that you give and get\n", *map(_record, records)]
    parts += ["## Types that calls return\n", *map(_record, RETURNED)]
    parts += [
        "## Errors\n",
        f"{', '.join(f'`{each.__name__}`' for each in errors)}: [each with its codes](errors.md).\n",
    ]
    return "\n".join(parts)


def _callable(name: str, value: Callable[..., Any]) -> str:
    """A function: how to call it, its first paragraph, and what it raises."""
    return f"### `{name}{_signature(value)}`\n\n{_said(value)}{_raised(value)}\n"


def _signature(value: Callable[..., Any]) -> str:
    signature = inspect.signature(value)
    given = [each for each in signature.parameters.values() if each.name != "self"]
    plain = [each.replace(annotation=inspect.Parameter.empty, default=_default(each.default)) for each in given]
    return str(inspect.Signature(plain)).replace("=Ellipsis", "=…")


def _default(value: Any) -> Any:
    is_short = value is inspect.Parameter.empty or isinstance(value, str | int | bool | tuple | None)
    return value if is_short else ...


def _record(value: Any) -> str:
    """A type: its first paragraph, its fields, and its methods."""
    kinds = [kind for kind in reversed(value.__mro__) if kind.__module__.startswith("catmem")]
    fields = [name for kind in kinds for name in vars(kind).get("__annotations__", {}) if not name.startswith("_")]
    own = {name: each for kind in kinds for name, each in vars(kind).items() if not name.startswith("_")}
    computed = [name for name, each in own.items() if isinstance(each, property | cached_property)]
    methods = [name for name, each in own.items() if inspect.isfunction(each)]
    lines = [f"### `{value.__name__}`\n", f"{_said(value)}\n"]
    if fields or computed:
        lines.append(f"Fields: {', '.join(f'`{name}`' for name in dict.fromkeys([*fields, *computed]))}.\n")
    if methods:
        lines.append(f"Methods: {', '.join(f'`{name}{_signature(own[name])}`' for name in methods)}.\n")
    return "\n".join(lines)


def _keywords(value: Any) -> str:
    said = " ".join((inspect.getdoc(value) or "").split())
    return f"### Keywords of `{value.__name__}`\n\n{said.replace('``', '`')}\n"


def _said(value: Any) -> str:
    """The first paragraph of a docstring, without what it raises."""
    first = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return re.sub(r"\s*Raises .*", "", first).replace("``", "`")


def _raised(value: Any) -> str:
    text = " ".join((inspect.getdoc(value) or "").split())
    found = re.search(r"Raises .*?\.(?=\s|$)", text)
    return f" {found[0]}".replace("``", "`") if found else ""
