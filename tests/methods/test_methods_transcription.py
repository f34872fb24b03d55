"""Every named method agrees step for step with a naive transcription of its pseudo-code, oracle counts included."""

from __future__ import annotations

import methods_transcription_rahgd as yang
import numpy as np
import pytest
from methods_cases import BILEVEL, MINIMAX, SINGLE, case, differences
from methods_random_problems import SEED, Single, bilevels, saddles, singles
from methods_transcription_li_lin import Endless, Tie, practical

from bilevel_verify.methods import METHODS, run_method

COUNT, LEAST = 26, 20
PROBLEMS = {"single": singles(COUNT), "bilevel": bilevels(COUNT), "minimax": saddles(COUNT)}


def _family(name):
    return PROBLEMS["single" if name in SINGLE else "bilevel" if name in BILEVEL else "minimax"]


def _same_beginning_and_a_budget(problem, name, parameters, x0, rows, more, steps=2000):
    """Where the printed loop never ends, ours takes the same steps and is stopped by its budget."""
    run = run_method(problem, name, parameters, x0, compiled=False, **more | {"budget": {"iterations": steps}})
    assert run.status == "budget", f"seed {SEED}, {name}, {parameters}: {run.status}"
    assert len(run.trace.k) >= steps
    for row, at in list(enumerate(zip(run.trace.epoch, run.trace.k)))[: steps // 2]:
        wanted, have = rows[int(at[0]), int(at[1])]["x"], run.trace.sequences["x"][row]
        assert np.all(np.abs(have - wanted) <= 1e-12 * (1 + np.abs(wanted))), f"seed {SEED}, {name}, row {at}"


@pytest.mark.parametrize("name", [*SINGLE, *BILEVEL, *MINIMAX])
def test_agrees_step_for_step(name):
    compared = exploited = 0
    for number, p in enumerate(_family(name)):
        p.counts.clear()
        parameters, more, transcription = case(name, p, number)
        try:
            rows, output = transcription()
        except Tie:
            continue
        except Endless as endless:
            _same_beginning_and_a_budget(p.problem, name, parameters, p.x0, endless.rows, more)
            continue
        if name == "convex-until-guilty":  # the method keeps function values, the transcription asks for them again
            p.counts["free"] = p.counts.pop("value_f")
        run = run_method(p.problem, name, parameters, p.x0, compiled=False, **more)
        found = differences(run, rows, output, p.counts)
        compared += 1
        exploited += run.curvature_steps
        assert run.curvature_steps == getattr(rows, "exploited", 0), f"seed {SEED}, problem {number}, {parameters}"
        assert not found, f"seed {SEED}, problem {number}, {parameters}: {found[:4]}"
    assert compared >= LEAST
    assert (exploited > 0) == (name in ("agd-jin", "convex-until-guilty"))


def test_a_printed_loop_without_end_is_stopped_by_the_budget():
    """Heavy ball with a step three times too long: every epoch is dropped, and the practical variant begins again."""
    p = Single(np.random.default_rng([739942, 0, 20]), 1)
    parameters = {"eta": 0.15249, "theta": 0.162, "B": 0.05, "K": 18, "B0": 2.0, "c": 1.7, "eps": 0.01}
    parameters |= {"L": round(p.L, 4), "rho": round(p.rho, 4)}
    with pytest.raises(Endless) as endless:
        practical(p, **parameters, heavy=True)
    _same_beginning_and_a_budget(p.problem, "restarted-hb-practical", parameters, p.x0, endless.value.rows, {})


@pytest.mark.parametrize("variant", ["cold", "warm"])
def test_variants_of_ba(variant):
    for number, p in enumerate(PROBLEMS["bilevel"][:LEAST]):
        p.counts.clear()
        parameters, more, _ = case("ba", p, number)
        rows, output = yang.ba(p, **parameters, y0=more["y0"], warm=variant == "warm")
        run = run_method(p.problem, f"ba:{variant}", parameters, p.x0, compiled=False, **more)
        assert not differences(run, rows, output, p.counts), f"seed {SEED}, problem {number}"


def test_every_named_method_is_here():
    named = {name for name, method in METHODS.items() if method.scheme is not None}
    assert named == {*SINGLE, *BILEVEL, *MINIMAX}
