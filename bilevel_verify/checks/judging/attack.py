"""Point claims: search for a point that violates them, then try to prove that there is none.

Random points with 40 % corners, log-uniform scales for unbounded letters, then Nelder-Mead from the best few, all in
the claim's own enclosures. What survives is ``undecided: survived N attacks, largest ratio r`` unless branch and bound
proves the claim on the whole box of the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, isfinite, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged, decided
from bilevel_verify.checks.claims.decide import Judgement, Tally, guarded, judge, ratio_of, reason_of
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.values import Bound, EvaluationError
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.instances.simple import functions_of
from bilevel_verify.checks.judging.rows import as_claimed, on_a_box, row_of
from bilevel_verify.checks.verdicts.verdict import Row, Verdict
from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers.rounding import inward
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import free_letters

if TYPE_CHECKING:
    from bilevel_verify.checks.claims.values import Vector
    from bilevel_verify.checks.instances.case import Case

FIRST_DRAWS = 24
"""Draws before a proof is tried."""
DRAWS = 96
POLISH = 60
CORNERS = 0.4
REACH = 6.0
"""Half-width of the search box where a variable is unbounded."""
WHOLE = 12
"""So many whole numbers beyond the first are searched where their range has no end."""
FAR = 1e9
"""How far away, in units of the finite end, the corner of an infinite one is."""
CLOSE = 2.0**-20
"""How close the search comes to an end that does not belong to the range, as a share of the unit interval."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One searched letter: how many numbers it takes, and how they become a value."""

    name: str
    size: int
    build: Callable[[np.ndarray], Any]


def attack_claims(case: Case, claims: list[Claim]) -> list[Row]:
    """Judge point claims on one instance."""
    _with_functions(case)
    return [row for claim in claims if not claim.is_order for row in _attack_claim(case, claim)]


def attacked_places(case: Case, claims: list[Claim], draws: int = FIRST_DRAWS, polish: int = POLISH) -> list[Judged]:
    """Point claims at drawn places and along local searches from the best, without rows and without a proof."""
    _with_functions(case)
    found = []
    for claim in claims:
        evaluator, rng = case.evaluator(claim), _generator(case, claim)
        for number, link in enumerate(claim.chain):
            judged = Judged(claim, link, number, Tally(), evaluator)
            try:
                letters = [_letter(name, domain, case, evaluator) for name, domain in claim.for_.items()]
                _search(judged, letters, case, rng, draws, polish)
            except MathematicalError as error:
                judged.tally.take(guarded(error, ""))
            found.append(judged)
    return found


def _with_functions(case: Case) -> None:
    lam = case.letters().get("lam", (None,))[0]
    case.functions = functions_of(case.problem, case.instance.truth, lam)  # type: ignore[assignment]


def _generator(case: Case, claim: Claim) -> np.random.Generator:
    seed = case.request.options.get("seed", 0)
    return np.random.default_rng([int(seed), _number_of(f"{case.request.name}/{claim.id}")])


def _attack_claim(case: Case, claim: Claim) -> list[Row]:
    evaluator, rng = case.evaluator(claim), _generator(case, claim)
    rows = []
    for number, link in enumerate(claim.chain):
        judged = Judged(claim, link, number, Tally(), evaluator)
        try:
            outcome = _searched(case, judged, rng)
        except MathematicalError as error:
            judged.tally.take(guarded(error, ""))
            outcome = ("undecided", reason_of(error))
        rows.append(row_of(case, judged, as_claimed(case, claim, outcome, link)))
    return rows


def _searched(case: Case, judged: Judged, rng: np.random.Generator) -> tuple[Verdict, str]:
    """Some places, a proof, more places: none where a hypothesis is false, the first ones alone where one is open."""
    worst = hyp.combine(case.premises)
    if worst is not None and worst.verdict == "not applicable":
        return _outcome(case, judged, nan, None)
    letters = [_letter(name, domain, case, judged.evaluator) for name, domain in judged.claim.for_.items()]
    largest = _search(judged, letters, case, rng, FIRST_DRAWS, 0)
    proof = None if judged.tally.violated else _proof(case, judged)
    if proof is None and worst is None:
        largest = max(largest, _search(judged, letters, case, rng, DRAWS, POLISH))
    return _outcome(case, judged, largest, proof)


def _number_of(text: str) -> int:
    import zlib

    return zlib.crc32(text.encode())


def _proof(case: Case, judged: Judged) -> str | None:
    """A proof for all points: by what a constant is, by suprema, or by branch and bound where one is worth trying."""
    from bilevel_verify.checks.judging.boxes import prove
    from bilevel_verify.checks.judging.definitions import by_definition
    from bilevel_verify.checks.judging.differences import by_suprema

    if hyp.combine(case.premises) is not None:
        return None
    return by_definition(case, judged) or by_suprema(case, judged) or prove(case, judged)


