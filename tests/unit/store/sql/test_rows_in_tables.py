"""Which rows a commit writes: those that change, with room between the others."""

from catmem.store.contract import Change

USER = "trinity/user"


def text(*bodies):
    return ("## Rules\n" + "\n§\n".join(bodies) + "\n").encode()


def put(store, *bodies):
    return store.commit(USER, None, lambda _: text(*bodies), Change())


def rows(client):
    return client.run("SELECT id, content FROM user_memories ORDER BY position, id")


def test_positions_find_room_however_often_something_comes_between_the_same_two(store, client):
    bodies = ["first", "last"]
    put(store, *bodies)
    for number in range(80):
        bodies.insert(1, f"entry {number}")
        put(store, *bodies)
    assert [content for _, content in rows(client)] == bodies
    assert store.verify() == []


def test_a_text_that_no_row_can_show_has_no_rows_and_keeps_its_bytes(store, client):
    for data in (b"\xff\xfe", b"a\x00b\n"):
        store.commit(USER, None, lambda _, data=data: data, Change())
        assert rows(client) == []
        assert store.read(USER).data == data
        assert store.verify() == []
    put(store, "a")
    assert [content for _, content in rows(client)] == ["a"]
