"""What a search knows of its candidates, in a file of one line each: a search that is resumed repeats nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from bilevel_verify.errors import InputError
from bilevel_verify.worst.screening import Screened, Share

Point = tuple[float, ...]
NAME = "search.jsonl"


class Memory:
    """Candidates that were judged. With a file they outlive the process; a half-written last line is dropped.

    Parameters
    ----------
    path : None keeps nothing. ``head`` : what the search is about; a file of another search is refused.

    Raises
    ------
    InputError : the file belongs to another search, or is none.
    """

    def __init__(self, path: Path | None, head: Mapping[str, object]) -> None:
        self._known: dict[tuple[str, Point], Screened] = {}
        self._file: TextIO | None = None
        self.found = 0
        """Candidates that the file had."""
        if path is None:
            return
        if path.exists() and path.stat().st_size:
            self._read(path, dict(head))
        fresh = not self._known
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w" if fresh else "a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path.parent}: {error.strerror or error}; give another folder in out= (--out)") from None
        if fresh:
            self._write({"search": dict(head)})

    def _read(self, path: Path, head: dict[str, object]) -> None:
        lines = path.read_text(encoding="utf-8").split("\n")
        whole = len(lines[-1]) == 0
        records = [_record(line) for line in lines if line]
        if not records or records[0] is None or "search" not in records[0]:
            raise InputError(f"{path}: not the state of a search; give another folder in out= (--out)")
        if records[0]["search"] != json.loads(json.dumps(head)):
            raise InputError(f"{path}: the state of another search ({records[0]['search']}); give another folder")
        for record in records[1:]:
            if record is not None and "u" in record:
                shares = {name: Share(**share) for name, share in record["shares"].items()}
                screened = Screened(shares, record["skipped"], record["places"])
                self._known[record["family"], tuple(record["u"])] = screened
        self.found = len(self._known)
        if not whole:
            kept = "\n".join(line for line in lines if line and _record(line) is not None)
            path.write_text(kept + "\n", encoding="utf-8")

    def get(self, family: str, u: Point) -> Screened | None:
        """What is known of a candidate."""
        return self._known.get((family, u))

    def put(self, family: str, u: Point, found: Screened) -> None:
        """Remember a candidate."""
        self._known[family, u] = found
        if self._file is not None:
            shares = {name: asdict(share) for name, share in found.shares.items()}
            self._write({"family": family, "u": u, "shares": shares, "skipped": found.skipped, "places": found.places})

    def _write(self, record: Mapping[str, object]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _record(line: str) -> dict[str, Any] | None:
    """A line as a table; None for one that was cut."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
