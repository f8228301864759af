"""A quick yes: whether a value surely fits a JSON Schema.

It knows the rules that the schemas in ``schemas/`` are made of. Nearly every file fits, and jsonschema, which is slow
to load, is asked only about what does not surely fit.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from catmem.clock import read_date
from catmem.names import slugify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


def surely_fits(value: Any, schema: Mapping[str, Any] | Literal[True, False]) -> bool:  # noqa: ANN401 - any JSON value
    """Whether ``value`` fits by rules that are all known here; what is not known, such as ``$ref``, gives ``False``."""
    if isinstance(schema, bool):
        return schema
    return all(
        rule in _SAYS_NOTHING or _RULES.get(rule, _unknown)(value, said, schema) for rule, said in schema.items()
    )


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern of a schema is found in a text."""
    # In JSON Schema a final $ is the end of the text; in Python it also stands before a final newline.
    return re.search(re.sub(r"\$\Z", r"\\Z", pattern), text) is not None


def is_date(text: str) -> bool:
    """Whether ``text`` is a day that exists, as ``YYYY-MM-DD``."""
    return read_date(text) is not None


def is_slug(text: str) -> bool:
    """Whether ``text`` is the slug of some title, which is then its own slug."""
    return bool(text) and slugify(text) == text


FORMATS: dict[str, Callable[[str], bool]] = {"date": is_date, "slug": is_slug}
"""What the formats that the schemas name ask of a text."""

# `if` alone refuses nothing; what stands in `then` is asked of every value here.
_SAYS_NOTHING = frozenset(
    ("$schema", "$id", "$defs", "title", "description", "default", "examples", "x-set-by-writes", "if")
)


def _unknown(*_: object) -> bool:
    return False


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    return type(one) is type(other) and isinstance(one, str | int | bool) and bool(one == other)


def _additional(value: Any, said: Any, schema: Mapping[str, Any]) -> bool:  # noqa: ANN401 - any JSON value
    known = schema.get("properties", ())
    return not isinstance(value, dict) or all(surely_fits(value[name], said) for name in value if name not in known)


# A rule is asked of values of other kinds too, and lets them pass, as JSON Schema has it.
_RULES: dict[str, Callable[[Any, Any, Mapping[str, Any]], bool]] = {
    "type": lambda value, said, _: isinstance(said, str) and type(value) is _TYPES.get(said),
    "enum": lambda value, said, _: any(_same(value, each) for each in said),
    "const": lambda value, said, _: _same(value, said),
    "pattern": lambda value, said, _: not isinstance(value, str) or matches(said, value),
    "format": lambda value, said, _: said in FORMATS and (not isinstance(value, str) or FORMATS[said](value)),
    "minLength": lambda value, said, _: not isinstance(value, str) or len(value) >= said,
    "maxLength": lambda value, said, _: not isinstance(value, str) or len(value) <= said,
    "minItems": lambda value, said, _: not isinstance(value, list) or len(value) >= said,
    "maxItems": lambda value, said, _: not isinstance(value, list) or len(value) <= said,
    "minimum": lambda value, said, _: not isinstance(value, int | float) or value >= said,
    "maximum": lambda value, said, _: not isinstance(value, int | float) or value <= said,
    "required": lambda value, said, _: not isinstance(value, dict) or all(name in value for name in said),
    "properties": lambda value, said, _: (
        not isinstance(value, dict)
        or all(surely_fits(each, said[name]) for name, each in value.items() if name in said)
    ),
    "additionalProperties": _additional,
    "propertyNames": lambda value, said, _: (
        not isinstance(value, dict) or all(surely_fits(name, said) for name in value)
    ),
    "items": lambda value, said, _: not isinstance(value, list) or all(surely_fits(each, said) for each in value),
    "anyOf": lambda value, said, _: any(surely_fits(value, each) for each in said),
    "then": lambda value, said, _: surely_fits(value, said),
}
