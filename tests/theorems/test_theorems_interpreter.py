"""The statement language and its literal interpreter: findings, exactness of indices, two number systems."""

from __future__ import annotations

from pathlib import Path

import mpmath
import numpy as np
import pytest

from bilevel_verify.errors import CardError
from bilevel_verify.problems import bilevel
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.algorithm import Assign, While, read_program
from bilevel_verify.theorems.card import Algorithm
from bilevel_verify.theorems.pseudocode.executability import static_findings
from bilevel_verify.theorems.pseudocode.functions import LiteralFunctions
from bilevel_verify.theorems.pseudocode.interpreter import interpret
from bilevel_verify.theorems.pseudocode.numbers import LinearOperator, Multiprecision
from bilevel_verify.theorems.pseudocode.trial import SILENT

BROKEN = """
x[0] = x_int; k = 0                              # 1
while norm(x[k] - x[k-1]) > 0:                   # 2   x[-1] was never assigned
    x[k+1] = x[k] - eta*grad_f(x[k])             # 3
    k = k + 1                                    # 4
return x_best                                    # 5   never assigned
"""


def algorithm(steps: str, inputs: tuple[str, ...] = ()) -> Algorithm:
    return Algorithm(kind="algorithm", id="trial", inputs=inputs, steps=steps, program=read_program(steps))


def test_example_broken_has_three_findings() -> None:
    broken = algorithm(BROKEN, ("x_int", "eta", "B"))
    found = static_findings(broken)
    assert [f.kind for f in found] == ["unused input", "unassigned output"]
    assert "'B'" in found[0].message
    assert found[1].line == "line 5"
    run = interpret(broken, {"x_int": [1.0], "eta": 0.1, "B": 1.0}, {"grad_f": lambda x: x})
    assert [(f.kind, f.line) for f in run.findings] == [("unassigned", "line 2")]
    assert "x[-1]" in run.findings[0].message
    assert run.output is None


def test_a_sound_algorithm_has_no_finding() -> None:
    found = load_card("restarted-agd-hb").entries["algorithm-1"]
    assert isinstance(found, Algorithm)
    assert static_findings(found, supplied=found.inputs) == ()


@pytest.mark.parametrize(
    ("steps", "kind", "line"),
    [
        ("k = 1/2\nx[k] = 1 # 2\nreturn k", "non-integer index", "line 2"),
        ("k = argmin(i, (i, 3, 2)) # 4\nreturn k", "empty range", "line 4"),
        ("k = max(i, (i, 1, 0))\nreturn k", "empty range", "text line 1"),
        ("k = 1/(2-2) # 7\nreturn k", "division by zero", "line 7"),
        ("k = 0**(-1)\nreturn k", "division by zero", "text line 1"),
        ("k = sqrt(-1) # 3\nreturn k", "not a number", "line 3"),
        ("k = log(0) # 3\nreturn k", "not a number", "line 3"),
        ("k = 5 % 0 # 3\nreturn k", "division by zero", "line 3"),
        ("k = exp(800) # 3\nreturn k", "budget", "line 3"),
        ("k = floor(exp(exp(10))) # 3\nreturn k", "budget", "line 3"),
        ("k = 2.5 # 3\nwhile True: # 4\n    k = k**k # 5", "budget", "line 5"),
        ("k = sum(i, (i, 0, 999999)) # 3\nreturn k", "budget", "line 3"),
        ("k = sum(sum(i*j, (i, 0, 999)), (j, 0, 999)) # 3\nreturn k", "budget", "line 3"),
        ("k = frobnicate(1)\nreturn k", "unknown function", "text line 1"),
        ("k = 0 # 1\nwhile k < 3: # 2\n    j = k # 3\nreturn k", "unreachable exit", "line 2"),
        ("k = 0\nwhile k >= 0:\n    k = k + 1\nreturn k", "budget", "text line 2"),
        ("k = 0", "no output", ""),
    ],
)
def test_findings_of_a_run(steps: str, kind: str, line: str) -> None:
    run = interpret(algorithm(steps), {}, {}, budget=5000)
    assert [(f.kind, f.line) for f in run.findings] == [(kind, line)]


