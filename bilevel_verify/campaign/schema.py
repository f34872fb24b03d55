"""What a store looks like on disk: its tables, the seal of a row, and what an older version left behind.

Layout (schema version 3, ``application_id`` 0x42564C56 = "BVLV")::

    cells      number, key, content, cell, identity, answer, documents, finished, seconds, worker, hash    the answers
    documents  number, hash, body           what many answers share (a problem's record, its constants), once
    failures   number, key, content, cell, status, limits, message, finished, hash    cells without an answer
    discarded  tab, number                  rows that were found altered on the disk; they are read no more
    leases     key, owner                   who is working on what
    workers    owner, beat                  a sign of life of every owner: a number that grows, no time of day

The first four refuse UPDATE and DELETE by trigger. Everything is text in JSON; no pickle is ever read. ``hash`` is the
:func:`seal` of the row (of a document: of its text), so that a row which the disk changed is never read as an answer.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from bilevel_verify.campaign.cell import canonical, digest
from bilevel_verify.errors import StoreError

APPLICATION_ID = 0x42564C56
SCHEMA_VERSION = 3
CHECKED_AT_OPENING = 256 * 2**20
"""Files up to this many bytes are checked for corruption whenever they are opened (about 0.3 s at most)."""

SCHEMA = """
CREATE TABLE cells (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL, cell TEXT NOT NULL, identity TEXT NOT NULL,
    answer TEXT NOT NULL, documents TEXT NOT NULL, finished TEXT NOT NULL, seconds REAL NOT NULL, worker TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE INDEX cells_key ON cells (key);
CREATE TABLE failures (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL, cell TEXT NOT NULL,
    status TEXT NOT NULL, limits TEXT NOT NULL, message TEXT NOT NULL, finished TEXT NOT NULL, hash TEXT NOT NULL
) STRICT;
CREATE INDEX failures_key ON failures (key);
CREATE TABLE documents (number INTEGER PRIMARY KEY, hash TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE INDEX documents_hash ON documents (hash);
CREATE TABLE discarded (tab TEXT NOT NULL, number INTEGER NOT NULL) STRICT;
CREATE TABLE leases (key TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL) STRICT;
CREATE TABLE workers (owner TEXT PRIMARY KEY NOT NULL, beat INTEGER NOT NULL) STRICT;
""" + "".join(
    f"CREATE TRIGGER {table}_{word} BEFORE {event} ON {table} BEGIN SELECT RAISE(ABORT, 'rows are append-only'); END;\n"
    for table in ("cells", "documents", "failures", "discarded")
    for word, event in (("keep", "UPDATE"), ("stay", "DELETE"))
)
ADDED = {2: {"failures_key"}}
"""What a version lacks that the present one has: an index knows of rows that the disk has lost with their page."""
FIRST_COLUMNS = {
    "cells": {"key", "content", "cell", "identity", "answer", "finished"},
    "failures": {"number", "key", "content", "cell", "status", "limits", "message", "finished"},
    "documents": {"hash", "body"},
    "timings": {"key", "seconds", "worker"},
    "leases": {"key", "owner", "expires"},
}
"""Tables of schema version 1, whose rows carry no hash."""


def seal(table: str, values: tuple[object, ...]) -> str:
    """SHA-256 over the name of the table and the values of a row, its number and its hash left out."""
    return digest([table, *values])


def sealed(table: str, values: tuple[bytes | str | float, ...], found: str) -> bool:
    """Whether a row is what was written: ``found`` is its hash. Damaged values may be of any type."""
    try:
        return bool(seal(table, values) == found)
    except (TypeError, ValueError):  # bytes or an infinity where text or a number was written
        return False


def text_hash(text: str) -> str:
    """SHA-256 of a text as it is stored (of a document: equal to the digest of its canonical JSON)."""
    return hashlib.sha256(str(text).encode(errors="replace")).hexdigest()


def insert_cell(connection: sqlite3.Connection, values: tuple[object, ...]) -> None:
    """Append ``key, content, cell, identity, answer, documents, finished, seconds, worker`` with their seal."""
    connection.execute("INSERT INTO cells VALUES (NULL,?,?,?,?,?,?,?,?,?,?)", (*values, seal("cells", values)))


def insert_failure(connection: sqlite3.Connection, values: tuple[str, ...]) -> None:
    """Append ``key, content, cell, status, limits, message, finished`` with their seal."""
    connection.execute("INSERT INTO failures VALUES (NULL,?,?,?,?,?,?,?,?)", (*values, seal("failures", values)))


def create(connection: sqlite3.Connection) -> None:
    """Make the tables; inside a transaction."""
    for statement in _statements(SCHEMA):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def verify(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """The schema must be ours to the letter (a damaged trigger would let rows change), and the file whole.

    Raises
    ------
    StoreError
        It is not.
    """
    if version == 1:
        for table, columns in FIRST_COLUMNS.items():
            if {row[1] for row in connection.execute(f"PRAGMA table_info({table})")} != columns:
                raise _foreign(path, table)
    else:
        found, lacking = _objects(connection), ADDED.get(version, set())
        expected = {name: text for name, text in _expected().items() if name not in lacking}
        for name in sorted(expected.keys() | found.keys(), key=str):  # a damaged name may be bytes
            if found.get(name) != expected.get(name):
                raise _foreign(path, name)
    if path.stat().st_size <= CHECKED_AT_OPENING:
        verdict = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        if verdict != "ok":
            raise StoreError(f"{path} is corrupted ({verdict.splitlines()[0]}): move it away or restore a copy")


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """From an older version to the present one; inside a transaction."""
    if version == 1:
        _from_the_first(connection)
        return
    for name in sorted(ADDED[version]):
        connection.execute(_expected()[name])
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _from_the_first(connection: sqlite3.Connection) -> None:
    """Seal what can be read; the rest is left out, to be done again.

    Nothing vouches for the answers of version 1 themselves; their questions are vouched for by their keys.
    """
    for kind, name in connection.execute("SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL").fetchall():
        if kind in ("trigger", "index"):
            connection.execute(f"DROP {kind} {name}")
    for table in FIRST_COLUMNS:
        connection.execute(f"ALTER TABLE {table} RENAME TO first_{table}")
    create(connection)
    known = set()
    for reference, body in connection.execute("SELECT hash, body FROM first_documents").fetchall():
        if text_hash(body) == reference:
            connection.execute("INSERT INTO documents VALUES (NULL, ?, ?)", (reference, body))
            known.add(reference)
    select = "SELECT c.*, coalesce(t.seconds, 0.0), coalesce(t.worker, '') FROM first_cells c"
    for row in connection.execute(f"{select} LEFT JOIN first_timings t ON t.key = c.key").fetchall():
        if (references := _first_references(row, known)) is not None:
            insert_cell(connection, (*row[:5], canonical(references), *row[5:]))
    for row in connection.execute("SELECT * FROM first_failures ORDER BY number").fetchall():
        insert_failure(connection, tuple(row[1:]))
    for table in FIRST_COLUMNS:
        connection.execute(f"DROP TABLE first_{table}")


def _first_references(row: tuple[Any, ...], known: set[str]) -> list[str] | None:
    """The documents that an answer of version 1 refers to; None if the row cannot be what was written."""
    key, _, *texts = row[:5]
    try:
        cell, identity, answer = (json.loads(text) for text in texts)
    except (TypeError, ValueError):
        return None
    if len(key) == 64 and digest({"cell": cell, "identity": identity}) != key:
        return None
    if not isinstance(answer, dict):
        return None
    named = [answer.get(name) for name in ("constants", "truth", "problem_record")]
    references = [reference for reference in named if reference]
    return sorted(set(references)) if known.issuperset(references) else None


@cache
def _expected() -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        create(connection)
        return _objects(connection)


def _objects(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def _foreign(path: Path, name: str) -> StoreError:
    return StoreError(f"{path} has a damaged or foreign schema ({name!r}): move it away or choose another --out folder")


def _statements(script: str) -> Iterator[str]:
    """Split a schema into statements (triggers contain semicolons)."""
    buffer = ""
    for line in script.splitlines():
        buffer += line + "\n"
        if sqlite3.complete_statement(buffer):
            yield buffer
            buffer = ""
