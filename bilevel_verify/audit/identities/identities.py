"""Identities: a printed formula against the object that it claims to be, on random smooth problems in many digits.

``dx`` and ``dy`` differ (3 and 2, then 2 and 3, then 1 and 1), so that a transposition is visible; shapes are checked
at every operation. Derivatives of the hyper-objective, of the penalty function and of the lower-level solutions are
taken as differences of the functions themselves, not from the formulas that the package uses elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from bilevel_verify.audit.findings.finding import Finding, Place, row_of
from bilevel_verify.audit.identities.calculus_proofs import prove_identity
from bilevel_verify.audit.identities.identity_script import identity_script
from bilevel_verify.audit.scalar.claim import Decision
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.values import EvaluationError, Matrix, Tensor, Value, Vector
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import to_latex, tree
from bilevel_verify.numbers.rounding import ball, precision
from bilevel_verify.problems import bilevel
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import Card, Entry, Identity
from bilevel_verify.theorems.origins import as_printed
from bilevel_verify.truth import truth
from bilevel_verify.truth.arithmetic.enclosure import Certainty

SHAPES = ((3, 2), (2, 3), (1, 1))
BITS = 700
STEP = arb(2) ** -120
LAM = Fraction(7)
AGREEMENT = 1e-14
SHAPE_WORDS = ("shape", "dimension", "length", "fit", "numbers for", "square", "a number was expected, not a")
"""Words of evaluation errors that say that the shapes of a printed formula do not match."""
DERIVATIVES = {
    "grad_phi": "phi", "hess_phi": "grad_phi", "grad_y_star": "y_star", "grad_L_star": "L_star",
    "hess_L_star": "grad_L_star", "grad_y_star_lam": "y_star_lam", "hess_y_star": "grad_y_star",
    "hess_y_star_lam": "grad_y_star_lam",
}  # fmt: skip


def identity_findings(card: Card, entry: Entry, seed: int = 0, attack: bool = True) -> Iterator[Finding]:
    """A finding for an identity of a card, and one for its repaired form.

    Agreement in many digits is no proof: an identity holds only where implicit differentiation proves it for all smooth
    f and g; otherwise such a row is ``undecided: survived N attacks``.
    """
    if not isinstance(entry, Identity):
        return
    for form in (as_printed(card, entry), entry, entry.repaired):
        if isinstance(form, Identity):
            yield _finding(card, entry, form, seed, attack)


def _finding(card: Card, entry: Identity, form: Identity, seed: int, attack: bool) -> Finding:
    decision = decide_identity(form, seed, attack)
    printed = form is not entry.repaired
    known = entry.refuted is not None and printed
    place = Place(card.key, entry.id, "identity", entry.source or None, entry.reading or None, printed, known)
    display = {name: spec.display for name, spec in card.letters.items() if spec.display}
    relation = tree.Compare((form.left.tree, form.right.tree), ("==",))
    quoted = next((text for text in form.printed if text), None)
    stated = next((text for text in form.stated if text), None if quoted else to_latex(relation, display))
    place = replace(place, marks=form.marks, stated=stated)
    row = row_of(place, "identity", decision, form.left.text, "==", form.right.text)
    if decision.outcome == "refuted":
        row = replace(row, certainty="computed")
    repaired = entry.repaired.right.text if printed and isinstance(entry.repaired, Identity) else None
    script = identity_script(form) if decision.outcome == "refuted" else None
    return Finding(row, printed=quoted, repaired=repaired, script=script)


def decide_identity(entry: Identity, seed: int = 0, attack: bool = True) -> Decision:
    """Compare both sides on three random problems of unequal shapes; prove the identity if it survives.

    Without ``attack`` an identity that is proved is not attacked as well.
    """
    if not attack and (proof := prove_identity(entry)).outcome == "proved":
        return proof
    attacked = attack_identity(entry, seed)
    if not attacked.attacks:
        return attacked
    proof = prove_identity(entry)
    if proof.outcome != "proved":
        return attacked
    return replace(proof, certificate=f"{proof.certificate}; {attacked.certificate}", attacks=attacked.attacks)


def attack_identity(entry: Identity, seed: int = 0) -> Decision:
    """Both sides on three random problems of unequal shapes; ``attacks`` is 0 unless the identity survives them all."""
    largest = 0.0
    for number, (dx, dy) in enumerate(SHAPES):
        random = np.random.default_rng([seed, number])
        try:
            with precision(BITS):
                gap = _gap(entry, random_problem(dx, dy, random), random)
        except EvaluationError as reason:
            text = f"dx = {dx}, dy = {dy}: {reason}"
            shape = any(word in str(reason) for word in SHAPE_WORDS) and "square root" not in str(reason)
            return Decision("refuted" if shape else "undecided", "identity", text)
        except (BilevelVerifyError, ArithmeticError, KeyError) as reason:
            return Decision("undecided", "identity", f"dx = {dx}, dy = {dy}: {reason}")
        if not gap <= AGREEMENT:
            text = f"the sides differ by {gap:.3g} (relative) on a random problem with dx = {dx}, dy = {dy}"
            return Decision("refuted", "identity", text)
        largest = max(largest, gap)
    shapes = ", ".join(f"{dx}+{dy}" for dx, dy in SHAPES)
    text = f"agreement to {largest:.1e} on random problems {shapes}, derivatives by differences in 200 digits"
    return Decision("undecided", "identity", text, attacks=len(SHAPES))


def random_problem(dx: int, dy: int, random: np.random.Generator) -> Problem:
    """Ridge functions with sin and exp above; a strong quadratic with ridges below; rational coefficients."""
    names = [f"x{i + 1}" for i in range(dx)] + [f"y{j + 1}" for j in range(dy)]

    def ridge() -> str:
        return " + ".join(f"({int(c)}/8)*{n}" for c, n in zip(random.integers(-6, 7, len(names)), names))

    f = f"sin({ridge()}) + exp(({ridge()})/4) + cos({ridge()})/2"
    square = " + ".join(f"{3 + j}*y{j + 1}**2" for j in range(dy))
    cross = " + ".join(f"({int(random.integers(1, 6))}/7)*x{i + 1}*y{j + 1}" for i in range(dx) for j in range(dy))
    g = f"{square} + {cross} + sin({ridge()})/5 + cos({ridge()})/6"
    return bilevel(f=f, g=g, x=" ".join(names[:dx]), y=" ".join(names[dx:]))


class Differenced:
    """Function symbols whose derivatives are central differences of the functions themselves."""

    def __init__(self, functions: ProblemFunctions) -> None:
        self.functions = functions

    @property
    def names(self) -> tuple[str, ...]:
        """See ``checks.evaluate.Functions``."""
        return self.functions.names

    def call(self, name: str, arguments: list[Value]) -> tuple[Value, Certainty]:
        """See ``checks.evaluate.Functions``."""
        if name not in DERIVATIVES:
            return self.functions.call(name, arguments)
        point = arguments[0]
        if not isinstance(point, Vector):
            raise EvaluationError("a point was expected")
        rows = [self._slope(DERIVATIVES[name], point, i) for i in range(len(point))]
        if isinstance(rows[0], arb):
            return Vector(tuple(rows)), "computed"
        if isinstance(rows[0], Matrix):
            return Tensor(tuple(rows)), "computed"
        return Matrix(tuple(tuple(row.entries) for row in rows)), "computed"

    def _slope(self, name: str, point: Vector, i: int) -> Any:
        ends = []
        for sign in (1, -1):
            moved = tuple(e + sign * STEP if j == i else e for j, e in enumerate(point.entries))
            ends.append(_middle(self.call(name, [Vector(moved)])[0]))
        if isinstance(ends[0], Vector):
            return Vector(tuple((a - b) / (2 * STEP) for a, b in zip(ends[0].entries, ends[1].entries)))
        if isinstance(ends[0], Matrix):
            pairs = zip(ends[0].rows, ends[1].rows)
            return Matrix(tuple(tuple((a - b) / (2 * STEP) for a, b in zip(r, s)) for r, s in pairs))
        return (ends[0] - ends[1]) / (2 * STEP)


def _middle(value: Value) -> Any:
    if isinstance(value, Vector):
        return Vector(tuple(e.mid() for e in value.entries))
    if isinstance(value, Matrix):
        return Matrix(tuple(tuple(e.mid() for e in row) for row in value.rows))
    return ball(value).mid()


def _gap(entry: Identity, problem: Problem, random: np.random.Generator) -> float:
    functions = ProblemFunctions(problem, truth(problem), LAM)
    letters: dict[str, tuple[Value, Certainty]] = {"lam": (LAM, "proved")}
    for name in sorted(_points(entry)):
        size = problem.dx if name.startswith("x") else problem.dy
        letters[name] = (Vector(tuple(arb(int(k)) / 16 for k in random.integers(-12, 13, size))), "proved")
    definitions = {name: value.tree for name, value in entry.define.items()}
    evaluator = Evaluator(letters, definitions, Differenced(functions))
    left, right = evaluator.value(entry.left.tree), evaluator.value(entry.right.tree)
    a, b = _flat(left), _flat(right)
    if len(a) != len(b):
        raise EvaluationError(f"the shapes differ: {len(a)} and {len(b)} entries")
    scale = max([1.0, *(abs(float(v.mid())) for v in (*a, *b))])
    return max(float(abs(p.mid() - q.mid())) for p, q in zip(a, b)) / scale


def _points(entry: Identity) -> set[str]:
    """Letters of an identity that stand for points: ``x``, ``y`` and their kind."""
    found = {p.name for side in (entry.left, entry.right) for p in side.tree.walk() if isinstance(p, tree.Letter)}
    return {name for name in found if name[:1] in ("x", "y", "w", "z", "v")} - set(entry.define)


def _flat(value: Value) -> list[Any]:
    if isinstance(value, Vector):
        return list(value.entries)
    if isinstance(value, Matrix):
        return [entry for row in value.rows for entry in row]
    if isinstance(value, Tensor):
        return [entry for part in value.slices for entry in _flat(part)]
    return [ball(value)]
