"""Certificates of claims along runs: at each place the relation of numbers, which the small checker decides anew.

Iterates are the rational numbers that floats are. Where f, g or phi has a closed formula, its value and the norm of its
gradient stand in the certificate as formulas at that point; what else a place is made of (truth without a closed
formula, constants) stands there as a letter between the two ends that the engine certifies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import sympy

from bilevel_check.intervals import Interval
from bilevel_verify.audit.findings.levels import CHECKED, WORD
from bilevel_verify.certificates.finding import write
from bilevel_verify.certificates.numbers.boxes import certificate_in_ranges
from bilevel_verify.certificates.numbers.formulas import data_of_formula
from bilevel_verify.certificates.numbers.relations import NoTree
from bilevel_verify.certificates.numbers.truth import closed_phi
from bilevel_verify.certificates.statement import NotStated, data_of
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Judgement
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.values import Bound, Vector, as_scalar, ends
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.judging.rows import marks_of, readings_of
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.numbers.exact import rational
from bilevel_verify.problems.problem import Problem

MOST = 200
"""Places of one relation that get a file."""
BOXES = 200
"""Most boxes of a place."""
PLAIN = {"abs", "sqrt", "exp", "log", "floor", "ceil", "max", "min", "plus"}
"""Functions of numbers that a certificate repeats; anything else that has a value is a letter between its ends."""
SLOPES = ("grad_f", "grad_g", "grad_phi")


class NoPlace(Exception):
    """Why a place has no certificate."""


@dataclass(frozen=True, slots=True)
class Place:
    """A relation between numbers at one place: data of both sides, letters with their ends and what they stand for."""

    where: str
    op: str
    left: Any
    right: Any
    ranges: Mapping[str, Interval]
    meanings: Mapping[str, str]


class CertificatesOfRuns:
    """Looks on while claims are judged and writes a certificate of each place of each decided relation.

    Parameters
    ----------
    folder : gets ``PAPER-STATEMENT-PROBLEM-CASE-ROW-CLAIM-PLACE.json``.

    Raises
    ------
    InputError : the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.cases = folder, 0
        self._places: dict[Key, list[Place | str]] = {}

    def begin(self, case: Case) -> Callable[[Judged, Bound, Evaluator, Judgement], None]:
        """Collect the places of an instance."""
        self.cases += 1
        self._places = {}
        formulas = Formulas(case.problem)

        def seen(judged: Judged, place: Bound, evaluator: Evaluator, judgement: Judgement) -> None:
            kept = self._places.setdefault(_key_of_relation(case, judged), [])
            if judgement.answer is not None and len(kept) <= MOST:
                kept.append(_place(judged, place, evaluator, judgement, formulas))

        return seen

    def end(self, case: Case) -> list[Row]:
        """The rows, each decided one with the files of its places or the reason why it has none."""
        rows = enumerate(case.rows, 1)
        return [self._with_files(row, n, case) if row.verdict in ("holds", "refuted") else row for n, row in rows]

    def _with_files(self, row: Row, number: int, case: Case) -> Row:
        places = [one for one in self._places.get(_key_of_row(row), []) if row.verdict == "holds" or _breaks(one)]
        try:
            files = self._written(row, number, case, places)
        except NoPlace as reason:
            return replace(row, details={**row.details, "certificate": WORD, "certificate_reason": str(reason)})
        return replace(row, details={**row.details, "certificate": CHECKED, "certificate_files": files})

    def _written(self, row: Row, number: int, case: Case, places: Sequence[Place | str]) -> list[str]:
        """One file for each place of what holds, one for the first violation of what is refuted."""
        wanted = row.places if row.verdict == "holds" else 1
        if not places or not wanted:
            raise NoPlace("no place of a run or of parameters was kept")
        if len(places) < wanted or wanted > MOST:
            raise NoPlace(f"{wanted} places, more than {MOST}" if wanted > MOST else "not every place was kept")
        about = {"paper": row.paper or "", "statement": row.statement or "", "claim": f"{row.left} {row.related}"}
        about |= {"problem": case.problem.name or "", "command": row.reproduce or "", "verdict": row.verdict}
        texts = [_text(one, about) for one in places[:wanted]]
        stem = f"{row.paper}-{row.statement}-{row.problem or 'problem'}-{self.cases}-{number}-{row.claim}"
        stem = re.sub(r"\W+", "-", stem).strip("-")
        return [write(self.folder, f"{stem}-{place}.json", text) for place, text in enumerate(texts, 1)]


