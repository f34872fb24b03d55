"""A proof in Coq in the making: elements of the checker's ring as Coq terms, their signs, and what each tree equals.

Powers with exponents that are not whole are powers of *generators*: ``x**(3/2)`` is ``(rpow x (/ 2)) ^ 3``, with the
relation ``(rpow x (/ 2)) ^ 2 = x``; then every equality is one of rational functions, which Coq's ``field`` decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from math import lcm
from typing import Self

from bilevel_check.context import STRENGTH, Context
from bilevel_check.ring import ONE, Atom, Exponent, Monomial, Poly, is_zero, number, power_of_one
from bilevel_verify.certificates.coq.words import NotWritten, Words, folded, number_text
from bilevel_verify.certificates.draft import sorted_terms

Generators = dict[tuple[Atom, Monomial], int]
"""Atom and monomial of its exponents -> common denominator of the coefficients that occur."""
EXTREME = re.compile(r"\bR(max|min|abs)\b")
"""What equals another element where more is known: ``max(x, 0)`` is x in the case x >= 0."""
ZERO = {">=": "0 <= {}", ">": "0 < {}", "==": "{} = 0", "!=": "{} <> 0"}


class Script:
    """Lines of Coq with what they have established.

    Parameters
    ----------
    at : the checker's context at this place; it grows with the lines of the certificate.
    generators : common denominators of exponents; ``changed`` says that a new one was met, and the text must be made
        again.
    """

    def __init__(self, at: Context, generators: Generators) -> None:
        self.at, self.generators, self.changed = at, generators, False
        self.words = Words(at.sorts)
        self.lines: list[str] = []
        self.facts: list[str] = []
        self.said: dict[str, str] = {}
        self.equal: dict[str, str | None] = {}
        self.relations: dict[str, str] = {}
        self.targets: list[tuple[str, str]] = []
        self.busy: set[Atom] = set()
        self.fresh = count()

    def inner(self, at: Context) -> Self:
        """A part of the proof: what is known here is known there."""
        found = type(self)(at, self.generators)
        found.words = Words(at.sorts, self.words.other)
        found.facts, found.said, found.fresh = list(self.facts), dict(self.said), self.fresh
        found.relations, found.targets = dict(self.relations), self.targets
        found.equal = {shown: name for shown, name in self.equal.items() if not EXTREME.search(shown)}
        return found

    def assertion(self, text: str, proof: str) -> str:
        """Say and prove; the name under which it is known."""
        name = f"t{next(self.fresh)}'"
        self.lines.append(f"assert ({name} : {text}). {{ {proof} }}")
        return name

    # ---- elements as terms ------------------------------------------------------------------------------------------

    def text(self, p: Poly) -> str:
        """An element as a term."""
        parts = []
        for m, c in sorted_terms(p):
            factors = [self.raised(a, e) for a, e in sorted(m, key=lambda pair: repr(pair[0]))]
            shown = [number_text(c)] if c != 1 or not factors else []
            parts.append(" * ".join([*shown, *(one for pieces in factors for one in pieces)]))
        alone = len(p.terms) == 1 and len(shown) + sum(map(len, factors)) == 1
        if alone and (parts[0].isidentifier() or parts[0].isdigit() or (parts[0][0], parts[0][-1]) == ("(", ")")):
            return parts[0]
        return f"({' + '.join(parts)})" if parts else "0"

    def raised(self, a: Atom, e: Exponent) -> list[str]:
        """``a ** e`` as whole powers of generators."""
        found = []
        for text, n in self.pieces(a, e):
            found.append(
                text if n == 1 else f"{text} ^ {n}" if n > 0 else f"/ {text}" if n == -1 else f"/ {text} ^ {-n}"
            )
        return found

    def pieces(self, a: Atom, e: Exponent) -> list[tuple[str, int]]:
        """Generators with their whole exponents."""
        found = []
        for key, c in e.terms.items() if isinstance(e, Poly) else [(ONE, e)]:
            before = self.generators.get((a, key), 1)
            together = lcm(before, c.denominator)
            self.changed |= together != before
            self.generators[a, key] = together
            if key == ONE and c.denominator == 1:
                found.append((self.atom(a), int(c)))
            else:
                found.append((self.generator(a, key), int(c * together)))
        return found

    def generator(self, a: Atom, key: Monomial) -> str:
        """The power of an atom of which the others are whole powers."""
        q = self.generators[a, key]
        exponent = f"(/ {q})" if key == ONE else self.text(Poly({key: Fraction(1, q)}))
        return f"(exp {exponent})" if a.kind == "E" else f"(rpow {self.atom(a)} {exponent})"

    def atom(self, a: Atom) -> str:
        """An atom as a term."""
        match a.kind:
            case "letter":
                return self.words.letter(a.args[0])
            case "prime":
                return str(a.args[0])
            case "pi" | "E":
                return "PI" if a.kind == "pi" else "(exp 1)"
            case "compound":
                return self.text(a.args[0])
            case "log" | "floor":
                return f"({'ln' if a.kind == 'log' else 'floor'} {self.text(a.args[0])})"
            case "max":
                return folded("Rmax", [self.text(part) for part in a.args])
            case "dot":
                return f"(dot {' '.join(map(self.words.letter, a.args))})"
            case "sum":
                body, index, low, high = a.args
                function = f"(fun {self.words.letter(index)} => {self.text(body)})"
                return f"(total {function} {self.text(low)} {self.text(high)})"
        raise NotWritten(a.kind)

    def same(self, *texts: str) -> str:
        """The tactic for an equality of rational functions in which these texts occur; ``ring`` costs less than ``field``."""
        used = {name for step in texts for name in re.findall(r"\?(t[0-9]+')", step)}
        texts = (*texts, *(text for text, name in self.targets if name in used))
        found = [name for text, name in self.relations.items() if any(text in one for one in texts)]
        with_relations = f" [{' '.join(found)}]" if found else ""
        field = f"field{with_relations}; sides"
        return field if any("/" in one for one in texts) else f"first [ring{with_relations} | {field}]"

    # ---- signs ------------------------------------------------------------------------------------------------------

    def know(self, p: Poly, op: str) -> str:
        """``p op 0`` as the checker knows it; the name of the assertion."""
        text = self.text(p)
        goal = ZERO[op].format(text)
        if goal not in self.said:
            self.said[goal] = self.assertion(goal, self._sign(p, op, text))
        return self.said[goal]

    def _sign(self, p: Poly, op: str, text: str) -> str:
        if self.at.absurd:
            return "exfalso; lra."
        if p.constant() is not None:
            return "lra."
        exact = self._exactly(p, op)
        if exact:
            return exact
        self.ensure(p)
        if op == "!=" and self.at.known(p, ">"):
            return f"apply Rgt_not_eq, {self.know(p, '>')}."
        if op == "!=" and self.at.known(-p, ">"):
            return f"pose proof {self.know(-p, '>')}; nonzero."
        if op != "==" and self.at._plain(p, op):
            for m in p.terms:
                for a, _ in m:
                    self.atom_sign(a)
            return "pos."
        found = self._from_fact(p, op, text)
        if found:
            return found
        if op == "==":
            if is_zero(p):
                return f"{self.same(text)}."
            high, low = self.know(p, ">="), self.know(-p, ">=")
            return f"apply (both_0 {text} {self.text(-p)}); [{self.same(text)} | exact {high} | exact {low}]."
        if op == ">=" and self.at.known(p, ">"):
            return f"apply Rlt_le, {self.know(p, '>')}."
        return self._bound(p) or "pos."

    def _bound(self, p: Poly) -> str:
        """What an atom brings along, itself or up to a positive factor; "" for others."""
        content, rest = self.at.split(p)
        for gap, op, proof in (one for m in p.terms for a, _ in m for one in self._gaps(a)):
            if gap == p:
                return proof
            factor, other = self.at.split(gap)
            if other == rest:
                name, ratio = (
                    self.assertion(ZERO[op].format(self.text(gap)), proof),
                    content * self.at.power(factor, number(-1)),
                )
                shown, text = f"{self.text(ratio)} * {self.text(gap)}", self.text(p)
                return f"pose proof {name}; replace {text} with ({shown}) by ({self.same(text, shown)}); pos."
        return ""

    def _gaps(self, a: Atom) -> Iterator[tuple[Poly, str, str]]:
        """The bounds of an atom with their proofs: the tangent of a logarithm, a maximum above its parts, a floor."""
        one = power_of_one(a)
        if a.kind == "log":
            positive = self.know(a.args[0], ">")
            yield a.args[0] - number(1) - one, ">=", f"pose proof (ln_below {self.text(a.args[0])} {positive}); lra."
        elif a.kind == "max":
            yield from ((one - part, ">=", "extreme.") for part in a.args)
        elif a.kind == "floor":
            text = self.text(a.args[0])
            yield a.args[0] - one, ">=", f"pose proof (floor_le {text}); lra."
            yield one + number(1) - a.args[0], ">", f"pose proof (floor_gt {text}); lra."

    def _exactly(self, p: Poly, op: str) -> str:
        """From a fact about this very element; "" where there is none."""
        for (fact, fop), name in zip(self.at.facts, self.facts):
            if fact == p and (fop == op or op in STRENGTH[fop]):
                strict = "apply Rgt_not_eq" if op == "!=" else "apply Rlt_le"
                return (
                    f"exact {name}." if fop == op else f"{strict}, {name}." if fop == ">" else f"rewrite {name}; lra."
                )
        return ""

    def _from_fact(self, p: Poly, op: str, text: str) -> str:
        """From a fact, itself or up to a positive factor; "" where there is none."""
        content, rest = self.at.split(p)
        for (fact, fop), name in zip(reversed(self.at.facts), reversed(self.facts)):
            sign = 1
            if op not in STRENGTH[fop] and op != fop:
                continue
            factor, other = self.at.split(fact)
            if fop == "==" and other != rest:
                factor, other = self.at.split(-fact)
                sign = -1
            if fact == rest:
                factor, other = number(1), rest
            if fact != p and other != rest:
                continue
            if fact == p and fop == op:
                return f"first [exact {name} | lra]."  # lra: the factors may stand in another order
            ratio = content * self.at.power(factor, number(-1)) * number(sign)
            self.ensure(ratio)
            shown = self.text(ratio)
            step = f"replace {text} with ({shown} * {self.text(fact)}) by ({self.same(text, shown, self.text(fact))}); "
            if fop == "==":
                return f"{step}rewrite {name}; {'ring' if op == '==' else 'lra'}."
            if op == "!=":
                return f"{step}apply Rmult_integral_contrapositive_currified; [nonzero | apply {name}]."
            return f"{step}pos."
        return ""

    def atom_sign(self, a: Atom) -> None:
        """Say the best sign of an atom that is known."""
        if a.kind in ("prime", "pi", "E") or a in self.busy:
            return
        self.busy.add(a)
        self._atom_sign(a, power_of_one(a))
        self.busy.discard(a)

    def _atom_sign(self, a: Atom, one: Poly) -> None:
        for op in (">", "!=", ">="):
            goal = ZERO[op].format(self.text(one))
            if not self.at.atom(a, op):
                continue
            if goal in self.said:
                pass
            elif a.kind == "compound":
                self.said[goal] = self.know(a.args[0], op)
            elif found := self._exactly(one, op) or self._from_fact(one, op, self.text(one)):
                self.said[goal] = self.assertion(goal, found)
            elif a.kind == "dot" and op == ">=":  # no fact says so: it is a square
                self.said[goal] = self.assertion(goal, "apply dot_pos.")
            elif a.kind == "max" and op != "!=":
                for part in a.args:
                    if self.at.known(part, op):
                        self.know(part, op)
                self.said[goal] = self.assertion(goal, "extreme.")
            if op == ">":
                return

    def ensure(self, p: Poly) -> None:
        """Say the signs and relations that ``field`` needs of what occurs in an element."""
        for m in p.terms:
            for a, e in m:
                for part in a.args if a.kind != "sum" else ():
                    if isinstance(part, Poly):
                        self.ensure(part)
                if a.kind not in ("letter", "prime") or e != 1:
                    self.atom_sign(a)
                for key, c in e.terms.items() if isinstance(e, Poly) else [(ONE, e)]:
                    if isinstance(e, Poly):
                        self.ensure(Poly({key: Fraction(1)}))
                    if key != ONE or c.denominator != 1:
                        self._root(a, key)

    def _root(self, a: Atom, key: Monomial) -> None:
        """Sign and relation of a generator."""
        self.generators.setdefault((a, key), 1)
        text, base, q = self.generator(a, key), self.atom(a), self.generators[a, key]
        if text in self.relations or f"0 < {text}" in self.said:
            return
        strict = a.kind == "E" or self.at.atom(a, ">")
        if a.kind != "E" and not self.at.atom(a, ">="):
            raise NotWritten("a power of what may be negative")
        sign = "<" if strict else "<="
        proof = "apply exp_pos." if a.kind == "E" else f"apply {'rpow_pos' if strict else 'rpow_ge'}; pos."
        self.said[f"0 {sign} {text}"] = self.assertion(f"0 {sign} {text}", proof)
        if key == ONE:
            proof = (
                "apply ln_eq; [pos | pos | logs; field]."
                if a.kind == "E"
                else f"apply (root_power {base} {q}); [pos | lia]."
            )
            self.relations[text] = self.assertion(f"{text} ^ {q} = {base}", proof)
