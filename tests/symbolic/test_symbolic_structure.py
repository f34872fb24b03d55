"""Structured functions are the functions they came from: exactly in parts, and in every generated form."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from seeds import SEED
from sympy import Rational, exp, sin, symbols

from bilevel_verify.atoms import logsumexp, sigmoid, softplus
from bilevel_verify.numbers.floats import PYTHON_FLOAT
from bilevel_verify.oracles.convention import PRODUCTS
from bilevel_verify.oracles.forms import plain_oracle
from bilevel_verify.symbolic import differentiate
from bilevel_verify.symbolic.numeric import Forms, numeric
from bilevel_verify.symbolic.program import Program, program_of
from bilevel_verify.symbolic.structure import Structure, decompose
from bilevel_verify.symbolic.structured import generate_structured

DX, DY = 3, 4
Z = symbols("x1:4 y1:5", real=True)


def dense(rng: np.random.Generator) -> sympy.Expr:
    return sympy.Add(*[Rational(int(c), 8) * v for c, v in zip(rng.integers(-5, 6, len(Z)), Z)]) + Rational(1, 3)


def functions() -> dict[str, sympy.Expr]:
    rng = np.random.default_rng(SEED)
    forms = [dense(rng) for _ in range(6)]
    return {
        "quadratic": sympy.Add(*[f**2 for f in forms]) - Z[0] * Z[4] + 7,
        "groups": sympy.Add(*[softplus(f) * Rational(k + 1, 3) for k, f in enumerate(forms)]) + Z[0] ** 2,
        "two slots": sympy.Add(*[sigmoid(Z[k % 3]) * f**2 * sin(f) for k, f in enumerate(forms)]),
        "separable": sympy.Add(*[sin(2 * v) + v**4 for v in Z]) - Z[1] * Z[5],
        "core": logsumexp(*forms[:3]) + exp(-(forms[3] ** 2)) * Z[6] + sin(Z[0] * Z[5]),
        "mixed": sympy.Add(*[softplus(f) for f in forms])
        + logsumexp(*forms[:4])
        + sin(Z[2]) * Z[3] ** 2
        + forms[0] ** 2 / 5,
    }


NAMES = tuple(functions())
KINDS = ("value", "grad", "grad_x", "grad_y", "hess", "hvp", "hvp_yy", "jvp_xy", "jvp_yx")
RANGES = {"x": range(DX), "y": range(DX, DX + DY), "z": range(DX + DY)}
BLOCKS = {"grad": "z", "grad_x": "x", "grad_y": "y", "hvp": "zz", "hvp_yy": "yy", "jvp_xy": "xy", "jvp_yx": "yx"}


def unrolled(base: Program, kind: str, point: list[float], v: list[float]) -> list[float]:
    if kind == "value":
        return base.run(PYTHON_FLOAT, point)
    if kind == "hess":
        return differentiate.hessian(base).run(PYTHON_FLOAT, point)
    rows = RANGES[BLOCKS[kind][0]]
    if kind.startswith("grad"):
        return differentiate.gradient(base, rows).run(PYTHON_FLOAT, point)
    return differentiate.hessian_product(base, rows, RANGES[BLOCKS[kind][1]]).run(PYTHON_FLOAT, [*point, *v])


@pytest.mark.parametrize("name", NAMES)
def test_structured_oracles_equal_unrolled_ones(name: str) -> None:
    base = program_of(functions()[name], Z)
    structure = decompose(base)
    arrays = numeric(structure)
    rng = np.random.default_rng(SEED + 1)
    for kind in KINDS:
        length = len(RANGES[BLOCKS[kind][1]]) if f"{kind}_g" in PRODUCTS else 0
        points, directions = rng.uniform(-1, 1, (3, DX + DY)), rng.uniform(-1, 1, (3, length))
        oracle = plain_oracle(generate_structured("oracle", kind, structure, DX))
        for point, v in zip(points.tolist(), directions.tolist()):
            expected = unrolled(base, kind, point, v)
            out = [np.nan] * len(expected)
            oracle(*([point[:DX], point[DX:], v, out] if length else [point[:DX], point[DX:], out]))
            assert np.allclose(out, expected, rtol=1e-12, atol=1e-12), (SEED, name, kind)
            one = by_arrays(arrays, kind, np.array([point]), np.array([v]))
            assert np.allclose(one.reshape(-1), expected, rtol=1e-12, atol=1e-12), (SEED, name, kind)
        many = by_arrays(arrays, kind, points, directions).reshape(3, -1)
        assert np.allclose(many[2], expected, rtol=1e-12, atol=1e-12), (SEED, name, kind)


def by_arrays(arrays: object, kind: str, z: np.ndarray, v: np.ndarray) -> np.ndarray:
    if kind == "value":
        return arrays.value(z)  # type: ignore[attr-defined, no-any-return]
    if kind == "hess":
        return arrays.full_hessian(z)  # type: ignore[attr-defined, no-any-return]
    rows = RANGES[BLOCKS[kind][0]]
    if kind.startswith("grad"):
        return arrays.gradient(z, rows)  # type: ignore[attr-defined, no-any-return]
    return arrays.product(z, rows, RANGES[BLOCKS[kind][1]], v)  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_add_up_exactly(name: str) -> None:
    expression = functions()[name]
    difference = sympy.expand(rebuild(decompose(program_of(expression, Z))) - expression)
    assert difference == 0 or abs(difference.subs(dict.fromkeys(Z, Rational(1, 3))).evalf(30)) < 1e-25


def rebuild(structure: Structure) -> sympy.Expr:
    """The function again, written with SymPy by hand from the parts."""
    total = rational(structure.constant)
    total += sum(rational(c) * Z[i] for i, c in structure.linear.items())
    total += sum(rational(c) * Z[i] * Z[j] for (i, j), c in structure.quadratic.items())
    as_form = lambda form: sum((rational(c) * Z[i] for i, c in form[0].items()), rational(form[1]))
    for group in structure.groups:
        for k in range(group.count):
            inputs = [as_form(slot[k]) for slot in group.forms] + [rational(p[k]) for p in group.parameters]
            total += written_out(group.template, inputs)
    if structure.core is not None:
        total += written_out(structure.core, [*Z, *(as_form(f) for f in structure.forms)])
    return total


def rational(value: object) -> sympy.Expr:
    return sympy.Rational(str(value)) if not isinstance(value, sympy.Basic) else value


def written_out(program: Program, inputs: list[sympy.Expr]) -> sympy.Expr:
    from bilevel_verify.atoms import TABLE

    values: list[sympy.Expr] = []
    for i in program.instructions:
        args = [values[a] for a in i.args]
        match i.op:
            case "input":
                values.append(inputs[i.value])
            case "const":
                values.append(rational(i.value))
            case "add":
                values.append(sympy.Add(*args))
            case "mul":
                values.append(sympy.Mul(*args))
            case "neg":
                values.append(-args[0])
            case "pow":
                values.append(args[0] ** rational(i.value))
            case "logsumexp":
                values.append(logsumexp(*args))
            case "atom":
                values.append(TABLE[i.value[0]].derivative(i.value[1], args[0]))
            case _:
                raise AssertionError(i.op)
    return values[program.outputs[0]]


def test_what_is_quadratic_leaves_no_core() -> None:
    structure = decompose(program_of(functions()["quadratic"], Z))
    assert structure.core is None
    assert structure.groups == ()


def test_equal_terms_make_one_group_with_their_numbers() -> None:
    structure = decompose(program_of(functions()["groups"], Z))
    (group,) = structure.groups
    assert group.count == 6
    assert structure.core is None
    assert sorted(group.parameters[-1]) == sorted(Rational(k, 3) for k in range(1, 7))


def test_generated_size_does_not_grow_with_the_dimension() -> None:
    sizes = []
    for d in (10, 40):
        u = symbols(f"u1:{d + 1}", real=True)
        expression = sympy.Add(
            *[softplus(sympy.Add(*[((i * j) % 7 - 3) * v for j, v in enumerate(u)])) for i in range(d)]
        )
        source = generate_structured("oracle", "grad", decompose(program_of(expression, u)), d)
        sizes.append(len(source.text))
    assert sizes[1] <= 1.2 * sizes[0]


def test_forms_restrict_to_a_block() -> None:
    rng = np.random.default_rng(SEED)
    selection = Forms(np.array([2, 0, 5]), None, np.zeros(3))
    matrix = Forms(np.array([0, 2, 3]), rng.standard_normal((4, 3)), rng.standard_normal(4))
    z, block = rng.standard_normal((2, 6)), range(1, 4)
    for forms in (selection, matrix):
        part = forms.restricted(block)
        expected = z[:, 1:4] @ forms.rows(6)[:, 1:4].T
        assert np.allclose(part.along(z[:, 1:4]), expected)
        target = np.zeros((2, 3))
        weights = rng.standard_normal((2, len(forms.offset)))
        part.transposed(weights, target)
        assert np.allclose(target, weights @ forms.rows(6)[:, 1:4])
