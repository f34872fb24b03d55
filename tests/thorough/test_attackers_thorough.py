"""The attackers notice what they look for: code that is run, hangs, ends, memory, bare errors; and they go on."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import attackers


def planted(rng: random.Random) -> str:
    """One case in seven is of each bad kind."""
    match rng.randrange(7):
        case 0:
            eval(f"'{attackers.MARKER}'.lower()")
        case 1:
            while True:
                pass
        case 2:
            os._exit(3)
        case 3:
            return str(bytearray(2 * attackers.MEMORY)[:1])
        case 4:
            raise KeyError("bare")
        case 5:
            raise attackers_error("two\nlines")
        case _:
            return "status 0"
    return "status 0"


def attackers_error(text: str) -> Exception:
    from bilevel_verify.errors import InputError

    return InputError(text)


def test_every_kind_of_failure_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(attackers.CASES, "planted", planted)
    monkeypatch.setitem(attackers.NAMES, "planted", "planted cases")
    monkeypatch.setattr(attackers, "HANG", 0.5)
    begun = time.monotonic()
    attackers.attack("planted", 1, 10, 5.0, tmp_path)
    record = attackers.attack("planted", 1, 30, 5.0, tmp_path)  # goes on
    assert record["next"] == 30 == sum(record["counts"].values())
    assert time.monotonic() - begun < 200
    expected = {"code was run", "hang", "the process died", "memory", "bare KeyError at ?", "status 0", "status 2"}
    assert set(record["counts"]) == expected, record
    text, notes = attackers.row_of(record)
    assert "planted cases | 1 | 30 |" in text
    assert len(notes) == min(20, len(record["bad"]))
