"""All assertions that apply to a solver's parts, in one call: the five lines of a solver's author."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bilevel_verify.errors import InputError
from bilevel_verify.testing.assertions.black_box import assert_black_box
from bilevel_verify.testing.assertions.gradients import assert_hyper_hessian, assert_hypergradient
from bilevel_verify.testing.assertions.inner_solvers import assert_inner_solver_rate, assert_linear_solver
from bilevel_verify.testing.assertions.metamorphic import assert_metamorphic, relations_for
from bilevel_verify.testing.assertions.promises import assert_keeps_promises
from bilevel_verify.testing.assertions.simple_solvers import assert_simple_bilevel
from bilevel_verify.testing.assertions.solvers import (
    assert_counts,
    assert_descent,
    assert_same_iterates,
    assert_stationary,
)
from bilevel_verify.testing.assertions.statements import assert_constants, assert_oracles
from bilevel_verify.testing.assertions.stochastic import assert_unbiased
from bilevel_verify.testing.trials.common import KINDS, Function
from bilevel_verify.testing.trials.contracts import Profile, hidden

__tracebackhide__ = hidden


def assert_all(
    *,
    hypergradient: Function | None = None,
    hyper_hessian: Function | None = None,
    linear_solver: Function | None = None,
    inner_solver: Function | None = None,
    descent: Function | None = None,
    solver: Function | None = None,
    simple_bilevel: Function | None = None,
    counts: Function | None = None,
    constants: Function | None = None,
    oracles: object = None,
    problem: object = None,
    inner_transcription: Function | None = None,
    iterates: Function | None = None,
    transcription: Function | None = None,
    promises: Mapping[str, Function] | None = None,
    methods: Mapping[str, Function] | None = None,
    estimator: Function | None = None,
    exponent: float | None = None,
    kinds: Sequence[str] = KINDS,
    tolerance: float | None = None,
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """Every assertion that applies to the parts given; each part is called as its own assertion says.

    Parameters
    ----------
    hypergradient : ``(oracles, x) -> gradient``; also put through every metamorphic relation.
    hyper_hessian : ``(oracles, x) -> matrix``. ``linear_solver`` : ``(apply, b, tolerance) -> v``.
    inner_solver : ``(gradient, y0, mu, L, steps) -> iterates``; ``inner_transcription``: the same, written literally.
    iterates : ``(oracles, x0, steps) -> iterates``, compared step for step with ``transcription``.
    descent : ``(oracles, x0, steps) -> iterates``.
    solver : ``(oracles, x0, eps) -> x`` or ``(x, y)``, a black box: stationarity against truth, invariance, stopping;
        ``exponent`` : of its calls, ``O(eps^-exponent)``, if it promises one.
    simple_bilevel : ``(oracles, x0, tolerance) -> x``. ``counts`` : ``(oracles, x0) -> (result, counts)``.
    ``constants`` : ``(instance) -> {"mu": ..., "L": ..., "rho": ...}``.
    oracles, problem : a problem written by hand, and its statement.
    promises : "paper/id" -> ``(oracles, x0, parameters) -> iterates``.
    methods : name of a method -> ``(oracles, x0, parameters) -> iterates``, compared line by line with its pseudo-code.
    estimator : ``(samples, x, y, upper_batch, lower_batch) -> gradient``, a stochastic hypergradient: unbiased.
    kinds : which of bilevel and minimax. ``tolerance`` : of the hypergradient.

    Raises
    ------
    BrokenContract : the first contract that is broken. InputError : nothing was given.
    """
    shared: dict[str, Any] = {"profile_": profile_, "seed": seed}
    parts = (linear_solver, inner_solver, descent, constants, simple_bilevel)
    work = _plain_parts(parts, (counts, hyper_hessian, solver), kinds)
    if solver is not None:
        work.append((assert_black_box, solver, {"kinds": kinds, "exponent": exponent}))
    if estimator is not None:
        work.append((assert_unbiased, estimator, {}))
    work += [(assert_same_iterates, mine, {"reference": method}) for method, mine in (methods or {}).items()]
    work += _of_a_hypergradient(hypergradient, kinds, tolerance)
    if oracles is not None:
        work.append((assert_oracles, oracles, {"problem": problem}))
    if inner_solver is not None and inner_transcription is not None:
        work.append((assert_same_iterates, inner_solver, {"reference": inner_transcription}))
    if iterates is not None:
        work.append((assert_same_iterates, iterates, {"reference": transcription, "protocol": "solver"}))
    work += [(assert_keeps_promises, mine, {"statement": statement}) for statement, mine in (promises or {}).items()]
    if not work:
        raise InputError("assert_all needs a part of a solver: hypergradient=, inner_solver=, solver= ...")
    for assertion, part, options in work:
        assertion(part, **options, **shared)


def _of_a_hypergradient(
    hypergradient: Function | None, kinds: Sequence[str], tolerance: float | None
) -> list[tuple[Any, Any, dict[str, Any]]]:
    """Its exactness, and every relation (at ten times the tolerance)."""
    if hypergradient is None:
        return []
    chosen, loose = ({}, {}) if tolerance is None else ({"tolerance": tolerance}, {"tolerance": 10 * tolerance})
    found: list[tuple[Any, Any, dict[str, Any]]] = [(assert_hypergradient, hypergradient, {"kinds": kinds, **chosen})]
    options = ({"relation": relation, "kinds": kinds, **loose} for relation in relations_for(kinds))
    return [*found, *((assert_metamorphic, hypergradient, more) for more in options)]


def _plain_parts(
    parts: Sequence[Function | None], of_kinds: Sequence[Function | None], kinds: Sequence[str]
) -> list[tuple[Any, Any, dict[str, Any]]]:
    """Assertion, part and options, for the parts that have one assertion."""
    plain = (
        assert_linear_solver,
        assert_inner_solver_rate,
        assert_descent,
        assert_constants,
        assert_simple_bilevel,
    )
    with_kinds = (assert_counts, assert_hyper_hessian, assert_stationary)
    found: list[tuple[Any, Any, dict[str, Any]]] = [(a, part, {}) for a, part in zip(plain, parts)]
    found += [(a, part, {"kinds": kinds}) for a, part in zip(with_kinds, of_kinds)]
    return [entry for entry in found if entry[1] is not None]
