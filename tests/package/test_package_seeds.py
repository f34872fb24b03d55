"""The runner of many seeds: what it reads from the output of pytest, and which seeds it runs again."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("many_seeds", ROOT / "tests/thorough/seeds_run.py")
assert _SPEC is not None
assert _SPEC.loader is not None
seeds: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(seeds)

TESTS = """
import pytest
def test_true(): pass
def test_other(): pass
@pytest.mark.skip
def test_left_out(): pass
@pytest.fixture
def broken(): raise ValueError
"""
FALSE = "def test_false(): assert 0\n"
ERROR = "def test_error(broken): pass\n"


def test_what_pytest_says_is_read_under_the_settings_of_this_project(tmp_path: Path) -> None:
    """The very command that is run, with the very options of ``pyproject.toml``."""
    (tmp_path / "test_some.py").write_text(TESTS + FALSE + ERROR)
    words = [word for word in seeds.command(7, 1, "suite") if not word.startswith("--hypothesis")]
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "--noconftest", str(tmp_path)]
    run = subprocess.run([*words, *settings], cwd=tmp_path, capture_output=True, text=True)
    lines = seeds.entry(7, 1, "suite", run.stdout, run.returncode, 1.4).splitlines()
    assert lines[0] == "seed 7 share 1 suite: 2 passed, 2 failed, 1 skipped, 1 s"
    assert [line.split()[0] for line in lines[1:]] == ["FAILED", "ERROR"]
    assert seeds.finished("\n".join(lines), 1, "suite") == {7: 2}


@pytest.mark.parametrize(
    ("output", "code", "failed"),
    [
        ("3 passed, 12 deselected in 2.00s\n", 0, 0),
        ("1 failed, 3 passed in 2.00s\n", 1, 1),
        ("3 passed, 2 errors in 2.00s\n", 1, 2),
        ("........\n", 0, 1),  # nothing was counted
        ("", 0, 1),
        ("12 deselected in 1.00s\n", 5, 1),
        ("3 passed in 2.00s\n", 3, 1),
        ("3 passed in 2.00s\n", -9, 1),
        ("3 passed in 2.00s\n", 1, 1),
    ],
)
def test_a_run_that_was_not_counted_has_failed(output: str, code: int, failed: int) -> None:
    found = seeds.entry(5, 8, "seeded", output, code, 3.0)
    assert seeds.finished(found, 8, "seeded") == {5: failed}
    assert (len(found.splitlines()) > 1) == (failed > 0 and code != 1) or code == 1


def test_only_the_same_share_of_the_same_tests_is_left_out() -> None:
    text = seeds.entry(1, 8, "seeded", "3 passed in 1s", 0, 1) + seeds.entry(2, 1, "suite", "3 passed in 1s", 0, 1)
    assert seeds.finished(text, 8, "seeded") == {1: 0}
    assert seeds.finished(text, 1, "suite") == {2: 0}
    assert seeds.finished(text, 1, "seeded") == {}


def test_the_seed_reaches_pytest() -> None:
    assert "--hypothesis-seed=31" in seeds.command(31, 1, "seeded")
    assert seeds.command(31, 1, "seeded")[-3:-1] == ["-m", "seeded"]
    assert "seeded" not in seeds.command(31, 2, "suite")
    assert seeds.command(31, 2, "suite")[-3:-1] == ["-n", "2"]


def test_no_two_helpers_of_tests_have_one_name() -> None:
    """Two modules ``seeds`` were found in turn: three thorough tests could not even be collected."""
    own = [path.name for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith(("test_", "conftest"))]
    assert {name for name in own if own.count(name) > 1} <= {"__init__.py"}
