"""Marks: another one after each record and each change of rows, for whoever looks often."""

from __future__ import annotations

from catmem.store.contract import Change

USER, OTHER = "trinity/user", "neo/user"


def put(store, data, entity=USER, expected=None, **change):
    return store.commit(entity, expected, lambda _: data, Change(**change))


def test_a_write_a_branch_and_a_change_by_others_each_move_the_mark_of_their_entity(store, client):
    put(store, b"## A\none\n")
    put(store, b"## A\none\n", OTHER)
    found = [store.marks([])]
    put(store, b"## A\ntwo\n")
    found.append(store.marks([]))
    put(store, b"## A\nlate\n", expected="1", on_stale="branch")
    found.append(store.marks([]))
    client.run("UPDATE user_memories SET content = 'by hand' WHERE entity = 'trinity/user'")
    found.append(store.marks([]))
    assert len({marks[USER] for marks in found}) == 4
    assert len({marks[OTHER] for marks in found}) == 1


def test_what_only_reads_moves_none(store):
    put(store, b"## A\none\n")
    before = store.marks([])
    store.read(USER)
    store.verify()
    put(store, b"## A\none\n")  # it changes nothing
    assert store.marks([]) == before
