"""Statements about one method on one instance share its run; what is found long is not interpreted twice."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks.evidence import runs
from bilevel_verify.checks.solvers import running
from bilevel_verify.methods import interpreted

P = bv.zoo("toy-a")
SCALE = {"eta": 0.01, "theta": 0.5, "B": 0.3, "K": 5, "alpha": 0.1, "beta": 0.2, "T": 3, "Tp": 3, "r": 0.001}


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    runs._RUNS.clear()
    yield
    runs._RUNS.clear()


def case(method: str, seed: int, x0: float = 0.3) -> Any:
    request = SimpleNamespace(
        method=method,
        statement=SimpleNamespace(method=method, algorithm=""),
        card=SimpleNamespace(key="k", digest="d"),
        options={"seed": seed, "budget": 1000},
    )
    instance = SimpleNamespace(start=np.array([x0, 0.0]))
    return SimpleNamespace(
        request=request, problem=P, eps=None, instance=instance, resolved=SimpleNamespace(parameters=SCALE)
    )


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seeds: list[int] = []

    def make(*_: Any, seed: int, **__: Any) -> Any:
        seeds.append(seed)
        return SimpleNamespace(trace=range(40), seed=seed)

    monkeypatch.setattr(runs, "make_run", make)
    return seeds


def test_a_seed_that_nothing_draws_from_makes_no_other_run(made: list[int]) -> None:
    assert runs.run_of(case("rahgd", 1)) is runs.run_of(case("rahgd", 2))
    assert runs.run_of(case("prahgd", 1)) is not runs.run_of(case("prahgd", 2))
    assert made == [1, 1, 2]


def test_runs_are_kept_by_rows_and_the_one_not_asked_for_longest_goes(
    made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "ROWS_KEPT", 100)
    for x0 in (0.1, 0.2, 0.1, 0.3):  # 41 rows each: the third run of another start drives out that of 0.2
        runs.run_of(case("rahgd", 1, x0))
    assert len(made) == 3
    runs.run_of(case("rahgd", 1, 0.1))
    assert len(made) == 3
    runs.run_of(case("rahgd", 1, 0.2))
    assert len(made) == 4


def test_a_run_found_long_is_not_interpreted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, asked = bv.zoo("toy-a"), []
    monkeypatch.setattr(running, "QUICK_BUDGET", 50)
    monkeypatch.setattr(interpreted, "LONG", set())

    def whole(problem: Any, name: str, parameters: Any, x0: Any, given: Any) -> Any:
        asked.append(len(interpreted.LONG))
        return SimpleNamespace(status="budget")

    monkeypatch.setattr(running, "_whole", whole)
    statement: Any = SimpleNamespace(method="rahgd", algorithm="")
    running.make_run(problem, None, statement, None, SCALE, np.zeros(2), budget=1000)  # type: ignore[arg-type]
    assert asked == [0, 1]
