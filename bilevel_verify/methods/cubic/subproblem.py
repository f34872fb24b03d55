r"""The cubic sub-problem :math:`\min_s g^\top s+\frac12 s^\top Hs+\frac M6\|s\|^3`, by the secular equation.

With :math:`H=V\,\mathrm{diag}(w)V^\top` the minimiser is :math:`s=-(H+\frac M2 rI)^{-1}g` with
:math:`r=\|s\|\ge\max\{0,-2w_{\min}/M\}` (fsba sheet, 3.9 and Lemma B.5). The unknown is the excess
:math:`e=r-\max\{0,-2w_{\min}/M\}`, so that nothing cancels near the hard case. An eigendecomposition can be reused for
many gradients, which is what lazy Hessians are for. Arrays are float64, or objects that hold mpmath numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.cubic.arithmetic import (
    Array,
    Number,
    all_finite,
    is_precise,
    norm,
    smallest,
    square_root,
    symmetric_eigen,
    unit_roundoff,
)

NEWTON_STEPS = 400
SMALL, LARGE = 1e-100, 1e100
"""Gradients outside these norms are rescaled, so that no square leaves the range of floats."""


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Eigendecomposition of a symmetric matrix: ``values`` ascending, ``vectors`` in columns (sign fixed)."""

    values: Array
    vectors: Array

    @staticmethod
    def of(matrix: Array) -> Spectrum:
        """Decompose; the largest entry of every eigenvector is positive, so that runs repeat.

        Raises
        ------
        ParameterError : the matrix is not square, or has entries that are not finite.
        """
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ParameterError(f"the Hessian of a cubic model must be a square matrix, not of shape {matrix.shape}")
        if not all_finite(matrix):
            raise ParameterError("the Hessian of a cubic model has entries that are not finite")
        values, vectors = symmetric_eigen((matrix + matrix.T) / 2)
        largest = np.argmax(np.abs(vectors), axis=0)
        signs = np.array([1 if entry > 0 else -1 for entry in vectors[largest, np.arange(len(values))]])
        return Spectrum(values, np.ascontiguousarray(vectors * signs))


@dataclass(frozen=True, slots=True)
class CubicStep:
    """A global minimiser with its certificate (the two conditions of Lemma B.5).

    Attributes
    ----------
    s, r : the step and its length (the root; equal to ``norm(s)`` up to rounding).
    residual : norm of ``g + H s + M/2 |s| s``, Euclidean, computed from the decomposition.
    scale : ``|g| + |H| |s| + M/2 |s|^2``; ``residual / scale`` is the relative error.
    curvature : smallest eigenvalue of ``H + M/2 |s| I`` (nonnegative up to rounding).
    hard : whether a multiple of the lowest eigenvector had to be added.
    value : of the model at ``s``.
    """

    s: Array
    r: Number
    residual: Number
    scale: Number
    curvature: Number
    hard: bool
    value: Number

    def optimal(self, tolerance: float = 1e-12) -> bool:
        """Whether both conditions of Lemma B.5 hold to a relative tolerance, so that the step is a global minimiser."""
        return bool(self.residual <= tolerance * self.scale and self.curvature * self.r >= -tolerance * self.scale)


def minimise(gradient: Array, hessian: Array | Spectrum, M: Number) -> CubicStep:
    """Global minimiser of the cubic model.

    Parameters
    ----------
    gradient : g, shape (d,).
    hessian : H, shape (d, d), symmetric; or its decomposition.
    M : weight of the cubic term.

    Raises
    ------
    ParameterError : M is not positive, g or H is not finite, or their shapes do not fit.
    """
    if not (M > 0 and M - M == 0):
        raise ParameterError(f"the weight M of the cubic term must be positive, not {M!r}")
    if not all_finite(gradient):
        raise ParameterError("the gradient of a cubic model has entries that are not finite")
    spectrum = hessian if isinstance(hessian, Spectrum) else Spectrum.of(_matrix(hessian))
    if np.shape(gradient) != (len(spectrum.values),):
        raise ParameterError(
            f"a cubic model needs g of shape (d,) and H of shape (d, d), not {np.shape(gradient)} and "
            f"{spectrum.vectors.shape}"
        )
    size = np.max(np.abs(gradient), initial=0 * M)
    lowest = spectrum.values[0]
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        if not is_precise(gradient) and (LARGE < size < np.inf or (0 < size < SMALL and lowest >= 0)):
            return _in_other_units(gradient, spectrum, M, 2.0 ** round(float(np.log2(size)) / 2))
        return _solved(gradient, spectrum, M)


