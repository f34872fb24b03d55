"""Trees into trees: what is replaced and what is not, bound indices, circles; values before and after."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.errors import CardError
from bilevel_verify.language import parse, to_text, tree
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.theorems import rewrite
from bilevel_verify.theorems.rewrite import free_letters, inline, negated, order_of, rebuild, substitute, written_out

pytestmark = pytest.mark.fast
F = Fraction


def value(node: tree.Node, **letters: int) -> Any:
    return Formula({name: F(number) for name, number in letters.items()}).value(node)


def put(text: str, **values: str) -> tree.Node:
    return substitute(parse(text), {name: parse(new) for name, new in values.items()})


@pytest.mark.parametrize(
    ("text", "values", "becomes"),
    [
        ("a + b", {"a": "b", "b": "a"}, "b + a"),  # at once, not one after the other
        ("a*sin(a)**a", {"a": "c"}, "c*sin(c)**c"),
        ("a[a, b]", {"a": "c"}, "a[c, b]"),  # the name of a sequence is no letter
        ("sum(a*i, (i, 1, a))", {"a": "3"}, "sum(3*i, (i, 1, 3))"),
        ("sum(a*i, (i, 1, i))", {"i": "n"}, "sum(a*i, (i, 1, n))"),  # the ends are outside
        ("sum(a*i, (i, i, 4)) + i", {"i": "n"}, "sum(a*i, (i, n, 4)) + n"),
        ("prod(sum(i*j*a, (i, 1, j)), (j, 1, i))", {"i": "7", "a": "b"}, "prod(sum(i*j*b, (i, 1, j)), (j, 1, 7))"),
        ("max(a, b)", {"a": "c"}, "max(c, b)"),
        ("sum(i, (i, 1, 2))", {"a": "i"}, "sum(i, (i, 1, 2))"),  # nothing to put in, nothing to rename
        ("sum(a*i, (i, 1, 2))", {"a": "i"}, "sum(i*i_1, (i_1, 1, 2))"),
        ("sum(a*i*i_1, (i, 1, 2))", {"a": "i"}, "sum(i*i_2*i_1, (i_2, 1, 2))"),
        ("sum(a*i, (i, 1, 2))", {"a": "i + i_1"}, "sum((i + i_1)*i_2, (i_2, 1, 2))"),
        ("sum(a*i, (i, a, 2))", {"a": "j"}, "sum(j*i, (i, j, 2))"),
        ("sum(b*i, (i, a, 2))", {"a": "i"}, "sum(b*i, (i, i, 2))"),
    ],
)
def test_free_letters_are_replaced_and_indices_are_not(text: str, values: dict[str, str], becomes: str) -> None:
    assert to_text(put(text, **values)) == to_text(parse(becomes))


@pytest.mark.parametrize("word", ["sum", "prod", "max", "min"])
def test_a_letter_that_is_put_in_is_not_caught_by_an_index(word: str) -> None:
    """Two substitutions and one: at i = 5 the letter a is 5, whatever the indices inside are called."""
    text = f"{word}({word}(a*i + j + i_1, (j, 1, i)), (i, 1, 3))"
    caught = put(text, a="i + j")
    for i, j in ((5, 2), (1, 4)):
        assert value(caught, i=i, j=j, i_1=2) == value(parse(text), a=i + j, i_1=2)


def test_a_local_function_is_not_caught_by_the_index_where_it_is_used() -> None:
    """h(t) = 6 t at every t, also at an index j that h itself uses: 6 + 12 = 18, and not 28."""
    local = {"h": (("t",), parse("sum(t*j, (j, 1, 3))")), "g": (("t", "u"), parse("h(u) - h(t)"))}
    assert value(inline(parse("sum(h(j), (j, 1, 2))"), local)) == 18
    products = inline(parse("sum(g(1, j)*g(j, 2), (j, 1, 3))"), local)
    assert value(products) == sum(36 * (j - 1) * (2 - j) for j in (1, 2, 3))
    assert value(inline(parse("h(h(2)) + j"), local), j=1) == 73


def test_a_definition_means_the_index_that_it_mentions() -> None:
    """theta = k + 1 in a sum over k is theta_k, as it is where a claim is evaluated."""
    text, values = "sum(theta, (k, 0, n)) + theta", {"theta": parse("k + 1"), "n": parse("m + 1")}
    for node in (substitute(parse(text), values, caught=True), written_out(parse(text), values)):
        assert value(node, k=10, m=1) == 1 + 2 + 3 + 11
    assert Evaluator({"k": (F(10), "proved"), "m": (F(1), "proved")}, values).value(parse(text)) == 1 + 2 + 3 + 11
    assert value(substitute(parse(text), values), k=10, m=1) == 3 * 11 + 11


def test_local_functions_are_written_out_or_refused() -> None:
    local = {"h": (("t",), parse("t + 1")), "loop": (("t",), parse("loop(t)"))}
    assert to_text(inline(parse("h(h(a))*sin(h(b))"), local)) == "((a + 1) + 1)*sin(b + 1)"
    with pytest.raises(CardError, match="h takes 1 arguments, not 2"):
        inline(parse("h(a, b)"), local)
    with pytest.raises(CardError, match="circle"):
        inline(parse("loop(a)"), local)
    chain = {f"h{n}": (("t",), parse(f"h{n + 1}(t)")) for n in range(25)}
    assert to_text(inline(parse("h5(a)"), chain)) == "h25(a)"  # twenty steps are no circle
    with pytest.raises(CardError, match="circle"):
        inline(parse("h4(a)"), chain)


def test_definitions_that_mention_each_other_are_written_out_to_the_end() -> None:
    values = {"a": parse("b + 1"), "b": parse("c*c"), "c": parse("d")}
    assert to_text(written_out(parse("a"), values)) == to_text(parse("d*d + 1"))
    assert to_text(written_out(parse("x"), {})) == "x"
    long = {f"a{n}": parse(f"a{n + 1}") for n in range(6)}
    assert to_text(written_out(parse("a0"), long)) == "a6"


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("a + sin(b)", "a b"),
        ("sum(a*i, (i, lo, hi))", "a lo hi"),
        ("sum(a*i, (i, i, 3))", "a i"),
        ("sum(i, (i, 1, 3)) + i", "i"),
        ("sum(sum(i*j*k, (i, 1, j)), (j, 1, i))", "k i"),
        ("a[k, i] + 1", "a k i"),
        ("sum(a[i], (i, 1, 2))", "a"),
        ("max(i, j)", "i j"),
        ("calls(grad_f) + c", "c"),
        ("2", ""),
    ],
)
def test_free_letters(text: str, free: str) -> None:
    assert free_letters(parse(text)) == set(free.split())


def test_bound_letters_are_those_given_too() -> None:
    assert free_letters(parse("a + b*c"), frozenset("bc")) == {"a"}


def test_an_order_in_which_each_follows_what_it_needs() -> None:
    needs = {"a": {"b", "c", "stranger"}, "b": {"d"}, "c": {"b"}, "d": set(), "e": {"e2"}}
    found = order_of(needs)
    assert sorted(found) == sorted(needs)
    for name, others in needs.items():
        assert all(found.index(other) < found.index(name) for other in others & needs.keys())
    assert order_of({}) == []


@pytest.mark.parametrize(
    ("needs", "circle"),
    [
        ({"a": {"a"}}, "a -> a"),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, "b -> c -> b"),
        ({"a": set(), "x": {"y"}, "y": {"x"}}, "x -> y -> x"),
    ],
)
def test_circles_are_named_without_the_way_to_them(needs: dict[str, set[str]], circle: str) -> None:
    with pytest.raises(CardError, match=rf"in a circle: {circle}$"):
        order_of(needs)


def test_parts_of_a_node_are_changed_one_level_deep() -> None:
    node = parse("a*(b + c) - d")
    seen: list[str] = []
    assert rebuild(node, lambda part: (seen.append(to_text(part)), part)[1]) == node
    assert len(seen) == len(list(node.children()))
    for place, part in enumerate(node.children()):
        children = list(rewrite.with_child(node, place, parse("z")).children())
        assert [c == parse("z") for c in children] == [k == place for k in range(len(children))], part
    assert rebuild(parse("a"), lambda part: parse("z")) == parse("a")


@pytest.mark.parametrize(("place", "step"), [(1, 1), (1, -1), (2, 1), (2, -1)])
def test_a_limit_moves_alone(place: int, step: int) -> None:
    node = parse("sum(i, (i, 2, 4))")
    assert isinstance(node, tree.Call)
    low, high = (2 + step, 4) if place == 1 else (2, 4 + step)
    assert value(rewrite.moved_limit(node, place, step)) == sum(range(low, high + 1))


def test_signs_and_infinite_ends() -> None:
    assert to_text(negated(parse("a"))) == "-a"
    assert to_text(negated(parse("-a"))) == "a"
    assert [rewrite.infinite(parse(t)) for t in ("oo", "-oo", "a", "-a", "2", "oo + 1")] == [True, True, *[False] * 4]
    assert [rewrite.has_order(parse(t)) for t in ("a + 2*O(1/eps)", "f(a)", "a")] == [True, False, False]


def test_a_range_that_is_renamed_keeps_its_place_in_the_text() -> None:
    before = parse("a*sum(i*b, (i, 0, n))")
    after = substitute(before, {"b": parse("i + 1")})
    spans = [next(p for p in node.walk() if isinstance(p, tree.Tuple)) for node in (before, after)]
    assert spans[0].items[0] != spans[1].items[0]
    assert spans[0].column == spans[1].column
    bodies = [next(p for p in node.walk() if isinstance(p, tree.Call)).arguments[0] for node in (before, after)]
    assert bodies[0].column != spans[0].column
