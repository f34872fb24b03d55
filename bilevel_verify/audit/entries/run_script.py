"""An independent script for a defect of a pseudo-code: its steps as Python, run to the line at which they stop.

The oracles are those of one small problem, and what else the paper calls answers 0: which entries are there and what is
divided by 0 is a matter of the lines and not of the problem.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from keyword import iskeyword

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.theorems import algorithm as steps
from bilevel_verify.theorems.card import Algorithm, Card
from bilevel_verify.theorems.pseudocode.executability import called_in
from bilevel_verify.theorems.pseudocode.interpreter import ScriptFinding
from bilevel_verify.theorems.pseudocode.literal import STARTS
from bilevel_verify.theorems.pseudocode.trial import settings_of
from bilevel_verify.theorems.rewrite import rebuild

ERRORS = {
    "unassigned": "LookupError, NameError", "unassigned output": "LookupError, NameError",
    "division by zero": "ZeroDivisionError",
}  # fmt: skip
ORACLES = {
    "norm": "abs", "sqrt": "math.sqrt", "log": "math.log", "exp": "math.exp", "ceil": "math.ceil",
    "floor": "math.floor", "dot": "lambda a, b: a*b", "T": "lambda a: a", "inv": "lambda a: 1/a",
    "grad_f": "lambda x, *_: -math.sin(x)",
    "grad_x_f": "lambda x, *_: -math.sin(x)", "grad_y_f": "lambda x, y: 0.0",
    "grad_x_g": "lambda x, y: x - y", "grad_y_g": "lambda x, y: y - x",
    "hess_yy_g": "lambda x, y: 1.0", "hess_xy_g": "lambda x, y: -1.0",
    "grad_y_L": "lambda x, y: 8.0*(y - x)", "grad_L_star": "lambda x: -math.sin(x)",
    "grad_phi": "lambda x: -math.sin(x)", "y_star": "lambda x: x", "uniform_ball": "lambda r: r/2",
}  # fmt: skip
GIVEN: dict[str, str] = {"A": "2.0", "h": "lambda z: z", "grad_h": "lambda z: z", "b": "1.0", "q_0": "0.0"}
SOURCE = '''"""The printed steps of an algorithm, line by line: where a run stops. Needs Python alone.

{place}: {message}
Oracles: f = cos(x), g = (y - x)^2/2, one dimension; all else that is called answers 0. Behind # is the paper's line.
Exit status 0: a run stops at that line; 1: none does.
"""
import math
import traceback
from collections import defaultdict


class Entries(dict):
    def __missing__(self, index):
        raise LookupError(f"the entry {{index}} was never assigned")


{functions}

{algorithms}

shown = False
for numbers in ({numbers}):
    try:
        print("output", run(**numbers))
    except ({errors}) as error:
        line = next(f.line for f in traceback.extract_tb(error.__traceback__) if f.name == "run")
        print("stops at:", line, "|", error)
        shown = shown or line.endswith("# {label}")
raise SystemExit(0 if shown else 1)
'''


def run_script(card: Card, algorithm: Algorithm, defect: ScriptFinding) -> str | None:
    """Source of a script that stops at the line of a defect; None where it does not, or cannot be written."""
    label = _plain(defect.line.removeprefix("line "))
    inside = [a for a in card.algorithms if a.called in called_in(algorithm.program)]
    named = {name for a in (algorithm, *inside) for name in (*a.needs, *a.families, a.called or "run")}
    plain = all(name.isidentifier() and not iskeyword(name) for name in named)
    if defect.kind not in ERRORS or label == defect.line or not plain:
        return None
    called = {name for a in (algorithm, *inside) for name in called_in(a.program)} - {a.called for a in inside}
    called -= {"sum", "max", "min", "abs", *algorithm.needs}
    functions = [f"{n} = {ORACLES.get(n, 'lambda *_: 0.0')}" for n in sorted(called)]
    source = SOURCE.format(
        place=_plain(algorithm.source or algorithm.id), message=_plain(defect.message), functions="\n".join(functions),
        algorithms="\n\n".join([*(_defined(a, a.called) for a in inside), _defined(algorithm, "run")]),
        numbers="".join(f"{one}, " for one in _numbers(card, algorithm)), errors=ERRORS[defect.kind], label=label,
    )  # fmt: skip
    return source if _shows(source) else None


def _plain(words: str) -> str:
    """Words of a card for a comment of the script: nothing that could end it."""
    return re.sub(r"[^\w .,:;()\[\]'=/+-]", " ", words)


def _shows(source: str) -> bool:
    """Whether the script, run in a process of its own, shows what it is for."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file, suppress(subprocess.TimeoutExpired):
        file.write(source)
        file.flush()
        command = [sys.executable, "-I", file.name]
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    return False


def _defined(algorithm: Algorithm, name: str) -> str:
    """An algorithm as a Python function of its inputs; families are filled in."""
    inputs = [n for n in algorithm.needs if n not in algorithm.families]
    sequences = {t.base for one in algorithm.program.walk() if isinstance(one, steps.Assign)
                 for t in one.targets if isinstance(t, tree.Index)}  # fmt: skip
    lines = [f"    {n} = Entries()\n" for n in sorted(sequences)]
    lines += [f"    {n} = defaultdict(lambda: 3)\n" for n in algorithm.families]
    body = steps.program_text(algorithm.program.statements, "    ", lambda node: to_text(_python(node)))
    return f"def {name}({', '.join(inputs)}):\n{''.join(lines)}{body}"


def _python(node: tree.Node) -> tree.Node:
    """Sums over an index as generators, products of matrices as products, ``h(x, _)`` as a function of the last."""
    node = rebuild(node, _python)
    match node:
        case tree.MatrixMultiply(left=left, right=right):
            return tree.Multiply((left, right))
        case tree.Call(function=name) if (bound := binder(node)) is not None:
            index, low, high = bound[0], to_text(bound[1]), to_text(bound[2])
            body, span = to_text(node.arguments[0]), f"range({low}, {high} + 1)"
            pick = {"argmin": "min", "argmax": "max"}.get(name)
            text = f"{pick}({span}, key=lambda {index}: {body})" if pick else f"{name}({body} for {index} in {span})"
            return tree.Letter(text)
        case tree.Call(arguments=arguments) if tree.Letter("_") in arguments:
            return tree.Letter(f"(lambda _: {to_text(node)})")
    return node


def _numbers(card: Card, algorithm: Algorithm) -> Iterator[str]:
    """The inputs of the trial runs, one number each."""
    for start, numbers in settings_of(card, algorithm):
        inputs = [n for n in algorithm.needs if n not in algorithm.families]
        given = {n: numbers.get(n, start[0] if n in STARTS else 0.0) for n in inputs}
        shown = (f"{n}={GIVEN.get(n, value if isinstance(value, int | float) else 1.0)}" for n, value in given.items())
        yield f"dict({', '.join(shown)})"
