"""The steps that a card prints itself: what they ask is counted, and what they never made is not there.

A stranger's cards (28 November): every one of these rows once said something that is false.
"""

from __future__ import annotations

from pathlib import Path

import mpmath as mp
import pytest

import bilevel_verify as bv
from bilevel_verify.theorems.pseudocode import literal

HEAD = """
[paper]
key = "own"
[units]
F = "f"
X = "x"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants" }
eta = { unit = "X**2/F", domain = "(0, oo)" }
K = { unit = "1", domain = "integers 1.." }
[settings.main.parameters]
eta = "1/L"
K = "4"
[[theorem]]
id = "t"
algorithm = "a"
settings = ["main"]
"""
DESCENT = """
k = 0; x[0] = x_int
while k < K:
    d = grad_f(x[k])
    x[k+1] = x[k] - eta*d
    k = k + 1
return x[k]
"""
HALF = "x1**2/2"
"""With eta = 1/L the second iterate is the minimiser, and so are all later ones."""


def claim(name: str, over: str, left: str, right: str, where: str = "") -> str:
    more = f'  where = ["{where}"]\n' if where else ""
    return f'  [[theorem.claim]]\n  id = "{name}"\n  over = "{over}"\n  left = "{left}"\n  right = "{right}"\n{more}'


def card_of(folder: Path, claims: str, steps: str = DESCENT, eta: str = "1/L") -> bv.Card:
    inputs = '[[algorithm]]\nid = "a"\ninputs = ["x_int", "eta", "K"]\n'
    text = HEAD.replace('eta = "1/L"', f'eta = "{eta}"') + claims + inputs + f'steps = """{steps}"""\n'
    path = folder / "own.toml"
    path.write_text(text)
    return bv.card(str(path))


def said(verification: bv.Verification, name: str) -> tuple[str, str]:
    row = [row for row in verification.claims if row.claim == name][-1]  # the last: under the conditions of the card
    return row.verdict, row.reason or ""


@pytest.mark.parametrize("start", [1.0, 0.0], ids=["arrives", "stands still"])
def test_every_question_of_the_steps_is_a_call_also_where_iterates_coincide(tmp_path: Path, start: float) -> None:
    claims = claim("few", "run", "calls(grad_f)", "K - 1") + claim("all", "run", "K", "calls(grad_f)")
    found = bv.verify(bv.single_level(f=HALF, x="x1"), card_of(tmp_path, claims), x0=[start])
    assert said(found, "few")[0] == "refuted"
    assert said(found, "all")[0] == "holds"


@pytest.mark.parametrize(
    ("steps", "calls"),
    [
        ("a = grad_x_f(x_int, y0); b = grad_y_f(x_int, y0)", 1),
        ("a = grad_y_f(x_int, y0); w = x_int; b = grad_x_f(w, y0)", 1),
        ("a = grad_x_f(x_int + x_int, y0); b = grad_y_f(x_int + x_int, y0)", 1),
        ("a = grad_x_f(x_int, y0); c = grad_x_f(2*x_int, y0); b = grad_y_f(x_int, y0); d = grad_y_f(2*x_int, y0)", 2),
        ("w = x_int; a = grad_x_f(w + x_int, y0); w = 1*w; b = grad_y_f(w + x_int, y0)", 2),
        ("a = grad_x_f(x_int, y0); b = grad_x_f(x_int, y0)", 2),
        ("a = grad_x_f(x_int, y0); b = grad_y_f(x_int, y0); c = grad_x_f(x_int, y0)", 2),
        ("a = grad_f(x_int, y0); b = grad_f(x_int, y0)", 2),
        ("a = grad_f(x_int, y0); b = grad_y_f(x_int, y0)", 2),
        ("a = grad_x_f(x_int, y0); y = y0 + 0*y0; b = grad_y_f(x_int, y)", 2),
    ],
)
@pytest.mark.parametrize("digits", [None, 30])
def test_the_two_parts_of_a_gradient_at_one_point_are_one_call_and_nothing_else_is(
    tmp_path: Path, steps: str, calls: int, digits: int | None
) -> None:
    """One point is what the steps hold under a name, or compute from the same names: not an equal one."""
    inputs = '[[algorithm]]\nid = "a"\ninputs = ["x_int", "y0"]\n'
    path = tmp_path / "own.toml"
    path.write_text(HEAD + inputs + f'steps = """\n{steps}\nreturn x_int\n"""\n')
    problem = bv.bilevel(f="x1**2 + x1*y1", g="y1**2 - x1*y1", x="x1", y="y1")
    options = literal.Options(y0=[2.0], digits=digits)
    _, functions = literal.execute(bv.card(str(path)), "a", problem, {}, [1.0], options)
    assert functions.counts["grad_f"] == calls