Key = tuple[str | None, str | None, str | None, str | None, tuple[str, ...]]
"""What tells relations of one instance apart: a claim, its readings and its repaired form have one name."""


def _key_of_row(row: Row) -> Key:
    return row.claim, row.left, row.related, row.reading, row.marks


def _key_of_relation(case: Case, judged: Judged) -> Key:
    claim, link = judged.claim, judged.link
    name = claim.id if len(claim.chain) == 1 else f"{claim.id}/{judged.number + 1}"
    marks = marks_of(case, claim, *link.marks)
    return name, str(link.left), f"{link.op} {link.right}", readings_of(case, claim), marks


def _breaks(place: Place | str) -> bool:
    return isinstance(place, Place) and place.op.startswith("not ")


def _text(place: Place | str, about: Mapping[str, str]) -> str:
    """The certificate of a place.

    Raises
    ------
    NoPlace : the small checker does not accept it.
    """
    if isinstance(place, str):
        raise NoPlace(place)
    op, told = place.op.removeprefix("not "), {**about, "where": place.where, **place.meanings}
    op = tree.NEGATED[op] if _breaks(place) else op
    sides = (place.right, place.left) if op in (">=", ">") else (place.left, place.right)
    try:
        found = certificate_in_ranges(["<" if len(op) == 1 else "<=", *sides], place.ranges, told, BOXES)
    except NoTree as reason:
        raise NoPlace(f"{place.where}: {reason}") from None
    return f"{found.text}\n"


def _place(judged: Judged, place: Bound, evaluator: Evaluator, judgement: Judgement, formulas: Formulas) -> Place | str:
    """A place as data, or the reason why it is none."""
    op = judged.link.op
    if op not in tree.NEGATED:
        return f"the relation {op}"
    sides = _Sides(evaluator, place, formulas)
    try:
        left, right = (data_of(sides.reduced(side.tree)) for side in (judged.link.left, judged.link.right))
    except (NotStated, BilevelVerifyError, KeyError) as reason:
        return f"{judgement.where}: {reason}"
    left, right = (_filled(side, sides.formulas_used) for side in (left, right))
    op = op if judgement.answer else f"not {op}"
    return Place(judgement.where, op, left, right, sides.ranges, sides.meanings)


def _filled(data: object, formulas: Mapping[str, object]) -> object:
    """Data with formulas in place of the letters that stand for them."""
    if isinstance(data, list):
        return [data[0], *(_filled(part, formulas) for part in data[1:])]
    return formulas.get(data, data) if isinstance(data, str) else data


