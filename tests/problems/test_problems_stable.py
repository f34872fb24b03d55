"""Forms that libraries write for stability, taken back to the smooth atom they are: same value, no kink left."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from seeds import SEED

from bilevel_verify import atoms
from bilevel_verify.problems.stable import stabilise

pytestmark = pytest.mark.fast
x, y, z = sympy.symbols("x y z", real=True)


def _max(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    return a + atoms.plus(b - a)


def _in_parts(t: sympy.Expr) -> sympy.Expr:
    return atoms.plus(t) + sympy.log(1 + sympy.exp(-atoms.abspow(1, t)))


SMOOTH = {
    "softplus": (_in_parts(x * y), atoms.softplus(x * y)),
    "of a difference, beside other terms": (
        z + _max(x, y) + sympy.log(1 + sympy.exp(-atoms.abspow(1, x - y))),
        z + x + atoms.softplus(y - x),
    ),
    "with a factor": (3 * _in_parts(-x) + x, 3 * atoms.softplus(-x) + x),
    "two at once": (_in_parts(x) + _in_parts(y), atoms.softplus(x) + atoms.softplus(y)),
    "logsumexp of three": (
        (m := _max(_max(x, y), z)) + sympy.log(sympy.exp(x - m) + sympy.exp(y - m) + sympy.exp(z - m)),
        x + atoms.logsumexp(0, y - x, z - x),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_the_smooth_atom_is_found_and_has_the_same_value(name: str) -> None:
    written, atom = SMOOTH[name]
    assert stabilise(written) == atom
    assert not atom.has(atoms.pluspow, atoms.abspow)
    draw = np.random.default_rng(SEED)
    for _ in range(10):
        point = dict(zip((x, y, z), draw.normal(size=3) * 3))
        assert float(atom.evalf(30, subs=point)) == pytest.approx(float(written.evalf(50, subs=point)), rel=1e-10)


@pytest.mark.parametrize(
    "kept",
    [
        atoms.plus(x) + atoms.softplus(-atoms.abspow(1, y)),  # another argument
        2 * atoms.plus(x) + atoms.softplus(-atoms.abspow(1, x)),  # another factor
        atoms.plus(x) + atoms.softplus(-atoms.abspow(2, x)),  # a square, not an absolute value
        atoms.plus(x) + atoms.softplus(atoms.abspow(1, x)),  # the other sign
        atoms.plus(x) - atoms.softplus(-atoms.abspow(1, x)),
        atoms.pluspow(2, x) + atoms.softplus(-atoms.abspow(1, x)),
        atoms.logsumexp(x + atoms.plus(y), z),  # not in every exponent
    ],
)
def test_what_only_looks_like_it_stays(kept: sympy.Expr) -> None:
    assert stabilise(kept) == kept


def test_a_smooth_shift_stays_inside() -> None:
    assert stabilise(sympy.log(sympy.exp(x + y) + sympy.exp(x + z))) == atoms.logsumexp(x + y, x + z)
