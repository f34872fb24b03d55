"""A solve that would search inf phi for minutes says so before anything is derived; what is known quickly is asked."""

from __future__ import annotations

from itertools import pairwise

import pytest

import bilevel_verify as bv
from bilevel_verify.constants import api
from bilevel_verify.errors import ParameterError
from bilevel_verify.truth.minimum import effort

D = 9
XS, YS = [f"x{i}" for i in range(D)], [f"y{i}" for i in range(D)]
BOX = dict.fromkeys(XS, (-1, 1))


def chain(tied: bool) -> bv.Problem:
    """Nine variables in each level, tied by the lower level or not."""
    f = " + ".join(f"cos({x}) + sin({x} - {y})/2" for x, y in zip(XS, YS))
    ends = [f"cos({a} + {b})/4" for a, b in pairwise(YS)] if tied else [f"cos({a})/4" for a in YS]
    g = " + ".join([f"({y} - {x})**2" for x, y in zip(XS, YS)] + ends)
    return bv.bilevel(f=f, g=g, x=XS, y=YS, domain=BOX)


def test_the_letter_and_what_to_give_are_said_before_any_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "LONG", 100)
    monkeypatch.setattr(api, "constants", lambda *_, **__: pytest.fail("a constant was asked for"))
    with pytest.raises(
        ParameterError, match=r"^Delta: inf phi over 9 variables .* values=\{'Delta': \.\.\.\}"
    ) as caught:
        bv.solve(chain(True), "ragd-gs", eps=0.1, x0=[0.5] * D)
    assert "\n" not in str(caught.value)


def test_with_the_letter_given_nobody_asks_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    small = bv.bilevel(f="cos(x1 - y1)/2", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1", domain={"x1": (-1, 1)})
    monkeypatch.setattr(effort, "is_long", lambda problem: True)
    with pytest.raises(ParameterError, match=r"^Delta: inf phi over 1 variables"):
        bv.solve(small, "ragd-gs", eps=0.1, x0=[0.5])
    run = bv.solve(small, "ragd-gs", eps=0.1, x0=[0.5], values={"Delta": 20.0}, budget={"iterations": 1})
    assert run.iterations == 1


def test_only_many_tied_variables_are_a_long_search(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not effort.is_long(chain(True))  # nine are not many
    monkeypatch.setattr(effort, "LONG", 100)
    assert effort.is_long(chain(True))
    assert not effort.is_long(chain(False))  # blocks of one variable
    few = bv.bilevel(f=" + ".join(XS), g="(y - x0)**2 + " + " + ".join(f"y*{x}" for x in XS), x=XS, y="y", domain=BOX)
    assert not effort.is_long(few)
    assert not effort.is_long(bv.single_level(f=" + ".join(f"cos({a}*{b})" for a, b in pairwise(XS)), x=XS))