def _outcome(case: Case, judged: Judged, largest: float, proof: str | None) -> tuple[Verdict, str]:
    worst = hyp.combine(case.premises)
    if worst is not None and worst.verdict == "not applicable":
        return "not applicable", worst.reason
    tally = judged.tally
    if tally.places == 0:
        return tally.outcome()
    if worst is not None:
        return "undecided", worst.reason
    if tally.violated:
        assert tally.worst is not None
        if case.instance.local and not judged.claim.points:
            return "undecided", f"local: violated at {tally.worst.where}, but {on_a_box(case.instance.local)}"
        return "refuted", f"violated at {tally.worst.where} (found after {tally.places} attacks)"
    if proof is not None:
        return "holds", "; ".join([proof, *(["local constants"] if case.instance.local else [])])
    ratio = f"{largest:.4g}" if isfinite(largest) else "none"
    return "undecided", f"survived {tally.places} attacks, largest ratio {ratio}"


# --- letters ----------------------------------------------------------------------------------------------------------


def _letter(name: str, domain: Domain, case: Case, evaluator: Evaluator) -> Letter:
    match domain.kind:
        case "domain":
            return _domain_letter(name, domain.space, case)
        case "vectors":
            size = case.problem.dx if domain.space == "x" else case.problem.dy
            return Letter(name, size, lambda u: v.vector(_stretch(u)))
        case "interval" | "integers":
            low, high = _certain_ends(domain, evaluator)
            return _number_letter(name, domain, low, high)
    raise EvaluationError(f"budget: {name} ranges over {domain}, which is not attacked here")


def _certain_ends(domain: Domain, evaluator: Evaluator) -> tuple[float, float]:
    """The largest range in floats that surely belongs to a range whose ends are enclosures."""

    def of(end: Expression | None, side: int, none: float) -> float:
        if end is None or "oo" in free_letters(end.tree):
            return none
        return v.ends(evaluator.scalar(end.tree, {}))[side]

    return of(domain.lower, 1, -inf), of(domain.upper, 0, inf)


def _number_letter(name: str, domain: Domain, low: float, high: float) -> Letter:
    """A letter between two ends: one that is open is come close to and never taken.

    Raises
    ------
    EvaluationError : no number is surely in the range.
    """
    if domain.kind == "integers":
        return _whole_letter(name, domain, low, high)
    opens, closes = isfinite(low) and not domain.lower_closed, isfinite(high) and not domain.upper_closed
    least, most = CLOSE if opens else 0.0, 1.0 - CLOSE if closes else 1.0
    first, last = _between(least, low, high), _between(most, low, high)
    if not (low <= high and first <= last) or (opens and first <= low) or (closes and last >= high):
        raise EvaluationError(f"budget: no number that is surely in the range {domain} of {name}")
    return Letter(name, 1, lambda u: v.ball(_between(min(max(float(u[0]), least), most), low, high)))


def _whole_letter(name: str, domain: Domain, low: float, high: float) -> Letter:
    """A whole number between two ends; a range without an end is cut off after :data:`WHOLE` numbers."""
    if not isfinite(low):
        low = 0.0 if not isfinite(high) or high >= 0 else high - WHOLE
    first = floor(low) + 1 if low == floor(low) and not domain.lower_closed else ceil(low)
    last = first + WHOLE if not isfinite(high) else floor(high)
    if last == high and not domain.upper_closed:
        last -= 1
    if last < first:
        raise EvaluationError(f"budget: no number that is surely in the range {domain} of {name}")
    return Letter(name, 1, lambda u: Fraction(first + int(float(u[0]) * (last - first + 0.999))))


def _domain_letter(name: str, space: str, case: Case) -> Letter:
    problem = case.problem
    symbols = problem.x if space == "x" else problem.y if space == "y" else problem.variables
    ends = [inward(*problem.range_of(symbol)) for symbol in symbols]
    if any(a > b for a, b in ends):
        raise EvaluationError(f"precision: no float lies in the declared range of {name}")
    low = np.array([a if isfinite(a) else (b - 2 * REACH if isfinite(b) else -REACH) for a, b in ends])
    high = np.array([b if isfinite(b) else (a + 2 * REACH if isfinite(a) else REACH) for a, b in ends])
    return Letter(name, len(symbols), lambda u: v.vector(_feasible(case, np.clip(low + u * (high - low), low, high))))


def _feasible(case: Case, point: np.ndarray) -> np.ndarray:
    """The nearest point of the feasible set, where the problem has one: nothing is promised outside of it."""
    within = case.problem.set_of_x
    if within is None or len(point) != case.problem.dx:
        return point
    from bilevel_verify.truth.sets.projections import project

    return project(within, point)


