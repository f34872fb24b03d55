"""Runs that are too long to be kept are judged block by block, at every iterate, with the same rows as the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bilevel_verify as bv
from bilevel_verify.checks.evidence import blocks, runs
from bilevel_verify.checks.solvers import running
from bilevel_verify.methods import engine, recorder, solve
from bilevel_verify.theorems.library import shipped


@pytest.fixture(autouse=True)
def _no_kept_runs() -> Iterator[None]:
    runs._RUNS.clear()
    yield
    runs._RUNS.clear()


def seen(statement: str, eps: float, **options: Any) -> dict[Any, Any]:
    """Verdict, number of places and margin of every row."""
    runs._RUNS.clear()
    name = statement if "/" in statement else f"restarted-agd-hb/{statement}"
    found = bv.verify("cosine-sum", name, eps=eps, **options)
    return {(r.claim, r.kind, r.left, r.right): (r.verdict, r.places, r.margin, r.reason) for r in found.claims}


def make_everything_long(monkeypatch: pytest.MonkeyPatch, kept: int) -> list[int]:
    """Limits so small that a short run counts as long; the blocks that were judged."""
    monkeypatch.setattr(solve, "may_be_short", lambda setup: False)
    monkeypatch.setattr(recorder, "FULL_ROWS", 10)
    monkeypatch.setattr(running, "MOST_ROWS", 11)
    monkeypatch.setattr(engine, "FIRST_ROWS", 16)
    monkeypatch.setattr(engine.storage, "block_rows", lambda dx, dy: 16)
    monkeypatch.setattr(blocks, "KEPT", kept)
    judged: list[int] = []
    original = blocks.BlockJudge.take

    def take(self: blocks.BlockJudge, block: Any, run: Any = None) -> None:
        judged.append(len(block))
        original(self, block, run)

    monkeypatch.setattr(blocks.BlockJudge, "take", take)
    return judged


def test_epochs_are_judged_as_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = seen("lemma-1", 0.02)
    sizes = make_everything_long(monkeypatch, kept=1000)
    assert seen("lemma-1", 0.02) == whole
    assert len(sizes) > 1
    assert all(verdict == "holds" for verdict, *_ in whole.values())


@pytest.fixture
def long_epoch(tmp_path: Path) -> str:
    """The theorem with other prescriptions: a restart test that is never met, and 70 steps an epoch."""
    text = shipped()["restarted-agd-hb"].read_text(encoding="utf-8")
    for letter, number in {"B": "50", "K": "70"}.items():
        text = re.sub(rf"(?m)^{letter} = .*printed.*$", f'{letter} = "{number}"', text, count=1)
    path = tmp_path / "long.toml"
    path.write_text(text, encoding="utf-8")
    return f"{path}/theorem-1"


def test_steps_of_an_epoch_that_is_too_long_to_keep(monkeypatch: pytest.MonkeyPatch, long_epoch: str) -> None:
    """Neighbours, the start of the epoch and running sums are there; what needs the whole epoch is undecided."""
    whole = seen(long_epoch, 0.05)
    sizes = make_everything_long(monkeypatch, kept=30)
    monkeypatch.setattr(blocks, "LAST", 12)
    in_blocks = seen(long_epoch, 0.05)
    assert len(sizes) > 3
    assert in_blocks.keys() == whole.keys()
    steps = [key for key in whole if key[1] == "step"]
    assert len(steps) >= 3
    assert max(whole[key][1] for key in steps) >= 68
    for key in steps:
        assert in_blocks[key] == whole[key], key
    for key, (verdict, _, _, reason) in in_blocks.items():
        if key[1] == "epoch" and verdict != whole[key][0]:
            assert verdict == "undecided"
            assert "not recorded" in reason


def test_a_false_step_deep_in_the_run_is_found(monkeypatch: pytest.MonkeyPatch, long_epoch: str) -> None:
    """A violation at a row that thinning would have dropped."""
    sizes = make_everything_long(monkeypatch, kept=30)
    places: list[dict[str, Any]] = []
    original = blocks.at_places

    def spy(judged: Any, starts: list[dict[str, Any]]) -> None:
        places.extend(starts)
        original(judged, starts)

    monkeypatch.setattr(blocks, "at_places", spy)
    seen(long_epoch, 0.05)
    assert {place["k"] for place in places} == set(range(70))
    assert sizes


def test_the_work_that_is_allowed_ends_the_judging_and_is_said(
    monkeypatch: pytest.MonkeyPatch, long_epoch: str
) -> None:
    make_everything_long(monkeypatch, kept=30)
    monkeypatch.setattr(blocks.BlockJudge.__init__, "__defaults__", (-1,))
    found = seen(long_epoch, 0.05)
    reasons = [reason for (_, kind, *_), (_, _, _, reason) in found.items() if kind == "step"]
    assert any("budget" in (reason or "") for reason in reasons)
