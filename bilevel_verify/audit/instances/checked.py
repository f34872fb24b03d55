"""A reviewer's relation of matrices: ``check('norm(inv(A) - inv(B)) <= ...', 'A = matrices; B = matrices')``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bilevel_verify.audit.findings.finding import Finding, Place, row_of
from bilevel_verify.audit.instances.matrices import KINDS, Attack, Relation, attack, shown
from bilevel_verify.audit.instances.rational import Ends, Value
from bilevel_verify.audit.scalar.claim import Decision
from bilevel_verify.errors import InputError
from bilevel_verify.language import to_latex, to_text, tree
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

SCRIPT = '''"""Both sides of a relation of matrices at one instance. Needs NumPy only; norms are spectral."""
import numpy as np


def norm(a):
    return np.linalg.norm(np.asarray(a, dtype=float), 2)


def frobenius(a):
    return np.linalg.norm(np.ravel(np.asarray(a, dtype=float)))


def inv(a):
    return np.linalg.inv(np.asarray(a, dtype=float))


def T(a):
    return np.transpose(a)


def dot(a, b):
    return float(np.ravel(a) @ np.ravel(b))


sqrt = np.sqrt
'''


def about_matrices(ranges: Mapping[str, str]) -> bool:
    """Whether a range says that a letter is a matrix (vectors alone are judged by their lengths and angles)."""
    return any(value.strip() in KINDS[:3] for value in ranges.values())


def matrix_findings(
    node: tree.Compare, conditions: Sequence[tree.Node], ranges: Mapping[str, str], seed: int = 0
) -> list[Finding]:
    """One finding for each link of a chain: refuted with exact matrices, or undecided.

    Raises
    ------
    InputError : a letter without a kind, or with a range that is none of the kinds of matrices.
    """
    used = set().union(*(free_letters(n) for n in (node, *conditions))) - NUMBERS
    for name in sorted(used | ranges.keys()):
        if ranges.get(name, "").strip() not in KINDS:
            raise InputError(f"--for: {name}: beside matrices a letter is one of: {', '.join(KINDS)}")
    kinds = {name: ranges[name].strip() for name in sorted(used)}
    where = tuple(c for c in conditions if isinstance(c, tree.Compare))
    return [
        _finding(Relation(left, op, right, kinds, where), number, seed)
        for number, (left, op, right) in enumerate(node.links())
    ]


def _finding(relation: Relation, number: int, seed: int) -> Finding:
    found = attack(relation, seed=seed)
    left, right = to_text(relation.left), to_text(relation.right)
    decision = Decision("undecided", "matrices", "")
    if found.refuted:
        decision = Decision("refuted", "matrices", "both sides enclosed in fractions")
    row = row_of(Place("formula", f"link-{number + 1}"), "inequality", decision, left, relation.op, right)
    at = shown(found.at)
    reason = row.reason if found.refuted else f"survived {found.instances} instances, largest ratio {found.ratio:.6g}"
    row = replace(row, measured=found.left, bound=found.right, reason=reason,
                  where="; ".join(f"{n} = {v}" for n, v in at.items()) or None,
                  details={**row.details, "instances": found.instances, "tightness": found.ratio})  # fmt: skip
    latex = to_latex(tree.Compare((relation.left, relation.right), (relation.op,)))
    if not found.refuted:
        return Finding(row, printed=latex)
    return Finding(row, printed=latex, counterexample=at, script=script_of(relation, found))


def script_of(relation: Relation, found: Attack) -> str:
    """A script that shows both sides with NumPy alone."""
    lines = [SCRIPT]
    for name, value in found.at.items():
        text = shown({name: value})[name]
        lines.append(f"{name} = {text if isinstance(value, Ends) else f'np.array({text}, dtype=float)'}")
    for side, node in (("left", relation.left), ("right", relation.right)):
        lines.append(f"{side} = {_python(node, found.at)[0]}")
    shown_op = f"{to_text(relation.left)} {relation.op} {to_text(relation.right)}"
    lines += [f"print({shown_op!r})", "print('left', left, 'right', right)", f"assert not left {relation.op} right"]
    return "\n".join(lines) + "\n"


def _python(node: tree.Node, at: Mapping[str, Value]) -> tuple[str, bool]:
    """A formula for NumPy, and whether it is a matrix: products of matrices with ``@``, powers by repetition."""
    match node:
        case tree.Letter(name=name):
            return name, not isinstance(at.get(name), Ends)
        case tree.Negate(operand=inner):
            text, matrix = _python(inner, at)
            return f"(-{text})", matrix
        case tree.Add(terms=terms):
            parts = [_python(t, at) for t in terms]
            return "(" + " + ".join(t for t, _ in parts) + ")", any(m for _, m in parts)
        case tree.Multiply(factors=factors):
            parts = [_python(f, at) for f in factors]
            numbers = [t for t, m in parts if not m]
            arrays = [t for t, m in parts if m]
            return "(" + " * ".join([*numbers, *([" @ ".join(arrays)] if arrays else [])]) + ")", bool(arrays)
        case tree.MatrixMultiply(left=left, right=right):
            return f"({_python(left, at)[0]} @ {_python(right, at)[0]})", True
        case tree.Divide(numerator=top, denominator=bottom):
            text, matrix = _python(top, at)
            return f"({text} / {_python(bottom, at)[0]})", matrix
        case tree.Power(base=base, exponent=exponent):
            text, matrix = _python(base, at)
            if matrix:
                return f"np.linalg.matrix_power({text}, {to_text(exponent)})", True
            return f"({text} ** ({to_text(exponent)}))", False
        case tree.Call(function=name, arguments=arguments):
            inside = ", ".join(_python(a, at)[0] for a in arguments)
            return f"{name}({inside})", name in ("T", "inv")
    return f"({to_text(node)})", False