def _outside(case: Case, domains: Mapping[str, Domain], place: Bound) -> bool:
    """Whether rounding has left a point of the domain outside of the feasible set."""
    within = case.problem.set_of_x
    if within is None:
        return False
    points = [place[name] for name, domain in domains.items() if domain.kind == "domain" and domain.space == "x"]
    return not all(within.contains([float(e) for e in p.entries]) for p in points if isinstance(p, v.Vector))


def _stretch(u: np.ndarray) -> np.ndarray:
    """The unit cube onto all of space, small and large lengths alike."""
    centred = 2 * u - 1
    return np.asarray(np.sign(centred) * np.expm1(3 * np.abs(centred)))


def _between(u: float, low: float, high: float) -> float:
    """The unit interval onto ``[low, high]``, increasing, on a log scale where it is long or unbounded.

    The corner of an end that is infinite lies :data:`FAR` away, the other values up to some thousand.
    """
    if isfinite(low) and isfinite(high):
        if low > 0 and high > 100 * low:
            return float(min(high, low * (high / low) ** u))
        return float(min(high, low + u * (high - low)))
    if isfinite(low):
        return low + (FAR if u >= 1 else float(np.expm1(8 * u))) * max(abs(low), 1.0)
    if isfinite(high):
        return high - (FAR if u <= 0 else float(np.expm1(8 * (1 - u)))) * max(abs(high), 1.0)
    return float(np.sign(u - 0.5)) * (FAR if u <= 0 or u >= 1 else float(np.expm1(10 * abs(u - 0.5))))


# --- search -----------------------------------------------------------------------------------------------------------


def _search(
    judged: Judged, letters: list[Letter], case: Case, rng: np.random.Generator, draws: int, polish: int
) -> float:
    """The largest ratio found by random draws and ``polish`` evaluations of local search from each of the best."""
    size = sum(letter.size for letter in letters)
    if size == 0:
        _attack(judged, {}, case)
        return ratio_of(judged.tally.shown)
    best: list[tuple[float, np.ndarray]] = []

    def score(u: np.ndarray) -> float:
        return ratio_of(_attack(judged, _place(letters, np.clip(u, 0.0, 1.0)), case))

    for _ in range(draws):
        u = rng.random(size)
        corner = rng.random(size) < CORNERS
        u = np.where(corner, rng.integers(0, 2, size), u)
        best.append((score(u), u))
    best.sort(key=lambda pair: -pair[0])
    largest = best[0][0]
    for value, u in best[:3]:
        if polish and isfinite(value):
            largest = max(largest, _polish(score, u, polish))
    return largest


def _polish(score: Callable[[np.ndarray], float], start: np.ndarray, evaluations: int) -> float:
    from scipy.optimize import minimize

    def objective(u: np.ndarray) -> float:
        value = score(u)
        return -value if isfinite(value) else 1e300

    found = minimize(
        objective, start, method="Nelder-Mead", options={"maxfev": evaluations, "xatol": 1e-9, "fatol": 1e-12}
    )
    return float(-found.fun)


def _place(letters: list[Letter], u: np.ndarray) -> Bound:
    place: dict[str, Any] = {}
    seen: dict[Any, Any] = {}
    at = 0
    for letter in letters:
        value = letter.build(u[at : at + letter.size])
        # equal points are one object, so that what depends on them cancels exactly
        place[letter.name] = seen.setdefault(tuple(map(float, value.entries)), value) if _is_point(value) else value
        at += letter.size
    return place


def _is_point(value: Vector) -> bool:
    return isinstance(value, v.Vector)


def _attack(judged: Judged, place: Bound, case: Case) -> Judgement | None:
    """Judge one point; None where a condition excludes it. A violation is judged again at twice the precision."""
    evaluator, where = judged.evaluator, _describe(place)
    evaluator.reset()
    evaluator.new_epoch()
    if case.functions is not None:
        case.functions.forget()
    try:
        conditions = [evaluator.answer(c.tree, place) for c in judged.claim.where]
        if v.conjunction(conditions) is not True or _outside(case, judged.claim.for_, place):
            judged.tally.skip(evaluator.certainty)
            return None
        left = evaluator.value(judged.link.left.tree, place)
        right = evaluator.value(judged.link.right.tree, place)
        found = decided(judged.link, judge(left, judged.link.op, right, evaluator.certainty, where), evaluator, place)
    except MathematicalError as error:
        found = guarded(error, where)
    judged.tally.take(found)
    return found


def _describe(place: Bound) -> str:
    parts = []
    for name, value in place.items():
        if isinstance(value, v.Vector):
            numbers = ", ".join(f"{float(a):.9g}" for a in value.entries)
            parts.append(f"{name} = [{numbers}]")
        else:
            parts.append(f"{name} = {v.middle(v.as_scalar(value)):.9g}")
    return "; ".join(parts)
