"""Random cards on random instances whose truth is known: the class of every verdict follows from how they were made.

Instances are sums of waves and of parabolas in separate variables, so that L, rho and Delta are known exactly; a run of
gradient descent from a known start is repeated in rationals or in plain Python, and every claim is made from what the
run really does: true with room, tight, false with room, or about something that nobody recorded.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

import bilevel_verify as bv
from bilevel_verify.checks.evidence import confirm
from bilevel_verify.truth.arithmetic.enclosure import RANK, Certainty

WHOLE = confirm.MOST_CALLS
"""Calls of the run in 50 digits; that of a question about budgets is cut short at times, too."""
HEAD = """
[paper]
key = "random"
title = "A card with known truth"
[units]
F = "values of f"
X = "length of x"
[letters]
L = { unit = "F/X**2", domain = "(-oo, oo)", from = "constants", meaning = "Lipschitz constant of the gradient" }
mu = { unit = "F/X**2", domain = "(-oo, oo)", from = "constants", meaning = "strong convexity" }
Delta = { unit = "F", domain = "(-oo, oo)", from = "truth", called = "delta", meaning = "gap of the start" }
R = { unit = "X", domain = "(-oo, oo)", from = "truth", called = "norm_y_star", meaning = "norm of y* at the start" }
eta = { unit = "X**2/F", domain = "(-oo, oo)", meaning = "step" }
N = { unit = "1", domain = "(-oo, oo)", meaning = "length" }
V = { unit = "F", domain = "(-oo, oo)", meaning = "a value of f, for bounds that carry its unit" }
"""


@dataclass(frozen=True)
class Question:
    """One claim in one situation, and the verdicts that may be said of it."""

    kind: str
    problem: bv.Problem
    card: str
    allowed: frozenset[str]
    options: dict[str, Any] = field(default_factory=dict)
    at_best: Certainty = "proved"
    """What a decided row may claim at best: the certainty of an ingredient that it needs."""
    only: str = ""
    """The statement that is asked about, where the card has others."""


def words(*verdicts: str) -> frozenset[str]:
    return frozenset(verdicts)


TRUE = words("holds", "undecided")
FALSE = words("refuted", "undecided")
OPEN = words("undecided")
NOT = words("not applicable")


@dataclass(frozen=True)
class Wave:
    """``sum of a_i (1 - cos(x_i))`` and ``b_j x_j**2/2``: L = max(a, b), rho = max(a), the infimum 0 is attained."""

    waves: tuple[int, ...]
    parabolas: tuple[int, ...]
    start: tuple[float, ...]

    @property
    def curvature(self) -> int:
        return max((*self.waves, *self.parabolas))

    def problem(self) -> bv.Problem:
        terms = [f"{a}*(1 - cos(x{i + 1}))" for i, a in enumerate(self.waves)]
        terms += [f"{b}*x{i + 1 + len(self.waves)}**2/2" for i, b in enumerate(self.parabolas)]
        return bv.single_level(f=" + ".join(terms), x=" ".join(f"x{i + 1}" for i in range(len(self.start))))

    def value(self, x: np.ndarray) -> float:
        split = len(self.waves)
        return float(self.waves @ (1 - np.cos(x[:split])) + 0.5 * np.asarray(self.parabolas) @ x[split:] ** 2)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        split = len(self.waves)
        return np.concatenate([np.asarray(self.waves) * np.sin(x[:split]), np.asarray(self.parabolas) * x[split:]])

    def run(self, eta: float, steps: int) -> list[np.ndarray]:
        points = [np.array(self.start)]
        for _ in range(steps):
            points.append(points[-1] - eta * self.gradient(points[-1]))
        return points


def a_wave(rng: random.Random) -> Wave:
    n, m = rng.randint(1, 2), rng.randint(1, 2)
    waves = tuple(rng.randint(1, 6) for _ in range(n))
    parabolas = tuple(rng.randint(1, 6) for _ in range(m))
    return Wave(waves, parabolas, tuple(round(rng.uniform(0.5, 2.5), 3) for _ in range(n + m)))


def card_of(claim: str, eta: str, steps: int, *, value: str = "1", more: str = "") -> str:
    """A card with one theorem about gradient descent and one claim, whose bound may be ``V = value``."""
    settings = f'[settings.s.parameters]\neta = "{eta}"\nN = "{steps}"\nV = "{value}"\n'
    theorem = f'[[theorem]]\nid = "t"\nmethod = "gradient-descent"\nsettings = ["s"]\n{more}'
    return f'{HEAD}{settings}{theorem}  [[theorem.claim]]\n  id = "c"\n{claim}'


def claim_of(over: str, left: str, op: str, right: str) -> str:
    return f'  over = "{over}"\n  left = "{left}"\n  op = "{op}"\n  right = "{right}"\n'


def exactly(number: float) -> str:
    """A float in the card language, bit for bit."""
    fraction = Fraction(number)
    return f"{fraction.numerator}/{fraction.denominator}"


# --- one question of each kind


def tight(rng: random.Random) -> Iterator[Question]:
    """A bound on the last value of f: with room, by 1e-6 to either side."""
    wave, steps = a_wave(rng), rng.randint(3, 25)
    last = wave.value(wave.run(1 / (4 * wave.curvature), steps)[-1])
    for share, allowed in ((1.0, TRUE), (1e-6, TRUE), (-1e-6, FALSE), (-0.5, FALSE)):
        if last <= 1e-6:
            continue  # float64 would not show it
        bound = last * (1 + share)
        yield Question(
            "tight",
            wave.problem(),
            card_of(claim_of("run", "f(output)", "<=", "V"), "1/(4*L)", steps, value=exactly(bound)),
            allowed,
            {"x0": wave.start},
        )


def steps_of(rng: random.Random) -> Iterator[Question]:
    """Descent at every step: true for eta = 1/L; too good by a factor; false uphill for eta = 3/L on a parabola."""
    wave, steps = a_wave(rng), rng.randint(3, 12)
    good = claim_of("step", "f(x[k+1])", "<=", "f(x[k]) - eta/2*norm(grad_f(x[k]))**2")
    too_good = claim_of("step", "f(x[k+1])", "<=", "f(x[k]) - 2*eta*norm(grad_f(x[k]))**2")
    yield Question("steps", wave.problem(), card_of(good, "1/L", steps), TRUE, {"x0": wave.start})
    yield Question("steps", wave.problem(), card_of(too_good, "1/L", steps), FALSE, {"x0": wave.start})


def hypothesis_off(rng: random.Random) -> Iterator[Question]:
    """A condition of the statement that is false, or true, on this instance."""
    wave = a_wave(rng)
    for text, allowed in (
        (f"L <= {wave.curvature}", FALSE),
        (f"L < {wave.curvature}", NOT),
        (f"L > {wave.curvature}", NOT),
    ):
        more = f'where = ["{text}"]\nwhere_from = "Theorem"\n'
        card = card_of(claim_of("run", "norm(output)", "<=", "-1"), "1/L", 3, more=more)
        yield Question("hypothesis", wave.problem(), card, allowed, {"x0": wave.start})
    # L is 3, and 3.004 is all that is certified: what is true of 3 may not be called false
    loose = bv.single_level(f="sin(x1)*exp(-x2**2) + cos(x2)", x="x1 x2")
    more = f'where = ["L <= {rng.uniform(3.0005, 3.004)!r}"]\nwhere_from = "Theorem"\n'
    card = card_of(claim_of("run", "norm(output)", ">=", "0"), "1/L", 2, more=more)
    yield Question("loose", loose, card, TRUE, {"x0": [0.3, 0.2]})


def letter_set(rng: random.Random) -> Iterator[Question]:
    """L, Delta, eta, N and the dimension set by hand: below, at, above what is true."""
    wave = a_wave(rng)
    steps, true = rng.randint(3, 8), wave.value(np.array(wave.start))
    right = claim_of("step", "f(x[k+1])", "<=", "f(x[k])")
    low = claim_of("run", "f(output)", "<=", "Delta")
    L = wave.curvature
    pairs = [
        ({"L": L * rng.uniform(0.1, 0.999)}, right, NOT),
        ({"L": L}, right, TRUE),
        ({"L": L * rng.uniform(1.0, 3.0)}, right, TRUE),
        ({"Delta": true * rng.uniform(0.1, 0.999)}, low, NOT),
        ({"Delta": true * rng.uniform(1.001, 3)}, low, TRUE),
        ({"eta": 1 / L}, right, TRUE),
        ({"eta": rng.uniform(1.1, 5) / L}, right, NOT),
        ({"N": steps + 1}, right, NOT),
        ({"N": steps}, right, TRUE),
    ]
    for letters, claim, allowed in pairs:
        how = rng.choice(("parameters", "values")) if set(letters) <= {"L", "Delta"} else "parameters"
        card = card_of(claim, "1/L", steps)
        yield Question("letter", wave.problem(), card, allowed, {"x0": wave.start, how: letters})


def budget_cut(rng: random.Random) -> Iterator[Question]:
    """Claims about counts, with a budget below and above the length of the run; the truth of the whole run is known."""
    wave, steps = a_wave(rng), rng.randint(8, 40)
    budget = rng.choice([rng.randint(2, steps - 1), 10**6])
    calls = steps
    offset, bound = rng.randint(0, 60), rng.randint(1, 60)
    forms: list[tuple[str, str, str, bool]] = [
        ("calls(grad_f)", "<=", f"{bound}", calls <= bound),
        ("calls(grad_f)", ">=", f"{bound}", calls >= bound),
        (f"{offset} - calls(grad_f)", ">=", f"-{bound}", offset - calls >= -bound),
        (f"{offset} - calls(grad_f)", "<=", f"-{bound}", offset - calls <= -bound),
        ("calls(grad_f)", "<=", f"iterations/2 + {bound}", calls <= calls / 2 + bound),
        (f"{bound}", "<=", "iterations", bound <= calls),
        ("iterations", "==", f"{bound}", calls == bound),
        (f"1/({bound}*calls(grad_f))", "<=", f"1/{bound * offset + 1}", bound * calls >= bound * offset + 1),
        ("calls(grad_f)*iterations", "<=", f"{bound**2}", calls**2 <= bound**2),
        ("(calls(grad_f) - 20)**2", "<=", f"{bound}", (calls - 20) ** 2 <= bound),
    ]
    for left, op, right, true in rng.sample(forms, 5):
        card = card_of(claim_of("run", left, op, right), "1/(100*L)", steps)
        yield Question("budget", wave.problem(), card, TRUE if true else FALSE, {"x0": wave.start, "budget": budget})


def own_solver(rng: random.Random) -> Iterator[Question]:
    """A callable: correct, uphill, with evaded counts, with and without epochs; what it hands back is known."""
    wave, steps = a_wave(rng), rng.randint(4, 9)
    bound, bad = rng.randint(1, 12), rng.choice(("batch", "reset", "fresh", "word", "honest"))
    count = card_of(claim_of("run", "calls(grad_f)", "<=", str(bound)), "1/L", steps)
    yield Question(
        "counts",
        wave.problem(),
        count,
        TRUE if gradients_of(bad, steps) <= bound else FALSE,
        {"x0": wave.start, "method": evading(bad, steps)},
    )
    down = card_of(claim_of("step", "f(x[k+1])", "<=", "f(x[k])"), "1/L", steps)
    for sign, allowed in ((1, TRUE), (-1, FALSE)):
        form = rng.choice(("flat", "epochs", "pair", "floats"))
        yield Question(
            "callable", wave.problem(), down, allowed, {"x0": wave.start, "method": moving(sign, steps, form)}
        )
    epochs = card_of(claim_of("epoch", "k_end", "<=", str(bound)), "1/L", steps).replace(
        'method = "gradient-descent"\n', ""
    )
    for form in ("flat", "epochs"):
        allowed = OPEN if form == "flat" else (TRUE if steps <= bound else FALSE)
        yield Question("epochs", wave.problem(), epochs, allowed, {"x0": wave.start, "method": moving(1, steps, form)})


def moving(sign: int, steps: int, form: str) -> Callable[..., Any]:
    """Gradient descent (or ascent) that hands back its points in one of the forms."""

    def solver(oracles: Any, x0: Any, parameters: Any) -> Any:
        points = [np.array(x0, dtype=float) if form == "floats" else x0]
        for _ in range(steps):
            points.append(points[-1] - sign * parameters["eta"] * oracles.grad_x_f(points[-1]))
        if form == "floats":
            return [np.array(point, dtype=float) for point in points]
        return {"flat": points, "epochs": bv.Trajectory([points]), "pair": (points, points[-1])}[form]

    return solver


def gradients_of(how: str, steps: int) -> int:
    """How many gradients an evading solver really asks: one more where it shows one openly."""
    return steps + (how in ("batch", "reset", "fresh"))


def evading(how: str, steps: int) -> Callable[..., Any]:
    """A solver that asks ``gradients_of`` gradients and would like to be believed that it asked fewer."""

    def solver(oracles: Any, x0: Any, parameters: Any) -> Any:
        if how == "batch":
            oracles.grad_f_batch(np.array([x0] * steps))
            oracles.grad_x_f(x0)
            return [x0, x0 / 2]
        asked = oracles.fresh() if how == "fresh" and hasattr(oracles, "fresh") else oracles
        points = [x0]
        for _ in range(steps):
            points.append(points[-1] - parameters["eta"] * asked.grad_x_f(points[-1]))
        if how == "reset" and hasattr(oracles, "reset"):
            oracles.reset()
        if how in ("reset", "fresh"):
            oracles.grad_x_f(points[-1])
        if how == "word":
            places = np.arange(len(points))
            trace = bv.Trace(0 * places, places, {"x": np.array(points)})
            return bv.Run("mine", "", points[-1], "finished", {"grad_f": 1}, 1, 1, trace, {})
        return points

    return solver


def two_levels(rng: random.Random) -> Iterator[Question]:
    """A quadratic lower level a/2 |y - c x|^2: y*(x) = c x, mu = a, and a statement about another kind of problem."""
    a, c = rng.randint(1, 5), rng.randint(1, 3)
    problem = bv.bilevel(f="(x1 - 1)**2/2 + y1**2/2", g=f"{a}*(y1 - {c}*x1)**2/2", x="x1", y="y1")
    x = round(rng.uniform(0.5, 2.0), 2)
    value = (x - 1) ** 2 / 2 + (c * x) ** 2 / 2
    for factor, allowed in ((1.1, TRUE), (0.9, FALSE)):
        claim = claim_of("run", "phi(output)", "<=", "V")
        card = card_of(claim, "1/mu", 1, value=exactly(value * factor)).replace('method = "gradient-descent"\n', "")
        yield Question("two levels", problem, card, allowed, {"x0": [x], "method": lambda o, x0, p: [x0]})
    for share, allowed in ((0.5, TRUE), (1.0, TRUE), (rng.uniform(1.01, 2), NOT)):
        card = card_of(claim_of("run", "norm(output)", ">=", "0"), "1/mu", 1).replace(
            'method = "gradient-descent"\n', ""
        )
        options = {"x0": [x], "method": lambda o, x0, p: [x0], "values": {"mu": a * share}}
        yield Question("two levels", problem, card, allowed, options)
    for share, allowed in ((rng.uniform(0.1, 0.999), NOT), (rng.uniform(1.001, 3), TRUE)):
        card = card_of(claim_of("run", f"{c}*norm(output)", "<=", "R"), "1/mu", 1)
        card = card.replace('method = "gradient-descent"\n', "")
        options = {"x0": [x], "method": lambda o, x0, p: [x0], "values": {"R": c * x * share}}
        yield Question("truth", problem, card, allowed, options)
    card = card_of(claim_of("run", "norm(output)", "<=", "-1"), "1/L", 1)
    yield Question("kind", problem, card, NOT, {"x0": [x]})


def misbehaving(rng: random.Random) -> Iterator[Question]:
    """A callable that hands back what no solver should, or moves otherwise when it is run again."""
    wave, steps = a_wave(rng), rng.randint(2, 6)
    down = card_of(claim_of("step", "f(x[k+1])", "<=", "f(x[k])"), "1/L", steps).replace(
        'method = "gradient-descent"\n', ""
    )
    nothing = words("undecided", "not applicable")
    forms: dict[str, tuple[frozenset[str], Callable[..., Any]]] = {
        "not a number": (nothing, lambda o, x0, p: [x0, x0 * math.nan]),
        "infinite": (nothing, lambda o, x0, p: [x0, x0 * math.inf]),
        "no step": (nothing, lambda o, x0, p: [x0]),
        "nothing": (nothing, lambda o, x0, p: []),
        "one array": (TRUE, shared),
        "a generator": (words("holds", "undecided"), generated),
        "integers": (words(*TRUE, *FALSE), lambda o, x0, p: [[round(float(e)) for e in x0], [0] * len(x0)]),
        "moody": (words(*TRUE, *FALSE), moody()),
        "rounding": (words(*TRUE, *FALSE), lambda o, x0, p: [x0, x0 * (1 + 2.0**-52)]),
    }
    for name in rng.sample(list(forms), 4):
        allowed, solver = forms[name]
        yield Question(f"odd: {name}", wave.problem(), down, allowed, {"x0": wave.start, "method": solver})
    entry = claim_of("step", "norm(w[k] - w[k-1])", "<=", "0")
    still = card_of(entry, "1/L", steps).replace('"gradient-descent"\n', '"gradient-descent-restarted"\n')
    for name, allowed in (("x", OPEN), ("w", TRUE), ("shifted w", OPEN)):
        yield Question("at rest", wave.problem(), still, allowed, {"x0": wave.start, "method": resting(name)})
    plain = {"x0": wave.start, "method": resting("w")}
    for before in ("x[k-1]", "w[k-1]"):  # plain gradient descent has no entry before the first
        unsaid = card_of(claim_of("step", f"norm(x[k] - {before})", "<=", "0"), "1/L", steps)
        yield Question("at rest", wave.problem(), unsaid, OPEN, plain)


def shared(oracles: Any, x0: Any, parameters: Any) -> Any:
    """One array, moved in place: what is handed back twice are the points that it had."""
    points = [x0.copy()]
    x0 -= parameters["eta"] * oracles.grad_x_f(x0)
    return [*points, x0]


def generated(oracles: Any, x0: Any, parameters: Any) -> Any:
    yield x0
    yield x0 - parameters["eta"] * oracles.grad_x_f(x0)


def moody() -> Callable[..., Any]:
    """Down the first time, up the second, and so on."""
    times = [0]

    def solver(oracles: Any, x0: Any, parameters: Any) -> Any:
        times[0] += 1
        return [x0, x0 - (-1) ** times[0] * parameters["eta"] * oracles.grad_x_f(x0)]

    return solver


def resting(name: str) -> Callable[..., Any]:
    """A solver that does not move, and says what it knows of a sequence w: nothing, where it was, another start."""

    def solver(oracles: Any, x0: Any, parameters: Any) -> Any:
        more = {} if name == "x" else {"w": [[x0 + (name != "w")] * 3]}
        return bv.Trajectory([[x0, x0, x0]], **more)

    return solver


FLAT_STAR = math.cosh(0.5) + 0.5**4
"""f* of the problem below: x1 = x2 = s with |s| <= 1/2, and the slope sinh(s - 1) + 4 s^3 is negative there."""


def conditions(rng: random.Random) -> Iterator[Question]:
    """Conditions and claims about a truth that is ``computed`` only: nothing is shown to be false or left out by it."""
    problem = bv.simple_bilevel(f="cosh(x1 - 1) + x2**4", g="(x1 - x2)**2", x="x1 x2", feasible=bv.L1Ball(radius=1))
    start = round(rng.uniform(-0.4, 0.4), 3)
    there = math.cosh(start - 1) + start**4
    room = rng.uniform(0.1, 0.5) * (there - FLAT_STAR)
    options = {"x0": [start, start], "method": lambda o, x0, p: [x0, x0 * 0, x0]}
    forms = (
        (claim_of("run", "f(output) - f_star()", ">=", "V"), "", TRUE),
        (claim_of("run", "f(output) - f_star()", "<=", "V"), "", FALSE),
        (claim_of("step", "norm(x[k+1])", "<=", "2*norm(x[0])"), "f(x[k]) >= f_star() + V", TRUE),
        (claim_of("step", "0", "<=", "1"), "f(x[k]) <= f_star() - V", OPEN),
    )
    for claim, where, allowed in forms:
        condition = f'  where = ["{where}"]\n  where_from = "Theorem"\n' if where else ""
        card = card_of(claim + condition, "1", 1, value=exactly(room)).replace('method = "gradient-descent"\n', "")
        yield Question("condition", problem, card, allowed, options, at_best="computed")


def led_elsewhere(rng: random.Random) -> Iterator[Question]:
    """x - 4 sin(x) multiplies errors by up to 5: where the run in exact arithmetic ends no run in 50 digits may know.

    What holds, and what is refuted, does so in exact arithmetic, not on the points that float64 went to.
    """
    steps, start = rng.choice((5, 40, 100, 200, 400)), round(rng.uniform(0.2, 1.5), 3)
    problem = bv.single_level(f="-cos(x1)", x="x1", domain={"x1": (-(10**6), 10**6)})
    with mp.workdps(60 + steps):
        end = mp.mpf(start)
        for _ in range(steps):
            end -= 4 * mp.sin(end)
        value = -mp.cos(end)
    for op, true in (("<=", value <= 0), (">=", value >= 0)):
        card = card_of(claim_of("run", "f(x[N])", op, "0*V"), "4", steps)
        yield Question("elsewhere", problem, card, TRUE if true else FALSE, {"x0": [start]})


MAKERS = (
    tight, steps_of, hypothesis_off, letter_set, budget_cut, own_solver, two_levels, misbehaving, conditions,
    led_elsewhere,
)  # fmt: skip


@dataclass
class Tallied:
    """What was said, and what contradicts what is known."""

    said: Counter[tuple[str, str]] = field(default_factory=Counter)
    contradicted: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Verdicts in all."""
        return sum(self.said.values())


