"""``verify`` end to end: rows with evidence, planted errors that must not hold, metamorphic variants, controls."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

from bilevel_verify.checks import Row, verify
from bilevel_verify.checks.requests.builtin import builtin_jobs
from bilevel_verify.checks.verdicts.columns import FIELDS
from bilevel_verify.errors import InputError, ParameterError
from bilevel_verify.problems import single_level, zoo

CARD = """
[paper]
key = "planted"
standing = "Section 1"
title = "Gradient descent, with promises that are true, tight, false, or about nothing"
[units]
F = "values of f"
X = "length of x"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants" }
eps = { unit = "F/X", domain = "(0, oo)", from = "user" }
Delta = { unit = "F", domain = "[0, oo)", from = "truth" }
eta = { unit = "X**2/F", domain = "(0, oo)" }
N = { unit = "1", domain = "integers 1.." }
[settings.gd]
parameters = { eta = "1/L", N = "50" }
[[theorem]]
id = "descent"
method = "gradient-descent"
settings = ["gd"]
  [[theorem.claim]]
  id = "true"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k]) - eta/2*norm(grad_f(x[k]))**2"
  [[theorem.claim]]
  id = "step-is-a-gradient-step"
  over = "step"
  left = "norm(x[k+1] - x[k] + eta*grad_f(x[k]))"
  op = "=="
  right = "0"
  [[theorem.claim]]
  id = "too-good"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k]) - 2*eta*norm(grad_f(x[k]))**2"
  [[theorem.claim]]
  id = "vacuous"
  over = "step"
  where = ["norm(grad_f(x[k])) > 1000"]
  where_from = "Theorem 1"
  left = "f(x[k+1])"
  right = "f(x[k])"
  [[theorem.claim]]
  id = "count"
  over = "run"
  left = "calls(grad_f)"
  right = "2*L*Delta/eps**2 + 1"
  [[theorem.claim]]
  id = "exact-tie"
  over = "run"
  left = "iterations"
  right = "iterations"
  [[theorem.claim]]
  id = "false-by-one"
  over = "run"
  left = "iterations"
  op = "<"
  right = "iterations"
  [[theorem.claim]]
  id = "nowhere-defined"
  over = "run"
  left = "log(norm(x[0,0] - x[0,0]))"
  right = "1"
[[theorem]]
id = "small-steps"
method = "gradient-descent"
settings = ["gd"]
where = ["eta < 1/L"]
where_from = "Theorem 1"
  [[theorem.claim]]
  id = "true"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k])"
