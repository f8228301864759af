"""Seeding from the page: the files that a person chose, each as it was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from catmem.names import FILE_NAMES
from catmem.server.errors import ServerError
from catmem.server.page.settling.seed_form import FIELD, SIDES, Seeds, seed_page
from catmem.server.page.writing import Did, bad_form
from catmem.service.seeding.applying import apply_shown

if TYPE_CHECKING:
    from catmem.server.page.reading import Page
    from catmem.server.page.refused import Refusal
    from catmem.server.page.writing import Sent


def apply(sent: Sent) -> Did | Page:
    """Seed the files that were chosen. What would be something else by now is shown again; the others are done."""
    asked = _asked(sent)
    chosen = {name.removeprefix(FIELD): digest for name, digest in sent.fields.items() if name.startswith(FIELD)}
    if not chosen:
        raise ServerError(
            422, "no file is chosen", code="nothing_chosen", hint="Nothing was written. Tick the files to be seeded."
        )
    known = {f"{name}/{target}": name for name in asked.targets for target in FILE_NAMES}
    if not chosen.keys() <= known.keys():
        raise bad_form("the form chooses a file that was not on its page")
    targets = dict.fromkeys(known[entity] for entity in chosen)
    plan = sent.workspace.plan_seed(asked.source, list(targets), resolve=asked.resolve)
    result = apply_shown(sent.workspace, plan, chosen)
    if result.refused:
        return seed_page(asked, result=result)
    written = [(each.plan.target, each.revision) for each in result.files if each.revision is not None]
    entity, revision = written[0] if written else (next(iter(chosen)), None)
    return Did(urlsplit(sent.back).path, entity, revision, written[1:])


def again(sent: Sent, refusal: Refusal) -> Page:
    """What a seed would change by now."""
    return seed_page(_asked(sent), refusal)


def _asked(sent: Sent) -> Seeds:
    side = next((each for each in SIDES if each == sent.get("resolve")), None)
    return Seeds(sent.workspace, sent.get("source"), sent.get("only") or None, side)
