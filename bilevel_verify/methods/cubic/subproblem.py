r"""The cubic sub-problem :math:`\min_s g^\top s+\frac12 s^\top Hs+\frac M6\|s\|^3`, by the secular equation.

With :math:`H=V\,\mathrm{diag}(w)V^\top` the minimiser is :math:`s=-(H+\frac M2 rI)^{-1}g` with
:math:`r=\|s\|\ge\max\{0,-2w_{\min}/M\}` (fsba sheet, 3.9 and Lemma B.5). The unknown is the excess
:math:`e=r-\max\{0,-2w_{\min}/M\}`, so that nothing cancels near the hard case. An eigendecomposition can be reused for
many gradients, which is what lazy Hessians are for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import ParameterError

FloatArray = NDArray[np.float64]
NEWTON_STEPS = 200
SMALLEST = 1e-300


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Eigendecomposition of a symmetric matrix: ``values`` ascending, ``vectors`` in columns (sign fixed)."""

    values: FloatArray
    vectors: FloatArray

    @staticmethod
    def of(matrix: FloatArray) -> Spectrum:
        """Decompose; the largest entry of every eigenvector is positive, so that runs repeat.

        Raises
        ------
        ParameterError : the matrix has entries that are not finite.
        """
        if not np.all(np.isfinite(matrix)):
            raise ParameterError("the Hessian of a cubic model has entries that are not finite")
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        largest = np.argmax(np.abs(vectors), axis=0)
        signs = np.sign(vectors[largest, np.arange(len(values))])
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

    s: FloatArray
    r: float
    residual: float
    scale: float
    curvature: float
    hard: bool
    value: float


def minimise(gradient: FloatArray, hessian: FloatArray | Spectrum, M: float) -> CubicStep:
    """Global minimiser of the cubic model.

    Parameters
    ----------
    gradient : g, shape (d,).
    hessian : H, shape (d, d), symmetric; or its decomposition.
    M : weight of the cubic term.

    Raises
    ------
    ParameterError : M is not positive, or g or H is not finite.
    """
    if not (M > 0 and np.isfinite(M)):
        raise ParameterError(f"the weight M of the cubic term must be positive, not {M!r}")
    if not np.all(np.isfinite(gradient)):
        raise ParameterError("the gradient of a cubic model has entries that are not finite")
    spectrum = hessian if isinstance(hessian, Spectrum) else Spectrum.of(np.asarray(hessian, dtype=float))
    rotated = spectrum.vectors.T @ gradient
    base = max(0.0, -2.0 * float(spectrum.values[0]) / M)
    gaps = spectrum.values - spectrum.values[0] if base > 0 else spectrum.values.copy()
    coefficients, r, hard = _coefficients(rotated, gaps, base, M)
    return _certified(gradient, spectrum, rotated, coefficients, r, hard, M)


def _coefficients(rotated: FloatArray, gaps: FloatArray, base: float, M: float) -> tuple[FloatArray, float, bool]:
    """The step in the eigenbasis, its length, and whether it is the hard case."""
    if base > 0:
        inside = np.where(gaps > 0, -rotated / np.where(gaps > 0, gaps, 1.0), 0.0)
        lowest = gaps <= 0
        short = float(np.linalg.norm(inside))
        if not np.any(rotated[lowest]) and short <= base:
            inside[int(np.argmax(lowest))] = np.sqrt(max(0.0, (base - short) * (base + short)))
            return inside, base, True
    if not np.any(rotated):
        return np.zeros_like(rotated), 0.0, False
    excess = _excess(rotated, gaps, base, M)
    return -rotated / (gaps + 0.5 * M * excess), base + excess, False


def _excess(rotated: FloatArray, gaps: FloatArray, base: float, M: float) -> float:
    """Root of ``|g / (gap + M e / 2)| = base + e``: Newton on the reciprocal form, kept inside a bracket."""
    low, high = 0.0, float(np.sqrt(2.0 * float(np.linalg.norm(rotated)) / M))
    e = high
    for _ in range(NEWTON_STEPS):
        shifted = gaps + 0.5 * M * e
        ratio: FloatArray = rotated / shifted
        length = float(np.linalg.norm(ratio))
        gap = length - (base + e)
        if gap > 0:
            low = e
        else:
            high = e
        if gap == 0 or high - low <= 2e-16 * high:
            break
        slope = -0.5 * M * float(np.sum(ratio * ratio / shifted)) / length
        step = _newton(e, length, base + e, slope)
        e = step if low < step < high else _between(low, high)
        if high < SMALLEST:
            return high
    return e


def _newton(e: float, length: float, target: float, slope: float) -> float:
    """One Newton step on ``1/length - 1/target`` (nearly linear in e)."""
    value = 1.0 / length - 1.0 / target
    derivative = -slope / (length * length) + 1.0 / (target * target)
    return float(e - value / derivative)


def _between(low: float, high: float) -> float:
    """Geometric middle of a bracket, so that tiny roots are found in few steps."""
    return float(np.sqrt(low * high)) if low > 0 else high * 1e-4


def _certified(
    gradient: FloatArray,
    spectrum: Spectrum,
    rotated: FloatArray,
    coefficients: FloatArray,
    r: float,
    hard: bool,
    M: float,
) -> CubicStep:
    s = spectrum.vectors @ coefficients
    length = float(np.linalg.norm(coefficients))
    left = rotated + spectrum.values * coefficients + 0.5 * M * length * coefficients
    largest = float(np.max(np.abs(spectrum.values)))
    scale = float(np.linalg.norm(gradient)) + largest * length + 0.5 * M * length * length
    value = float(rotated @ coefficients + 0.5 * spectrum.values @ coefficients**2 + M / 6 * length**3)
    curvature = float(spectrum.values[0]) + 0.5 * M * length
    return CubicStep(s, r, float(np.linalg.norm(left)), scale, curvature, hard, value)
