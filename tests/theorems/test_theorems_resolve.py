"""Parameters: the regression table of the explicit numbers of RAGD-GS, integer loops, exactness, missing letters."""

from __future__ import annotations

from fractions import Fraction

import pytest

from bilevel_verify.errors import ParameterError
from bilevel_verify.theorems import exact, load_card
from bilevel_verify.theorems.letters.resolve import leaves_of, resolve, scalar_of
from bilevel_verify.theorems.letters.roots import loop_length

COMMON = {"mu": 0.5, "L_g": 1, "rho_g": 0.5, "M_g": 0.5, "C_f": 1, "L_f": 1, "H_f": 1, "rho_f": 1}
COMMON |= {"Delta": 1, "eps": 0.01, "norm_y0": 1}
LAST = {"mu": 0.4, "L_g": 1.3, "rho_g": 0.7, "M_g": 0.35, "C_f": 1.1, "L_f": 0.9, "H_f": 0.6, "rho_f": 0.8}
LAST |= {"Delta": 2, "eps": 0.02, "norm_y0": 0.3, "nu_f": 0.6, "nu_g": 0.3}
CASES = {
    "A": COMMON | {"nu_f": 1, "nu_g": 1},
    "B": COMMON | {"nu_f": 0.5, "nu_g": 0.5},
    "C": COMMON | {"nu_f": 0.5, "nu_g": 1},
    "D": COMMON | {"nu_f": 1, "nu_g": 0.5},
    "E": LAST,
}
# transcribed: one line a letter, columns A to E
TABLE = """
kappa_g 2 2 2 2 3.25
D_0 1 1 1 1 1.5125
D_1 6.7082039 6.7082039 6.7082039 6.7082039 17.416258
D_2 20 20 20 20 52.96875
D_4 1432 798.84271 1432 798.84271 2622.025
L 27.335087 27.335087 27.335087 27.335087 82.214818
lam 670.82039 670.82039 670.82039 670.82039 870.8129
C_1 9 3 3 9 2.922995
C_2 315 315 315 315 919.8
C_3 1570 20984.014 1570 20984.014 391234.13
H_nu 1894 1005.7013 300.24573 21308.014 17242.779
D 0.043297393 0.0022162776 0.024866149 0.0038485643 0.00040522166
sigma 4.8958777e-06 4.8958777e-06 4.8958777e-06 4.8958777e-06 9.7917554e-06
Delta_bar 1.0014907 1.0014907 1.0014907 1.0014907 2.0017369
K_max 1.0755825e+08 1.3872823e+08 2.0756888e+08 58729051 54992861
decrease 1.2744588e-09 1.44003e-10 3.223787e-10 3.7996563e-10 1.4038197e-10
C 7.8044696 7.4196687 7.6294881 7.4345972 18.153478
T_k 57 55 56 55 71
Tp_k 128 125 127 125 162
T_0 75 75 75 75 96
Tp_0 165 164 165 164 211
"""


@pytest.mark.parametrize("case", sorted(CASES))
def test_numbers_of_ragd_gs(case: str) -> None:
    card = load_card("ragd-gs")
    found = resolve(card, "theorem-1", CASES[case], explicit={"T": 1000})
    column = 1 + sorted(CASES).index(case)
    for line in TABLE.split("\n")[1:-1]:
        cells = line.split()
        letter = found.letters[cells[0]]
        assert letter.value == pytest.approx(float(cells[column]), rel=2e-7), (cells[0], case)
        assert letter.lower <= letter.value <= letter.upper
    assert isinstance(found.letters["T_k"].run, int)
    assert "root of (18)" in found.readings
    assert found.letters["D_2"].reading == ""  # printed, no reading needed
    assert found.letters["D"].reading


def test_a_planted_error_in_the_card_is_seen() -> None:
    """Control: with another C_3 the table is missed."""
    card = load_card("ragd-gs")
    found = resolve(card, "theorem-1", CASES["B"], explicit={"T": 1000, "C_3": 21000})
    assert found.letters["H_nu"].value != pytest.approx(1005.7013, rel=2e-7)
    assert found.letters["C_3"].source == "explicit"


