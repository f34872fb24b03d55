"""The store: one append-only SQLite file that survives interruption, a full disk and a second process.

Tables and seals: :mod:`bilevel_verify.campaign.schema`; who works on what: :mod:`bilevel_verify.campaign.leases`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from bilevel_verify.campaign import schema
from bilevel_verify.campaign.answers import CellRecord, Document
from bilevel_verify.campaign.cell import Cell, canonical, digest
from bilevel_verify.campaign.database import Database, Row, StoreUnavailableError
from bilevel_verify.campaign.leases import CHUNK, Holder, Leases
from bilevel_verify.errors import InputError, StoreError

__all__ = ["Failure", "FailureStatus", "Store", "StoreUnavailableError", "StoredCell"]

FailureStatus = Literal["time", "memory", "crashed", "error"]
ANSWER = "number, key, content, cell, identity, answer, documents, finished, seconds, worker, hash"
ROWS = {
    "cells": f"SELECT {ANSWER} FROM cells",
    "failures": "SELECT number, key, content, cell, status, limits, message, finished, hash FROM failures",
}


@dataclass(frozen=True, slots=True)
class StoredCell:
    """One answer: the question, what it depended on, and the answer itself as JSON data."""

    key: str
    content: str
    cell: CellRecord
    identity: dict[str, object]
    answer: Any  # what the work of its campaign returned, of ours an AnswerRecord
    finished: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell that ended without an answer: over its time or memory limit, a crashed worker, or an error of ours."""

    key: str
    cell: CellRecord
    status: FailureStatus
    limits: dict[str, object]
    message: str


