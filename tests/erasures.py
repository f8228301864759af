"""What is to be erased, for stores of which all bytes are treated alike."""

from catmem.store.contract import Erasure


def erasure_of(redact):
    return Erasure(redact, lambda each: redact(each.data) != each.data, lambda note, _: note)
