"""The lower level: y*(x) and y*_lam(x), solved in floats and proved in intervals or balls.

A float solution ``y0`` is turned into an enclosure by Krawczyk's test: with ``R`` a rough inverse of the Hessian,
``|y* - y0| <= |R grad(y0)| + |I - R H(box)| radius`` whenever the right side lies inside the box; the test also proves
that the stationary point is the only one in the box and that the Hessian is positive definite there. Where it fails and
a certified ``mu`` is at hand, ``||grad(y0)|| / mu`` is used. That the stationary point is *the* minimiser is a matter
of convexity of the lower level on the declared range of y, which the certified ``mu`` supplies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MathematicalError
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.numbers.rounding import up
from bilevel_verify.truth.arithmetic.algebra import Balls, Boxes, float_inverse, middle_radius
from bilevel_verify.truth.arithmetic.definite import positive_definite, positive_definite_ball
from bilevel_verify.truth.functions.model import Function, where_valued
from bilevel_verify.truth.lower_level.brackets import ball_bracket, bracket, by_slopes
from bilevel_verify.truth.lower_level.float_solving import FloatArray, FloatLowerLevel
from bilevel_verify.truth.lower_level.newton import evaluate

if TYPE_CHECKING:
    import flint

BOXES, BALLS = Boxes(), Balls()


class LowerLevel(FloatLowerLevel):
    """Solves and certifies the lower level (``lam=None``) and its penalised form ``f + lam g``."""

    proof = "Krawczyk"
    """By what the ball that was asked for last is proved."""

    # ---- intervals ------------------------------------------------------------------------------------------------

    def enclose(
        self,
        X: Sequence[Interval],
        Y: FloatArray,
        lam: FloatArray | Interval | None = None,
        centre: FloatArray | None = None,
    ) -> tuple[list[Interval], NDArray[np.bool_]]:
        """Enclosures of the minimisers for every x in the boxes X, and where they are proved.

        Parameters
        ----------
        X : dx intervals of shape (n,).
        Y : approximate minimisers, shape (n, dy).
        lam : penalty per row (exact floats, or an interval that holds it).
        centre : points (n, dx) of the boxes at which Y was solved; with it, boxes on which the local test fails (large
            or unbounded ones) get an enclosure from global slopes of y*.
        """
        n, dy = Y.shape
        point = [Interval(Y[:, j], Y[:, j]) for j in range(dy)]
        at_point = self._gradient([*X, *point], lam)
        middle = self._middle_hessian([*X, *point], lam)
        inverse = _symmetric(float_inverse(np.where(np.isfinite(middle), middle, 0.0)))
        definite = positive_definite(inverse)
        newton = BOXES.product(Interval(inverse, inverse), at_point).magnitude()[:, :, 0]
        radius, proved = np.full((n, dy), np.inf), np.zeros(n, dtype=bool)
        guess = 2 * newton + 1e-15 * np.abs(Y) + 1e-30
        for _ in range(4):
            todo = np.flatnonzero(~proved & definite & np.isfinite(guess).all(axis=1))
            if not todo.size:
                break
            image = self._krawczyk(X, Y, lam, todo, guess, inverse, newton)
            inside = (image < guess[todo]).all(axis=1)
            radius[todo[inside]], proved[todo[inside]] = image[inside], True
            guess[todo] = np.maximum(8 * guess[todo], 1.5 * np.minimum(image, 1e3 * guess[todo]))
        radius = self._by_mu(radius, at_point, lam, proved)
        found = [
            Interval(np.nextafter(Y[:, j] - radius[:, j], -np.inf), np.nextafter(Y[:, j] + radius[:, j], np.inf))
            for j in range(dy)
        ]
        if lam is None and not proved.all():
            found = self._without_curvature(X, Y, found, proved)
        if centre is not None and not proved.all():
            found = self._by_slopes(X, Y, lam, centre, found, np.flatnonzero(~proved))
        found = where_valued(BOXES, self.model.minimised(lam is not None), [*X, *found], found)
        return found, proved & np.isfinite([[y.lo, y.hi] for y in found]).all(axis=(0, 1))

    def _without_curvature(
        self, X: Sequence[Interval], Y: FloatArray, found: list[Interval], proved: NDArray[np.bool_]
    ) -> list[Interval]:
        """One variable y and a convex g: brackets by the sign of g_y for the rows that are not proved."""
        rows = np.flatnonzero(~proved & np.isfinite(Y[:, 0]))
        if Y.shape[1] != 1 or not rows.size or self.mu is not None or not self.convex:
            return found

        def slope(y: FloatArray, which: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
            out = self._gradient([*(x[which] for x in X), Interval(y, y)], None)
            return out.lo[:, 0, 0], out.hi[:, 0, 0]

        low, high = bracket(slope, Y[rows, 0], rows)
        lo, hi = found[0].lo.copy(), found[0].hi.copy()
        lo[rows], hi[rows] = np.maximum(lo[rows], low), np.minimum(hi[rows], high)
        proved[rows] |= np.isfinite(low) & np.isfinite(high)
        return [Interval(lo, hi)]

    def _by_slopes(
        self,
        X: Sequence[Interval],
        Y: FloatArray,
        lam: FloatArray | Interval | None,
        centre: FloatArray,
        found: list[Interval],
        rows: NDArray[np.intp],
    ) -> list[Interval]:
        """``y*(c) + J (X - c)`` for some rows, cut with what is known."""
        dy, dx = Y.shape[1], centre.shape[1]
        part = [x[rows] for x in X]
        weight = None if lam is None else lam[rows]
        points = [Interval(c, c) for c in np.ascontiguousarray(centre[rows].T)]
        start, sure = self.enclose(points, Y[rows], weight)
        line = np.full(len(rows), np.inf)
        everywhere = [*part, *[Interval(-line, line)] * dy]
        hessian = self._hessian(everywhere, weight)
        cross = self._cross(everywhere, weight)
        wide = by_slopes(hessian, cross, part, centre[rows], start)
        out = []
        for j in range(dy):
            lo, hi = found[j].lo.copy(), found[j].hi.copy()
            lo[rows] = np.where(sure, np.fmax(lo[rows], wide[j].lo), lo[rows])
            hi[rows] = np.where(sure, np.fmin(hi[rows], wide[j].hi), hi[rows])
            out.append(Interval(lo, hi))
        assert dx == len(X)
        return out

    def _cross(self, z: Sequence[Interval], lam: FloatArray | Interval | None) -> Interval:
        """g_yx, shape (n, dy, dx)."""

        def matrix(function: Function) -> Interval:
            dx, dz = function.dx, function.dz
            out = function.second_order.run(BOXES.arithmetic, z)[1 + dz :]
            return BOXES.matrix([out[i * dz : i * dz + dx] for i in range(dx, dz)], z)

        return self._combine(matrix, lam)

    def _krawczyk(
        self,
        X: Sequence[Interval],
        Y: FloatArray,
        lam: FloatArray | Interval | None,
        rows: NDArray[np.intp],
        guess: FloatArray,
        inverse: FloatArray,
        newton: FloatArray,
    ) -> FloatArray:
        part = [x[rows] for x in X]
        below, above = np.nextafter(Y[rows] - guess[rows], -np.inf), np.nextafter(Y[rows] + guess[rows], np.inf)
        box = [Interval(below[:, j], above[:, j]) for j in range(Y.shape[1])]
        hessian = self._hessian([*part, *box], None if lam is None else lam[rows])
        unit = np.broadcast_to(np.eye(Y.shape[1]), hessian.lo.shape)
        product = BOXES.product(Interval(inverse[rows], inverse[rows]), hessian)
        gap = BOXES.subtract(Interval(unit, unit), product).magnitude()
        with np.errstate(invalid="ignore", over="ignore"):
            spread = np.einsum("nij,nj->ni", gap, guess[rows] * (1 + 1e-14) + 1e-300)
            total = up(newton[rows] + spread * (1 + 1e-14))
        return np.where(np.isfinite(total), total, np.inf)

    def _by_mu(
        self, radius: FloatArray, at_point: Interval, lam: FloatArray | Interval | None, proved: NDArray[np.bool_]
    ) -> FloatArray:
        """Where a certified mu is known, the bound ``||grad|| / mu`` for rows that Krawczyk did not prove."""
        if lam is not None or proved.all() or self.mu is None or self.mu <= 0:
            return radius
        size = at_point.magnitude()[:, :, 0]
        with np.errstate(over="ignore"):
            bound = up(np.sqrt(np.sum(size**2, axis=1)) * (1 + 1e-14) / self.mu)
        proved |= np.isfinite(bound)
        return np.where(np.isfinite(bound)[:, None], np.minimum(radius, bound[:, None]), radius)

    def _gradient(self, z: Sequence[Interval], lam: FloatArray | Interval | None) -> Interval:
        def column(function: Function) -> Interval:
            out = function.gradient_y.run(BOXES.arithmetic, z)
            return BOXES.matrix([[v] for v in out], z)

        return self._combine(column, lam)

    def _hessian(self, z: Sequence[Interval], lam: FloatArray | Interval | None) -> Interval:
        def matrix(function: Function) -> Interval:
            d = function.dy
            out = function.hessian_y.run(BOXES.arithmetic, z)
            return BOXES.matrix([out[i * d : (i + 1) * d] for i in range(d)], z)

        return self._combine(matrix, lam)

    def _middle_hessian(self, z: Sequence[Interval], lam: FloatArray | Interval | None) -> FloatArray:
        """The Hessian in y near the middle of the boxes: what it is used for needs no bounds."""
        if not self.model.numbers or lam is not None:
            return middle_radius(self._hessian(z, lam))[0]
        d, centres = self.model.dy, [box.centre() for box in z]
        return evaluate(self.lower.hessian_y, centres, len(centres[-1])).reshape(-1, d, d)

    def _combine(self, part: Any, lam: FloatArray | Interval | None) -> Interval:
        if lam is None:
            return part(self.lower)  # type: ignore[no-any-return]
        weight = lam if isinstance(lam, Interval) else Interval(lam, lam)
        return BOXES.add(part(self.model.upper), BOXES.scale(weight, part(self.lower)))

    # ---- balls ----------------------------------------------------------------------------------------------------

    def ball(self, x: Sequence[flint.arb], y: Sequence[float], lam: flint.arb | None = None) -> list[flint.arb]:
        """Proved balls around the minimiser at one point, at the precision of ``flint.ctx``.

        Parameters
        ----------
        x : dx balls (usually exact).
        y : float solution to start from.
        lam : penalty as a ball, or None.

        Raises
        ------
        MathematicalError : no nondegenerate minimiser was proved near y, or what y minimises has no value there.
        """
        import flint

        middle = [flint.arb(float(v)) for v in y]
        for _ in range(80):
            gradient, hessian = self._ball_parts(x, middle, lam)
            try:
                step = hessian.mid().solve(gradient.mid())
            except ZeroDivisionError:
                break
            new = [(m - step[j, 0]).mid() for j, m in enumerate(middle)]
            moved = max(float(abs(step[j, 0])) / (1e-300 + float(abs(m)) + 1e-30) for j, m in enumerate(middle))
            middle = new
            if moved < 2.0 ** (-0.5 * flint.ctx.prec):  # the step has doubled the digits; the proof looks at the rest
                break
        try:
            self.proof = "Krawczyk"
            found = self._ball_krawczyk(x, middle, lam)
        except MathematicalError:
            one = self._ball_bracket(x, middle, lam)
            if one is None:
                raise
            self.proof = "the sign of g_y"
            found = [one]
        return where_valued(BALLS, self.model.minimised(lam is not None), [*x, *found], found)

    def _ball_bracket(self, x: Sequence[flint.arb], middle: list[flint.arb], lam: flint.arb | None) -> flint.arb | None:
        """One variable y and a convex g: the sign of g_y encloses y* also where its curvature vanishes."""
        if len(middle) != 1 or lam is not None or not self.convex:
            return None
        return ball_bracket(lambda y: self.lower.gradient_y.run(BALLS.arithmetic, [*x, y])[0], middle[0])

    def _ball_krawczyk(self, x: Sequence[flint.arb], middle: list[flint.arb], lam: flint.arb | None) -> list[flint.arb]:
        import flint

        dy = len(middle)
        gradient, hessian = self._ball_parts(x, middle, lam)
        try:
            inverse = hessian.mid().inv().mid()
        except ZeroDivisionError:
            raise MathematicalError(
                "the Hessian of the lower level is singular at the point that Newton found"
            ) from None
        inverse = ((inverse + inverse.transpose()) / 2).mid()
        newton = inverse * gradient
        tiny = flint.arb(2) ** (-flint.ctx.prec + 4)
        sizes = [abs(newton[j, 0]).upper() * 4 + tiny * (abs(middle[j]) + tiny) for j in range(dy)]
        for _ in range(30):
            box = [m + _symmetric_ball(s) for m, s in zip(middle, sizes, strict=True)]
            full = self._ball_parts(x, box, lam)[1]
            gap = BALLS.identity(dy, gradient) - inverse * full
            spread = gap * flint.arb_mat(dy, 1, [_symmetric_ball(s) for s in sizes])
            image = [abs(spread[j, 0] - newton[j, 0]).upper() for j in range(dy)]
            if all(i < s for i, s in zip(image, sizes, strict=True)):
                if not positive_definite_ball(inverse):
                    raise MathematicalError("the stationary point of the lower level is not a minimum in y")
                return [m + _symmetric_ball(i) for m, i in zip(middle, image, strict=True)]
            sizes = [(s * 8).upper() for s in sizes]
        raise MathematicalError(
            "no nondegenerate minimiser of the lower level could be proved near the point Newton found"
        )

    def _ball_parts(
        self, x: Sequence[flint.arb], y: Sequence[flint.arb], lam: flint.arb | None
    ) -> tuple[flint.arb_mat, flint.arb_mat]:
        """Gradient (dy, 1) and Hessian (dy, dy) in y as ball matrices."""
        import flint

        d, out = self.model.dy, self._parts(BALLS.arithmetic, x, y, lam)
        return flint.arb_mat(d, 1, out[:d]), flint.arb_mat(d, d, out[d:])

    def _parts(self, arithmetic: Any, x: Sequence[object], y: Sequence[Any], lam: Any) -> list[Any]:
        """Gradient and Hessian in y of what is minimised, entry by entry, in any arithmetic of single numbers."""
        z = [*x, *y]
        g: list[Any] = self.lower.second_order_y.run(arithmetic, z)[1:]
        if lam is None:
            return g
        f = self.model.upper.second_order_y.run(arithmetic, z)[1:]
        return [a + b * lam for a, b in zip(f, g, strict=True)]


def _symmetric(matrix: FloatArray) -> FloatArray:
    return 0.5 * (matrix + np.swapaxes(matrix, 1, 2))


def _symmetric_ball(size: flint.arb) -> flint.arb:
    import flint

    return flint.arb(0, size)
