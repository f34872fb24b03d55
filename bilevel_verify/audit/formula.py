"""A reviewer with one formula: ``check('k**3/12 <= sum(...) <= k**3/6', for_='k = integers 2..')``."""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from bilevel_verify.audit.entries.definedness import script_of, undefined, where_defined
from bilevel_verify.audit.entries.script import scalar_script
from bilevel_verify.audit.findings.finding import Finding, Place, exact_text, row_of
from bilevel_verify.audit.instances.checked import about_matrices, matrix_findings
from bilevel_verify.audit.limits import MEMORY, memory_limit, seconds_limit
from bilevel_verify.audit.scalar.claim import KINDS, POSITIVE, Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.errors import CardError, InputError, LatexError
from bilevel_verify.language import parse, to_latex, to_text, tree
from bilevel_verify.latex import is_latex, parse_any
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.reading import fields, written
from bilevel_verify.theorems.reading.fields import Names
from bilevel_verify.theorems.reading.written import domain_of
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS, RANGE_FUNCTIONS, SCALAR_FUNCTIONS

ALIKE = 0.76
"""Likeness of two names above which one is taken for a misspelling of the other (``nu_f`` and ``nu_g`` are not)."""
VECTOR_OPERATIONS = frozenset({"norm", "dot"})
NO_LETTERS = frozenset({"nan", "inf", "infinity", "true", "false", "none"})
"""Names that mean a value elsewhere: as letters they would be any positive number."""
DECLARATION = re.compile(r"\s*([A-Za-z]\w*)\s*(?:=|in)\s*(.+)\s*\Z", re.DOTALL)


def check(
    text: str,
    for_: str | dict[str, str] = "",
    where: str | list[str] = "",
    *,
    seed: int = 0,
    seconds: float = 20.0,
    memory: float = MEMORY,
) -> list[Finding]:
    """Prove or refute a chain of relations between scalar expressions.

    Parameters
    ----------
    text : ``"a <= b < c"``, or the same in LaTeX; each link is judged by itself; where a side is not defined on the
        whole range, a second finding of kind ``definedness`` says so, and the link does not hold (``undecided: ...
        holds where defined``).
    for_ : ranges of the letters, ``"k = integers 1.., nu = [0, 1]"`` separated by ``;`` or as a mapping;
        ``"a, b = vectors"`` are vectors of any dimension, inside ``norm(...)`` and ``dot(., .)``; a letter without a
        range is taken positive and the rows say so, unless a condition gives its range (``x > -1``) or it looks like
        one that has a range: misspelt letters would be new ones. With ``"A = matrices"`` (symmetric, positive definite,
        vectors, positive numbers) the relation is attacked with exact rational matrices: refuted, or undecided.
    where : hypotheses, separated by ``;``, or a list of such texts.
    seed : of the search.
    seconds, memory : of processor time (all engines together) and bytes for each link; where they are not enough, it is
        ``undecided: budget`` and says what ran out.

    Raises
    ------
    InputError : the text is not a relation, a letter is misspelt, or a range cannot be read; names the place and the
        fix.
    """
    return checked(text, for_, where, seed=seed, seconds=seconds, memory=memory, ends=itertools.repeat(math.inf))


def checked(
    text: str,
    for_: str | dict[str, str],
    where: str | list[str],
    *,
    seed: int,
    seconds: float,
    memory: float,
    ends: Iterator[float],
) -> list[Finding]:
    """The same; ``ends`` says before each link until when by the monotonic clock it may take."""
    ranges = _ranges(for_)
    if about_matrices(ranges):
        return _of_matrices(text, ranges, where, seed)
    read = _read(text, for_, where)
    found = []
    for number, (claim, until) in enumerate(zip(read.claims, ends)):
        with memory_limit(memory), seconds_limit(seconds, until):
            findings = list(_judged(claim, read.vectors, number, seed, seconds))
        found += [replace(f, row=_noted(f.row, read.assumed, read.command, read.echo)) for f in findings]
    return found


