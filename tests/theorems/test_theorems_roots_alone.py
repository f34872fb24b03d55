"""Loop lengths of real limits, roots with certified signs, and numbers outside of the range of their letter."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mpmath
import pytest

from bilevel_verify.errors import CardError, MathematicalError
from bilevel_verify.language import parse
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.rounding import ball as exact_ball
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.theorems.card_parts import Domain, Expression, LetterSpec, Root
from bilevel_verify.theorems.letters.roots import _bisect, _simple_middle, loop_length, run_value, solve_root
from bilevel_verify.theorems.reading.reader import read_card

pytestmark = pytest.mark.fast
F = Fraction


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def ball(low: Fraction, high: Fraction) -> Any:
    return exact.hull(low, high)


# --- loop lengths


@pytest.mark.parametrize(
    ("limit", "times", "said"),
    [
        (F(7), 7, ""),
        (F(1), 1, ""),
        (F(15, 2), 8, "no integer"),
        (F(1, 2), 1, "no integer"),
        (F(7) + F(1, 10**12), 7, "up to rounding"),
        (F(7) - F(1, 10**12), 7, "up to rounding"),
        (F(7) + F(7, 10**9), 7, "up to rounding"),  # the slack is relative, and closed
        (F(7) + F(8, 10**9), 8, "no integer"),
        (F(7) - F(8, 10**9), 7, "no integer"),
        (F(2, 10**10), 1, "no integer"),  # near 0, which is no length
        (F(1000) + F(1, 10**6), 1000, "up to rounding"),
        (F(1000) + F(2, 10**6), 1001, "no integer"),
    ],
)
def test_a_loop_runs_until_its_limit(limit: Fraction, times: int, said: str) -> None:
    found, note = loop_length(limit, "N")
    assert found == times
    assert (said in note) if said else note == ""
    assert not note or note.startswith("N ")


def test_a_limit_known_only_up_to_rounding_says_so() -> None:
    assert loop_length(exact_ball(F(7))) == (7, "K is 7 up to rounding")
    found, note = loop_length(ball(F(7), F(7) + F(1, 2**60)))
    assert found == 7
    assert "K is 7 up to rounding" in note
    assert loop_length(ball(F(15, 2), F(15, 2) + F(1, 2**60)))[0] == 8


def test_what_a_solver_gets() -> None:
    def spec(rounding: str = "", domain: Domain | None = None) -> LetterSpec:
        return LetterSpec(name="K", rounding=rounding, domain=domain)  # type: ignore[arg-type]

    whole = Domain("integers 1..", "integers", expression("1"), None)
    real = Domain("(0, oo)", "interval", expression("0"), None)
    assert run_value(F(5, 2), 2.5, None) == (2.5, "")
    assert run_value(F(5, 2), 2.5, spec()) == (2.5, "")
    assert run_value(F(5, 2), 2.5, spec(domain=real)) == (2.5, "")
    assert run_value(F(5, 2), 2.5, spec("up"))[0] == 3
    assert run_value(F(3), 3.0, spec(domain=whole)) == (3, "")
    assert isinstance(run_value(F(3), 3.0, spec(domain=whole))[0], int)
    assert run_value(F(2**60 + 1), 2.0**60, spec(domain=whole)) == (2**60 + 1, "")  # not by way of a float
    assert run_value(ball(F(4), F(4) + F(1, 2**70)), 4.0, spec(domain=whole)) == (4, "")


# --- roots


def root(equation: str, low: str, high: str, **define: str) -> Root:
    return Root(  # type: ignore[call-arg]
        equation=expression(equation),
        between=(expression(low), expression(high)),
        define={name: expression(text) for name, text in define.items()},
    )


def encloses(value: Any, digits: Any) -> bool:
    """Whether an enclosure of relative width below 2**-80 holds a number of 60 digits."""
    with mpmath.workdps(60):
        low, high = (mpmath.mpf(e) for e in exact.ends(value))
        near = isinstance(value, Fraction) or float(value.rad()) < 2.0**-80 * abs(float(digits))
        return bool(low <= digits <= high) and near


@pytest.mark.parametrize(
    ("equation", "low", "high", "define", "digits"),
    [
        ("q**2 - 2", "0", "5", {}, "sqrt(2)"),
        ("exp(q) - a", "0", "5", {}, "log(3)"),
        ("r - 2", "0", "5", {"r": "s + 0", "s": "q**2"}, "sqrt(2)"),
        ("q**3 - 1/1000", "0", "1", {}, "mpf(1)/10"),
        ("q + sqrt(2)", "-3", "0", {}, "-sqrt(2)"),
    ],
)
def test_the_zero_of_an_increasing_function_is_enclosed(
    equation: str, low: str, high: str, define: dict[str, str], digits: str
) -> None:
    with mpmath.workdps(60):
        expected = {
            "sqrt(2)": mpmath.sqrt(2),
            "log(3)": mpmath.log(3),
            "mpf(1)/10": mpmath.mpf(1) / 10,
            "-sqrt(2)": -mpmath.sqrt(2),
        }[digits]
    with precision(exact.BITS):
        found = solve_root("q", root(equation, low, high, **define), {"a": F(3)})
    assert encloses(found, expected)


@pytest.mark.parametrize(("low", "high"), [("2", "5"), ("0", "1"), ("5", "2")])
def test_a_bracket_without_a_change_of_sign_has_no_root(low: str, high: str) -> None:
    with precision(exact.BITS), pytest.raises(MathematicalError, match="no change of sign"):
        solve_root("q", root("q**2 - 2", low, high), {})


def test_a_zero_at_an_end_of_the_bracket_is_one() -> None:
    with precision(exact.BITS):
        assert encloses(solve_root("q", root("q - 2", "2", "5"), {}), mpmath.mpf(2))
        assert encloses(solve_root("q", root("q - 2", "0", "2"), {}), mpmath.mpf(2))
        assert solve_root("q", root("q - 2", "2", "2"), {}) == 2


def test_bisection_keeps_the_zero_where_signs_are_not_certain() -> None:
    """A sign that is known only outside of a band: both ends of what is left lie outside of it or at its rim."""
    for center in (F(1, 3), F(5, 7), F(49, 100), F(1, 2), F(1, 200)):
        for band in (F(1, 10**3), F(1, 10)):

            def sign(at: Fraction, center: Fraction = center, band: Fraction = band) -> int:
                return 0 if abs(at - center) <= band else 1 if at > center else -1

            found = _bisect(sign, F(0), F(1))
            low, high = (F(e) for e in exact.ends(found))
            assert low <= center <= high
            assert high - low <= 9 * band


def test_middles_lie_inside_and_stay_short() -> None:
    low, high = F(1, 3), F(1, 3) + F(1, 7**20)
    for _ in range(50):
        at = _simple_middle(low, high)
        assert low < at < high
        assert (at - low) / (high - low) == pytest.approx(0.5, abs=0.13)
        assert at.denominator & (at.denominator - 1) == 0
        low = at
    assert _simple_middle(F(0), F(100)) == 50


# --- ranges of letters

HEAD = """
[paper]
key = "ranges"
[letters]
k = { domain = "integers 2..9" }
a = { domain = "(0, 1]" }
b = { domain = "[0, 1)" }
c = { domain = "[2, oo)" }
free = {}
"""


def reads(folder: Path, text: str) -> str:
    """The complaint of the reader about ranges; empty if it takes the card."""
    path = folder / "ranges.toml"
    path.write_text(HEAD + text, encoding="utf8")
    try:
        read_card(path)
    except CardError as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "fits"),
    [
        ("k", "2", True), ("k", "9", True), ("k", "1", False), ("k", "10", False), ("k", "5/2", False),
        ("k", "9/2 - 1/2", True), ("a", "1", True), ("a", "0", False), ("a", "1/2", True), ("a", "3/2", False),
        ("a", "-1", False), ("b", "0", True), ("b", "1", False), ("b", "-1/2", False), ("c", "2", True),
        ("c", "10**9", True), ("c", "3/2", False), ("a", "pi/4", True), ("a", "pi", False), ("a", "E - 2", True),
        ("c", "E", True), ("b", "E", False), ("free", "-7", True), ("a", "free", True), ("a", "2*free", True),
        ("a", "1/(1 - 1)", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["definitions", "settings", "entry", "claim"])
def test_numbers_lie_in_the_range_of_their_letter(
    tmp_path: Path, name: str, value: str, fits: bool, place: str
) -> None:
    claim = 'id = "c"\nover = "parameters"\nleft = "1"\nright = "2"\n'
    theorem = '[[theorem]]\nid = "t"\n{more}[[theorem.claim]]\n' + claim
    define = f'define = {{ {name} = "{value}" }}\n'
    text = {
        "definitions": f'[definitions]\n{name} = "{value}"\n',
        "settings": f'[settings.s1]\n[settings.s1.parameters]\n{name} = "{value}"\n',
        "entry": theorem.replace("{more}", define),
        "claim": theorem.replace("{more}", "") + define,
    }[place]
    complaint = reads(tmp_path, text)
    assert (complaint == "") is fits, complaint
    if not fits:
        assert "is not in the range" in complaint
        assert complaint.rstrip().endswith(f"of {name}")


def test_a_card_without_numbers_out_of_range_is_taken_whatever_stands_in_it(tmp_path: Path) -> None:
    """Roots have no number yet; derivations have no claims; a quantified letter has the range of its quantifier."""
    root = 'a = { root = "a - 7", between = ["0", "9"] }\n'
    theorem = '[[theorem]]\nid = "t"\n{more}[[theorem.claim]]\nid = "c"\nover = "parameters"\nleft = "1"\nright = "2"\n'
    derivation = '[[derivation]]\nid = "d"\nresult = "c"\ngives = "O(c)"\n'
    assert reads(tmp_path, f"[definitions]\n{root}") == ""
    assert reads(tmp_path, f"[settings.s1]\n[settings.s1.parameters]\n{root}") == ""
    assert reads(tmp_path, derivation) == ""
    assert reads(tmp_path, theorem.replace("{more}", "") + f"[theorem.parameters]\n{root}") == ""
    assert reads(tmp_path, theorem.replace("{more}", "")) == ""
    quantified = 'for = { a = "(0, 9]" }\ndefine = { a = "3" }\n'
    assert reads(tmp_path, theorem.replace("{more}", quantified)) == ""
    assert "is not in the range" in reads(tmp_path, derivation + 'define = { a = "3" }\n')


@pytest.mark.parametrize("where", ["c", "t"])
def test_the_place_of_the_number_is_named(tmp_path: Path, where: str) -> None:
    claim = 'id = "c"\nover = "parameters"\nleft = "1"\nright = "2"\n'
    define = 'define = { a = "3" }\n'
    theorem = (
        '[[theorem]]\nid = "t"\n' + define * (where == "t") + f"[[theorem.claim]]\n{claim}" + define * (where == "c")
    )
    complaint = reads(tmp_path, theorem)
    assert ('claim "c"' in complaint) is (where == "c")
    assert ": t, " in complaint
    assert "3 is not in the range (0, 1] of a" in complaint


@pytest.mark.parametrize("center", [F(1, 3), F(-5, 7)])
def test_bisection_ends_at_the_width_that_is_asked_for(center: Fraction) -> None:
    asked: list[Fraction] = []

    def sign(at: Fraction) -> int:
        asked.append(at)
        return 1 if at > center else -1

    with precision(exact.BITS):
        found = _bisect(sign, F(-1), F(1))
        low, high = (F(exact.rational(end)) for end in (found.lower(), found.upper()))
    assert low <= center <= high
    assert high - low < abs(center) / 2**88
    assert len(asked) <= 96


def test_middles_of_wide_brackets_are_whole() -> None:
    assert _simple_middle(F(0), F(101)).denominator == 1


def test_a_loop_of_an_exact_length_runs_exactly_so_often() -> None:
    assert loop_length(F(10**17 + 1)) == (10**17 + 1, "")


def test_a_bracket_closes_from_both_sides_on_what_has_no_certain_sign() -> None:
    def sign(at: Fraction) -> int:
        return -1 if at < F(45, 100) else 1 if at > F(55, 100) else 0

    found = _bisect(sign, F(0), F(1))
    assert 0.4 < float(found.lower()) <= 0.45
    assert 0.55 <= float(found.upper()) < 0.6


def test_a_bracket_that_is_a_ball_begins_at_its_lower_end() -> None:
    root: Any = SimpleNamespace(define={}, equation=expression("x - 1/4"), between=(expression("a"), expression("b")))
    letters = {"a": ball(F(0), F(1, 2)), "b": ball(F(1, 8), F(3, 8))}
    found = solve_root("x", root, letters)
    assert float(found.lower()) <= 0.25 <= float(found.upper())
    assert float(found.upper()) - float(found.lower()) < 1e-15


def test_a_middle_that_is_the_root_halves_the_bracket_on_both_sides() -> None:
    """Where the sign at the middle is 0, a quarter is taken away at either end: after n steps 2**-n is left."""
    asked: list[Fraction] = []

    def sign(at: Fraction) -> int:
        asked.append(at)
        return (at > 0) - (at < 0)

    with precision(2000):
        found = _bisect(sign, F(-1), F(1))
        low, high = (F(exact.rational(end)) for end in (found.lower(), found.upper()))
    assert low < 0 < high
    assert high - low <= F(1, 2**395)