"""


@pytest.fixture
def card(tmp_path):
    path = tmp_path / "planted.toml"
    path.write_text(CARD)
    return path


def bowl():
    return single_level(f="cos(x1) + cos(2*x1 + x2 + 1)/2", x="x1 x2", name="bowl")


def rows_of(found) -> dict[str, Row]:
    return {row.claim: row for row in found.claims if row.as_printed}


def test_planted_promises(card):
    rows = rows_of(verify(bowl(), f"{card}/descent", eps=0.1, x0=[0.5, 0.0], compiled=False))
    assert rows["true"].verdict == "holds"
    assert rows["true"].certainty == "certified"
    assert rows["true"].places > 5
    assert 0 < rows["true"].margin < 1
    assert rows["too-good"].verdict == "refuted"
    assert "50 digits" in rows["too-good"].reason
    assert rows["too-good"].margin < 0
    assert rows["step-is-a-gradient-step"].verdict == "undecided"
    assert rows["vacuous"].verdict == "not applicable"
    assert rows["vacuous"].reason.startswith("vacuous")
    assert rows["count"].verdict == "holds"
    assert rows["exact-tie"].verdict == "holds"
    assert rows["exact-tie"].margin == 0
    assert rows["false-by-one"].verdict == "refuted"
    assert rows["nowhere-defined"].verdict == "undecided"
    assert rows["nowhere-defined"].reason.startswith("precision")


def test_a_false_hypothesis_comes_before_everything(card):
    found = verify(bowl(), f"{card}/small-steps", eps=0.1, x0=[0.5, 0.0], compiled=False)
    assert [row.verdict for row in found.claims] == ["not applicable"]
    assert "eta < 1/L" in found.claims[0].reason
    assert found.verdict == "not applicable"


def test_rows_have_every_field_and_survive_json(card):
    found = verify(bowl(), str(card), eps=0.1, x0=[0.5, 0.0], compiled=False)
    assert len(found.claims) == 9
    for row in (*found.claims, *found.hypotheses):
        data = json.loads(json.dumps(row.to_dict(), allow_nan=False))
        assert set(data) == set(FIELDS)
        assert Row.from_dict(data).to_dict() == data
        words = shlex.split(row.reproduce)
        assert words[:2] == ["bilevel-verify", "verify"]
        assert "--eps" in words


def test_a_broken_solver_is_refuted_by_its_run_in_fifty_digits(card):
    def uphill(oracles, x0, parameters):
        points = [np.array(x0)]
        for _ in range(12):
            points.append(points[-1] + parameters["eta"] * np.asarray(oracles.grad_f(points[-1])[0]))
        return np.array(points)

    rows = rows_of(verify(bowl(), f"{card}/descent", eps=0.1, x0=[0.5, 0.0], method=uphill))
    assert rows["true"].verdict == "refuted"
    assert "confirmed in 50 digits" in rows["true"].reason
    assert rows["true"].margin < 0
    assert rows["count"].measured == 12


def test_a_good_solver_of_the_user_holds(card):
    def downhill(oracles, x0, parameters):
        points = [np.array(x0)]
        for _ in range(12):
            points.append(points[-1] - parameters["eta"] * np.asarray(oracles.grad_f(points[-1])[0]))
        return points[-1], np.array(points)

    rows = rows_of(verify(bowl(), f"{card}/descent", eps=0.1, x0=[0.5, 0.0], method=downhill))
    assert rows["true"].verdict == "holds"
    assert rows["true"].method == "downhill"


def test_iterates_that_are_not_finite_never_pass(card):
    def lost(oracles, x0, parameters):
        return np.array([x0, [np.nan, 0.0], x0])

    rows = rows_of(verify(bowl(), f"{card}/descent", eps=0.1, x0=[0.5, 0.0], method=lost))
    assert rows["true"].verdict == "undecided"
    assert rows["count"].verdict == "undecided"
    assert "holds" not in {rows[name].verdict for name in ("true", "too-good", "count", "exact-tie")}


def test_a_run_that_is_cut_short_decides_no_end(card):
    found = verify(bowl(), f"{card}/descent", eps=1e-9, x0=[0.5, 0.0], compiled=False, budget=4)
    rows = rows_of(found)
    assert found.runs[0].status == "budget"
    assert rows["count"].verdict == "undecided"
    assert rows["count"].reason.startswith("budget")
    assert rows["true"].verdict == "undecided"
    assert rows["true"].reason == "budget: the run was not finished; so far, 4 iterations, it holds"


@pytest.mark.parametrize(
    ("f", "eps", "scale_x"),
    [
        ("4*cos(x1) + 2*cos(2*x1 + x2 + 1)", 0.04, 1.0),
        ("cos(2*x1) + cos(4*x1 + 2*x2 + 1)/2", 0.02, 2.0),
        ("cos(x1) + cos(2*x1 + x2 + 1)/2 + 1024", 0.01, 1.0),
        ("cos(x2) + cos(2*x2 + x1 + 1)/2", 0.01, -1.0),
    ],
)
def test_units_and_names_do_not_move_a_verdict(f, eps, scale_x):
    """f -> a f, x -> b x, f + constant, variables swapped (powers of two: the iterates are the same bits)."""
    original = verify(bowl(), "restarted-agd-hb/lemma-1", eps=0.01, x0=[0.5, 0.25], compiled=False)
    start = [0.25, 0.5] if scale_x < 0 else [0.5 / scale_x, 0.25 / scale_x]
    changed = verify(
        single_level(f=f, x="x1 x2", name="bowl"), "restarted-agd-hb/lemma-1", eps=eps, x0=start, compiled=False
    )
    before, after = (
        [(r.claim, r.verdict, r.places) for r in original.claims],
        [(r.claim, r.verdict, r.places) for r in changed.claims],
    )
    assert before == after
    for a, b in zip(original.claims, changed.claims):
        assert a.margin == pytest.approx(b.margin, rel=1e-3)


def test_the_literal_run_of_the_card_agrees():
    fast = verify(bowl(), "restarted-agd-hb/lemma-1", eps=0.05, x0=[0.5, 0.25], compiled=False)
    literal = verify(bowl(), "restarted-agd-hb/lemma-1", eps=0.05, x0=[0.5, 0.25], method="literal")
    assert [(r.claim, r.verdict, r.places) for r in fast.claims] == [
        (r.claim, r.verdict, r.places) for r in literal.claims
    ]


def test_a_box_makes_a_holds_local_and_a_violation_undecided(card):
    boxed = single_level(
        f="cos(x1) + cos(2*x1 + x2 + 1)/2 + x1**4/100", x="x1 x2", name="boxed", domain={"x1": (-5, 5), "x2": (-5, 5)}
    )
    rows = rows_of(verify(boxed, f"{card}/descent", eps=0.1, x0=[0.5, 0.0], compiled=False))
    assert rows["true"].verdict == "holds"
    assert "local constants" in rows["true"].reason
    assert rows["too-good"].verdict == "undecided"
    assert rows["too-good"].reason.startswith("local")


def test_a_run_that_leaves_the_box_is_undecided(card):
    tight = single_level(
        f="cos(x1) + cos(2*x1 + x2 + 1)/2 + x1**4/100", x="x1 x2", name="tight", domain={"x1": (0, 0.6), "x2": (-5, 5)}
    )
    rows = rows_of(verify(tight, f"{card}/descent", eps=0.1, x0=[0.5, 0.0], compiled=False))
    assert rows["true"].verdict == "undecided"
    assert "outside the certified box" in rows["true"].reason


def test_point_claims_are_proved_refuted_or_survive(tmp_path):
    path = tmp_path / "gap.toml"
    path.write_text(GAP)
    from bilevel_verify.problems import bilevel

    terms = {
        "f": "sin(x1) + sin(y1) + cos(x1 - y1)",
        "g": "y1**2 + cos(y1)/2 - x1*y1",
        "x": "x1",
        "y": "y1",
        "name": "toy",
    }
    boxed = rows_of(verify(bilevel(**terms, domain={"x1": (-3, 3), "y1": (-3, 3)}), str(path)))
    assert boxed["value"].verdict == "holds"
    assert "branch and bound" in boxed["value"].reason
    assert "local constants" in boxed["value"].reason
    assert boxed["too-tight"].verdict == "undecided"
    assert boxed["too-tight"].reason.startswith("local")
    free = rows_of(verify(bilevel(**terms), str(path)))
    assert free["value"].verdict == "holds"  # by suprema over the whole space
    assert free["too-tight"].verdict == "refuted"
    assert free["too-tight"].margin < 0


GAP = """
[paper]
key = "gap"
standing = "Section 1"
title = "Distance of the penalty function"
[units]
F = "f"
G = "g"
X = "x"
[letters]
mu = { unit = "G/X**2", domain = "(0, oo)", from = "constants" }
L_f = { unit = "F/X**2", domain = "(0, oo)", from = "constants" }
C_f = { unit = "F/X", domain = "(0, oo)", from = "constants" }
lam = { unit = "F/G", domain = "(0, oo)" }
[definitions]
lam = "2*L_f/mu"
[[lemma]]
id = "gap"
where = ["lam >= 2*L_f/mu"]
where_from = "Theorem 1"
  [[lemma.claim]]
  id = "value"
  over = "point"
  for = { x = "domain" }
  for_from = "Theorem 1"
  left = "abs(L_star(x) - phi(x))"
  right = "C_f**2/(2*lam*mu)"
  [[lemma.claim]]
  id = "too-tight"
  over = "point"
  for = { x = "domain" }
  for_from = "Theorem 1"
  left = "abs(L_star(x) - phi(x))"
  right = "C_f**2/(100*lam*mu)"
