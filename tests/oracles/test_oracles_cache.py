"""The cache folder under attack: other users, links, damage, crashes, many processes."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from bilevel_verify.oracles import OracleWarning
from bilevel_verify.oracles.store import MAGIC, Store, default_folder

KEY, OTHER = "0" * 64, "f" * 64
posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners of POSIX")
needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    assert store.load(KEY) is None
    store.save(KEY, b"machine code")
    assert store.load(KEY) == b"machine code"
    assert Store(tmp_path / "cache").load(KEY) == b"machine code"
    assert Store(None).load(KEY) is None


@posix
def test_folder_and_files_are_private(tmp_path: Path) -> None:
    store = Store(tmp_path / "deep" / "cache")
    store.save(KEY, b"x")
    assert store.folder is not None
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert (store.folder / f"{KEY}.bin").stat().st_mode & 0o077 == 0


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702])
def test_a_folder_that_others_can_write_is_not_used_and_said_once(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(OracleWarning, match="can be written by other users") as said:
        store, _ = Store(folder), Store(folder)
    assert len(said) == 1
    store.save(KEY, b"x")
    assert store.load(KEY) is None
    assert list(folder.iterdir()) == []


@posix
def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    with pytest.warns(OracleWarning, match="belongs to another user"):
        assert Store(tmp_path / "theirs").folder is None


@posix
def test_a_linked_folder_or_file_is_not_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    Store(real).save(KEY, b"x")
    (tmp_path / "link").symlink_to(real)
    with pytest.warns(OracleWarning, match="link"):
        assert Store(tmp_path / "link").folder is None
    store = Store(tmp_path / "mine")
    assert store.folder is not None
    (store.folder / f"{KEY}.bin").symlink_to(real / f"{KEY}.bin")
    with pytest.warns(OracleWarning, match="cannot be read"):
        assert store.load(KEY) is None


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.warns(OracleWarning, match="no cache"):
        assert Store(tmp_path / "file").folder is None


def damages() -> dict[str, bytes]:
    good = MAGIC + hashlib.sha256(b"content").hexdigest().encode() + b"\ncontent"
    return {
        "empty": b"",
        "cut": good[:-3],
        "bit flip": good[:-1] + bytes([good[-1] ^ 1]),
        "other content": good.replace(b"content", b"CONTENT"),
        "no header": b"content",
        "a pickle": b"\x80\x04cposix\nsystem\n",
        "longer": good + b"!",
    }


@pytest.mark.parametrize("damage", damages())
def test_damage_is_noticed_said_once_and_repaired(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path / "cache")
    assert store.folder is not None
    for key in (KEY, OTHER):
        (store.folder / f"{key}.bin").write_bytes(damages()[damage])
        (store.folder / f"{key}.bin").chmod(0o600)
    with pytest.warns(OracleWarning, match="damaged") as said:
        assert [store.load(KEY), store.load(OTHER)] == [None, None]
    assert len(said) == 1
    store.save(KEY, b"content")
    assert store.load(KEY) == b"content"


@posix
def test_a_file_that_others_can_write_is_not_believed(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.save(KEY, b"content")
    assert store.folder is not None
    (store.folder / f"{KEY}.bin").chmod(0o666)
    with pytest.warns(OracleWarning, match="damaged"):
        assert store.load(KEY) is None


def test_a_crash_while_writing_leaves_nothing_behind_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "cache")

    def crash(source: object, target: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        store.save(KEY, b"content")
    monkeypatch.undo()
    assert store.load(KEY) is None
    store.save(KEY, b"content")
    assert store.load(KEY) == b"content"


KILLED = """
import os, signal, sys
from pathlib import Path
from bilevel_verify.oracles import store
place = sys.argv[2]
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
if place == "before the file is complete":
    os.fsync = die
else:
    os.replace = die
store.Store(Path(sys.argv[1])).save("c" * 64, b"content" * 1000)
"""


@posix
@pytest.mark.parametrize("place", ["before the file is complete", "before it gets its name"])
def test_a_process_killed_while_writing_leaves_nothing_that_is_read(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "cache"
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), place], check=False)
    assert done.returncode == -9
    (left,) = folder.iterdir()
    assert left.name.startswith(".writing-")
    store = Store(folder)
    assert store.load("c" * 64) is None
    store.save("c" * 64, b"new")
    assert store.load("c" * 64) == b"new"
    assert left.exists()  # it may still be somebody's
    os.utime(left, (0, 0))
    assert Store(folder).load("c" * 64) == b"new"
    assert not left.exists()


WRITER = """
import sys
from pathlib import Path
from bilevel_verify.oracles.store import Store
store = Store(Path(sys.argv[1]))
for turn in range(60):
    store.save("d" * 64, b"one thing" * 5000)
    assert store.load("d" * 64) == b"one thing" * 5000, turn
"""


def test_writers_and_readers_of_one_key_never_see_half_a_file(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", WRITER, str(tmp_path / "cache")]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors


def test_a_full_disk_is_said_and_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "cache")

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(OracleWarning, match="No space left"):
        store.save(KEY, b"content")
    assert store.folder is not None
    assert list(store.folder.iterdir()) == []


def test_the_folder_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BILEVEL_VERIFY_CACHE", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.setenv("BILEVEL_VERIFY_CACHE", "off")
    assert default_folder() is None
    monkeypatch.delenv("BILEVEL_VERIFY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "bilevel-verify"


PROGRAM = """
import sys, time, warnings
import sympy
from bilevel_verify.oracles import oracles
from bilevel_verify.problems.problem import Problem
x, y = sympy.symbols("x y", real=True)
o = oracles(Problem("bilevel", sympy.sin(x) * y, (x,), y**2 + sympy.cos(x * y), (y,)), compiled=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    value = o.grad_y_g([0.3], [0.7])[0]
print(repr(float(value)), len(o.programs._sources), [str(w.message)[:40] for w in said])
"""


def run(folder: Path, count: int = 1) -> list[str]:
    environment = {**os.environ, "BILEVEL_VERIFY_CACHE": str(folder), "BILEVEL_VERIFY_PLAIN": "0"}
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    started = [subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True) for _ in range(count)]
    answers = []
    for process in started:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        answers.append(out.strip())
    return answers


@needs_numba
def test_the_next_process_neither_derives_nor_compiles_and_damage_is_rebuilt(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    (first,) = run(folder)
    files = sorted(folder.iterdir())
    (second,) = run(folder)
    assert first.split()[1] == "1"
    assert second.split()[1] == "0"
    assert second.split()[0] == first.split()[0]
    assert sorted(folder.iterdir()) == files
    for file in files:
        file.write_bytes(file.read_bytes()[:-100])
    (third,) = run(folder)
    assert third.split()[:2] == first.split()[:2]
    assert "cache file" in third


@needs_numba
def test_processes_that_start_together_do_not_disturb_each_other(tmp_path: Path) -> None:
    answers = run(tmp_path / "cache", count=2)
    assert len({a.split()[0] for a in answers}) == 1
    assert all(a.endswith("[]") for a in answers)
    assert not [f for f in (tmp_path / "cache").iterdir() if f.name.startswith(".writing")]


def test_warnings_are_said_once_per_topic() -> None:
    from bilevel_verify.oracles.notices import say_once

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        say_once("topic", "once")
        say_once("topic", "once")
    assert len(said) == 1
