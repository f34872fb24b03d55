"""Projections onto the feasible sets, with and without one cut, as loops with a compiled copy (agm-bio section 3.3).

The recipes are those of :mod:`bilevel_verify.truth.sets.projections`, which proves the optimality of what it returns;
this module is what a solver loop can afford at every iteration, and the tests hold the two against each other.
Everything works on one table of vectors, ``points``: a function gets the numbers of the rows it reads and writes.
``code`` says which set it is, ``size`` is its radius, total or offset, the rows FIRST and SECOND hold its vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.vectors import copy_into, dot
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.jit import compiled_as, loop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

X, Y, Z, U, W, NEXT, AT, GRADIENT, NORMAL, TARGET, SHIFTED, SUMS, LENGTHS, FIRST, SECOND, UNIT = range(16)
"""Rows of the table of vectors; the first entry of the row UNIT is the unit round-off of the arithmetic."""
POINTS = 16
WHOLE, BOX, BALL, SIMPLEX, L1_BALL, HALF_SPACE, ISOTONIC, OTHER = range(8)
"""Sets; OTHER has no loop: plain Python projects by the function that stands in the place of its size."""
OK, EMPTY, INEXACT = range(3)
ROUNDING = 64.0
"""Units in the last place below which a violated cut counts as touched (as in the truth room)."""
TRUSTED = 1e-9
"""Largest violation of the cut that a returned point may have, relative to the size of the data."""
INFINITE = float("inf")


def __getattr__(name: str) -> Any:
    """What compiled code has for :func:`project_otherwise`, made when something is compiled."""
    if name != "nowhere":
        raise AttributeError(name)
    from bilevel_verify.oracles.compiling import part

    return part(_nowhere)


def _nowhere(projection: float, points: Sequence[Vector], source: int) -> None:
    """Compiled code never comes here: runs on such a set are plain Python."""


@compiled_as("bilevel_verify.methods.simple.sets:nowhere")
def project_otherwise(projection: Callable[[Vector], Vector], points: Sequence[Vector], source: int) -> None:
    """NEXT <- projection of a row by a function on arrays."""
    points[NEXT][:] = projection(points[source])


@loop
def project_onto(code: int, size: Any, points: Any, source: int) -> None:
    """NEXT <- Euclidean projection of a row onto the set."""
    v, out, first, second = points[source], points[NEXT], points[FIRST], points[SECOND]
    n = len(out)
    if code == OTHER:
        project_otherwise(size, points, source)
        return
    if code == BOX:
        for i in range(n):
            out[i] = min(max(v[i], first[i]), second[i])
        return
    if code == ISOTONIC:
        pool(v, out, points[SUMS], points[LENGTHS])
        return
    share, shift = 1.0, 0.0
    if code == BALL:
        square = 0.0
        for i in range(n):
            square = square + (v[i] - first[i]) * (v[i] - first[i])
        share = 1.0 if square <= size * size else size / square_root(square)
    elif code == HALF_SPACE:
        shift = max(0.0, dot(first, v) - size) / dot(first, first)
    elif code in (SIMPLEX, L1_BALL):
        total = 0.0
        for i in range(n):
            out[i] = v[i] if code == SIMPLEX else abs(v[i])
            total = total + out[i]
        if code == SIMPLEX or total > size:
            shift = threshold(out, size)
            for i in range(n):
                kept = max(out[i] - shift, 0.0)
                out[i] = kept if code == SIMPLEX or v[i] > 0.0 else -kept
            return
    for i in range(n):
        out[i] = v[i] - shift * first[i] if share == 1.0 else first[i] + (v[i] - first[i]) * share


@loop
def threshold(v: Vector, total: float) -> float:
    """The shift t with ``sum max(v - t, 0) = total``: the active set shrinks until it reproduces itself."""
    shift, kept = -INFINITE, 0
    for _ in range(len(v) + 1):
        count, above = 0, 0.0
        for i in range(len(v)):
            if v[i] > shift:
                count = count + 1
                above = above + v[i]
        if count == kept or count == 0:
            return shift
        kept = count
        shift = (above - total) / count
    return shift


@loop
def pool(v: Vector, out: Vector, sums: Vector, lengths: Vector) -> None:
    """out <- isotonic regression of v by pooling adjacent violators."""
    blocks = 0
    for i in range(len(v)):
        total, length = v[i], 1.0
        while blocks > 0 and sums[blocks - 1] * length >= total * lengths[blocks - 1]:
            blocks = blocks - 1
            total = total + sums[blocks]
            length = length + lengths[blocks]
        sums[blocks] = total
        lengths[blocks] = length
        blocks = blocks + 1
    place = 0
    for b in range(blocks):
        mean = sums[b] / lengths[b]
        for _ in range(int(lengths[b])):
            out[place] = mean
            place = place + 1


@loop
def project_onto_cut(code: int, size: float, points: Sequence[Vector], b: float) -> int:
    """NEXT <- projection of TARGET onto the set and ``<NORMAL, z> <= b``, for a unit normal and a cut that binds.

    NEXT holds the projection onto the set alone when this is called.
    """
    if code == BALL:
        return ball_and_cut(size, points, b)
    if code in (WHOLE, HALF_SPACE):
        return half_space_and_cut(code, size, points, b)
    return multiplier_of_cut(code, size, points, b)


@loop
def ball_and_cut(radius: float, points: Sequence[Vector], b: float) -> int:
    """Closed form (3.3 (b)): the plane if its foot lies in the ball, else the circle."""
    v, c, out, center, w = points[TARGET], points[NORMAL], points[NEXT], points[FIRST], points[SHIFTED]
    n = len(out)
    height = b - dot(c, center)
    if height < -radius * (1.0 + ROUNDING * points[UNIT][0]):
        return EMPTY
    along = dot(c, v) - dot(c, center)
    square = 0.0
    for i in range(n):
        w[i] = v[i] - center[i] - along * c[i]
        square = square + (w[i] + height * c[i]) * (w[i] + height * c[i])
    share = 1.0
    if square > radius * radius:
        again, span = dot(c, w), 0.0
        for i in range(n):
            w[i] = w[i] - again * c[i]
            span = span + w[i] * w[i]
        rest = square_root(max(0.0, (radius - height) * (radius + height)))
        share = rest / square_root(span) if span > 0.0 else 0.0
    for i in range(n):
        out[i] = center[i] + height * c[i] + share * w[i]
    return OK


@loop
def half_space_and_cut(code: int, offset: float, points: Sequence[Vector], b: float) -> int:
    """The cut alone, or with a half-space: the cut, or both."""
    v, c, out, normal = points[TARGET], points[NORMAL], points[NEXT], points[FIRST]
    n = len(out)
    excess = dot(c, v) - b
    for i in range(n):
        out[i] = v[i] - excess * c[i]
    if code == WHOLE:
        return OK
    norm = square_root(dot(normal, normal))
    d, cosine = offset / norm, dot(normal, c) / norm
    over, sine2 = dot(normal, out) / norm - d, 0.0
    for i in range(n):
        across = normal[i] / norm - cosine * c[i]
        sine2 = sine2 + across * across
    if over <= 0.0:
        return OK
    unit = points[UNIT][0]
    if sine2 <= unit * unit:
        return EMPTY if cosine < 0.0 and b + d < -ROUNDING * unit * (1.0 + abs(b) + abs(d)) else OK
    for i in range(n):
        out[i] = out[i] - over / sine2 * (normal[i] / norm - cosine * c[i])
    return OK


@loop
def multiplier_of_cut(code: int, size: float, points: Sequence[Vector], b: float) -> int:
    """Root of the piecewise linear, non-increasing ``<c, P(v - m c)> - b`` by a safeguarded Newton iteration."""
    v, c, out = points[TARGET], points[NORMAL], points[NEXT]
    scale = 1.0 + abs(b) + square_root(dot(v, v))
    copy_into(v, points[SHIFTED])
    low, high, m = 0.0, INFINITE, 0.0
    best, best_m, left = INFINITE, 0.0, 400
    while left >= 0:
        if m > 0.0 or left == 0:
            m = best_m if left == 0 else m
            for i in range(len(out)):
                points[SHIFTED][i] = v[i] - m * c[i]
            project_onto(code, size, points, SHIFTED)
        value = dot(c, out) - b
        if abs(value) < best:
            best, best_m = abs(value), m
        if abs(value) <= 0.9 * points[UNIT][0] * scale:
            return OK
        low, high = (m, high) if value > 0.0 else (low, m)
        slope = slope_of_cut(code, size, points)
        step = m + value / slope if slope > 0.0 else low
        if not (low < step < high):
            step = 2.0 * m + scale if high == INFINITE else 0.5 * (low + high)
        # a step that cannot move ends the search: once more at the best multiplier that was met
        left = 1 if left > 1 and (step in (low, high) or m > 1e18 * scale) else left
        m = step
        left = left - 1
    if least_on(code, size, points) > b + ROUNDING * points[UNIT][0] * scale:
        return EMPTY
    return OK if best <= TRUSTED * scale else INEXACT


@loop
def slope_of_cut(code: int, size: float, points: Sequence[Vector]) -> float:
    """``c' J c`` for a generalised Jacobian J of the projection of SHIFTED, which is NEXT."""
    shifted, z, c = points[SHIFTED], points[NEXT], points[NORMAL]
    n = len(z)
    total, linear, count = 0.0, 0.0, 0
    length = 0.0
    for i in range(n):
        length = length + abs(shifted[i])
    if code == BOX:
        for i in range(n):
            if points[FIRST][i] < shifted[i] < points[SECOND][i]:
                total = total + c[i] * c[i]
        return total
    if code == ISOTONIC:
        for i in range(n):
            if i > 0 and z[i] != z[i - 1]:
                total = total + linear * linear / count
                linear, count = 0.0, 0
            linear = linear + c[i]
            count = count + 1
        return total + linear * linear / count
    if code == L1_BALL and length <= size:
        return dot(c, c)
    for i in range(n):
        if z[i] != 0.0:
            linear = linear + (c[i] if z[i] > 0.0 else -c[i])
            count = count + 1
    for i in range(n):
        if z[i] != 0.0:
            d = (c[i] if z[i] > 0.0 else -c[i]) - linear / count
            total = total + d * d
    return total


@loop
def least_on(code: int, size: float, points: Sequence[Vector]) -> float:
    """Minimum of ``<NORMAL, z>`` over the set (minus infinity where there is none)."""
    c = points[NORMAL]
    n = len(c)
    total, largest, least = 0.0, 0.0, INFINITE
    tail, inside, slack = 0.0, True, ROUNDING * points[UNIT][0]
    for j in range(n):
        i = n - 1 - j
        largest, least = max(largest, abs(c[i])), min(least, c[i])
        if code == BOX and c[i] != 0.0:
            total = total + c[i] * (points[FIRST][i] if c[i] > 0.0 else points[SECOND][i])
        tail = tail + c[i]
        inside = inside and (tail >= -slack or i == 0)
    if code == BOX:
        return total
    if code == SIMPLEX:
        return size * least
    if code == L1_BALL:
        return -size * largest
    return 0.0 if inside and abs(tail) <= slack else -INFINITE
