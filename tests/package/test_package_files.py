"""Only plain files of bounded size are opened; TOML of bounded depth is parsed; data are unpacked up to a limit."""

from __future__ import annotations

import os
import struct
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bilevel_verify.cli import main
from bilevel_verify.errors import InputError
from bilevel_verify.files import DEEPEST_KEY, is_file, is_folder, is_there, parse_toml, plain_file, read_toml
from bilevel_verify.problems.files import MAXIMUM_FILE, load

TEXT = """kind = "bilevel"
f = "y1**2 + y2**2 + x1"
g = "mean((dot(A[i], y) - b[i]*x1)**2, (i, 0, 2)) + dot(y, y)/2"
x = "x1"
y = "y1 y2"
[data]
b = [1.0, -1.0, 0.5]
A = {file = "%s"}
"""


def header(count: int) -> bytes:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}".encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def refused(path: Path) -> str:
    begin = time.process_time()
    with pytest.raises(InputError) as caught:
        load(path)
    assert time.process_time() - begin < 5
    return str(caught.value)


def test_pipes_devices_and_folders_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", Path("/dev/zero"), tmp_path):
        with pytest.raises(InputError, match="not a plain file"):
            read_toml(path)
    with pytest.raises(InputError, match="zero byte"):
        plain_file(Path("a\0b"), 10)
    with pytest.raises(InputError, match="no such file"):
        plain_file(tmp_path / "none", 10)
    for name in ("x.csv", "x.npy", "x.npz"):
        os.mkfifo(tmp_path / name)
        (tmp_path / "p.toml").write_text(TEXT % name)
        assert "not a plain file" in refused(tmp_path / "p.toml")


def test_arrays_larger_than_the_limit_are_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "big.npy").write_bytes(header(10**13))
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("A.npy", header(MAXIMUM_FILE) + bytes(10**6))
    (tmp_path / "short.npy").write_bytes(header(1000) + bytes(80))
    for name, why in {"big.npy": "at most", "bomb.npz": "at most", "short.npy": "shorter"}.items():
        (tmp_path / "p.toml").write_text(TEXT % name)
        assert why in refused(tmp_path / "p.toml")


def test_arrays_come_back_as_numpy_wrote_them(tmp_path: Path) -> None:
    from bilevel_verify.problems.files import read_arrays

    for number, array in enumerate(
        (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((3, 2))), np.arange(4, dtype=np.int16))
    ):
        np.save(tmp_path / f"{number}.npy", array)
        np.savez_compressed(tmp_path / f"{number}.npz", A=array, B=array + 1)
        for name in (f"{number}.npy", f"{number}.npz"):
            read = read_arrays({"A": {"file": name}}, tmp_path, False)["A"]
            assert read.dtype == array.dtype
            assert np.array_equal(read, array)


def test_keys_of_many_dotted_parts_are_refused_before_they_are_parsed() -> None:
    deep = "a." * 50_000 + "a = 1"
    begin = time.process_time()
    for text in (deep, f"[{deep[:-4]}]", '"a" . ' * 60 + "b = 1", "x" * 2_000_000):
        with pytest.raises(InputError, match="not TOML"):
            parse_toml(text, "text")
    assert time.process_time() - begin < 5
    assert parse_toml("a." * (DEEPEST_KEY - 1) + "a = 1", "text")
    assert parse_toml('note = "1.2.3 and so on ... and a.b.c"', "text")
    with pytest.raises(InputError, match="not TOML"):
        parse_toml(f"a = {'9' * 5000}", "text")


@pytest.mark.parametrize(
    "line",
    [
        'start = ["exp(exp(exp(exp(9))))"]',
        "[knobs]\ns = 1" + "0" * 400,
        '[domain]\nx1 = [0, "exp(exp(exp(9)))"]',
    ],
)
def test_numbers_beyond_floats_are_refused_with_their_field(line: str, tmp_path: Path) -> None:
    text = 'kind = "single_level"\nf = "x1**2"\nx = "x1"\n' + line + "\n"
    (tmp_path / "p.toml").write_text(text)
    assert "beyond the range of floats" in refused(tmp_path / "p.toml")


def test_a_long_sum_of_numbers_ends_by_its_count_and_soon(tmp_path: Path) -> None:
    text = 'kind = "single_level"\nf = "x1**2"\nx = "x1"\nstart = ["sum(sum(sum(i*j*k,(i,0,99)),(j,0,99)),(k,0,99))"]\n'
    (tmp_path / "p.toml").write_text(text)
    begin = time.process_time()
    with pytest.raises(InputError, match="200000 operations"):
        load(tmp_path / "p.toml")
    assert time.process_time() - begin < 8


@pytest.mark.parametrize("name", ["9" * 5000, "a\0b", "x" * 300 + "/y", "missing"])
def test_there_is_nothing_of_a_name_that_the_system_does_not_take(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert (is_file(path), is_folder(path), is_there(path)) == (False, False, False)
    there = tmp_path / "there"
    there.mkdir()
    assert (is_file(there), is_folder(there), is_there(there)) == (False, True, True)
    (there / "f").write_text("", encoding="utf-8")
    assert (is_file(there / "f"), is_folder(there / "f"), is_there(there / "f")) == (True, False, True)


@pytest.mark.parametrize(
    "words",
    [
        ["derive", "zoo:" + "9" * 5000],
        ["derive", "zoo:trig-1-1:" + "9" * 5000],
        ["derive", "9" * 5000 + ".toml"],
        ["derive", "a\0b.toml"],
        ["verify", "9" * 5000 + ".toml", "--problem", "zoo:trig-1-1", "--eps", "0.1"],
        ["verify", "9" * 5000 + "/x", "--problem", "zoo:trig-1-1", "--eps", "0.1"],
        ["audit", "9" * 5000],
        ["audit", "9" * 5000 + ".tex"],
        ["fidelity", "9" * 5000],
        ["coverage", "9" * 5000],
        ["report", "9" * 5000],
        ["run", "9" * 5000 + ".toml"],
        ["draft", "9" * 5000 + ".tex"],
        ["experiments", "rahgd-minimax", "--data", "9" * 5000],
    ],
)
def test_long_names_are_wrong_use_in_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1, told
    assert len(told[0]) < 1000
