"""Where things live in the memory of a run: names for the rows of its arrays."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

Vector = Any
"""``float64[::1]`` compiled, a list of floats in plain Python, a list of mpmath numbers in multi-precision."""

Memory = namedtuple(
    "Memory",
    [
        "real",  # letters of the scheme (eta, theta, B ...)
        "whole",  # integer letters and the integer state, see below
        "number",  # real state, see below
        "outer",  # vectors of dimension dx
        "inner",  # vectors of dimension dy
        "joint",  # vectors of dimension dx + dy
        "square",  # a dy x dy matrix
        "blocks",  # full Hessians over (x, y) of f and of g, as the oracles write them
        "scratch",  # one number, for function values
        "tape",  # inner iterates of an unrolled loop, dimension dy
        "letters",  # letters of the estimator (alpha, beta, lam ...)
        "lengths",  # inner lengths: one row per letter, one column per epoch (the last one goes on)
        "noise",  # perturbations, used in order
        "history",  # (kind, entry, dx) for methods that keep all iterates of an epoch
        "stamps",  # (row, 2): t and k of each row of the trace
        "points",  # (sequence, row, dx)
        "lowers",  # (sequence, row, dy)
    ],
)

# outer: vectors of dimension dx
X, X_OLD, X_NEW, W, U, AUX, SUM, TAIL, BASE, OUT, EXACT, PART, SPARE, UNDEFINED = range(14)
OUTER_ROWS = 14
# inner: vectors of dimension dy
Y, Z, V, Y_START, V_START, STORED_Y, STORED_Z, TILDE, SLOPE, SLOPE_F = range(10)
RESIDUAL, DIRECTION, PRODUCT, NEWTON, TRIAL, RIGHT = range(10, 16)
INNER_ROWS = 16
# blocks
BLOCK_F, BLOCK_G = range(2)
# whole: state of the engine, of the scheme, then integer letters
ROWS, EPOCH, STEP, ITERATIONS, ITERATIONS_MOST, FRESH, USED, BEST_STEP, BEST_STEP_FIRST, STAGE, MARK = range(11)
LENGTH, PERTURB, LAST_TIE, INNER_FIRST, AUX_KNOWN, LITERAL, ADAPTIVE, HEAVY_BALL, TESTED, V_GIVEN = range(11, 21)
COLD = 21
WHOLE_SIZE = 24
# number: real state
ONE, PATH, BEST, RADIUS, PRECISION, VALUE_OLD, VALUE_NEW, GUESS_L, GUESS_RHO, BEST_FIRST, DECAY, MOVED, INNER_SLOPE = range(13)
NUMBER_SIZE = 13
# sequences of a trace: points (dx) and lowers (dy)
POINT_X, POINT_W, POINT_U, POINT_AUX = range(4)
LOWER_Y, LOWER_Z, LOWER_V = range(3)

# events that an estimator answers besides the iterations k = 0, 1, ...
START = -1  # an epoch begins at this point
VALUE = -2  # value of the objective at this point, into number[VALUE_NEW]
STOPPING = -3  # gradient of the objective, exact, into outer[EXACT]; uncounted, under keys of its own
LAST = -4  # the point of an output rule: a gradient like that of an iteration, nothing else changes

# what an estimator answers
OK = 0
# why a scheme returns
MORE, FINISHED, STATIONARY, OUT_OF_BUDGET, NOT_FINITE, DIVERGED, NOISE_USED_UP, HISTORY_FULL = range(1, 9)

# how a restart is perturbed
NEVER, ALWAYS, SMALL_GRADIENT = range(3)

HUGE = 1e200
"""Square of the norm beyond which a run counts as diverged."""
