"""The lessons run from end to end; a right answer to every exercise is called right, and a wrong one is not.

CI runs all of them, the suite too: they are what a newcomer reads first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

LESSONS = sorted((Path(__file__).parents[2] / "docs" / "lessons").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def run(code: list[dict[str, Any]], space: dict[str, Any], path: Path) -> None:
    for number, cell in enumerate(code):
        exec(compile("".join(cell["source"]), f"{path.name}[{number}]", "exec"), space)


def test_there_are_six() -> None:
    assert [path.name[0] for path in LESSONS] == list("123456")


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_a_lesson_runs_and_judges_its_answers(path: Path) -> None:
    code, space = cells(path), {"__name__": "lesson"}
    run(code, space, path)
    assert space["correct"]
    assert not any(space["correct"])  # nothing is answered yet
    exercises = [(i, cell["metadata"]["exercise"]) for i, cell in enumerate(code) if "exercise" in cell["metadata"]]
    assert len(exercises) == len(space["correct"])
    for (place, exercise), number in zip(exercises, range(1, 9)):
        for word, wanted in (("right", True), ("wrong", False)):
            exec(compile(exercise[word], f"{path.name}[{place}]", "exec"), space)
            assert space[f"judge_{number}"](space[f"answer_{number}"]) is wanted, (number, word)


def test_no_outputs_are_kept() -> None:
    """A notebook in the repository is its text: outputs are made where it is read."""
    assert not [p.name for p in LESSONS for cell in cells(p) if cell["outputs"] or cell["execution_count"]]
