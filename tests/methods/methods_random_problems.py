"""Random problems, twice: as text for the project, and as NumPy formulas written by hand for the transcriptions."""

from __future__ import annotations

import collections

import numpy as np
from seeds import SEED

import bilevel_verify as bv


class Hand:
    """Formulas by hand, with counters: one gradient counts once whatever part is used."""

    def __init__(self):
        self.counts = collections.Counter()


def _linear(coefficients, names):
    return " + ".join(f"({float(c)!r})*{n}" for c, n in zip(coefficients, names))


def _draw(rng, *shape, scale=1.0):
    return np.round(rng.uniform(-1, 1, shape) * scale, 3)


class Single(Hand):
    """f(x) = sum w cos(a.x + p) + q/2 ||x||^2."""

    def __init__(self, rng, dx):
        super().__init__()
        n = 3
        self.w, self.a, self.p = _draw(rng, n, scale=2), _draw(rng, n, dx, scale=1.5), _draw(rng, n, scale=3)
        self.q, self.dx, self.dy = 0.25, dx, 0
        names = [f"x{i + 1}" for i in range(dx)]
        terms = [f"({float(w)!r})*cos({_linear(a, names)} + ({float(p)!r}))" for w, a, p in zip(self.w, self.a, self.p)]
        self.text = " + ".join(terms) + " + 0.125*(" + " + ".join(f"{n}**2" for n in names) + ")"
        self.problem = bv.single_level(f=self.text, x=names)
        self.L = float(np.abs(self.w) @ (self.a**2).sum(1) + self.q)
        self.rho = float(np.abs(self.w) @ (self.a**2).sum(1) ** 1.5)
        self.x0 = _draw(rng, dx, scale=3)

    def f(self, x):
        self.counts["value_f"] += 1
        return float(self.w @ np.cos(self.a @ x + self.p) + self.q / 2 * x @ x)

    def grad(self, x):
        self.counts["grad_f"] += 1
        return -(self.w * np.sin(self.a @ x + self.p)) @ self.a + self.q * x


class Two(Hand):
    """g(x, y) = y'Ay/2 + y'Bx + sum s sin(c.y + d.x), f(x, y) = sum w cos(a.x + b.y + p) + ||y - t||^2/4."""

    def __init__(self, rng, dx, dy):
        super().__init__()
        n = 2
        self.dx, self.dy = dx, dy
        self.diagonal = np.round(rng.uniform(1, 2, dy), 3)
        self.B = _draw(rng, dy, dx, scale=0.8)
        self.s, self.c, self.d = _draw(rng, n, scale=0.3), _draw(rng, n, dy, scale=0.8), _draw(rng, n, dx)
        self.w, self.a, self.b = _draw(rng, n, scale=1), _draw(rng, n, dx, scale=1.2), _draw(rng, n, dy)
        self.p, self.t = _draw(rng, n, scale=3), _draw(rng, dy)
        xs, ys = [f"x{i + 1}" for i in range(dx)], [f"y{i + 1}" for i in range(dy)]
        self.g_text = " + ".join(
            [f"({float(m)!r})*{y}**2/2" for m, y in zip(self.diagonal, ys)]
            + [f"{y}*({_linear(row, xs)})" for y, row in zip(ys, self.B)]
            + [f"({float(s)!r})*sin({_linear(c, ys)} + {_linear(d, xs)})" for s, c, d in zip(self.s, self.c, self.d)]
        )
        self.f_text = " + ".join(
            [
                f"({float(w)!r})*cos({_linear(a, xs)} + {_linear(b, ys)} + ({float(p)!r}))"
                for w, a, b, p in zip(self.w, self.a, self.b, self.p)
            ]
            + [f"({y} - ({float(t)!r}))**2/4" for y, t in zip(ys, self.t)]
        )
        self.problem = bv.bilevel(f=self.f_text, g=self.g_text, x=xs, y=ys)
        self.ell = float(self.diagonal.max() + np.abs(self.s) @ (self.c**2).sum(1))
        self.mu = float(self.diagonal.min() - np.abs(self.s) @ (self.c**2).sum(1))
        self.x0, self.y0 = _draw(rng, dx, scale=2), _draw(rng, dy, scale=1)

    def _sin_g(self, x, y):
        return np.sin(self.c @ y + self.d @ x)

    def f(self, x, y):
        self.counts["value_f"] += 1
        return float(self.w @ np.cos(self.a @ x + self.b @ y + self.p) + ((y - self.t) ** 2).sum() / 4)

    def g(self, x, y):
        self.counts["value_g"] += 1
        return float(self.diagonal @ y**2 / 2 + y @ self.B @ x + self.s @ self._sin_g(x, y))

    def grad_f(self, x, y, count="grad_f"):
        self.counts[count] += 1
        u = -self.w * np.sin(self.a @ x + self.b @ y + self.p)
        return u @ self.a, u @ self.b + (y - self.t) / 2

    def grad_g(self, x, y, count="grad_g"):
        self.counts[count] += 1
        u = self.s * np.cos(self.c @ y + self.d @ x)
        return y @ self.B + u @ self.d, self.diagonal * y + self.B @ x + u @ self.c

    def yy_g(self, x, y):
        return np.diag(self.diagonal) - (self.c.T * (self.s * self._sin_g(x, y))) @ self.c

    def xy_g(self, x, y):
        return self.B.T - (self.d.T * (self.s * self._sin_g(x, y))) @ self.c

    def yy_f(self, x, y):
        return np.eye(self.dy) / 2 - (self.b.T * (self.w * np.cos(self.a @ x + self.b @ y + self.p))) @ self.b

    def hvp(self, x, y, v):
        self.counts["hvp_yy_g"] += 1
        return self.yy_g(x, y) @ v

    def jvp(self, x, y, v):
        self.counts["jvp_xy_g"] += 1
        return self.xy_g(x, y) @ v

    def hess_g(self, x, y):
        self.counts["hess_g"] += 1
        return self.xy_g(x, y), self.yy_g(x, y)


