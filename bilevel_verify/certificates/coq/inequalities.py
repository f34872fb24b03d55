"""The rules of a proof that end in one relation between numbers, as assertions: identities, powers, logarithms."""

from __future__ import annotations

from typing import Any

from bilevel_check.ring import Poly, number
from bilevel_check.rules import Proof, element_of, goal_of
from bilevel_check.terms import Tree, tree
from bilevel_verify.certificates.coq.script import ZERO
from bilevel_verify.certificates.coq.trees import Trees
from bilevel_verify.certificates.coq.words import NotWritten

SIGN = {">=": "<=", ">": "<", "==": "="}


class Inequalities:
    """Rules that take relations and give one; ``hypotheses`` as the checker has them, known as ``h0'``, ``h1'``."""

    def __init__(self, hypotheses: list[Any], let: list[int], given: dict[int, str] | None = None) -> None:
        self.hypotheses, self.let, self.given = hypotheses, let, given or {}
        self.proof = Proof(hypotheses)
        self.raw: dict[Any, str] = {}

    # ---- hypotheses, identities -------------------------------------------------------------------------------------

    def hypothesis(self, script: Trees, place: int) -> list[str]:
        op, small, large = goal_of(self.hypotheses[place])
        name = self.given.get(place, f"h{place}'")
        if self.hypotheses[place][0] in (">", ">="):
            name = f"({'Rge_le' if op == '>=' else 'Rgt_lt'} _ _ {name})"
        return [script.fact(small, large, op, "(eq_refl _)" if place in self.let else name)]

    def identity(self, script: Trees, goal: object, parts: list[Any], multiplier: object = 1) -> list[str]:
        """The difference times its multiplier is the sum (``field``, ``ring``), and each summand has its sign."""
        at = script.at
        element, op = element_of(at, goal)
        factor = at.of(tree(multiplier))
        shown, texts = [], [script.text(element), script.text(factor)]
        script.ensure(element)
        if factor.constant() is None:
            script.know(factor, "!=" if op == "==" else ">")
        for cofactor, places, squares in parts:
            value, equal = at.of(tree(cofactor)), False
            factors = []
            if value.constant() is None:
                script.ensure(value)
            if value != number(1):
                factors.append(script.text(value))
            for place in places:
                factors.append(script.text(at.facts[place][0]))
                equal |= at.facts[place][1] == "=="
            for square in squares:
                root = at.of(tree(square))
                script.ensure(root)
                if op == ">" and at.known(root, "!=") and root.constant() is None:
                    script.know(root, "!=")
                factors.append(f"{script.text(root)} ^ 2")
            text = " * ".join(factors or ["1"])
            shown.append(text)
            if equal:
                zero = next(place for place in places if at.facts[place][1] == "==")
                relation = "=" if op == "==" else "<="
                goal_text = f"{text} = 0" if op == "==" else f"0 {relation} {text}"
                script.assertion(
                    goal_text,
                    f"rewrite {script.facts[zero]}; ring."
                    if op == "=="
                    else f"apply (eq_le _ 0); [rewrite {script.facts[zero]}; ring | lra].",
                )
            elif value.constant() is None:
                script.know(value, ">" if at.known(value, ">") else ">=")
        total = " + ".join(shown) or "0"
        equality = script.same(*texts, total)
        last = {"==": "lra", ">": "pos", ">=": "pos"}[op]
        rule = {"==": "shown_eq", ">": "shown_lt", ">=": "shown_le"}[op]
        sign = "nonzero" if op == "==" else "pos"
        proof = f"apply ({rule} {texts[0]} {texts[1]} ({total})); [{sign} | {equality} | {last}]."
        return [script.assertion(ZERO[op].format(texts[0]), proof)]

    def known(self, script: Trees, goal: object) -> list[str]:
        script.tangents(*goal_of(goal)[1:])
        return [script.know(*element_of(script.at, goal))]

    # ---- powers, logarithms, numbers --------------------------------------------------------------------------------

    def _raw(self, script: Trees, small: Tree, large: Tree, op: str) -> str:
        """A relation between trees of which the difference is known."""
        p = script.at.of(large) - script.at.of(small)
        name = script.know(p, op)
        low, high = script.words.scalar(small), script.words.scalar(large)
        step, text = script.rewriting([small, large]), script.text(p)
        rule = {">=": "of_le", ">": "of_lt", "==": "of_eq"}[op]
        return script.assertion(f"{low} {SIGN[op]} {high}", f"apply {rule}; replace ({high} - {low}) with {text} by "
                                f"({step}{script.same(step, low, high, text)}); exact {name}.")  # fmt: skip

    def _powers(self, script: Trees, small: Tree, large: Tree, e: Tree) -> tuple[tuple[str, Poly], tuple[str, Poly]]:
        """Both powers, known as what they equal."""
        found = []
        for side in (small, large):
            value = script.at.powers(side, script.at.of(e))
            script.ensure(value)
            shown = f"(rpow {script.words.scalar(side)} {script.words.scalar(e)})"
            if shown not in script.equal:
                proof = script.power(side, e, value)
                script.equal[shown] = script.assertion(f"{shown} = {script.text(value)}", proof)
                script.targets.append((script.text(value), script.equal[shown] or ""))
            found.append((shown, value))
        return found[0], found[1]

    def _compared(self, script: Trees, low: Any, high: Any, op: str, raw: str) -> str:
        """``high - low`` as a fact from a relation between two powers."""
        p = high[1] - low[1]
        script.ensure(p)
        text = script.text(p)
        back = "le_0" if op == ">=" else "lt_0"
        proof = (f"apply ({'eq_le' if op == '>=' else 'eq_lt'} _ ({high[0]} - {low[0]})); [rewrite ?{script.equal[low[0]]}"
                 f", ?{script.equal[high[0]]}; {script.same(text, script.text(low[1]), script.text(high[1]))} | "
                 f"apply {back}; exact {raw}].")  # fmt: skip
        return script.assertion(ZERO[op].format(text), proof)

    def raised(self, script: Trees, goal: object, exponent: object) -> list[str]:
        op, small, large = goal_of(goal)
        at, e = script.at, tree(exponent)
        value = at.of(e)
        if op == "==":
            raise NotWritten("powers of an equality")
        inner, outer = (
            [node[k] if isinstance(node, tuple) and node[0] == "^" else 0 for node in (small, large)] for k in (1, 2)
        )
        if outer[0] == outer[1] != 0 and (value * at.of(outer[0])).constant() == 1:
            return self._root(script, (op, inner[0], inner[1]), outer[0])
        raw = self._raw(script, small, large, op)
        script.know(at.of(small), ">" if at.known(at.of(small), ">") else ">=")
        low, high = self._powers(script, small, large, e)
        script.equate(e)
        rises = at.known(value, ">" if op == ">" else ">=")
        script.know(value if rises else -value, ">" if op == ">" else ">=")
        rule = {">=": "rpow_le", ">": "rpow_lt"}[op] if rises else {">=": "rpow_falls", ">": "rpow_falls_lt"}[op]
        low, high = (low, high) if rises else (high, low)
        step = script.rewriting([small])
        sign = f"{step}first [pos | lra]"
        name = script.assertion(f"{low[0]} {SIGN[op]} {high[0]}", f"apply {rule}; [{sign} | exact {raw} | "
                                f"{script.rewriting([e])}lra].")  # fmt: skip
        return [self._compared(script, low, high, op, name)]

    def _root(self, script: Trees, goal: tuple[str, Tree, Tree], e: Tree) -> list[str]:
        """``small op large`` from their powers to e."""
        (op, small, large), at = goal, script.at
        for side in (small, large):
            script.know(at.of(side), ">=")
        script.know(at.of(e), ">")
        low, high = self._powers(script, small, large, e)
        difference = script.know(at.power(at.of(large), at.of(e)) - at.power(at.of(small), at.of(e)), op)
        script.equate(e)
        step = script.rewriting([small, large])
        compare = (f"rewrite ?{script.equal[low[0]]}, ?{script.equal[high[0]]}; pose proof {difference}; "
                   f"lra")  # fmt: skip
        shown = script.words.scalar(small), script.words.scalar(large), script.words.scalar(e)
        rule = "root_le" if op == ">=" else "root_lt"
        raw = script.assertion(f"{shown[0]} {SIGN[op]} {shown[1]}", f"apply ({rule} _ _ {shown[2]}); [{step}first [pos | lra] | "
                               f"{step}first [pos | lra] | {script.rewriting([e])}lra | {compare}].")  # fmt: skip
        return [script.fact(small, large, op, raw)]

    def numbers(self, script: Trees, goal: object, ranges: object = None, splits: object = None) -> list[str]:
        if ranges or splits:
            raise NotWritten("boxes")
        op, small, large = goal_of(goal)
        low, high = script.words.scalar(small), script.words.scalar(large)
        raw = script.assertion(f"{low} {SIGN[op]} {high}", "numeric.")
        return [script.fact(small, large, op, raw)]
