import mine

from bilevel_verify.testing import assert_all


def test_mine():
    assert_all(hypergradient=mine.hypergradient, linear_solver=mine.cg, inner_solver=mine.agd, solver=mine.solve)