class Saddle(Hand):
    """min over x, max over y of f(x, y) = sum w cos(a.x + p) + y'Bx - y'Ay/2 + sum s sin(c.y)."""

    def __init__(self, rng, dx, dy):
        super().__init__()
        n = 2
        self.dx, self.dy = dx, dy
        self.diagonal, self.B = np.round(rng.uniform(1, 2, dy), 3), _draw(rng, dy, dx, scale=0.8)
        self.w, self.a, self.p = _draw(rng, n, scale=1.5), _draw(rng, n, dx, scale=1.2), _draw(rng, n, scale=3)
        self.s, self.c = _draw(rng, n, scale=0.3), _draw(rng, n, dy, scale=0.8)
        xs, ys = [f"x{i + 1}" for i in range(dx)], [f"y{i + 1}" for i in range(dy)]
        self.text = " + ".join(
            [f"({float(w)!r})*cos({_linear(a, xs)} + ({float(p)!r}))" for w, a, p in zip(self.w, self.a, self.p)]
            + [f"{y}*({_linear(row, xs)}) - ({float(m)!r})*{y}**2/2" for y, row, m in zip(ys, self.B, self.diagonal)]
            + [f"({float(s)!r})*sin({_linear(c, ys)})" for s, c in zip(self.s, self.c)]
        )
        self.problem = bv.minimax(f=self.text, x=xs, y=ys)
        self.ell = float(self.diagonal.max() + np.abs(self.s) @ (self.c**2).sum(1))
        self.x0, self.y0 = _draw(rng, dx, scale=2), _draw(rng, dy, scale=1)

    def grad_f(self, x, y):
        self.counts["grad_f"] += 1
        u, v = -self.w * np.sin(self.a @ x + self.p), self.s * np.cos(self.c @ y)
        return u @ self.a + y @ self.B, self.B @ x - self.diagonal * y + v @ self.c


SIZES = [(1, 1), (1, 2), (2, 1), (2, 3), (3, 2), (4, 1), (1, 5), (5, 3), (3, 4), (2, 5)]


def singles(count, salt=0):
    """Single-level problems of dimensions 1 to 5."""
    return [Single(np.random.default_rng([SEED, salt, i]), 1 + i % 5) for i in range(count)]


def bilevels(count, salt=1):
    """Bilevel problems with dx != dy almost everywhere."""
    return [Two(np.random.default_rng([SEED, salt, i]), *SIZES[i % len(SIZES)]) for i in range(count)]


def saddles(count, salt=2):
    """Minimax problems."""
    return [Saddle(np.random.default_rng([SEED, salt, i]), *SIZES[i % len(SIZES)]) for i in range(count)]
