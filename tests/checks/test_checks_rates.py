"""The ramp family shows the exponents 2, 7/4, 7/4 and 3/2: the short version of the rates benchmark."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

import pytest

from bilevel_verify.checks.orders import judge_order

PLACE = Path(__file__).parents[1] / "benchmarks" / "benchmark_rates.py"


def _benchmark():
    import sys

    spec = importlib.util.spec_from_file_location("benchmark_rates", PLACE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["benchmark_rates"] = module
    spec.loader.exec_module(module)
    return module


RATES = _benchmark()
SHORT = [series for series in RATES.SERIES if series.short]


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
    return RATES.measure(next(series for series in SHORT if series.method == method), short=True)


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
