"""A script for a finding: the printed formula as a tree, and a check of it that needs Python alone.

The tree is what was read; the script walks it by itself, so that a reader can compare it with the quotation beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.derivatives import split_name, value_kind
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.source import Paper, Sentence

HEAD = '''"""{title}

{place}. Exit status 0: the finding is shown; 1: it is not. Needs Python alone.
"""
import sys

PRINTED = {printed!r}
TREES = {trees!r}  # the formulas as they were read: (what, parts ...)


def walk(t):
    if isinstance(t, tuple):
        yield t
        for part in t:
            yield from walk(part)


def letters(t):
    return {{p[1] for p in walk(t) if p and p[0] in ("Letter", "Index")}}


print("\\n".join(PRINTED))
'''
BOUND = '''
def shown(t, outside=()):
    """Sums over a letter over which a sum around them runs already."""
    if not isinstance(t, tuple) or not t:
        return
    if t[0] == "Call" and t[1] in ("sum", "prod") and t[2][-1][0] == "Tuple":
        name = t[2][-1][1][0][1]
        if name in outside:
            yield f"the index {name} is bound by a sum inside a sum over {name}"
        for part in t[2][:-1]:
            yield from shown(part, (*outside, name))
        return
    for part in t:
        yield from shown(part, outside)


found = [line for t in TREES for line in shown(t)]
'''
OWN_END = """
spans = [t[2][-1][1] for tree in TREES for t in walk(tree)
         if t and t[0] == "Call" and t[1] in ("sum", "prod") and t[2][-1][0] == "Tuple" and len(t[2][-1][1]) == 3]
found = [f"the index {s[0][1]} stands in an end of its own range" for s in spans if s[0][1] in letters(s[1:])]
"""
BOTH = """
sums = {t[2][-1][1][0][1] for tree in TREES for t in walk(tree)
        if t and t[0] == "Call" and t[1] in ("sum", "prod") and t[2][-1][0] == "Tuple"}
factors = {p[1] for tree in TREES for t in walk(tree) if t and t[0] in ("Multiply", "Divide")
           for part in t[1:] for p in (part if part and isinstance(part[0], tuple) else (part,)) if p[0] == "Letter"}
found = [f"{name} is the index of a sum and a factor" for name in sorted(sums & factors)]
"""
BELOW = '''
def value(t, at):
    """A whole number made of numbers and one letter; None for anything else."""
    if t[0] == "Number":
        return t[1]
    if t[0] == "Letter":
        return at.get(t[1])
    if t[0] in ("Negate", "Add"):
        parts = [value(p, at) for p in (t[1:] if t[0] == "Negate" else t[1])]
        return None if None in parts else -parts[0] if t[0] == "Negate" else sum(parts)
    return None


LOWEST = {lowest!r}  # the lowest entry that a display or a line of an algorithm gives
found = []
for tree in TREES:
    for t in walk(tree):
        if t and t[0] == "Call" and t[2] and t[2][-1][0] == "Tuple" and len(t[2][-1][1]) == 3:
            letter, low = t[2][-1][1][0][1], value(t[2][-1][1][1], {{}})
            for p in walk(t[2][:-1]):
                if p and p[0] == "Index" and p[1] in LOWEST and low is not None:
                    entry = value(p[2][-1], {{letter: low}})
                    if entry is not None and entry < LOWEST[p[1]]:
                        found.append(f"at {{letter}} = {{low}} the range needs {{p[1]}}[{{entry}}]; "
                                     f"the lowest entry is {{p[1]}}[{{LOWEST[p[1]]}}]")
'''
ONCE = """
INDEX = {name!r}


def free(t):  # how often the letter stands in a formula, sums over it left out
    if not isinstance(t, tuple):
        return 0
    if len(t) > 2 and t[0] == "Call" and t[2] and t[2][-1][0] == "Tuple" and ("Letter", INDEX) in walk(t[2][-1][1][0]):
        return 0
    return (t == ("Letter", INDEX)) + sum(free(part) for part in t)