class Store(Database):
    """An open store. Use it as a context manager; ``read_only`` never creates or changes anything.

    Every row carries a hash of what it says. Reading never returns a row that the disk has changed: ``keys`` and
    ``answered`` do not know it, ``cells`` and ``failures`` raise until :meth:`discard` has struck it off.

    Parameters
    ----------
    path : the SQLite file; it is created (with its folder) unless ``read_only``.
    clock : seconds that only grow, by which the silence of other processes is measured.

    Raises
    ------
    StoreError
        The file is no SQLite database, is corrupted, belongs to another program, or was written by a newer version.
        Nothing is overwritten.
    StoreUnavailableError
        The file system refuses to write.
    """

    def __init__(
        self, path: str | Path, *, read_only: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(Path(path), read_only)
        self._documents: set[str] = set()
        self._leases = Leases(self._connection, clock)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- writing -------------------------------------------------------------------------------------------------

    def add(
        self,
        key: str,
        content: str,
        cell: Mapping[str, object],
        identity: Mapping[str, object],
        answer: Mapping[str, object],
        *,
        documents: Iterable[Mapping[str, object]] = (),
        seconds: float = 0.0,
        worker: str = "",
    ) -> bool:
        """Append one answer with the documents it refers to, in one transaction; False if the key was there already."""
        bodies = {digest(d): canonical(d) for d in documents}
        texts = (canonical(cell), canonical(identity), canonical(answer), canonical(sorted(bodies)))
        row = (key, content, *texts, _now(), float(seconds), worker)

        def write() -> bool:
            with self._transaction():
                for reference, body in bodies.items():
                    if not self._has_document(reference):
                        self._connection.execute("INSERT INTO documents VALUES (NULL, ?, ?)", (reference, body))
                fresh = not self.answered([key])
                if fresh:
                    schema.insert_cell(self._connection, row)
                self._connection.execute("DELETE FROM leases WHERE key = ?", (key,))
            return fresh

        return self._guarded(write)

    def add_failure(
        self,
        key: str,
        content: str,
        cell: Mapping[str, object],
        status: FailureStatus,
        limits: Mapping[str, object],
        message: str,
    ) -> None:
        """Append the record of a cell that ended without an answer."""
        row = (key, content, canonical(cell), status, canonical(limits), message, _now())

        def write() -> None:
            with self._transaction():
                schema.insert_failure(self._connection, row)
                self._connection.execute("DELETE FROM leases WHERE key = ?", (key,))

        self._guarded(write)

    def discard(self) -> tuple[str, ...]:
        """Strike off every row that is not what was written, so that its cell is done again; what they were about."""

        def write() -> tuple[str, ...]:
            with self._transaction():
                gone = self._discarded()
                lost = [(t, row) for t in ROWS for row in (*self._damaged(t), *self._missing(t))]
                lost = [(t, row) for t, row in lost if (t, row[0]) not in gone]
                self._connection.executemany("INSERT INTO discarded VALUES (?, ?)", [(t, row[0]) for t, row in lost])
            return tuple(_about(t, row) for t, row in lost)

        return self._guarded(write)

    def lease(self, keys: Sequence[str], owner: str, silence: float, alive: Callable[[str], bool]) -> set[str]:
        """Take those of ``keys`` that nobody is working on and that have no answer; returns the ones taken.

        ``alive(owner)`` tells whether another owner still exists; one that gave no sign of life for ``silence``
        seconds, as seen from here, counts as gone either way.
        """

        def write() -> set[str]:
            with self._transaction():
                open_ = [k for k in keys if k not in self.answered(keys)]
                return self._leases.take(open_, owner, silence, alive)

        return self._guarded(write)

    def holders(self, keys: Sequence[str]) -> list[Holder]:
        """Who is working on ``keys``, the one with the most of them first."""
        return self._guarded(lambda: self._leases.holders(keys))

    def renew(self, owner: str) -> None:
        """Give a sign of life of ``owner``."""
        self._within(lambda: self._leases.beat(owner))

    def release(self, owner: str) -> None:
        """Give back all leases of ``owner``."""
        self._within(lambda: self._leases.drop(owner))

    # ---- reading -------------------------------------------------------------------------------------------------

    def keys(self) -> set[str]:
        """Keys of all answers."""
        return set(self.contents())

    def contents(self) -> dict[str, str]:
        """Key of every answer -> content hash of its question, under whatever sources and versions it was given."""
        return {row[1]: row[2] for row in self._read(f"{ROWS['cells']} NOT INDEXED") if self._sound("cells", row)}

    def count(self) -> int:
        """Number of answers."""
        return len(self.keys())

    def answered(self, keys: Sequence[str]) -> set[str]:
        """Those of ``keys`` that have an answer."""
        found: set[str] = set()
        for start in range(0, len(keys), CHUNK):
            part = tuple(keys[start : start + CHUNK])
            numbers = [n for (n,) in self._read(f"SELECT number FROM cells WHERE key IN ({_marks(part)})", part)]
            for row in self._rows(numbers).values():  # as the table has them: the index has keys of its own
                if self._sound("cells", row):
                    found.add(row[1])
        return found

    def failures(self, *, damaged: Literal["raise", "skip"] = "raise") -> dict[str, Failure]:
        """Key -> its latest failure, for keys that have no answer.

        Raises
        ------
        StoreError
            A record was altered on the disk (``damaged="skip"`` leaves it out).
        """
        answered, gone, found = self.keys(), self._discarded(), {}
        if damaged == "raise":
            self._nothing_missing("failures", gone)
        for row in self._read(f"{ROWS['failures']} NOT INDEXED ORDER BY number"):
            if not self._sound("failures", row):
                if damaged == "raise" and ("failures", row[0]) not in gone:
                    raise self._altered("failures", row)
            elif row[1] not in answered:
                key, _, cell, status, limits, message = row[1:7]
                found[key] = Failure(key, json.loads(cell), status, json.loads(limits), message)
        return found

    def cells(self, keys: Iterable[str] | None = None) -> Iterator[StoredCell]:
        """All answers, or those of ``keys``, in the order of their keys, one at a time (never all in memory).

        Raises
        ------
        StoreError
            An answer was altered on the disk; running the campaign again mends that.
        """
        gone = self._discarded()
        self._nothing_missing("cells", gone)
        places = [(key, number) for number, key in self._read("SELECT number, key FROM cells NOT INDEXED")]
        if keys is not None:
            wanted = set(keys)
            places = [(key, number) for key, number in places if key in wanted]
        places.sort()
        last = None
        for start in range(0, len(places), CHUNK):
            for row in self._at([number for _, number in places[start : start + CHUNK]]):
                if self._sound("cells", row):
                    if row[1] != last:
                        yield _stored(row)
                    last = row[1]
                elif ("cells", row[0]) not in gone:
                    raise self._altered("cells", row)

    def document(self, reference: str) -> Document:
        """A shared document by its hash.

        Raises
        ------
        StoreError
            There is none, or its text does not have that hash.
        """
        bodies = [row[0] for row in self._read("SELECT body FROM documents WHERE hash = ?", (reference,))]
        body = next((text for text in bodies if schema.text_hash(text) == reference), None)
        if body is None:
            fate = "was altered" if bodies else "is missing"
            raise StoreError(f"{self.path}: document {reference[:12]} {fate}; run the campaign again to mend it")
        found: Document = json.loads(body)
        return found

    # ---- inside --------------------------------------------------------------------------------------------------

    def _at(self, numbers: Sequence[int]) -> Iterator[Row]:
        """The rows of ``cells`` with these numbers, in this order."""
        found = self._rows(numbers)
        for number in numbers:
            if number not in found:
                raise StoreError(f"{self.path}: answer number {number} is out of place: restore a copy")
            yield found[number]

    def _rows(self, numbers: Sequence[int]) -> dict[int, Row]:
        return {row[0]: row for row in self._read(f"{ROWS['cells']} WHERE number IN ({_marks(numbers)})", (*numbers,))}

    def _sound(self, table: str, row: Row) -> bool:
        """Whether a row is what was written and, for an answer, whether its documents are."""
        if not schema.sealed(table, row[1:-1], row[-1]):
            return False
        return table != "cells" or all(self._has_document(reference) for reference in json.loads(row[6]))

    def _has_document(self, reference: str) -> bool:
        if reference not in self._documents:
            bodies = self._read("SELECT body FROM documents WHERE hash = ?", (reference,))
            if any(schema.text_hash(body) == reference for (body,) in bodies):
                self._documents.add(reference)
        return reference in self._documents

    def _damaged(self, table: str) -> list[Row]:
        return [row for row in self._read(f"{ROWS[table]} NOT INDEXED") if not self._sound(table, row)]

    def _missing(self, table: str) -> list[Row]:
        """Rows that the disk has lost with a page: numbers that were given, or that an index knows, without a row."""
        found = {number for (number,) in self._read(f"SELECT number FROM {table} NOT INDEXED")}
        keys = f"SELECT number, key FROM {table} INDEXED BY {table}_key WHERE key >= ''"
        known: dict[int, str] = dict(self._read(keys))
        last = min(max(found, default=0), 2 * len(found) + 1_000)  # a number may be damaged itself
        return [(n, known.get(n, "")) for n in sorted({*range(1, last), *known} - found)]

    def _nothing_missing(self, table: str, gone: set[tuple[str, int]]) -> None:
        lost = [row for row in self._missing(table) if (table, row[0]) not in gone]
        if lost:
            raise self._altered(table, lost[0])

    def _discarded(self) -> set[tuple[str, int]]:
        return {(tab, number) for tab, number in self._read("SELECT tab, number FROM discarded")}

    def _altered(self, table: str, row: Row) -> StoreError:
        return StoreError(
            f"{self.path}: {_about(table, row)} was altered on the disk; run the campaign again and it is done anew"
        )


def _stored(row: Row) -> StoredCell:
    _, key, content, cell, identity, answer, _, finished, seconds = row[:9]
    return StoredCell(key, content, json.loads(cell), json.loads(identity), json.loads(answer), finished, seconds)


def _about(table: str, row: Row) -> str:
    """What a damaged row was about, as far as it can still be told, for a message."""
    kind = "the answer of" if table == "cells" else "the record of a failure of"
    try:
        label = Cell.from_dict(json.loads(row[3])).label
    except (TypeError, ValueError, AttributeError, IndexError, InputError):
        label = ""
    return f"{kind} {label or 'a cell'} (row {row[0]}, key {str(row[1])[:12]!r})"


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
