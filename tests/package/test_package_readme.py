"""What the README and the pages of ``docs`` show is run: their Python, their files, their commands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from forked import ENVIRONMENT, command, in_a_new_interpreter, python

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/problem-files.md",
    "docs/cards.md",
    "docs/campaigns.md",
    "docs/pictures.md",
]
NEWLY_REFUTED = "# exit status 1"


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, text) of every fenced block of a page, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / page).read_text(encoding="utf8"), re.M | re.S)


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of a page; one that needs a shell gets one."""
    if not re.search(r"[|<>;&$`]", re.sub(r"'[^']*'", "", line)):
        return command(shlex.split(line, comments=True)[1:], folder)
    line = line.replace("bilevel-verify", f"{sys.executable} -m bilevel_verify")
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


def test_the_two_commands_stand_where_they_are_looked_for() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf8")
    for heading in ("Run it", "Test it"):
        section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.M | re.S)
        assert section is not None
        assert "```" in section[1]


@pytest.mark.parametrize("page", PAGES)
def test_everything_a_page_shows_runs(page: str, tmp_path: Path) -> None:
    """Files first (a block that begins with its name), then Python and the commands in the order of the page."""
    commands = 0
    for language, text in blocks(page):
        if language in ("toml", "python") and (name := re.match(r"# (\S+\.(?:toml|py))\n", text)):
            (tmp_path / name[1]).write_text(text, encoding="utf8")
    for language, text in blocks(page):
        if language == "python":
            done = python(text, tmp_path)
            assert done.returncode == 0, done.stderr[-2000:]
        for line in text.splitlines() if language == "bash" else ():
            if line.startswith("bilevel-verify "):
                done = run(line, tmp_path)
                expected = 1 if line.rstrip().endswith(NEWLY_REFUTED) else 0
                assert done.returncode == expected, f"{line}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
                assert "Traceback" not in done.stderr
                commands += 1
    assert commands >= 2


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text(encoding="utf8")):
        assert (ROOT / page).parent.joinpath(target).exists() or target.startswith("https://"), target


def test_the_api_reference_is_that_of_the_docstrings() -> None:
    done = in_a_new_interpreter(["list", "api"], ROOT)
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf8")
    assert done.stdout == written, "write it anew: bilevel-verify list api > docs/api.md"