class _Sides:
    """Both sides of a relation at one place: what a certificate repeats, and letters for everything else."""

    def __init__(self, evaluator: Evaluator, bound: Bound, formulas: Formulas) -> None:
        self.evaluator, self.bound, self.formulas = evaluator, bound, formulas
        self.ranges: dict[str, Interval] = {}
        self.meanings: dict[str, str] = {}
        self.formulas_used: dict[str, Any] = {}
        self._known: dict[str, tree.Node] = {}

    def reduced(self, node: tree.Node) -> tree.Node:
        """The tree with numbers and letters in place of what is no arithmetic."""
        match node:
            case tree.Number():
                return node
            case tree.Add(terms=parts):
                return tree.Add(tuple(map(self.reduced, parts)))
            case tree.Multiply(factors=parts):
                return tree.Multiply(tuple(map(self.reduced, parts)))
            case tree.Divide(numerator=a, denominator=b):
                return tree.Divide(self.reduced(a), self.reduced(b))
            case tree.Power(base=tree.Call(function="norm")) if self.formulas.of(node.base, self._value) is None:
                return self._leaf(node)  # a square of a norm is exact where the norm is not
            case tree.Power(base=a, exponent=b):
                return tree.Power(self.reduced(a), self.reduced(b))
            case tree.Negate(operand=a):
                return tree.Negate(self.reduced(a))
            case tree.Call(function=name, arguments=parts) if name in PLAIN and binder(node) is None:
                return tree.Call(name, tuple(map(self.reduced, parts)))
        return self._leaf(node)

    def _leaf(self, node: tree.Node) -> tree.Node:
        text = to_text(node)
        if text not in self._known:
            self._known[text] = self._formula(node, text) or self._number(node, text)
        return self._known[text]

    def _value(self, node: tree.Node) -> object:
        return self.evaluator.value(node, self.bound)

    def _formula(self, node: tree.Node, text: str) -> tree.Node | None:
        """A letter that stands for a closed formula at an exact point; None where there is none."""
        shown = self.formulas.of(node, self._value)
        if shown is None:
            return None
        letter = f"F{len(self.formulas_used) + 1}"
        self.formulas_used[letter] = shown
        self.meanings[f"formula {len(self.formulas_used)}"] = text
        return tree.Letter(letter)

    def _number(self, node: tree.Node, text: str) -> tree.Node:
        value = as_scalar(self._value(node))
        if isinstance(value, Fraction) or value.is_exact():
            number = rational(value)
            self.meanings[text] = str(number)
            return tree.Number(number)
        low, high = ends(value)
        if not abs(low) + abs(high) < float("inf"):
            raise NotStated(f"{text} has no finite ends")
        letter = text if isinstance(node, tree.Letter) else f"v{len(self.ranges) + 1}"
        self.ranges[letter] = (Fraction(low), Fraction(high))
        self.meanings[f"letter {letter}"] = f"{text}, between ends that the engine certifies"
        return tree.Letter(letter)


class Formulas:
    """The functions of a problem that have closed formulas, at exact points."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[str, sympy.Expr | None] = {}

    def of(self, node: tree.Node, value: Callable[[tree.Node], Any]) -> Any | None:
        """Data of a value of f, g or phi, or of the norm of its whole gradient; None for anything else."""
        match node:
            case tree.Call(function="norm", arguments=(tree.Call(function=name, arguments=points),)) if name in SLOPES:
                return self._data(name.removeprefix("grad_"), points, value, slope=True)
            case tree.Call(function="f" | "g" | "phi" as name, arguments=points):
                return self._data(name, points, value)
        return None

    def _data(
        self, name: str, points: Sequence[tree.Node], value: Callable[[tree.Node], object], slope: bool = False
    ) -> Any | None:
        formula = self._formula(name)
        if formula is None:
            return None
        numbers = list(_coordinates(map(value, points)))
        letters = self.problem.x if name == "phi" else self.problem.variables
        if len(numbers) != len(letters) or None in numbers:
            return None
        at = {letter: sympy.Rational(number) for letter, number in zip(letters, numbers, strict=True)}
        try:
            if not slope:
                return data_of_formula(formula.xreplace(at))
            parts = [data_of_formula(sympy.diff(formula, letter).xreplace(at)) for letter in letters]
        except NotStated:
            return None
        return ["sqrt", ["+", *(["^", part, 2] for part in parts)] if len(parts) > 1 else ["^", parts[0], 2]]

    def _formula(self, name: str) -> sympy.Expr | None:
        if name not in self._known:
            found = {"f": self.problem.f, "g": self.problem.lower}.get(name)
            self._known[name] = closed_phi(self.problem) if name == "phi" else found
        return self._known[name]


def _coordinates(points: Iterator[object]) -> Iterator[Fraction | None]:
    """Coordinates one after the other; None for one that is not exact."""
    for point in points:
        for entry in point.entries if isinstance(point, Vector) else (point,):
            number = as_scalar(entry)
            yield rational(number) if isinstance(number, Fraction) or number.is_exact() else None


def folder_of(name: str | Path) -> Path:
    """The folder of certificates.

    Raises
    ------
    InputError : a file has that name.
    """
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"certificates: {folder} is a file: name a folder")
    return folder
