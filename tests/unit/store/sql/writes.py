"""Short ways to write to an entity of a store on a database, and to read it."""

from catmem.model.document import parse
from catmem.store.contract import Change

USER = "trinity/user"


def put(store, data, expected=None, **change):
    return store.commit(USER, expected, lambda _: data, Change(**change))


def add(store, line=b"## A\nx\n", **change):
    return store.commit(USER, None, lambda current: current.data + line, Change(**change))


def bodies(store):
    return [entry.body for entry in parse(store.read(USER).data).entries]
