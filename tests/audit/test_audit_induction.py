"""Induction over sums, products and powers, remainders, and the bounds of functions that the SMT solver is given."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf
from seeds import SEED

from bilevel_verify.audit.formula import check
from bilevel_verify.audit.scalar.smt_translation import BOUNDS

TRUE = [
    ("sum(1/(i+1), (i, 0, k-1)) <= log(k) + 1", "k = integers 1.."),
    ("sum(c/(i+1), (i, 0, k-1)) + k == c*sum(1/(i+1), (i, 0, k-1)) + k", "k = integers 1..; c = (0, oo)"),
    ("prod(1+1/i, (i, 1, k)) <= k + 1", "k = integers 1.."),
    ("prod(1-1/(i+1)**2, (i, 1, k)) == (k+2)/(2*(k+1))", "k = integers 1.."),
    ("(1-t)**n <= exp(-n*t)", "n = integers 1..; t = [0, 1]"),
    ("(1-t)**n >= 1-n*t", "n = integers 0..; t = [0, 1]"),
    ("k*(k-1) % 2 == 0", "k = integers 1.."),
    ("(k**2+k+1) % 3 <= 1", "k = integers 0.."),
    ("sin(x) <= x", "x = [0, oo)"),
    ("sign(a)*a == abs(a)", "a = (-oo, oo)"),
]
FALSE = [
    ("sum(1/(i+1), (i, 0, k-1)) <= log(k) + 99/100", "k = integers 1.."),
    ("sum(c/(i+1), (i, 0, k-1)) + k == c*sum(1/(i+1), (i, 0, k)) + k", "k = integers 1..; c = (0, oo)"),
    ("prod(1-1/(i+1)**2, (i, 1, k)) >= 51/100", "k = integers 1.."),
    ("prod(1-1/i, (i, 1, k)) >= 1/k", "k = integers 1.."),
    ("(1-t)**n <= exp(-n*t) - 1/1000", "n = integers 1..; t = [0, 1]"),
    ("(1-t)**n <= (1-t)**(n+1)", "n = integers 1..; t = [0, 2]"),
    ("(-1)**n <= 1/2", "n = integers 1.."),
    ("(k**2+1) % 3 <= 1", "k = integers 0.."),
    ("(k**2/2) % 2 <= 2/5", "k = integers 0.."),
]


@pytest.mark.parametrize(("text", "ranges"), TRUE)
def test_true_ones_are_proved(text: str, ranges: str) -> None:
    assert check(text, ranges, seconds=6)[0].verdict == "holds"


@pytest.mark.parametrize(("text", "ranges"), FALSE)
def test_false_ones_are_refuted(text: str, ranges: str) -> None:
    finding = check(text, ranges, seconds=2)[0]
    assert finding.verdict == "refuted"
    assert finding.script is not None


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_every_bound_of_a_function_is_true(name: str) -> None:
    """Guards and facts at numbers of every size, in 60 digits."""
    random = np.random.default_rng(SEED)
    values = [0.0, *(sign * 10.0 ** random.uniform(-6, 2) for sign in (-1, 1) for _ in range(200))]
    function = {"asinh": mp.asinh, "atan": mp.atan}.get(name) or getattr(mp, name)
    before = mp.dps
    mp.dps = 60
    try:
        for value in values:
            t = mpf(float(value))
            v = function(t)
            if name in ("tanh", "erf") and abs(v) == 1:
                continue  # 60 digits do not tell it from 1
            for guard, fact in BOUNDS[name](t, v):
                assert fact or not guard, f"seed {SEED}: {name}({value})"
    finally:
        mp.dps = before