def ask(seed: int, rounds: int, folder: Path, makers: Any = MAKERS) -> Tallied:
    """Ask all kinds of questions, ``rounds`` times each."""
    rng, found = random.Random(seed), Tallied()
    for number in range(rounds):
        for maker in makers:
            for place, question in enumerate(maker(rng)):
                path = folder / f"{maker.__name__}-{number}-{place}.toml"
                path.write_text(question.card, encoding="utf-8")
                confirm.MOST_CALLS = rng.choice((20, WHOLE)) if question.kind == "budget" else WHOLE
                asked = f"{path}/{question.only}" if question.only else str(path)
                for row in bv.verify(question.problem, asked, **question.options).claims:
                    found.said[question.kind, row.verdict] += 1
                    if row.verdict not in question.allowed or not consistent(row) or not modest(row, question):
                        found.contradicted.append(
                            f"{path.name} ({question.kind}): {row.verdict}, {row.certainty} ({row.reason}), "
                            f"not {sorted(question.allowed)}, {question.at_best}"
                        )
                path.unlink()
    confirm.MOST_CALLS = WHOLE
    return found


def modest(row: bv.Row, question: Question) -> bool:
    """A row claims no more certainty than what it needs has."""
    return row.certainty is None or RANK[row.certainty] >= RANK[question.at_best]


def consistent(row: bv.Row) -> bool:
    """What a row shows does not contradict what it says."""
    if row.verdict not in ("holds", "refuted") or row.margin is None:
        return True
    return (not math.isnan(row.margin) and (row.margin >= 0) == (row.verdict == "holds")) or row.margin == 0
