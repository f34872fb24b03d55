"""A small store and ways to damage it: for the tests of seals, and for the thorough run of flipped bits."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

from bilevel_verify.campaign import Store
from bilevel_verify.campaign.cell import digest
from bilevel_verify.errors import StoreError

COUNT = 3
Content = dict[str, Any]


def add(store: Store, n: int) -> None:
    """Answer number ``n``, with a document that it shares with the others and one of its own."""
    shared, own = {"kind": "constants", "body": {"mu": 1.0}}, {"kind": "truth", "body": {"phi": n}}
    answer = {"verdict": "holds", "rows": [{"margin": 0.25 + n}], "constants": digest(shared), "truth": digest(own)}
    cell = {"kind": "solve", "problem": "zoo:ramp", "replicate": n}
    store.add(f"k{n}", f"c{n}", cell, {"seed": n}, answer, documents=[shared, own], seconds=n / 8, worker="host")


def small_store(path: Path) -> Content:
    """Fill a store; returns all that it says."""
    with Store(path) as store:
        for n in range(COUNT):
            add(store, n)
        store.add_failure("kf", "cf", {"kind": "solve", "replicate": 99}, "time", {"seconds": 1.0}, "too slow")
    return everything(path)


def everything(path: Path) -> Content:
    """All that a reader can learn from a store (the time of day of an answer apart)."""
    with Store(path, read_only=True) as store:
        cells = {c.key: (c.content, c.cell, c.identity, c.answer, c.seconds) for c in store.cells()}
        documents = {r: store.document(r) for _, _, _, a, _ in cells.values() for r in (a["constants"], a["truth"])}
        return {"cells": cells, "documents": documents, "failures": store.failures()}


def mend(path: Path) -> tuple[str, ...]:
    """What a run does about damage: strike off, then do again what is missing."""
    with Store(path) as store:
        altered = store.discard()
        known = store.keys()
        for n in range(COUNT):
            if f"k{n}" not in known:
                add(store, n)
        if "kf" not in store.failures():
            store.add_failure("kf", "cf", {"kind": "solve", "replicate": 99}, "time", {"seconds": 1.0}, "too slow")
    return altered


def tamper(path: Path, statement: str) -> None:
    """Change a store behind its back, the triggers put back as they were."""
    connection = sqlite3.connect(path)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    for _, text in triggers:
        connection.execute(text)
    connection.commit()
    connection.close()


FIRST = """
CREATE TABLE cells (
    key TEXT PRIMARY KEY NOT NULL, content TEXT NOT NULL, cell TEXT NOT NULL, identity TEXT NOT NULL,
    answer TEXT NOT NULL, finished TEXT NOT NULL
) STRICT;
CREATE INDEX cells_content ON cells (content);
CREATE TABLE failures (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL, cell TEXT NOT NULL,
    status TEXT NOT NULL, limits TEXT NOT NULL, message TEXT NOT NULL, finished TEXT NOT NULL
) STRICT;
CREATE TABLE documents (hash TEXT PRIMARY KEY NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE timings (key TEXT PRIMARY KEY NOT NULL, seconds REAL NOT NULL, worker TEXT NOT NULL) STRICT;
CREATE TABLE leases (key TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL, expires REAL NOT NULL) STRICT;
CREATE TRIGGER cells_keep BEFORE UPDATE ON cells BEGIN SELECT RAISE(ABORT, 'rows are append-only'); END;
CREATE TRIGGER documents_keep BEFORE UPDATE ON documents BEGIN SELECT RAISE(ABORT, 'append-only'); END;
PRAGMA application_id = 0x42564C56;
PRAGMA user_version = 1;
"""


def first_version(path: Path, like: Path) -> None:
    """A store of schema version 1 that says what another one says."""
    connection = sqlite3.connect(path)
    connection.executescript(FIRST)
    connection.execute("ATTACH ? AS now", (str(like),))
    connection.executescript("""
        INSERT INTO cells SELECT key, content, cell, identity, answer, finished FROM now.cells;
        INSERT INTO timings SELECT key, seconds, worker FROM now.cells;
        INSERT INTO documents SELECT hash, body FROM now.documents;
        INSERT INTO failures SELECT number, key, content, cell, status, limits, message, finished FROM now.failures;
        INSERT INTO leases VALUES ('x', 'far:1:1', 1e12);
    """)
    connection.commit()
    connection.close()


def flip_and_read(path: Path, written: Content, image: bytes, place: int) -> str:
    """Flip one bit of the file and read it."""
    data = bytearray(image)
    data[place // 8] ^= 1 << place % 8
    return read_damaged(path, written, bytes(data))


def read_damaged(path: Path, written: Content, data: bytes) -> str:
    """Read a damaged file: ``same``, ``refused`` (not opened), ``mended`` or something bad."""
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()
    path.write_bytes(data)
    try:
        return "same" if everything(path) == written else "ALTERED"
    except StoreError as error:
        if "\n" in str(error):
            return "more than one line"
    try:
        mend(path)
    except StoreError:
        return "refused"
    return "mended" if everything(path) == written else "ALTERED"


def flips(path: Path, count: int, seed: int) -> dict[str, int]:
    """How many of ``count`` single flipped bits ended in which way."""
    written, chance = small_store(path), random.Random(seed)
    image = path.read_bytes()
    used = [n for n, byte in enumerate(image) if byte]  # where something is written; the rest is mostly empty pages
    fates: dict[str, int] = {}
    for _ in range(count):
        place = (
            8 * chance.choice(used) + chance.randrange(8) if chance.random() < 0.9 else chance.randrange(8 * len(image))
        )
        fate = flip_and_read(path, written, image, place)
        fates[fate] = fates.get(fate, 0) + 1
    return fates
