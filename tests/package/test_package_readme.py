"""What the README shows is run: its Python, its problem file, its commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
TEXT = README.read_text(encoding="utf8")


def blocks(language: str) -> list[str]:
    """Fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.M | re.S)


def test_the_two_commands_stand_where_they_are_looked_for() -> None:
    for heading in ("Run it", "Test it"):
        section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", TEXT, re.M | re.S)
        assert section is not None
        assert "```" in section[1]


@pytest.mark.parametrize("source", blocks("python"))
def test_python_blocks_run(source: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_commands_run_on_the_problem_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(blocks("toml")[0], encoding="utf8")
    commands = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("bilevel-verify ")]
    assert len(commands) >= 3
    for command in commands:
        line = command.replace("bilevel-verify", f"{sys.executable} -m bilevel_verify.cli", 1)
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), f"{command}\n{done.stderr[-2000:]}"
        assert "Traceback" not in done.stderr
