"""Where things live in the memory of a run: names for the rows of its arrays."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

Vector = Any
"""``float64[::1]`` compiled, a list of floats in plain Python, a list of mpmath numbers in multi-precision."""

Memory = namedtuple(
    "Memory",
    [
        "whole",  # integer state, integer letters, inner lengths
        "real",  # letters of the scheme, letters of the estimator, real state
        "outer",  # vectors of dimension dx; behind them perturbations, or the history of an epoch
        "inner",  # vectors of dimension dy; behind them a dy x dy matrix (with Hessians), at the end the tape
        "joint",  # one vector of dimension dx + dy; also takes function values
        "blocks",  # full Hessians over (x, y) of f and of g, as the oracles write them
        "trace",  # one row per iterate: t, k, x, w, u, auxiliary (dx each), y, z, v (dy each)
    ],
)

# outer: vectors of dimension dx
X, X_OLD, X_NEW, W, U, AUX, SUM, TAIL, BASE, OUT, EXACT, PART, SPARE, UNDEFINED = range(14)
OUTER_ROWS = 14
"""Where perturbations, or histories, begin."""
# inner: vectors of dimension dy
Y, Z, V, Y_START, V_START, STORED_Y, STORED_Z, TILDE, SLOPE, SLOPE_F = range(10)
RESIDUAL, DIRECTION, PRODUCT, NEWTON, TRIAL, RIGHT = range(10, 16)
MATRIX = 16
"""Where the dy x dy matrix begins, if Hessians are asked for; the tape of an unrolled loop is at the end."""
# blocks
BLOCK_F, BLOCK_G = range(2)
# whole: state of the engine and of the scheme, integer letters, flags, then the table of inner lengths
ROWS, EPOCH, STEP, ITERATIONS, ITERATIONS_MOST, FRESH, USED, SUPPLY, BEST_STEP, BEST_STEP_FIRST, MARK = range(11)
LENGTH, PERTURB, LAST_TIE, INNER_FIRST, AUX_KNOWN, LITERAL, ADAPTIVE, HEAVY_BALL, TESTED, V_GIVEN = range(11, 21)
COLD, COLUMNS = 21, 22
LENGTHS = 24
"""First entry of the inner lengths: letter after letter, ``COLUMNS`` entries (epochs) each."""
# real: scheme's letters from 0, estimator's letters, real state
LETTERS = 12
ONE, PATH, BEST, RADIUS, PRECISION, VALUE_OLD, VALUE_NEW = range(20, 27)
GUESS_L, GUESS_RHO, BEST_FIRST, DECAY, MOVED, INNER_SLOPE = range(27, 33)
REAL_SIZE = 33
# trace: t and k, then blocks of dx entries, then blocks of dy entries
STAMPS = 2
POINT_X, POINT_W, POINT_U, POINT_AUX = range(4)
POINTS = 4
LOWER_Y, LOWER_Z, LOWER_V = range(3)
LOWERS = 3

# events that an estimator answers besides the iterations k = 0, 1, ...
START = -1  # an epoch begins at this point
LAST = -2  # a gradient outside the iterations (output rule): like that of an iteration

# what an estimator answers
OK = 0
# why a scheme returns
MORE, FINISHED, STATIONARY, OUT_OF_BUDGET, NOT_FINITE, DIVERGED, NOISE_USED_UP, HISTORY_FULL = range(1, 9)

# inner starts: warm, cold at every epoch (or at every k), cold if a start other than 0 is given
WARM, COLD_START, COLD_IF_GIVEN = range(3)

# how a restart is perturbed
NEVER, ALWAYS, SMALL_GRADIENT = range(3)

HUGE = 1e200
"""Square of the norm beyond which a run counts as diverged."""
