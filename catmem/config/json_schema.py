"""Validation by the JSON schemas in ``schemas/``, with the place of each fault and words that a person can act on.

jsonschema finds the faults. What it says of them speaks of "additionalProperties" and "instances", so each is said
again here. A schema's ``description`` and ``examples`` serve as the hint for a value of the wrong form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.clock import read_date
from catmem.config.yamlfile import KeyPath, YamlFile, key_text
from catmem.names import slugify
from catmem.resources import digest_of, recall, remember, schema, schema_text
from catmem.text import plural

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_SHOWN = 60
_FEW = 15
_COMPARED = 100
_LOOKS_LIKE = 0.6

_KINDS = {
    "object": "a mapping of keys to values",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}


class SchemaFault(NamedTuple):
    """One value that does not fit its schema."""

    key: KeyPath
    message: str
    hint: str | None = None


def validate(data: Any, schema_name: str) -> list[SchemaFault]:  # noqa: ANN401 - any JSON value
    """Every fault of ``data`` by the schema of that name, sorted by its key."""
    return sorted(faults_by(schema_text(schema_name), data), key=lambda fault: key_text(fault.key) or "")


def check_file(file: YamlFile, schema_name: str) -> dict[str, Any]:
    """What a file says that fits a schema. Raises ``ConfigError`` (``schema``) for the first fault by line."""
    data = {} if file.data is None else file.data
    # A file that has no fault is remembered, and not validated again.
    digest = digest_of(data, schema_text(schema_name))
    if recall(digest) is None:
        if faults := validate(data, schema_name):
            first = min(faults, key=lambda fault: file.place(fault.key) or ())
            more = f" (and {len(faults) - 1} more in this file)" if len(faults) > 1 else ""
            raise file.fault(first.key, first.message + more, first.hint)
        remember(digest)
    found: dict[str, Any] = data
    return found


def tag_faults(
    tags: Mapping[str, str | list[str]], extra_schema: Mapping[str, Mapping[str, Any]] | None = None
) -> list[tuple[str, str]]:
    """``(tag, message)`` for each value that does not fit the schema of its tag; an undeclared tag fits with any."""
    declared = extra_schema or {}
    given = {tag: value for tag, value in tags.items() if tag in declared or not _is_plain(tag, value)}
    if not given:
        return []
    extra = json.dumps(declared, sort_keys=True)
    return [(tag, message) for tag in given for message in _faults_of_tag(extra, json.dumps({tag: given[tag]}))]


def _is_plain(tag: str, value: object) -> bool:
    """Whether a tag that no root declared has a value as nearly all have, for which jsonschema need not be loaded."""
    items: list[Any] = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, str) for item in items):
        return False
    if tag == "domain":
        return all(len(item) <= _COMPARED and is_slug(item) for item in items)
    if tag in _DATES or tag == "source":
        return isinstance(value, str) and (tag == "source" or is_date(value))
    return tag not in known_tags({})


# The entries of a root share most of their dates and domains.
@lru_cache(maxsize=4096)
def _faults_of_tag(extra_json: str, tag_json: str) -> tuple[str, ...]:
    """What is wrong with one tag: the schema says of each what its value may be, and nothing of several."""
    declared = known_tags(json.loads(extra_json))
    faults = faults_by(json.dumps({**schema("tags"), "properties": declared}), json.loads(tag_json))
    return tuple(dict.fromkeys(fault.message for fault in faults))


def faults_by(contents: str, data: Any) -> list[SchemaFault]:  # noqa: ANN401 - any JSON value
    """Each fault of ``data`` by a schema, which is given as JSON text: one in which `schema_fault` finds nothing."""
    return list(dict.fromkeys(_faults(_validator(contents), data)))


def schema_fault(contents: Any) -> tuple[KeyPath, str] | None:  # noqa: ANN401 - any JSON value
    """``(key, message)`` of what makes ``contents`` no JSON Schema that can be used; ``None`` if it can be."""
    from jsonschema import Draft202012Validator

    faults = faults_by(json.dumps(Draft202012Validator.META_SCHEMA), contents)
    return faults[0][:2] if faults else next(_unusable(contents), None)


def nearest(name: str, known: Iterable[str], like: float = _LOOKS_LIKE) -> str | None:
    """The one of ``known`` that ``name`` is most likely a slip of, if any is like it (by a difflib ratio)."""
    import difflib

    if len(name) > _COMPARED:
        return None
    # Of those that are alike, one with the same letters comes first: two of them were swapped.
    near = difflib.get_close_matches(name, sorted(known), cutoff=like)
    return min(near, key=lambda each: sorted(each) != sorted(name), default=None)


def suggestion(name: str, known: Iterable[str], what: str) -> str:
    """A hint for an unknown ``name``: the nearest of ``known``, or all if they are few (``what``: "profiles")."""
    names = sorted(known)
    if (near := nearest(name, names)) is not None:
        return f"Did you mean {near!r}?"
    if not names:
        return f"There are no {what}."
    if len(names) <= _FEW:
        return f"The {what} are {', '.join(names)}."
    return f"There are {len(names)} {what}, none of them like it."


def shown(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """A value for a message: printable and short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list) or value is None:
        return _KINDS[_kind(value)]
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# --- validators ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=128)
def _validator(schema_json: str) -> Validator:
    from jsonschema import Draft202012Validator, FormatChecker, ValidationError
    from jsonschema.validators import extend

    checker = FormatChecker(formats=())
    for name, fits in _FORMATS.items():
        checker.checks(name)(lambda value, fits=fits: not isinstance(value, str) or fits(value))

    def pattern(_: Validator, wanted: str, value: object, where: Mapping[str, Any]) -> Iterator[ValidationError]:
        # A text that is too long is not tried. A final $ is the end of the text; in Python also before a final newline.
        if not isinstance(value, str) or len(value) > where.get("maxLength", len(value)):
            return
        if not re.search(re.sub(r"\$\Z", r"\\Z", wanted), value):
            yield ValidationError(f"{value!r} does not match {wanted!r}")

    kind = extend(Draft202012Validator, {"pattern": pattern})  # type: ignore[no-untyped-call]
    validator: Validator = kind(json.loads(schema_json), format_checker=checker)
    return validator


