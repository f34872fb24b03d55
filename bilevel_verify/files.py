"""Files that a user names: plain files of bounded size, TOML of bounded depth; nothing else is opened or read."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bilevel_verify.errors import InputError

DEEPEST_KEY = 50
"""Dotted parts of one TOML key: the time of the standard parser grows with the square of their number."""
DEEP_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)""" + f"{{{DEEPEST_KEY}}}",
)


LARGEST = 8_000_000
"""Bytes of a text, unless its reader says otherwise."""


def plain_file(path: Path, most: int, label: str = "", error: type[InputError] = InputError) -> int:
    """The size of a file that may be opened: a plain file (no pipe, device or folder) of at most ``most`` bytes.

    Raises
    ------
    InputError : (or ``error``) missing, not a plain file, too large, or no name of a file; begins with ``label``.
    """
    label = label or str(path)
    try:
        found = path.stat()
    except FileNotFoundError:
        raise error(f"{label}: cannot be read (no such file)") from None
    except OSError as reason:
        raise error(f"{label}: cannot be read ({reason.strerror or type(reason).__name__})") from None
    except ValueError:
        raise error(f"{label}: a name of a file has no zero byte") from None
    if not stat.S_ISREG(found.st_mode):
        raise error(f"{label}: not a plain file; name one that can be read to its end")
    if found.st_size > most:
        raise error(f"{label}: {found.st_size} bytes; at most {most} are read")
    return found.st_size


def is_file(path: Path) -> bool:
    """Whether there is a plain file of that name; there is none of a name that the system does not take."""
    return _asked(path.is_file)


def is_folder(path: Path) -> bool:
    """Whether there is a folder of that name; there is none of a name that the system does not take."""
    return _asked(path.is_dir)


def is_there(path: Path) -> bool:
    """Whether there is anything of that name; there is nothing of a name that the system does not take."""
    return _asked(path.exists)


def _asked(question: Callable[[], bool]) -> bool:
    try:
        return question()
    except (OSError, ValueError):  # too long, a zero byte
        return False


def read_text(path: Path, most: int = LARGEST, label: str = "", error: type[InputError] = InputError) -> str:
    """The text of a plain file.

    Raises
    ------
    InputError : (or ``error``) as :func:`plain_file`; not UTF-8.
    """
    plain_file(path, most, label, error)
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as reason:
        raise error(f"{label or path}: cannot be read ({reason.strerror or type(reason).__name__})") from None
    except UnicodeDecodeError:
        raise error(f"{label or path}: not UTF-8 text") from None


def read_toml(path: Path, most: int = LARGEST, label: str = "", error: type[InputError] = InputError) -> dict[str, Any]:
    """The table of a TOML file.

    Raises
    ------
    InputError : (or ``error``) as :func:`read_text` and :func:`parse_toml`.
    """
    return parse_toml(read_text(path, most, label, error), label or str(path), error)


def parse_toml(text: str, label: str, error: type[InputError] = InputError) -> dict[str, Any]:
    """The table of a TOML text.

    Raises
    ------
    InputError : (or ``error``) not TOML, a number that Python refuses, a key of too many dotted parts.
    """
    if DEEP_KEY.search(text):
        raise error(f"{label}: not TOML: more than {DEEPEST_KEY} dotted parts in one key")
    try:
        return tomllib.loads(text)
    except (RecursionError, ValueError) as reason:
        raise error(f"{label}: not TOML: {str(reason)[:120] or 'nested too deeply'}") from None


def slug(*parts: str | None) -> str:
    """A name that can be a fragment of an address: letters, digits, dashes, slashes; unique."""
    text = "--".join(p for p in parts if p)
    safe = re.sub(r"[^A-Za-z0-9_./-]+", "-", text).strip("-")
    if safe == text:
        return safe
    import hashlib

    return f"{safe[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
