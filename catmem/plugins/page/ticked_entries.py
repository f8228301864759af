"""What a person does with several entries of a file: all that are ticked, in one revision or not at all.

Each is answered as its own button would answer it. Where one of them changed meanwhile, nothing is written, and the
page shows what became of each: those that are as they were stay ticked.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from catmem import clock
from catmem.plugins.page.entries_page import EntryDraft, choices, entry_meant, seen_document
from catmem.plugins.page.formats import with_query
from catmem.plugins.page.page_view import Page, of_entity
from catmem.plugins.page.refusal import fates, seen_text
from catmem.plugins.page.writing import Action, Again, Did, done, nothing_ticked, put
from catmem.staleness.due import expiring, keeping, removing
from catmem.writing.operation import Operation

if TYPE_CHECKING:
    from catmem.model.document import Entry
    from catmem.plugins.page.refusal import Fate, FormRefusal
    from catmem.plugins.page.writing import Sent

TICK = "tick-"
"""How the names of the boxes begin; behind it stands what differs, and the value is ``ID CATEGORY``."""

SAYS = {"verify": "Verify", "expire": "Expire", "move": "Move", "remove": "Remove"}
"""What can be done with ticked entries, and what the button says."""


class Tick(NamedTuple):
    """A ticked entry, as it was shown or as it is ``now``; ``fate`` is ``None`` where nothing changed it."""

    entry: Entry
    fate: Fate | None = None

    @property
    def stays(self) -> bool:
        """Whether it is still ticked: what another writer changed has to be looked at first."""
        return self.fate in {None, "same"}


def action(name: str) -> Action:
    """What makes the write of one of the buttons: ``verify``, ``expire``, ``move`` or ``remove``.

    Raises ``RequestError`` 422 where nothing is ticked.
    """
    return partial(_answer, name)


def again(name: str) -> Again:
    """What shows the same form again that was refused: with the entries as they are now."""
    return partial(_refused, name)


def _answer(name: str, sent: Sent) -> Did | Page:
    entries = _ticked(sent)
    if not entries:
        raise nothing_ticked()
    if name == "move" and "category" not in sent.fields:
        return _page(name, sent, [Tick(each) for each in entries])
    made = [operation for each in entries if (operation := _operation(name, sent, each)) is not None]
    back = with_query(sent.back, entry=None)
    return done(sent, put(sent, [each.to_dict() for each in made]), back) if made else Did(back)


def _operation(name: str, sent: Sent, entry: Entry) -> Operation | None:
    """What the answer does to one entry; ``None`` for what is so already."""
    if name == "move":
        to = EntryDraft.sent(sent.fields).goes_to
        is_there = not to or to == entry.category
        return None if is_there else Operation("move", old_text=entry.id, category=entry.category, to_category=to)
    today = clock.today()
    if name == "remove":
        return removing(entry).operation
    return (keeping if name == "verify" else expiring)(entry, today).operation


def _ticked(sent: Sent) -> list[Entry]:
    """The entries as they were shown, in the order of the page. Raises as ``seen_document`` and ``entry_meant`` do."""
    named = [value.partition(" ") for field, value in sent.fields.items() if field.startswith(TICK)]
    if not named:
        return []
    document = seen_document(sent)
    return [entry_meant(document, entry_id, where) for entry_id, _, where in named]


def _refused(name: str, sent: Sent, refusal: FormRefusal) -> Page:
    entries = _ticked(sent)
    ticks = [Tick(each) for each in entries]
    gone: list[Entry] = []
    if refusal.since is not None:
        workspace = sent.workspace
        seen, now = seen_text(workspace, sent.named, sent.expected), workspace.store.read(sent.named).data
        became = list(zip(entries, fates(workspace, seen, now, [each.id for each in entries]), strict=True))
        ticks = [Tick(now, fate) for _, (fate, now) in became if now is not None]
        gone = [was for was, (_, now) in became if now is None]
    return _page(name, sent, ticks, gone, refusal)


def _page(
    name: str, sent: Sent, ticks: list[Tick], gone: list[Entry] | tuple[()] = (), refusal: FormRefusal | None = None
) -> Page:
    """The ticked entries, with a button that does what was asked; for a move, also where to."""
    workspace, draft = sent.workspace, EntryDraft.sent(sent.fields)
    document = workspace.parse(workspace.store.read(sent.named).data)
    context = {
        **of_entity(sent.named),
        "sent": sent,
        "says": SAYS[name],
        "ticks": ticks,
        "gone": gone,
        "refusal": refusal,
        "base": sent.expected if refusal is None else refusal.expected,
        "op_id": sent.get("op_id") if refusal is None else refusal.op_id,
        "draft": draft,
        "choices": choices(workspace, sent.named, document, draft) if name == "move" else None,
    }
    return Page("ticked.html", context)
