"""A certificate as a lemma: the statement word for word, then one assertion for each line of the proof."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

from bilevel_check.context import Context
from bilevel_check.ring import names, number
from bilevel_check.rules import element_of, goal_of
from bilevel_check.terms import WORK, Refused, Tree, letters, split, substituted, tree, work
from bilevel_verify.certificates.coq.inequalities import SIGN, Inequalities
from bilevel_verify.certificates.coq.script import ZERO, Generators
from bilevel_verify.certificates.coq.trees import Trees
from bilevel_verify.certificates.coq.words import NotWritten, Words, on_a_line
from bilevel_verify.certificates.draft import determined, listed

PRELUDE, SUMS = (
    files("bilevel_verify.certificates.coq").joinpath(name).read_text(encoding="utf-8")
    for name in ("prelude.v", "sums.v")
)
"""Words, lemmas and tactics with which every file begins; those of integers, sums and vectors, where they occur."""
OF = {"<=": "of_le", "<": "of_lt", ">=": "of_ge", ">": "of_gt", "==": "of_eq"}
PASSES = 4


def with_prelude(lemmas: Sequence[str]) -> str:
    """A file of Coq: what its lemmas stand on, then they."""
    more = any(re.search(r"\b(whole|wholes|total|floor|ceil|space)\b", one) for one in lemmas)
    return "\n".join([PRELUDE, *([SUMS] if more else []), *lemmas])


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
        work.left = WORK
    return f"(* {comment} *)\n{body}\n"


def _proved(data: dict[str, Any], name: str) -> str:
    statement, words = data["statement"], Words(data["statement"]["letters"])
    generators: Generators = {}
    for _ in range(PASSES):
        work.left = WORK
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
    sorts, conditions, claim = determined(statement, let)
    script = Trees(Context(sorts), generators)
    script.words = Words(statement["letters"])
    lines = [f"subst {script.words.letter(statement['hypotheses'][place][1])}." for place in let]
    run = Run(conditions, let)
    run.lines(script, data["proof"])
    run.finish(script, claim)
    return script, [*lines, *script.lines]


class Run(Inequalities):
    """The lines of a proof, one after the other."""

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
        _, small, large = goal_of(goal)
        script.tangents(small, large)
        name = script.know(element, op)
        for side in (small, large):
            script.equate(side)
        step, low, high = script.rewriting([small, large]), script.words.scalar(small), script.words.scalar(large)
        text = script.text(element)
        script.lines.append(f"apply {OF[goal[0]]}. replace ({high} - {low}) with {text} by "
                            f"({step}{script.same(step, low, high, text)}). exact {name}.")  # fmt: skip

    # ---- integers, maxima, vectors ----------------------------------------------------------------------------------

    def known(self, script: Trees, goal: Any) -> list[str]:
        """What is known: squares of vectors, tangents of the logarithm, parts of maxima and floors by what they are."""
        op, small, large = goal_of(goal)
        if name := self.raw.get((op, small, large)):
            turned = f"({'Rge_le' if op == '>=' else 'Rgt_lt'} _ _ {name})" if goal[0] in (">", ">=") else name
            return [script.fact(small, large, op, turned)]
        (low, inside), (high, parts) = split(small), split(large)
        if high == "dot" and small == 0 and parts[0] == parts[1]:
            return self._square(script, large)
        if high == "max" and small in parts:
            p = script.at.of(large) - script.at.of(small)
            script.ensure(p)
            return [script.assertion(ZERO[op].format(script.text(p)), "extreme.")]
        if (low, inside) == ("floor", (large,)) or large == ("+", ("floor", small), 1):
            return self._floor(script, goal, large if low == "floor" else small)
        return super().known(script, goal)

    def _floor(self, script: Trees, goal: object, value: Tree) -> list[str]:
        x, (p, op) = script.at.of(value), element_of(script.at, goal)
        script.ensure(x)
        text, shown, integral = script.text(x), script.text(p), script.at.integral(x)
        whole = text if integral else f"(floor {text})"
        gap = f"({text} - {whole})" if op == ">=" else f"({whole} + 1 - {text})"
        why = "lra." if integral else f"pose proof ({'floor_le' if op == '>=' else 'floor_gt'} {text}); lra."
        name = script.assertion(ZERO[op].format(gap), why)
        step = f"replace {shown} with {gap} by ({script.same(shown, text)}); exact {name}."
        return [script.assertion(ZERO[op].format(shown), step)]

    def whole(self, script: Trees, goal: object) -> list[str]:
        element, op = element_of(script.at, goal)
        name, text = script.know(element, op), script.text(element)
        less = script.text(element - number(1))
        return [script.assertion(f"0 <= {less}", f"assert (whole {text}) by wholes; assert (whole 0) by wholes; "
                                 f"pose proof (whole_step 0 {text}); pose proof {name}; lra.")]  # fmt: skip

    def _square(self, script: Trees, product: Tree) -> list[str]:
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

    def _concluded(self, script: Trees, goal: object, proof: str) -> list[str]:
        self.raw[goal_of(goal)] = script.assertion(script.words.relation(goal, tree), proof)
        return []

    def cases(self, script: Trees, goal: Any, which: Any, proofs: list[Any]) -> list[str]:
        return (self._one_of if isinstance(which, int) else self._signs)(script, goal, which, proofs)

    def _signs(self, script: Trees, goal: Any, test: Any, proofs: list[Any]) -> list[str]:
        middle = script.at.of(tree(test))
        script.ensure(middle)
        text, turned = script.text(middle), script.text(-middle)
        name = f"c{next(script.fresh)}'"
        parts = []
        for (fact, op), lines in zip(((middle, ">="), (-middle, ">")), proofs):
            inside = script.inner(script.at.inner())
            inside.at.learn(fact, op)
            inside.facts.append(name)
            parts.append(self._branch(script, inside, lines, goal))
        sign = f"assert (n{name} : 0 < {turned}) by (replace {turned} with (- {text}) by ({script.same(text, turned)}); lra); "
        proof = (f"destruct (Rle_or_lt 0 {text}) as [{name} | {name}]. {parts[0]} "
                 f"{{ {sign}clear {name}; rename n{name} into {name}. {parts[1]} }}")  # fmt: skip
        return self._concluded(script, goal, proof)

    def _one_of(self, script: Trees, goal: Any, place: int, proofs: list[Any]) -> list[str]:
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
            given = [None if one is None or name in letters(tree(one)) else one for one in self.hypotheses]
            run = Run([*given, goal] if lines is step else given, self.let, {**self.given, len(given): f"{mark}n"})
            if lines is step:
                gap = letter - script.at.of(first)
                inside.at.learn(gap, ">=")
                label = f"{mark}b"
                inside.facts.append(label)
                inside.lines.append(f"assert ({label} : 0 <= {inside.text(gap)}) by lra.")
            replaced = [op, *(substituted(side, {name: moved}) for side in (small, large))]
            run.lines(inside, lines)
            run.finish(inside, [{">=": "<=", ">": "<"}.get(op, op), *map(listed, replaced[1:])])
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

    def last_term(self, script: Trees, total: object) -> list[str]:
        node = tree(total)
        _, (body, name, low, high) = split(node)
        index, at = str(name), script.at
        if at.known(at.of(low) - at.of(high), ">"):
            return self.no_term(script, total)
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

    def no_term(self, script: Trees, total: object) -> list[str]:
        node = tree(total)
        _, (_, _, low, high) = split(node)
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


def _refuted(data: dict[str, Any], name: str) -> str:
    """A counterexample as a statement that such numbers exist, one for each vector."""
    statement, point = data["statement"], data["counterexample"]
    words = Words({n: "real" if sort == "vector" else sort for n, sort in statement["letters"].items()})
    parts = [f"whole {words.letter(n)}" for n, sort in statement["letters"].items() if sort == "integer"]
    parts += [words.relation(on_a_line(c), tree) for c in statement["hypotheses"]]
    claim = on_a_line(statement["claim"])
    parts.append(f"~ ({words.relation(claim, tree)})")
    exists = "".join(f"exists {words.letter(n)} : Rdefinitions.R, " for n in statement["letters"])
    witnesses = "".join(f" exists {words.scalar(tree(point[n]))}." for n in statement["letters"])
    stated = " /\\\n    ".join(parts)
    return f"Lemma {name} : {exists}\n    {stated}.\nProof.{witnesses} repeat split; witness. Qed."


RULES: dict[str, Callable[..., list[str]]] = {
    "hypothesis": Run.hypothesis, "identity": Run.identity, "known": Run.known, "raise": Run.raised,
    "boxes": Run.numbers, "whole": Run.whole, "cases": Run.cases, "induction": Run.induction,
    "last-term": Run.last_term,
}  # fmt: skip
"""Rule of the checker -> its facts as assertions."""
__all__ = ["PRELUDE", "SUMS", "NotWritten", "Refused", "lemma", "with_prelude"]
