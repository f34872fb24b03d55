"""``check --budget 1`` from the command line: the whole command, its start included, takes less than two seconds.

Byte code of the package has to be there (``python -m compileall bilevel_verify``): an installation has it.
"""

from __future__ import annotations

import contextlib
import resource
import subprocess
import sys
import time

import pytest
from test_audit_load_thorough import crowd

FORMULAS = [
    "((x1+y1)**64)**64 <= 1",
    "sum(sum(x1,(i,0,1000)),(j,0,1000)) <= 1",
    "sum(1/i,(i,1,10**6)) > 1",
    "sum(sum(sum(i*j*k,(i,0,99)),(j,0,99)),(k,0,99)) <= 1",
    "prod(prod(x1+i*j,(i,0,100)),(j,0,100)) <= 1",
    "**".join(["x1"] * 31) + " <= 1",
    "log(x1) <= 100*x1**(1/100)/E - 1/10**9",
    "exp(exp(exp(exp(9)))) <= 1",
]


def processor_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def waited(*words: str) -> tuple[float, float, int]:
    """Seconds by the clock and of processor time that a command takes, and its exit status."""
    before, began = processor_seconds(), time.monotonic()
    found = subprocess.run([sys.executable, "-m", "bilevel_verify", *words], capture_output=True, timeout=60)
    return time.monotonic() - began, processor_seconds() - before, found.returncode


@pytest.mark.parametrize("busy", [False, True], ids=["quiet", "busy"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_budget_of_one_second_is_two_with_the_start(formula: str, busy: bool) -> None:
    """By the clock on a quiet machine; among busy processes, two seconds and what loading the package takes there."""
    with crowd() if busy else contextlib.nullcontext():
        start = waited("check", "no relation")[0] if busy else 0.0
        clock, processor, status = waited("check", "--budget", "1", formula)
    print(f"{clock:.2f} s by the clock ({start:.2f} of them to load), {processor:.2f} s of processor time: {formula}")
    assert status in (0, 1)
    assert clock < 2.0 + start
    assert processor < 2.0