"""


def test_a_sweep_over_a_family_judges_its_rate():
    family = zoo("ramp", s="40*eps", drop="1/100000000")
    found = verify(family, "restarted-agd-hb/theorem-1:rate", eps=[1e-7, 5.6e-8, 3e-8, 1.8e-8, 1e-8], compiled=False)
    assert [row.kind for row in found.claims] == ["order"]
    row = found.claims[0]
    assert row.verdict == "consistent"
    assert row.bound == pytest.approx(1.75)
    assert len(row.details["slopes"]) == 4
    assert "decades" in row.reason


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"eps": 0.0}, InputError),
        ({"eps": -1}, InputError),
        ({"eps": float("nan")}, InputError),
        ({"eps": 0.1, "x0": [0.1]}, ParameterError),
        ({"eps": 0.1, "x0": [float("nan"), 0.0]}, ParameterError),
        ({"eps": 0.1, "x0": "no"}, ParameterError),
        ({"eps": 0.1, "method": "no-such-method"}, InputError),
        ({"eps": 0.1, "sweep": {"eps": [1.0]}}, InputError),
    ],
)
def test_wrong_use_is_said(options, error):
    with pytest.raises(error):
        verify(bowl(), "restarted-agd-hb/lemma-1", **options)


@pytest.mark.parametrize(
    "name", ["restarted-agd-hb/no-such", "no-such/theorem-1", "restarted-agd-hb/theorem-1:no-such"]
)
def test_unknown_statements_are_said(name):
    with pytest.raises(InputError):
        verify(bowl(), name, eps=0.1)


def test_a_start_outside_the_domain_is_said():
    boxed = single_level(f="cos(x1)", x="x1", domain={"x1": (-1, 1)})
    with pytest.raises(ParameterError, match="outside its domain"):
        verify(boxed, "restarted-agd-hb/theorem-1", eps=0.1, x0=[2.0])


@pytest.mark.parametrize(
    ("problem", "statement", "eps", "verdict", "words"),
    [
        ("flat-lower", "ragd-gs/theorem-1:output", 0.1, "not applicable", "mu"),
        ("quartic-lower", "ragd-gs/theorem-1:output", 0.1, "not applicable", "mu"),
        ("no-lipschitz-value", "ragd-gs/theorem-1:output", 0.1, "not applicable", "C_f is infinite"),
        ("leaving-box", "restarted-agd-hb/theorem-1:output", 1e-5, "undecided", "outside the certified box"),
    ],
)
def test_negative_controls(problem, statement, eps, verdict, words):
    found = verify(zoo(problem), statement, eps=eps, compiled=False)
    assert {row.verdict for row in found.claims} == {verdict}
    assert all(words in row.reason for row in found.claims)


def test_the_built_in_job_is_well_formed():
    jobs = builtin_jobs()
    assert {job["statement"].split("/")[0] for job in jobs} >= {"restarted-agd-hb", "rahgd", "ragd-gs"}
    assert len({job["problem"] for job in jobs if "control" not in job}) >= 5
    assert sum("control" in job for job in jobs) >= 3
    known = {record.name for record in zoo()}
    assert {job["problem"] for job in jobs} <= known
    assert all(job["statement"].startswith("rahgd/") for job in builtin_jobs("rahgd"))


def test_a_promise_with_a_probability_never_holds():
    few = {"trials": 24}
    found = verify(bowl(), "restarted-agd-hb/theorem-3:curvature", eps=0.05, x0=[0.5, 0.25], compiled=False, values=few)
    assert {row.kind for row in found.claims} == {"probability"}
    row = found.claims[0]
    assert row.verdict == "undecided"
    assert row.places == 24
    assert row.measured == 1.0


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(InputError, match="verify has no option 'epss'; did you mean 'eps'"):
        verify(bowl(), "restarted-agd-hb/lemma-1", epss=0.01)