def _in_other_units(gradient: Array, spectrum: Spectrum, M: float, unit: float) -> CubicStep:
    """The same model with s measured in ``unit``, a power of 2: ``g/unit^2``, ``H/unit``, M; free of rounding."""
    found = _solved(gradient / unit / unit, Spectrum(spectrum.values / unit, spectrum.vectors), M)
    square = unit * unit
    return CubicStep(
        found.s * unit,
        found.r * unit,
        found.residual * square,
        found.scale * square,
        found.curvature * unit,
        found.hard,
        found.value * square * unit,
    )


def _solved(gradient: Array, spectrum: Spectrum, M: Number) -> CubicStep:
    rotated = spectrum.vectors.T @ gradient
    base = max(0 * spectrum.values[0], -2 * spectrum.values[0] / M)
    gaps = spectrum.values - spectrum.values[0] if base > 0 else spectrum.values.copy()
    # beside a negative eigenvalue a gradient this small is 0: the residual, which keeps it, is far below rounding
    seen = 0 * rotated if norm(rotated) < unit_roundoff(rotated) ** 8 * M * base * base else rotated
    coefficients, r, hard = _coefficients(seen, gaps, base, M)
    return _certified(gradient, spectrum, rotated, coefficients, r, hard, M)


def _matrix(hessian: object) -> Array:
    matrix = np.asarray(hessian)
    return matrix if matrix.dtype == object else matrix.astype(float)


def _coefficients(rotated: Array, gaps: Array, base: Number, M: Number) -> tuple[Array, Number, bool]:
    """The step in the eigenbasis, its length, and whether it is the hard case."""
    if base > 0:
        inside = np.where(gaps > 0, -rotated / np.where(gaps > 0, gaps, 1), 0 * rotated)
        lowest = np.asarray(gaps <= 0, dtype=bool)
        short = norm(inside)
        if not np.any(rotated[lowest] != 0) and short <= base:
            inside[int(np.argmax(lowest))] = square_root(max(0 * base, (base - short) * (base + short)))
            return inside, base, True
    if not np.any(rotated != 0):
        return 0 * rotated, 0 * base, False
    excess = _excess(rotated, gaps, base, M)
    return -rotated / (gaps + M * excess / 2), base + excess, False


def _excess(rotated: Array, gaps: Array, base: Number, M: Number) -> Number:
    """Root of ``|g / (gap + M e / 2)| = base + e``: Newton on the reciprocal form, kept inside a bracket."""
    low: Number = 0 * base
    high: Number = square_root(2 * norm(rotated) / M)
    e, unit, tiny = high, unit_roundoff(rotated), smallest(rotated)
    for _ in range(NEWTON_STEPS):
        shifted = gaps + M * e / 2
        ratio = rotated / shifted
        length = norm(ratio)
        gap = length - (base + e)
        if gap > 0:
            low = e
        else:
            high = e
        if gap == 0 or high - low <= unit * high:
            break
        slope = -M / 2 * np.sum(ratio * ratio / shifted) / length
        step = _newton(e, length, base + e, slope)
        e = step if low < step < high else _between(low, high)
        if high < tiny:
            return high
    return e


def _newton(e: Number, length: Number, target: Number, slope: Number) -> Number:
    """One Newton step on ``1/length - 1/target`` (nearly linear in e)."""
    value = 1 / length - 1 / target
    derivative = -slope / (length * length) + 1 / (target * target)
    return e - value / derivative


def _between(low: Number, high: Number) -> Number:
    """Geometric middle of a bracket, so that tiny roots are found in few steps."""
    return square_root(low * high) if low > 0 else high / 10**4


def _certified(
    gradient: Array, spectrum: Spectrum, rotated: Array, coefficients: Array, r: Number, hard: bool, M: Number
) -> CubicStep:
    s = spectrum.vectors @ coefficients
    length = norm(coefficients)
    left = rotated + spectrum.values * coefficients + M / 2 * length * coefficients
    largest = np.max(np.abs(spectrum.values))
    scale = norm(gradient) + largest * length + M / 2 * length * length
    value: Number = rotated.dot(coefficients) + spectrum.values.dot(coefficients**2) / 2 + M / 6 * length**3
    curvature = spectrum.values[0] + M / 2 * length
    return CubicStep(s, r, norm(left), scale, curvature, hard, value)
