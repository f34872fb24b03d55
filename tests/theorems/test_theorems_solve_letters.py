"""``solve`` and ``verify`` refuse letters that nobody has: a misspelt letter would change nothing, silently."""

from __future__ import annotations

import pytest

import bilevel_verify as bv

TWO = bv.bilevel(f="cos(x1 - y1)/2", g="y1**2 + sin(y1 + x1)/8", x="x1", y="y1")
ONE = bv.single_level(f="log(1 + x1**2)", x="x1")
F2BA = {"eta": 0.1, "alpha": 0.1, "tau": 0.01, "lam": 10.0, "K": 3, "T": 5}


@pytest.mark.parametrize(
    ("problem", "method", "given", "words"),
    [
        (TWO, "ragd-gs", {"eps": 0.1, "parameters": {"lamda": 100.0}}, "no letter 'lamda'; did you mean 'lam'"),
        (TWO, "ragd-gs", {"eps": 0.1, "values": {"Dleta": 1.0}}, "no letter 'Dleta'; did you mean 'Delta'"),
        (ONE, "restarted-agd", {"eps": 0.1, "parameters": {"thetta": 0.1}}, "no letter 'thetta'; did you mean 'theta'"),
        (TWO, "f2ba", {"parameters": {**F2BA, "lambada": 1.0}}, "no letter 'lambada'"),
        (TWO, "gradient-descent+exact", {"parameters": {"eta": 0.1, "etta": 1.0}}, "no letter 'etta'"),
    ],
)
def test_a_letter_that_nobody_has_is_refused(problem, method, given, words):
    with pytest.raises(bv.ParameterError, match=words):
        bv.solve(problem, method, x0=[1.0], **given)


def test_letters_of_the_card_may_come_along():
    run = bv.solve(TWO, "f2ba", x0=[1.0], parameters={**F2BA, "sigma": 1e-3}, compiled=False)
    assert run.status == "finished"


@pytest.mark.parametrize("where", ["parameters", "values"])
def test_verify_refuses_them_too(where):
    with pytest.raises(bv.InputError, match="ragd-gs has no letter 'lamda'; did you mean 'lam'"):
        bv.verify(TWO, "ragd-gs/lemma-1:value", eps=0.1, **{where: {"lamda": 3.0}})


def test_a_solver_of_the_user_takes_what_the_user_gives():
    def mine(oracles, x0, parameters):
        return [x0, x0 - parameters["my_step"] * oracles.grad_f(x0, x0[:0])[0]]

    found = bv.verify(
        ONE, "restarted-agd-hb/theorem-1:output", eps=0.1, x0=[0.1], method=mine, parameters={"my_step": 0.1}
    )
    assert {row.claim for row in found.claims} == {"output"}


def test_a_method_that_needs_constants_alone_takes_them_from_the_problem():
    run = bv.solve(ONE, "convex-until-guilty", eps=0.01, x0=[1.0], compiled=False)
    assert run.status == "stationary"
    assert run.parameters["L"] == pytest.approx(2.0)
    assert run.parameters["rho"] == pytest.approx(1.5 + 2**0.5)
    with pytest.raises(bv.ParameterError, match="convex-until-guilty needs eps, L, rho"):
        bv.solve(ONE, "convex-until-guilty", x0=[1.0])
    with pytest.raises(bv.ParameterError, match="f2ba needs tau, K"):
        bv.solve(TWO, "f2ba", x0=[1.0], parameters={"eta": 0.1, "alpha": 0.1, "lam": 10.0})


def test_a_missing_letter_of_a_hypothesis_names_the_first_cause():
    flat = bv.single_level(f="3 + 0*x1", x="x1")
    row = bv.verify(flat, "restarted-agd-hb/theorem-1:output", eps=0.1, x0=[1.0]).claims[-1]
    assert row.verdict == "undecided"
    assert row.reason is not None
    assert "no value for theta" in row.reason
    assert "L = 0, rho = 0" in row.reason
