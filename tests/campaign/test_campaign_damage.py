"""A store on a bad disk: what was changed is never read as an answer; it is named and done again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from campaign_damage import add, everything, first_version, flips, mend, small_store, tamper
from campaign_toy import campaign

from bilevel_verify.campaign import Store, StoreUnavailableError, run_campaign, schema
from bilevel_verify.cli import main
from bilevel_verify.errors import StoreError


def test_a_seal_covers_table_and_every_value() -> None:
    hash_ = schema.seal("cells", ("a", "b", 1.0))
    assert schema.sealed("cells", ("a", "b", 1.0), hash_)
    for table, values in (("failures", ("a", "b", 1.0)), ("cells", ("a", "b", 2.0)), ("cells", ("ab", "", 1.0))):
        assert not schema.sealed(table, values, hash_)
    assert not schema.sealed("cells", (b"a", "b", 1.0), hash_)
    assert not schema.sealed("cells", ("a", "b", float("inf")), hash_)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE cells SET answer = replace(answer, 'holds', 'hnlds') WHERE key = 'k1'",
        "UPDATE cells SET answer = '{}' WHERE key = 'k1'",
        "UPDATE cells SET answer = 'nonsense' WHERE key = 'k1'",
        "UPDATE cells SET key = 'k9' WHERE key = 'k1'",
        "UPDATE cells SET content = 'c9' WHERE key = 'k1'",
        "UPDATE cells SET cell = replace(cell, 'ramp', 'rbmp') WHERE key = 'k1'",
        "UPDATE cells SET identity = '{}' WHERE key = 'k1'",
        "UPDATE cells SET documents = '[]' WHERE key = 'k1'",
        "UPDATE cells SET finished = '2001' WHERE key = 'k1'",
        "UPDATE cells SET seconds = 7.0 WHERE key = 'k1'",
        "UPDATE cells SET worker = 'another' WHERE key = 'k1'",
        "UPDATE cells SET hash = '' WHERE key = 'k1'",
        "UPDATE cells SET answer = CAST(x'ff7b7d' AS TEXT) WHERE key = 'k1'",
        "UPDATE documents SET body = replace(body, '1.0', '2.0')",
        "UPDATE documents SET hash = 'x' WHERE number = 2",
        "DELETE FROM documents WHERE number = 2",
        "UPDATE failures SET message = 'too fast'",
        "UPDATE failures SET limits = '{}'",
    ],
)
def test_an_altered_row_is_refused_named_and_done_again(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "s.sqlite"
    written = small_store(path)
    tamper(path, statement)
    with pytest.raises(StoreError, match=r"altered on the disk; run the campaign again"):
        everything(path)
    names = mend(path)
    assert names, "what was lost must be named"
    assert everything(path) == written
    assert mend(path) == ()  # named once


def test_the_name_of_an_altered_answer_says_what_it_was_about(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    small_store(path)
    tamper(path, "UPDATE cells SET answer = '{}' WHERE key = 'k1'")
    assert mend(path) == ("the answer of zoo:ramp, seed 1 (row 2, key 'k1')",)


def test_a_sound_row_is_never_hidden(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    written = small_store(path)
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO discarded VALUES ('cells', 1), ('failures', 1)")
    connection.commit()
    connection.close()
    assert everything(path) == written


def test_the_index_does_not_vouch_for_a_key(tmp_path: Path) -> None:
    """SQLite answers from an index what the index knows; the row itself may say something else."""
    path = tmp_path / "s.sqlite"
    written = small_store(path)
    data = bytearray(path.read_bytes())
    data[data.index(b'k2c2{"kind"')] ^= 0x80  # in the table, not in the index
    path.write_bytes(bytes(data))
    with Store(path) as store:
        assert store.answered(["k1", "k2"]) == {"k1"}
    assert len(mend(path)) == 1
    assert everything(path) == written


@pytest.mark.fast
@pytest.mark.parametrize(("table", "lost"), [("cells", ["k0", "k1", "k2"]), ("failures", ["kf"])])
def test_rows_that_vanish_with_their_page_are_missed(tmp_path: Path, table: str, lost: list[str]) -> None:
    """A page of another, empty table in the place of theirs: for SQLite that is a sound file."""
    path = tmp_path / "s.sqlite"
    written = small_store(path)
    with sqlite3.connect(path) as connection:
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'"))
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.close()
    data = path.read_bytes()
    theirs, empty = ((roots[name] - 1) * size for name in (table, "discarded"))
    path.write_bytes(data[:theirs] + data[empty : empty + size] + data[theirs + size :])
    with pytest.raises(StoreError, match="row 1"):
        everything(path)
    gone = mend(path)
    assert [f"key {key!r}" in text for key, text in zip(lost, gone, strict=True)] == [True] * len(lost)
    assert everything(path) == written
    assert mend(path) == ()


@pytest.mark.fast
def test_a_number_that_was_given_and_has_no_row_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    written = small_store(path)
    with sqlite3.connect(path) as connection:
        texts = [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE name IN ('cells_key')")]
    connection.close()
    tamper(path, "DROP INDEX cells_key")  # the index has lost it, too
    tamper(path, "DELETE FROM cells WHERE key = 'k1'")
    tamper(path, texts[0])
    with pytest.raises(StoreError, match="row 2"):
        everything(path)
    assert len(mend(path)) == 1
    assert everything(path) == written


@pytest.mark.fast
def test_a_store_of_the_second_version_gets_its_index(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    written = small_store(path)
    tamper(path, "DROP INDEX failures_key")
    tamper(path, "PRAGMA user_version = 2")
    before = path.read_bytes()
    assert everything(path) == written
    assert path.read_bytes() == before  # it was only read
    with Store(path) as store:
        assert store.count() == 3
        assert store._connection.execute("PRAGMA user_version").fetchone()[0] == schema.SCHEMA_VERSION == 3
    assert everything(path) == written


def test_an_answer_without_its_document_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    small_store(path)
    tamper(path, "DELETE FROM documents WHERE number = 2")  # the one that only the first answer has
    with Store(path) as store:
        assert store.keys() == {"k1", "k2"}
        assert store.answered(["k0", "k1"]) == {"k1"}
        add(store, 0)
        assert store.keys() == {"k0", "k1", "k2"}


def test_a_document_is_altered_or_missing_or_itself(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    reference = next(iter(small_store(path)["cells"].values()))[3]["constants"]
    with Store(path, read_only=True) as store:
        assert store.document(reference) == {"kind": "constants", "body": {"mu": 1.0}}
        with pytest.raises(StoreError, match="is missing"):
            store.document("0" * 64)
    tamper(path, "UPDATE documents SET body = replace(body, '1.0', '2.0')")
    with Store(path, read_only=True) as store, pytest.raises(StoreError, match="was altered"):
        store.document(reference)


def test_a_transaction_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    written = small_store(path)
    with Store(path) as store:

        def fail() -> None:
            store._connection.execute("INSERT INTO discarded VALUES ('cells', 1)")
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store._within(fail)
        assert not store._connection.in_transaction
        assert store._discarded() == set()
        add(store, 3)
        assert store.count() == 4
    assert len(everything(path)["cells"]) == len(written["cells"]) + 1


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        ("SQLITE_NOTADB", StoreError, "not a readable store"),
        ("SQLITE_CORRUPT_INDEX", StoreError, "not a readable store"),
        ("SQLITE_FULL", StoreUnavailableError, "make room"),
        ("SQLITE_IOERR_WRITE", StoreUnavailableError, "make room"),
        ("SQLITE_CANTOPEN", StoreUnavailableError, "a folder that can be written"),
        ("SQLITE_READONLY_DIRECTORY", StoreUnavailableError, "a folder that can be written"),
        ("SQLITE_BUSY_SNAPSHOT", StoreUnavailableError, "another process has held the store"),
        ("SQLITE_ERROR", StoreError, "s.sqlite: two lines"),
    ],
)
def test_every_error_of_the_disk_is_one_line_of_ours(tmp_path: Path, code: str, kind: type, says: str) -> None:
    error = sqlite3.OperationalError("two\nlines")
    error.sqlite_errorname = code
    with Store(tmp_path / "s.sqlite") as store:
        found = store._translated(error)
    assert type(found) is kind
    assert says in str(found)
    assert "\n" not in str(found)


def test_a_folder_that_is_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file: .*choose another"):
        Store(tmp_path / "file" / "s.sqlite")


def test_the_first_answer_of_a_key_stays(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    written = small_store(path)
    tamper(path, "INSERT INTO cells SELECT NULL, key, content, cell, identity, answer, documents, finished, seconds, "
                 "worker, hash FROM cells")  # fmt: skip
    assert everything(path) == written
    with Store(path) as store:
        assert store.count() == 3
        assert [c.key for c in store.cells(["k2", "k0"])] == ["k0", "k2"]


@pytest.mark.parametrize("change", ["DROP TRIGGER cells_keep", "DROP INDEX cells_key", "CREATE TABLE more (a TEXT)"])
def test_a_store_whose_schema_changed_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "s.sqlite"
    small_store(path)
    connection = sqlite3.connect(path)
    connection.execute(change)
    connection.commit()
    connection.close()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="damaged or foreign schema"):
            Store(path, read_only=read_only)


def test_a_schema_that_is_no_text_is_one_line_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.sqlite"
    small_store(path)
    data = bytearray(path.read_bytes())
    data[data.index(b"CREATE TRIGGER") + 7] ^= 0x98  # T becomes a byte that is not UTF-8
    path.write_bytes(bytes(data))
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "page")]) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert "not a readable store" in error


def test_a_report_of_an_altered_store_is_refused_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_campaign(campaign(tmp_path, 3), tmp_path / "out", jobs=1, work="campaign_toy:work")
    tamper(tmp_path / "out" / "results.sqlite", "UPDATE cells SET answer = '{}' WHERE number = 1")
    assert main(["report", str(tmp_path / "out"), "--out", str(tmp_path / "page")]) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert "altered on the disk" in error
    assert not (tmp_path / "page").exists()


def test_a_run_does_altered_cells_again_and_says_so(tmp_path: Path) -> None:
    run_campaign(campaign(tmp_path, 6), tmp_path / "out", jobs=1, work="campaign_toy:work")
    path = tmp_path / "out" / "results.sqlite"
    with Store(path, read_only=True) as store:
        before = {c.key: (c.cell, c.answer) for c in store.cells()}
    tamper(path, "UPDATE cells SET answer = '{}' WHERE number IN (2, 5)")
    again = run_campaign(campaign(tmp_path, 6), tmp_path / "out", jobs=1, work="campaign_toy:work")
    assert (again.done, again.answered, len(again.altered)) == (4, 2, 2)
    with Store(path, read_only=True) as store:
        assert {c.key: (c.cell, c.answer) for c in store.cells()} == before


def test_flipped_bits_are_never_read_as_answers(tmp_path: Path) -> None:
    fates = flips(tmp_path / "s.sqlite", 150, seed=1)
    assert set(fates) <= {"same", "refused", "mended"}, fates
    assert min(fates[fate] for fate in ("same", "refused", "mended")) >= 3, fates


# ---- older stores ----------------------------------------------------------------------------------------------------


def test_an_older_store_is_read_as_it_is_and_sealed_when_written(tmp_path: Path) -> None:
    written = small_store(tmp_path / "now.sqlite")
    old = tmp_path / "old.sqlite"
    first_version(old, tmp_path / "now.sqlite")
    before = old.read_bytes()
    assert everything(old) == written
    assert old.read_bytes() == before
    assert mend(old) == ()
    assert everything(old) == written
    with sqlite3.connect(old) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == schema.SCHEMA_VERSION
    connection.close()
    tamper(old, "UPDATE cells SET answer = '{}' WHERE key = 'k1'")
    with pytest.raises(StoreError, match="altered"):
        everything(old)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE cells SET answer = '{' WHERE key = 'k1'",
        "UPDATE cells SET answer = '[1]' WHERE key = 'k1'",
        "UPDATE documents SET body = replace(body, '\"phi\":1', '\"phi\":5')",
    ],
)
def test_what_an_older_store_cannot_vouch_for_is_done_again(tmp_path: Path, statement: str) -> None:
    written = small_store(tmp_path / "now.sqlite")
    old = tmp_path / "old.sqlite"
    first_version(old, tmp_path / "now.sqlite")
    tamper(old, statement)
    with Store(old) as store:
        assert store.keys() == {"k0", "k2"}
    mend(old)
    assert everything(old) == written


def test_the_key_of_an_older_answer_vouches_for_its_question(tmp_path: Path) -> None:
    run_campaign(campaign(tmp_path, 2), tmp_path / "out", jobs=1, work="campaign_toy:work")
    old = tmp_path / "old.sqlite"
    first_version(old, tmp_path / "out" / "results.sqlite")
    connection = sqlite3.connect(old)
    row = connection.execute("SELECT key, identity FROM cells ORDER BY key").fetchone()
    connection.close()
    altered = json.loads(row[1]) | {"seed": 1}
    tamper(old, f"UPDATE cells SET identity = '{json.dumps(altered)}' WHERE key = '{row[0]}'")
    with Store(old) as store:
        assert store.count() == 1
        assert store.answered([row[0]]) == set()


# ---- a disk that cannot be written -----------------------------------------------------------------------------------


@contextmanager
def unwritable(path: Path) -> Iterator[None]:
    """SQLite cannot make the shared memory that it wants beside a file (even for an administrator)."""
    beside = Path(f"{path}-shm")
    beside.unlink(missing_ok=True)
    beside.symlink_to(path.parent / "no such folder" / "file")
    yield
    beside.unlink()


def test_a_store_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    written = small_store(path)
    before = path.read_bytes()
    with unwritable(path):
        assert everything(path) == written
        with pytest.raises(StoreUnavailableError, match="can be written"):
            Store(path)
    assert path.read_bytes() == before


def test_answers_still_in_the_log_are_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    path, copy = tmp_path / "s.sqlite", tmp_path / "copy" / "s.sqlite"
    copy.parent.mkdir()
    with Store(path) as store:
        add(store, 0)
        copy.write_bytes(path.read_bytes())  # as a killed process leaves them
        Path(f"{copy}-wal").write_bytes(Path(f"{path}-wal").read_bytes())
    with unwritable(copy):
        assert set(everything(copy)["cells"]) == {"k0"}


def test_an_older_store_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    written = small_store(tmp_path / "now.sqlite")
    old = tmp_path / "old.sqlite"
    first_version(old, tmp_path / "now.sqlite")
    with unwritable(old):
        assert everything(old) == written
