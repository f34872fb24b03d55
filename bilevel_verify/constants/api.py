"""``constants(p)``: a mapping from a paper's letters to certified constants, computed when a letter is looked up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, overload

import sympy

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Constant, Reason, Side, html_table
from bilevel_verify.constants.bound.memory import remembered
from bilevel_verify.constants.formula.domain import domain_of
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.gradient_domination import Along, gradient_domination
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.constants.hoelder.hoelder import hoelder_pair
from bilevel_verify.constants.papers import Letter, LetterSet, letters_of
from bilevel_verify.constants.simple import simple_bound
from bilevel_verify.errors import InputError
from bilevel_verify.numbers.rounding import enclose
from bilevel_verify.problems.family import ProblemFamily
from bilevel_verify.problems.problem import Problem

_CACHE: dict[tuple[str, str, float, str], Analysis] = {}
_CACHE_LIMIT = 256
_KNOWN: dict[tuple[Any, ...], dict[str, Constant]] = {}


@overload
def constants(
    p: Problem,
    paper: str | LetterSet | None = None,
    nu: float | Mapping[str, float] | None = None,
    only: Iterable[str] | None = None,
    effort: float = 1.0,
) -> Mapping[str, Constant]: ...
@overload
def constants(
    p: ProblemFamily,
    paper: str | LetterSet | None = None,
    nu: float | Mapping[str, float] | None = None,
    only: Iterable[str] | None = None,
    effort: float = 1.0,
) -> FamilyConstants: ...
def constants(
    p: Problem | ProblemFamily,
    paper: str | LetterSet | None = None,
    nu: float | Mapping[str, float] | None = None,
    only: Iterable[str] | None = None,
    effort: float = 1.0,
) -> Mapping[str, Constant] | FamilyConstants:
    """Certified constants of a problem under the letters of one paper.

    Of a family the constants depend on its letters: the result then has ``at(eps=..., ...)``, which gives the constants
    of one member (exact closed forms of that member where there are any).

    Parameters
    ----------
    p : the problem.
    paper : whose letters: the key of a shipped set (``theory/constants``), the path of a card file, or a set of
        definitions of your own.
    nu : exponent wanted for the Hoelder pairs: one number, or ``{"nu_g": ..., "nu_f": ...}``. By default the
        largest one that can be certified.
    only : letters to offer (all by default). Nothing is computed before a letter is looked up.
    effort : multiplies the box budgets of branch and bound (deterministic: budgets count boxes, not seconds).

    Returns
    -------
    Mapping from letter to :class:`Constant`; iteration in the paper's order.

    Raises
    ------
    InputError : unknown paper or letter, exponent outside [0, 1].
    """
    known = letters_of(paper, p.kind)
    chosen = _chosen(known, only)
    if isinstance(p, ProblemFamily):
        return FamilyConstants(p, known, tuple(letter.name for letter in chosen), nu, effort)
    return Constants(p, known, chosen, _exponents(nu), effort)


def _chosen(known: LetterSet, only: Iterable[str] | None) -> tuple[Letter, ...]:
    if only is None:
        return known.letters
    wanted = [only] if isinstance(only, str) else list(only)
    for word in wanted:
        if word not in known.names:
            raise InputError(f"{known.key} has no constant {word!r}; it has {', '.join(known.names)}")
    return tuple(letter for letter in known.letters if letter.name in wanted)


def _exponents(nu: float | Mapping[str, float] | None) -> dict[str, Any]:
    given = {} if nu is None else dict(nu) if isinstance(nu, Mapping) else {"nu_g": nu, "nu_f": nu}
    for name, value in given.items():
        if not 0 <= value <= 1:
            shown = name if isinstance(nu, Mapping) else "nu"
            raise InputError(f"{shown} = {value}: a Hoelder exponent lies in [0, 1]")
    return given


@dataclass(frozen=True, slots=True)
class FamilyConstants:
    """The constants of a family: one set for every choice of the family's letters.

    Attributes
    ----------
    family : the problems.
    paper : the definitions. ``letters, nu, effort`` : as asked for in :func:`constants`.
    """

    family: ProblemFamily
    paper: LetterSet
    letters: tuple[str, ...]
    nu: float | Mapping[str, float] | None = None
    effort: float = 1.0

    def at(self, **letters: object) -> Mapping[str, Constant]:
        """Constants of the member with these letters (``eps``, ``kappa``, ``d``, ``nu``).

        Raises
        ------
        ProblemError : a letter is missing, unknown, or not a number.
        """
        return constants(self.family.at(**letters), self.paper, self.nu, self.letters, self.effort)

    def __str__(self) -> str:
        needed = ", ".join(self.family.letters)
        which = f"{', '.join(self.letters)} ({self.paper.key})"
        head = f"constants {which} of {self.family.name}: one set for each at({needed})"
        return "\n".join([head, *(f"  {name}: {text}" for name, text in self.documentation().items())])

    def documentation(self) -> dict[str, str]:
        """Letter -> its formula, its norm and which variables move: the same for every member of the family."""
        known = self.paper.names
        return {name: f"{known[name].meaning} [{known[name].norm}]" for name in self.letters}


class Constants(Mapping[str, Constant]):
    """Lazily computed constants; prints as a table."""

    def __init__(
        self,
        problem: Problem,
        paper: LetterSet,
        letters: tuple[Letter, ...],
        exponents: dict[str, Any],
        effort: float,
    ) -> None:
        self.problem, self.paper, self.exponents, self.effort = problem, paper, exponents, effort
        self._letters = {letter.name: letter for letter in letters}
        key = (problem.content_hash(), paper, tuple(sorted(exponents.items())), effort)
        # the same for everybody who asks for this problem under this paper's letters in this process
        self._known: dict[str, Constant] = remembered(_KNOWN, key, dict, _CACHE_LIMIT)

    def __getitem__(self, name: str) -> Constant:
        if name not in self._letters:
            raise KeyError(name)
        return self._get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._letters)

    def __len__(self) -> int:
        return len(self._letters)

    def __contains__(self, name: object) -> bool:
        return name in self._letters

    def _get(self, name: str) -> Constant:
        if name not in self._known:
            self._known[name] = self._compute(self.paper.names[name])
        return self._known[name]

    def analysis(self, function: str, curved_in: str = "y") -> Analysis:
        """The analysis of ``f`` or ``g`` (the lower level: ``-f`` for minimax), shared between calls.

        ``curved_in`` : the block (``x``, ``y``, ``z`` for both) whose curvature :meth:`Analysis.convexity` bounds.
        """
        key = (self.problem.content_hash(), function, self.effort, curved_in)
        return remembered(_CACHE, key, lambda: self._analysed(function, curved_in), _CACHE_LIMIT)

    def _analysed(self, function: str, curved_in: str) -> Analysis:
        expression = self.problem.f if function == "f" else self.problem.lower
        structure = structure_of(normalise(sympy.sympify(expression)), self.problem.variables)
        blocks = "x" * self.problem.dx + "y" * self.problem.dy
        fixed = tuple(curved_in not in (block, "z") for block in blocks)
        return Analysis(structure, fixed, domain_of(self.problem), function, self.effort)

    def _compute(self, letter: Letter) -> Constant:
        match letter.measure:
            case "norm":
                return self._norm(letter)
            case "strong convexity":
                return self._mu(letter)
            case "Polyak-Lojasiewicz":
                return self._gradient_domination(letter)
            case "exponent" | "hoelder":
                return self._hoelder(letter)
            case "ratio":
                return self._ratio(letter)
        bound = simple_bound(letter, self.problem, self.analysis, self.effort)
        return self._constant(letter, bound, "lower" if letter.name == "alpha" else "upper")

    def _constant(self, letter: Letter, bound: Bound, side: Side = "upper") -> Constant:
        domain = domain_of(self.problem)
        value = bound.upper if side == "upper" else bound.lower
        return Constant(
            letter.name,
            value,
            bound.lower,
            bound.upper,
            side,
            bound.certified,
            bound.route,
            letter.norm,
            domain.text,
            bound.why,
            bound.exact,
            domain.whole_space,
            bound.attained,
            bound.witness,
            letter.meaning,
        )

    def _norm(self, letter: Letter) -> Constant:
        bounds = [self.analysis(function).norm(form) for function, form in letter.parts]
        return self._constant(letter, _largest(letter, bounds))

    def _mu(self, letter: Letter) -> Constant:
        ((function, form),) = letter.parts
        if (form[0] == "y" or function == "g") and not self.problem.y:
            raise InputError(f"{letter.name} is a curvature of {function} in {form[0]}: there is one level only")
        return self._constant(letter, self.analysis(function, form[0]).convexity(), "lower")

    def _gradient_domination(self, letter: Letter) -> Constant:
        ((function, form),) = letter.parts
        expression = self.problem.f if function == "f" else self.problem.lower
        if expression is None or (form != "x" and not self.problem.y):
            raise InputError(f"{letter.name} is about {function} in {form}: there is one level only")
        places = {"x": range(self.problem.dx), "y": range(self.problem.dx, len(self.problem.variables))}
        block = tuple(places.get(form, range(len(self.problem.variables))))
        along = Along(expression, self.problem.variables, domain_of(self.problem), block, function, self.effort)
        return self._constant(letter, gradient_domination(along), "lower")

    def _ratio(self, letter: Letter) -> Constant:
        top, bottom = (self._get(name) for name in letter.partner)
        closed = (
            top.exact / bottom.exact
            if top.exact is not None and bottom.exact is not None and bottom.value > 0
            else None
        )
        if bottom.value <= 0:
            upper = math.inf
        else:
            upper = enclose(closed)[1] if closed is not None else math.nextafter(top.value / bottom.value, math.inf)
        lower = max(top.lower, 0.0) / bottom.upper if bottom.upper > 0 else math.inf
        why = Reason("definition", f"{letter.name} = {top.name} / {bottom.name}", (top.why, bottom.why))
        bound = Bound(
            upper,
            min(lower, upper),
            top.certified and bottom.certified,
            top.route,
            why,
            closed,
            top.attained and bottom.attained,
        )
        return self._constant(letter, bound)

    def _hoelder(self, letter: Letter) -> Constant:
        exponent_name = letter.name if letter.measure == "exponent" else letter.partner[0]
        function, form = letter.parts[0]
        pair = hoelder_pair(self.analysis(function), form, self.exponents.get(exponent_name))
        bound = pair.exponent_bound() if letter.measure == "exponent" else pair.constant_bound()
        return self._constant(letter, bound)

    def __repr__(self) -> str:
        return "\n".join(f"{c.name:6s} = {c.value:.9g}  {c.route}" for c in self.values())

    def _repr_html_(self) -> str:
        return html_table(self.values())


def _largest(letter: Letter, bounds: list[Bound]) -> Bound:
    if len(bounds) == 1:
        return bounds[0]
    best = max(bounds, key=lambda b: b.upper)
    names = [f"{function}: {form}" for function, form in letter.parts]
    parts = tuple(Reason("part", f"{name} <= {b.upper:.9g}", (b.why,)) for name, b in zip(names, bounds))
    statement = f"{letter.name} = oo" if math.isinf(best.lower) else f"{letter.name} <= {best.upper:.9g}"
    why = Reason("largest of the parts", statement, parts)
    return Bound(
        best.upper,
        max(b.lower for b in bounds),
        all(b.certified for b in bounds),
        best.route,
        why,
        best.exact,
        best.attained,
        best.witness,
    )