def _unusable(contents: Any) -> Iterator[tuple[KeyPath, str]]:  # noqa: ANN401 - any JSON value
    """What leads out of a schema, may never end or is no pattern, with its key."""
    waiting: list[tuple[KeyPath, Any]] = [((), contents)]
    while waiting:
        key, value = waiting.pop()
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, part in inside:
            waiting.append(((*key, name), part))
            if name == "patternProperties" or (name in {"$ref", "$dynamicRef"} and isinstance(part, str)):
                yield (*key, name), f"{name} cannot be used; write out what is meant"
            if name == "pattern" and isinstance(part, str) and (wrong := _pattern_fault(part)):
                yield (*key, name), f"{shown(part)} {wrong}"


def is_date(text: str) -> bool:
    """Whether ``text`` is a day that exists, as ``YYYY-MM-DD``."""
    return read_date(text) is not None


def is_slug(text: str) -> bool:
    """Whether ``text`` is the slug of some title, which is then its own slug."""
    return bool(text) and slugify(text) == text


_DATES = ("verified_date", "created", "expires")
_FORMATS: dict[str, Callable[[str], bool]] = {"date": is_date, "slug": is_slug}


# --- what is wrong, in plain words ----------------------------------------------------------------------------------


def _faults(validator: Validator, data: Any) -> Iterator[SchemaFault]:  # noqa: ANN401 - any JSON value
    errors = [_best(error) for error in validator.iter_errors(data)]
    wrong_kind = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    for error in errors:
        # What is a list where text belongs is also none of the allowed texts; saying so too would not help.
        if error.validator == "type" or tuple(error.absolute_path) not in wrong_kind:
            yield from _worded(error)


def _best(error: ValidationError) -> ValidationError:
    """Of a value that fits none of several forms, the error of the form that it comes nearest to, else of the first."""
    from jsonschema.exceptions import best_match

    best = best_match([error]) or error
    while best.context:  # it comes as near to each
        best = best.context[0]
    return best


def _worded(error: ValidationError) -> Iterator[SchemaFault]:
    key: KeyPath = tuple(error.absolute_path)
    value: Any = error.instance
    wanted: Any = error.validator_value
    rule = str(error.validator)
    where = error.schema if isinstance(error.schema, dict) else {}
    if rule == "additionalProperties":
        known = {each: said if isinstance(said, dict) else {} for each, said in where.get("properties", {}).items()}
        for name in value:
            if name not in known:
                outer = next((each for each in known if name in known[each].get("properties", ())), None)
                hint = f"It belongs below {outer}: write {outer}: {{{name}: …}}." if outer else where.get("x-hint")
                hint = hint or suggestion(name, known, "known keys")
                yield SchemaFault((*key, name), f"the key {shown(name)} is not known here", hint)
        return
    if rule in {"required", "dependentRequired"}:
        if rule == "dependentRequired":
            wanted = [name for given, names in wanted.items() if given in value for name in names]
        missing = [name for name in wanted if name not in value]
        verb = plural(len(missing), "is", "are")
        yield SchemaFault(
            key, f"the {plural(len(missing), 'key')} {', '.join(missing)} {verb} missing", "Add what is missing."
        )
        return
    if "propertyNames" in error.absolute_schema_path:
        key = (*key, value)
    if rule == "type" and not key:
        # The file may be anything at all, reached by a link: what stands in it is not shown.
        message = f"the file must be {_KINDS[str(wanted)]}, and is {_KINDS[_kind(value)]}"
        yield SchemaFault(key, message, _hint(rule, value, wanted, where))
        return
    form = _FORMS.get(rule)
    message = form(value, wanted) if form else f"{shown(value)} does not fit: {rule} is not met"
    yield SchemaFault(key, message, _hint(rule, value, wanted, where))