def test_an_entry_that_the_steps_never_assign_is_not_recorded(tmp_path: Path) -> None:
    claims = claim("apart", "step", "norm(x[0])/10**6", "norm(x[k] - x[k-1])")
    claims += claim("later", "step", "norm(x[0])/10**6", "norm(x[k] - x[k-1])", "k >= 1")
    claims += claim("before", "run", "norm(x[0] - x[-1])", "0")
    problem = bv.single_level(f="x1**2 + x2**2/2", x="x1 x2")
    found = bv.verify(problem, card_of(tmp_path, claims), x0=[1.0, 2.0])
    assert said(found, "apart") == ("undecided", "not recorded: x[0, -1] (1 of 4 places)")
    assert said(found, "before") == ("undecided", "not recorded: x[0, -1] (1 of 1 places)")
    assert said(found, "later")[0] == "holds"


def test_an_entry_before_the_first_that_the_steps_assign_is_what_they_assign(tmp_path: Path) -> None:
    steps = DESCENT.replace("x[0] = x_int", "x[0] = x_int; x[-1] = 2*x_int")
    found = bv.verify(
        bv.single_level(f="x1**2", x="x1"),
        card_of(tmp_path, claim("before", "run", "norm(x[-1] - 2*x[0])", "0"), steps),
        x0=[1.0],
    )
    assert said(found, "before")[0] == "holds"


def test_an_epoch_before_the_first_is_no_row_of_the_last(tmp_path: Path) -> None:
    """``x[-1, -1]`` was written where the entry -1 of the last epoch stands."""
    steps = """
x[0,0] = x_int; x[0,-1] = x_int; x[-1,-1] = 5*x_int; x[-1,0] = 7*x_int
x[0,1] = x[0,0] - eta*grad_f(x[0,0])
return x[0,1]
"""
    claims = claim("before", "run", "norm(x[0,-1] - x[0,0])", "0") + claim("epochs", "run", "epochs", "1")
    claims += claim("other", "run", "norm(x[-1,0])", "100")
    found = bv.verify(bv.single_level(f="x1**2", x="x1"), card_of(tmp_path, claims, steps), x0=[1.0])
    assert said(found, "before")[0] == "holds"
    assert said(found, "epochs")[0] == "holds"
    assert said(found, "other") == ("undecided", "not recorded: x[-1, 0] (1 of 1 places)")


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_a_run_without_an_iterate_decides_nothing(tmp_path: Path, budget: int) -> None:
    claims = claim("few", "run", "calls(grad_f)", "K - 1") + claim("long", "run", "K", "iterations")
    claims += claim("ends", "epoch", "k_end", "3") + claim("down", "step", "f(x[k+1])", "f(x[k])")
    found = bv.verify(bv.single_level(f=HALF, x="x1"), card_of(tmp_path, claims), x0=[1.0], budget=budget)
    assert {said(found, name) for name in ("few", "long", "ends", "down")} == {
        ("undecided", "budget: the run was not finished")
    }


def test_what_is_read_off_iterates_is_not_recorded_where_the_steps_number_none(tmp_path: Path) -> None:
    steps = """
x = x_int; k = 0
while k < K:
    x = x - eta*grad_f(x)
    k = k + 1
return x
"""
    claims = claim("calls", "run", "calls(grad_f)", "K") + claim("away", "run", "norm(output)", "0")
    claims += claim("long", "run", "K", "iterations") + claim("one", "run", "epochs", "1")
    claims += claim("start", "run", "norm(x_int)", "1") + claim("down", "step", "f(x[k+1])", "f(x[k])")
    found = bv.verify(bv.single_level(f=HALF, x="x1"), card_of(tmp_path, claims, steps), x0=[1.0])
    assert said(found, "calls")[0] == said(found, "away")[0] == "holds"
    for name, fact in (("long", "iterations"), ("one", "epochs"), ("start", "x_int"), ("down", "iterates")):
        assert said(found, name)[0] == "undecided"
        assert said(found, name)[1].startswith(f"not recorded: {fact}")


def test_a_card_whose_steps_were_changed_is_run_again(tmp_path: Path) -> None:
    """The run of a card is kept for its other statements: of these steps, not of any of that name."""
    problem, counted = bv.single_level(f=HALF, x="x1"), claim("calls", "run", "calls(grad_f)", "K")
    twice = DESCENT.replace("d = grad_f(x[k])", "d = grad_f(x[k]); e = grad_f(x[k])")
    for place, (steps, verdict) in enumerate([(DESCENT, "holds"), (twice, "refuted")]):
        folder = tmp_path / str(place)
        folder.mkdir()
        found = bv.verify(problem, card_of(folder, counted, steps), x0=[1.0])
        assert said(found, "calls")[0] == verdict


