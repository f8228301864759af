"""A merge of bytes, for stores of the file store that know nothing of their content."""

from catmem.errors import EditError
from catmem.store.contract import Merged


def merge_appended(_file: str, base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """What one side only appended goes behind the other.

    Raises ``EditError`` (``no_merge``) for two changes neither of which is an append.
    """
    if theirs in (base, ours):
        return Merged(ours, 0)
    if ours == base:
        return Merged(theirs, 0)
    if ours.startswith(base) and theirs.startswith(base):
        shorter, longer = sorted((ours, theirs), key=len)
        # Who appended more may have begun with what the other one appended.
        return Merged(longer if longer.startswith(shorter) else ours + theirs[len(base) :], 0)
    if theirs.startswith(base):
        return Merged(ours + theirs[len(base) :], 0)
    if ours.startswith(base):
        return Merged(theirs + ours[len(base) :], 0)
    raise EditError("both sides changed what was there", code="no_merge")
