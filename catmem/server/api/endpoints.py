"""Every path of the API, in the order of its OpenAPI document."""

from __future__ import annotations

from catmem.server.api import answers
from catmem.server.api.endpoint import Endpoint, Parameter
from catmem.server.api.forms import CATEGORY, DAY, ENTITY, PROFILE, REVISION, TARGET

_ENTITY = Parameter(
    "entity_id", "The entity: PROFILE/user or PROFILE/memory; PROFILE alone is PROFILE/user.", ENTITY, required=True
)
_AS_OF = Parameter("as_of", "The day that states are told for, YYYY-MM-DD; today by default.", DAY)
_LIMIT = Parameter("limit", "How many at most.", {"type": "integer", "minimum": 1, "maximum": 100_000})
_OFFSET = Parameter("offset", "How many to pass over.", {"type": "integer", "minimum": 0, "maximum": 10_000_000})
_NEWEST = Parameter("limit", "How many at most; 100 by default.", {"type": "integer", "minimum": 1, "maximum": 10_000})
_STYLE = Parameter("style", "Instead of the profile's own.", {"type": "string", "enum": ["markdown", "xml", "hermes"]})
_TARGET = Parameter("target", "Keep to one of the files: user or memory.", TARGET)

IF_MATCH = Parameter(
    "If-Match",
    "The ETag of what the write is made on: it says the same as prev_rev.",
    {"type": "string"},
    place="header",
)
RETRY = Parameter("Idempotency-Key", "The same as op_id.", {"type": "string"}, place="header")
IF_NONE_MATCH = Parameter(
    "If-None-Match", "The ETag of what the caller has: if it is still the answer, it is not sent again (304).",
    {"type": "string"}, place="header",
)  # fmt: skip

_SEED_STATUSES = {"seed_target": 422, "bad_category": 422, "unknown_category": 422}
_READS = (404,)
_WRITES = (400, 409, 413, 415, 422)

EVENTS = (
    Parameter(
        "entity_id",
        "Only these, with commas between; PROFILE/user@REVISION begins with an event if it is at another one by now.",
        {"type": "string", "maxLength": 65_536},
    ),
    Parameter(
        "Last-Event-ID", "The id that a stream began with: the caller comes back, and is told that it missed events.",
        {"type": "string"}, place="header",
    ),
)  # fmt: skip
"""What the stream of events takes (``server.sse``)."""

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", "/mem/head", "head", "Which revision an entity is at",
        "What to give as prev_rev. recorded says whether the text is still that of the revision.",
        answers.head, "Head", (_ENTITY,), refusals=_READS,
    ),
    Endpoint(
        "POST", "/mem/write", "write", "Make a write",
        "An envelope, or a plain write of which the server makes one. Written as one revision, or refused: 409 with "
        "reason and head for what is there now (412 where If-Match says what it is made on). A retry under the same "
        "op_id gets the first answer again.",
        answers.write, "Written",
        (Parameter("confirm", "Write what alert would refuse.", {"type": "boolean"}),),
        body="Write", refusals=(*_WRITES, 404, 412, 428), statuses={"unknown_revision": 409},
    ),
    Endpoint(
        "GET", "/mem/read", "read", "Read the entries of an entity",
        "The entries that the caller sees, in file order, each with its state.",
        answers.read, "Read",
        (
            _ENTITY,
            Parameter("category", "Only entries of this category.", {"type": "string", "maxLength": 1024}),
            Parameter("revision", "An old revision: for a person and a profile of tier 1.", REVISION),
            _OFFSET, _LIMIT, _AS_OF,
        ),
        refusals=_READS,
    ),
    Endpoint(
        "GET", "/mem/log", "log", "List revisions",
        "The newest first. A bounded profile is told of those that it wrote.",
        answers.log, "Log",
        (_ENTITY, _NEWEST),
        refusals=_READS,
    ),
    Endpoint(
        "GET", "/mem/branches", "branches", "List branches that are not merged",
        "Of an entity, or of all. For a person and a profile of tier 1.",
        answers.branches, "Branches", (Parameter("entity_id", "Of this entity only.", ENTITY),), refusals=_READS,
    ),
    Endpoint(
        "POST", "/mem/merge", "merge", "Merge branches into the head",
        "For a person and a profile of tier 1. A conflict that nothing decides is a 409, and nothing is written.",
        answers.merge, "Merged", body="Merge", refusals=(*_WRITES, 404), statuses={"unknown_agent": 422},
    ),
    Endpoint(
        "GET", "/prompt/{profile}", "prompt", "The prompt of a profile",
        "As text, or, where the caller accepts JSON alone, with its digest and the role of the profile. A profile is "
        "given its own.",
        answers.prompt, "Prompt",
        (
            Parameter("profile", "Whose prompt.", PROFILE, required=True, place="path"),
            _STYLE,
            _AS_OF,
        ),
        as_text=True, refusals=_READS,
    ),
    Endpoint(
        "GET", "/seed", "seed_plan", "What a seed would do",
        "Entry by entry; nothing is written. For a person.",
        answers.seed_plan, "SeedPlan",
        (
            Parameter("source", "Whose files are copied from.", PROFILE, required=True),
            Parameter("targets", "Who gets a slice, separated by commas.", {"type": "string", "maxLength": 65_536}),
            _TARGET,
            Parameter(
                "categories", "Only these categories, separated by commas.", {"type": "string", "maxLength": 65_536}
            ),
            Parameter("category", "Only this category.", CATEGORY),
            _AS_OF,
        ),
        refusals=(400, 404, 422), statuses=_SEED_STATUSES,
    ),
    Endpoint(
        "POST", "/seed", "seed", "Seed other profiles",
        "For a person and, from its own files, a profile of tier 1. Files that were refused make it a 409; the others "
        "are seeded.",
        answers.seed, "Seeded", body="Seed", refusals=(*_WRITES, 404), statuses=_SEED_STATUSES,
    ),
    Endpoint(
        "GET", "/lint", "lint", "What lint finds in the root",
        "For a person.", answers.lint, "Lint", (_AS_OF,),
    ),
)  # fmt: skip