def test_what_holds_at_the_steps_that_a_budget_left_is_open_and_what_breaks_there_is_not(tmp_path: Path) -> None:
    """Heavy ball: one later step climbs a part in 10^9 too far, which a budget of ten statements does not see."""
    steps = """
k = 0; x[0] = x_int; m = 0*x_int
while k < K:
    m = m/2 - eta*grad_f(x[k])
    x[k+1] = x[k] + m
    k = k + 1
return x[k]
"""
    claims = claim("bounded", "step", "f(x[k+1]) - f(x[k])", "439453093/32000000000")
    claims += claim("wrong", "step", "f(x[0])", "f(x[k+1])")
    problem, card = bv.single_level(f="x1**2/2 + x2**2/4", x="x1 x2"), card_of(tmp_path, claims, steps, "3/(2*L)")
    whole = bv.verify(problem, card, x0=[2.0, 1.25])
    cut = bv.verify(problem, card, x0=[2.0, 1.25], budget=10)
    assert said(cut, "wrong")[0] == "refuted"
    assert said(whole, "bounded")[0] == "refuted"
    assert said(cut, "bounded")[0] == "undecided"
    assert said(cut, "bounded")[1].startswith("budget: the run was not finished; so far, ")


@pytest.mark.parametrize(
    ("line", "left", "right"),
    [
        ("x[k+1] = x[k] + 1/3", "1/3", "norm(x[k+1] - x[k])"),
        ("w[k] = x[k]/3; x[k+1] = 3*w[k]", "norm(x[k])", "3*norm(w[k])"),
        ("w[k] = x[k]/3; x[k+1] = 3*w[k]", "3*norm(w[k])", "norm(x[k])"),
        ("y[k] = x[k] - eta*grad_f(x[k]); x[k+1] = y[k] + 1/7", "norm(x[k+1] - y[k])", "1/7"),
        ("y[k] = x[k] - eta*grad_f(x[k]); x[k+1] = y[k] + 1/7", "1/7", "norm(x[k+1] - y[k])"),
        ("y[k] = x[k] + 1/7; x[k+1] = y[k] - 1/7", "norm(x[k+1] - x[k])", "0"),
    ],
)
def test_an_equality_of_the_steps_is_not_refuted_by_the_rounding_of_the_run_in_many_digits(
    tmp_path: Path, line: str, left: str, right: str
) -> None:
    steps = f"k = 0; x[0] = x_int\nwhile k < K:\n    {line}\n    k = k + 1\nreturn x[k]"
    wide = claim("off", "step", f"{left} + 1/10**9", right)
    card = card_of(tmp_path, claim("equal", "step", left, right) + wide, steps)
    found = bv.verify(bv.single_level(f="x1**2/2 + cos(x1)/4", x="x1"), card, x0=[1.0])
    assert said(found, "equal")[0] in ("holds", "undecided")
    assert said(found, "off")[0] == "refuted"


def test_the_start_of_a_claim_is_what_the_steps_were_given(tmp_path: Path) -> None:
    moved = DESCENT.replace("x[0] = x_int", "x[0] = 100*x_int")
    claims = claim("same", "run", "norm(x[0] - x_int)", "0") + claim("far", "run", "99*norm(x_int)", "norm(x[0])")
    claims += claim("low", "run", "f(x_int)", "50*f(x_int)") + claim("less", "run", "50*f(x_int)", "f(x[0])")
    problem = bv.single_level(f="x1**2/2 + cos(x1)/4", x="x1")
    found = bv.verify(problem, card_of(tmp_path, claims, moved), x0=[1.0])
    verdicts = {name: said(found, name)[0] for name in ("same", "far", "low", "less")}
    assert verdicts == {"same": "refuted", "far": "holds", "low": "holds", "less": "holds"}
    (tmp_path / "plain").mkdir()
    plain = bv.verify(problem, card_of(tmp_path / "plain", claims), x0=[1.0])
    assert said(plain, "same")[0] == "holds"


@pytest.mark.parametrize(
    ("steps", "first", "count"),
    [
        (
            "k = 5; x[5] = x_int\nwhile k < 5 + K:\n    x[k+1] = x[k] - eta*grad_f(x[k])\n    k = k + 1\nreturn x[k]\n",
            5,
            4,
        ),
        ("k = 0; x[0] = x_int\nwhile k < K:\n    x[k+2] = x[k] - eta*grad_f(x[k])\n    k = k + 2\nreturn x[k]\n", 0, 2),
    ],
    ids=["begins at 5", "every second"],
)
def test_steps_are_those_that_were_made(tmp_path: Path, steps: str, first: int, count: int) -> None:
    claims = claim("first", "step", str(first), "k") + claim("late", "step", str(first + 1), "k")
    claims += claim("few", "run", "iterations", str(count)) + claim("fewer", "run", "iterations", str(count - 1))
    claims += claim("passes", "run", "calls(grad_f)", "iterations")
    found = bv.verify(bv.single_level(f=HALF, x="x1"), card_of(tmp_path, claims, steps, eta="1/(2*L)"), x0=[1.0])
    verdicts = {name: said(found, name)[0] for name in ("first", "late", "few", "fewer", "passes")}
    wanted = {"first": "holds", "late": "refuted", "few": "holds", "fewer": "refuted", "passes": "holds"}
    assert verdicts == wanted


