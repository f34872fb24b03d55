"""What a reader of a store is told, each side condition alone: once, not what is answered, damage in its own words."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from campaign_damage import add, everything, first_version, small_store, tamper

from bilevel_verify.campaign import Store, StoreUnavailableError, database, schema
from bilevel_verify.campaign.cell import canonical
from bilevel_verify.campaign.leases import Leases
from bilevel_verify.campaign.store import _about
from bilevel_verify.errors import StoreError

pytestmark = pytest.mark.fast

HOLDS = {"verdict": "holds"}
QUESTION = {"kind": "solve", "problem": "zoo:ramp"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


def behind(path: Path, *rows: tuple[Any, ...]) -> None:
    """Sealed answers written behind the back of the store, as another process with a damaged index would."""
    with closing(sqlite3.connect(path)) as connection:
        for row in rows:
            schema.insert_cell(connection, row)
        connection.commit()


def row(key: str, content: str, seconds: float) -> tuple[Any, ...]:
    return key, content, canonical(QUESTION), "{}", canonical(HOLDS), "[]", "2001", seconds, "w"


# ---- one answer of one key, no failure of what is answered -----------------------------------------------------------


def test_of_two_answers_of_one_key_the_first_is_read(path: Path) -> None:
    with Store(path) as store:
        store.add("b", "same", QUESTION, {}, HOLDS, seconds=1.0)
    behind(path, row("b", "other", 2.0), row("a", "same", 3.0), row("b", "same", 4.0), row("c", "same", 5.0))
    with Store(path, read_only=True) as store:
        assert [(c.key, c.content, c.seconds) for c in store.cells()] == [
            ("a", "same", 3.0), ("b", "same", 1.0), ("c", "same", 5.0),
        ]  # fmt: skip


def test_where_the_first_of_two_answers_is_damaged_and_struck_off_the_second_is_read(path: Path) -> None:
    with Store(path) as store:
        store.add("b", "same", QUESTION, {}, HOLDS, seconds=1.0)
    behind(path, row("b", "other", 2.0))
    tamper(path, "UPDATE cells SET seconds = 9 WHERE number = 1")
    with Store(path) as store:
        with pytest.raises(StoreError, match=r"the answer of zoo:ramp \(row 1, key 'b'\) was altered"):
            list(store.cells())
        assert store.discard() == ("the answer of zoo:ramp (row 1, key 'b')",)
        assert [(c.content, c.seconds) for c in store.cells()] == [("other", 2.0)]


def test_a_failure_counts_until_its_own_key_is_answered(path: Path) -> None:
    with Store(path) as store:
        for key in ("a", "b", "c"):
            store.add_failure(key, "c", QUESTION, "time", {}, key)  # their content is the key of another
        store.add("c", "a", {}, {}, HOLDS)
        assert set(store.failures()) == {"a", "b"}
        store.add_failure("a", "x", QUESTION, "memory", {}, "later")
        assert {k: (f.status, f.message) for k, f in store.failures().items()} == {
            "a": ("memory", "later"),
            "b": ("time", "b"),
        }


# ---- documents -------------------------------------------------------------------------------------------------------


def test_a_document_is_read_or_its_fate_is_told(path: Path) -> None:
    small_store(path)
    with Store(path, read_only=True) as store:
        answer = next(iter(store.cells())).answer
        constants, truth = answer["constants"], answer["truth"]
        assert store.document(constants)["body"] == {"mu": 1.0}
        with pytest.raises(StoreError, match=f"document {'0' * 12} is missing; run the campaign again"):
            store.document("0" * 64)
    tamper(path, f"UPDATE documents SET body = '{{}}' WHERE hash = '{truth}'")
    with Store(path) as store:
        with pytest.raises(StoreError, match=f"document {truth[:12]} was altered; run the campaign again"):
            store.document(truth)
        assert store.document(constants)["kind"] == "constants"
        with pytest.raises(StoreError, match="the answer of zoo:ramp"):
            list(store.cells())
        assert store.keys() == {"k1", "k2"}
        add(store, 0)  # its document is written again, beside the altered one
        assert store.document(truth)["body"] == {"phi": 0}


def test_an_answer_needs_every_document_that_it_names(path: Path) -> None:
    small_store(path)
    with Store(path, read_only=True) as store:
        (first, second) = sorted(next(iter(store.cells())).answer[name] for name in ("constants", "truth"))
    for lost in (first, second):
        copy = path.parent / f"{lost[:8]}.sqlite"
        copy.write_bytes(path.read_bytes())
        tamper(copy, f"DELETE FROM documents WHERE hash = '{lost}'")
        with Store(copy, read_only=True) as store:
            known = store.keys()
            assert "k0" not in known
            assert store.answered(["k0", "k9"]) == set()
            with pytest.raises(StoreError):
                list(store.cells(["k0"]))


@pytest.mark.parametrize(
    ("table", "cell", "said"),
    [
        ("cells", canonical(QUESTION), "the answer of zoo:ramp (row 7, key 'abcdefghijkl')"),
        ("failures", canonical(QUESTION), "the record of a failure of zoo:ramp (row 7, key 'abcdefghijkl')"),
        ("cells", "no json", "the answer of a cell (row 7, key 'abcdefghijkl')"),
        ("cells", "[1]", "the answer of a cell (row 7, key 'abcdefghijkl')"),
        ("cells", None, "the answer of a cell (row 7, key 'abcdefghijkl')"),
    ],
)
def test_damage_is_told_as_far_as_it_can_be(table: str, cell: Any, said: str) -> None:
    assert _about(table, (7, "abcdefghijklmn", "content", cell)) == said


# ---- errors of the file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("SQLITE_NOTADB", StoreError, "is not a readable store (as it is): move it away"),
        ("SQLITE_CORRUPT_VTAB", StoreError, "is not a readable store (as it is): move it away"),
        ("SQLITE_FULL", StoreUnavailableError, "cannot write (as it is): make room and run again"),
        ("SQLITE_IOERR_WRITE", StoreUnavailableError, "cannot write (as it is): make room and run again"),
        ("SQLITE_CANTOPEN", StoreUnavailableError, ": as it is: choose a folder that can be written"),
        ("SQLITE_READONLY_DBMOVED", StoreUnavailableError, ": as it is: choose a folder that can be written"),
        ("SQLITE_PERM", StoreUnavailableError, ": as it is: choose a folder that can be written"),
        ("SQLITE_BUSY", StoreUnavailableError, ": another process has held the store for a minute; run again"),
        ("SQLITE_CONSTRAINT", StoreError, ": as it is"),
        ("", StoreError, ": as it is"),
    ],
)
def test_every_error_of_the_file_has_its_own_words(path: Path, code: str, kind: type[Exception], said: str) -> None:
    error = sqlite3.OperationalError("as\n it   is")
    if code:
        error.sqlite_errorname = code
    with Store(path) as store:
        found = store._translated(error)
    assert type(found) is kind
    assert said in str(found)
    assert str(found).startswith(str(path))
    assert "\n" not in str(found)


def test_a_schema_that_is_no_text_is_not_quoted(path: Path) -> None:
    with Store(path) as store:
        found = store._translated(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "wrong byte"))
    assert type(found) is StoreError
    assert "is not a readable store (its schema is no text): move it away" in str(found)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_folder_is_no_store(tmp_path: Path, read_only: bool) -> None:
    with pytest.raises(StoreError, match="no store at" if read_only else "is a folder, not a store: name a file"):
        Store(tmp_path, read_only=read_only)


def test_a_reader_of_an_older_store_sees_what_stands_in_its_log(path: Path, tmp_path: Path) -> None:
    written = small_store(path)
    old = tmp_path / "old.sqlite"
    first_version(old, path)
    with closing(sqlite3.connect(old)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("DELETE FROM cells WHERE key = 'k1'")
        writer.commit()
        assert (tmp_path / "old.sqlite-wal").stat().st_size > 0
        assert set(everything(old)["cells"]) == set(written["cells"]) - {"k1"}


def test_what_a_file_is_measured_by(path: Path) -> None:
    small_store(path)
    everything(path)
    assert (schema.CHECKED_AT_OPENING, schema.SCHEMA_VERSION, schema.APPLICATION_ID) == (2**28, 2, 0x42564C56)
    assert (sqlite3.Error, UnicodeDecodeError) == database.DAMAGE


# ---- leases ----------------------------------------------------------------------------------------------------------


def test_silence_is_counted_by_the_clock_of_the_one_who_waits(path: Path) -> None:
    now = [100.0]
    with Store(path) as store:
        mine = Leases(store._connection, lambda: now[0])
        theirs = Leases(store._connection, lambda: 0.0)
        assert theirs.take(["a", "b"], "two", 60.0, lambda owner: True) == {"a", "b"}
        for waited, taken in ((0.0, set()), (59.0, set()), (60.0, {"a"})):
            now[0] = 100.0 + waited
            assert mine.take(["a"], "one", 60.0, lambda owner: True) == taken, waited
        assert [(h.owner, h.cells) for h in mine.holders(["a", "b"])] == [("one", 1), ("two", 1)]
        theirs.beat("two")
        assert mine.take(["b"], "one", 60.0, lambda owner: True) == set()  # it has been heard again
        assert [h.silent for h in mine.holders(["b"])] == [0.0]
        now[0] += 7.0
        assert [(h.owner, h.silent) for h in mine.holders(["b"])] == [("two", 7.0)]
        assert mine.take(["b"], "one", 60.0, lambda owner: owner != "two") == {"b"}  # it is gone


def test_those_with_the_most_cells_come_first_and_only_what_is_asked_for_counts(path: Path) -> None:
    with Store(path) as store:
        leases = Leases(store._connection, lambda: 0.0)
        leases.take(["a"], "one", 1.0, lambda owner: True)
        leases.take(["b", "c", "d"], "two", 1.0, lambda owner: True)
        assert [(h.owner, h.cells) for h in leases.holders(["a", "b", "c", "x"])] == [("two", 2), ("one", 1)]
        assert leases.take(["a", "b", "e"], "one", 1.0, lambda owner: True) == {"a", "e"}
        leases.drop("two")
        assert [h.owner for h in leases.holders(["b", "c", "d"])] == []
        assert leases.take(["b"], "one", 1.0, lambda owner: True) == {"b"}
