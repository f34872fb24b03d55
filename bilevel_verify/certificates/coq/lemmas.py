"""A certificate as a lemma: the statement word for word, then one assertion for each line of the proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from bilevel_check.check import without_determined
from bilevel_check.context import Context
from bilevel_check.ring import names, number
from bilevel_check.rules import Proof, defined_element, element_of, goal_of
from bilevel_check.terms import Refused, Tree, letters, substituted, tree, work
from bilevel_verify.certificates.coq.script import ZERO, Generators
from bilevel_verify.certificates.coq.trees import Trees
from bilevel_verify.certificates.coq.words import NotWritten, Words

PRELUDE = files("bilevel_verify.certificates.coq").joinpath("prelude.v").read_text(encoding="utf-8")
"""What every file begins with: words, lemmas and tactics."""
SIGN = {">=": "<=", ">": "<", "==": "="}
OF = {"<=": "of_le", "<": "of_lt", ">=": "of_ge", ">": "of_gt", "==": "of_eq"}
PASSES = 4


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
    about = data.get("about", {})
    notes = [about[key] for key in ("printed", "left", "op", "right") if about.get(key)]
    comment = " ".join(notes).replace("(*", "( *").replace("*)", "* )").replace('"', "''")
    try:
        body = _refuted(data, name) if "counterexample" in data else _proved(data, name)
    except Refused as error:  # more steps than the checker's ring may take, or a line that cannot be repeated
        raise NotWritten(str(error)) from None
    finally:
        work.start()
    return f"(* {comment} *)\n{body}\n"


def _proved(data: dict[str, Any], name: str) -> str:
    statement, words = data["statement"], Words(data["statement"]["letters"])
    generators: Generators = {}
    for _ in range(PASSES):
        work.start()
        script, lines = _attempt(data, generators)
        if not script.changed:
            break
    binders = ["(V' : space)"] if "vector" in statement["letters"].values() else []
    for letter, sort in statement["letters"].items():
        binders.append(f"({words.letter(letter)} : {'V' + chr(39) if sort == 'vector' else 'Rdefinitions.R'})")
        binders += [f"({words.letter(letter)}' : whole {words.letter(letter)})"] if sort == "integer" else []
    stated = [f"    (h{i}' : {words.relation(c, tree)})" for i, c in enumerate(statement["hypotheses"])]
    head = "\n".join([f"Lemma {name} {' '.join(binders)}", *stated])
    shown = "\n".join(f"  {line}" for line in lines)
    return f"{head} :\n  {words.relation(statement['claim'], tree)}.\nProof.\n{shown}\nQed."


def _attempt(data: dict[str, Any], generators: Generators) -> tuple[Trees, list[str]]:
    statement, let = data["statement"], data.get("let", [])
    sorts, conditions, claim = without_determined(
        statement["letters"], statement["hypotheses"], statement["claim"], let
    )
    script = Trees(Context(sorts), generators)
    script.words = Words(statement["letters"])
    lines = [f"subst {script.words.letter(statement['hypotheses'][place][1])}." for place in let]
    run = Run(conditions, let)
    run.lines(script, data["proof"])
    run.finish(script, claim)
    return script, [*lines, *script.lines]


class Run:
    """The lines of a proof, one after the other; ``hypotheses`` as the checker has them, known as ``h0'``, ``h1'``."""

    def __init__(self, hypotheses: list[Any], let: list[int], given: dict[int, str] | None = None) -> None:
        self.hypotheses, self.let, self.given = hypotheses, let, given or {}
        self.proof = Proof(hypotheses)
        self.raw: dict[Any, str] = {}

    def lines(self, script: Trees, lines: list[Any]) -> None:
        """All lines; each adds its facts to the script and to its context."""
        for line in lines:
            rule = RULES.get(line[0])
            if rule is None:
                raise NotWritten(f"the rule {line[0]}")
            found = rule(self, script, *line[1:])
            before = len(script.at.facts)
            self.proof.run(script.at, [line])
            if len(script.at.facts) - before != len(found):
                raise NotWritten(f"{line[0]} gave {len(script.at.facts) - before} facts")
            script.facts += found
            for (p, op), name in zip(script.at.facts[before:], found):
                script.said.setdefault(ZERO[op].format(script.text(p)), name)

    def finish(self, script: Trees, goal: Any) -> None:
        """The goal from what is known."""
        if goal_of(goal) in self.raw:
            script.lines.append(f"exact {self.raw[goal_of(goal)]}.")
            return
        element, op = element_of(script.at, goal)
        name = script.know(element, op)
        _, small, large = goal_of(goal)
        for side in (small, large):
            script.equate(side)
        step, low, high = script.rewriting([small, large]), script.words.scalar(small), script.words.scalar(large)
        text = script.text(element)
        script.lines.append(f"apply {OF[goal[0]]}. replace ({high} - {low}) with {text} by "
                            f"({step}{script.same(step, low, high, text)}). exact {name}.")  # fmt: skip

    # ---- hypotheses, identities -------------------------------------------------------------------------------------

    def hypothesis(self, script: Trees, place: int) -> list[str]:
        op, small, large = goal_of(self.hypotheses[place])
        name = self.given.get(place, f"h{place}'")
        if self.hypotheses[place][0] in (">", ">="):
            name = f"({'Rge_le' if op == '>=' else 'Rgt_lt'} _ _ {name})"
        return [script.fact(small, large, op, "(eq_refl _)" if place in self.let else name)]

    def identity(self, script: Trees, goal: Any, parts: list[Any], multiplier: Any = 1) -> list[str]:
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

    def known(self, script: Trees, goal: Any) -> list[str]:
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

    def _powers(self, script: Trees, small: Tree, large: Tree, e: Tree) -> tuple[Tree, Tree]:
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

    def raised(self, script: Trees, goal: Any, exponent: Any) -> list[str]:
        op, small, large = goal_of(goal)
        at, e = script.at, tree(exponent)
        value = at.of(e)
        if op == "==":
            raise NotWritten("powers of an equality")
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

    def root(self, script: Trees, goal: Any, exponent: Any) -> list[str]:
        op, small, large = goal_of(goal)
        at, e = script.at, tree(exponent)
        if op == "==":
            raise NotWritten("roots of an equality")
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

    def exponent(self, script: Trees, base: Any, goal: Any) -> list[str]:
        op, small, large = goal_of(goal)
        at, b = script.at, tree(base)
        raw, value = self._raw(script, small, large, op), at.of(b)
        above = at.known(value - number(1), ">" if op == ">" else ">=")
        if not above and op == ">":
            raise NotWritten("powers that fall strictly")
        script.know(value - number(1) if above else number(1) - value, op)
        script.know(value, ">")
        pairs = []
        for e in (small, large):
            power = at.power(value, at.of(e))
            script.ensure(power)
            shown = f"(rpow {script.words.scalar(b)} {script.words.scalar(e)})"
            if shown not in script.equal:
                proof = script.power(b, e, power)
                script.equal[shown] = script.assertion(f"{shown} = {script.text(power)}", proof)
                script.targets.append((script.text(power), script.equal[shown] or ""))
            pairs.append((shown, power))
        low, high = pairs if above else pairs[::-1]
        step = script.rewriting([b])
        if above:
            rule = f"apply {'exponent_le' if op == '>=' else 'exponent_lt'}; [{step}lra | exact {raw}]."
        else:
            rule = f"apply exponent_ge; [{step}pos | {step}lra | exact {raw}]."
        name = script.assertion(f"{low[0]} {SIGN[op]} {high[0]}", rule)
        return [self._compared(script, low, high, op, name)]

    def logarithm(self, script: Trees, value: Any) -> list[str]:
        node = tree(value)
        y = script.equate(node)
        script.know(y, ">")
        shown = script.words.scalar(node)
        raw = script.assertion(f"(ln {shown}) <= ({shown} + (- 1))",
                               f"assert (0 < {shown}) by ({script.rewriting([node])}pos); "
                               f"pose proof (ln_below {shown}); lra.")  # fmt: skip
        return [script.fact(("log", node), ("+", node, -1), ">=", raw)]

    def log_rises(self, script: Trees, goal: Any) -> list[str]:
        op, small, large = goal_of(goal)
        if op == "==":
            raise NotWritten("logarithms of an equality")
        raw = self._raw(script, small, large, op)
        script.know(script.at.of(small), ">")
        low, high = script.words.scalar(small), script.words.scalar(large)
        rule = "Rcomplements.ln_le" if op == ">=" else "ln_increasing"
        name = script.assertion(f"(ln {low}) {SIGN[op]} (ln {high})",
                                f"apply {rule}; [{script.rewriting([small])}first [pos | lra] | exact {raw}].")  # fmt: skip
        return [script.fact(("log", small), ("log", large), op, name)]

    def numbers(self, script: Trees, goal: Any) -> list[str]:
        op, small, large = goal_of(goal)
        low, high = script.words.scalar(small), script.words.scalar(large)
        raw = script.assertion(f"{low} {SIGN[op]} {high}", "numeric.")
        return [script.fact(small, large, op, raw)]

    # ---- integers, maxima, vectors ----------------------------------------------------------------------------------

    def floor(self, script: Trees, value: Any) -> list[str]:
        x = script.at.of(tree(value))
        script.ensure(x)
        text = script.text(x)
        integral = script.at.integral(x)
        whole = text if integral else f"(floor {text})"
        below, above = f"0 <= {text} - {whole}", f"0 < {whole} + 1 - {text}"
        one = script.assertion(below, "lra." if integral else f"pose proof (floor_le {text}); lra.")
        other = script.assertion(above, "lra." if integral else f"pose proof (floor_gt {text}); lra.")
        at = script.at.inner()
        self.proof.run(at, [["floor", value]])
        found = []
        for (p, op), name, goal in zip(at.facts[-2:], (one, other), (below, above)):
            expression = goal.split(" ", 2)[2]
            shown = script.text(p)
            found.append(script.assertion(ZERO[op].format(shown), f"replace {shown} with ({expression}) by "
                                          f"({script.same(shown, text)}); exact {name}."))  # fmt: skip
        return found

    def whole(self, script: Trees, goal: Any) -> list[str]:
        element, op = element_of(script.at, goal)
        name, text = script.know(element, op), script.text(element)
        less = script.text(element - number(1))
        return [script.assertion(f"0 <= {less}", f"assert (whole {text}) by wholes; assert (whole 0) by wholes; "
                                 f"pose proof (whole_step 0 {text}); pose proof {name}; lra.")]  # fmt: skip

    def maximum(self, script: Trees, parts: list[Any], place: Any = None) -> list[str]:
        at = script.at.inner()
        self.proof.run(at, [["max", parts, *([] if place is None else [place])]])
        values = [script.at.of(tree(part)) for part in parts]
        for value in values:
            script.ensure(value)
            if place is not None and value != values[place]:
                script.know(values[place] - value, ">=")
        fresh = at.facts[len(script.at.facts) :]
        return [script.assertion(ZERO[op].format(script.text(p)), "extreme.") for p, op in fresh]

    def square(self, script: Trees, vector: Any) -> list[str]:
        node = tree(vector)
        product = ("dot", node, node)
        p = script.equate(product)
        equal = script.equal[script.words.scalar(product)]
        back = f"rewrite <- {equal}; " if equal else ""
        return [script.assertion(f"0 <= {script.text(p)}", f"{back}apply dot_pos.")]

    # ---- cases, induction, sums -------------------------------------------------------------------------------------

    def _branch(self, script: Trees, inside: Trees, lines: list[Any], goal: Any) -> str:
        """The lines of one case, up to the goal."""
        raw = dict(self.raw)
        self.lines(inside, lines)
        self.finish(inside, goal)
        self.raw, script.changed = raw, script.changed | inside.changed
        return "{ " + "\n".join(inside.lines) + " }"

    def _concluded(self, script: Trees, goal: Any, proof: str) -> list[str]:
        name = script.assertion(script.words.relation(goal, tree), proof)
        if defined_element(script.at, goal) is None:
            self.raw[goal_of(goal)] = name
            return []
        op, small, large = goal_of(goal)
        turned = f"({'Rge_le' if op == '>=' else 'Rgt_lt'} _ _ {name})" if goal[0] in (">", ">=") else name
        return [script.fact(small, large, op, turned)]

    def cases(self, script: Trees, goal: Any, test: Any, yes: Any, no: Any) -> list[str]:
        middle = script.at.of(tree(test))
        script.ensure(middle)
        text, turned = script.text(middle), script.text(-middle)
        name = f"c{next(script.fresh)}'"
        parts = []
        for (fact, op), lines in zip(((middle, ">="), (-middle, ">")), (yes, no)):
            inside = script.inner(script.at.inner())
            inside.at.learn(fact, op)
            inside.facts.append(name)
            parts.append(self._branch(script, inside, lines, goal))
        sign = f"assert (n{name} : 0 < {turned}) by (replace {turned} with (- {text}) by ({script.same(text, turned)}); lra); "
        proof = (f"destruct (Rle_or_lt 0 {text}) as [{name} | {name}]. {parts[0]} "
                 f"{{ {sign}clear {name}; rename n{name} into {name}. {parts[1]} }}")  # fmt: skip
        return self._concluded(script, goal, proof)

    def one_of(self, script: Trees, goal: Any, place: int, proofs: list[Any]) -> list[str]:
        words, name = self.hypotheses[place], f"c{next(script.fresh)}'"
        parts = []
        for part, lines in zip(words[1:], proofs):
            inside = script.inner(script.at.inner())
            each = part[1:] if part[0] == "and" else [part]
            labels = [f"{name}{i}" for i in range(len(each))]
            inside.lines.append(f"destruct {name} as [{' ['.join(labels)}{']' * (len(each) - 1)}." if part[0] == "and" and
                                len(each) > 1 else f"rename {name} into {labels[0]}.")  # fmt: skip
            for one, label in zip(each, labels):
                op, small, large = goal_of(one)
                turned = f"({'Rge_le' if op == '>=' else 'Rgt_lt'} _ _ {label})" if one[0] in (">", ">=") else label
                fact = inside.fact(small, large, op, turned)
                inside.at.learn(*element_of(inside.at, one))
                inside.facts.append(fact)
            parts.append(self._branch(script, inside, lines, goal))
        labels_ = " | ".join([f"{name}"] * 2)
        proof = parts[-1]
        for part in reversed(parts[:-1]):
            proof = f"destruct {name} as [{labels_}]. {part} {proof}"
        return self._concluded(script, goal, f"pose proof h{place}' as {name}. {proof}")

    def induction(self, script: Trees, goal: Any, name: str, start: Any, base: Any, step: Any) -> list[str]:
        op, small, large = goal_of(goal)
        first = tree(start)
        letter = script.at.of(name)
        above = script.know(letter - script.at.of(first), ">=")
        mark, parts = f"c{next(script.fresh)}'", []
        for moved, lines in ((first, base), (("+", name, 1), step)):
            kept = [(fact, label) for fact, label in zip(script.at.facts, script.facts) if name not in names(fact[0])]
            inside = Trees(Context(script.at.sorts, [fact for fact, _ in kept]), script.generators)
            inside.words, inside.fresh, inside.facts = script.words, script.fresh, [label for _, label in kept]
            inside.words = script.words.alias(name) if lines is step else script.words
            given = [None if one is None or name in _letters(one) else one for one in self.hypotheses]
            run = Run([*given, goal] if lines is step else given, self.let, {**self.given, len(given): f"{mark}n"})
            if lines is step:
                gap = letter - script.at.of(first)
                inside.at.learn(gap, ">=")
                label = f"{mark}b"
                inside.facts.append(label)
                inside.lines.append(f"assert ({label} : 0 <= {inside.text(gap)}) by lra.")
            replaced = [op, *(substituted(side, {name: moved}) for side in (small, large))]
            run.lines(inside, lines)
            run.finish(inside, [{">=": "<=", ">": "<"}.get(op, op), *map(_data, replaced[1:])])
            script.changed |= inside.changed
            parts.append("{ " + "\n".join(inside.lines) + " }")
        inner = script.words.alias(name)
        claim, n = (
            (f"{w.scalar(small)} {SIGN[op]} {w.scalar(large)}" for w in (script.words, inner)),
            inner.letter(name),
        )
        shown, moved_claim = claim
        begin = script.words.scalar(first)
        proof = (f"apply (induct (fun {n} => {moved_claim}) {begin}). wholes. {parts[0]} 2: wholes. 2: {{ pose proof {above}; lra. }} "
                 f"intros {n} {n}' {mark}a {mark}n. {parts[1]}")  # fmt: skip
        raw = script.assertion(shown, proof)
        return [script.fact(small, large, op, raw)]

    def last_term(self, script: Trees, total: Any) -> list[str]:
        node = tree(total)
        _, body, index, low, high = node
        at = script.at
        before, last = ("sum", body, index, low, ("+", high, -1)), substituted(body, {index: high})
        length = script.know(at.of(high) - at.of(low), ">=")
        shown = [script.words.scalar(one) for one in (node, before, last, low, high, ("+", high, -1))]
        ends = script.rewriting([low, high])
        gap, text = f"{shown[4]} - {shown[3]}", script.text(at.of(high) - at.of(low))
        function = f"(fun {script.words.letter(index)} => {script.words.scalar(body)})"
        proof = (f"apply (total_last {function} {shown[3]} {shown[4]} {shown[5]}); [wholes | wholes | ring | apply of_le; "
                 f"replace ({gap}) with {text} by ({ends}{script.same(gap, text)}); exact {length}].")  # fmt: skip
        raw = script.assertion(f"{shown[0]} = {shown[1]} + {shown[2]}", proof)
        p = at.of(node) - at.of(before) - at.of(last)
        script.ensure(p)
        step = script.rewriting([node, before, last])
        target = script.text(p)
        return [script.assertion(f"{target} = 0", f"apply (eq_trans (y := {shown[0]} - {shown[1]} - {shown[2]})); "
                                 f"[{step}{script.same(step, target)} | rewrite {raw}; ring].")]  # fmt: skip

    def no_term(self, script: Trees, total: Any) -> list[str]:
        node = tree(total)
        _, _, _, low, high = node
        name = script.know(script.at.of(low) - script.at.of(high), ">")
        shown, ends = script.words.scalar(node), script.rewriting([low, high])
        gap, text = (
            f"{script.words.scalar(low)} - {script.words.scalar(high)}",
            script.text(script.at.of(low) - script.at.of(high)),
        )
        raw = script.assertion(f"{shown} = 0", f"apply total_none; [wholes | wholes | apply of_lt; replace ({gap}) with {text} by "
                               f"({ends}{script.same(gap, text)}); exact {name}].")  # fmt: skip
        p = script.equate(node)
        equal, target = script.equal[shown], script.text(p)
        return [script.assertion(f"{target} = 0", f"{f'rewrite <- {equal}; ' if equal else ''}exact {raw}.")]


def _letters(condition: Any) -> set[str]:
    each = (_letters(part) if condition[0] in ("and", "or") else letters(tree(part)) for part in condition[1:])
    return set().union(*each)


def _data(node: Tree) -> Any:
    from bilevel_check.check import listed

    return listed(node)


def _refuted(data: dict[str, Any], name: str) -> str:
    """A counterexample as a statement that such numbers exist."""
    statement, point = data["statement"], data["counterexample"]
    words = Words(statement["letters"])
    parts = [f"whole {words.letter(n)}" for n, sort in statement["letters"].items() if sort == "integer"]
    parts += [words.relation(c, tree) for c in statement["hypotheses"]]
    parts.append(f"~ ({words.relation(statement['claim'], tree)})")
    exists = "".join(f"exists {words.letter(n)} : Rdefinitions.R, " for n in statement["letters"])
    witnesses = "".join(f" exists {words.scalar(tree(point[n]))}." for n in statement["letters"])
    stated = " /\\\n    ".join(parts)
    return f"Lemma {name} : {exists}\n    {stated}.\nProof.{witnesses} repeat split; witness. Qed."


RULES: dict[str, Callable[..., list[str]]] = {
    "hypothesis": Run.hypothesis, "identity": Run.identity, "known": Run.known, "root": Run.root, "raise": Run.raised,
    "exponent": Run.exponent, "log": Run.logarithm, "log-rises": Run.log_rises, "number": Run.numbers,
    "floor": Run.floor, "whole": Run.whole, "max": Run.maximum, "cases": Run.cases, "one-of": Run.one_of,
    "induction": Run.induction, "last-term": Run.last_term, "no-term": Run.no_term, "square": Run.square,
}  # fmt: skip
"""Rule of the checker -> its facts as assertions."""
__all__ = ["PRELUDE", "NotWritten", "Refused", "lemma"]
