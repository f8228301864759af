"""What external writers write: into the file, into its place during a swap, or late into a file that is out already.

Whatever it is, it becomes a revision of its own first, so that it has a history. Then, where the visible file does not
hold it, the two are joined by the merge that the store was given, as a revision with two parents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from catmem.digest import bytes_digest
from catmem.errors import BusyError, CatmemError
from catmem.store.contract import EXTERNAL, MergeFunction
from catmem.store.files.observed_file import (
    TICK,
    WATCHED,
    ObservedFile,
    Superseded,
    is_damage,
    is_settled,
    look_at,
    read_if_whole,
    retired_name,
    superseded,
)
from catmem.store.files.publication import ExternalVersion, Publication, replaced_revision, state_of
from catmem.store.files.records import Record, RecordDraft, Retired
from catmem.store.files.system import opened, read_file, store_errors

if TYPE_CHECKING:
    import os

    from catmem.store.files.folder import Folder

_MOST_QUIET = 1024
"""Of so many files at most is known that no program wrote to them; then all are looked at anew."""

MERGE_WITH = "merge_with"
"""In the note of an external writer's record: the revision that it is still to be merged with."""

STILL_TO_MERGE = "still_to_merge"
"""In the note of what was found in the file before such a merge was made: the revision that waits for it."""


AFTER_STOP = "after_stop"
"""In the note of what a stop of the machine may have cut: it is a revision, and the file stays as it is."""


