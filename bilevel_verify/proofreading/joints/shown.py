"""Scripts for joints: both sides as trees, evaluated by Python alone."""

from __future__ import annotations

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.joints.forms import Form, tree_of
from bilevel_verify.proofreading.script import literal

VALUE = """
def value(t, at):
    what = t[0]
    if what == "Number":
        return eval_number(t[1])
    if what == "Letter":
        return at.setdefault(t[1], 1.0)
    if what == "Add":
        return sum(value(p, at) for p in t[1])
    if what == "Negate":
        return -value(t[1], at)
    if what == "Multiply":
        total = 1.0
        for p in t[1]:
            total *= value(p, at)
        return total
    if what == "Divide":
        return value(t[1], at) / value(t[2], at)
    if what == "Power":
        return value(t[1], at) ** value(t[2], at)
    if what == "Call" and t[1] in ("O", "softO", "Theta"):
        return value(t[2][0], at)
    if what == "Call" and t[1] == "sqrt":
        return value(t[2][0], at) ** 0.5
    return at.setdefault(repr(t), 1.0)


def eval_number(x):
    if isinstance(x, str):
        top, bottom = x.split("/")
        return int(top) / int(bottom)
    return float(x)


def letters(t, found):
    if isinstance(t, tuple) and t:
        if t[0] == "Letter":
            found.add(t[1])
        for p in t:
            letters(p, found)
    return found



"""
SIDES = '''"""{title}

{place}. Exit status 0: {says}; 1: not. Needs Python alone.
"""
import random
import sys

ONE = {one!r}  # {what}
OTHER = {other!r}  # {against}
{value}

draw = random.Random(0)
names = sorted((letters(ONE, set()) | letters(OTHER, set())))
ratios = []
for _ in range(4):
    at = {{n: draw.uniform(0.2, 0.9) for n in names}}
    ratios.append(value(OTHER, at) / value(ONE, at))
    print(", ".join(f"{{n}} = {{at[n]:.4f}}" for n in names), "->", f"printed / carried out = {{ratios[-1]:.6g}}")
{verdict}
'''
VARIES = "sys.exit(max(ratios) / min(ratios) < 1 + 1e-9)"
OTHER = "sys.exit(max(abs(r - 1) for r in ratios) < 1e-9)"


def form_script(title: str, place: str, one: Form, other: Form, what: str, against: str) -> str:
    """A script that evaluates both sides at drawn points of their letters; of orders their ratio has to vary.

    An exponent with letters stands there as its value at one point of them.
    """
    hidden = one.order or other.order
    kept = {name for monomial in other.terms for name, _ in monomial}
    seen = {frozenset((n, e) for n, e in m if n in kept): c for m, c in one.terms.items()} if hidden else one.terms
    trees = {"one": literal(tree_of(seen)), "other": literal(tree_of(other.terms))}
    verdict = VARIES if hidden else OTHER
    says = "the two differ by more than a constant factor" if hidden else "the two are not the same"
    return SIDES.format(value=VALUE, title=title, place=place, what=what, against=against, verdict=verdict, says=says,
                        **trees)  # fmt: skip


EQUALITY = '''"""{title}

{place}. Exit status 0: the hypothesis fails at the point, where everything that is assumed holds; 1: not. Needs Python
alone.
"""
import sys

ASSUMED = {assumed!r}  # {assumed_text}: an equality at the point
NEEDED = {needed!r}  # {needed_text}, with the definitions written out
{value}

at = {{}}
at[ASSUMED[0][1]] = value(ASSUMED[1], at)
left, right = value(NEEDED[0], at), value(NEEDED[1], at)
print(", ".join(f"{{n}} = {{v:g}}" for n, v in sorted(at.items())))
print(f"{needed_text}: {{left:.6g}} against {{right:.6g}}")
sys.exit(not left > right * (1 + 1e-9))
'''


def equality_script(title: str, place: str, assumed: tree.Compare, needed: tree.Compare, out: tree.Compare) -> str:
    """A script for ``assumed`` (a letter below something, an equality there) and ``needed``, written out as ``out``."""
    if not isinstance(assumed.operands[0], tree.Letter):
        return ""
    return EQUALITY.format(title=title, place=place, assumed=literal(assumed.operands), assumed_text=to_text(assumed),
                           needed=literal(out.operands), needed_text=to_text(needed), value=VALUE)  # fmt: skip


BELOW_ONE = '''"""{title}

{place}. Exit status 0: the printed bound is below 1 at the point, and a run has at least one epoch; 1: it is not. Needs
Python alone.
"""
import sys

BOUND = {bound!r}  # at most so many epochs
{value}

at = {{}}
value(BOUND, at)
rising = [n for n in sorted(at) if value(BOUND, {{**at, n: 0.5}}) < value(BOUND, at)]
for n in rising[:1]:
    while value(BOUND, at) >= 1:
        at[n] /= 2
print(", ".join(f"{{n}} = {{v:g}}" for n, v in sorted(at.items())))
print(f"bound = {{value(BOUND, at):.6g}}, and a run has at least one epoch")
sys.exit(not value(BOUND, at) < 1)
'''
BETWEEN = '''"""{title}

{place}. Exit status 0: neither case holds at the point; 1: one does. Needs Python alone.
"""
import operator
import sys

HOLDS = {{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}}
THRESHOLD = 1  # the quantity and the threshold of both cases
found = [HOLDS[op](THRESHOLD, THRESHOLD) for op in ({first!r}, {second!r})]
print("where both sides are equal the cases say", found)
sys.exit(any(found))
'''


def below_one_script(title: str, place: str, bound: Form) -> str:
    """A script for a bound on a number of epochs that may be less than the one epoch which every run has."""
    return BELOW_ONE.format(title=title, place=place, bound=literal(tree_of(bound.terms)), value=VALUE)


def between_script(title: str, place: str, first: str, second: str) -> str:
    """A script for two strict cases on one threshold."""
    return BETWEEN.format(title=title, place=place, first=first, second=second)
