"""A direct SQL client: ``python -m tests.sql.programs.client DATABASE NAME WRITES REST SEED``.

DATABASE is a file or a URL. Says ``ready``, starts when its standard input ends, and changes rows of ``user_memories`` at
random, with a rest of up to REST seconds between, as a person with a SQL shell does who knows nothing of catmem. Each
change adds a token that nobody else writes. Prints, as one JSON object, the tokens that it was told are committed
(``made``), those that it deleted knowingly (``deleted``), and how often it did what (``ways``).
"""

import json
import random
import re
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.sql.texts import ENTITIES, tokens

WAYS = {"insert": 35, "append": 30, "replace": 15, "move": 10, "delete": 10}
CATEGORIES = ("__uncategorized__", "preferences", "workflow-rules-finance")
LOOK = "SELECT id, entity, position, category, content FROM user_memories WHERE id = ?"
LOCK = "SELECT id, entity, position, category, content FROM user_memories WHERE id = ? FOR UPDATE"


class Client:
    def __init__(self, connection: Any, name: str, seed: int, *, is_sqlite: bool) -> None:
        self.connection = connection
        self.name = name
        self.random = random.Random(f"{seed} {name}")
        self.is_sqlite = is_sqlite
        self.made: list[str] = []
        self.deleted: list[str] = []
        self.ways: Counter[str] = Counter()

    def run(self, statement: str, *values: object) -> Any:
        return self.connection.execute(statement if self.is_sqlite else statement.replace("?", "%s"), values)

    def write(self, number: int) -> None:
        """Change something; a change that the database refuses is none."""
        way = self.random.choices(list(WAYS), weights=list(WAYS.values()))[0]
        token = f"{self.name}-{number:06d}"
        self.run("BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN")
        work: Callable[[str], list[str] | None] = getattr(self, way)
        deleted = work(token)
        self.run("COMMIT")
        if deleted is None:
            self.ways["nothing there"] += 1
            return
        self.ways[way] += 1
        self.deleted += deleted
        if way != "delete":
            self.made.append(token)

    def insert(self, token: str) -> list[str]:
        entity, category = self.random.choice(ENTITIES), self.random.choice(CATEGORIES)
        self.run("INSERT INTO user_memories (entity, category, content) VALUES (?, ?, ?)", entity, category, token)
        return []

    def append(self, token: str) -> list[str] | None:
        """One statement, as people write it: between its look and its write others may come."""
        done = self.run(
            "UPDATE user_memories SET content = content || ? "
            "WHERE id = (SELECT id FROM user_memories ORDER BY random() LIMIT 1)",
            f" {token}",
        )
        return [] if done.rowcount else None

    def replace(self, token: str) -> list[str] | None:
        """The whole row anew, under its old id: REPLACE, of which a delete trigger hears nothing."""
        row = self._row()
        if row is None:
            return None
        if self.is_sqlite:
            statement = "REPLACE INTO user_memories (id, entity, position, category, content) VALUES (?, ?, ?, ?, ?)"
        else:
            self.run("DELETE FROM user_memories WHERE id = ?", row[0])
            statement = (
                "INSERT INTO user_memories (id, entity, position, category, content) "
                "OVERRIDING SYSTEM VALUE VALUES (?, ?, ?, ?, ?)"
            )
        self.run(statement, *row[:4], f"{row[4]} {token}")
        return []

    def move(self, token: str) -> list[str] | None:
        row = self._row()
        if row is None:
            return None
        other = self.random.choice([entity for entity in ENTITIES if entity != row[1]])
        self.run("UPDATE user_memories SET entity = ?, content = content || ? WHERE id = ?", other, f" {token}", row[0])
        return []

    def delete(self, _: str) -> list[str] | None:
        row = self._row()
        if row is None:
            return None
        self.run("DELETE FROM user_memories WHERE id = ?", row[0])
        return sorted(tokens(row[4].encode()))

    def _row(self) -> Any:
        """Any row, which stays as it is until the end of the transaction."""
        rows = self.run("SELECT id FROM user_memories ORDER BY id").fetchall()
        if not rows:
            return None
        return self.run(LOOK if self.is_sqlite else LOCK, self.random.choice(rows)[0]).fetchone()


def main() -> None:
    database, name, writes, rest, seed = sys.argv[1:]
    is_sqlite = not re.match(r"postgresql://", database)
    refused: tuple[type[Exception], ...]
    if is_sqlite:
        connection: Any = sqlite3.connect(database, isolation_level=None, timeout=10)
        refused = (sqlite3.OperationalError,)
    else:
        import psycopg

        connection = psycopg.connect(database, autocommit=True)
        refused = (
            psycopg.errors.DeadlockDetected,
            psycopg.errors.SerializationFailure,
            psycopg.errors.LockNotAvailable,
        )
    one = Client(connection, name, int(seed), is_sqlite=is_sqlite)
    print("ready", flush=True)
    sys.stdin.read()
    for number in range(int(writes)):
        try:
            one.write(number)
        except refused as error:
            one.ways[type(error).__name__] += 1
            if not is_sqlite or connection.in_transaction:
                connection.execute("ROLLBACK")
        time.sleep(one.random.random() * float(rest))
    connection.close()
    print(json.dumps({"made": one.made, "deleted": one.deleted, "ways": one.ways}))


if __name__ == "__main__":
    main()
