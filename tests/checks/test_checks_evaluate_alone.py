"""The interpreter alone: names, certainty, conditions, ranges, memory; each path by which a number comes out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.evaluate import Evaluator, square_of_norm
from bilevel_verify.checks.claims.values import EvaluationError
from bilevel_verify.errors import ExpressionError, MathematicalError
from bilevel_verify.language import parse, tree
from bilevel_verify.numbers import trees
from bilevel_verify.numbers.trees import MAXIMAL_TERMS

pytestmark = pytest.mark.fast
F = Fraction


class Sequences:
    """Two epochs of one sequence; how often it was asked."""

    def __init__(self) -> None:
        self.table = {("x", 0, k): [float(k), 1.0] for k in range(6)} | {("x", 1, 0): [9.0, 0.0]}
        self.asked = 0

    def entry(self, name: str, epoch: int, k: int) -> Any:
        self.asked += 1
        try:
            return v.vector(self.table[name, epoch, k])
        except KeyError:
            raise EvaluationError(f"not recorded: {name}[{epoch}, {k}]") from None

    def fact(self, name: str, bound: dict[str, Any]) -> Any:
        return {"k_end": F(10 + bound.get("t", 0)), "ended_by_restart": bound.get("t") == 0}[name]

    def calls(self, kind: str) -> int:
        return {"grad_f": 7, "grad_g": 5}.get(kind, 0)


class Functions:
    """f(a, b) = a - b, computed; pi_ is proved."""

    names = ("f", "sure")

    def call(self, name: str, arguments: list[Any]) -> Any:
        if name == "f":
            return arguments[0] - arguments[1], "computed"
        if name == "sure":
            return arguments[0], "proved"
        raise KeyError(name)


WIDE = arb(1, 0.5)
LETTERS: dict[str, Any] = {
    "a": (F(2), "proved"),
    "c": (F(3), "certified"),
    "u": (F(5), "computed"),
    "s": (F(7), "sampled"),
    "w": (WIDE, "certified"),
}


def tool(**definitions: str) -> Evaluator:
    return Evaluator(LETTERS, {n: parse(text) for n, text in definitions.items()}, Functions(), Sequences())


def value(text: str, **bound: Any) -> Any:
    return tool().value(parse(text), bound)


# --- certainty


@pytest.mark.parametrize(
    ("text", "certainty"),
    [
        ("1/3 + a", "proved"),
        ("a*c", "certified"),
        ("c + u", "computed"),
        ("u + c", "computed"),
        ("s*u*c", "sampled"),
        ("u*s", "sampled"),
        ("sqrt(2)", "certified"),  # a ball with a radius
        ("sqrt(2)*u", "computed"),
        ("f(1, 2)", "computed"),
        ("sure(a)", "proved"),
        ("sure(u)", "computed"),
        ("f(s, 1)", "sampled"),
        ("norm(x[1])", "certified"),
        ("sum(c, (i, 1, 2))", "certified"),
        ("sum(u, (i, 1, 2)) + c", "computed"),
        ("max(i*s, (i, 1, 2))", "sampled"),
        ("d", "computed"),
        ("d + a", "computed"),
        ("a if 1 < 2 else u", "proved"),  # the other branch is no ingredient
    ],
)
def test_certainty_is_that_of_the_weakest_ingredient(text: str, certainty: str) -> None:
    one, node = tool(d="e_ + 1", e_="u"), parse(text)
    for _ in range(2):  # remembered values remember theirs
        one.reset()
        one.value(node, {"t": 0, "k": 1})
        assert one.certainty == certainty


def test_nothing_evaluated_rests_on_nothing() -> None:
    assert Evaluator({}).certainty == "proved"


def test_what_a_run_records_may_be_the_answer_to_a_condition() -> None:
    one = tool(stopped="ended_by_restart")
    for text, answers in (
        ("ended_by_restart", (True, False)),
        ("not ended_by_restart", (False, True)),
        ("stopped and a < c", (True, False)),
        ("ended_by_restart or c < a", (True, False)),
    ):
        assert tuple(one.answer(parse(text), {"t": t}) for t in (0, 1)) == answers, text
    assert [one.value(parse("1 if ended_by_restart else 2"), {"t": t}) for t in (0, 1)] == [1, 2]


def test_certainty_lasts_until_it_is_reset() -> None:
    one = tool()
    one.value(parse("s"))
    one.value(parse("a"))
    assert one.certainty == "sampled"
    one.reset()
    assert one.certainty == "proved"
    one.note("computed")
    one.note("certified")
    assert one.certainty == "computed"


def test_one_term_does_not_lend_its_certainty_to_terms_before_it() -> None:
    """A sum up to k rests on its own terms, whatever longer sums were asked for before."""
    one = tool()
    node = parse("sum((u if i > 2 else a), (i, 1, k))")
    one.value(node, {"t": 0, "k": 4})
    assert one.certainty == "computed"
    one.reset()
    assert one.value(node, {"t": 0, "k": 2}) == 4
    assert one.certainty == "proved"
    one.reset()
    assert one.value(node, {"t": 0, "k": 3}) == 9
    assert one.certainty == "computed"


# --- names


def test_names_are_bound_before_they_are_letters() -> None:
    assert value("a", a=F(11)) == 11
    assert value("k + 1", k=4) == 5
    assert isinstance(value("k", k=4), Fraction)
    assert tool(a="100").value(parse("a")) == 2  # a letter before a definition
    assert tool(k_end="100").value(parse("k_end"), {"t": 0}) == 100  # a definition before a fact
    assert value("k_end", t=1) == 11
    assert Evaluator({"pi": (F(3), "proved")}).value(parse("pi")) == 3
    for name, digits in (("pi", 3.14159265358979), ("E", 2.71828182845904)):
        assert abs(float(value(name)) - digits) < 1e-13
    assert float(value("oo")) == float("inf")


@pytest.mark.parametrize(
    "text", ["unknown", "unknown(1)", "y[0]", "x[7]", "x[2, 0]", "x[1/2]", "x[0.5]", "x[0, 0, 0]", "O(a)"]
)
def test_what_has_no_value_is_refused(text: str) -> None:
    with pytest.raises(MathematicalError):
        value(text, t=0)


def test_without_a_run_or_a_problem_there_is_none_of_theirs() -> None:
    bare = Evaluator(LETTERS)
    for text, reason in (("x[0]", "not recorded"), ("calls(grad_f)", "not recorded"), ("k_end", "no value")):
        with pytest.raises(EvaluationError, match=reason):
            bare.value(parse(text), {"t": 0})
    with pytest.raises(EvaluationError, match="f has no value here"):
        bare.value(parse("f(1, 2)"))


def test_indices_name_an_epoch_or_take_the_one_in_force() -> None:
    assert float(value("x[1, 0]", t=0).entries[0]) == 9
    assert float(value("x[0]", t=1).entries[0]) == 9
    assert float(value("x[3]").entries[0]) == 3
    assert float(value("x[k-1]", t=0, k=5).entries[0]) == 4
    assert value("calls(grad_f, grad_g, other)") == 12


def test_circles_are_named_and_forgotten() -> None:
    one = tool(p="q + 1", q="p", r="a")
    with pytest.raises(EvaluationError, match=r"p -> q -> p is a circle"):
        one.value(parse("p"))
    assert one.value(parse("r + r")) == 4
    with pytest.raises(EvaluationError, match=r"q -> p -> q is a circle"):
        one.value(parse("q"))


# --- arithmetic of trees


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a - c", -1),
        ("a - c - c + 10", 6),
        ("-a + 1", -1),
        ("-(a + 1)", -3),
        ("a*c*u", 30),
        ("a/c", F(2, 3)),
        ("a**c", 8),
        ("a**(-c)", F(1, 8)),
        ("c**2", 9),
        ("17 % 5", 2),
        ("-7 % 3", 2),
        ("7/2 % 2", F(3, 2)),
        ("-1/2 % 2", F(3, 2)),
        ("f(a, c)", -1),
        ("f(c, a)", 1),
        ("sum(i**2, (i, 2, 4))", 29),
        ("sum(i, (i, 3, 3))", 3),
        ("sum(i, (i, 4, 3))", 0),
        ("prod(i, (i, 4, 3))", 1),
        ("prod(i, (i, 2, 4))", 24),
        ("sum(j*i, (i, 1, j))", 6),
        ("max(i*(5 - i), (i, 0, 9))", 6),
        ("min(i*(5 - i), (i, 0, 6))", -6),
        ("argmax(i*(6 - i), (i, 0, 6))", 3),
        ("argmin((i - 4)**2, (i, 0, 9))", 4),
        ("argmin(0, (i, 2, 9))", 2),
        ("argmax(0, (i, 2, 9))", 2),
        ("max(a, c)", 3),
        ("sum(sum(i*l, (l, 1, i)), (i, 1, 3))", 25),
        ("sum(1, (i, 1/2, 7/2))", 3),
    ],
)
def test_values_of_trees(text: str, expected: Any) -> None:
    assert value(text, j=2) == expected


def test_squares_of_norms_need_no_root() -> None:
    found = value("norm(x[3])**2", t=0)
    assert found.is_exact()
    assert float(found) == 10
    assert not value("norm(x[3])**4", t=0).is_exact() or float(value("norm(x[3])**4", t=0)) == 100
    assert float(value("norm(x[3])**3", t=0)) == pytest.approx(10**1.5, rel=1e-12)
    assert float(value("abs(-3)**2")) == 9
    power = parse("norm(x)**2")
    assert isinstance(power, tree.Power)
    assert square_of_norm(power) == parse("x")
    for text in ("norm(x)**3", "norm(x)**a", "abs(x)**2", "x**2"):
        power = parse(text)
        assert isinstance(power, tree.Power)
        assert square_of_norm(power) is None


def test_norms_of_equal_exact_points_are_one_number() -> None:
    """Two points with the same coordinates are as far from 0, though a root of 2 is only a ball."""
    one = tool()
    one.sequences.table = {("x", 0, 0): [1.0, 1.0], ("x", 0, 1): [1.0, 1.0], ("x", 0, 2): [-1.0, 1.0]}  # type: ignore[union-attr]
    assert one.answer(parse("norm(x[0]) <= norm(x[1])"), {"t": 0}) is True
    assert one.answer(parse("norm(x[0]) < norm(x[1])"), {"t": 0}) is False
    assert one.answer(parse("norm(x[0]) <= norm(x[2])"), {"t": 0}) is None
    blurred = v.Vector((arb(1, 0.1), arb(1)))
    assert one._norm(blurred) is not one._norm(v.Vector((arb(1, 0.1), arb(1))))
    assert float(one._norm(v.vector([-3]))) == 3


# --- conditions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < c", True),
        ("c < a", False),
        ("w < 1", None),
        ("a < c < u", True),
        ("a < c < 1", False),
        ("c < a < u", False),
        ("a < u < c", False),
        ("0 < w < 3", True),
        ("0 < w < 1", None),
        ("w < 1 < 0", False),  # one false link is enough
        ("a < c and c < u", True),
        ("a < c and w < 1", None),
        ("w < 1 and c < a", False),
        ("c < a or a < c", True),
        ("c < a or w < 1", None),
        ("w < 1 or a < c", True),
        ("not a < c", False),
        ("not c < a", True),
        ("not w < 1", None),
        ("ended_by_restart", True),
    ],
)
def test_undecided_is_neither_true_nor_false(text: str, expected: bool | None) -> None:
    assert tool().answer(parse(text), {"t": 0}) is expected


def test_conditions_and_numbers_are_not_taken_for_each_other() -> None:
    with pytest.raises(EvaluationError, match="condition"):
        tool().answer(parse("a + 1"))
    for text in ("a < c", "x[0]"):
        with pytest.raises(EvaluationError, match="number"):
            tool().scalar(parse(text), {"t": 0})
    assert tool().scalar(parse("a")) == 2


def test_a_choice_that_is_not_decided_covers_both_branches() -> None:
    assert value("10 if a < c else 20") == 10
    assert value("10 if c < a else 20") == 20
    low, high = v.ends(value("10 if w < 1 else 20"))
    assert low <= 10
    assert high >= 20
    assert high < 21
    assert value("1 if a < c else 1/0") == 1


# --- ranges


def test_an_index_hides_a_name_and_is_gone_afterwards() -> None:
    one = tool()
    node = parse("sum(i, (i, 1, 3)) + i")
    assert one.value(node, {"i": 100}) == 106
    assert one.value(parse("sum(k*i, (i, 1, 3))"), {"k": 2, "i": 50}) == 12


def test_sums_are_remembered_for_one_lower_limit_one_body_and_one_place() -> None:
    one = tool(d="k*i")
    node = parse("sum(k*i, (i, m, n))")
    for k in (1, 2):
        for m in (0, 1, 2):
            for n in (2, 5, 3):
                assert one.value(node, {"k": k, "m": m, "n": n}) == k * sum(range(m, n + 1))
    through = parse("sum(d, (i, 1, 3))")
    assert [one.value(through, {"k": k}) for k in (1, 2, 5)] == [6, 12, 30]
    both = parse("sum(i, (i, 1, 3)) + prod(i, (i, 1, 3)) + sum(i**2, (i, 1, 3)) + max(i, (i, 1, 3))")
    assert one.value(both) == 6 + 6 + 14 + 3
    by_epoch = parse("sum(norm(x[i])**2, (i, 0, 0))")
    assert [float(one.value(by_epoch, {"t": t})) for t in (0, 1)] == [1, 81]


def test_what_is_no_whole_number_is_not_a_key() -> None:
    """A bound ball is not remembered: the next one may be another ball."""
    one = tool(d="z + 1")
    for center in (1.0, 2.0):
        assert float(one.value(parse("d"), {"z": arb(center)})) == center + 1
        assert float(one.value(parse("sum(z, (i, 1, 2))"), {"z": arb(center)})) == 2 * center
    assert one.value(parse("d"), {"z": F(1, 2)}) == F(3, 2)
    assert one.value(parse("d"), {"z": F(1, 3)}) == F(4, 3)


def test_running_sums_go_on_and_are_forgotten_with_the_epoch() -> None:
    one = tool()
    node = parse("sum(norm(x[i])**2, (i, 0, k))")
    for k in range(6):
        assert float(one.value(node, {"t": 0, "k": k})) == sum(i**2 + 1 for i in range(k + 1))
    assert one.sequences.asked == 6  # type: ignore[union-attr]
    one.new_epoch()
    one.sequences.table["x", 0, 0] = [5.0, 0.0]  # type: ignore[union-attr]
    assert float(one.value(node, {"t": 0, "k": 0})) == 25


def test_ranges_that_are_too_long_or_not_ranges() -> None:
    with pytest.raises(EvaluationError, match="budget"):
        value(f"sum(1, (i, 1, {MAXIMAL_TERMS + 1}))")
    with pytest.raises(EvaluationError, match="budget"):
        value(f"sum(1, (i, 0, {MAXIMAL_TERMS}))")
    with pytest.raises(MathematicalError):
        value("sum(i, (i, 1))")
    with pytest.raises(MathematicalError, match="lower limit"):
        value("sum(i, (i, w, 3))")
    with pytest.raises(MathematicalError, match="upper limit"):
        value("sum(i, (i, 0, w))")


def test_a_range_has_its_limit_and_one_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAXIMAL_TERMS", 5)
    assert value("sum(1, (i, 1, 5))") == 5
    with pytest.raises(EvaluationError, match="more than 5 terms"):
        value("sum(1, (i, 1, 6))")
    for text in ("max(1, 5, (i, 1, 3))", "sum(i*j, (j, 1, 2), (i, 1, 3))"):  # not silently the first of the two
        with pytest.raises(ExpressionError, match="one expression"):
            parse(text)


def test_nodes_without_a_meaning_are_refused() -> None:
    with pytest.raises(EvaluationError, match="Tuple cannot be evaluated"):
        tool().value(tree.Tuple((tree.Letter("a"),)))


def test_a_sum_is_no_surer_than_its_first_term() -> None:
    one, node = tool(), parse("sum((u if i < 2 else a), (i, 1, k))")
    for _ in range(2):  # a sum that is remembered, too
        one.reset()
        assert one.value(node, {"t": 0, "k": 3}) == 9
        assert one.certainty == "computed"
