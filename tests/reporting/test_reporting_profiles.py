"""Methods side by side, and counts along whatever a campaign moved."""

from __future__ import annotations

from typing import Any

import pytest

from bilevel_verify.reporting.plots import plot_records, profile_svg
from bilevel_verify.reporting.profiles import profile_records

Json = dict[str, Any]


def run(method: str, problem: str, calls: int, **place: Any) -> Json:
    fixed = {"statement": None, "method": method, "problem": problem, "eps": 0.1, "status": "stationary"}
    counts = {"grad_f": calls, "stop_grad_f": 1000}
    return fixed | {"counts": counts, "x0": None, "knobs": {}, "given": {}, "replicate": 0} | place


def test_profiles_by_hand() -> None:
    runs = [run("a", "p", 10), run("b", "p", 20), run("a", "q", 30), run("b", "q", 15)]
    performance, data = profile_records(runs, [{"name": "p", "dx": 1, "dy": 1}, {"name": "q", "dx": 4, "dy": 0}])
    a, b = performance["lines"]
    assert (a["name"], b["name"]) == ("a", "b")
    # both methods are best on one instance and need twice the calls on the other
    assert a["x"][:4] == [1.0, 1.0, 1.0, 2.0] or a["x"][:3] == [1.0, 1.0, 2.0]
    assert a["y"][-1] == 1.0
    assert max(y for x, y in zip(a["x"], a["y"], strict=True) if x < 2) == 0.5
    assert data["lines"][0]["x"][0] == pytest.approx(10 / 3)
    assert "2 instances" in data["note"]


def test_what_was_not_solved_is_not_counted_as_solved() -> None:
    runs = [run("a", "p", 10), run("b", "p", 20, status="budget"), run("a", "q", 10), run("b", "q", 10)]
    performance, _ = profile_records(runs, [])
    assert performance["lines"][1]["y"][-1] == 0.5


def test_instances_that_one_method_was_not_asked_are_left_out() -> None:
    runs = [run("a", "p", 1), run("b", "p", 1), run("a", "q", 1)]
    assert profile_records(runs, []) == []


def test_profiles_are_drawn() -> None:
    runs = [run(m, p, n) for n, (m, p) in enumerate([("a<", "p"), ("b", "p"), ("a<", "q"), ("b", "q")], 5)]
    for plot in profile_records(runs, []):
        drawn = profile_svg(plot, "plot")
        assert drawn.count("<polyline") == 2
        assert "a&lt;" in drawn


@pytest.mark.parametrize(("field", "label"), [("knobs", "kappa"), ("given", "m"), ("eps", "1/ε")])
def test_slopes_along_what_was_moved(field: str, label: str) -> None:
    def place(value: float) -> Json:
        return {"eps": 1 / value} if field == "eps" else {field: {label: value}}

    runs = [run("a", "p", int(3 * v**1.5), **place(v)) for v in (16.0, 64.0, 256.0)]
    (plot,) = plot_records([], runs)
    assert plot["x_label"] == label
    assert plot["lines"][0]["x"] == pytest.approx([16, 64, 256])
    assert plot["slope"] == pytest.approx(1.5, abs=0.01)
