"""The store: refuses what it must not touch, appends only, reads no pickle."""

from __future__ import annotations

import csv
import pickle
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from campaign_toy import campaign

from bilevel_verify.campaign import Store, export_csv, export_parquet, run_campaign
from bilevel_verify.campaign.schema import SCHEMA_VERSION
from bilevel_verify.checks.verdicts.columns import FIELDS
from bilevel_verify.errors import MissingExtraError, StoreError

ANSWER = {"rows": [], "verdict": "holds"}


def fill(path: Path, count: int = 3) -> None:
    with Store(path) as store:
        for n in range(count):
            document = {"kind": "constants", "body": {"mu": 1.0}}
            assert store.add(f"k{n}", f"c{n}", {"kind": "solve"}, {"seed": n}, ANSWER, documents=[document], seconds=n)


def refused(path: Path, match: str) -> None:
    """Opening fails with a one-line StoreError and the file keeps every byte."""
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=match) as caught:
            Store(path, read_only=read_only)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_what_was_stored_is_read_back(tmp_path: Path) -> None:
    fill(tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite", read_only=True) as store:
        assert store.keys() == {"k0", "k1", "k2"}
        assert [c.seconds for c in store.cells(["k2", "k0"])] == [0.0, 2.0]
        assert [c.answer for c in store.cells()] == [ANSWER] * 3


def test_a_key_is_answered_once(tmp_path: Path) -> None:
    fill(tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as store:
        assert not store.add("k0", "c0", {}, {}, {"verdict": "refuted"})
        assert next(store.cells(["k0"])).answer == ANSWER


@pytest.mark.parametrize("statement", ["UPDATE cells SET answer = '{}'", "DELETE FROM cells", "DELETE FROM documents"])
def test_rows_are_append_only(tmp_path: Path, statement: str) -> None:
    fill(tmp_path / "s.sqlite")
    connection = sqlite3.connect(tmp_path / "s.sqlite")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    fill(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.commit()
    connection.close()
    refused(path, "newer version")


@pytest.mark.parametrize("version", [0, -1, -(2**31)])
def test_a_store_without_a_version_is_refused(tmp_path: Path, version: int) -> None:
    path = tmp_path / "s.sqlite"
    fill(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()
    refused(path, "no schema version")


def test_a_database_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE cells (key TEXT, answer BLOB)")
    connection.execute("INSERT INTO cells VALUES ('k', ?)", (pickle.dumps({"a": 1}),))
    connection.commit()
    connection.close()
    refused(path, "another program")


def test_a_changed_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    fill(path)
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE cells ADD COLUMN pickled BLOB")
    connection.commit()
    connection.close()
    refused(path, "foreign schema")


@pytest.mark.parametrize("content", [b"not a database at all, just text " * 40, pickle.dumps(list(range(500)))])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    refused(path, "not a readable store")


def test_a_corrupted_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    fill(path, 400)
    data = bytearray(path.read_bytes())
    for place in range(4096 * 3, len(data) - 4096, 4096):
        data[place : place + 200] = b"\xff" * 200
    path.write_bytes(bytes(data))
    refused(path, "corrupted|not a readable store")


def test_a_truncated_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    fill(path, 400)
    path.write_bytes(path.read_bytes()[:20000])
    refused(path, "corrupted|not a readable store")


def test_a_folder_and_a_missing_store_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="no store"):
        Store(tmp_path / "none.sqlite", read_only=True)
    assert not (tmp_path / "none.sqlite").exists()


def test_a_read_only_store_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    fill(path)
    before = path.read_bytes()
    with Store(path, read_only=True) as store:
        list(store.cells())
    assert path.read_bytes() == before


def test_the_csv_export_has_every_row(tmp_path: Path) -> None:
    run_campaign(campaign(tmp_path, 7), tmp_path / "out", jobs=1, work="campaign_toy:work")
    with Store(tmp_path / "out" / "results.sqlite", read_only=True) as store:
        assert export_csv(store, tmp_path / "rows.csv") == 7
    with (tmp_path / "rows.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 7
    assert set(FIELDS) <= set(rows[0])
    assert all(float(r["measured"]) < 1 for r in rows)


def test_parquet_has_every_row_with_its_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="extra: parquet")
    run_campaign(campaign(tmp_path, 7), tmp_path / "out", jobs=1, work="campaign_toy:work")
    with Store(tmp_path / "out" / "results.sqlite", read_only=True) as store:
        assert export_parquet(store, tmp_path / "rows.parquet") == 7
        assert export_csv(store, tmp_path / "rows.csv") == 7
    table = parquet.read_table(tmp_path / "rows.parquet")
    with (tmp_path / "rows.csv").open(newline="") as stream:
        flat = list(csv.DictReader(stream))
    assert table.column_names == list(flat[0])
    assert table.column("measured").to_pylist() == [float(r["measured"]) for r in flat]
    assert set(table.column("as_printed").to_pylist()) == {True}


def test_parquet_without_its_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "s.sqlite")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with (
        Store(tmp_path / "s.sqlite", read_only=True) as store,
        pytest.raises(MissingExtraError, match=r"bilevel-verify\[parquet\]"),
    ):
        export_parquet(store, tmp_path / "rows.parquet")


def test_answers_hold_no_nan(tmp_path: Path) -> None:
    answer: dict[str, Any] = {"margin": float("nan")}
    with Store(tmp_path / "s.sqlite") as store, pytest.raises(ValueError, match="JSON compliant"):
        store.add("k", "c", {}, {}, answer)


def test_the_latest_failure_counts_until_the_cell_is_answered(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        for status in ("crashed", "time"):
            store.add_failure("k0", "c0", {"kind": "solve"}, status, {"seconds": 1.0}, "too slow")
        store.add_failure("k1", "c1", {"kind": "solve"}, "time", {}, "")
        assert {key: f.status for key, f in store.failures().items()} == {"k0": "time", "k1": "time"}
        store.add("k0", "c0", {"kind": "solve"}, {}, ANSWER)
        assert set(store.failures()) == {"k1"}
