"""Oldest and newest versions of what the package needs: an environment of its own, fast tests of the low rooms.

Needs a package index. The newest are those that ``pip`` chooses today; the oldest are the bounds of pyproject.toml.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = [
    "language",
    "atoms",
    "intervals",
    "symbolic",
    "oracles",
    "problems",
    "truth",
    "constants",
    "theorems",
    "campaign",
]
TOOLS = ["pytest", "hypothesis", "pytest-xdist"]


def requirements() -> list[str]:
    """What the package needs, and what its tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tests = [one for one in project["optional-dependencies"]["test"] if re.split(r"[>\[]", one)[0] in TOOLS]
    return [*project["dependencies"], *tests]


@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_fast_tests_of_the_low_rooms(tmp_path: Path, age: str) -> None:
    wanted = [one.replace(">=", "==") for one in requirements()] if age == "oldest" else requirements()
    assert all(re.fullmatch(r"[\w-]+[=>]=[\d.]+", one) for one in wanted), wanted
    venv.create(tmp_path / "env", with_pip=True)
    python = str(tmp_path / "env" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-compile", *wanted], check=True)
    rooms = [str(ROOT / "tests" / room) for room in ROOMS]
    found = subprocess.run(
        [python, "-m", "pytest", "-m", "fast", "-W", "error", *rooms],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True).stdout
    print(sys.version.split()[0], *(line for line in listed.split() if line.split("==")[0].lower() in str(wanted)))
    print(found.stdout[-300:])
    assert found.returncode == 0, found.stdout[-3000:]
