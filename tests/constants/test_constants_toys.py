"""The toy problems of ragd-gs with all constants stated: exponents exactly, constants at most the stated ones.

``g = y'Ay/2 + y'Bx + sum a_i psi_nu(c_i.(x,y) + p_i)`` and ``f = sum b_j cos(d_j.(x,y) + q_j) + sum w_j psi'_nu(u_j.x)
+ e.y``. The stated constants are transcribed below; sampled quotients come from the definition of psi in plain NumPy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from constants_generator import SEED

from bilevel_verify import problems
from bilevel_verify.atoms.functions import AtomFunction
from bilevel_verify.constants import constants
from bilevel_verify.problems.problem import Problem


def psi3(nu: float, t: np.ndarray) -> np.ndarray:
    """Third derivative: ``sgn(s) |s|^nu`` of the triangle wave."""
    u = np.mod(t + 1, 4)
    s = np.where(u <= 2, u - 1, 3 - u)
    return np.sign(s) * np.abs(s) ** nu


@dataclass(frozen=True)
class Toy:
    """Numbers of one instance; ``nu_g`` and ``nu_f`` as fractions."""

    A: np.ndarray
    B: np.ndarray
    a: np.ndarray
    c: np.ndarray
    b: np.ndarray
    d: np.ndarray
    w: np.ndarray
    u: np.ndarray
    e: np.ndarray
    nu_g: Fraction
    nu_f: Fraction

    @property
    def dx(self) -> int:
        return self.B.shape[1]

    @property
    def dy(self) -> int:
        return self.B.shape[0]

    def problem(self) -> Problem:
        x, y = [f"x{i + 1}" for i in range(self.dx)], [f"y{i + 1}" for i in range(self.dy)]
        z = x + y
        g = [f"({self.A[i, j]!s})/2*{y[i]}*{y[j]}" for i in range(self.dy) for j in range(self.dy)]
        g += [f"({self.B[i, j]!s})*{y[i]}*{x[j]}" for i in range(self.dy) for j in range(self.dx)]
        g += [f"({a!s})*psi({self.nu_g}, {_form(c, z)} + {i}/3)" for i, (a, c) in enumerate(zip(self.a, self.c))]
        f = [f"({b!s})*cos({_form(d, z)} + {i})" for i, (b, d) in enumerate(zip(self.b, self.d))]
        f += [f"({w!s})*psi_d(1, {self.nu_f}, {_form(u, x)})" for w, u in zip(self.w, self.u)]
        f += [f"({v!s})*{name}" for v, name in zip(self.e, y)]
        return problems.bilevel(f=" + ".join(f), g=" + ".join(g), x=x, y=y)

    def stated(self) -> dict[str, float]:
        """The constants as stated for the family."""
        nu_g, nu_f = float(self.nu_g), float(self.nu_f)
        c, cy = _norms(self.c), _norms(self.c[:, self.dx :])
        d, dx, dy = _norms(self.d), _norms(self.d[:, : self.dx]), _norms(self.d[:, self.dx :])
        a, b, w, u = np.abs(self.a), np.abs(self.b), np.abs(self.w), _norms(self.u)
        zero = np.zeros((self.dx, self.dx))
        block = np.block([[zero, self.B.T], [self.B, self.A]])
        return {
            "mu": float(np.linalg.eigvalsh(self.A)[0] - (a * cy**2).sum() / (1 + nu_g)),
            "L_g": float(np.linalg.norm(block, 2) + (a * c**2).sum() / (1 + nu_g)),
            "rho_g": float((a * c**3).sum()),
            "M_g": float(2 ** (1 - nu_g) * (a * c ** (3 + nu_g)).sum()),
            "C_f": float((b * dy).sum() + np.linalg.norm(self.e)),
            "L_f": float((b * d**2).sum() + (w * u**2).sum()),
            "rho_f": float((b * d**3).sum()),
            "H_f": float(2 ** (1 - nu_f) * ((b * dx**2 * d**nu_f).sum() + (w * u ** (2 + nu_f)).sum())),
        }

    def sampled_third(self, rng: np.random.Generator) -> float:
        """Largest sampled quotient of ``D^3 g`` along the rows (whatever is reached is a lower bound)."""
        nu, best = float(self.nu_g), 0.0
        shifts = np.arange(len(self.a)) / 3
        for row, shift in zip(self.c, shifts):
            unit = row / np.linalg.norm(row)
            middle = rng.normal(size=(4000, len(row)))
            middle -= np.outer((middle @ row + shift) / (row @ row), row)  # on the kink of this term
            step = 10.0 ** rng.uniform(-6, 0.3, size=(4000, 1))
            left, right = middle - step * unit, middle + step * unit * rng.integers(0, 2, size=(4000, 1))
            cube = self.a * (self.c @ unit) ** 3
            difference = sum(
                k * (psi3(nu, left @ r + s) - psi3(nu, right @ r + s)) for k, r, s in zip(cube, self.c, shifts)
            )
            best = max(best, float((np.abs(difference) / np.linalg.norm(left - right, axis=1) ** nu).max()))
        return best

    def sampled_xx(self, rng: np.random.Generator, exponent: Fraction) -> float:
        """Largest sampled quotient of ``nabla^2_xx f`` along the rows ``u_j``, to an exponent at most that of f."""
        nu, best, shifts = float(self.nu_f), 0.0, np.arange(len(self.b))
        for row in self.u:
            unit = row / np.linalg.norm(row)
            x = rng.normal(size=(4000, self.dx))
            x -= np.outer((x @ row) / (row @ row), row)
            step = 10.0 ** rng.uniform(-6, 0.3, size=(4000, 1))
            y = rng.normal(size=(4000, self.dy))
            left, right = x - step * unit, x + step * unit * rng.integers(0, 2, size=(4000, 1))
            total = np.zeros(4000)
            for w, r in zip(self.w, self.u):
                total += w * (r @ unit) ** 2 * (psi3(nu, left @ r) - psi3(nu, right @ r))
            for b, r, s in zip(self.b, self.d, shifts):
                own = (r[: self.dx] @ unit) ** 2
                y_part = y @ r[self.dx :] + s
                total -= b * own * (np.cos(left @ r[: self.dx] + y_part) - np.cos(right @ r[: self.dx] + y_part))
            distances = np.linalg.norm(left - right, axis=1) ** float(exponent)
            best = max(best, float((np.abs(total) / distances).max()))
        return best


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((rows**2).sum(axis=1)))


def _form(row: np.ndarray, names: list[str]) -> str:
    return " + ".join(f"({c!s})*{v}" for c, v in zip(row, names))


def _rows(rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    rows = rng.integers(-4, 5, size=(count, n)) / 4
    rows[np.abs(rows).sum(axis=1) == 0, 0] = 1.0
    return rows


def random_toy(rng: np.random.Generator) -> Toy:
    """A random instance of the family."""
    dx, dy = (int(v) for v in rng.integers(1, 4, size=2))
    ridges = int(rng.integers(1, 4))
    exponents = [Fraction(n, 8) for n in (1, 2, 4, 6)]
    return Toy(
        A=np.eye(dy) * 8 + np.ones((dy, dy)) / 2,
        B=rng.integers(-4, 5, size=(dy, dx)) / 4,
        a=rng.choice([-1, 1], size=ridges) * rng.integers(1, 5, size=ridges) / 4,
        c=_rows(rng, ridges, dx + dy),
        b=rng.integers(1, 5, size=2) / 4,
        d=_rows(rng, 2, dx + dy),
        w=rng.choice([-1, 1], size=2) * rng.integers(1, 5, size=2) / 4,
        u=_rows(rng, 2, dx),
        e=rng.integers(-2, 3, size=dy) / 2,
        nu_g=exponents[int(rng.integers(4))],
        nu_f=exponents[int(rng.integers(4))],
    )


@pytest.mark.parametrize("number", range(3))
def test_exponents_exactly_and_constants_at_most_as_stated(number: int) -> None:
    rng = np.random.default_rng([SEED, number])
    toy = random_toy(rng)
    found, stated = constants(toy.problem()), toy.stated()
    cancelled = not toy.problem().f.atoms(AtomFunction)  # weights of opposite sign: then f is smooth
    nu_f = Fraction(1) if cancelled else toy.nu_f
    for name, nu in (("nu_g", toy.nu_g), ("nu_f", nu_f)):
        assert Fraction(int(found[name].exact.p), int(found[name].exact.q)) == nu, (SEED, number, name)
    for name, value in stated.items():
        assert found[name].certified
        if name == "mu":
            assert found[name].value >= value - 1e-9, (SEED, number)
        else:
            assert found[name].value <= value * (1 + 1e-4) + 1e-9, (SEED, number, name)
    for name, sampled in (("M_g", toy.sampled_third(rng)), ("H_f", toy.sampled_xx(rng, nu_f))):
        assert found[name].value >= sampled * (1 - 1e-6) - 1e-9, (SEED, number, name)
        assert 0 < found[name].lower <= found[name].value, (SEED, number, name)


def test_one_term_is_sharp_and_reached() -> None:
    one = np.array([[1.0, -1.0]])
    toy = Toy(
        A=np.eye(1) * 4, B=np.zeros((1, 1)), a=np.array([0.5]), c=one, b=np.array([0.0]), d=one, w=np.array([2.0]),
        u=np.array([[3.0]]), e=np.zeros(1), nu_g=Fraction(1, 4), nu_f=Fraction(3, 4),
    )  # fmt: skip
    found = constants(toy.problem())
    for name in ("M_g", "H_f"):
        assert found[name].value == pytest.approx(toy.stated()[name], rel=1e-12)
        assert found[name].lower == pytest.approx(toy.stated()[name], rel=1e-12)
        assert found[name].attained
    assert found["M_g"].exact is not None
    assert math.isclose(toy.sampled_third(np.random.default_rng(0)), found["M_g"].value, rel_tol=1e-3)
