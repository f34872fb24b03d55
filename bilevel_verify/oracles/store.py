"""The cache folder: files private to the user, verified before they are read, written atomically.

A file is one line ``bilevel-verify 1 <SHA-256 of the rest>`` and the content. What does not verify is treated as
absent, removed, and said once; a folder that is not ours alone is not used at all, and that is said once too.
Processes may share a folder: a file appears complete or not at all, and two writers of one key write the same thing.
Where the files together are larger than the limit, those that were not used for longest go.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bilevel_verify.oracles.notices import say_once

FOLDER_VARIABLE = "BILEVEL_VERIFY_CACHE"
"""Environment variable: the cache folder; ``off`` for none."""

LIMIT_VARIABLE = "BILEVEL_VERIFY_CACHE_LIMIT"
"""Environment variable: most megabytes that the folder may hold."""
LIMIT = 512.0

MAGIC = b"bilevel-verify 1 "
LARGEST = 64 * 1024 * 1024
WRITING = ".writing-"
"""How the names of unfinished files begin."""
ABANDONED = 3600.0
"""Seconds after which an unfinished file is nobody's any more."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a cache folder holds: number of files, their bytes together, and how many of both were removed."""

    folder: Path | None
    files: int
    size: int
    removed: int = 0
    removed_size: int = 0


class Store:
    """A folder of verified files.

    Parameters
    ----------
    folder : made on first use with mode 0700; None for a store that keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder if folder is not None and _prepare(folder) else None
        if self.folder is not None:
            _sweep(self.folder)

    def load(self, key: str) -> bytes | None:
        """Content of a key, or None if it is absent or damaged."""
        if self.folder is None:
            return None
        path = self._path(key)
        try:
            raw = _read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            say_once(f"unreadable {path}", f"the cache file {path} cannot be read ({error.strerror}); compiled anew")
            return None
        content = _verified(raw)
        if content is None:
            say_once("damaged", f"the cache file {path} is damaged; it is rebuilt")
            with contextlib.suppress(OSError):
                path.unlink()
        else:
            with contextlib.suppress(OSError):  # a folder that cannot be written is read all the same
                os.utime(path)
        return content

    def save(self, key: str, content: bytes) -> None:
        """Keep the content of a key; a full disk or a folder that went away is no error."""
        if self.folder is None or len(content) > LARGEST:
            return
        header = MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n"
        try:
            handle, temporary = tempfile.mkstemp(prefix=WRITING, dir=self.folder)
        except OSError as error:
            say_once(
                "unwritable", f"the cache folder {self.folder} cannot be written ({error.strerror}); nothing is kept"
            )
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(header + content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path(key))
            self.trim(size_limit())
        except OSError as error:
            say_once(
                "unwritable", f"the cache folder {self.folder} cannot be written ({error.strerror}); nothing is kept"
            )
            with contextlib.suppress(OSError):
                os.unlink(temporary)

    def contents(self) -> Contents:
        """Files and bytes of the folder."""
        found = self._files()
        return Contents(self.folder, len(found), sum(size for _, size, _ in found))

    def trim(self, limit: float) -> Contents:
        """Remove the files that were not used for longest until at most ``limit`` bytes are left."""
        found = sorted(self._files())
        total, removed, freed = sum(size for _, size, _ in found), 0, 0
        for _, size, path in found:
            if total - freed <= limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                removed, freed = removed + 1, freed + size
        return Contents(self.folder, len(found) - removed, total - freed, removed, freed)

    def _files(self) -> list[tuple[float, int, Path]]:
        """Time of the last use, size and path of every file of the cache; others in the folder are left alone."""
        found = []
        for path in [] if self.folder is None else self.folder.glob("*.bin"):
            with contextlib.suppress(OSError):  # another process may remove it now
                information = path.lstat()
                if stat.S_ISREG(information.st_mode) and len(path.stem) == 64:
                    found.append((information.st_mtime, information.st_size, path))
        return found

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        assert len(key) == 64
        assert set(key) <= set("0123456789abcdef")
        return self.folder / f"{key}.bin"


def default_folder() -> Path | None:
    """The cache folder of this user; None if there is none or it is switched off."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named == "off":
        return None
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "bilevel-verify"
    except RuntimeError:
        return None


def size_limit() -> float:
    """Most bytes of the folder, from the environment; what is no positive number counts as not given, and is said."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    try:
        limit = float(text or LIMIT)
    except ValueError:
        limit = -1.0
    if not limit >= 0:
        say_once("limit", f"{LIMIT_VARIABLE} = {text!r} is no number of megabytes; {LIMIT:g} are kept")
        limit = LIMIT
    return limit * 1024 * 1024


def store() -> Store:
    """The store of this process (looked up again when the environment changes)."""
    return _store(default_folder())


@lru_cache(maxsize=8)
def _store(folder: Path | None) -> Store:
    return Store(folder)


def _prepare(folder: Path) -> bool:
    """Make the folder if need be; True if it belongs to this user alone."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        information = folder.lstat()
    except OSError as error:
        say_once(f"folder {folder}", f"no cache: {folder} cannot be used ({error.strerror})")
        return False
    if not stat.S_ISDIR(information.st_mode):
        problem = "is a link or not a folder"
    elif hasattr(os, "getuid") and information.st_uid != os.getuid():
        problem = "belongs to another user"
    elif os.name == "posix" and information.st_mode & 0o022:
        problem = "can be written by other users"
    else:
        return True
    say_once(f"folder {folder}", f"no cache: {folder} {problem}; set {FOLDER_VARIABLE} to a folder of your own")
    return False


def _sweep(folder: Path) -> None:
    """Remove what processes left behind that were killed while they wrote."""
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{WRITING}*"):
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()


def _read(path: Path) -> bytes:
    """The whole file; links and files of other users are refused."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        information = os.fstat(file.fileno())
        foreign = hasattr(os, "getuid") and information.st_uid != os.getuid()
        if foreign or not stat.S_ISREG(information.st_mode) or (os.name == "posix" and information.st_mode & 0o022):
            return b""
        return file.read(LARGEST + 256)


def _verified(raw: bytes) -> bytes | None:
    head, separator, content = raw.partition(b"\n")
    if not separator or not head.startswith(MAGIC):
        return None
    return content if head[len(MAGIC) :] == hashlib.sha256(content).hexdigest().encode() else None
