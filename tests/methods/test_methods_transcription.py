"""Every named method agrees step for step with a naive transcription of its pseudo-code, oracle counts included."""

from __future__ import annotations

import methods_transcription_rahgd as yang
import pytest
from methods_cases import BILEVEL, MINIMAX, SINGLE, case, differences
from methods_random_problems import SEED, bilevels, saddles, singles
from methods_transcription_li_lin import Tie

from bilevel_verify.methods import METHODS, run_method

COUNT, LEAST = 26, 20
PROBLEMS = {"single": singles(COUNT), "bilevel": bilevels(COUNT), "minimax": saddles(COUNT)}


def _family(name):
    return PROBLEMS["single" if name in SINGLE else "bilevel" if name in BILEVEL else "minimax"]


@pytest.mark.parametrize("name", [*SINGLE, *BILEVEL, *MINIMAX])
def test_agrees_step_for_step(name):
    compared = 0
    for number, p in enumerate(_family(name)):
        p.counts.clear()
        parameters, more, transcription = case(name, p, number)
        try:
            rows, output = transcription()
        except Tie:
            continue
        if name == "convex-until-guilty":  # the method keeps function values, the transcription asks for them again
            p.counts["free"] = p.counts.pop("value_f")
        run = run_method(p.problem, name, parameters, p.x0, compiled=False, **more)
        found = differences(run, rows, output, p.counts)
        compared += 1
        assert not found, f"seed {SEED}, problem {number}, {parameters}: {found[:4]}"
    assert compared >= LEAST


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