def _of_matrices(text: str, ranges: Mapping[str, str], where: str | list[str], seed: int) -> list[Finding]:
    """A chain of relations between norms of matrices, attacked."""
    texts = _conditions(where)
    echo = understood(text, list(ranges))
    node, conditions = (echo.node, [*echo.conditions]) if echo else (parse(text), [])
    if not isinstance(node, tree.Compare):
        raise InputError("check: the formula must be a relation such as 'a <= b'")
    found = matrix_findings(node, [*conditions, *(parse_any(c, list(ranges)) for c in texts)], ranges, seed)
    command = _command(text, dict(ranges), texts)
    return [replace(f, row=_noted(f.row, [], command, echo)) for f in found]


def claims_of(text: str, for_: str | dict[str, str] = "", where: str | list[str] = "") -> list[ScalarClaim]:
    """The links of a chain as scalar claims, read as :func:`check` reads them.

    Raises
    ------
    InputError, CardError, LatexError : as in :func:`check`.
    """
    return _read(text, for_, where).claims


@dataclass(frozen=True, slots=True)
class _Chain:
    """A chain as it was read; ``assumed`` are letters without a range, ``command`` repeats the check."""

    claims: list[ScalarClaim]
    vectors: tuple[str, ...]
    assumed: list[str]
    command: str
    echo: Understood | None


def _read(text: str, for_: str | dict[str, str], where: str | list[str]) -> _Chain:
    texts = _conditions(where)
    names = range_names(for_)
    echo = understood(text, names)
    node, conditions = (echo.node, [*echo.conditions]) if echo else (parse(text), [])
    texts = [*(to_text(c) for c in conditions), *texts]
    conditions += [parse_any(c, names) for c in texts[len(conditions) :]]
    if not isinstance(node, tree.Compare):
        raise InputError("check: the formula must be a relation such as 'a <= b'")
    for condition, source in zip(conditions, texts):
        if not isinstance(condition, tree.Compare | tree.Logical | tree.Not | tree.Truth):
            raise InputError(f"check: the condition {source.strip()[:60]!r} must be a relation such as 'a > 0'")
    used = set().union(*(free_letters(n) for n in (node, *conditions))) - NUMBERS
    ranges = _ranges(for_)
    vectors = tuple(name for name, value in ranges.items() if value == "vectors")
    domains = read_ranges({n: value for n, value in ranges.items() if n not in vectors}, used - set(vectors))
    for formula, source in zip((node, *conditions), (text, *texts)):
        _known_names(formula, ranges, to_text(formula) if is_latex(source) else source, vectors)
    real = _said_to_be_real(conditions) - ranges.keys() - NUMBERS
    domains |= read_ranges(dict.fromkeys(real, "(-oo, oo)"), set())
    claims = [ScalarClaim(left, op, right, domains, tuple(conditions)) for left, op, right in node.links()]
    assumed = sorted(domains.keys() - ranges.keys() - real)
    return _Chain(claims, vectors, assumed, _command(text, ranges, texts), echo)


def _said_to_be_real(conditions: Iterable[tree.Node]) -> set[str]:
    """Letters whose range a condition gives: a number below them, or one that no positive letter stays below."""
    chains = [one for one in conditions if isinstance(one, tree.Compare)]
    found = set()
    for small, large in [(b, a) if op in (">", ">=") else (a, b) for one in chains for a, op, b in one.links()]:
        if isinstance(large, tree.Letter) and not free_letters(small):
            found.add(large.name)
        if isinstance(small, tree.Letter) and not free_letters(large) and _is_not_positive(large):
            found.add(small.name)
    return found


def _is_not_positive(number: tree.Node) -> bool:
    from bilevel_verify.audit.scalar.numeric import evaluate  # brings SymPy

    return bool((evaluate(number, {}) <= 0).all())


def _judged(claim: ScalarClaim, vectors: tuple[str, ...], number: int, seed: int, seconds: float) -> Iterator[Finding]:
    """The link where both sides are defined, and a finding of its own where one of them is not."""
    definedness, needed = undefined(claim, seed, vectors, seconds=seconds / 2)
    if vectors:
        from bilevel_verify.audit.entries.gram import decide_vectors  # brings SymPy

        decision = decide_vectors(claim, vectors, seed=seed)
    else:
        decision = decide(claim, seed=seed, seconds=seconds)
    yield _finding(claim, vectors, where_defined(decision, definedness), number, seed)
    yield from _poles(claim, number, definedness, needed)


@dataclass(frozen=True, slots=True)
class Understood:
    """What was understood of a formula in LaTeX: the text of the language, typeset echo, tree, conditions after it."""

    text: str
    latex: str
    node: tree.Node
    conditions: tuple[tree.Node, ...] = ()


