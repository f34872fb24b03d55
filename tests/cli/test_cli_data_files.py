"""Problem files with data on the command line: every mistake is one line, data elsewhere need a flag of their own."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from bilevel_verify.cli import main

TEXT = """kind = "bilevel"
f = "y1**2 + y2**2 + x1"
g = "mean((dot(A[i], y) - b[i]*x1)**2, (i, 0, 2)) + dot(y, y)/2"
x = "x1"
y = "y1 y2"
start = [0.5]
[data]
A = {file = "%s"}
b = [1.0, -1.0, 0.5]
"""
GOOD = np.array([[1.0, 2.0], [0.5, -0.25], [0.0, 1.0]])


class Trap:
    """Unpickling it would leave a trace."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


def ask(path: Path, *more: str) -> int:
    return main(["constants", str(path), "--only", "mu", *more])


def problem_file(folder: Path, data: str) -> Path:
    path = folder / "p.toml"
    path.write_text(TEXT % data, encoding="utf-8")
    return path


def write_csv(path: Path) -> None:
    np.savetxt(path, GOOD, delimiter=",")


def write_npz(path: Path) -> None:
    np.savez(path, A=GOOD)


@pytest.mark.parametrize(("name", "write"), [("a.csv", write_csv), ("a.npz", write_npz)])
def test_data_beside_the_file(tmp_path: Path, name: str, write: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(write)
    write(tmp_path / name)
    assert ask(problem_file(tmp_path, name)) == 0
    capsys.readouterr()


def test_bad_data_are_one_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "nan.npz", A=np.where(GOOD == 1.0, np.nan, GOOD))
    np.savez(tmp_path / "flat.npz", A=np.ones(5))
    np.savez(tmp_path / "short.npz", A=GOOD[:2])
    trap = tmp_path / "sprung"
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps(Trap(str(trap))))
    np.savez(tmp_path / "objects.npz", A=np.array([[Trap(str(trap))]], dtype=object))
    cases = {
        "missing.npz": "cannot be read",
        "nan.npz": "NaN",
        "flat.npz": "A",
        "short.npz": "A",
        "pickle.npz": "pickle",
        "objects.npz": "pickle",
        "../elsewhere.csv": "--allow-outside",
    }
    for name, fragment in cases.items():
        assert ask(problem_file(tmp_path, name)) == 2, name
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1, printed.err
        assert fragment in printed.err, (name, printed.err)
        assert "Traceback" not in printed.err
    assert not trap.exists()


def test_data_elsewhere_need_the_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    write_csv(tmp_path / "a.csv")
    path = problem_file(inside, "../a.csv")
    assert ask(path) == 2
    assert "outside the folder" in capsys.readouterr().err
    assert ask(path, "--allow-outside") == 0
    capsys.readouterr()
