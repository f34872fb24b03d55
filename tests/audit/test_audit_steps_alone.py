"""Step algebra alone, without the search in numbers behind it: each claim is false for one of its side conditions."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from audit_pieces import plain, ranges, shown
from seeds import SEED

from bilevel_verify.audit.entries import steps
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.language import parse, tree

pytestmark = pytest.mark.fast

FALSE = [
    # every principal minor: the diagonal, pairs, all three
    ("0 <= norm(u)**2 - norm(w)**2 + norm(v)**2", ""),
    ("2*dot(u, v) <= norm(u)**2 + norm(v)**2*99/100", ""),
    ("2*dot(v, w) <= norm(u)**2 + norm(v)**2 + norm(w)**2/2", ""),
    ("2*dot(u, w) <= norm(u)**2 + norm(v)**2 + norm(w)**2/2", ""),
    ("norm(u + v + w)**2 <= 2*norm(u)**2 + 2*norm(v)**2 + 2*norm(w)**2", ""),
    ("-11/10*(dot(u, v) + dot(v, w) + dot(u, w)) <= norm(u)**2/2 + norm(v)**2/2 + norm(w)**2/2", ""),
    # constants and strictness where all vectors vanish
    ("norm(u)**2 + 1/1000 <= norm(u)**2 + norm(v)**2", ""),
    ("norm(u)**2 < norm(u)**2 + norm(v)**2", ""),
    ("norm(u)**2 + norm(v)**2 > norm(u)**2", ""),
    ("0 < norm(u)**2", ""),
    ("norm(u)**2 < norm(u)**2 + t", "t = [0, 1]"),
    # which side is which
    ("norm(u)**2 + norm(v)**2 <= norm(u)**2", ""),
    ("norm(u)**2 >= norm(u)**2 + norm(v)**2", ""),
    # equalities: every coefficient, the constant too
    ("norm(u + v)**2 == norm(u)**2 + dot(u, v) + norm(v)**2", ""),
    ("norm(u + v)**2 == norm(u)**2 + 2*dot(u, v) + 2*norm(v)**2", ""),
    ("norm(u)**2 == norm(u)**2 + t", "t = [0, 1]"),
    ("t*norm(u)**2 == t**2*norm(u)**2", "t = [0, 1]"),
    # ranges of the scalars
    ("norm((1 - t)*u + t*v)**2 <= (1 - t)*norm(u)**2 + t*norm(v)**2", "t = [0, 1 + 1/100]"),
    ("t*norm(u)**2 >= 0", "t = [-1/100, 1]"),
    ("2*dot(u, v) <= t*norm(u)**2 + norm(v)**2/t", "t = [-1, 1]"),
]


@pytest.mark.parametrize(("text", "domains"), FALSE)
def test_step_algebra_proves_nothing_false(text: str, domains: str) -> None:
    node = parse(text)
    assert isinstance(node, tree.Compare)
    scalars = ranges(domains)
    claim = ScalarClaim(node.operands[0], node.operators[0], node.operands[1], scalars)
    assert steps._decided(claim, ("u", "v", "w"), 0, 2.0).outcome not in ("proved", "vacuous")
    assert steps.decide_step(claim, ("u", "v", "w"), effort=2.0).outcome not in ("proved", "vacuous")


# --- forms against numbers


def step_of(text: str, domains: str = "") -> ScalarClaim:
    node = parse(text)
    assert isinstance(node, tree.Compare)
    return ScalarClaim(node.operands[0], node.operators[0], node.operands[1], ranges(domains))


def test_forms_of_numbers_are_proved_exactly_where_their_matrix_is_semidefinite() -> None:
    chance = random.Random(SEED)
    names, answers = ("u", "v", "w"), []
    for _ in range(60):
        size = chance.choice((1, 2, 3))
        rows = np.array([[chance.randint(-2, 2) for _ in range(3)] for _ in range(size)])
        matrix = rows.T @ rows + np.diag([chance.choice((0, 0, 0, -1)) for _ in names])
        terms = [f"({matrix[i, j]})*dot({names[i]}, {names[j]})" for i in range(3) for j in range(3)]
        constant = chance.choice((0, 0, 1, -1))
        op = chance.choice(("<=", ">=", "<", ">"))
        form = " + ".join([*terms, str(constant)])
        text = f"{form} {op} 0" if op in (">=", ">") else f"0 {op} {form}"
        least = np.linalg.eigvalsh(matrix.astype(float))[0]
        semidefinite = bool(least > -1e-9) and (constant > 0 or (constant == 0 and op in ("<=", ">=")))
        found = steps._decided(step_of(text), names, 0, 2.0)
        assert found.outcome == ("proved" if semidefinite else "refuted"), (text, found)
        assert found.engine == "step algebra"
        answers.append(semidefinite)
    assert 8 <= sum(answers) <= 50


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "0 <= sqrt(t)*(norm(u)**2 + norm(v)**2)",  # the minor of u, v is t
        "0 <= sqrt(t)*sqrt(t)*norm(u)**2",
        "t*norm(u)**2 == (sqrt(t)**2 + log(t) - log(t) + abs(t) - sqrt(t)**2)*norm(u)**2",
        "sqrt(t)*norm(u)**2 + 1 - sqrt(t)*sqrt(t) <= sqrt(t)*norm(u)**2 + 1",
    ],
)
def test_nothing_is_refuted_where_a_side_has_no_value(text: str) -> None:
    """Found by a rotating seed: the determinant of a matrix of imaginary numbers is a negative number."""
    assert steps.decide_step(step_of(text, "t = [-1, 1]"), ("u", "v"), effort=2.0).outcome != "refuted"
    false = step_of("sqrt(t)*norm(u)**2 <= t*norm(u)**2", "t = [-1, 1]")
    assert steps.decide_step(false, ("u", "v"), effort=2.0).outcome == "refuted"


@pytest.mark.parametrize(
    ("text", "outcome", "said"),
    [
        ("norm(u)**2 <= norm(u)**2 + norm(v)**2", "proved", "all 7 principal minors are nonnegative"),
        ("0 <= norm(u)**2 - norm(v)**2", "refuted", "principal minor of v is negative; one-dimensional vectors v = "),
        ("2*dot(u, v) <= norm(u)**2", "refuted", "principal minor of u, v is negative; one-dimensional vectors u = "),
        ("norm(u)**2 + 1 <= 2*norm(u)**2", "refuted", "the constant is negative; there all vectors are 0"),
        ("norm(u)**2 == norm(u)**2", "proved", "all 2 coefficients agree"),
        ("norm(u + v)**2 == norm(u)**2 + norm(v)**2", "refuted", "coefficient of ('u', 'v'): "),
        ("norm(u)**2 == norm(u)**2 + 1", "refuted", "coefficient of constant: "),
        ("0 < norm(u)**2", "refuted", "both sides are 0 where all vectors are 0"),
        ("norm(u) <= norm(v)**2", "undecided", "a side that is not linear in inner products"),
        ("dot(u, v)*dot(u, v) <= 1", "undecided", "a product of two inner products"),
        ("norm(u)**3 <= 1", "undecided", "a side that is not linear in inner products"),
        ("norm(u)**2/norm(v)**2 <= 1", "undecided", "a side that is not linear in inner products"),
        ("dot(u, 2) <= 1", "undecided", "a vector that is not a linear combination"),
        ("dot(u*u, v) <= 1", "undecided", "a vector that is not a linear combination"),
        ("dot(u, t) <= 0", "undecided", "a vector that is not a linear combination"),  # t is a number
        ("dot(t, u + v) <= 0", "undecided", "a vector that is not a linear combination"),
        ("norm(u + t)**2 >= 0", "undecided", "a vector that is not a linear combination"),
        ("exp(1)*norm(u)**2 <= 1", "undecided", "exp is not algebraic"),
    ],
)
def test_what_step_algebra_says(text: str, outcome: str, said: str) -> None:
    found = steps._decided(step_of(text), ("u", "v", "w"), 0, 2.0)
    assert (found.outcome, found.engine) == (outcome, "step algebra")
    assert found.certificate.startswith(said)


def test_a_refuted_minor_is_refuted_at_a_point_of_the_range() -> None:
    found = steps._decided(step_of("2*dot(u, v) <= t*norm(u)**2 + norm(v)**2", "t = [1/2, 2]"), ("u", "v"), 0, 2.0)
    assert found.outcome == "refuted"
    assert Fraction(1, 2) <= found.point["t"] < 1
    strict = steps._decided(step_of("norm(u)**2 < norm(v)**2 + norm(u)**2", "t = [1/2, 2]"), ("u", "v"), 0, 2.0)
    assert strict.outcome == "refuted"
    weighed = steps._decided(step_of("t*norm(u)**2 < t*norm(v)**2 + t*norm(u)**2", "t = [1/2, 2]"), ("u", "v"), 0, 2.0)
    assert Fraction(1, 2) <= weighed.point["t"] <= 2


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("0 < t*norm(u)**2 + 1", "proved"),  # strict in the constant alone
        ("t*norm(u)**2 + 1 > 0", "proved"),
        ("0 <= norm(u)**2 + t", "proved"),
        ("norm(u)**2 + t >= 0", "proved"),
        ("0 < norm(u)**2 + t", "refuted"),
        ("norm(u)**2 + t > 0", "refuted"),
    ],
)
def test_strict_relations_are_strict_where_the_vectors_vanish(text: str, outcome: str) -> None:
    assert steps._decided(step_of(text, "t = [0, 1]"), ("u",), 0, 2.0).outcome == outcome


def test_certificates_name_engines_and_the_first_coefficient() -> None:
    found = steps._decided(step_of("0 <= t*norm(u)**2", "t = [0, 1]"), ("u",), 0, 2.0)
    assert found.certificate.startswith("all 1 principal minors are nonnegative (")
    assert "zero" not in found.certificate
    alike = steps._decided(step_of("norm(u)**2 <= norm(u)**2"), ("u",), 0, 2.0)
    assert alike.certificate == "all 1 principal minors are nonnegative (zero)"
    unlike = steps._decided(step_of("norm(u)**2 == 2*norm(u)**2 + 1"), ("u",), 0, 2.0)
    assert unlike.certificate.startswith("coefficient of ('u', 'u'): ")


def test_an_undecided_minor_and_an_empty_range_are_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = step_of("2*dot(u, v) <= t*norm(u)**2 + norm(v)**2", "t = [1/2, 2]")
    monkeypatch.setattr(steps, "feasible_point", lambda *_: None)
    found = steps._decided(claim, ("u", "v"), 0, 2.0)
    assert (found.outcome, found.point) == ("undecided", {})
    assert "is negative, no point of the range was found at which" in found.certificate
    assert steps._decided(step_of("0 < norm(u)**2"), ("u",), 0, 2.0).outcome == "undecided"
    monkeypatch.setattr(steps, "decide", lambda *_, **__: Decision("undecided", "x", "why"))
    found = steps._decided(claim, ("u", "v"), 0, 2.0)
    assert (found.outcome, found.certificate) == ("undecided", "principal minor of u is undecided: why")
    equal = steps._decided(step_of("norm(u)**2 == t*norm(u)**2", "t = [1/2, 2]"), ("u",), 0, 2.0)
    assert (equal.outcome, equal.engine) == ("undecided", "step algebra")
    monkeypatch.setattr(steps, "decide", lambda *_, **__: Decision("vacuous", "x", "why"))
    assert steps._decided(claim, ("u", "v"), 0, 2.0).outcome != "proved"


def numbers(node: tree.Node, letters: dict[str, float], vectors: dict[str, np.ndarray]) -> np.ndarray | float:
    """A side with vectors of numbers, straight from the formula."""

    def of(part: tree.Node) -> Any:
        return numbers(part, letters, vectors)

    match node:
        case tree.Number(value=value):
            return float(value)
        case tree.Letter(name=name):
            return vectors[name] if name in vectors else letters[name]
        case tree.Add(terms=terms):
            return sum((of(t) for t in terms[1:]), of(terms[0]))
        case tree.Negate(operand=operand):
            return -of(operand)
        case tree.Multiply(factors=factors):
            total = of(factors[0])
            for factor in factors[1:]:
                total = total * of(factor)
            return total  # type: ignore[no-any-return]
        case tree.Divide(numerator=top, denominator=bottom):
            return of(top) / of(bottom)  # type: ignore[no-any-return]
        case tree.Power(base=base, exponent=exponent):
            return of(base) ** of(exponent)  # type: ignore[no-any-return]
        case tree.Call(function="norm", arguments=(inner,)):
            return float(np.linalg.norm(of(inner)))
        case tree.Call(function="dot", arguments=(one, other)):
            return float(of(one) @ of(other))
        case tree.Call(function="abs", arguments=(inner,)):
            return abs(of(inner))
        case tree.Call(function="sqrt", arguments=(inner,)):
            return of(inner) ** 0.5  # type: ignore[no-any-return]
    raise AssertionError(node)


SIDES = [
    "norm(u)**2", "norm(2*u - v/t)**2", "dot(u, v) + 3*dot(v, u)", "-dot(u + t*v, (u - w)/2)", "t*norm(u)**2/(1 + t)",
    "norm(-u)**2 + 5 - t", "2*t*(norm(u)**2 - dot(v, w))", "dot(u*t, 2*(v*3))", "norm(u + v + w)**2*t", "t**2 + 1",
    "(norm(u)**2 + dot(u, v))/t - dot(w, w)", "dot(t*(u + v)*2, w)",
]  # fmt: skip


@pytest.mark.parametrize("text", SIDES)
def test_forms_and_coordinates_have_the_value_of_the_side(text: str) -> None:
    claim = step_of(f"{text} <= 0", "t = (0, oo)")
    form = steps.Reader(claim, ("u", "v", "w")).form(claim.left)
    generator = np.random.default_rng(1)
    for count in (1, 2):
        vectors = {name: generator.normal(size=count) for name in "uvw"}
        letters = {"t": 0.7}
        exact = numbers(claim.left, letters, vectors)
        put = {s: letters[s.name] for value in [*form.pairs.values(), form.constant] for s in value.free_symbols}
        total = float(form.constant.subs(put)) + sum(
            float(sympy.sympify(value).subs(put)) * float(vectors[a] @ vectors[b])
            for (a, b), value in form.pairs.items()
        )
        assert total == pytest.approx(exact, rel=1e-9, abs=1e-12)
        assert all(a <= b for a, b in form.pairs)
        flat = steps.in_dimensions(claim, ("u", "v", "w"), count)
        entries = {n if count == 1 else f"{n}_{k + 1}": v[k] for n, v in vectors.items() for k in range(count)}
        assert numbers(flat.left, {**letters, **entries}, {}) == pytest.approx(exact, rel=1e-9, abs=1e-12)
        assert flat.domains.keys() == {"t", *entries}
        assert flat.domains["t"] == claim.domains["t"]


def test_norms_and_hypotheses_become_numbers_too() -> None:
    node, condition = parse("norm(u - v) <= t"), parse("dot(u, v) >= norm(v)")
    assert isinstance(node, tree.Compare)
    claim = ScalarClaim(node.operands[0], "<=", node.operands[1], ranges("t = (0, oo)"), (condition,))
    one, two = (steps.in_dimensions(claim, ("u", "v"), count) for count in (1, 2))
    assert shown(one) == f"{plain('abs(u - v) <= t')}; {plain('u*v >= abs(v)')}"
    where = plain("u_1*v_1 + u_2*v_2 >= sqrt(v_1**2 + v_2**2)")
    assert shown(two) == f"{plain('sqrt((u_1 - v_1)**2 + (u_2 - v_2)**2) <= t')}; {where}"


@pytest.mark.parametrize(
    ("text", "count"),
    [("norm(u) <= norm(v)", 1), ("norm(u)*norm(v) <= abs(dot(u, v))", 2), ("abs(dot(u, v)) <= norm(u)*norm(v)", None)],
)
def test_counterexamples_in_as_few_dimensions_as_are_needed(text: str, count: int | None) -> None:
    """Cauchy and Schwarz are equal on a line: only two dimensions refute the converse."""
    found = steps.refuted_in_numbers(step_of(text), ("u", "v"))
    if count is None:
        assert found is None
    else:
        assert found is not None
        assert found[1].outcome == "refuted"
        assert len(found[0].domains) == 2 * count
        decision = steps.decide_step(step_of(text), ("u", "v"), effort=1.0)
        assert (decision.outcome, decision.engine) == ("refuted", "step algebra")
        assert decision.certificate.startswith("vectors of numbers; ")


@pytest.mark.parametrize(
    ("text", "where", "outcome"),
    [
        ("0 <= dot(u, v)", "dot(u, v) >= 0", "undecided"),  # false without it, true with it
        ("norm(u)**2 <= norm(v)**2", "norm(u) <= norm(v)", "undecided"),
        ("norm(u)**2 <= norm(v)**2", "norm(u) <= 2*norm(v)", "refuted"),
        ("norm(u)**2 <= norm(u)**2 + norm(v)**2", "norm(u) <= 2*norm(v)", "proved"),
        ("0 <= t*norm(u)**2", "t >= 0", "proved"),
        ("0 <= t*norm(u)**2", "t <= 1", "refuted"),
    ],
)
def test_hypotheses_about_vectors_are_satisfied_by_what_refutes(text: str, where: str, outcome: str) -> None:
    claim = replace(step_of(text, "t = [-1, 2]"), where=(parse(where),))
    found = steps.decide_step(claim, ("u", "v"), effort=2.0)
    assert (found.outcome, found.engine) == (outcome, "step algebra")


def test_shown_vectors_are_of_the_matrix_at_the_point() -> None:
    """Letters with values of their own: [[1, 2], [2, 1]] has the least eigenvalue -1, along (1, -1)."""
    a, b = sympy.symbols("a b")
    point = {"b": Fraction(2), "a": Fraction(1), "c": Fraction(7)}
    text = steps._vectors(sympy.Matrix([[a, b], [b, a]]), (0, 1), ("u", "v"), point)
    assert text in [f"one-dimensional vectors u = {s}1, v = {t}1 (form value -1)" for s, t in (("", "-"), ("-", ""))]


def test_shown_vectors_have_entries_of_at_most_one() -> None:
    """Their largest entry in absolute value is 1, whatever its sign, and they give the form a negative value."""
    chance = random.Random(SEED)
    for size in (2, 3):
        for _ in range(6):
            half = [[chance.randint(-3, 3) for _ in range(size)] for _ in range(size)]
            matrix = sympy.Matrix(half) + sympy.Matrix(half).T - 9 * sympy.eye(size)
            text = steps._vectors(matrix, tuple(range(size)), ("u", "v", "w"), {})
            found = np.array([float(part.split(" = ")[1].split(" ")[0].rstrip(",")) for part in text.split(", ")])
            assert np.abs(found).max() == 1.0, text
            assert found @ np.array(matrix, dtype=float) @ found < 0


def test_what_is_not_said_is_no_more_than_this(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, float]] = []
    answer = Decision("proved", "step algebra", "")
    monkeypatch.setattr(steps, "_decided", lambda claim, vectors, seed, effort: asked.append((seed, effort)) or answer)
    assert steps.decide_step(step_of("0 <= norm(u)**2"), ("u",)) == answer
    assert asked == [(0, 20.0)]
    flat = steps.in_dimensions(step_of("0 <= norm(u)**2"), ("u",))
    assert set(flat.domains) == {"u"}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_vector_is_no_number_of_the_flat_claim(count: int) -> None:
    claim = replace(step_of("0 <= t*norm(u)**2"), domains=ranges("t = [0, 1]; u = [2, 3]"))
    flat = steps.in_dimensions(claim, ("u",), count)
    assert set(flat.domains) == {"t", *(["u"] if count == 1 else [f"u_{k}" for k in range(1, count + 1)])}
    assert all(flat.domains[name] == steps.REAL for name in flat.domains if name != "t")
