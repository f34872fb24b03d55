"""The point or instance that shows a defect, in words that a reader needs nothing else for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import parse, to_latex, tree
from bilevel_verify.language.latex import RELATIONS
from bilevel_verify.problems.catalogue import zoo
from bilevel_verify.problems.files import dump, from_spec
from bilevel_verify.problems.problem import Problem
from bilevel_verify.proofreading.errata.erratum import Witness
from bilevel_verify.theorems.card import Card, Entry
from bilevel_verify.theorems.card_parts import Root
from bilevel_verify.theorems.notation import symbols_of
from bilevel_verify.theorems.prescribed import formulas_of, is_order
from bilevel_verify.theorems.rewrite import free_letters

GROWS = r"along these values, as $t\to\infty$, the two sides grow at different orders, so that no constant will do"
OPERATOR = re.compile(r"\s*(<=|>=|==|<|>)\s*")
INSTANCE = frozenset({"problem", "kind", "x0"})
OF_INSTANCE = INSTANCE | {"f", "g", "x", "y", "feasible", "eps", "digits"}
OF_RUNS = {
    "iterations": "number of iterations of the run", "epochs": "number of epochs of the run",
    "k_end": "number of iterations of the epoch", "output": "the point that the run returns",
}  # fmt: skip
LEVELS = {"bilevel": "bilevel", "minimax": "minimax", "single_level": "one-level", "simple_bilevel": "simple bilevel"}


def witness_of(card: Card, findings: Sequence[Finding]) -> Witness | None:
    """The first point with the values of both sides; without them, the first point."""
    shown = [f for f in findings if f.counterexample and f.row.kind != "executability"]
    full = [f for f in shown if f.row.measured is not None and f.row.bound is not None]
    if not (full or shown):
        return None
    finding = (full or shown)[0]
    row, point, display = finding.row, dict(finding.counterexample or {}), symbols_of(card)
    units = point.pop("unit", "")
    ran = not INSTANCE.isdisjoint(point) and finding.claim is None  # letters of scalars may be called f or eps
    names = [n for n in point if not (ran and n in OF_INSTANCE)]
    values = tuple((to_latex(tree.Letter(n), display), str(point[n])) for n in names)
    unsaid = row.measured is None or row.bound is None or row.kind == "probability"
    sides = None if unsaid else (float(row.measured or 0), float(row.bound or 0))
    along = row.kind == "derivation" and any(re.search(r"\bt\b", value) for _, value in values)
    if units:
        bases = tuple((n, f"unit of {m}") for n, m in card.units.items() if re.search(rf"\b{n}\b", units))
        return Witness((), f"units: {units}", _relation(finding, display), letters=bases)
    letters = _letters(card, card.entries.get(row.statement or ""), row, names, display)
    told = GROWS if along else _problem(point) if ran else ""
    return Witness(values, told, _relation(finding, display), sides, row.where or "", tuple(letters))


def instance_of(spec: object) -> str:
    """The problem file of a recorded instance, named or written out; empty if there is none to write."""
    try:
        if isinstance(spec, Mapping):
            problem: object = from_spec(spec, name="counterexample")
        else:
            problem = zoo(str(spec).removeprefix("zoo:"))
    except BilevelVerifyError:
        return ""
    return dump(problem) if isinstance(problem, Problem) else ""


def _problem(point: Mapping[str, str]) -> str:
    """The instance in one sentence, formulas between dollar signs; empty for a point of scalars."""
    named, formulas = point.get("problem", ""), {k: point[k] for k in ("f", "g") if point.get(k)}
    kind = point.get("kind", "")
    if named.startswith("zoo:"):
        kind, formulas = _of_the_zoo(named.removeprefix("zoo:"))
    if not (named or formulas):
        return ""
    parts = [f"the {LEVELS.get(kind, '')} problem{f' {named}' if named else ''}".replace("  ", " ")]
    parts += [f"${k}={_latex(text)}$" for k, text in formulas.items()]
    parts += [f"feasible set {point['feasible']}"] if point.get("feasible") else []
    parts += [rf"$\epsilon={point['eps']}$"] if point.get("eps") else []
    parts += [f"start $x_0=({point['x0'].strip('[]')})$"] if point.get("x0") else []
    return ", ".join(parts)


def _of_the_zoo(name: str) -> tuple[str, dict[str, str]]:
    """Kind and formulas of a problem of the zoo, the values of its letters after them."""
    try:
        problem = zoo(name)
    except BilevelVerifyError:
        return "", {}
    text = {k: str(v) for k, v in getattr(problem, "text", {}).items() if k in ("f", "g")}
    return getattr(problem, "kind", ""), text | {k: str(v) for k, v in getattr(problem, "knobs", {}).items()}


def _latex(text: str) -> str:
    try:
        return to_latex(parse(text))
    except BilevelVerifyError:
        return rf"\text{{{text}}}"


def _relation(finding: Finding, display: Mapping[str, str]) -> str:
    """What is compared at the point, as LaTeX."""
    row = finding.row
    if not (row.left and row.right):
        return ""
    written = OPERATOR.match(row.right)  # rows of runs carry their relation with the right side
    usual = "==" if "identity" in (row.kind, row.claim) else "<="
    op = written[1] if written else str(row.details.get("op") or usual)
    try:
        left, right = (to_latex(parse(text), display) for text in (row.left, OPERATOR.sub("", row.right)))
    except BilevelVerifyError:
        return ""
    return f"{left} {RELATIONS.get(op, op)} {right}"


def _letters(
    card: Card, entry: Entry | None, row: Row, given: Sequence[str], display: Mapping[str, str]
) -> list[tuple[str, str]]:
    """The letters of the point and of what is compared, then those of their definitions: (LaTeX, meaning)."""
    made = {n: m.expression.tree for n, (m, _, _) in (formulas_of(card, entry) if entry is not None else {}).items()
            if not isinstance(m.value, Root) and not is_order(m)}  # fmt: skip
    made |= {n: m.tree for n, m in (entry.define if entry is not None else {}).items()}
    waiting, found = list(dict.fromkeys([*given, *_compared(row)])), []
    for name in waiting:
        spec, formula = card.letters.get(name), None if name in given else made.get(name)
        meaning = spec.meaning if spec is not None and spec.meaning else OF_RUNS.get(name, "")
        if formula is not None:
            waiting += sorted(free_letters(formula) - {*waiting})
        if meaning or formula is not None:
            shown = to_latex(tree.Letter(name), display)
            found.append((f"{shown} = {to_latex(formula, display)}" if formula is not None else shown, meaning))
    return found


def _compared(row: Row) -> list[str]:
    """The letters of both sides in their order of the alphabet."""
    try:
        sides = [parse(OPERATOR.sub("", text)) for text in (row.left, row.right) if text]
    except BilevelVerifyError:
        return []
    return sorted(set[str]().union(*map(free_letters, sides)))