count = sum(free(tree) for tree in TREES)
found = [f"the index {{INDEX}} stands once in these {{len(TREES)}} formulas"] if count == 1 else []
"""
SHAPES = '''
KINDS = {kinds!r}  # what the paper says that its letters and functions are
PRODUCTS = {{("vector", "matrix"): "row", ("row", "matrix"): "row", ("row", "vector"): "number",
            ("matrix", "vector"): "vector", ("matrix", "matrix"): "matrix"}}
found = []


def kind(t):
    """number, vector or matrix; None where it is not known."""
    what = t[0]
    if what in ("Letter", "Index"):
        return KINDS.get(t[1])
    if what == "Number":
        return "number"
    if what == "Call":
        inside = [kind(part) for part in t[2] if part and part[0] != "Tuple"]
        if t[1] == "dot" and None not in inside and len(set(inside)) > 1:
            found.append(f"an inner product of a {{inside[0]}} and a {{inside[1]}}")
        if t[1] in ("norm", "dot", "abs", "frobenius"):
            return "number"
        return inside[0] if t[1] in ("sum", "inv", "T") and inside else KINDS.get(t[1])
    if what in ("Negate", "Power"):
        return kind(t[1])
    if what == "Divide":
        return kind(t[1])
    if what in ("Multiply", "MatrixMultiply"):
        parts = [kind(part) for part in (t[1] if what == "Multiply" else t[1:])]
        lines = [part for part in parts if part != "number"]
        whole = lines[0] if lines else "number"
        for part in lines[1:]:
            whole = PRODUCTS.get((whole, part))
        return None if None in parts else whole
    if what == "Add":
        parts = [kind(part) for part in t[1]]
        known = [part for part in parts if part is not None]
        if len(set(known) - {{"row"}}) > 1:
            found.append(f"terms of a sum: {{', '.join(str(part) for part in parts)}}")
        return known[0] if known else None
    for part in t[1:]:
        if isinstance(part, tuple) and part:
            kind(part)
    return None


for tree in TREES:
    kind(tree)
'''
TAIL = """
print("\\n".join(found) or "not shown")
sys.exit(not found)
"""


def script_of(defect: Defect, paper: Paper | None) -> str:
    """A script that shows a finding by itself; empty where there is none for its kind."""
    if paper is None:
        return ""
    mine = [s for s in paper.sentences if s.place == defect.place and (not defect.latex or s.latex == defect.latex)]
    for words, build in CHECKS:
        if words in defect.title and mine and (made := build(defect, paper, mine[0])) is not None:
            sentences, check = made
            trees = [literal(node) for s in sentences for node in s.nodes()]
            printed = [s.latex.strip() for s in sentences]
            head = HEAD.format(title=defect.title, place=defect.place, printed=printed, trees=trees)
            return head + check + TAIL
    return ""


def literal(node: object) -> Any:
    """A tree as nested tuples: what it is, then its parts; columns are left out."""
    if isinstance(node, Fraction):
        return int(node) if node.denominator == 1 else str(node)
    if isinstance(node, tuple):
        return tuple(literal(part) for part in node)
    if is_dataclass(node):
        parts = (getattr(node, f.name) for f in fields(node) if f.compare)
        return (type(node).__name__, *(literal(part) for part in parts))
    return node


Made = tuple[list[Sentence], str]


def _alone(check: str) -> Callable[[Defect, Paper, Sentence], Made | None]:
    return lambda defect, paper, sentence: ([sentence], check)


def _below(defect: Defect, paper: Paper, sentence: Sentence) -> Made | None:
    from bilevel_verify.proofreading.names.ends import beginnings

    used = {p.base for node in sentence.nodes() for p in node.walk() if isinstance(p, tree.Index)}
    lowest = {name: number for name, number in beginnings(paper).items() if name in used}
    return [sentence], BELOW.format(lowest=lowest)


def _both(defect: Defect, paper: Paper, sentence: Sentence) -> Made | None:
    """The sum, and a formula in which the letter is a factor."""
    name = defect.title.partition(" ")[0]
    for other in paper.sentences:
        for node in other.nodes():
            for part in node.walk():
                if isinstance(part, tree.Multiply | tree.Divide) and tree.Letter(name) in tuple(part.children()):
                    return [sentence, other], BOTH
    return None


def _once(defect: Defect, paper: Paper, sentence: Sentence) -> Made | None:
    name = defect.title.removeprefix("the index ").partition(" ")[0]
    return paper.homes[sentence.home], ONCE.format(name=name)


def _shapes(defect: Defect, paper: Paper, sentence: Sentence) -> Made | None:
    """Kinds of the letters and functions of the formula, as the notation of the paper has them."""
    words = {"scalar": "number", "vector": "vector", "matrix": "matrix"}
    kinds: dict[str, str | None] = {}
    for part in (p for node in sentence.nodes() for p in node.walk()):
        name = tree.name_of(part)
        if name:
            role = "letter" if isinstance(part, tree.Letter) else "sequence"
            entry = paper.notation.by_name.get((name, role))
            kinds[name] = words.get(entry.kind) if entry is not None else None
        elif isinstance(part, tree.Call):
            split = split_name(part.function, paper.notation.functions)
            base = paper.notation.by_name.get((split[1] if split else part.function, "function"))
            found = None if base is None else value_kind(base, split[0]) if split else base.kind
            kinds[part.function] = words.get(str(found))
    return [sentence], SHAPES.format(kinds={name: kind for name, kind in sorted(kinds.items()) if kind})


CHECKS: tuple[tuple[str, Callable[[Defect, Paper, Sentence], Made | None]], ...] = (
    ("is bound twice", _alone(BOUND)),
    ("stands in an end of its own range", _alone(OWN_END)),
    ("is a quantity of the paper and the running index", _both),
    ("the range begins with", _below),
    ("stands here once and nowhere else", _once),
    ("terms of a sum: ", _shapes),
    ("an inner product: ", _shapes),
)
"""Words of a title -> the formulas and the check of its script."""
