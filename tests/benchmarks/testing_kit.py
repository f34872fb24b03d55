"""The testing kit: milliseconds of one example of each strategy, seconds of the quick profile for one solver.

Run as a script; processor time, so that other work on the machine does not count.
"""

from __future__ import annotations

import os
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from bilevel_verify.testing import assert_all, references
from bilevel_verify.testing.instances import strategies

NAMES = "bilevel minimax single_level simple_bilevel saddle displaced hoelder hard data_sum".split()
EXAMPLES = 1000


def milliseconds(strategy: st.SearchStrategy[object]) -> float:
    """Processor time of drawing one example and asking nothing of it, Hypothesis included."""
    seen = []

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(strategy)
    def draw(example: object) -> None:
        seen.append(None)

    started = time.process_time()
    draw()
    return 1e3 * (time.process_time() - started) / len(seen)


def quick_profile() -> tuple[float, float]:
    """Wall and processor seconds (children included) of every assertion for one solver and its parts."""
    wall, before = time.perf_counter(), sum(os.times()[:4])
    assert_all(
        hypergradient=references.implicit_hypergradient,
        linear_solver=references.conjugate_gradients,
        inner_solver=references.accelerated_descent,
        solver=references.two_level_descent,
        counts=references.reporting_solver,
        profile_="quick",
    )
    return time.perf_counter() - wall, sum(os.times()[:4]) - before


if __name__ == "__main__":
    print(f"Hypothesis alone (integers): {milliseconds(st.integers()):.2f} ms an example")
    for name in NAMES:
        print(f"{name}_instances: {milliseconds(getattr(strategies, f'{name}_instances')()):.2f} ms an example")
    print("quick profile, one solver: {:.1f} s, {:.1f} s of processor time".format(*quick_profile()))
