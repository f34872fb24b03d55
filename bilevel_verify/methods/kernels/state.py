"""How letters and state are handed to a loop: all by name, one source for three arithmetics.

A scheme is one file of ``methods/schemes``, an estimator one of ``methods/estimators``. Each says there, in the paper's
names, what it works on, and its loop reads like the pseudo-code:

* ``Letters`` of a scheme, a record: the theorem's letters, flags, and numbers of its own that change (``letters.B0``).
  Compiled it is a structured array's record, in plain Python and multi-precision an object with attributes; both are
  changed in place, so a loop that pauses goes on with what it had.
* ``State`` of a scheme, a ``NamedTuple`` of vectors of dimension dx (``x``, ``x_old``, ``w`` ...), the rows of one
  block: ``s = named(State, m.vectors)``. The engine reads the fields ``x`` (the iterate) and ``output``; ``x``,
  ``x_old`` and ``w`` begin at x0, all others at zero.
* ``Letters`` and ``Lengths`` of an estimator, ``NamedTuple`` s too: numbers that never change, and inner lengths epoch
  by epoch: ``alpha, beta = named(Letters, lower.letters)``.
* :class:`Progress`, one record for all: where the run stands (t, k, rows, path length ...).

Blocks and records have the same type whatever the scheme, but for the record of its letters, and an estimator is called
through its address (:mod:`bilevel_verify.oracles.handing`). So a scheme is compiled once for all estimators and the
other way round: one type of state per pair would compile every scheme (about a second) for each estimator anew.

A loop pauses by returning a reason (:data:`MORE` ...): everything that has to survive lies in the blocks and records,
and called again it goes on bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from bilevel_verify.methods.records import record
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector

Real: TypeAlias = float
"""A number of the arithmetic of the run: a float, or one of many digits that computes like a float."""


@record
class Progress:
    """Where a run stands, what every loop and the engine know of it, and the constants of its arithmetic.

    Attributes
    ----------
    t, k : epoch and iteration, the paper's indices; ``iterations`` counts over all epochs, at most ``most_iterations``.
    rows, capacity : rows written in this block of the trace, rows that it has.
    fresh : 1 where the next iteration begins an epoch.
    curvature_steps : steps that exploited negative curvature, over all epochs.
    used, supply : perturbations that were taken, that lie ready (or rows that there are for a history).
    path, moved : sum of ||x[j+1] - x[j]||^2 in this epoch, its last term.
    best, best_step : least such term of the second half, and its index K_0 (average on the fly).
    inner_slope : ||grad_y||^2 where a single-loop estimator leaves it for the stopping test.
    tested : 1 if the run has a tolerance.
    cold : how inner loops start, one of :data:`WARM`, :data:`COLD_START`, :data:`COLD_IF_GIVEN`.
    v_given, inner_first : 1 if v0 is given; if a row of the trace takes y before the iteration, not after it.
    last_tie, literal : variants of printed lines.
    one, precision : 1 and the unit round-off.
    """

    t: int = 0
    k: int = 0
    iterations: int = 0
    most_iterations: int = 2**62
    rows: int = 0
    capacity: int = 0
    fresh: int = 1
    curvature_steps: int = 0
    used: int = 0
    supply: int = 0
    path: Real = 0
    moved: Real = 0
    best: Real = 0
    best_step: int = 0
    inner_slope: Real = 0
    tested: int = 0
    cold: int = 0
    v_given: int = 0
    inner_first: int = 0
    last_tie: int = 0
    literal: int = 0
    one: Real = 1
    precision: Real = 0


class Inner(NamedTuple):
    """Vectors of dimension dy: inner iterates and their starts, and scratch of inner solvers and of function values."""

    y: Vector
    z: Vector
    tilde: Vector
    slope: Vector
    slope_f: Vector
    v: Vector
    right: Vector
    residual: Vector
    direction: Vector
    product: Vector
    y_start: Vector
    v_start: Vector
    y_trial: Vector
    z_trial: Vector
    step: Vector
    trial: Vector


class Outer(NamedTuple):
    """Vectors of dimension dx of an estimator: parts of a gradient, and NaN for a point that no paper defines."""

    part: Vector
    product: Vector
    undefined: Vector


class Hessians(NamedTuple):
    """Full Hessians over (x, y), row after row, as the oracles write them."""

    f: Vector
    g: Vector


class Lower(NamedTuple):
    """What an estimator works on."""

    at: Progress
    letters: Any  # numbers, named by the estimator's Letters
    lengths: Any  # integers, one row per letter and one column per epoch, named by its Lengths
    inner: Any  # Inner
    outer: Any  # Outer
    joint: Any  # one vector of dimension dx + dy; takes function values too
    hessians: Any  # Hessians, where they are asked for
    matrix: Any  # dy x dy, where Hessians are asked for
    tape: Any  # inner iterates of an unrolled loop


class Points(NamedTuple):
    """The part of a trace row with vectors of dimension dx: x, the point w of the gradient u, one more of a scheme."""

    x: Vector
    w: Vector
    u: Vector
    more: Vector


class LowerPoints(NamedTuple):
    """The part of a trace row with vectors of dimension dy."""

    y: Vector
    z: Vector
    v: Vector


class Memory(NamedTuple):
    """What a scheme works on."""

    at: Progress
    letters: Any  # the record of the scheme
    vectors: Any  # State of the scheme
    supply: Any  # vectors of dimension dx that the engine gives more of: perturbations, or room for a history
    lower: Lower
    stamps: Any  # t and k of every row of the trace
    points: Any  # Points of every row
    lowers: Any  # LowerPoints of every row


class Ask(NamedTuple):
    """Whom a scheme asks: the oracles, and the estimator for gradients, function values, exact gradients."""

    P: OracleSet
    gradient: Any
    value: Any
    exact: Any
    counts: Counts


# events that an estimator answers besides the iterations k = 0, 1, ...
START = -1  # an epoch begins at this point
LAST = -2  # a gradient outside the iterations (output rule): like that of an iteration

# what an estimator answers
OK = 0
# why a scheme returns
MORE, FINISHED, STATIONARY, OUT_OF_BUDGET, NOT_FINITE, DIVERGED, NOISE_USED_UP, HISTORY_FULL = range(1, 9)

WARM, COLD_START, COLD_IF_GIVEN = range(3)
"""Inner starts: warm, cold at every epoch (or at every k), cold if a start other than 0 is given."""

NEVER, ALWAYS, SMALL_GRADIENT = range(3)
"""When a restart is perturbed."""

HUGE = 1e200
"""Square of the norm beyond which a run counts as diverged."""
