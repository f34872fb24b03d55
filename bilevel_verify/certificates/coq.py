"""Certificates as Coq files: the same statement, the same lines, each checked by the kernel; no search inside Coq.

Written are certificates over rational functions: hypotheses, identities and numbers (docs/certificates.md, section 6).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from bilevel_check.check import without_determined
from bilevel_check.context import Context
from bilevel_check.ring import Poly, number
from bilevel_check.rules import element_of
from bilevel_check.terms import Refused, work
from bilevel_verify.certificates.draft import Draft, written

PRELUDE = """Require Import Reals Lra Lia.
Open Scope R_scope.

Lemma shown_le a b m s : 0 < m -> m * (b - a) = s -> 0 <= s -> a <= b.
Proof. intros hm e hs. destruct (Rle_or_lt a b) as [h | h]; [exact h | exfalso].
  assert (0 < m * (a - b)) by (apply Rmult_lt_0_compat; lra). nra. Qed.
Lemma shown_lt a b m s : 0 < m -> m * (b - a) = s -> 0 < s -> a < b.
Proof. intros hm e hs. destruct (Rlt_or_le a b) as [h | h]; [exact h | exfalso].
  assert (0 <= m * (a - b)) by (apply Rmult_le_pos; lra). nra. Qed.
Lemma shown_eq a b m : m <> 0 -> m * (b - a) = 0 -> a = b.
Proof. intros hm e. apply Rmult_integral in e. destruct e; lra. Qed.

Ltac pos := match goal with
  | h : ?p |- ?p => exact h
  | h : 0 < ?a |- 0 <= ?a => exact (Rlt_le _ _ h)
  | |- 0 <= ?a * ?a => apply Rle_0_sqr
  | |- 0 <= ?a ^ 2 => apply pow2_ge_0
  | |- 0 < ?a + ?b => first [ apply Rplus_lt_le_0_compat; pos | apply Rplus_le_lt_0_compat; pos ]
  | |- 0 <= ?a + ?b => apply Rplus_le_le_0_compat; pos
  | |- 0 < ?a * ?b => apply Rmult_lt_0_compat; pos
  | |- 0 <= ?a * ?b => apply Rmult_le_pos; pos
  | |- 0 < ?a / ?b => apply Rdiv_lt_0_compat; pos
  | |- 0 <= ?a / ?b => apply Rmult_le_pos; [pos | apply Rlt_le, Rinv_0_lt_compat; pos]
  | |- 0 < / ?a => apply Rinv_0_lt_compat; pos
  | |- 0 <= / ?a => apply Rlt_le, Rinv_0_lt_compat; pos
  | |- 0 < ?a ^ ?n => apply pow_lt; pos
  | |- 0 <= ?a ^ ?n => apply pow_le; pos
  | _ => lra
