"""Pictures inside the page: of what was judged and of runs that come out again, and of nothing else."""

from __future__ import annotations

import copy
import re
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import bilevel_verify as bv
from bilevel_verify.reporting import pictures
from bilevel_verify.reporting.build import document_of
from bilevel_verify.reporting.html import render
from bilevel_verify.reporting.packing import unpack
from bilevel_verify.reporting.pictures import page_pictures
from bilevel_verify.reporting.write import write_document

STATEMENT = "restarted-agd-hb/theorem-1"


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    cosines = bv.zoo("ridge-cosines")
    return document_of([bv.verify(cosines, STATEMENT, eps=1e-2)], problems=[cosines])


@pytest.fixture
def document(kept: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(kept)


def captions(found: Any) -> list[str]:
    return [one.caption.split()[0] for one in found.get("ridge-cosines", ())]


def test_a_problem_its_run_and_a_claim_are_drawn_into_page_and_folder(document, tmp_path: Path) -> None:
    found = page_pictures(document, tmp_path)
    assert captions(found.problems) == ["The", "Gap", "Iterates", "The"]
    (one,) = found.statements[STATEMENT]
    assert "measured against bound" in one.caption
    names = sorted(path.name.partition("--")[0] for path in tmp_path.glob("*.svg"))
    assert names == ["bound", "convergence", "curvature", "path", "phi"]
    page = unpack(render(document, found))
    assert page.count('<img class="picture"') == 5
    assert "<svg xmlns:xlink" not in page  # every picture is a data address, no markup of the page


def test_no_run_is_drawn_that_does_not_come_out_again(document, tmp_path: Path) -> None:
    for run in document["runs"]:
        run["x"] = [run["x"][0] + 1e-9, run["x"][1]]
    assert captions(page_pictures(document, tmp_path).problems) == ["The", "The"]


def test_a_run_that_was_cut_is_not_drawn(document, tmp_path: Path) -> None:
    for run in document["runs"]:
        run["status"] = "budget"
    assert captions(page_pictures(document, tmp_path).problems) == ["The", "The"]


def test_no_claim_is_drawn_whose_margin_is_another(document, tmp_path: Path) -> None:
    for row in document["rows"]:
        if isinstance(row["margin"], float):
            row["margin"] += 1e-3
    assert not page_pictures(document, tmp_path).statements


@pytest.mark.parametrize("word", [" --reading x", " --set B=1", " --knob s=1"])
def test_no_claim_with_a_choice_of_its_own_is_drawn(document, tmp_path: Path, word: str) -> None:
    for row in document["rows"]:
        row["reproduce"] = (row["reproduce"] or "") + word
    assert not page_pictures(document, tmp_path).statements


def test_another_problem_of_that_name_is_not_drawn(document, tmp_path: Path) -> None:
    document["problems"][0]["hash"] = "0" * 64
    found = page_pictures(document, tmp_path)
    assert not found.problems
    assert not found.statements


def test_patience_ends_the_drawing(monkeypatch, document, tmp_path: Path) -> None:
    monkeypatch.setattr(pictures, "PATIENCE", -1.0)
    assert not page_pictures(document, tmp_path).problems
    assert not list(tmp_path.iterdir())


def test_what_has_no_room_in_the_page_lies_in_the_folder_alone(monkeypatch, document, tmp_path: Path) -> None:
    monkeypatch.setattr(pictures, "ROOM", 0)
    found = page_pictures(document, tmp_path, pictures.PAGE)
    assert not found.problems
    assert not found.statements
    assert len(list(tmp_path.glob("*.svg"))) == 5


def test_a_small_picture_finds_the_room_that_a_large_one_does_not(monkeypatch, document, tmp_path: Path) -> None:
    every = page_pictures(document, tmp_path)
    sizes = sorted(len(zlib.compress(one.source.encode())) for one in every.problems["ridge-cosines"])
    assert sizes[-1] > 2 * sizes[0]
    monkeypatch.setattr(pictures, "ROOM", 2 * sizes[0] + 6_000)
    few = page_pictures(document, tmp_path, pictures.PAGE)
    assert 0 < len(few.problems["ridge-cosines"]) < len(every.problems["ridge-cosines"])


def test_pictures_of_a_page_are_drawn_to_a_hundredth_of_a_point(document, tmp_path: Path) -> None:
    (one, *_) = page_pictures(document, tmp_path).statements[STATEMENT]
    assert not re.search(r"\d\.\d{3}", unquote(one.source))
    assert any(re.search(r"\d\.\d{3}", path.read_text("utf-8")) for path in tmp_path.glob("*.svg"))


def test_a_page_leaves_to_its_pictures_what_two_megabytes_leave(document, tmp_path: Path, monkeypatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(pictures, "page_pictures", lambda document, folder, without: asked.append(without))
    write_document(document, tmp_path / "a", ["html"])
    assert not asked
    page = write_document(document, tmp_path / "b", ["html", "figures"])
    assert asked == [page.stat().st_size]
