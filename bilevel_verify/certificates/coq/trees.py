"""What the trees of a certificate equal, as assertions: roots, powers, logarithms, maxima, sums, inner products."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias, TypeGuard

from bilevel_check.ring import Atom, Poly, number, power_of_one
from bilevel_check.terms import Tree, substituted
from bilevel_verify.certificates.coq.script import ZERO, Script
from bilevel_verify.certificates.coq.words import NotWritten, is_vector

Compound: TypeAlias = tuple[Tree, ...]
BACK = {">=": ("eq_le", "le_0", "_ {}"), ">": ("eq_lt", "lt_0", "_ {}"), "==": ("eq_trans", "eq_0", "(y := {})")}
EXTREMES = ("max", "min", "plus", "abs")


class Trees(Script):
    """A script that knows what trees equal."""

    def equate(self, node: Tree) -> Poly:
        """Say that a tree equals its element."""
        p, shown = self.at.of(node), self.words.scalar(node)
        if shown in self.equal:
            return p
        for part in node[1:] if special(node) and node[0] not in ("sum", "dot", "norm") else outermost(node):
            if part != node:
                self.equate(part)
        if isinstance(node, tuple) and node[0] == "norm":
            self.square_of(node[1])
        self.ensure(p)
        target = self.text(p)
        if shown == target:
            self.equal[shown] = None
        elif special(node):
            step = PROOFS[str(node[0])](self, node, p)
            self.equal[shown] = self.assertion(f"{shown} = {target}", step)
        else:
            for below in denominators(node):
                self.nonzero(below)
            step = self.rewriting(outermost(node))
            self.equal[shown] = self.assertion(f"{shown} = {target}", f"{step}{self.same(step, shown, target)}.")
        if self.equal[shown]:
            self.targets.append((target, self.equal[shown] or ""))
        return p

    def nonzero(self, node: Tree) -> None:
        """Say that a denominator is not 0."""
        p, shown = self.at.of(node), self.words.scalar(node)
        if isinstance(node, tuple) and len(p.terms) > 1 and f"{shown} <> 0" not in self.said and self.at.known(p, "!="):
            self.equate(node)
            name, equal = self.know(p, "!="), self.equal[shown]
            proof = f"first [exact {name} | rewrite {equal}; exact {name}]." if equal else f"exact {name}."
            self.said[f"{shown} <> 0"] = self.assertion(f"{shown} <> 0", proof)

    def rewriting(self, nodes: list[Tree]) -> str:
        """The tactic that puts elements for trees, the longest first."""
        for node in nodes:
            self.equate(node)
        shown = sorted({self.words.scalar(node) for node in nodes}, key=len, reverse=True)
        return "".join(f"rewrite ?{name}; " for text in shown if (name := self.equal[text]))

    def fact(self, small: Tree, large: Tree, op: str, raw: str) -> str:
        """The difference of two trees as a fact, from the relation between them that ``raw`` names."""
        p = self.at.of(large) - self.at.of(small)
        step = self.rewriting([small, large])
        self.ensure(p)
        low, high, text = self.words.scalar(small), self.words.scalar(large), self.text(p)
        rule, back, place = BACK[op]
        place = place.format(f"({high} - {low})")
        proof = f"apply ({rule} {place}); [{step}{self.same(step, low, high, text)} | apply {back}; exact {raw}]."
        return self.assertion(ZERO[op].format(text), proof)

    # ---- powers, logarithms -----------------------------------------------------------------------------------------

    def power(self, base: Tree, exponent: Tree, p: Poly) -> str:
        """The proof of ``rpow base exponent = p``."""
        b, e = self.equate(base), self.equate(exponent)
        step, r, text = self.rewriting([base, exponent]), self.text(p), self.text(b)
        exact, power = e.constant(), self.text(e)
        if exact is None:
            if not self.at.known(b, ">"):
                return f"{step}reflexivity."
            product, shown = self.product(b)
            primes, _ = self.product(p)  # ln 4 is to become 2 ln 2
            whole = next(iter(p.terms.values())) == 1
            step += "" if whole else f"replace {r} with {primes} by ({self.same(r, primes)}); "
            return (f"{step}replace {text} with {product} by ({self.same(text, product)}); "
                    f"apply rpow_is; [pos | pos | logs; {self.same(r, power, shown)}].")  # fmt: skip
        self.know(b, ">" if exact < 0 or self.at.known(b, ">") else ">=")
        p_, q = abs(exact.numerator), exact.denominator
        self.positive(p)
        if exact > 0:
            return (f"{step}apply (rpow_root _ _ _ {p_} {q}); [lia | lia | simpl; lra | pos | pos | "
                    f"{self.same(text, r)}].")  # fmt: skip
        return f"{step}apply (rpow_inverse _ _ _ {p_} {q}); [lia | simpl; lra | pos | pos | {self.same(text, r)}]."

    def positive(self, p: Poly) -> None:
        """Say the signs that ``pos`` needs for a monomial, or for the element itself."""
        if len(p.terms) > 1:
            self.know(p, ">" if self.at.known(p, ">") else ">=")
        for m in p.terms:
            for a, _ in m:
                self.atom_sign(a)

    def product(self, p: Poly) -> tuple[str, str]:
        """A positive element as a product of numbers, powers and one sum, for ``logs``; and the sum."""
        content, rest = self.at.split(p) if len(p.terms) > 1 else (p, number(1))
        self.ensure(content)
        self.positive(content)
        if rest.constant() is None:
            self.know(rest, ">")
        [(m, c)] = content.terms.items()
        bottom = "".join(f" * / {n}" for n in _primes(c.denominator))
        pieces = [text for a, e in m for text in self.raised(a, e)] + ([] if rest == number(1) else [self.text(rest)])
        top = [str(n) for n in _primes(c.numerator)] + pieces
        return f"({' * '.join(top or ['1'])}{bottom})", self.text(rest)

    def raise_(self, node: Compound, p: Poly) -> str:
        return self.power(node[1], node[2], p)

    def root(self, node: Compound, p: Poly) -> str:
        b = self.equate(node[1])
        step = self.rewriting([node[1]])
        self.know(b, ">=")
        self.positive(p)
        return f"{step}apply sqrt_is; [pos | pos | {self.same(self.text(b), self.text(p))}]."

    def exponential(self, node: Compound, p: Poly) -> str:
        self.equate(node[1])
        return f"{self.rewriting([node[1]])}apply exp_is; [pos | logs; {self.same(self.text(p))}]."

    def logarithm(self, node: Compound, p: Poly) -> str:
        b = self.equate(node[1])
        step = self.rewriting([node[1]])
        product, _ = self.product(b)
        text = self.text(b)
        return f"{step}replace {text} with {product} by ({self.same(text, product)}); logs; {self.same(self.text(p), product)}."

    def tangents(self, *nodes: Tree) -> None:
        """Say that each logarithm inside of trees lies below its tangent at 1: the checker knows it of every logarithm."""
        for y in (one[1] for node in nodes for one in logarithms(node)):
            p, shown = self.equate(y), self.words.scalar(y)
            goal = ZERO[">="].format(self.text(p - number(1) - self.at.of(("log", y))))
            if goal not in self.said:
                self.know(p, ">")
                positive = f"assert (0 < {shown}) by ({self.rewriting([y])}pos); "
                raw = self.assertion(
                    f"(ln {shown}) <= ({shown} + (- 1))", f"{positive}pose proof (ln_below {shown}); lra."
                )
                self.said[goal] = self.fact(("log", y), ("+", y, -1), ">=", raw)

    # ---- maxima, integers -------------------------------------------------------------------------------------------

    def extreme(self, node: Compound, p: Poly) -> str:
        values = [self.equate(part) for part in node[1:]]
        values += [number(0)] if node[0] == "plus" else [-values[0]] if node[0] == "abs" else []
        for one in values:
            for other in values:
                if one != other and (one - other).constant() is None and self.at.known(one - other, ">="):
                    self.know(one - other, ">=")
        return f"{self.rewriting(list(node[1:]))}extreme."

    def integer_part(self, node: Compound, p: Poly) -> str:
        value = self.equate(node[1])
        if self.at.integral(value):
            raise NotWritten("the floor of an integer")
        self.ensure(p)
        step = self.rewriting([node[1]])
        if node[0] == "floor":
            return f"{step}reflexivity."
        text, turned = self.text(value), self.text(-value)
        return f"{step}unfold ceil; replace (- {text}) with {turned} by ({self.same(text, turned)}); ring."

    # ---- sums -------------------------------------------------------------------------------------------------------

    def sum(self, node: Compound, p: Poly) -> str:
        """A sum term by term under the facts about its index, what is free of the index taken out of it."""
        body, index, low, high = node[1], str(node[2]), node[3], node[4]
        first, last = self.equate(low), self.equate(high)
        bound = self.at.bound()
        inside = self.inner(self.at.inner({bound: "integer"}))
        letter, i = power_of_one(Atom("letter", bound)), self.words.letter(bound)
        for end, name in ((letter - first, "low'"), (last - letter, "high'")):
            inside.at.learn(end, ">=")
            inside.facts.append(f"{name}{bound[:-1]}")
        sign = next((op for op in (">", ">=") if self.at.known(first, op)), None)
        if sign:
            self.know(first, sign)
            inside.at.learn(letter, sign)
            inside.facts.append(f"sign'{bound[:-1]}")
        moved = substituted(body, {index: bound})
        whole = inside.at.of(moved)
        inside.ensure(whole)
        a, b = (self.words.scalar(end) for end in (low, high))
        outer = self.rewriting([low, high])
        fixed = outer.replace(";", " in *;")
        ends = (f"assert (low'{bound[:-1]} : 0 <= {inside.text(letter - first)}) by ({fixed}lra). "
                f"assert (high'{bound[:-1]} : 0 <= {inside.text(last - letter)}) by ({fixed}lra). ")  # fmt: skip
        ends += f"assert (sign'{bound[:-1]} : {ZERO[sign].format(i)}) by ({fixed}lra). " if sign else ""
        inside.equate(moved)
        pairs = list(self.at.in_front(whole, bound))
        for held, _ in pairs:
            self.ensure(held)
        shown = [f"{self.text(held)} * {self.text(rest)}" for held, rest in pairs]
        texts = [self.text(rest) for _, rest in pairs]
        target = " + ".join(shown)
        equal = "".join(f"{line} " for line in inside.lines)
        again = inside.rewriting([moved])
        step = f"{again}{inside.same(again, inside.words.scalar(moved), target)}"
        start, stop = self.text(first), self.text(last)
        depth = bound[:-1]
        proof = (f"transitivity (total (fun {i} => {target}) {start} {stop}).\n{{ apply total_same; [{outer}"
                 f"{self.same(a, start)} | {outer}{self.same(b, stop)} | wholes | wholes | ].\n"
                 f"intros {i} int'{depth} lo'{depth} hi'{depth}. {ends}{equal} {step}. }}\n")  # fmt: skip
        for place in range(len(shown) - 1, 0, -1):
            proof += f"rewrite (total_plus (fun {i} => {' + '.join(shown[:place])}) (fun {i} => {shown[place]})). "
        for (held, rest), text in zip(pairs, texts):
            proof += f"rewrite (total_times {self.text(held)} (fun {i} => {text})). "
            if rest == number(1) and self.at.known(last - first + number(1), ">="):
                self.know(last - first + number(1), ">=")
                proof += f"rewrite (total_one {start} {stop}) by first [solve [wholes] | lra]. "
        return f"{proof} {self.same(*shown, self.text(p))}."

    # ---- vectors ----------------------------------------------------------------------------------------------------

    def inner_product(self, node: Compound, p: Poly) -> str:
        names = sorted(name for name, sort in self.at.sorts.items() if sort == "vector")
        turned = "".join(
            f"rewrite ?(dot_sym V' {self.words.letter(v)} {self.words.letter(u)}); " for u, v in combinations(names, 2)
        )
        inside = [part for side in node[1:] for part in self.coefficients(side)]
        for part in inside:
            for below in denominators(part):
                self.nonzero(below)
        step = self.rewriting([one for part in inside for one in outermost(part)])
        return (
            f"bilinear; {turned}{step}{self.same(step, self.text(p), *(self.words.scalar(part) for part in inside))}."
        )

    def coefficients(self, node: Tree) -> list[Tree]:
        """The numbers of a linear combination."""
        if not isinstance(node, tuple):
            return []
        if is_vector(node, self.words.sorts):
            found = [one for part in node[1:] for one in self.coefficients(part)]
            return [*found, ("/", 1, node[2])] if node[0] == "/" else found
        return [node]

    def square_of(self, vector: Tree) -> tuple[str, Poly]:
        """Say that ``dot v v`` is not negative, itself and without its positive factor; how to put it for the tree."""
        square = ("dot", vector, vector)
        inner = self.equate(square)
        equal, text = self.equal[self.words.scalar(square)], self.text(inner)
        if f"0 <= {text}" not in self.said:
            back = f"rewrite <- {equal}; " if equal else ""
            self.said[f"0 <= {text}"] = self.assertion(f"0 <= {text}", f"{back}apply dot_pos.")
        content, rest = self.at.split(inner)
        goal = f"0 <= {self.text(rest)}"
        if goal not in self.said:
            self.ensure(content)
            self.positive(content)
            proof = f"apply (shown_le _ {self.text(content)} {text}); [pos | {self.same(text)} | pos]."
            self.said[goal] = self.assertion(goal, proof)
        return f"rewrite {equal}; " if equal else "", inner

    def length(self, node: Compound, p: Poly) -> str:
        step, inner = self.square_of(node[1])
        self.positive(p)
        return f"unfold norm; {step}apply sqrt_is; [pos | pos | {self.same(self.text(inner), self.text(p))}]."


PROOFS: dict[str, Callable[[Trees, Compound, Poly], str]] = {
    "^": Trees.raise_, "sqrt": Trees.root, "exp": Trees.exponential, "log": Trees.logarithm,
    "sum": Trees.sum, "dot": Trees.inner_product, "norm": Trees.length, "floor": Trees.integer_part,
    "ceil": Trees.integer_part, **dict.fromkeys(EXTREMES, Trees.extreme),
}  # fmt: skip
"""Function -> the proof of what it equals."""


def special(node: Tree) -> TypeGuard[Compound]:
    """Whether a tree is more than a rational function of its parts."""
    if not isinstance(node, tuple) or node[0] in ("+", "*", "/", "neg"):
        return False
    if node[0] not in PROOFS:
        raise NotWritten(node[0])
    return not (node[0] == "^" and isinstance(node[2], int) and abs(node[2]) <= 200)


def outermost(node: Tree) -> list[Tree]:
    """The largest special trees inside a tree."""
    if not isinstance(node, tuple):
        return []
    return [node] if special(node) else [found for part in node[1:] for found in outermost(part)]


def logarithms(node: Tree) -> list[Compound]:
    """Logarithms in a tree, outside of sums."""
    if not isinstance(node, tuple) or node[0] == "sum":
        return []
    return [*([node] if node[0] == "log" else []), *(found for part in node[1:] for found in logarithms(part))]


def denominators(node: Tree) -> list[Tree]:
    """What stands under a fraction bar, outside of special trees."""
    if not isinstance(node, tuple) or special(node):
        return []
    below = (
        [node[2]]
        if node[0] == "/"
        else [node[1]]
        if node[0] == "^" and isinstance(node[2], int | Fraction) and node[2] < 0
        else []
    )
    return [*below, *(found for part in node[1:] for found in denominators(part))]


def _primes(value: int) -> list[int]:
    """Prime factors with their multiplicity; what is large stays whole."""
    found, d = [], 2
    while value > 1 and d < 1000:
        while value % d == 0:
            found.append(d)
            value //= d
        d += 1
    return [*found, *([value] if value > 1 else [])]
