"""What the four actions of Hermes's store make of a list of entries; nothing is written here."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.hermes import store_answers as answers
from catmem.hermes.store_text import Draft
from catmem.model.version import Version
from catmem.text import unify_newlines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.hermes.store_answers import Answer
    from catmem.hermes.store_text import FileText


_TAKES = {"add": ("content",), "replace": ("old_text", "content"), "remove": ("old_text",)}


class Refusal(NamedTuple):
    """Why nothing is written. ``counted``: one of the failures that end a turn's tries."""

    answer: Answer
    counted: bool = True


def clean(text: str) -> str:
    """A text as it comes back from a file: stripped, its lines ending in LF."""
    return unify_newlines(text).strip()


def one_match(file: FileText, old_text: str, action: str) -> int | Refusal:
    """Which entry holds a text: the first of several that are the same."""
    matches = [place for place, entry in enumerate(file.entries) if old_text in entry]
    if not matches:
        return Refusal(answers.no_match(old_text, file.entries, action))
    texts = [file.entries[place] for place in matches]
    if len(set(texts)) > 1:
        return Refusal(answers.several_match(old_text, texts), counted=False)
    return matches[0]


def fields_of(operation: object) -> dict[str, Any]:
    """The fields of one operation of a batch; none for what is no object."""
    return operation if isinstance(operation, dict) else {}


def apply(draft: Draft, fields: Mapping[str, Any], number: int) -> str | None:
    """Make one change of a batch; says why not, if it cannot be made."""
    action = fields.get("action")
    content, old_text = clean(fields.get("content") or ""), clean(fields.get("old_text") or "")
    problem = _lacking(action, content, old_text) or _untaken(action, fields)
    if problem is None and action == "add":
        if content not in draft.texts:
            draft.add(content)
    elif problem is None:
        matches = [place for place, text in enumerate(draft.texts) if old_text in text]
        if not matches:
            problem = f"no entry matched '{old_text}'."
        elif len({draft.texts[place] for place in matches}) > 1:
            problem = f"'{old_text}' matched multiple distinct entries -- be more specific."
        elif action == "remove":
            draft.remove(matches[0])
        else:
            draft.replace(matches[0], content)
    return problem and f"Operation {number} ({action or 'unknown'}): {problem}"


def _untaken(action: object, fields: Mapping[str, Any]) -> str | None:
    """What an operation says and its action has no use for. A model may name a field and leave it empty."""
    takes = ("action", *_TAKES[str(action)])
    name = next((each for each, value in fields.items() if each not in takes and value), None)
    return name and f"{action} takes no {name!r}; it takes {', '.join(takes[1:])}."


def _lacking(action: object, content: str, old_text: str) -> str | None:
    """What an operation needs and has not got."""
    if action not in {"add", "replace", "remove"}:
        return "unknown action. Use add, replace, or remove."
    if action != "add" and not old_text:
        return "old_text is required."
    if action == "add" and not content:
        return "content is required."
    if action == "replace" and not content:
        return "content is required (use action='remove' to delete)."
    return None


def aligned(file: FileText, texts: Sequence[str]) -> Draft:
    """A draft with just these texts: what stays, stays itself, and a text in the place of another one replaces it."""
    draft = Draft([], [])
    for action, old, old_end, new, new_end in SequenceMatcher(None, file.entries, texts, autojunk=False).get_opcodes():
        origins = [*range(old, old_end), *([None] * (new_end - new))]
        for text, origin in zip(texts[new:new_end], origins, strict=False):
            draft.texts.append(text)
            draft.origins.append(origin)
            draft.fresh += [] if action == "equal" else [text]
    return draft


def said(file: FileText, draft: Draft) -> list[dict[str, str]]:
    """What a change does, for the record: actions, categories and the ids of the entries."""
    return [
        {"action": action, "category": category, "id": Version.read(category, text).id}
        for action, category, text in ((action, file.category(origin), text) for action, origin, text in draft.done)
    ]