end.
Ltac nonzero := first [ lra | apply Rgt_not_eq; red; pos | apply Rlt_not_eq; lra ].
Ltac same := field; repeat split; nonzero.
"""
"""What every file begins with: three lemmas and the tactics for signs."""
PLAIN = {"hypothesis", "identity", "known", "number"}
RELATION = {">=": "<=", ">": "<", "==": "="}


class NotWritten(Exception):
    """A certificate that has no Coq file: a function or a rule beyond rational functions."""


def lemma(text: str, name: str) -> str:
    """One certificate as a lemma.

    Parameters
    ----------
    text : JSON of an accepted certificate.
    name : of the lemma, letters, digits and underscores.

    Raises
    ------
    NotWritten : names what has no word.
    """
    data = json.loads(text)
    statement, comment = data["statement"], json.dumps(data.get("about", {}).get("left", ""))
    if set(statement["letters"].values()) - {"real", "integer"} or any(c[0] == "or" for c in statement["hypotheses"]):
        raise NotWritten("vectors or alternatives")
    reals = " ".join(statement["letters"])
    binder = [f"({reals} : Rdefinitions.R)"] if reals else []
    if "counterexample" in data:
        return _refuted(data, name)
    if "let" in data or any(line[0] not in PLAIN for line in data["proof"]):
        raise NotWritten("a rule without a word")
    hypotheses = [f"    (h{i} : {_relation(c)})" for i, c in enumerate(statement["hypotheses"])]
    head = [f"(* {comment.replace('*)', '* )')} *)", f"Lemma {name} {' '.join(binder)}", *hypotheses]
    body = "\n".join(["Proof.", *_lines(statement, data["proof"]), "Qed."])
    return "\n".join(head) + f" :\n  {_relation(statement['claim'])}.\n{body}\n"


def _lines(statement: dict[str, Any], proof: list[Any]) -> Iterator[str]:
    """The proof, run again to know the element of every fact."""
    sorts, conditions, claim = without_determined(statement["letters"], statement["hypotheses"], statement["claim"], [])
    draft = Draft(Context(sorts), conditions)
    work.start()
    for line in proof:
        if not draft.add(*line):
            raise NotWritten("a line that does not follow")
        element, op = draft.at.facts[-1]
        place, shown = len(draft.at.facts) - 1, term(written(element))
        left, right = _sides(conditions[line[1]] if line[0] == "hypothesis" else line[1])
        yield f"  assert (g{place} : {left} {RELATION[op]} {right})."
        yield f"  {{ {_reason(draft, line, op)} }}"
        zero = "0 = " if op == "==" else f"0 {RELATION[op]} "
        yield f"  assert (f{place} : {zero}{shown})."
        yield f"  {{ replace ({shown}) with (({right}) - ({left})) by same. lra. }}"
    try:
        element, op = element_of(draft.at, claim)
    except Refused:
        raise NotWritten("a claim without an element") from None
    yield f"  {_last(claim, _shown(draft.at, element, op), op)}"


def _shown(at: Context, element: Poly, op: str) -> str:
    """The element of the claim as its tactics see its sign: a positive factor times a fact, or as it is."""
    content, rest = at.split(element)
    for fact, relation in reversed(at.facts):
        factor, same = at.split(fact)
        if same == rest and relation in (op, ">"):
            ratio = content * at.power(factor, number(-1))
            return f"({term(written(ratio))}) * ({term(written(fact))})"
    return term(written(element))


def _last(claim: Any, shown: str, op: str) -> str:
    left, right = _sides(claim)
    if op == "==":
        return f"apply (shown_eq ({left}) ({right}) 1); [lra | first [lra | nra | same]]."
    word, zero = ("shown_lt", "<") if op == ">" else ("shown_le", "<=")
    relation = "apply Rle_ge. " if claim[0] == ">=" else "apply Rlt_gt. " if claim[0] == ">" else ""
    proof = f"apply ({word} ({left}) ({right}) 1 ({shown})); [lra | same | pos]."
    return f"first [ lra | {relation.replace('. ', '; ')}{proof[:-1]} ]." if zero else proof


def _reason(draft: Draft, line: list[Any], op: str) -> str:
    """Why a line holds, as tactics."""
    if line[0] == "hypothesis":
        return "lra."
    if line[0] in ("known", "number"):
        return "first [lra | apply Rminus_le_0; pos]."
    left, right = _sides(line[1])
    multiplier = term(line[3]) if len(line) > 3 else "1"
    if op == "==" or any(draft.at.facts[place][1] == "==" for _, places, _ in line[2] for place in places):
        raise NotWritten("equalities among the facts")
    parts = []
    for cofactor, places, squares in line[2]:
        factors = [term(written(draft.at.facts[place][0])) for place in places]
        powers = [f"({term(square)}) ^ 2" for square in squares]
        parts.append(" * ".join([f"({term(cofactor)})", *(f"({f})" for f in factors), *powers]))
    total = " + ".join(parts) or "0"
    word = "shown_lt" if op == ">" else "shown_le"
    return f"apply ({word} ({left}) ({right}) ({multiplier}) ({total})); [pos | same | pos]."


def _sides(goal: Any) -> tuple[str, str]:
    left, right = term(goal[1]), term(goal[2])
    return (right, left) if goal[0] in (">", ">=") else (left, right)


def _relation(condition: Any) -> str:
    if condition[0] == "and":
        raise NotWritten("a conjunction")
    return f"{term(condition[1])} {'=' if condition[0] == '==' else condition[0]} {term(condition[2])}"


def term(node: Any) -> str:
    """A tree over rational functions as a Coq term.

    Raises
    ------
    NotWritten : another function.
    """
    if isinstance(node, int | Fraction):
        value = Fraction(node)
        shown = str(value.numerator) if value.denominator == 1 else f"{value.numerator} / {value.denominator}"
        return f"({shown})" if value < 0 or value.denominator > 1 else shown
    if isinstance(node, str):
        if node[0].isalpha() and node not in ("pi", "E"):
            return node
        if node[0].isalpha():
            raise NotWritten(node)
        return term(Fraction(node))
    head, *parts = node
    if head == "^":
        exponent = Fraction(parts[1]) if isinstance(parts[1], int) or _is_number(parts[1]) else None
        if exponent is None or exponent.denominator != 1 or abs(exponent) > 30:
            raise NotWritten("a power that is not whole")
        inner = f"({term(parts[0])} ^ {abs(int(exponent))})"
        return inner if exponent >= 0 else f"(/ {inner})"
    if head in ("+", "*", "/"):
        return "(" + f" {head} ".join(term(part) for part in parts) + ")"
    if head == "neg":
        return f"(- {term(parts[0])})"
    raise NotWritten(head)


def _is_number(node: Any) -> bool:
    return isinstance(node, str) and not node[0].isalpha()


def _refuted(data: dict[str, Any], name: str) -> str:
    """A counterexample as a statement that such numbers exist."""
    statement, point = data["statement"], data["counterexample"]
    names = list(statement["letters"])
    parts = [_relation(c) for c in statement["hypotheses"]] + [f"~ ({_relation(statement['claim'])})"]
    exists = "".join(f"exists {n} : Rdefinitions.R, " for n in names)
    witnesses = "".join(f" exists {term(point[n])}." for n in names)
    stated = r" /\ ".join(parts)
    return f"Lemma {name} : {exists}{stated}.\nProof.{witnesses} repeat split; lra. Qed.\n"
