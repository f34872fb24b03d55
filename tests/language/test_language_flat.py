"""Sums of many terms: read in parts, and the tree is that of the whole text."""

from __future__ import annotations

import ast
import random

import pytest
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import PROBLEM, flat, parse
from bilevel_verify.language import tree as t

LEAVES = ["a", "b", "2", "1e-3", "3.5e+2", "x1e", "2.", "-a", "a**-b", "Z0", "_0", "- -a"]


def expression(rng: random.Random, depth: int) -> str:
    """Sums inside everything that they can stand in; not all of it belongs to the language, but Python reads it."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(LEAVES)
    one, two, three, four = (expression(rng, depth - 1) for _ in range(4))
    shapes = [f"({one})", f"f({one}, ({two}, a < {three}))", f"{one}*{two}/({three})", f"({one})**({two}) <= {three}"]
    shapes.append(f"({one} if {two} >= {three} and not b else {four})")
    shapes.append(f"({one}){rng.choice('+-')}({two})|{three}<<{four}")
    if rng.random() < 0.55:
        return rng.choice(shapes)
    terms = [
        expression(rng, depth - 1) if rng.random() < 0.3 else rng.choice(LEAVES) for _ in range(rng.randint(2, 12))
    ]
    return "".join(rng.choice(["+", "-", " - ", " + "]) * (n > 0) + term for n, term in enumerate(terms))


@pytest.mark.seeded
def test_a_text_that_is_read_in_parts_is_the_text_that_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat, "PART", 3)
    rng, cut = random.Random(SEED), 0
    for _ in range(400):
        text = expression(rng, 3)
        whole = ast.parse(text, mode="eval").body
        sums = flat._long_sums(text)
        cut += bool(sums)
        parts = flat._in_parts(text, sums)
        assert ast.dump(parts) == ast.dump(whole), text
        assert places(parts) == places(whole), text
    assert cut > 100


def places(node: ast.expr) -> list[tuple[int, int | None]]:
    """Where every name and number of a tree stands."""
    leaves = (n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Constant))
    return [(leaf.col_offset, leaf.end_col_offset) for leaf in leaves]


@pytest.mark.slow
@pytest.mark.fast
def test_ten_thousand_terms_are_one_level() -> None:
    sum_of = parse("-".join(f"y{n}*2" for n in range(10_000)), limits=PROBLEM)
    assert isinstance(sum_of, t.Add)
    assert len(sum_of.terms) == 10_000
    assert sum_of.terms[0] == parse("y0*2")
    assert sum_of.terms[9_999] == t.Negate(parse("y9999*2"))
    assert sum_of.terms[9_999].column == len("-".join(f"y{n}*2" for n in range(9_999))) + 2
    inside = parse(f"exp(({'+'.join(['a'] * 5_000)})/({'+'.join(['b'] * 5_000)}), 2) + 1", limits=PROBLEM)
    assert [len(s.terms) for s in inside.walk() if isinstance(s, t.Add)] == [2, 5_000, 5_000]


@pytest.mark.fast
@pytest.mark.parametrize(
    ("text", "place"),
    [("a+" * 3_000 + "b c", "6003"), ("a+" * 3_000 + "b!", ""), (f"({'a-' * 3_000})", ""), ("a+" * 3_000, "")],
)
def test_a_mistake_far_behind_is_named_where_it_stands(text: str, place: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, limits=PROBLEM)
    assert "nested too deeply" not in str(caught.value)
    assert f"column {place}" in str(caught.value)


def test_depth_is_still_refused() -> None:
    with pytest.raises(ExpressionError, match="nested"):
        parse("a**" * 3_000 + "b", limits=PROBLEM)
    with pytest.raises(ExpressionError, match="nested"):
        parse("+".join(["a"] * 1_000) + "+(" * 100 + "b" + ")" * 100, limits=PROBLEM)


def test_a_problem_with_three_thousand_distinct_terms_is_loaded() -> None:
    problem = bv.single_level(f="+".join(f"{n}*x1**2*x2" for n in range(1, 3_001)), x="x1 x2")
    assert str(problem.f) == f"{sum(range(1, 3_001))}*x1**2*x2"
