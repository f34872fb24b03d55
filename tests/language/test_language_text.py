"""Text of a tree reads back as the same tree."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import parse, to_text


@pytest.mark.parametrize(
    "text",
    [
        "-x**2", "(-x)**2", "a/b*c", "a/(b*c)", "a - (b - c)", "a - b - c", "2*(x + 1)**(3 + nu)",
        "x**(-2)", "-(a + b)*c", "sum(norm(x[t,i + 1] - x[t,-1])**2, (i, 0, k - 1))", "a < b <= c",
        "not a < b and (c > d or e == 1)",
        "a if b < c else (d if e > 1 else 2)", "T(A) @ v", "(a if b > 0 else c)*2", "x**y**2", "(x**y)**2", "a*(b*c)",
        "a + (b + c)", "0.64*x", "1/3*x", "(a*b)*c", "-(-x)", "a % b", "(a/b)/c", "a/b/c", "2**(-1/2)",
    ],
)  # fmt: skip
def test_reads_back(text: str) -> None:
    node = parse(text)
    assert parse(to_text(node)) == node


def test_no_needless_brackets() -> None:
    assert to_text(parse("((k**3)/12) <= (sum((((i+1)/2)**2), (i, 1, (k + (-1)))))")) == (
        "k**3/12 <= sum(((i + 1)/2)**2, (i, 1, k - 1))"
    )


LEAVES = st.sampled_from(["x", "y", "2", "0.5", "k"])
TEXTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner),
        st.builds("(-{})".format, inner),
        st.builds("f({}, {})".format, inner, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_random_trees_read_back(text: str) -> None:
    try:
        node = parse(text)
    except ExpressionError as refused:  # a random tower of exponents
        assume("tower" not in str(refused))
        raise
    assert parse(to_text(node)) == node
