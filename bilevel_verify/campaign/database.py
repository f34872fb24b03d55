"""The file of a store: opened with care, written in transactions, its errors told in one line."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from typing import Any, TypeVar

from bilevel_verify.campaign import schema
from bilevel_verify.errors import BilevelVerifyError, StoreError
from bilevel_verify.files import is_file, is_folder

T = TypeVar("T")
Row = tuple[Any, ...]
DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; a message that quotes a damaged schema may itself be no text."""


class StoreUnavailableError(BilevelVerifyError, OSError):
    """The disk is full or the file cannot be written; whatever was stored before is intact (exit status 3)."""


class Database:
    """An open SQLite file of ours.

    Raises
    ------
    StoreError
        The file is no SQLite database, is corrupted, belongs to another program, or was written by a newer version.
        Nothing is overwritten.
    StoreUnavailableError
        The file system refuses to write.
    """

    def __init__(self, path: Path, read_only: bool) -> None:
        self.path, self.read_only = path, read_only
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if read_only and not is_file(path):
            raise StoreError(f"no store at {path}: run the campaign first, or mend the path")
        if is_folder(path):
            raise StoreError(f"{path} is a folder, not a store: name a file")
        try:
            if not read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connect()
        except DAMAGE as error:
            self.close()
            raise self._translated(error) from None
        except (NotADirectoryError, FileExistsError) as error:
            self.close()
            raise StoreError(f"{path.parent}: {error.strerror or error}: choose another --out folder") from None
        except OSError as error:
            self.close()
            raise StoreUnavailableError(f"{path}: {error.strerror or error}") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if hasattr(self, "_connection"):  # not if it could not be opened at all
            self._connection.close()
        if self._folder is not None:
            self._folder.cleanup()

    # ---- opening -------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        """Open the file; a store to be read that cannot be opened where it lies is read as it stands, or from a copy.

        SQLite wants to write beside a file even to read it. Where it may not, the file is complete unless a log lies
        beside it; then the two are copied. A store of an older version is copied, too: to be brought up to date.
        """
        mode = "ro" if self.read_only else "rwc"
        try:
            self._use(self.path, mode)
        except sqlite3.OperationalError as error:
            if not self.read_only or not _code(error).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
                raise
            self._connection.close()
            if self._log().exists() and self._log().stat().st_size:
                self._use(self._copied(), "rw")
            else:
                self._use(self.path, "ro&immutable=1")

    def _use(self, path: Path, mode: str) -> None:
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        self._connection = sqlite3.connect(uri, uri=True, timeout=60.0, isolation_level=None)
        self._connection.text_factory = lambda text: text.decode("utf-8", "replace")  # damage is found by its hash
        self._open()

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
        elif application != schema.APPLICATION_ID:
            raise StoreError(f"{self.path} is a database of another program: choose another file or --out folder")
        elif version > schema.SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer version (schema {version}, this one knows "
                f"{schema.SCHEMA_VERSION}): upgrade bilevel-verify or choose another --out folder"
            )
        elif version < 1:
            raise StoreError(
                f"{self.path} has no schema version (user_version {version}): move it away or restore a copy"
            )
        else:
            schema.verify(c, self.path, version)
            if version < schema.SCHEMA_VERSION:
                self._migrate()
        if not self.read_only:
            c.execute("PRAGMA journal_mode = WAL")
            c.execute("PRAGMA synchronous = NORMAL")

    def _create(self) -> None:
        c = self._connection
        c.execute("PRAGMA journal_mode = WAL")
        with self._transaction():
            if c.execute("PRAGMA application_id").fetchone()[0] != schema.APPLICATION_ID:  # else another was faster
                schema.create(c)

    def _migrate(self) -> None:
        if self.read_only and self._folder is None:
            self._connection.close()
            self._use(self._copied(), "rw")
            return
        with self._transaction():
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
            if version < schema.SCHEMA_VERSION:  # else another process was faster
                schema.migrate(self._connection, version)

    def _copied(self) -> Path:
        """A copy of the file and its log in a folder of our own."""
        self._folder = tempfile.TemporaryDirectory(prefix="bilevel-verify-")
        copy = Path(self._folder.name) / self.path.name
        copyfile(self.path, copy)
        if self._log().exists():
            copyfile(self._log(), f"{copy}-wal")
        return copy

    def _log(self) -> Path:
        return Path(f"{self.path}-wal")

    # ---- inside --------------------------------------------------------------------------------------------------

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
        except DAMAGE as error:
            raise self._translated(error) from None

    def _within(self, action: Callable[[], None]) -> None:
        def write() -> None:
            with self._transaction():
                action()

        self._guarded(write)

    def _read(self, statement: str, values: Row = ()) -> Iterator[Row]:
        try:
            for row in self._connection.execute(statement, values):  # noqa: UP028 (yield from would close the cursor)
                yield row
        except DAMAGE as error:
            raise self._translated(error) from None

    def _translated(self, error: Exception) -> BilevelVerifyError:
        """One of our errors for one of SQLite's; the file is left as it is."""
        text, code = " ".join(str(error).split()), _code(error)
        if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or isinstance(error, UnicodeDecodeError):
            text = "its schema is no text" if isinstance(error, UnicodeDecodeError) else text
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


def _code(error: Exception) -> str:
    return str(getattr(error, "sqlite_errorname", ""))