CHAOS = """
[paper]
key = "chaos"
[letters]
eta = {}
N = {}
[settings.s.parameters]
eta = "4"
N = "400"
[[theorem]]
id = "t"
method = "gradient-descent"
settings = ["s"]
  [[theorem.claim]]
  id = "below"
  over = "run"
  left = "f(x[N])"
  right = "0"
  [[theorem.claim]]
  id = "above"
  over = "run"
  left = "0"
  right = "f(x[N])"
"""


@pytest.mark.parametrize(("start", "steps"), [(0.7, 200), (0.7, 400), (1.3, 200), (0.7, 60)])
def test_a_run_that_rounding_leads_elsewhere_is_not_repeated_in_its_place(
    tmp_path: Path, start: float, steps: int
) -> None:
    """x - 4 sin(x) doubles errors: after 60 steps float64 has no digit left, after 200 no run in 50 digits has."""
    path = tmp_path / "chaos.toml"
    path.write_text(CHAOS.replace("400", str(steps)), encoding="utf-8")
    problem = bv.single_level(f="-cos(x1)", x="x1", domain={"x1": (-1000000, 1000000)})
    rows = bv.verify(problem, bv.card(path), x0=[start]).claims
    reasons = [row.reason or "" for row in rows]
    assert [row.verdict for row in rows] == ["undecided", "undecided"]  # the one that float64 meets, too
    assert sum("it holds in float64, where rounding decides" in reason for reason in reasons) == 1


def test_a_run_that_rounding_does_not_lead_elsewhere_holds(tmp_path: Path) -> None:
    """Five steps from the same start; and a start at rest on a maximum, which stays there in exact arithmetic, too."""
    path = tmp_path / "chaos.toml"
    path.write_text(CHAOS.replace("400", "5"), encoding="utf-8")
    problem = bv.single_level(f="-cos(x1)", x="x1", domain={"x1": (-1000000, 1000000)})
    assert sorted(row.verdict for row in bv.verify(problem, bv.card(path), x0=[0.7]).claims) == ["holds", "refuted"]
    path.write_text(CHAOS.replace("400", "30"), encoding="utf-8")
    hill = bv.single_level(f="cos(x1) - 1", x="x1", domain={"x1": (-1000000, 1000000)})
    assert [row.verdict for row in bv.verify(hill, bv.card(path), x0=[0.0]).claims][:1] == ["holds"]


def test_what_float64_meets_elsewhere_holds_where_a_run_in_many_digits_meets_it(tmp_path: Path) -> None:
    path = tmp_path / "chaos.toml"
    path.write_text(CHAOS.replace("400", "60"), encoding="utf-8")
    problem = bv.single_level(f="-cos(x1)", x="x1", domain={"x1": (-1000000, 1000000)})
    below, above = bv.verify(problem, bv.card(path), x0=[0.5]).claims
    assert (below.verdict, above.verdict) == ("holds", "refuted")
    assert (below.reason or "").startswith("in 50 digits; in float64, too")
    with mp.workdps(80):
        x = mp.mpf(0.5)
        for _ in range(60):
            x -= 4 * mp.sin(x)
        assert -mp.cos(x) < 0
        assert below.measured == pytest.approx(float(-mp.cos(x)), rel=1e-12)


@pytest.mark.parametrize(("start", "verdict"), [(0.9, "undecided"), (1.5, "holds")])
def test_counts_of_a_run_that_rounding_leads_elsewhere(start: float, verdict: str, tmp_path: Path) -> None:
    """A small gradient ends it: from 0.9 after 152 steps in float64, after 69 in truth; from 1.5 after 150."""
    path = tmp_path / "chaos.toml"
    text = CHAOS.replace("400", "200").replace("eta = {}", "eta = {}\neps = {}")
    path.write_text(text.replace('"0"\n  right = "f(x[N])"', '"100"\n  right = "calls(grad_f)"'), encoding="utf-8")
    problem = bv.single_level(f="-cos(x1)", x="x1", domain={"x1": (-1000000, 1000000)})
    found = bv.verify(problem, bv.card(path), x0=[start], eps=0.05).claims[1]
    assert found.verdict == verdict, found.reason
