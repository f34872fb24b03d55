"""Certified constants of forms with rules of their own against what a search reaches (more: the thorough run)."""

from __future__ import annotations

import numpy as np
import pytest
from constants_attack import FORMS, Derivatives, Drawn, ascended, contradictions, drawn, grows, largest, least_curvature

import bilevel_verify as bv


@pytest.mark.parametrize("form", FORMS)
def test_no_constant_is_exceeded(form: str) -> None:
    problem = next(made for made in (drawn(form, seed) for seed in range(100, 200)) if len(made.x) == 2)
    assert contradictions(problem, 1_000, effort=0.05, highest=3) == (3, [])


def test_the_search_reaches_what_is_known() -> None:
    """x^2 y - y^3 on [-2, 2]^2: |H| = 2 sqrt(5)..., from its entries; third derivatives are constant."""
    known = Drawn("known", "x1**2*y1 - y1**3/3", ("x1",), ("y1",), 2.0)
    derivatives, rng = Derivatives(known), np.random.default_rng(0)
    assert largest(known, derivatives, 2, 500, rng) == pytest.approx(4 * np.sqrt(2), rel=1e-9)  # 2 |(x, y)|
    assert largest(known, derivatives, 3, 100, rng) == pytest.approx(2.0, rel=1e-6)
    assert least_curvature(known, derivatives, 100, rng) == pytest.approx(-4.0, rel=1e-9)
    start = np.array([[0.5, 0.5]])
    u = np.array([[1.0, 0.0]])
    assert ascended(derivatives, 2, start, u, np.ones(1), 2.0)[0] == pytest.approx(4 * np.sqrt(2), rel=1e-2)


def test_growth_is_seen_and_boundedness_too() -> None:
    growing = Drawn("known", "x1*y1**3", ("x1",), ("y1",), None)
    bounded = Drawn("known", "sin(x1)*cos(y1)", ("x1",), ("y1",), None)
    rng = np.random.default_rng(0)
    assert grows(Derivatives(growing), 2, rng)
    assert not grows(Derivatives(bounded), 2, rng)


@pytest.mark.parametrize(("letter", "factor"), [("mu", 1.2), ("L_g", 0.95), ("rho_g", 0.9)])
def test_a_constant_that_is_wrong_is_told(letter: str, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    true = bv.constants

    def wrong(*args: object, **options: object) -> dict[str, object]:
        found = true(*args, **options)[letter]  # type: ignore[arg-type]
        stand_in = type("Wrong", (), {"value": factor * found.value, "lower": found.lower})
        return {letter: stand_in()}

    problem = Drawn("planted", "x1**2/4 + y1**2 + sin(x1 - 2*y1)/5", ("x1",), ("y1",), 2.0)
    assert contradictions(problem, 2_000, 1.0, (letter,))[1] == []
    monkeypatch.setattr(bv, "constants", wrong)
    assert len(contradictions(problem, 2_000, 1.0, (letter,))[1]) == 1
