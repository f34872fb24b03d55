"""Written-out sums of one shape are sums over data again: same function, bounds that hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from bilevel_verify import problems
from bilevel_verify.atoms.datasum import DataSum
from bilevel_verify.constants import constants
from bilevel_verify.constants.formula.gathering import gathered
from bilevel_verify.oracles import oracles


def cleaning(samples: int = 10, dimension: int = 6) -> Any:
    """A small hyper-cleaning problem, written out, x in a box."""
    rng = np.random.default_rng(4)
    A = np.round(rng.normal(size=(samples, dimension)), 2)
    rows = ["+".join(f"({a})*y{j + 1}" for j, a in enumerate(row)) for row in A]
    g = " + ".join(f"sigmoid(x{i + 1})*softplus({row} + {i})/{samples}" for i, row in enumerate(rows))
    g += " + " + " + ".join(f"0.05*y{j + 1}**2" for j in range(dimension))
    box = {f"x{i + 1}": (-2, 2) for i in range(samples)} | {f"y{j + 1}": (-3, 3) for j in range(dimension)}
    return problems.bilevel(f="x1*y1", g=g, x=f"x{{1..{samples}}}", y=f"y{{1..{dimension}}}", domain=box)


def test_the_same_function() -> None:
    p = cleaning()
    terms = sympy.Add(*[t for t in sympy.Add.make_args(p.g) if not t.is_polynomial()])
    found: Any = gathered(terms, p.variables)
    assert isinstance(found, DataSum)
    point = dict(zip(p.variables, np.random.default_rng(0).normal(size=len(p.variables))))
    total = 0.0
    for i in range(found.count):
        values = {}
        for name, f in found.forms.items():
            values[name] = float(f.matrix[i] @ np.array([point[v] for v in f.variables]))
        for name, column in found.columns.items():
            values[name] = float(column.values[i])
        total += float(found.body.subs(values))
    assert abs(total * float(found.scale) - float(terms.subs(point))) < 1e-9


def test_few_variables_stay_as_they_are() -> None:
    p = cleaning()
    assert gathered(p.g, p.variables[:12]) is p.g


def test_bounds_hold_and_strong_convexity_is_seen() -> None:
    p = cleaning()
    table = constants(p)
    assert table["mu"].certified
    assert 0.1 - 1e-9 <= table["mu"].value <= 0.11
    assert table["L_g"].certified
    o = oracles(p)
    rng = np.random.default_rng(2)
    for _ in range(20):
        xx, xy, yy = o.hess_g(rng.uniform(-2, 2, size=p.dx), rng.uniform(-3, 3, size=p.dy))
        values = np.linalg.eigvalsh(np.block([[xx, xy], [xy.T, yy]]))
        assert max(abs(values)) <= table["L_g"].value
        assert np.linalg.eigvalsh(yy)[0] >= table["mu"].value