def understood(text: str, names: Iterable[str] = ()) -> Understood | None:
    """What the reader makes of a formula typed in LaTeX, with the names that its letters may have; None for other text.

    Raises
    ------
    LatexError : it cannot be read, has two readings, or is more than one formula.
    """
    if not is_latex(text):
        return None
    from bilevel_verify.latex import Notation, read_latex

    reading = read_latex(text, Notation().with_names(names))
    statement = reading.statements[0]
    node = statement.tree
    conditions = [c.tree for c in statement.conditions]
    if len(reading.statements) > 1 or node is None or not all(isinstance(c, tree.Compare) for c in conditions):
        raise LatexError("one chain of relations is judged, with conditions such as 'for all k >= 1'", "syntax")
    return Understood(to_text(node), reading.latex(), node, tuple(c for c in conditions if c is not None))


def _known_names(node: tree.Node, ranges: Mapping[str, str], text: str, vectors: tuple[str, ...] = ()) -> None:
    """Refuse letters that are nearly those with a range, unknown functions, wrong arguments, what is no number."""
    _vectors_inside(node, frozenset(vectors), text)
    for part in node.walk():
        if isinstance(part, tree.MatrixMultiply | tree.Index):
            what = "'@'" if isinstance(part, tree.MatrixMultiply) else f"{part.base}[...]"
            fix = "relations between numbers are judged here: write '*', and a letter for an entry"
            raise InputError(f"check: {what} has no value in {text!r} (column {part.column}); {fix}")
        if isinstance(part, tree.Truth) and part is not node:
            raise InputError(f"check: {part.value} in {text!r} is no number here: leave it out, or write 1 or 0")
    letters = free_letters(node) - NUMBERS
    for name in sorted(letters):
        if name.lower() in NO_LETTERS:
            raise InputError(f"check: {name!r} in {text!r} is no number here: infinity is oo; name a letter otherwise")
    for name in sorted(letters - ranges.keys()):
        close = get_close_matches(name, ranges, n=1, cutoff=ALIKE)
        if close:
            fix = f"did you mean {close[0]!r}? Otherwise give it a range: --for '{name} = (0, oo)'"
            raise InputError(f"unknown letter {name!r} in {text!r}; {fix}")
    try:
        functions = SCALAR_FUNCTIONS | RANGE_FUNCTIONS | (VECTOR_OPERATIONS if vectors else frozenset())
        written.check(node, Names(frozenset(letters), functions), fields.Place("check", alone=True), text)
    except CardError as error:
        raise InputError(str(error)) from None


def _vectors_inside(node: tree.Node, vectors: frozenset[str], text: str) -> None:
    """Refuse a vector where a number has to stand."""
    if isinstance(node, tree.Call) and node.function in VECTOR_OPERATIONS:
        return
    if isinstance(node, tree.Letter) and node.name in vectors:
        fix = f"it stands inside norm({node.name}) or dot({node.name}, ...)"
        raise InputError(f"check: {node.name!r} is a vector and has no value as a number in {text!r}; {fix}")
    for child in node.children():
        _vectors_inside(child, vectors, text)


def _noted(row: Row, assumed: list[str], command: str, echo: Understood | None) -> Row:
    """A row with the letters that were taken positive, what was understood of LaTeX, and how to get it again."""
    note = f"; taken positive: {', '.join(assumed)}" if assumed else ""
    details = {**row.details, "taken_positive": assumed}
    if echo is not None:
        details["understood"] = {"text": echo.text, "latex": echo.latex}
    return replace(row, reason=f"{row.reason or ''}{note}", reproduce=command, details=details)


def _command(text: str, ranges: dict[str, str], where: list[str]) -> str:
    options = [("--for", f"{name} = {domain}") for name, domain in ranges.items()] + [("--where", c) for c in where]
    return shlex.join(["bilevel-verify", "check", text, *(part for option in options for part in option)])


def _poles(claim: ScalarClaim, number: int, decision: Decision, needed: ScalarClaim | None) -> list[Finding]:
    """A finding of its own where a side has no value somewhere in the ranges."""
    if decision.outcome != "refuted" or needed is None:
        return []
    place = Place("formula", f"link-{number + 1}: defined")
    row = row_of(place, "definedness", decision, to_text(claim.left), claim.op, to_text(claim.right))
    script = script_of(claim, needed, decision.point)
    return [Finding(row, counterexample=exact_text(decision.point), script=script)]