def _hint(rule: str, value: Any, wanted: Any, where: Mapping[str, Any]) -> str | None:  # noqa: ANN401 - any JSON value
    """What to write instead; ``where`` is the part of the schema that was not met."""
    if rule == "enum" and isinstance(value, str):
        near = nearest(value, (one for one in wanted if isinstance(one, str)))
        if near is not None:
            return f"Did you mean {near!r}?"
    if rule == "format" and wanted == "slug" and slugify(value):
        return f"Write {slugify(value)!r}."
    if rule == "type" and wanted == "string" and isinstance(value, bool | int | float):
        return "Put it in quotes to make it text."
    if rule == "type" and wanted == "object" and isinstance(value, str):
        return "Write it as keys with values, 'key: value'; a blank has to follow the colon."
    of_objects = where.get("items", {}).get("type") == "object"  # of which a text is none
    if rule == "type" and wanted == "array" and isinstance(value, str) and not of_objects:
        return f"Write it as a list: [{shown(value)[1:-1]}]."
    examples = ", ".join(str(example) for example in where.get("examples", ()) if isinstance(example, str | int))
    about = where.get("description")
    parts = (f"What it is: {about}" if about else None, f"For example: {examples}" if examples else None)
    return " ".join(part for part in parts if part) or None


def _kind(value: object) -> str:
    # bool before int, since it is one in Python
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (dict, "object"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def _what_it_is(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return f"the text {shown(value)}"
    return shown(value)


_FORMAT_WORDS = {"date": "a day of the form YYYY-MM-DD", "slug": "a slug (small letters, digits and '-')"}
_FORMS: dict[str, Callable[[Any, Any], str]] = {
    "type": lambda value, wanted: (
        f"must be {' or '.join(_KINDS[name] for name in ([wanted] if isinstance(wanted, str) else wanted))}, "
        f"and is {_what_it_is(value)}"
    ),
    "enum": lambda value, wanted: (
        f"must be one of {', '.join(str(one) for one in wanted)}, and is {_what_it_is(value)}"
    ),
    "const": lambda value, wanted: f"must be {shown(wanted)}, and is {_what_it_is(value)}",
    "pattern": lambda value, _: f"{shown(value)} does not have the right form",
    "format": lambda value, wanted: f"{shown(value)} is not {_FORMAT_WORDS[wanted]}",
    "minimum": lambda value, wanted: f"must be at least {wanted}, and is {shown(value)}",
    "maximum": lambda value, wanted: f"must be at most {wanted}, and is {shown(value)}",
    "minLength": lambda _, wanted: f"must have at least {wanted} characters" if wanted > 1 else "must not be empty",
    "maxLength": lambda value, wanted: f"must have at most {wanted} characters, and has {len(value)}",
    "minItems": lambda value, wanted: f"must have at least {wanted} items, and has {len(value)}",
    "maxItems": lambda value, wanted: f"must have at most {wanted} items, and has {len(value)}",
    "uniqueItems": lambda _, __: "must not hold the same item twice",
    "anyOf": lambda value, _: f"{_what_it_is(value)} does not fit",
}


SLIPS = {
    "verified": "verified_date",
    "last_verified": "verified_date",
    "date_verified": "verified_date",
    "verified_on": "verified_date",
    "created_date": "created",
    "created_on": "created",
    "expiry": "expires",
    "expires_date": "expires",
    "expires_on": "expires",
    "domains": "domain",
    "source_date": "source",
}
"""Names that are used in the place of a tag and are not like it."""


def known_tags(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Every tag of the format, and those that a root has ``declared``, with their schemas."""
    return {**schema("tags")["properties"], **declared}


def meant_tag(name: str, known: Collection[str]) -> str | None:
    """The known tag of which ``name``, which is none, is most likely a slip; ``None`` if it is like no other."""
    return SLIPS.get(name) or nearest(name, known)


_SURELY = 0.88
"""How like a tag of the format a name is that is refused in its place (a difflib ratio)."""


def slip_of_format(name: str) -> str | None:
    """The tag of the format of which ``name``, which no root declares, is surely a slip, if it is one."""
    tags = known_tags({})
    return None if name in tags else SLIPS.get(name) or nearest(name, tags, _SURELY)


_LONGEST_PATTERN = 100


def _pattern_fault(pattern: str) -> str | None:
    if len(pattern) > _LONGEST_PATTERN:
        return f"is longer than {_LONGEST_PATTERN} characters"
    try:
        re.compile(pattern)
    except (re.error, OverflowError) as error:
        return f"is no regular expression: {error}"
    return None
