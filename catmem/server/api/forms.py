"""The forms of what the API takes and gives, as JSON Schemas by name: the components of its OpenAPI document.

An answer has the fields of its form and no others; where a field is missing from ``required`` it is for people alone,
unless it says otherwise.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, get_args

from catmem.envelopes.builder import FIELDS
from catmem.proposals.proposal import State
from catmem.resources import schema

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
YES: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}
TEXT_OR_NOT: Schema = {"type": ["string", "null"]}
ANYTHING: Schema = {"type": "object"}
DAY: Schema = {"type": "string", "format": "date"}
PROFILE: Schema = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}
ENTITY: Schema = {
    "type": "string",
    "maxLength": 100,
    "pattern": "^([a-z0-9][a-z0-9_-]{0,63}(/(user|memory))?|[a-z0-9][a-z0-9_-]*(:[a-z0-9][a-z0-9_-]*)+)$",
}
TARGET: Schema = {"type": "string", "enum": ["user", "memory"]}
REVISION: Schema = {"type": "string", "pattern": "^([0-9]{1,12}|[1-9][0-9]{0,11}[a-z]{1,8})$"}
CATEGORY: Schema = {"type": "string", "minLength": 1, "maxLength": 1024}
_TAGS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "array"], "items": TEXT}}


def part(name: str) -> Schema:
    """A reference to a form."""
    return {"$ref": f"#/components/schemas/{name}"}


def every(form: Schema) -> Schema:
    """A list of a form."""
    return {"type": "array", "items": form}


def table(said: str, needed: Schema, optional: Schema | None = None, *, closed: bool = True) -> Schema:
    """An object with these fields, and no others if it is ``closed``."""
    form: Schema = {"type": "object", "description": said, "properties": {**needed, **(optional or {})}}
    if needed:
        form["required"] = list(needed)
    return {**form, "additionalProperties": False} if closed else form


_USAGE = table(
    "The size of the file and its limit, in characters.", {"size": NUMBER, "limit": {"type": ["integer", "null"]}}
)
_ENTRY = {"category": TEXT, "body": TEXT, "tags": _TAGS, "id": TEXT}
_AT_HEAD = table(
    "What is at the head: the revision and its SHA-256. Of a memory file an agent gets no hash.",
    {"rev": NUMBER},
    {"hash": TEXT},
)
_REFUSED: Schema = {"code": TEXT, "message": TEXT}
_SEED_ROWS = every(ANYTHING)

ANSWERS: dict[str, Schema] = {
    "Head": table(
        "Where an entity is. An envelope gives mem_rev as its prev_rev; recorded is false after an external "
        "change.",
        {"entity_id": TEXT, "revision": REVISION, "mem_rev": NUMBER, "recorded": YES},
        {"agent_id": TEXT, "op": TEXT, "timestamp": TEXT, "digest": TEXT},
    ),
    "Entry": table(
        "One entry. threats are the rules for which a prompt withholds it; an agent gets a line instead of its text.",
        _ENTRY,
        {"threats": TEXTS, "state": {"enum": ["fresh", "stale", "expired", "unverified"]}, "date": TEXT_OR_NOT},
    ),
    "Read": table(
        "What the caller sees of an entity. revision is null for a text that no history has yet. advice is for an "
        "agent, where an entry is not fresh.",
        {"entity_id": TEXT, "revision": TEXT_OR_NOT},
        {
            "entries": every(part("Entry")), "total": NUMBER, "digest": TEXT, "text": TEXT, "advice": TEXT,
            "mem_rev": NUMBER, "content": {"description": "Of a declared entity: its text, or JSON value."},
        },
    ),
    "Revision": table(
        "One revision.",
        {"revision": REVISION, "parents": TEXTS, "timestamp": TEXT, "op": TEXT, "agent": TEXT, "op_id": TEXT},
        {"entity": TEXT, "sequence": NUMBER, "digest": TEXT, "size": NUMBER, "note": ANYTHING},
    ),
    "Log": table("Revisions, the newest first.", {"entity_id": TEXT, "revisions": every(part("Revision"))}),
    "Branch": table(
        "A branch that is not merged yet, and what a merge of it would do.",
        {
            "entity": TEXT, "revision": REVISION, "parents": TEXTS, "base": TEXT_OR_NOT, "agent": TEXT, "op": TEXT,
            "timestamp": TEXT, "entries": {"type": ["integer", "null"]}, "conflicts": {"type": ["integer", "null"]},
            "state": {"enum": ["merges", "conflicts", "nothing new", "unreadable"]},
        },
        {"person": TEXT_OR_NOT},
    ),
    "Branches": table(
        "Branches, those of one entity newest first. unreadable: what of the root could not be looked at.",
        {"branches": every(part("Branch"))},
        {"unreadable": every(ANYTHING)},
    ),
    "Prompt": table(
        "The prompt of a profile, its digest, and the role that envelopes of this profile name. advice is for an "
        "agent, where an entry is not fresh.",
        {"profile": TEXT, "text": TEXT, "digest": TEXT, "role_id": TEXT, "role_hash": TEXT, "warnings": TEXTS},
        {"manifest": ANYTHING, "advice": TEXT},
    ),
    "Lint": table(
        "What lint finds, as 'catmem lint --format json' prints it.",
        {
            "version": NUMBER, "files": NUMBER, "counts": ANYTHING, "statistics": ANYTHING,
            "diagnostics": every(ANYTHING), "errors": every(ANYTHING),
        },
    ),
    "NextSteps": table(
        "What is next, as 'catmem status --format json' prints it.",
        {
            "as_of": DAY,
            "next": every(table("A step.", {"kind": TEXT, "count": NUMBER, "what": TEXT, "command": TEXT})),
            "unreadable": every(ANYTHING),
        },
    ),
    "Written": table(
        "What a write did. repeated: this is the first answer to its op_id again. branch: it is kept beside the head. "
        "prompt: entries that the profile's prompt leaves out for it, over its budget. advice is for an agent, where "
        "an entry is not fresh. waiting is there with 202: the proposal as which the write waits, whose entries it "
        "would make.",
        {
            "entity_id": TEXT, "revision": TEXT_OR_NOT, "mem_rev": NUMBER, "changed": YES, "branch": YES,
            "repeated": YES, "entries": every(part("Entry")), "usage": _USAGE, "notes": TEXTS,
        },
        {"digest": TEXT, "warnings": TEXTS, "prompt": ANYTHING, "advice": TEXT, "waiting": TEXT},
    ),
    "Proposal": table(
        "A write that waits for a person, or waited. changes are its entries, each before, after and, if it is another "
        "one by now (stale), now; an agent gets null for what it may not see.",
        {
            "id": TEXT, "entity_id": TEXT, "agent": TEXT, "reason": TEXT_OR_NOT, "timestamp": TEXT, "until": DAY,
            "state": {"enum": [*get_args(State)]}, "changes": every(ANYTHING), "decision": {"type": ["object", "null"]},
        },
        {"person": TEXT_OR_NOT, "evidence": TEXTS, "base": REVISION, "revision": REVISION},
    ),
    "Proposals": table(
        "Proposals. unreadable: what of the root could not be looked at.",
        {"proposals": every(part("Proposal"))},
        {"unreadable": every(ANYTHING)},
    ),
    "Decided": table(
        "How a proposal was decided (verdict). changed: whether the file is another one. notes: for people, where the "
        "proposed words stand besides.",
        {"id": TEXT, "entity_id": TEXT, "verdict": TEXT, "revision": TEXT_OR_NOT, "changed": YES, "notes": TEXTS},
    ),
    "Merged": table(
        "What a merge did, or would do. Conflicts have no texts for an agent.",
        {
            "entity_id": TEXT, "revision": TEXT_OR_NOT, "changed": YES, "merged": TEXTS, "dropped": YES,
            "conflicts": every(ANYTHING), "settled": every(ANYTHING), "usage": _USAGE, "notes": TEXTS,
        },
        {"digest": TEXT, "warnings": TEXTS},
    ),
    "SeedPlan": table(
        "What a seed would do.",
        {
            "source": TEXT, "as_of": DAY, "in_sync": YES, "files": _SEED_ROWS, "refused": _SEED_ROWS, "notes": TEXTS,
            "unreadable": every(ANYTHING),
        },
    ),
    "Seeded": table(
        "What a seed did, file by file. An agent gets numbers and no texts.",
        {"source": TEXT, "files": _SEED_ROWS},
        {
            "refused": _SEED_ROWS, "notes": TEXTS, "success": YES, "action": {"const": "seed"}, "message": TEXT,
            "note": TEXT, "warnings": TEXTS, "files_left_out": NUMBER, "unreadable": every(ANYTHING),
        },
    ),
    "Status": table("The server works.", {"status": TEXT}),
    "Error": table(
        "A refusal. code is stable; hint says what to do. A write that was refused for what is there now has reason "
        "(the code), expected, found and head.",
        _REFUSED,
        {
            "hint": TEXT, "key": TEXT, "reason": TEXT, "remediation": TEXT, "expected": TEXT, "found": TEXT,
            "head": _AT_HEAD,
        },
        closed=False,
    ),
}  # fmt: skip

_PLAIN_FIELDS = {
    "entity_id": "What is written: PROFILE/user or PROFILE/memory (PROFILE alone means PROFILE/user), or an entity "
    "that catmem.yaml declares.",
    "content": "Operations, or the JSON form of a document, or a whole text, as in an envelope. Of an entity that "
    "catmem.yaml declares its text, or any JSON value.",
    "prev_rev": "The revision that it is made on. If-Match can say it too; one of the two has to.",
    "parents": "The same as prev_rev, in a list; behind it the revisions that the write merges, branches too.",
    "op_id": "A name of the writer's own for this write, the same in a retry. Idempotency-Key can say it too.",
    "alert": "Refuse the write once if the new text has little in common with the old one.",
}


_REASON: Schema = {**TEXT, "maxLength": 500, "description": "Why, for the history and for the person who decides."}


def taken() -> dict[str, Schema]:
    """The forms of bodies, with those that they refer to: the envelope is that of ``schemas/envelope.schema.json``."""
    envelope = {key: value for key, value in schema("envelope").items() if not key.startswith("$")}
    definitions = schema("envelope")["$defs"]
    forms = {"Envelope": envelope, **{f"Envelope_{name}": form for name, form in definitions.items()}}
    forms = {name: _led(form) for name, form in forms.items()}
    fields = forms["Envelope"]["properties"]
    plain = {name: {**fields[name], "description": _PLAIN_FIELDS[name]} for name in FIELDS}
    plain["entity_id"] |= ENTITY
    needed = {name: plain[name] for name in FIELDS[:2]}
    optional = {name: plain[name] for name in FIELDS[2:]} | {"reason": _REASON}
    return {
        **forms,
        "PlainWrite": table("A write whose envelope the server makes, for the caller.", needed, optional),
        "Write": {"anyOf": [part("Envelope"), part("PlainWrite")]},
        **BODIES,
    }


def _led(form: Any) -> Any:  # noqa: ANN401 - any part of a JSON Schema
    """The same with references that lead to components."""
    if isinstance(form, dict):
        return {
            key: value.replace("#/$defs/", "#/components/schemas/Envelope_") if key == "$ref" else _led(value)
            for key, value in form.items()
        }
    return [_led(each) for each in form] if isinstance(form, list) else form


BODIES: dict[str, Schema] = {
    "Merge": table(
        "Which branches are merged, and what becomes of conflicts.",
        {"entity_id": ENTITY},
        {
            "branches": {
                "type": "array", "items": {"type": "string", "pattern": "^[1-9][0-9]{0,11}[a-z]{1,8}$"},
                "maxItems": 100, "description": "All, if none is named.",
            },
            "precedence": {
                "anyOf": [
                    {"enum": ["ours", "theirs", "both"]},
                    {"type": "array", "items": PROFILE, "minItems": 1, "maxItems": 100},
                ],
                "description": "ours is the head, theirs the branch; or agents, the first before all others.",
            },
            "drop": {**YES, "description": "Close the branches, and take nothing from them."},
            "dry_run": {**YES, "description": "Write nothing, and tell what would be."},
        },
    ),
    "Approve": table(
        "How.", {}, {"words": {**TEXT, "description": "Other words for the one entry that the proposal makes."}}
    ),
    "Reject": table("How.", {}, {"reason": {**_REASON, "description": "Why, for the proposer."}}),
    "Seed": table(
        "Whose slices go to whom.",
        {"source": PROFILE},
        {
            "targets": {
                "type": "array", "items": PROFILE, "minItems": 1, "maxItems": 1000,
                "description": "By default all that name the source in seed_from, but those of tier 3.",
            },
            "target": {**TARGET, "description": "Keep to one of the files."},
            "categories": {
                "type": "array", "items": CATEGORY, "minItems": 1, "maxItems": 100,
                "description": "Only these; entries of other categories are neither copied nor removed.",
            },
            "category": {**CATEGORY, "description": "The same for one category."},
            "resolve": {"type": "string", "enum": ["target", "source"], "description": "Settle conflicts."},
            "fit": {**YES, "description": "Leave out what would put a file over its limit."},
        },
    ),
}  # fmt: skip


@cache
def body_schema(form: str) -> str:
    """The form of a body that refers to no other, as JSON text."""
    return json.dumps(BODIES[form])