@pytest.mark.parametrize(
    "expression",
    [
        "v**2", "2**v", "g**2", "v % 2", "2 % g", "1/v", "v/g", "1/g", "-g", "g*2", "2 + g", "abs(v)", "plus(v)",
        "floor(v)", "ceil(g)",
        "sqrt(v)", "exp(g)", "max(v, 1)", "min(1, g)", "dot(v, 1)", "dot(v, w)", "T(1)", "v @ g", "max(i*v, (i, 1, 3))",
        "1 if v < 2 else 0", "1 if g <= 1 else 0", "1 if v == 1 else 0", "1 if 0 < 1 <= v else 0",
    ],
)  # fmt: skip
def test_what_is_for_numbers_is_undefined_for_vectors_and_functions(expression: str) -> None:
    inputs = {"v": np.array([1.0, 2.0]), "w": np.array([1.0, 2.0, 3.0]), "g": lambda x: x}
    (finding,) = interpret(read_program(f"return {expression}"), inputs, {}).findings
    assert finding.kind == "undefined"
    assert finding.line


@pytest.mark.parametrize("expression", ["A*v", "v + A", "A + A", "2*A", "-A", "A*v/A", "sum(A, (i, 1, 2))"])
def test_a_matrix_that_is_only_multiplied_ends_the_run_and_accuses_nobody(expression: str) -> None:
    inputs = {"v": np.array([1.0, 2.0]), "A": LinearOperator(lambda vector: 2.0 * vector)}
    (finding,) = interpret(read_program(f"return {expression}"), inputs, {}).findings
    assert (finding.kind, finding.kind in SILENT) == ("unsupported", True)
    assert "only multiplied" in finding.message
    assert np.array_equal(interpret(read_program("return -(A @ v)*2"), inputs, {}).outputs[0], [-4.0, -8.0])


@pytest.mark.parametrize(
    ("expression", "value"),
    [("v*2", [2.0, 4.0]), ("v/2", [0.5, 1.0]), ("-v", [-1.0, -2.0]), ("v + v", [2.0, 4.0]), ("dot(v, v)", 5.0)]
    + [("1 if v == v else 0", 1), ("1 if v == 2*v else 0", 0), ("g(3)**2", 9), ("max(dot(v, v), 6)", 6)],
)
def test_what_vectors_can_is_unchanged(expression: str, value: object) -> None:
    inputs = {"v": np.array([1.0, 2.0]), "g": lambda x: x}
    done = interpret(read_program(f"return {expression}"), inputs, {})
    assert done.findings == ()
    assert np.array_equal(done.outputs[0], value)


def test_a_stuck_loop_is_also_seen_without_a_run() -> None:
    found = static_findings(algorithm("k = 0\nwhile k < K: # 2\n    j = k\nreturn k", ("K",)))
    assert [(f.kind, f.line) for f in found] == [("unreachable exit", "line 2")]


def test_a_long_loop_that_ends_is_no_finding() -> None:
    """Control: values recur here too (k is reset), but not all of them."""
    steps = "k = 0; n = 0\nwhile n < 50:\n    k = k + 1\n    if k > 3:\n        k = 0; n = n + 1\nreturn n"
    run = interpret(algorithm(steps), {}, {})
    assert run.findings == ()
    assert run.output == 50


def test_indices_stay_exact() -> None:
    steps = "K = 7\nm = floor(K/2)\ns = sum(1/i, (i, 1, 3))\nreturn m, s, ceil(2*K/3), 10 % 4"
    run = interpret(algorithm(steps), {}, {})
    assert [str(v) for v in run.outputs] == ["3", "11/6", "5", "2"]


def test_parameters_as_functions_and_partial_application() -> None:
    steps = "x = descend(g(w, _), T[3], z)\nreturn x"
    calls = {"g": lambda w, y: w + y, "descend": lambda h, count, z: h(z) * count}
    run = interpret(algorithm(steps), {"w": [1.0], "z": [2.0], "T": lambda k: k + 1}, calls)
    assert run.output == pytest.approx(np.array([12.0]))


def test_called_algorithms_report_their_own_line() -> None:
    inner = algorithm("q = v/0 # 9\nreturn q", ("v",))
    run = interpret(algorithm("x = INNER(1) # 2\nreturn x"), {}, {}, library={"INNER": inner})
    assert run.findings[0].kind == "division by zero"
    assert run.findings[0].line == "line 2"
    assert "line 9" in run.findings[0].message


