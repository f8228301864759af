"""The whole content of a declared entity, from an envelope or from a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from catmem.config.access import writes_entity
from catmem.config.config import DeclaredEntity
from catmem.config.json_schema import shown
from catmem.digest import bytes_digest, content_digest
from catmem.entities.contents import content_bytes, merge_contents, plain_content
from catmem.errors import (
    CatmemError,
    DriftError,
    EditError,
    EnvelopeError,
    ForbiddenError,
    RefusedError,
    UnknownNameError,
    UnreadableError,
)
from catmem.store.contract import EXTERNAL
from catmem.workspace.history import declared_of
from catmem.writing.drift_guard import READ_FIRST
from catmem.writing.entry_write import AGAIN, Write
from catmem.writing.policy import check_threats
from catmem.writing.request import checked_expected


class ContentWrite(Write):
    """A text, or any JSON value, that takes the place of the content that is there."""

    wanted: bytes
    """The content as the entity keeps it."""

    def _declared(self) -> DeclaredEntity:
        try:
            return declared_of(self.workspace, self.entity, self.acting)
        except UnknownNameError as error:
            if self.envelope is None:
                raise
            message = f"{self.agent} may not write to {shown(self.entity)}"
            raise ForbiddenError(message, hint=error.hint) from None

    def check(self) -> None:
        self.declared, content = self._declared(), self.asked.content
        untaken = next((name for name in ("reason", "target") if getattr(self.asked, name)), None)
        if untaken is not None:
            raise EnvelopeError(f"{self.entity} takes no {untaken}", key=untaken, hint="Leave it out.")
        if self.envelope is None:
            content = plain_content(self.declared, content)
            self.expected = checked_expected(self.asked.expected)
            if self.expected is None:
                raise EditError(
                    "nothing says what this content is made on",
                    code="bad_expected",
                    hint="Give expected: 0 for the first.",
                )
        if not writes_entity(self.declared, self.acting):
            raise ForbiddenError(f"{self.agent} may not write to {shown(self.entity)}", hint="It may only read it.")
        self.wanted = content_bytes(self.declared, content)
        texts = list(_texts(content))
        check_threats(texts, self.workspace.config, to_agent=self.acting is not None, allow_secret=self.asked.confirm)

    def make(self) -> None:
        self._refuse_unseen()
        current = self.current
        self.before = current.data.decode(errors="replace")
        self.reworded = [(self.before, self.wanted.decode(errors="replace"))]
        self.data = self.wanted
        if current.base is None or current.base == current.data:
            return
        try:  # what others changed since the writer's view is brought together with it
            merged = merge_contents(self.declared, current.base, current.data, self.wanted)
        except UnreadableError as error:
            raise DriftError(error.message, hint=AGAIN) from error
        if merged.conflicts:
            raise DriftError(f"{self.declared.name} was changed where this write would change it", hint=AGAIN)
        self.data = merged.data

    def _refuse_unseen(self) -> None:
        """Refuse to write over what another program wrote, and an agent was not shown: since it knew the content."""
        name, session = self.declared.name, self.asked.session
        if session is None or self.current.base is not None:  # what came between is merged, or a conflict
            return
        for revision in self.workspace.store.log(name):
            if revision.is_branch:
                continue
            if session.knows_content(name, revision.digest):
                return
            if revision.agent == EXTERNAL and revision.parents:
                raise DriftError(f"another program wrote {name}, and you were not shown that", hint=READ_FIRST)

    def refusal(self, error: CatmemError) -> CatmemError:
        if isinstance(error, RefusedError):
            error.found = error.found or self.head
        return error

    def request(self) -> str:
        return content_digest([self.entity, self.actor, bytes_digest(self.wanted)])


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
