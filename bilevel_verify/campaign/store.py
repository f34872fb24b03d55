"""The store: one append-only SQLite file that survives interruption, a full disk and a second process.

Layout (schema version 1, ``application_id`` 0x42564C56 = "BVLV")::

    cells      key, content, cell, identity, answer, finished     one row per answer; the middle three are JSON
    documents  hash, body (JSON)       what many answers share (a problem's record, its constants), once
    failures   number, key, content, cell, status, limits, message, finished   cells that ended without an answer
    timings    key, seconds, worker    facts about the machine, kept apart so that answers compare equal
    leases     key, owner, expires     who is working on what: the only table whose rows are ever removed

The first three refuse UPDATE and DELETE by trigger. Everything is text in JSON; no pickle is ever read.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from bilevel_verify.campaign.cell import canonical, digest
from bilevel_verify.errors import BilevelVerifyError, StoreError

APPLICATION_ID = 0x42564C56
SCHEMA_VERSION = 1
FailureStatus = Literal["time", "memory", "crashed", "error"]
CHUNK = 500
CHECKED_AT_OPENING = 256 * 2**20
"""Files up to this many bytes are checked for corruption whenever they are opened (about 0.3 s at most)."""
T = TypeVar("T")

SCHEMA = """
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
CREATE TRIGGER cells_stay BEFORE DELETE ON cells BEGIN SELECT RAISE(ABORT, 'rows are append-only'); END;
CREATE TRIGGER documents_keep BEFORE UPDATE ON documents BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER documents_stay BEFORE DELETE ON documents BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER failures_keep BEFORE UPDATE ON failures BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER failures_stay BEFORE DELETE ON failures BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""
COLUMNS = {
    "cells": {"key", "content", "cell", "identity", "answer", "finished"},
    "failures": {"number", "key", "content", "cell", "status", "limits", "message", "finished"},
    "documents": {"hash", "body"},
    "timings": {"key", "seconds", "worker"},
    "leases": {"key", "owner", "expires"},
}


class StoreUnavailableError(BilevelVerifyError, OSError):
    """The disk is full or the file cannot be written; whatever was stored before is intact (exit status 3)."""


