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

{place}. Exit status 0: the two sides differ by more than a constant factor; 1: they do not. Needs Python alone.
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
SMALLER = "sys.exit(max(abs(r - 1) for r in ratios) < 1e-9)"


def form_script(title: str, place: str, one: Form, other: Form, what: str, against: str) -> str:
    """A script that evaluates both sides at drawn points of their letters; of orders their ratio has to vary.

    An exponent with letters stands there as its value at one point of them.
    """
    hidden = one.order or other.order
    kept = {name for monomial in other.terms for name, _ in monomial}
    seen = {frozenset((n, e) for n, e in m if n in kept): c for m, c in one.terms.items()} if hidden else one.terms
    trees = {"one": literal(tree_of(seen)), "other": literal(tree_of(other.terms))}
    verdict = VARIES if hidden else SMALLER
    return SIDES.format(value=VALUE, title=title, place=place, what=what, against=against, verdict=verdict, **trees)


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
