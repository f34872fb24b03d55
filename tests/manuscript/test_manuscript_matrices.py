"""Inequalities between norms of matrices in a proof: true ones survive, damaged ones fail, nothing else is attacked."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, read_latex
from bilevel_verify.manuscript import load_print
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.judging import judge
from bilevel_verify.manuscript.matrices import attacked
from bilevel_verify.manuscript.relations import Printed, relations_of
from bilevel_verify.manuscript.values import NotNumeric, Point, value
from bilevel_verify.theorems.library import load_card

INVERSES = 314
"""Number of a display of the print of fsba: the norm of a difference of inverses, at most a product of three norms."""


@lru_cache
def paper() -> Paper:
    return Paper(load_card("fsba"), load_print("fsba"))


def printed(number: int) -> Printed:
    return next(relations_of(one)[0] for one in paper().read if one.formula.n == number)


def test_a_difference_of_inverses_survives_and_stays_undecided() -> None:
    one = printed(INVERSES)
    found = attacked(paper(), one.relation)
    assert found is not None
    assert not found.attack.refuted
    assert found.attack.instances > 100
    assert found.attack.ratio == pytest.approx(1, rel=1e-6)
    assert "hess_yy_g(x_v, y_star(x_v))" in found.stands
    assert judge(paper(), one, effort=0.1).verdict != "refuted"


def test_a_lost_norm_is_seen() -> None:
    relation = printed(INVERSES).relation
    assert isinstance(relation.right, tree.Multiply)
    for lost in range(len(relation.right.factors)):
        kept = relation.right.factors[:lost] + relation.right.factors[lost + 1 :]
        found = attacked(paper(), replace(relation, right=tree.Multiply(kept)))
        assert found is not None
        assert found.attack.refuted
        judged = judge(paper(), replace(printed(INVERSES), relation=replace(relation, right=tree.Multiply(kept))), 0.1)
        assert judged.verdict == "undecided"
        assert judged.reason.startswith("does not hold for all matrices: ")


def test_equations_and_constants_are_left_alone() -> None:
    relation = printed(INVERSES).relation
    assert attacked(paper(), Relation(relation.left, "==", relation.right)) is None
    assert attacked(paper(), Relation(relation.left, "<=", tree.Multiply((tree.Letter("mu"), relation.right)))) is None
    assert attacked(paper(), Relation(tree.Letter("mu"), "<=", tree.Letter("ell"))) is None


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (r"xx^\top y", r"x(x^\top y)", True),
        (r"x^\top\mathbf{A}y", r"y^\top\mathbf{A}^\top x", True),
        (r"\|x^\top\mathbf{A}\|", r"\|\mathbf{A}^\top x\|", True),
        (r"\mathbf{A}^{-\top}x", r"(\mathbf{A}^\top)^{-1}x", True),
        (r"xx^\top", r"x^\top x", False),
        (r"xy^\top", r"yx^\top", False),
        (r"xy^\top y", r"yx^\top y", False),
        (r"x^\top\mathbf{A}y", r"y^\top\mathbf{A}x", False),
        (r"\mathbf{A}^{-\top}x", r"\mathbf{A}^{-1}x", False),
    ],
)
def test_a_product_of_vectors_is_no_inner_product(one: str, other: str, equal: bool) -> None:
    notation = Notation.from_table({"vectors": "x y", "matrices": r"\mathbf{A}=A"})
    point = Point(1, notation)
    found = [value(read_latex(latex, notation).tree, point) for latex in (one, other)]
    assert (np.shape(found[0]) == np.shape(found[1]) and np.allclose(*found)) is equal


def test_a_vector_and_its_transpose_are_not_added() -> None:
    notation = Notation.from_table({"vectors": "x"})
    with pytest.raises(NotNumeric):
        value(tree.Add((tree.Letter("x"), tree.Call("T", (tree.Letter("x"),)))), Point(1, notation))
