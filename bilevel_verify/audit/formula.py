"""A reviewer with one formula: ``check('k**3/12 <= sum(...) <= k**3/6', for_='k = integers 2..')``."""

from __future__ import annotations

import re

from bilevel_verify.audit.definedness import undefined
from bilevel_verify.audit.finding import Finding, Place, exact_text, row_of
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.prove import decide
from bilevel_verify.audit.script import scalar_script, undefined_script
from bilevel_verify.errors import InputError
from bilevel_verify.language import check_names, parse, to_latex, to_text, tree
from bilevel_verify.theorems import fields
from bilevel_verify.theorems.card import Domain
from bilevel_verify.theorems.fields import Names, domain_of
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS, RANGE_FUNCTIONS, SCALAR_FUNCTIONS

DECLARATION = re.compile(r"\s*([A-Za-z]\w*)\s*(?:=|in)\s*(.+)\s*\Z", re.DOTALL)


def check(
    text: str, for_: str | dict[str, str] = "", where: str | list[str] = "", *, seed: int = 0, seconds: float = 20.0
) -> list[Finding]:
    """Prove or refute a chain of relations between scalar expressions.

    Parameters
    ----------
    text : ``"a <= b < c"``; each link is judged by itself; where a side is not defined on the whole range, a second
        finding of kind ``definedness`` says so.
    for_ : ranges of the letters, ``"k = integers 1.., nu = [0, 1]"`` separated by ``;`` or as a mapping; a letter
        without a range is positive.
    where : hypotheses, separated by ``;`` or as a list.
    seed, seconds : of the search; time after which no further engine is started, for each link.

    Raises
    ------
    InputError : the text is not a relation, or a range cannot be read; names the place and the fix.
    """
    node = parse(text)
    if not isinstance(node, tree.Compare):
        raise InputError("check: the formula must be a relation such as 'a <= b'")
    conditions = [parse(c) for c in (where.split(";") if isinstance(where, str) else where) if c.strip()]
    names = set().union(*(free_letters(n) for n in (node, *conditions))) - NUMBERS
    domains = read_ranges(for_, names)
    functions = SCALAR_FUNCTIONS | RANGE_FUNCTIONS
    bound = {i.items[0].name for i in node.walk() if isinstance(i, tree.Tuple) and isinstance(i.items[0], tree.Letter)}
    check_names(node, names | NUMBERS | bound, functions, text)
    found = []
    for number, (left, op, right) in enumerate(zip(node.operands, node.operators, node.operands[1:])):
        claim = ScalarClaim(left, op, right, domains, tuple(conditions))
        decision = decide(claim, seed=seed, seconds=seconds)
        found.append(_finding(claim, decision, number))
        found += _poles(claim, number, seed)
    return found


def _poles(claim: ScalarClaim, number: int, seed: int) -> list[Finding]:
    """A finding of its own where a side has no value somewhere in the ranges."""
    decision, needed = undefined(claim, seed)
    if decision.outcome != "refuted" or needed is None:
        return []
    place = Place("formula", f"link-{number + 1}: defined")
    row = row_of(place, "definedness", decision, to_text(claim.left), claim.op, to_text(claim.right))
    script = undefined_script(claim, needed, decision.point)
    return [Finding(row, counterexample=exact_text(decision.point), script=script)]


def read_ranges(text: str | dict[str, str], names: set[str]) -> dict[str, Domain]:
    """Ranges of letters from ``"k = integers 1..; nu = [0, 1]"``; letters that are not named are positive."""
    parts = text if isinstance(text, dict) else dict(_declaration(p) for p in _split(text))
    vocabulary = Names(frozenset(names) | parts.keys() | NUMBERS, SCALAR_FUNCTIONS, scope="parameters")
    place = fields.Place("--for")
    domains = {name: domain_of(value, place.at(name), vocabulary) for name, value in parts.items()}
    from bilevel_verify.audit.reading import POSITIVE

    return domains | dict.fromkeys(sorted(names - domains.keys()), POSITIVE)


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


def _finding(claim: ScalarClaim, decision: Decision, number: int) -> Finding:
    left, right = to_text(claim.left), to_text(claim.right)
    place = Place("formula", f"link-{number + 1}")
    row = row_of(place, "inequality", decision, left, claim.op, right)
    refuted = decision.outcome == "refuted"
    return Finding(
        row,
        printed=to_latex(tree.Compare((claim.left, claim.right), (claim.op,))),
        counterexample=exact_text(decision.point) if refuted else None,
        script=scalar_script(claim, decision.point) if refuted else None,
    )
