"""The cache folder has a limit, a command, and touches nothing that is not its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bilevel_verify.cli import main
from bilevel_verify.oracles import OracleWarning
from bilevel_verify.oracles.store import FOLDER_VARIABLE, LIMIT_VARIABLE, MAGIC, Store, size_limit

KEYS = [digit * 64 for digit in "0123456789"]
HEAD = len(MAGIC) + 65
"""Bytes of a file before its content."""


def filled(folder: Path, ages: dict[str, float]) -> Store:
    """A store of files of 1,000 bytes, last used that many seconds ago."""
    store = Store(folder)
    for key, age in ages.items():
        store.save(key, b"x" * (1000 - HEAD))
        path = store.folder / f"{key}.bin"  # type: ignore[operator]
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    return store


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    store = filled(tmp_path / "c", {KEYS[0]: 30.0, KEYS[1]: 10.0, KEYS[2]: 20.0})
    found = store.trim(2000)
    assert (found.files, found.size, found.removed, found.removed_size) == (2, 2000, 1, 1000)
    assert [store.load(key) is None for key in KEYS[:3]] == [True, False, False]
    assert store.trim(2000).removed == 0  # exactly the limit is within it
    assert store.trim(1999).removed == 1
    assert store.load(KEYS[1]) is None  # reading KEYS[2] was later


def test_reading_is_using(tmp_path: Path) -> None:
    store = filled(tmp_path / "c", {KEYS[0]: 30.0, KEYS[1]: 10.0})
    assert store.load(KEYS[0])
    store.trim(1000)
    assert store.load(KEYS[0])
    assert store.load(KEYS[1]) is None


def test_saving_keeps_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, str(3000 / 1024**2))
    store = filled(tmp_path / "c", {key: 100.0 - i for i, key in enumerate(KEYS[:6])})
    assert store.contents().size <= 3000
    assert store.load(KEYS[5])


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    store = filled(tmp_path / "c", {KEYS[0]: 1.0})
    others = [store.folder / name for name in ("mine.bin", "notes.txt", f"{'g' * 63}.bin")]  # type: ignore[operator]
    for path in others:
        path.write_text("mine")
    assert store.contents().files == 1
    assert store.trim(0).removed == 1
    assert all(path.read_text() == "mine" for path in others)


@pytest.mark.parametrize("text", ["much", "-1", "nan"])
def test_a_limit_that_is_no_number_is_said(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    from bilevel_verify.oracles import notices

    monkeypatch.setattr(notices, "_SAID", set())
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    with pytest.warns(OracleWarning, match="no number of megabytes"):
        assert size_limit() == 512 * 1024**2


def test_the_command_says_clears_and_trims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "c"))
    filled(tmp_path / "c", {KEYS[0]: 30.0, KEYS[1]: 10.0})
    assert main(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == 2
    assert main(["cache", "--limit", str(1000 / 1024**2)]) == 0
    assert "1 files" in (said := capsys.readouterr().out)
    assert "removed 1" in said
    assert main(["cache", "--clear", "--limit", "1"]) == 2
    assert "give one of them" in capsys.readouterr().err
    assert main(["cache", "--clear"]) == 0
    assert not list((tmp_path / "c").glob("*.bin"))
    monkeypatch.setenv(FOLDER_VARIABLE, "off")
    capsys.readouterr()
    assert main(["cache"]) == 0
    assert "no cache is kept" in capsys.readouterr().out
