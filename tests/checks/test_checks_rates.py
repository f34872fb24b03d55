"""The ramp family shows the exponents 2, 7/4, 7/4 and 3/2; factors in kappa; products; what is kept."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path

import pytest

from bilevel_verify.benchmarks import rates
from bilevel_verify.checks.judging.orders import judge_order
from bilevel_verify.errors import InputError
from bilevel_verify.methods import interpreted

SHORT = [series for series in rates.SERIES if series.short]
KEPT = Path(__file__).parents[2] / "reports"


def test_the_four_methods_are_there():
    exponents = {series.method: series.exponent for series in SHORT}
    assert exponents == {
        "gradient-descent": 2.0,
        "restarted-agd": 1.75,
        "general-smoothness+exact": 1.75,
        "cubic-newton": 1.5,
    }
    assert all(series.tolerance == 0.06 for series in SHORT)


@functools.cache
def measured(method):
    return rates.Runs().measure(next(s for s in rates.chosen(short=True) if s.method == method))


@pytest.mark.parametrize("series", SHORT, ids=lambda series: series.method)
def test_the_exponent_is_visible_within_0_06(series):
    row = measured(series.method)
    assert len(row["points"]) >= 5
    assert row["verdict"] == "consistent"
    assert abs(row["slope"] - series.exponent) <= 0.06, row["slopes"]


def test_a_slower_method_is_seen():
    """Gradient descent judged by the exponent of accelerated methods is inconsistent: the control."""
    points = measured("gradient-descent")["points"]
    driver, counts = [1 / p["value"] for p in points], [p["count"] for p in points]
    assert judge_order(driver, counts, [x**1.75 for x in driver]).verdict == "inconsistent"
    assert judge_order(driver, counts, [x**2.0 for x in driver]).verdict == "consistent"


def series_named(part):
    return next(series for series in rates.SERIES if part in series.name)


def test_outer_iterations_with_exact_gradients_are_those_of_the_literal_method(monkeypatch):
    """The factor of the kappa table: on the hyper-objective the scheme takes as many steps as RAHGD itself.

    The literal run asks for blocks of calls: the limit of what is interpreted ends it below that limit.
    """
    monkeypatch.setattr(interpreted, "LONG", set())
    outer = replace(series_named("RAHGD in kappa, outer"), knobs={"s": "50*eps/kappa", "drop": "1/120000"}, values=(8,))
    literal = replace(series_named("RAHGD in kappa, literal, Gc(f)"), values=(8,))
    runs = rates.Runs()
    exact, real = runs.point(outer, 8), runs.point(literal, 8)
    assert real["status"] == exact["status"] == "finished"
    assert abs(real["count"] / exact["count"] - 1) <= 0.02, (real, exact)


def test_a_product_multiplies_its_factors_and_needs_them():
    product = series_named("RAHGD in kappa, Gc(g), of the two factors")
    factors = {
        name: {"points": [{"value": v, "count": v**p, "status": "finished"} for v in product.values]}
        for name, p in zip(product.product, (2.75, 0.5), strict=True)
    }
    row = rates.Runs().measure(replace(product, log=None), factors)
    assert row["slope"] == pytest.approx(3.25, abs=0.01)
    assert row["verdict"] == "consistent"
    with pytest.raises(InputError, match="has not been measured"):
        rates.Runs().measure(product, {})


def test_hidden_logarithms_belong_to_the_bound():
    series = series_named("RAHGD in kappa, AGD steps")
    ends = [rates.hidden_logarithm(series, value) for value in (16, 256)]
    assert ends[1] > ends[0] > 0
    points = [
        {"value": v, "count": v**0.5 * rates.hidden_logarithm(series, v), "status": "budget"} for v in series.values
    ]
    row = rates.judged(series, points)
    assert row["verdict"] == "consistent"
    assert row["within"] is True
    planted = [p | {"count": p["count"] * p["value"] ** 0.2} for p in points]
    assert rates.judged(series, planted)["verdict"] == "inconsistent"


def test_a_run_that_the_budget_ends_is_no_measurement():
    series = series_named("ramp, gradient descent")
    points = [{"value": v, "count": 1 / v**2, "status": "finished"} for v in series.values]
    assert rates.judged(series, points)["verdict"] == "consistent"
    points[-1]["status"] = "budget"
    assert rates.judged(series, points)["verdict"] == "undecided"


def test_names_are_unique_and_products_name_series():
    names = [series.name for series in rates.SERIES]
    assert len(set(names)) == len(names)
    assert all(part in names for series in rates.SERIES for part in series.product)
    with pytest.raises(InputError, match="contains 'rampp'"):
        rates.chosen("rampp")
    assert {s.name for s in rates.chosen("Gc(g), of the two factors")} >= set(series_named("Gc(g), of").product)


def test_the_kept_table_has_the_four_exponents_of_the_ramp_and_no_contradiction():
    rows = {row["name"]: row for row in json.loads((KEPT / rates.DATA).read_text())}
    assert not [name for name, row in rows.items() if row["verdict"] == "inconsistent"]
    for series in SHORT:
        row = rows[series.name]
        assert min(abs(row["slope"] - series.exponent), abs(row["last"] - series.exponent)) <= 0.06
    assert (KEPT / rates.TABLE).read_text() == rates.PREFACE + "\n" + rates.table(rows.values()) + "\n"


def test_files_are_merged_and_bad_ones_named(tmp_path):
    row = measured("cubic-newton")
    rates.write([row], tmp_path)
    rates.write([measured("gradient-descent")], tmp_path)
    assert list(rates.kept(tmp_path)) == ["ramp, gradient descent", "ramp, cubic Newton"]
    (tmp_path / rates.DATA).write_text("{")
    with pytest.raises(InputError, match="not a file of rates"):
        rates.kept(tmp_path)
