"""Claims with certificates, an evaluator (mpmath) that knows nothing of the checker, and ways to falsify both."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from mpmath import mp

mp.dps = 40
CLAIMS = (
    ("2*sqrt(a*b) <= a + b", "a = [0, oo); b = [0, oo)", ""),
    ("sqrt(4*x) <= 1 + x", "x = [0, oo)", ""),
    ("1/(1 + x) >= 1 - x", "x = (0, oo)", ""),
    ("L*eta/(1 + eta*L) <= 1/4", "L = (0, oo); eta = (0, oo)", "eta <= 1/(4*L)"),
    ("a*b**2/c <= 2*a*b", "a = (0, oo); b = (0, oo); c = (0, oo)", "b <= 2*c"),
    ("kappa**nu <= kappa", "kappa = [1, oo); nu = [0, 1]", ""),
    ("log(1 + x) <= x", "x = (0, oo)", ""),
    ("sum(i, (i, 1, n)) == n*(n + 1)/2", "n = integers 1..", ""),
    ("max(a, b) + min(a, b) == a + b", "a = (0, oo); b = (0, oo)", ""),
    ("x**2 - x*y + y**2 >= 0", "x = (-oo, oo); y = (-oo, oo)", ""),
    ("sqrt(2) + sqrt(3) < 63/20", "", ""),
    ("ell/mu*a <= kappa**2*a", "ell = (0, oo); mu = (0, oo); a = (0, oo); kappa = [1, oo)", "kappa == ell/mu"),
    ("abs(x) <= 1 + x**2", "x = (-oo, oo)", ""),
    ("(1 - t)*x + t*y <= max(x, y)", "t = [0, 1]; x = (-oo, oo); y = (-oo, oo)", ""),
    ("sum(sqrt(i), (i, 1, n)) <= n**(3/2)", "n = integers 1..", ""),
    # powers with letters: two facts raised and multiplied, one of them to 2/nu
    (
        "sqrt(k*S) <= (L/H)**(1/nu)",
        "k = integers 2..; S = (0, oo); L = (0, oo); H = (0, oo); nu = (0, 1]",
        "k**(4 + nu)*H**2*S**nu <= L**2",
    ),
    ("M*d**nu + r <= M*D**nu + r", "M = [0, oo); d = (0, oo); D = (0, oo); nu = [0, 1]; r = [0, oo)", "d <= D"),
    ("a**(2 + nu) + b**(2 + nu) <= (a**2 + b**2)**(1 + nu/2)", "a = (0, oo); b = (0, oo); nu = [0, 1]", ""),
    ("1 - 2/(sqrt(a) + 1) <= 1 - 2/(sqrt(3*b) + 1)", "a = [1, oo); b = [1, oo)", "a <= 3*b"),
    ("20*10**(-n) <= 2", "n = integers 1..3", ""),
    # exponents with two denominators
    ("(T**(-(2*r - 2)/(2*r - 1)))**(r/(r - 1)) <= 1/T**(2*r/(2*r - 1))", "T = (0, oo); r = [2, oo)", ""),
    # a maximum in a claim, one in a denominator, a ceiling there
    ("max(1/(2*c), (a - b)/a) <= 1", "a = (0, oo); b = (0, oo); c = [1, oo)", "b <= a"),
    ("D/min(a, b) <= D/a", "D = [0, oo); a = (0, oo); b = (0, oo)", "a <= b/2"),
    ("1/ceil(K/3) <= 3/K", "K = integers 1..", ""),
    # squares that only a raised fact or a range calls for; both sides squared
    ("g**2/k <= 2*h**2/k + 2*s**2", "g = [0, oo); h = [0, oo); s = [0, oo); k = integers 1..", "g <= h + s"),
    ("L*a*(1 - a)/2 <= 1/(32*eta)", "L = (0, oo); eta = (0, oo); a = [0, 1]", "eta <= 1/(4*L)"),
    ("c <= 2*B", "B = (0, oo); c = [0, oo); a = [0, oo); b = [0, oo)", "2*(a**2 + b**2) <= B**2; b >= 3/4*(c - 2*a)"),
)
"""Formula, ranges, hypotheses: true ones, each by another rule."""
FLIPS = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "==": "<"}


def value(node: Any, at: dict[str, Any]) -> Any:
    """A tree of a certificate in 40 digits."""
    if isinstance(node, int):
        return mp.mpf(node)
    if isinstance(node, str):
        if node in at:
            return at[node]
        top, _, bottom = node.partition("/")
        return {"pi": +mp.pi, "E": +mp.e}.get(node) or mp.mpf(int(top)) / int(bottom or 1)
    head, *parts = node
    if head in ("sum", "prod"):
        body, index, low, high = parts
        first, last = (int(mp.nint(value(end, at))) for end in (low, high))
        terms = [value(body, {**at, index: mp.mpf(i)}) for i in range(first, last + 1)]
        return mp.fsum(terms) if head == "sum" else mp.fprod(terms)
    if head == "if":
        return value(parts[1] if holds(parts[0], at) else parts[2], at)
    numbers = [value(part, at) for part in parts]
    many = {"+": mp.fsum, "*": mp.fprod, "max": max, "min": min}
    if head in many:
        return many[head](numbers)
    if (head == "sqrt" and numbers[0] < 0) or (head == "log" and numbers[0] <= 0):
        raise ValueError(head)
    if head in ("neg", "abs", "plus"):
        return {"neg": -numbers[0], "abs": abs(numbers[0]), "plus": max(numbers[0], mp.mpf(0))}[head]
    if head == "^" and numbers[0] < 0 and not mp.isint(numbers[1]):
        raise ValueError("a real power")
    two = {"/": lambda a, b: a / b, "^": lambda a, b: a**b, "mod": lambda a, b: a % b}
    return two[head](*numbers) if head in two else getattr(mp, head)(numbers[0])


def size(node: Any, at: dict[str, Any]) -> Any:
    """The value with every term counted as positive: rounding errors of the value are some 1e-40 of it."""
    head, *parts = node if isinstance(node, list) else [""]
    if head in ("+", "*"):
        return (mp.fsum if head == "+" else mp.fprod)([size(part, at) for part in parts])
    if head in ("neg", "abs", "plus", "max", "min"):
        return max(size(part, at) for part in parts)
    if head == "/":
        return size(parts[0], at) / abs(value(parts[1], at))
    if head in ("^", "sqrt") and (exponent := value(parts[1], at) if head == "^" else mp.mpf("0.5")) > 0:
        return size(parts[0], at) ** exponent
    return abs(value(node, at))


def margin(relation: Any, at: dict[str, Any]) -> Any:
    """How far a relation is from failing, relative to its sides (an equality to its terms); negative where it fails."""
    op, left, right = relation
    a, b = value(left, at), value(right, at)
    sides = (size(left, at), size(right, at)) if op == "==" else (abs(a), abs(b))
    scale = max(*sides, mp.mpf(10) ** -60)
    gap = (b - a) / scale if op in ("<=", "<") else (a - b) / scale
    return -abs(b - a) / scale if op == "==" else gap


def holds(condition: Any, at: dict[str, Any]) -> bool:
    """Whether a condition holds in 40 digits."""
    if condition[0] in ("and", "or"):
        return (all if condition[0] == "and" else any)(holds(part, at) for part in condition[1:])
    gap = margin(condition, at)
    return abs(gap) < mp.mpf(10) ** -30 if condition[0] == "==" else gap > 0 or (gap == 0 and len(condition[0]) == 2)


def points(statement: dict[str, Any], draw: random.Random, tries: int) -> Iterator[dict[str, Any]]:
    """Points of the letters where all hypotheses hold; letters that an equality determines follow it."""
    conditions = [c for c in statement["hypotheses"] if c[0] not in ("and", "or")]
    fixed = {c[1]: c[2] for c in conditions if c[0] == "==" and isinstance(c[1], str) and c[1] in statement["letters"]}
    ends = [v for c in conditions for side in c[1:] if (v := _number(side)) is not None]
    for _ in range(tries):
        at: dict[str, Any] = {}
        for name, sort in statement["letters"].items():
            near = draw.choice([0.0, 1.0, *ends])
            size = draw.choice([draw.random(), 10 ** draw.uniform(-3, 3), 1.0])
            x = float(near) + draw.choice([1, 1, -1]) * size
            at[name] = mp.mpf(round(x) + draw.choice([0, 1, 2])) if sort == "integer" else mp.mpf(x)
        try:
            for name, formula in fixed.items():
                at[name] = value(formula, at)
            if all(holds(c, at) for c in statement["hypotheses"]):
                yield at
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, KeyError):
            continue


def _number(node: Any) -> Any:
    try:
        return value(node, {})
    except (KeyError, ValueError, TypeError, ZeroDivisionError):
        return None


def violated(statement: dict[str, Any], draw: random.Random, tries: int = 400) -> dict[str, Any] | None:
    """A point at which the claim fails by far more than rounding."""
    for at in points(statement, draw, tries):
        try:
            if margin(statement["claim"], at) < -(mp.mpf(10) ** -9):
                return at
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, KeyError):
            continue
    return None


def mutants(data: dict[str, Any], draw: random.Random, number: int) -> Iterator[dict[str, Any]]:
    """Certificates with a statement that was changed in one place, the proof with the same change where it can be."""
    for _ in range(number):
        found = copy.deepcopy(data)
        statement = found["statement"]
        kind = draw.choice(["flip", "number", "drop", "sign", "swap", "number", "number"])
        if kind == "flip":
            statement["claim"][0] = FLIPS[statement["claim"][0]]
        elif kind == "drop" and statement["hypotheses"]:
            place = draw.randrange(len(statement["hypotheses"]))
            statement["hypotheses"][place] = ["<=", 0, 1]
        elif kind == "swap":
            statement["claim"][1:] = statement["claim"][:0:-1]
        else:
            before = copy.deepcopy(statement["claim"])
            side = draw.choice([1, 2])
            statement["claim"][side] = _changed(statement["claim"][side], draw, kind)
            found["proof"] = _replaced(found["proof"], before, statement["claim"])
        if found["statement"] != data["statement"]:
            yield found


def _changed(node: Any, draw: random.Random, kind: str) -> Any:
    if isinstance(node, list):
        places = list(range(1, len(node)))
        if node[0] in ("sum", "prod"):
            places = [1, 4]
        place = draw.choice(places)
        if kind == "sign" and node[0] == "+":
            return [*node[:place], ["neg", node[place]], *node[place + 1 :]]
        return [*node[:place], _changed(node[place], draw, kind), *node[place + 1 :]]
    return draw.choice([["*", 2, node], ["*", "1/2", node], ["+", node, 1], ["neg", node], ["*", "11/10", node]])


def _replaced(node: Any, before: Any, after: Any) -> Any:
    if node == before:
        return after
    if isinstance(node, list):
        return [_replaced(part, before, after) for part in node]
    return node


def damaged(data: dict[str, Any], draw: random.Random, number: int) -> Iterator[dict[str, Any]]:
    """Certificates of which the identity that shows the claim has one wrong coefficient."""
    places = [i for i, line in enumerate(data["proof"]) if line[0] == "identity" and line[2]]
    for _ in range(number if places else 0):
        found = copy.deepcopy(data)
        line = found["proof"][places[-1]]
        part = draw.choice(line[2])
        part[0] = draw.choice([["*", "3/2", part[0]], ["neg", part[0]], ["+", part[0], 1], ["*", 2, part[0]]])
        yield found