@dataclass(frozen=True, slots=True)
class StoredCell:
    """One answer: the question, what it depended on, and the answer itself as JSON data."""

    key: str
    content: str
    cell: dict[str, Any]
    identity: dict[str, Any]
    answer: dict[str, Any]
    finished: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell that ended without an answer: over its time or memory limit, a crashed worker, or an error of ours."""

    key: str
    cell: dict[str, Any]
    status: FailureStatus
    limits: dict[str, Any]
    message: str


class Store:
    """An open store. Use it as a context manager; ``read_only`` never creates or changes anything.

    Parameters
    ----------
    path : the SQLite file; it is created (with its folder) unless ``read_only``.

    Raises
    ------
    StoreError
        The file is no SQLite database, is corrupted, belongs to another program, or was written by a newer version.
        Nothing is overwritten.
    StoreUnavailableError
        The file system refuses to write.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        if read_only and not self.path.is_file():
            raise StoreError(f"no store at {self.path}: run the campaign first, or mend the path")
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder, not a store: name a file")
        try:
            if not read_only:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._uri(), uri=True, timeout=60.0, isolation_level=None)
            self._open()
        except sqlite3.Error as error:
            raise self._translated(error) from None
        except OSError as error:
            raise StoreUnavailableError(f"{self.path}: {error.strerror or error}") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._connection.close()

    # ---- writing -------------------------------------------------------------------------------------------------

    def add(
        self,
        key: str,
        content: str,
        cell: dict[str, Any],
        identity: dict[str, Any],
        answer: dict[str, Any],
        *,
        documents: Iterable[dict[str, Any]] = (),
        seconds: float = 0.0,
        worker: str = "",
    ) -> bool:
        """Append one answer with the documents it refers to, in one transaction; False if the key was there already."""
        row = (key, content, canonical(cell), canonical(identity), canonical(answer), _now())
        bodies = [(digest(d), canonical(d)) for d in documents]

        def write() -> bool:
            with self._transaction():
                self._connection.executemany("INSERT OR IGNORE INTO documents VALUES (?, ?)", bodies)
                added = self._connection.execute("INSERT OR IGNORE INTO cells VALUES (?,?,?,?,?,?)", row).rowcount
                self._connection.execute("INSERT OR IGNORE INTO timings VALUES (?, ?, ?)", (key, seconds, worker))
                self._connection.execute("DELETE FROM leases WHERE key = ?", (key,))
            return added == 1

        return self._guarded(write)

    def add_failure(
        self, key: str, content: str, cell: dict[str, Any], status: FailureStatus, limits: dict[str, Any], message: str
    ) -> None:
        """Append the record of a cell that ended without an answer."""
        row = (key, content, canonical(cell), status, canonical(limits), message, _now())

        def write() -> None:
            with self._transaction():
                self._connection.execute("INSERT INTO failures VALUES (NULL,?,?,?,?,?,?,?)", row)
                self._connection.execute("DELETE FROM leases WHERE key = ?", (key,))

        self._guarded(write)

    def lease(self, keys: Sequence[str], owner: str, seconds: float, alive: Callable[[str], bool]) -> set[str]:
        """Take those of ``keys`` that nobody alive is working on and that have no answer; returns the ones taken.

        ``alive(owner)`` tells whether another owner still exists; an expired lease counts as abandoned either way.
        """

        def write() -> set[str]:
            now = time.time()
            with self._transaction():
                held = self._held(keys)
                free = {k for k in keys if k not in held or held[k][0] == owner}
                free |= {k for k, (other, expires) in held.items() if expires < now or not alive(other)}
                free -= self.answered(keys)
                rows = [(k, owner, now + seconds) for k in free]
                self._connection.executemany("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", rows)
            return free

        return self._guarded(write)

    def renew(self, owner: str, seconds: float) -> None:
        """Prolong all leases of ``owner``."""
        expires = time.time() + seconds
        self._guarded(lambda: self._execute("UPDATE leases SET expires = ? WHERE owner = ?", (expires, owner)))

    def release(self, owner: str) -> None:
        """Give back all leases of ``owner``."""
        self._guarded(lambda: self._execute("DELETE FROM leases WHERE owner = ?", (owner,)))

    # ---- reading -------------------------------------------------------------------------------------------------

    def keys(self) -> set[str]:
        """Keys of all answers."""
        return {row[0] for row in self._read("SELECT key FROM cells", ())}

    def failures(self) -> dict[str, Failure]:
        """Key -> its latest failure, for keys that have no answer."""
        select = "SELECT key, cell, status, limits, message FROM failures WHERE key NOT IN (SELECT key FROM cells)"
        found = {}
        for key, cell, status, limits, message in self._read(f"{select} ORDER BY number", ()):
            found[key] = Failure(key, self._json(cell), status, self._json(limits), message)
        return found

    def contents(self) -> set[str]:
        """Content hashes of all questions that were ever answered, under whatever sources and versions."""
        return {row[0] for row in self._read("SELECT DISTINCT content FROM cells", ())}

    def count(self) -> int:
        """Number of answers."""
        return int(next(self._read("SELECT count(*) FROM cells", ()))[0])

    def cells(self, keys: Iterable[str] | None = None) -> Iterator[StoredCell]:
        """All answers in the order of their keys, or those of ``keys``, one at a time (never all in memory)."""
        select = "SELECT c.*, coalesce(t.seconds, 0.0) FROM cells c LEFT JOIN timings t ON t.key = c.key"
        if keys is None:
            yield from map(self._cell, self._read(f"{select} ORDER BY c.key", ()))
            return
        wanted = list(keys)
        for start in range(0, len(wanted), CHUNK):
            part = wanted[start : start + CHUNK]
            marks = ",".join("?" * len(part))
            yield from map(self._cell, self._read(f"{select} WHERE c.key IN ({marks}) ORDER BY c.key", tuple(part)))

    def document(self, reference: str) -> dict[str, Any]:
        """A shared document by its hash.

        Raises
        ------
        StoreError
            There is none, or its text does not have that hash.
        """
        row = next(self._read("SELECT body FROM documents WHERE hash = ?", (reference,)), None)
        if row is None:
            raise StoreError(f"{self.path}: document {reference[:12]} is missing; the store is damaged")
        body: dict[str, Any] = self._json(row[0])
        if digest(body) != reference:
            raise StoreError(f"{self.path}: document {reference[:12]} was altered; the store is damaged")
        return body

    # ---- inside --------------------------------------------------------------------------------------------------

    def _uri(self) -> str:
        mode = "ro" if self.read_only else "rwc"
        return f"{self.path.resolve().as_uri()}?mode={mode}"

    def _open(self) -> None:
        """Look before touching: nothing is written until the file is known to be ours or empty."""
        c = self._connection
        tables = {row[0] for row in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        application = c.execute("PRAGMA application_id").fetchone()[0]
        version = c.execute("PRAGMA user_version").fetchone()[0]
        if not tables and application == 0 and version == 0:
            if self.read_only:
                raise StoreError(f"{self.path} is empty: run the campaign first, or mend the path")
            self._create()
        elif application != APPLICATION_ID:
            raise StoreError(f"{self.path} is a database of another program: choose another file or --out folder")
        elif version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer version (schema {version}, this one knows {SCHEMA_VERSION}): "
                "upgrade bilevel-verify or choose another --out folder"
            )
        else:
            self._verify_schema()
        if not self.read_only:
            c.execute("PRAGMA journal_mode = WAL")
            c.execute("PRAGMA synchronous = NORMAL")

    def _create(self) -> None:
        c = self._connection
        c.execute("PRAGMA journal_mode = WAL")
        with self._transaction():
            if c.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
                return  # another process was faster
            for statement in _statements(SCHEMA):
                c.execute(statement)
            c.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            c.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _verify_schema(self) -> None:
        for table, columns in COLUMNS.items():
            found = {row[1] for row in self._connection.execute(f"PRAGMA table_info({table})")}
            if found != columns:
                raise StoreError(f"{self.path} has a foreign schema (table {table!r}): choose another --out folder")
        if self.path.stat().st_size > CHECKED_AT_OPENING:
            return
        verdict = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise StoreError(f"{self.path} is corrupted ({verdict.splitlines()[0]}): move it away or restore a copy")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _guarded(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except sqlite3.Error as error:
            raise self._translated(error) from None

    def _execute(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._transaction():
            self._connection.execute(statement, values)

    def _read(self, statement: str, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise self._translated(error) from None

    def _held(self, keys: Sequence[str]) -> dict[str, tuple[str, float]]:
        held: dict[str, tuple[str, float]] = {}
        for start in range(0, len(keys), CHUNK):
            part = tuple(keys[start : start + CHUNK])
            marks = ",".join("?" * len(part))
            for key, owner, expires in self._connection.execute(f"SELECT * FROM leases WHERE key IN ({marks})", part):
                held[key] = (owner, expires)
        return held

    def answered(self, keys: Sequence[str]) -> set[str]:
        """Those of ``keys`` that have an answer."""
        found: set[str] = set()
        for start in range(0, len(keys), CHUNK):
            part = tuple(keys[start : start + CHUNK])
            marks = ",".join("?" * len(part))
            found |= {row[0] for row in self._connection.execute(f"SELECT key FROM cells WHERE key IN ({marks})", part)}
        return found

    def _cell(self, row: tuple[Any, ...]) -> StoredCell:
        key, content, cell, identity, answer, finished, seconds = row
        values = (self._json(cell), self._json(identity), self._json(answer))
        return StoredCell(key, content, *values, finished, seconds)

    def _json(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise StoreError(f"{self.path}: a stored answer is not JSON; the store is damaged") from None

    def _translated(self, error: sqlite3.Error) -> BilevelVerifyError:
        """One of our errors for one of SQLite's; the file is left as it is."""
        text = str(error)
        code = getattr(error, "sqlite_errorname", "")
        if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return StoreError(
                f"{self.path} is not a readable store ({text}): move it away or choose another --out folder"
            )
        if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            return StoreUnavailableError(
                f"{self.path}: cannot write ({text}): make room and run again; all earlier answers are kept"
            )
        if code.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")):
            return StoreUnavailableError(f"{self.path}: {text}: choose a folder that can be written")
        if code.startswith("SQLITE_BUSY"):
            return StoreUnavailableError(f"{self.path}: another process has held the store for a minute; run again")
        return StoreError(f"{self.path}: {text}")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _statements(script: str) -> Iterator[str]:
    """Split a schema into statements (triggers contain semicolons)."""
    buffer = ""
    for line in script.splitlines():
        buffer += line + "\n"
        if sqlite3.complete_statement(buffer):
            yield buffer
            buffer = ""