def read_ranges(text: str | dict[str, str], names: set[str]) -> dict[str, Domain]:
    """Ranges of letters from ``"k = integers 1..; nu = [0, 1]"``; letters that are not named are positive.

    Raises
    ------
    InputError : a range that cannot be read, two ranges of one letter, a range for a number such as pi, ends that
        depend on each other in a circle.
    """
    parts = _ranges(text)
    vocabulary = Names(frozenset(names) | parts.keys() | NUMBERS, SCALAR_FUNCTIONS, scope="parameters")
    place = fields.Place("--for", alone=True)
    domains = {name: domain_of(value, place.at(name), vocabulary) for name, value in parts.items()}
    for name, domain in domains.items():
        if name in NUMBERS:
            raise InputError(f"--for: {name!r} is a number here; give the letter another name")
        if domain.kind not in KINDS:
            raise InputError(
                f"--for: {name}: {domain.text!r} is not a range of numbers; write '(0, oo)', 'integers 1..', 'vectors'"
            )
        _no_circle(name, domains, (name,))
    return domains | dict.fromkeys(sorted(names - domains.keys()), POSITIVE)


def _no_circle(name: str, domains: Mapping[str, Domain], path: tuple[str, ...]) -> None:
    """Refuse ranges whose ends need each other."""
    domain = domains.get(name)
    for end in (domain.lower, domain.upper) if domain is not None else ():
        for inner in sorted(free_letters(end.tree) - NUMBERS) if end is not None else ():
            if inner == path[0]:
                circle = " -> ".join((*path, inner))
                raise InputError(f"--for: ranges depend on each other in a circle: {circle}; use --where for one")
            if inner not in path:
                _no_circle(inner, domains, (*path, inner))


def _conditions(where: str | list[str]) -> list[str]:
    return [c for one in ([where] if isinstance(where, str) else where) for c in one.split(";") if c.strip()]


def range_names(text: str | dict[str, str]) -> list[str]:
    """The letters that have a range."""
    return list(_ranges(text))


def _ranges(text: str | dict[str, str]) -> dict[str, str]:
    """Letter -> range, as text."""
    if not isinstance(text, str):
        return dict(text)
    parts: dict[str, str] = {}
    together: list[str] = []
    for part in _split(text):
        if part.strip().isidentifier():  # "a, b = vectors": letters that share the next range
            together.append(part.strip())
            continue
        last, value = _declaration(part)
        for name in (*together, last):
            if name in parts:
                raise InputError(f"--for: {name!r} has two ranges, {parts[name]!r} and {value!r}; keep one of them")
            parts[name] = value
        together.clear()
    if together:
        _declaration(together[0])
    return parts


def _split(text: str) -> list[str]:
    """Declarations separated by semicolons, or by commas outside brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "[(") - (letter in ")]")
        if letter == ";" or (letter == "," and depth == 0):
            parts.append(text[start:place])
            start = place + 1
    return [p for p in (*parts, text[start:]) if p.strip()]


def _declaration(text: str) -> tuple[str, str]:
    found = DECLARATION.match(text)
    if not found:
        raise InputError(f"--for: {text.strip()[:60]!r} is not of the form 'k = integers 1..' or 'nu = [0, 1]'")
    return found[1], found[2].strip()


def _finding(claim: ScalarClaim, vectors: tuple[str, ...], decision: Decision, number: int, seed: int) -> Finding:
    left, right = to_text(claim.left), to_text(claim.right)
    place = Place("formula", f"link-{number + 1}")
    refuted = decision.outcome == "refuted"
    numbers: ScalarClaim | None = claim
    if refuted and vectors:
        from bilevel_verify.audit.entries.gram import witness

        numbers, decision = witness(claim, vectors, decision, seed)
    return Finding(
        row_of(place, "step-algebra" if vectors else "inequality", decision, left, claim.op, right),
        printed=to_latex(tree.Compare((claim.left, claim.right), (claim.op,))),
        counterexample=exact_text(decision.point) if refuted else None,
        script=scalar_script(numbers, decision.point) if refuted and numbers is not None else None,
        claim=claim,
        vectors=vectors,
    )
