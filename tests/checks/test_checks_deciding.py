"""Every undecided row says in one line what would decide it."""

from __future__ import annotations

import pytest

from bilevel_verify.checks.verdicts.deciding import CLASSES, OTHER, open_class, what_decides

pytestmark = pytest.mark.fast

REASONS = {
    "hypothesis: delta may be infinite": "hypothesis open",
    "precision: condition-8 at epoch 0, k = 56: tie (44 of 100 places)": "condition open",
    "local: x[9, 2] lies outside the certified box: widen the range of x under [domain]": "leaves the box",
    "local: violated at 1 of 1 places, but C, mu hold on a box only (remove [domain] ...)": "broken on a box",
    "units: a sum joins X and X^2; that it holds here says nothing in other units": "units",
    "precision: the logarithm of a number that may not be positive (1 of 100 places)": "sides not defined",
    "precision: division by a number that may be 0 (1 of 100 places)": "sides not defined",
    "precision: sigma = 2.24e-21 is less than float64 resolves beside gradients up to 6.08": "below float64",
    "precision: violated at 78 of 78 places in float64, but not in 50 digits": "rounding of the run",
    "precision: violated at 1 of 9 places in float64; the run in 50 digits is not available (ParameterError)": (
        "no run in many digits"
    ),
    "precision: the enclosures are too wide (1 of 1 places)": "wide enclosures",
    "a frequency proves no probability; 2 of 2 seeds: probability in [0.0007, 1.0000]": "probability",
    "tie (131 of 262 places)": "tie",
    "tie: the sides agree up to the rounding of the run, in float64 and in 50 digits": "tie",
    "survived 300 attacks, largest ratio 0.5": "points",
    "budget: violated at 1 of 1 places in float64; the run in 50 digits is too long": "budget",
    "time: the 5 s asked for were over before this was judged": "time",
    "not recorded: w": "not recorded",
    "vacuous: no place to check": "vacuous",
    "something new": "other",
}


@pytest.mark.parametrize("reason", REASONS)
def test_the_class_of_a_reason(reason):
    row = {"verdict": "undecided", "reason": reason}
    found = open_class(row)
    assert found is not None
    assert found.name == REASONS[reason]
    assert what_decides(row) == found.decides
    assert "\n" not in found.decides


def test_every_class_has_a_reason_here_and_nothing_is_said_of_what_is_decided():
    assert {one.name for one in (*CLASSES, OTHER)} == set(REASONS.values())
    for verdict in ("holds", "refuted", "not applicable", "consistent", "inconsistent", "uninformative"):
        assert open_class({"verdict": verdict, "reason": "tie (1 of 1 places)"}) is None
        assert what_decides({"verdict": verdict, "reason": "tie (1 of 1 places)"}) == ""
    assert open_class({"verdict": "undecided", "reason": None}) is OTHER