@pytest.mark.parametrize("length", [2, 3, 5, 7, 50])
def test_integer_loop_lengths_are_exact(length: int) -> None:
    card = load_card("restarted-agd-hb")
    eps = Fraction(1, 16 * length**4)
    found = resolve(card, "theorem-1", {"L": 1, "rho": 1, "eps": eps, "Delta": 1})
    assert found.letters["K"].scalar == length
    assert found.letters["K"].run == length
    rounded = resolve(card, "theorem-1", {"L": 1, "rho": 1, "eps": float(eps), "Delta": 1})
    assert rounded.letters["K"].run == length
    assert found.hypotheses[0].answer is True


def test_non_integer_loop_length_is_explicit() -> None:
    card = load_card("restarted-agd-hb")
    found = resolve(card, "theorem-1", {"L": 1, "rho": 1, "eps": 0.01, "Delta": 1})
    letter = found.letters["K"]
    assert letter.value == pytest.approx(0.5 * 100**0.25)
    assert letter.run == 2
    assert "no integer" in letter.note
    assert loop_length(Fraction(5, 2))[0] == 3


def test_hypothesis_that_fails_is_seen() -> None:
    card = load_card("restarted-agd-hb")
    found = resolve(card, "theorem-1", {"L": 1, "rho": 1, "eps": 1, "Delta": 1})  # theta = 2
    assert [h.answer for h in found.hypotheses if h.text == "theta < 1"] == [False]


def test_missing_letters_say_which() -> None:
    card = load_card("restarted-agd-hb")
    found = resolve(card, "theorem-1", {"L": 1, "eps": 0.1})
    assert "rho" in found.missing
    with pytest.raises(
        ParameterError, match=r"restarted-agd-hb/theorem-1: rho: no value from constants; without it no B"
    ):
        found.need(["B"])


def test_explicit_letters_win_and_need_nothing() -> None:
    card = load_card("restarted-agd-hb")
    explicit = {"eta": 0.25, "theta": 0.5, "B": 0.1, "K": 4}
    assert leaves_of(card, card.entries["theorem-1"], explicit, explicit) == set()
    found = resolve(card, "theorem-1", {}, explicit, targets=explicit)
    assert found.parameters == explicit
    assert not found.missing


def test_leaves_are_only_what_is_needed() -> None:
    card = load_card("restarted-agd-hb")
    entry = card.entries["theorem-1"]
    assert leaves_of(card, entry, ["eta"]) == {"L"}
    assert leaves_of(card, entry, ["K"]) == {"L", "rho", "eps"}
    assert "T" not in leaves_of(load_card("ragd-gs"), load_card("ragd-gs").entries["theorem-1"], ["T_0"], ["T"])


def test_enclosures_of_truth_travel_and_chosen_letters_are_what_was_run() -> None:
    card = load_card("ragd-gs")
    values = CASES["A"] | {"Delta": (0.0001, 0.0002)}
    found = resolve(card, "theorem-1", values, explicit={"T": 10})
    lam = found.letters["lam"]
    assert lam.lower < 5100 < lam.upper
    assert lam.value == lam.upper  # the safe end
    assert found.scalars()["lam"] == Fraction(lam.value)  # a wide choice is the number of the run
    delta = found.letters["Delta"]
    assert (delta.lower, delta.upper) == pytest.approx((0.0001, 0.0002))


def test_scalars_are_exact_where_they_can_be() -> None:
    with exact.precision():
        assert exact.power(Fraction(16, 81), Fraction(3, 4)) == Fraction(8, 27)
        assert scalar_of(1e-4)[0] == Fraction(1, 10000)
        assert scalar_of("1/3")[0] == Fraction(1, 3)
        low, high = exact.ends(exact.power(Fraction(2), Fraction(1, 2)))
        assert low < high
        assert Fraction(low) ** 2 < 2 < Fraction(high) ** 2
        assert exact.compare(exact.power(Fraction(2), Fraction(1, 2)), "<", Fraction(3, 2)) is True
    for bad in (float("nan"), float("inf"), True, object(), "abc", "2*abc", "oo"):
        with pytest.raises(ParameterError):
            scalar_of(bad)


def test_a_negative_number_of_iterations_is_none():
    """At kappa = 1, started at y* = 0, the logarithm of (31) is negative."""
    import bilevel_verify as bv

    problem = bv.bilevel(f="cos(y1)", g="y1**2/2", x="x1", y="y1", name="kappa-one")
    run = bv.solve(problem, "rahgd", eps=1e-2, x0=[0.0], budget=3000)
    assert run.parameters["T_m1"] == 0
    with pytest.raises(ParameterError, match="T_m1"):
        bv.solve(problem, "rahgd", eps=1e-2, x0=[0.0], parameters={"T_m1": -34})
