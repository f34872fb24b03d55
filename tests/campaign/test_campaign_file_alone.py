"""The file of a store, each side condition alone: opening, closing, checking, moving an older one."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from campaign_damage import add, everything, first_version, small_store, tamper

from bilevel_verify.campaign import Store, StoreUnavailableError, database, schema
from bilevel_verify.campaign.cell import canonical, digest
from bilevel_verify.campaign.database import Database
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


# ---- the file as it is told in the module ----------------------------------------------------------------------------


def test_a_new_store_carries_its_marks(path: Path) -> None:
    with Store(path) as store:
        assert store._connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert store._connection.execute("PRAGMA synchronous").fetchone()[0] == 1
    assert one(path, "PRAGMA application_id") == 0x42564C56
    assert one(path, "PRAGMA user_version") == 3
    assert one(path, "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'") == 8
    assert schema.CHECKED_AT_OPENING == 2**28


def test_a_reader_changes_nothing_and_may_not_write(path: Path) -> None:
    small_store(path)
    with Store(path, read_only=True) as store:
        assert store._folder is None  # no copy is made of what can be read where it lies
        assert store._connection.execute("PRAGMA synchronous").fetchone()[0] == 2
        with pytest.raises(StoreUnavailableError, match="can be written"):
            add(store, 7)
        with pytest.raises(StoreUnavailableError):
            store.renew("one")


def test_folders_are_made_for_a_new_store_and_not_for_a_reader(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "s.sqlite"
    with pytest.raises(StoreError, match="no store at"):
        Store(deep, read_only=True)
    assert not (tmp_path / "a").exists()
    small_store(deep)
    assert len(everything(deep)["cells"]) == 3


@pytest.mark.parametrize("content", [b"", None])
def test_an_empty_file_is_made_a_store_by_a_writer_only(content: bytes | None, path: Path) -> None:
    if content is not None:
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"s\.sqlite is empty: run the campaign first"):
            Store(path, read_only=True)
        assert path.read_bytes() == b""
    with Store(path) as store:
        assert store.count() == 0


@pytest.mark.parametrize("mark", ["application_id = 7", "user_version = 5", "user_version = 2"])
def test_an_empty_database_with_the_marks_of_another_program_is_refused(mark: str, path: Path) -> None:
    raw(path, f"PRAGMA {mark}")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="a database of another program"):
            Store(path, read_only=read_only)
    assert path.read_bytes() == before


def test_a_store_that_another_process_has_just_made_or_moved_is_left_as_it_is(path: Path) -> None:
    written = small_store(path)
    said: list[str] = []
    with Store(path) as store:
        store._connection.set_trace_callback(said.append)
        store._create()
        store._connection.set_trace_callback(None)
        store._migrate()
    assert everything(path) == written
    assert said == ["PRAGMA journal_mode = WAL", "BEGIN IMMEDIATE", "PRAGMA application_id", "COMMIT"]


def test_nobody_waits_longer_than_a_minute(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    connect = sqlite3.connect

    def spied(name: str, **options: Any) -> sqlite3.Connection:
        asked.append(options)
        return connect(name, **options)

    monkeypatch.setattr(database.sqlite3, "connect", spied)
    with Store(path):
        pass
    assert [a for a in asked if a.get("uri")] == [{"uri": True, "timeout": 60.0, "isolation_level": None}]


# ---- closing ---------------------------------------------------------------------------------------------------------


def test_a_store_is_closed_at_the_end(path: Path) -> None:
    with Store(path) as store:
        pass
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        store._connection.execute("SELECT 1")
    store.close()  # twice does no harm


def old_store(path: Path, tmp_path: Path) -> Path:
    """A store of the first version that says what the one at ``path`` says."""
    first_version(tmp_path / "old.sqlite", path)
    return tmp_path / "old.sqlite"


def test_the_copy_of_an_older_store_is_gone_when_it_is_closed(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_store(path)
    old = old_store(path, tmp_path)
    opened: list[sqlite3.Connection] = []
    use = Database._use

    def spied(self: Database, where: Path, mode: str) -> None:
        if hasattr(self, "_connection"):
            opened.append(self._connection)
        use(self, where, mode)

    monkeypatch.setattr(Database, "_use", spied)
    store = Store(old, read_only=True)
    assert store.count() == 3
    assert len(opened) == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")
    assert store._folder is not None
    folder = Path(store._folder.name)
    assert folder.exists()
    store.close()
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["text", "foreign", "folder is a file", "interrupted", "refused"])
def test_what_cannot_be_opened_is_closed_again(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    close = Database.close
    monkeypatch.setattr(Database, "close", lambda self: closed.append(True) or close(self))
    target, expected = tmp_path / "s.sqlite", StoreError
    if kind == "text":
        target.write_bytes(b"just some text, no database " * 40)
    elif kind == "foreign":
        raw(target, "CREATE TABLE t (a TEXT)")
    elif kind == "interrupted":
        expected = KeyboardInterrupt  # type: ignore[assignment]
        monkeypatch.setattr(Database, "_open", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    elif kind == "refused":
        expected = StoreUnavailableError  # type: ignore[assignment]
        monkeypatch.setattr(Path, "mkdir", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "no")))
    else:
        (tmp_path / "file").write_text("")
        target = tmp_path / "file" / "s.sqlite"
    with pytest.raises(expected):
        Store(target)
    assert closed == [True]


# ---- what a reader does where SQLite may not write beside the file ---------------------------------------------------


class Opening(Database):
    """A database whose file answers with an error of SQLite at first; notes what is tried."""

    def __init__(self, path: Path, read_only: bool, code: str) -> None:
        self.path, self.read_only, self.code = path, read_only, code
        self.tried: list[str] = []
        self.closed = 0
        self._connection = self  # type: ignore[assignment]

    def close(self) -> None:
        self.closed += 1

    def _use(self, path: Path, mode: str) -> None:
        self.tried.append(mode)
        if len(self.tried) == 1:
            error = sqlite3.OperationalError("as planned")
            error.sqlite_errorname = self.code
            raise error

    def _copied(self) -> Path:
        return self.path


@pytest.mark.parametrize("log", [None, b"", b"something"])
@pytest.mark.parametrize("code", ["SQLITE_CANTOPEN", "SQLITE_READONLY_CANTINIT", "SQLITE_BUSY", "SQLITE_CORRUPT"])
@pytest.mark.parametrize("read_only", [True, False])
def test_only_a_reader_that_may_not_write_beside_the_file_reads_it_otherwise(
    read_only: bool, code: str, log: bytes | None, path: Path
) -> None:
    if log is not None:
        Path(f"{path}-wal").write_bytes(log)
    found = Opening(path, read_only, code)
    if read_only and code.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
        found._connect()
        assert found.tried == ["ro", "rw" if log else "ro&immutable=1"]
        assert found.closed == 1
    else:
        with pytest.raises(sqlite3.OperationalError, match="as planned"):
            found._connect()
        assert found.tried == ["ro" if read_only else "rwc"]


# ---- checks at opening -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("room", "checked"), [(0, True), (1, True), (-1, False)])
def test_files_up_to_a_size_are_checked_at_opening(
    room: int, checked: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Verdict:
        """A connection whose schema is ours and whose check finds a damage."""

        def execute(self, statement: str) -> Any:
            if statement.startswith("PRAGMA quick_check"):
                return sqlite3.connect(":memory:").execute("SELECT 'row 3 missing' || char(10) || 'and more'")
            return list(schema._expected().items())

    path.write_bytes(b"x" * 1000)
    monkeypatch.setattr(schema, "CHECKED_AT_OPENING", 1000 + room)
    if checked:
        with pytest.raises(StoreError, match=r"is corrupted \(row 3 missing\): move it away"):
            schema.verify(Verdict(), path, schema.SCHEMA_VERSION)  # type: ignore[arg-type]
    else:
        schema.verify(Verdict(), path, schema.SCHEMA_VERSION)  # type: ignore[arg-type]


@pytest.mark.parametrize("table", list(schema.FIRST_COLUMNS))
def test_an_older_store_with_a_foreign_table_is_refused(table: str, path: Path, tmp_path: Path) -> None:
    small_store(path)
    old = old_store(path, tmp_path)
    raw(old, f"ALTER TABLE {table} ADD COLUMN more TEXT")
    before = old.read_bytes()
    for read_only in (True, False):
        with pytest.raises(StoreError, match=f"foreign schema \\('{table}'\\)"):
            Store(old, read_only=read_only)
    assert old.read_bytes() == before


def test_an_object_too_many_too_few_or_other_is_named(path: Path) -> None:
    for change, name in (
        ("CREATE INDEX zz ON cells (worker)", "zz"),
        ("DROP INDEX documents_hash", "documents_hash"),
        ("DROP TRIGGER failures_stay", "failures_stay"),
    ):
        path.unlink(missing_ok=True)
        small_store(path)
        raw(path, change)
        with pytest.raises(StoreError, match=f"schema \\('{name}'\\)"):
            Store(path)


# ---- moving from the first version -----------------------------------------------------------------------------------


def test_an_older_store_is_moved_whole_and_leaves_nothing_behind(path: Path, tmp_path: Path) -> None:
    written = small_store(path)
    old = old_store(path, tmp_path)
    with Store(old) as store:
        assert store.discard() == ()
        assert store._connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert everything(old) == written
    assert one(old, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'first_%'") == 0
    assert one(old, "SELECT count(*) FROM documents") == one(path, "SELECT count(*) FROM documents") == 4
    assert [row[0] for row in raw(old, "SELECT worker FROM cells")] == ["host"] * 3


def test_a_document_that_an_older_store_cannot_vouch_for_is_left_out(path: Path, tmp_path: Path) -> None:
    small_store(path)
    old = old_store(path, tmp_path)
    tamper(old, "UPDATE documents SET body = replace(body, '\"phi\":1', '\"phi\":5')")
    with Store(old) as store:
        assert store.discard() == ()  # nothing that is in the new tables is damaged
        assert store.keys() == {"k0", "k2"}
    assert one(old, "SELECT count(*) FROM documents") == 3
    assert one(old, "SELECT count(*) FROM cells") == 2


def test_the_documents_of_an_older_answer_are_those_it_names() -> None:
    known = {"a" * 64, "b" * 64, "c" * 64}

    def references(**answer: Any) -> list[str] | None:
        return schema._first_references(("k", "c", "{}", "{}", canonical(answer), "2001"), known)

    assert references() == []
    assert references(truth="b" * 64, constants="a" * 64, problem_record="b" * 64) == ["a" * 64, "b" * 64]
    assert references(truth=None, constants="c" * 64) == ["c" * 64]
    assert references(truth="d" * 64, constants="a" * 64) is None
    question = {"cell": {"kind": "solve"}, "identity": {"seed": 1}}
    row = (digest(question), "c", canonical(question["cell"]), canonical(question["identity"]), "{}", "2001")
    assert schema._first_references(row, known) == []
    assert schema._first_references(("0" * 64, *row[1:]), known) is None
    assert schema._first_references(("0" * 65, *row[1:]), known) == []  # a key of another kind vouches for nothing
    assert schema._first_references((*row[:4], "[]", "2001"), known) is None
    assert schema._first_references((*row[:4], None, "2001"), known) is None


@pytest.mark.parametrize("values", [(b"bytes",), (float("inf"),), (float("nan"),), ({1},)])
def test_a_row_of_damaged_types_is_not_what_was_written(values: Any) -> None:
    assert schema.sealed("cells", ("a", 1), schema.seal("cells", ("a", 1)))
    assert not schema.sealed("cells", ("a", 2), schema.seal("cells", ("a", 1)))
    assert not schema.sealed("cells", values, schema.seal("cells", ("a", 1)))


@pytest.mark.parametrize(("version", "said"), [(schema.SCHEMA_VERSION + 1, "newer version"), (0, "no schema version")])
def test_a_file_of_a_version_that_is_not_known_is_refused(tmp_path: Path, version: int, said: str) -> None:
    small_store(tmp_path / "store.sqlite")
    with sqlite3.connect(tmp_path / "store.sqlite") as file:
        file.execute(f"PRAGMA user_version = {version}")
    file.close()
    with pytest.raises(StoreError, match=said):
        Store(tmp_path / "store.sqlite")
