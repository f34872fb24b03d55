"""Every operation of the checker's intervals on all signs of its arguments; files and texts that are no certificates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import pytest

from bilevel_check import check, check_folder, terms
from bilevel_check.context import Context
from bilevel_check.intervals import Evaluation, Interval, down
from bilevel_check.ring import Atom, number, power_of
from bilevel_check.terms import Refused, work

F = Fraction
ENDS = [F(v) for v in (-2, -1, 0, 1, 3)]
HALVES = [F(v, 2) for v in (-5, -2, -1, 0, 1, 2, 6)]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    work.left = 10**9


def at(**letters: tuple[float | Fraction, float | Fraction]) -> Evaluation:
    return Evaluation({name: (F(low), F(high)) for name, (low, high) in letters.items()}, 64)


def intervals(ends: list[Fraction]) -> Iterator[Interval]:
    return ((a, b) for a, b in product(ends, ends) if a <= b)


@pytest.mark.fast
def test_products_and_quotients_on_all_signs() -> None:
    """Short ends are exact: the hull of the corners and nothing more; what divides by 0 is refused."""
    for a, b in product(intervals(ENDS), intervals(ENDS)):
        corners = [x * y for x, y in product(a, b)]
        for node in (("*", "x", "y"), ("dot", "x", "y")):
            assert at(x=a, y=b).of(node) == (min(corners), max(corners))
        assert at(x=a, y=b).of(("+", "x", "y")) == (a[0] + b[0], a[1] + b[1])
        assert at(x=a, y=b).of(("max", "x", "y")) == (max(a[0], b[0]), max(a[1], b[1]))
        if b[0] <= 0 <= b[1]:
            with pytest.raises(Refused, match="contains 0"):
                at(x=a, y=b).of(("/", "x", "y"))
        else:
            low, high = at(x=a, y=b).of(("/", "x", "y"))
            corners = [x / y for x, y in product(a, b)]
            assert low <= min(corners) <= max(corners) <= high
            assert high - low - (max(corners) - min(corners)) < F(1, 2**60)


@pytest.mark.fast
def test_steps_and_absolute_values_on_all_signs() -> None:
    for a in intervals(HALVES):
        sign = lambda v: F((v > 0) - (v < 0))
        assert at(x=a).of(("neg", "x")) == (-a[1], -a[0])
        assert at(x=a).of(("sign", "x")) == (sign(a[0]), sign(a[1]))
        assert at(x=a).of(("floor", "x")) == (a[0] // 1, a[1] // 1)
        size = (F(0) if a[0] <= 0 <= a[1] else min(map(abs, a)), max(map(abs, a)))
        assert at(x=a).of(("norm", "x")) == at(x=a).of(("abs", "x")) == size


@pytest.mark.fast
@pytest.mark.parametrize("n", range(-3, 5))
def test_whole_powers_on_all_signs(n: int) -> None:
    for a in intervals(ENDS):
        if n < 0 and a[0] <= 0 <= a[1]:
            with pytest.raises(Refused, match="contains 0"):
                at(x=a).of(("^", "x", n))
            continue
        values = [v**n for v in (*a, *([F(0)] if a[0] <= 0 <= a[1] else []))]
        low, high = at(x=a).of(("^", "x", n))
        assert low <= min(values) <= max(values) <= high
        assert high - low - (max(values) - min(values)) < F(1, 2**60)


@pytest.mark.fast
def test_powers_with_exponents_in_a_range() -> None:
    """Whole ends of an exponent do not make it whole; a base that may be 0 wants a positive exponent."""
    for a, e in product(
        [(1, 2), (2, 2), (F(1, 2), 3), (F(1, 3), F(1, 2))], [(1, 3), (-1, 2), (F(1, 2), F(1, 2)), (-2, -1)]
    ):
        low, high = at(x=a, e=e).of(("^", "x", "e"))
        corners = [float(x) ** float(y) for x, y in product(a, (*e, sum(map(F, e)) / 2))]
        assert float(low) <= min(corners) * (1 + 1e-15)
        assert float(high) >= max(corners) * (1 - 1e-15)
    low, high = at(x=(0, 4), e=(F(1, 2), F(1, 2))).of(("^", "x", "e"))
    assert low == 0 < 2 <= high < F(2) + F(1, 2**50)
    assert at(x=(0, 0)).of(("sqrt", "x")) == (0, 0)
    for a, e in (
        ((-1, 1), (F(1, 2),) * 2),
        ((0, 1), (0, 1)),
        ((0, 1), (F(-1, 2),) * 2),
        ((-1, 0), (1, 2)),
        ((-2, -1), (1, 2)),
    ):
        with pytest.raises(Refused, match="a real power"):
            at(x=a, e=e).of(("^", "x", "e"))


@pytest.mark.fast
def test_ends_that_are_exact_and_the_last_that_are_taken() -> None:
    assert at().exp((F(0), F(0))) == (1, 1)
    assert at().exp((F(0), F(1)))[0] == 1
    assert at().log((F(1), F(1))) == (0, 0)
    assert at(x=(1, 2)).of(("log", "x"))[0] == 0
    assert at().whole((F(1), F(1)), 2**20) == (1, 1)
    for x, y in ((F(100), mpmath.cos(100)), (F(-100), mpmath.cos(100))):
        low, high = at().of(("cos", x))
        assert low <= F(str(y)) <= high < low + F(1, 2**50)
    for node in (("cos", 101), ("exp", 2**16 + 1), ("^", 1, 2**20 + 1), ("log", 0), ("log", -1)):
        with pytest.raises(Refused):
            at().of(node)


@pytest.mark.fast
def test_sums_over_ranges_whose_ends_are_intervals() -> None:
    """The integers between the ends, where it is known which they are."""
    total = ("sum", "i", "i", "a", "b")
    assert at(a=(F(1, 4), F(3, 4)), b=(3, F(7, 2))).of(total) == (6, 6)
    assert at(a=(-1, -1), b=(1, 1)).of(("prod", ("+", "i", 3), "i", "a", "b")) == (24, 24)
    assert at(a=(2, 2), b=(1, 1)).of(total) == (0, 0)
    assert at(a=(2, 2), b=(1, 1)).of(("prod", "i", "i", "a", "b")) == (1, 1)
    for a, b in (((1, F(3, 2)), (3, 3)), ((1, 1), (F(5, 2), 3))):
        with pytest.raises(Refused, match="not known"):
            at(a=a, b=b).of(total)


@pytest.mark.fast
def test_long_ends_cost_more_to_round() -> None:
    for long in (F(3**5_000, 2**8_000 + 1), F(3**5_000, 7)):
        work.left = 100
        down(long, 64)
        assert work.left < 98
    assert down(F(1, 2**64 - 1), 64) == F(1, 2**64 - 1)  # 64 bits are not more than 64
    assert down(F(1, 2**64 + 1), 64) < F(1, 2**64 + 1)


@pytest.mark.fast
def test_what_is_copied_or_would_be_long_is_paid_or_refused_before() -> None:
    many = Context({"x": "real"}, [(number(place), ">=") for place in range(100)])
    work.left = 100
    many.inner()
    assert 80 < work.left < 95
    for whole in (terms.BITS, -terms.BITS):
        with pytest.raises(Refused, match="too large"):
            power_of(Atom("prime", 3), F(whole))


X = {"letters": {"x": "real"}, "hypotheses": [], "claim": ["<=", "x", ["+", "x", 1]]}
GOOD = {"statement": X, "proof": []}


def reason(data: Any) -> str:
    verdict = check(json.dumps(data))
    assert not verdict.accepted
    return verdict.reason


def stated(**more: Any) -> dict[str, Any]:
    return {"statement": {**X, **more}, "proof": []}


@pytest.mark.fast
def test_what_is_no_certificate_is_refused_with_its_reason() -> None:
    assert check(json.dumps(GOOD)).accepted
    for data, why in (
        ([GOOD], "a certificate has"),
        ({**GOOD, "more": 1}, "nothing else"),
        ({"statement": X}, "either a proof or a counterexample"),
        ({**GOOD, "counterexample": {"x": 1}}, "either a proof or a counterexample"),
        ({"statement": {**X, "let": []}, "proof": []}, "letters, hypotheses and a claim"),
        ({"statement": {"letters": {}, "claim": X["claim"]}, "proof": []}, "letters, hypotheses and a claim"),
        *(
            (stated(letters={"x": "real", name: "real"}), "a letter has a name")
            for name in ("pi", "E", "max", "+", "2", "a b")
        ),
        (stated(letters={"x": "complex"}), "real, integer or vector"),
        (stated(claim="x"), "a claim is a relation"),
        (stated(claim=["or", X["claim"], X["claim"]]), "a claim is a relation"),
        (stated(hypotheses=["x"]), "no condition"),
        (stated(hypotheses=[["or", "x", X["claim"]]]), "or of parts that do not fit"),
        (stated(claim=["<=", X["claim"], 1]), "parts that do not fit"),
        ({**GOOD, "proof": 1}, "a list of lines"),
        ({**GOOD, "let": [0]}, "ill formed: "),
        ({**GOOD, "statement": {**X, "letters": [1]}}, "ill formed: "),
        ({"statement": X, "counterexample": {"x": ["<=", 0, 1]}}, "closed expressions"),
        ({"statement": stated(claim=["<=", 1, 0])["statement"], "counterexample": {"x": "y"}}, "y was not declared"),
        ({"statement": stated(claim=["<=", 1, 0])["statement"], "counterexample": {}}, "a number for every letter"),
        ({"statement": X, "counterexample": {"x": 1, "y": 1}}, "a number for every letter"),
    ):
        assert why in reason(data), data


@pytest.mark.fast
def test_a_split_outside_of_its_box_is_refused() -> None:
    inside = [["hypothesis", 0], ["hypothesis", 1]]
    for place, why in ((2, "outside"), (-1, "outside"), ("1/2", "accepted"), (0, "accepted"), (1, "accepted")):
        lines = [*inside, ["boxes", ["<=", "x", 3], {"x": ["x", 0, 1]}, ["x", place, None, None]]]
        data = stated(hypotheses=[[">=", "x", 0], ["<=", "x", 1]], claim=["<=", "x", 3])
        verdict = check(json.dumps({**data, "proof": lines}))
        assert verdict.accepted == (why == "accepted")
        assert why in verdict.reason or verdict.accepted


@pytest.mark.fast
def test_files_that_cannot_be_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(GOOD)
    (tmp_path / "a.json").mkdir()
    (tmp_path / "b.json").write_bytes(b'"\xff"')
    (tmp_path / "c.json").write_text(text)
    (tmp_path / "d.json").write_text(f"{text} ")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "e.json").write_text(text)
    monkeypatch.setattr(terms, "TEXT", len(text))
    verdicts = {path.name: verdict for path, verdict in check_folder(tmp_path)}
    assert {name: one.accepted for name, one in verdicts.items()} == {
        "a.json": False, "b.json": False, "c.json": True, "d.json": False, "e.json": True}  # fmt: skip
    assert verdicts["a.json"].reason == "cannot be read: no file"
    assert "cannot be read" in verdicts["b.json"].reason
    assert f"more than {len(text)} characters" in verdicts["d.json"].reason
