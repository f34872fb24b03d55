"""More random cards with known truth: rates over sweeps of tolerances, and own solvers that hand back epochs.

Gradient descent is told to make ``ceil(eps**-a)`` steps, so that its counts grow by a known power; epochs are multiples
of the start by dyadic numbers, which floats and fractions know exactly.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import checks_own_cards as cards
from checks_own_cards import FALSE, NOT, TRUE, Question, a_wave, card_of, claim_of, words

import bilevel_verify as bv

SWEEP = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
HALVES = (Fraction(1, 2), Fraction(1))
BOUNDS = (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2))
ASSERTS: dict[tuple[str, str], str] = {
    ("O", "<="): "above", ("O", "=="): "above", ("softO", "<="): "above", ("O", ">="): "nothing",
    ("Omega", ">="): "below", ("Omega", "=="): "below", ("Omega", "<="): "nothing",
    ("Theta", "=="): "above below", ("Theta", "<="): "above", ("Theta", ">="): "below",
}  # fmt: skip
TURNED = {"<=": ">=", ">=": "<=", "==": "=="}
OPEN_RATE = ("uninformative", "undecided")


def orders_of(rng: random.Random) -> Iterator[Question]:
    """Counts that grow like ``eps**-a`` against ``eps**-b``, below, above, both, on all of the sweep and on a part."""
    wave, a = a_wave(rng), rng.choice(HALVES)
    for (symbol, op), asserts in rng.sample(sorted(ASSERTS.items()), 4):
        b = rng.choice(BOUNDS)
        where, kept = rng.choice((("", True), ("eps <= 1/15", True), ("eps >= 1/150", False), ("eps >= 1/2", None)))
        true = ("above" not in asserts or a <= b) and ("below" not in asserts or a >= b)
        allowed = words("consistent" if true or not kept else "inconsistent", *OPEN_RATE)
        inside = f"{symbol}(eps**(-{b}))"
        sides = ("calls(grad_f)", op, inside) if rng.random() < 0.6 else (inside, TURNED[op], "calls(grad_f)")
        claim = claim_of("run", *sides) + (f'  where = ["{where}"]\n  where_from = "Theorem"\n' if where else "")
        card = card_of(claim, "1/(100*L)", 1).replace('N = "1"', f'N = "ceil(eps**(-{a}))"')
        card = card.replace("[letters]", '[letters]\neps = { unit = "1", domain = "(0, oo)", from = "user" }')
        options = {"x0": wave.start, "eps": SWEEP}
        yield Question("orders", wave.problem(), card, NOT if kept is None else allowed, options, at_best="computed")


Epochs = list[list[Fraction]]


def some_epochs(rng: random.Random) -> Epochs:
    """Points in units of the start; an epoch may have its start alone."""
    found: Epochs = []
    last = Fraction(1)
    for _ in range(rng.randint(1, 4)):
        points = [last * rng.choice((1, 1, 1, 2, Fraction(1, 2))) if found else last]
        for _ in range(rng.randint(0, 4)):
            points.append(points[-1] * rng.choice((Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), -1, 2)))
        found.append(points)
        last = points[-1]
    return found


def handing_back(found: Epochs) -> Callable[..., Any]:
    """A solver that moves by known factors, in whatever numbers it is given."""

    def solver(oracles: Any, x0: Any, parameters: Any) -> Any:
        return bv.Trajectory([[x0 * q.numerator / q.denominator for q in points] for points in found])

    return solver


def epochs_of(rng: random.Random) -> Iterator[Question]:
    """Claims about epochs, their steps and their number, of epochs that a solver hands back; f is half of x**2."""
    found, c = some_epochs(rng), rng.randint(0, 5)
    steps = [len(points) - 1 for points in found]
    starts, ends = [p[0] ** 2 for p in found], [p[-1] ** 2 for p in found]
    pairs = [[q[1] ** 2 <= q[0] ** 2 for q in itertools.pairwise(points)] for points in found]
    again = [n for t, n in enumerate(steps) if t < len(found) - 1]
    forms: list[tuple[str, str, str, str, list[bool]]] = [
        ("run", "epochs", f"{c}", "", [len(found) <= c]),  # one with its start alone is an epoch that was begun
        ("run", "iterations", f"{2 * c}", "", [sum(steps) <= 2 * c]),
        ("epoch", "k_end", f"{c}", "", [n <= c for n in steps]),
        ("epoch", "k_end", f"{c}", "not last_epoch", [n <= c for n in again]),
        ("epoch", "k_end", f"{c}", "last_epoch", [steps[-1] <= c]),
        ("epoch", "f(x[t, k_end])", "f(x[t, 0])", "", [b <= a for a, b in zip(starts, ends)]),
        ("epoch", "f(x[t, 0])", "f(x_int)", "", [a <= 1 for a in starts]),
        ("epoch", "f(x[t+1, 0])", "f(x[t, 0])", "not last_epoch", [b <= a for a, b in itertools.pairwise(starts)]),
        ("step", "f(x[t, k+1])", "f(x[t, k])", "t >= 1", [one for some in pairs[1:] for one in some]),
        ("step", "f(x[k+1])", "f(x[k])", "", [one for some in pairs for one in some]),
        ("epoch", "min(f(x[i]), (i, 0, k_end))", "f(x_int)/4", "", [4 * min(q * q for q in p) <= 1 for p in found]),
    ]
    problem = bv.single_level(f="x1**2/2", x="x1")
    for over, left, right, where, places in forms:
        condition = f'  where = ["{where}"]\n  where_from = "Theorem"\n' if where else ""
        card = card_of(claim_of(over, left, "<=", right) + condition, "1", 1)
        card = card.replace('method = "gradient-descent"\n', "")
        allowed = NOT if not places else TRUE if all(places) else FALSE
        options = {"x0": [1.5], "method": handing_back(found)}
        yield Question("own epochs", problem, card, allowed, options)


def assumed_of(rng: random.Random) -> Iterator[Question]:
    """Conditions that the theorem assumes, true and false of this instance, and one claim that is false on all."""
    wave = a_wave(rng)
    share = rng.choice((Fraction(1, 2), 1 - Fraction(1, 10**6), Fraction(1), Fraction(2)))
    false = words("not applicable", "undecided")
    forms = (
        ("parameters", "L", "V", FALSE if share >= 1 else false),
        ("point", "norm(grad_f(x))", "V", false),  # parabolas have steep slopes somewhere
        ("point", "norm(grad_f(x) - grad_f(y))", "L*norm(x - y)", FALSE),
    )
    for over, left, right, allowed in forms:
        ranges = '  for = { x = "domain", y = "domain" }\n' if over == "point" else ""
        condition = (
            f'[[condition]]\nid = "a"\n  [[condition.claim]]\n  id = "b"\n{claim_of(over, left, "<=", right)}{ranges}'
        )
        value = share * wave.curvature
        card = card_of(
            claim_of("step", "f(x[k])", "<=", "f(x[k+1])"), "1/L", 3, value=str(value), more='assumes = ["a"]\n'
        )
        card = card.replace("[[theorem]]", f"{condition}[[theorem]]", 1).replace(
            'V = { unit = "F"', 'V = { unit = "F/X**2"'
        )
        yield Question("assumed", wave.problem(), card, allowed, {"x0": wave.start}, only="t")


MAKERS = (*cards.MAKERS, orders_of, epochs_of, assumed_of)
