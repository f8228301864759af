"""The whole content of a declared entity, from an envelope or from a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from catmem.config.access import writes_entity
from catmem.config.config import DeclaredEntity
from catmem.config.json_schema import shown
from catmem.digest import bytes_digest, content_digest
from catmem.entities.contents import content_bytes, merge_contents, plain_content
from catmem.envelopes.document_editor import (
    AGAIN,
    ALIKE,
    head_of,
    little_in_common,
    second_of_a_number,
    stale_before_drift,
)
from catmem.errors import (
    CatmemError,
    DriftError,
    EditError,
    ForbiddenError,
    RefusedError,
    StaleError,
    UnknownNameError,
    UnreadableError,
)
from catmem.model.pairing import jaccard, words_of
from catmem.store.contract import EXTERNAL, Current
from catmem.workspace.history import declared_of
from catmem.writing.editor import Editor
from catmem.writing.matching import checked_expected
from catmem.writing.terms import check_threats
from catmem.writing.write import WriteAttempt


class ContentEditor(Editor):
    """A text, or any JSON value, that takes the place of the content that is there."""

    def __init__(self, attempt: WriteAttempt) -> None:
        super().__init__(attempt)
        self.declared = self._declared()
        self.content = attempt.asked.content
        if attempt.envelope is None:
            self.content = plain_content(self.declared, self.content)

    def _declared(self) -> DeclaredEntity:
        a = self.attempt
        if a.envelope is None:
            return declared_of(a.workspace, a.entity, a.acting)
        try:
            return declared_of(a.workspace, a.entity, a.acting)
        except UnknownNameError as error:
            message = f"{a.agent} may not write to {shown(a.entity)}"
            raise ForbiddenError(message, hint=error.hint) from None

    def check(self) -> None:
        a = self.attempt
        if a.envelope is None:
            a.expected = checked_expected(a.asked.expected)
            if a.expected is None:
                raise EditError(
                    "nothing says what this content is made on",
                    code="bad_expected",
                    hint="Give expected: 0 for the first.",
                )
        a.begin_session()
        if not writes_entity(self.declared, a.acting):
            raise ForbiddenError(f"{a.agent} may not write to {shown(a.entity)}", hint="It may only read it.")
        self.data = content_bytes(self.declared, self.content)
        texts = list(_texts(self.content))
        check_threats(texts, a.workspace.config, to_agent=a.acting is not None, allow_secret=a.asked.confirm)

    def plan(self) -> None:
        self._refuse_unseen()
        self.attempt.before = self.text(self.attempt.current.data)

    def alert(self) -> None:
        a = self.attempt
        asked = ALIKE if a.envelope is not None and a.envelope.alert else 0
        least = max(asked, a.workspace.config.semantic_alert)
        if least and not (a.asked.confirm or a.alerted):
            old, new = (words_of(text.decode(errors="replace")) for text in (a.current.data, self.data))
            alike = jaccard(old, new)
            if old and alike < least:
                a.alert(little_in_common(alike, least))

    def check_content(self) -> None:
        self.attempt.data = self._merged(self.attempt.current)

    def _merged(self, current: Current) -> bytes:
        """What others changed since the writer's view is brought together with the content, or refused."""
        if current.base is None or current.base == current.data:
            return self.data
        try:
            merged = merge_contents(self.declared, current.base, current.data, self.data)
        except UnreadableError as error:
            raise DriftError(error.message, hint=AGAIN) from error
        if merged.conflicts:
            raise DriftError(f"{self.declared.name} was changed where this write would change it", hint=AGAIN)
        return merged.data

    def _refuse_unseen(self) -> None:
        """Refuse to write over what another program wrote, and an agent was not shown."""
        name, session, current = self.declared.name, self.attempt.asked.session, self.attempt.current
        head = self.attempt.workspace.store.head(name)
        if session is None or head is None or head.agent != EXTERNAL or head.revision != current.revision:
            return
        if not session.knows_content(name, head.digest):
            raise DriftError(
                f"another program wrote {name}, and you were not shown that",
                hint="Nothing was written. Read it as it is now, and bring over what is missing.",
            )

    def refusal(self, error: CatmemError) -> CatmemError:
        a = self.attempt
        if isinstance(error, StaleError | DriftError):
            return self._what_comes_before(error) or error
        if isinstance(error, RefusedError):
            error.found = error.found or head_of(a.workspace, a.entity)
        return error

    def _what_comes_before(self, error: StaleError | DriftError) -> RefusedError | None:
        if self.attempt.envelope is None:
            return None
        first = second_of_a_number(self.attempt)
        if first is None and isinstance(error, DriftError):
            return stale_before_drift(self.attempt, error)
        return first

    def request(self) -> str:
        a = self.attempt
        return content_digest([a.entity, a.actor, bytes_digest(self.data)])


def _texts(content: Any, keys: tuple[str, ...] = ()) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Every text in a content, the keys of objects too, and each value behind the ``keys`` that say what it is."""
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield name
            yield from _texts(value, (*keys, name))
    elif isinstance(content, list):
        for value in content:
            yield from _texts(value, keys)
    elif content is not None:
        yield str(content)
        yield from (f"{key}: {content}" for key in keys)
