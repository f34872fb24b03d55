"""Truth is kept by content: who asks second about the same problem does not wait."""

from __future__ import annotations

import bilevel_verify as bv
from bilevel_verify.theorems.letters.instance import Leaves
from bilevel_verify.truth import infimum, shared_truth


def well(depth: str = "1"):
    return bv.single_level(f=f"(x1**2 - {depth})**2/4", x="x1", domain={"x1": (-2, 2)})


def test_equal_problems_share_their_truth_and_others_do_not() -> None:
    assert shared_truth(well()) is shared_truth(well())
    assert shared_truth(well()) is not shared_truth(well("3/2"))


def test_a_new_start_does_not_ask_for_the_infimum_again(monkeypatch) -> None:
    first = Leaves(well(), "li-lin", None, {}).truth.delta([0.5])
    monkeypatch.setattr(infimum, "infimum", lambda *_: 1 / 0)
    second = Leaves(well(), "li-lin", None, {}).truth.delta([0.0])
    assert first.lower <= (0.5**2 - 1) ** 2 / 4 <= first.upper
    assert second.lower <= 0.25 <= second.upper


def test_on_the_whole_line_the_infimum_of_phi_bounds_that_of_the_penalty_function_and_a_long_search_is_spared(
    monkeypatch,
) -> None:
    boxes = []
    plain = infimum.minimise_phi
    monkeypatch.setattr(infimum, "minimise_phi", lambda *a, **b: boxes.append(found := plain(*a, **b)) or found)
    problem = bv.zoo("trig-1-1")
    least = bv.truth(problem).L_star_min(30.0)
    assert least.certainty == "certified"  # "computed", when thousands of boxes were tried in vain
    assert boxes[-1].boxes < 100
    seen = [bv.truth(problem).L_star([x], 30.0) for x in (-2.0, -0.7, -0.5, 0.4, 1.6)]
    assert all(least.lower <= one.upper for one in seen)
