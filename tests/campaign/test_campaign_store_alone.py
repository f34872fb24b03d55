"""Writing to a store and reading from it, each side condition alone: once, in pieces, in order, in one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from campaign_damage import add, everything, mend, small_store, tamper

from bilevel_verify.campaign import Store
from bilevel_verify.campaign import store as store_module
from bilevel_verify.campaign.store import StoredCell
from bilevel_verify.errors import StoreError

pytestmark = pytest.mark.fast

HOLDS = {"verdict": "holds"}


def raw(path: Path, *statements: str) -> list[Any]:
    """Run statements on the file behind the back of the store; the rows of the last one."""
    connection = sqlite3.connect(path)
    rows: list[Any] = []
    for statement in statements:
        rows = connection.execute(statement).fetchall()
    connection.commit()
    connection.close()
    return rows


def one(path: Path, statement: str) -> Any:
    return raw(path, statement)[0][0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


# ---- writing ---------------------------------------------------------------------------------------------------------


def test_what_is_shared_is_written_once_and_an_answer_once(path: Path) -> None:
    with Store(path) as store:
        for n in range(3):
            add(store, n)
        store.add("k1", "c1", {}, {}, HOLDS)
        store._documents.clear()
        add(store, 1)
    assert one(path, "SELECT count(*) FROM documents") == 4
    assert one(path, "SELECT count(*) FROM cells") == 3


def test_an_answer_and_a_failure_give_their_lease_back(path: Path) -> None:
    with Store(path) as store:
        assert store.lease(["a", "b", "c"], "one", 60, lambda owner: True) == {"a", "b", "c"}
        store.add("a", "c", {}, {}, HOLDS)
        assert [h.cells for h in store.holders(["a", "b", "c"])] == [2]
        store.add_failure("b", "c", {}, "time", {}, "")
        assert [h.cells for h in store.holders(["a", "b", "c"])] == [1]
        assert store.lease(["a", "b", "c", "d"], "one", 60, lambda owner: True) == {"b", "c", "d"}


def test_time_is_nothing_if_nobody_says_it(path: Path) -> None:
    with Store(path) as store:
        store.add("k", "c", {}, {}, HOLDS)
        store.add("l", "c", {}, {}, HOLDS, seconds=2, worker="w")
        assert [c.seconds for c in store.cells()] == [0.0, 2.0]
    assert StoredCell("k", "c", {}, {}, {}, "").seconds == 0.0
    assert raw(path, "SELECT worker FROM cells ORDER BY key") == [("",), ("w",)]


def test_an_error_of_the_disk_is_ours_wherever_it_comes(path: Path) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("no such thing")

    with Store(path) as store:
        with pytest.raises(StoreError, match="no such table: nowhere"):
            list(store._read("SELECT * FROM nowhere"))
        with pytest.raises(StoreError, match="no such thing"):
            store._guarded(fail)
        with pytest.raises(StoreError, match="no such thing"):
            store._within(fail)
        store._leases.beat = fail  # type: ignore[assignment, method-assign]
        store._leases.drop = fail  # type: ignore[assignment, method-assign]
        for action in (store.renew, store.release):
            with pytest.raises(StoreError, match="no such thing"):
                action("one")


def test_an_error_is_told_although_sqlite_has_rolled_back_by_itself(path: Path) -> None:
    with Store(path) as store:

        def fail() -> None:
            store._connection.execute("ROLLBACK")  # as SQLite does when the disk is full
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store._within(fail)


# ---- reading ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def pieces(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Store, list[int]]]:
    """A store of five answers written backwards, read two at a time; how many values went into each statement."""
    monkeypatch.setattr(store_module, "CHUNK", 2)
    sizes: list[int] = []
    with Store(path) as store:
        for n in (4, 3, 2, 1, 0):
            add(store, n)
        read = store._read

        def spied(statement: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
            if " IN (" in statement:
                sizes.append(len(values))
            return read(statement, values)

        monkeypatch.setattr(store, "_read", spied)
        yield store, sizes


def test_answers_are_read_in_pieces_and_in_the_order_of_their_keys(pieces: tuple[Store, list[int]]) -> None:
    store, sizes = pieces
    assert [c.key for c in store.cells()] == ["k0", "k1", "k2", "k3", "k4"]
    assert sizes == [2, 2, 1]
    assert [c.key for c in store.cells(["k3", "k1", "k9", "k0"])] == ["k0", "k1", "k3"]
    assert list(store.cells([])) == []
    assert [(c.content, c.identity, c.seconds) for c in store.cells(["k4"])] == [("c4", {"seed": 4}, 0.5)]


def test_keys_are_looked_up_in_pieces(pieces: tuple[Store, list[int]]) -> None:
    store, sizes = pieces
    assert store.answered(["k0", "x", "k4", "k1", "y"]) == {"k0", "k4", "k1"}
    assert sizes == [2, 1, 2, 2, 1, 0]
    assert store.answered([]) == set()
    assert store.contents() == {f"k{n}": f"c{n}" for n in range(5)}


def test_a_sound_document_is_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_store(path)
    with Store(path, read_only=True) as store:
        reference = next(iter(store.cells())).answer["truth"]
        store._documents.clear()
        assert store._has_document(reference)
        monkeypatch.setattr(store, "_read", lambda *_: pytest.fail("read again"))
        assert store._has_document(reference)


def test_an_answer_out_of_place_is_no_answer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_store(path)
    with Store(path, read_only=True) as store:
        monkeypatch.setattr(store, "_rows", lambda numbers: {})
        with pytest.raises(StoreError, match="answer number 1 is out of place"):
            list(store.cells())


def test_a_damaged_record_of_a_failure_is_named_skipped_or_forgotten(path: Path) -> None:
    with Store(path) as store:
        for n, status in enumerate(("time", "memory", "crashed")):
            store.add_failure(f"f{n}", "c", {"kind": "solve", "problem": f"p{n}"}, status, {"n": n}, "why")  # type: ignore[arg-type]
    tamper(path, "UPDATE failures SET message = 'other' WHERE number = 2")
    with Store(path) as store:
        with pytest.raises(StoreError, match=r"the record of a failure of p1 \(row 2, key 'f1'\) was altered"):
            store.failures()
        assert set(store.failures(damaged="skip")) == {"f0", "f2"}
        assert store.discard() == ("the record of a failure of p1 (row 2, key 'f1')",)
        assert {k: (f.status, f.limits, f.message) for k, f in store.failures().items()} == {
            "f0": ("time", {"n": 0}, "why"),
            "f2": ("crashed", {"n": 2}, "why"),
        }
        assert set(store.failures(damaged="skip")) == {"f0", "f2"}
        assert store.discard() == ()


def test_two_damaged_rows_are_struck_off_by_table_and_number(path: Path) -> None:
    written = small_store(path)
    tamper(path, "UPDATE cells SET worker = 'x' WHERE number = 1")
    with Store(path) as store:
        assert store.discard() == ("the answer of zoo:ramp (row 1, key 'k0')",)
    tamper(path, "UPDATE failures SET message = 'x' WHERE number = 1")  # the same number in another table
    with Store(path) as store, pytest.raises(StoreError, match="the record of a failure"):
        store.failures()
    assert len(mend(path)) == 1
    assert everything(path) == written