def test_two_number_systems_agree() -> None:
    card = load_card("restarted-agd-hb")
    found = card.entries["algorithm-1"]
    assert isinstance(found, Algorithm)
    inputs = {"x_int": [0.9, -1.3], "eta": 0.25, "theta": 0.25, "B": 0.2, "K": 4}
    plain = interpret(found, inputs, {"grad_f": lambda x: np.array([x[0], np.sin(x[1])])})
    field = Multiprecision()
    with mpmath.workdps(40):
        calls = {"grad_f": lambda x: field.vector([x[0], field.context.sin(x[1])])}
        exactly = interpret(found, inputs, calls, numbers=field)
    assert plain.findings == exactly.findings == ()
    assert plain.letters["t"] == exactly.letters["t"]
    assert np.allclose(plain.output, exactly.output.astype(float), rtol=1e-13)
    assert plain.order == exactly.order


@pytest.mark.parametrize(
    "steps",
    [
        "import os",
        "x = 1\nexec('1')",
        "def f(x): return x",
        "x = [1, 2]",
        "x = lambda y: y",
        "x.y = 1",
        "for k in items: x = 1",
        "break",
        "x += 1",
        "x = 'text'",
        "x = y.__class__",
        "x = " + "(" * 200 + "1" + ")" * 200,
        "while True:\n    x = 1\nelse:\n    x = 2",
        "x = 1\n\u00e9 = 2",
        "x = open('f')['a']",
    ],
)
def test_steps_outside_the_language_are_refused(steps: str) -> None:
    with pytest.raises(CardError):
        read_program(steps)


def test_paper_lines_and_chained_assignments() -> None:
    program = read_program("a = b = 1   # 3\nwhile a < 2:  # 4-5\n    a = a + 1 # 6a")
    first, loop = program.statements
    assert isinstance(first, Assign)
    assert len(first.targets) == 2
    assert first.label == "3"
    assert isinstance(loop, While)
    assert loop.label == "4-5"
    assert loop.body[0].label == "6a"


def test_no_card_text_is_executed(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    steps = f"x = open_file({len(str(marker))})\nreturn x"
    run = interpret(algorithm(steps), {}, {})
    assert run.findings[0].kind == "unknown function"
    assert not marker.exists()


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("grad_f(grad_f)", "numbers and vectors"),
        ("grad_f()", "of 2 numbers, not of 0"),
        ("grad_f(x, x)", "of 2 numbers, not of 4"),
        ("f(f)", "numbers and vectors"),
        ("f(1)", "of 2 numbers, not of 1"),
        ("hess_yy_f(x)", "does not take 1 arguments"),
        ("hess_yy_f(1, 1, 1)", "does not take 3 arguments"),
        ("y_star(x, x)", "does not take 2 arguments"),
        ("grad_phi(grad_f)", "numbers and vectors"),
        ("y_star(x)", "of 1 numbers, not of 2"),
        ("uniform_ball(x)", "takes a radius"),
        ("uniform_ball()", "does not take 0 arguments"),
        ("norm(grad_f)", "norm of a function"),
        ("exp()", "takes one number, not 0"),
        ("exp(1, 2)", "takes one number, not 2"),
        ("sqrt(4, 9)", "takes one number, not 2"),
    ],
)
def test_a_function_at_what_it_does_not_take_ends_the_run_with_a_finding(expression: str, said: str) -> None:
    problem = bilevel(f="x1**2 + y1", g="y1**2 - x1*y1", x="x1", y="y1")
    run = interpret(algorithm(f"return {expression}"), {"x": [1.0, 2.0]}, LiteralFunctions(problem).table())
    assert [f.kind for f in run.findings] == ["undefined"]
    assert said in run.findings[0].message, run.findings


def test_blanks_take_as_many_arguments_as_there_are() -> None:
    steps = "h = g(w, _)\nreturn h(w, w)"
    run = interpret(algorithm(steps), {"w": [1.0]}, {"g": lambda w, y: w + y})
    assert "1 blanks, not 2" in run.findings[0].message


def test_functions_of_the_problem_at_what_they_take() -> None:
    problem = bilevel(f="x1**2 + y1", g="y1**2 - x1*y1", x="x1", y="y1")
    steps = "return f(x, y), grad_f(x, y), hess_yy_g(x, y) @ y, y_star(x)"
    run = interpret(algorithm(steps), {"x": [3.0], "y": [5.0]}, LiteralFunctions(problem).table())
    assert [float(np.ravel(v)[0]) for v in run.outputs] == [14.0, 6.0, 10.0, 1.5]