class ExternalWriters:
    """The external writers of one file in a locked folder."""

    def __init__(self, publication: Publication, merge: MergeFunction) -> None:
        """``merge`` joins two versions."""
        self.publication = publication
        self.folder: Folder = publication.folder
        self.name: str = publication.name
        self.journal = self.folder.writable_journal
        self.merge = merge
        self._joining = False
        self._states: dict[tuple[int, str], str] = {}
        """The revisions of files that came out and are written to still, by their sequence and their digest."""

    # --- bytes that are in the file -----------------------------------------------------------------------------

    def adopt(self, sight: ObservedFile, visible: Record | None, waiting: Record | None = None) -> Record | None:
        """Record what ``sight`` saw if it is not ``visible``, the revision that was put in place last.

        ``waiting`` is to be merged with it next. Returns the record of the visible bytes; ``None`` for a file that is
        not there and never was.
        """
        if sight.data == self._data(visible):
            return visible
        note = {} if waiting is None else {STILL_TO_MERGE: waiting.revision}
        return self._append("adopt", sight.data, visible.revision if visible else "0", note=note)

    def _data(self, record: Record | None) -> bytes:
        """The bytes of a record; those of the newest are at hand."""
        if record is None:
            return b""
        newest = self.journal.head(self.name)
        if newest is not None and newest.sequence == record.sequence:
            return self.journal.head_data(self.name)
        return self.journal.data(record)

    def _append(  # noqa: PLR0913 - the fields of a record
        self,
        op: str,
        data: bytes,
        parent: str,
        *,
        late_of: int | None = None,
        state: Retired | None = None,
        note: Mapping[str, str | int] | None = None,
    ) -> Record:
        draft = RecordDraft(
            file=self.name,
            op=op,
            agent=EXTERNAL,
            revision=self.next_revision(),
            parents=() if parent == "0" else (parent,),
            op_id=self.folder.system.token(),
            note=note or {},
            retired=state,
            late_of=late_of,
            publishes=False,
        )
        return self._recorded(draft, data)

    def _recorded(self, draft: RecordDraft, data: bytes) -> Record:
        with store_errors(self.folder.file_path(self.name)):
            return self.journal.append(draft, data)

    def next_revision(self) -> str:
        """The id of the revision after the head."""
        head = self.journal.head(self.name)
        return str(head.number + 1) if head else "1"

    # --- bytes that are not in the file -------------------------------------------------------------------------

    def adopt_change(self, external: ExternalVersion, visible: Record) -> Record:
        """Record an external writer's bytes and join them with the visible file, whose revision was ``visible``."""
        theirs = self._append(
            external.op,
            external.data,
            self._states.get((external.sequence, external.was.digest), external.parent),
            late_of=external.sequence if external.state else None,
            state=external.state,
            note={MERGE_WITH: visible.revision} | ({AFTER_STOP: 1} if external.doubtful else {}),
        )
        if external.state:
            self._states[external.sequence, external.state.digest] = theirs.revision
            if external.state.digest != external.was.digest:
                self._rename_retired(external.sequence, external.was, external.state)
        return self.join(theirs, visible)

    def adopt_late_writes(self, *, of_all: bool = False) -> Iterator[Record]:
        """Take in what ``late`` finds, in all files or in those that a write looks at; gives the head before each."""
        if len(self.folder.quiet) > _MOST_QUIET:
            self.folder.quiet.clear()
        files = superseded(self.name, self.journal.records() if of_all else self.journal.latest(WATCHED))
        for done, external in enumerate(list(self.late(files, read_all=of_all))):
            if done and not of_all and self.folder.out_of_patience():
                raise self._busy("Nothing of this write was recorded. The next one goes on with what they wrote.")
            head = self.journal.head(self.name)
            if head is not None:
                self.adopt_change(external, head)
                yield head

    def adopt_over(self, sight: ObservedFile, base: Record | None, recorded: Record) -> Record:
        """Record bytes that stand in the file where ``recorded`` should, and were made from ``base``; join the two."""
        parent = base.revision if base else "0"
        theirs = self._append("adopt", sight.data, parent, note={MERGE_WITH: recorded.revision})
        return self.join(theirs, recorded)

    def join(self, theirs: Record, visible: Record) -> Record:
        """Merge the recorded bytes of ``theirs`` into the visible file, and return the record of the result.

        External writers may go on writing meanwhile: what they do is adopted and merged too, for as long as there is
        patience. Raises ``BusyError``; the next write goes on with it then.
        """
        nested, self._joining = self._joining, True
        try:
            return self._joined(theirs, visible, try_once=not nested)
        finally:
            self._joining = nested

    def _joined(self, theirs: Record, visible: Record, *, try_once: bool) -> Record:
        data = self.journal.data(theirs)
        base = self.data_of(theirs.parents[0]) if theirs.parents else b""
        while try_once or not self.folder.out_of_patience():
            try_once = False
            with closing(look_at(self.folder, self.name, self._data(visible))) as sight:
                if sight.data == data:
                    # A write that was recorded never got into place, and they wrote over what it was to replace.
                    now, other, ours = theirs, visible, self.journal.data(visible)
                else:
                    now, other, ours = self.adopt(sight, visible, theirs) or visible, theirs, sight.data
                merged, note = self._merged(theirs, now, base, ours, data)
                draft = RecordDraft(
                    file=self.name,
                    op="merge",
                    agent="catmem",
                    revision=self.next_revision(),
                    parents=(now.revision, other.revision),
                    op_id=self.folder.system.token(),
                    note=note,
                )
                if merged == sight.data:
                    return self._recorded(replace(draft, publishes=False), merged)
                published = self.publication.put(sight, merged, draft)
            if published is not None:
                return self.adopt_all(published.external, published.record)
            if now is not theirs:
                visible = now
        raise self._busy("What they wrote is in the journal. Try again when they are done.")

    def _busy(self, hint: str) -> BusyError:
        return BusyError("another program keeps writing to this file", path=self.folder.file_path(self.name), hint=hint)

    def adopt_all(self, external: tuple[ExternalVersion, ...], visible: Record) -> Record:
        """Take in one after the other; returns the record of what is visible at the end."""
        for each in external:
            visible = self.adopt_change(each, visible)
        return visible

    def _merged(
        self, theirs: Record, now: Record, base: bytes, ours: bytes, data: bytes
    ) -> tuple[bytes, dict[str, int | str]]:
        """The joined bytes. Where they cannot be merged the newer text stays.

        That is theirs, unless they wrote to an old file, or another external writer has written to the file since.
        """
        if AFTER_STOP in theirs.note:
            return ours, {"late_not_merged": AFTER_STOP}
        try:
            merged, conflicts = self.merge(self.name, base, ours, data)
        except CatmemError as error:
            reason = error.code
        else:
            return merged, {"conflicts": conflicts} if conflicts else {}
        if theirs.op == "late" or (now is not theirs and now.agent == EXTERNAL and ours):
            return ours, {"late_not_merged": reason}
        return data, {"not_merged": reason}

    def data_of(self, revision: str) -> bytes:
        """The bytes of a revision; none for one that the journal does not have."""
        record = self.journal.find(self.name, revision)
        return self.journal.data(record) if record else b""

    def origin(self, record: Record, data: bytes) -> str:
        """The revision that ``data``, found after a stop, was made from: what ``record`` put in place, or replaced.

        It is the one that ``data`` begins with, the longer of the two. The new file may still have its temporary name
        after a stop, so what lies there did not always come out of the file's place.
        """
        replaced, new = replaced_revision(record), self.journal.data(record)
        if not new or not data.startswith(new):
            return replaced
        old = self.data_of(replaced)
        return replaced if len(old) > len(new) and data.startswith(old) else record.revision

    # --- files that are out already -----------------------------------------------------------------------------

    def late(self, files: Sequence[Superseded], *, read_all: bool = False) -> Iterator[ExternalVersion]:
        """What was written into files that are out of their place, the oldest first; ``read_all`` trusts no time."""
        # Many files and nearly always nothing new, before every write: so this loop is plain.
        system, gen = self.folder.system, self.folder.gen
        look, quiet = system.look, self.folder.quiet
        newest = max((each.sequence for each in files), default=0)
        for each in files:
            record, state = each.record, each.state
            try:
                status = look(each.name, folder=gen)
            except FileNotFoundError:
                if each.was is None and record.late_of is None:
                    yield from self.unrecorded(record)
                    continue
                if each.was is None or not self._rename_retired(each.sequence, each.was, state):
                    continue  # reaped
                status = look(each.name, folder=gen)
            if status.st_ctime_ns == quiet.get(each.name) and not read_all:
                continue
            same = status.st_size == state.size and status.st_mtime_ns == state.mtime_ns
            # A program can set the size and the time of a file back; its ctime shows that it was there.
            if not same or read_all or each.name in quiet or each.sequence == newest or not _was_still(status):
                yield from self._changed(each, status)
            elif is_settled(system, status):
                quiet[each.name] = status.st_ctime_ns

    def _changed(self, each: Superseded, status: os.stat_result) -> Iterator[ExternalVersion]:
        """What is in a file that is out of its place, if that is no longer its state of which the journal tells."""
        record, state = each.record, each.state
        parent = replaced_revision(record) if record.late_of is None else record.revision
        data = self._read_late(each.name, status, state.digest, parent)
        if data is None:
            return
        trust = self.trust(record, data[1], parent)
        if trust == "none":
            self.folder.put_aside(each.name)
        else:
            doubtful = trust == "doubtful"
            yield ExternalVersion("late", data[1], parent, each.sequence, state_of(*data), state, doubtful=doubtful)

    def trust(self, record: Record, data: bytes, parent: str) -> Literal["whole", "doubtful", "none"]:
        """How far ``data``, found beside the file's place and made from ``parent``, is what an external writer wrote.

        ``record`` is the last that knew of it. If the machine was started since, no program has it open. It may hold
        the front of a recorded text alone, which is no new text. It may go on behind ``parent``, which is new text.
        Anything else may be what the disk left of a text: it goes into the history, and changes no file.
        """
        if record.boot == self.folder.system.boot():
            return "whole"
        base = self.data_of(parent)
        texts = (base, self.journal.data(record), self.data_of(replaced_revision(record)))
        if any(is_damage(data, text, missing=False) for text in texts):
            return "none"
        return "whole" if data.startswith(base) else "doubtful"

    def unrecorded(self, record: Record) -> Iterator[ExternalVersion]:
        """What came out at the publication of ``record``, and lies in ``gen/`` under a name that no record has.

        The process was stopped before it recorded it, or a program was in the middle of writing it.
        """
        system, gen = self.folder.system, self.folder.gen
        known = "" if record.retired is None else record.retired.digest
        if record.retired is not None:
            with suppress(FileNotFoundError):
                system.look(retired_name(record.sequence, record.retired), folder=gen)
                return
        prefix = f"{record.sequence:012d}-"
        for name in system.names(gen):
            if not name.startswith(prefix):
                continue
            data = self._read_late(name, system.look(name, folder=gen), known, replaced_revision(record))
            if data is None:
                continue
            state = state_of(*data)
            was = state._replace(digest=f"sha256:{name.removeprefix(prefix)}")
            parent = self.origin(record, data[1])
            trust = self.trust(record, data[1], parent)
            changed = state.digest != was.digest  # the name tells the digest of what it was
            if trust == "none" and changed:
                self.folder.put_aside(name)
            elif trust != "none" and not is_damage(data[1], self.journal.data(record), missing=False):
                doubtful = changed and trust == "doubtful"
                yield ExternalVersion("adopt", data[1], parent, record.sequence, state, was, doubtful=doubtful)

    def _read_late(
        self, name: str, status: os.stat_result, known: str, revision: str
    ) -> tuple[os.stat_result, bytes] | None:
        """State and bytes of a file in ``gen/``; ``None`` if their digest is ``known``, that of a ``revision``.

        ``None`` too while a program is rewriting it: a later write finds what it makes of it.
        """
        system, gen = self.folder.system, self.folder.gen
        data = read_file(system, name, gen)
        if bytes_digest(data) == known:
            if is_settled(system, status):
                self.folder.quiet[name] = status.st_ctime_ns
            return None
        if data.startswith(self.data_of(revision)):
            return status, data
        with opened(system, name, gen) as descriptor:
            whole = read_if_whole(system, descriptor, leases=self.folder.features.leases)
        return None if whole is None or bytes_digest(whole[1]) == known else whole

    def _rename_retired(self, sequence: int, was: Retired, now: Retired) -> bool:
        """Name a file in ``gen/`` by its new state; ``False`` if it is not there under its old one."""
        gen = self.folder.gen
        try:
            self.folder.system.rename(
                retired_name(sequence, was), retired_name(sequence, now), old_folder=gen, new_folder=gen
            )
        except FileNotFoundError:
            return False
        return True


def _was_still(status: os.stat_result) -> bool:
    """Whether a write after the file was taken out shows in its time: being taken out set the other one."""
    return status.st_ctime_ns - status.st_mtime_ns > TICK
