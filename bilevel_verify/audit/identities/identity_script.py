"""An independent script for a refuted identity: both sides on concrete problems, in NumPy and mpmath alone.

f and g are sums of ridge functions and a quadratic, g strongly convex in y; their derivatives of every order are
written out in closed form, y* comes from Newton's method, and the derivatives of phi, of the penalty function and of
the lower-level solutions are differences of these functions themselves.
"""

from __future__ import annotations

import re

from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Identity
from bilevel_verify.theorems.rewrite import free_letters, substitute

SOURCE = '''"""Both sides of an identity on smooth problems with g strongly convex in y. Needs NumPy and mpmath only."""
import numpy as np
from mpmath import cos, exp, matrix, mp, mpf, pi, sin

mp.dps = 80
STEP = mpf(10) ** -18
LAM = mpf(7)


class Function:
    """A sum of c*h(a . z) and of z . Q z/2, with its derivatives of every order in closed form."""

    def __init__(self, ridges, square):
        self.ridges, self.square = ridges, square

    def tensor(self, z, order):
        value = np.full((len(z),) * order, mpf(0), dtype=object)
        for kind, c, a in self.ridges:
            t = a @ z
            slope = exp(t) if kind == "exp" else (sin if kind == "sin" else cos)(t + order * pi / 2)
            part = np.array(c * slope, dtype=object)
            for _ in range(order):
                part = np.multiply.outer(part, a)
            value = value + part
        if order == 0:
            return value + z @ self.square @ z / 2
        if order == 1:
            return value + self.square @ z
        return value + self.square if order == 2 else value


class Problem:
    """f and g with dx upper and dy lower variables; coefficients without a pattern."""

    def __init__(self, dx, dy):
        n, self.dx = dx + dy, dx

        def ridge(seed, scale):
            whole = [(7 * i * i + 5 * seed * i + 3 * seed) % 13 - 6 for i in range(n)]
            return np.array([mpf(k) / scale for k in whole], dtype=object)

        zero, square = (np.full((n, n), mpf(0), dtype=object) for _ in range(2))
        for j in range(dy):
            square[dx + j, dx + j] = mpf(2 * (3 + j))
            for i in range(dx):
                square[i, dx + j] = square[dx + j, i] = mpf((3 * i + 2 * j) % 5 + 1) / 7
        self.f = Function([("sin", 1, ridge(1, 8)), ("exp", 1, ridge(2, 32)), ("cos", mpf(1) / 2, ridge(3, 8))], zero)
        self.g = Function([("sin", mpf(1) / 5, ridge(4, 8)), ("cos", mpf(1) / 6, ridge(6, 8))], square)
        self.dy = dy

    def part(self, letter, blocks, x, y):
        """A block of a derivative: letter f, g or L; blocks such as xyy."""
        z = np.concatenate([x, y])
        cut = tuple(slice(0, self.dx) if b == "x" else slice(self.dx, None) for b in blocks)
        one, two = self.f.tensor(z, len(blocks)), self.g.tensor(z, len(blocks))
        if blocks:
            one, two = one[cut], two[cut]
        return one if letter == "f" else two if letter == "g" else one + LAM * two

    def lowest(self, letter, x):
        """The minimiser over y by Newton's method."""
        y = np.full(self.dy, mpf(0), dtype=object)
        for _ in range(60):
            step = inv(self.part(letter, "yy", x, y)) @ self.part(letter, "y", x, y)
            y = y - step
            if max(abs(entry) for entry in step) < mpf(10) ** -78:
                break
        return y

    def slope(self, function, x):
        """Derivative of a function of x by central differences; the new axis comes first."""
        rows = []
        for i in range(self.dx):
            step = np.full(self.dx, mpf(0), dtype=object)
            step[i] = STEP
            rows.append((function(x + step) - function(x - step)) / (2 * STEP))
        return np.array(rows, dtype=object)

    def v_star(self, x, y):
        return inv(self.part("g", "yy", x, y)) @ self.part("f", "y", x, y)

    def y_star(self, x):
        return self.lowest("g", x)

    def y_star_lam(self, x):
        return self.lowest("L", x)

    def phi(self, x):
        return self.part("f", "", x, self.y_star(x))

    def L_star(self, x):
        y, low = self.y_star_lam(x), self.y_star(x)
        return self.part("f", "", x, y) + LAM * (self.part("g", "", x, y) - self.part("g", "", x, low))

    def grad_phi(self, x):
        return self.slope(self.phi, x)

    def hess_phi(self, x):
        return self.slope(self.grad_phi, x)

    def grad_L_star(self, x):
        return self.slope(self.L_star, x)

    def hess_L_star(self, x):
        return self.slope(self.grad_L_star, x)

    def grad_y_star(self, x):
        return self.slope(self.y_star, x)

    def grad_y_star_lam(self, x):
        return self.slope(self.y_star_lam, x)

    def hess_y_star(self, x):
        return self.slope(self.grad_y_star, x)

    def hess_y_star_lam(self, x):
        return self.slope(self.grad_y_star_lam, x)


def inv(a):
    return np.array((matrix(a.tolist()) ** -1).tolist(), dtype=object)


def mode(tensor, place, a):
    """The tensor multiplied by a along one of its axes (1, 2, 3)."""
    return np.moveaxis(np.tensordot(a, tensor, axes=(1, int(place) - 1)), 0, int(place) - 1)


def add(*parts):
    if len({{np.shape(part) for part in parts}}) > 1:
        raise ValueError("a sum of the shapes " + ", ".join(str(np.shape(part)) for part in parts))
    return sum(parts[1:], parts[0])


def both(p, dx, dy):
{points}
    return {left}, {right}


differs = False
for dx, dy in ((3, 2), (2, 3), (1, 1)):
    try:
        left, right = both(Problem(dx, dy), dx, dy)
        if np.shape(left) != np.shape(right):
            raise ValueError("sides of the shapes %s and %s" % (np.shape(left), np.shape(right)))
        gap = max(abs(value) for value in np.ravel(left - right))
        print("dx = %d, dy = %d: the sides differ by" % (dx, dy), mp.nstr(gap, 10))
        print("  left ", [mp.nstr(value, 12) for value in np.ravel(left)])
        print("  right", [mp.nstr(value, 12) for value in np.ravel(right)])
        differs = differs or gap > mpf(10) ** -12
    except (ValueError, AttributeError) as error:
        print("dx = %d, dy = %d: the shapes do not fit:" % (dx, dy), error)
        differs = True
    if differs:
        break
raise SystemExit(0 if differs else 1)
'''
DERIVATIVE = re.compile(r"(?:grad|hess|third)_([xy]{1,3})_([fgL])\Z")
OBJECTS = frozenset(
    "v_star y_star y_star_lam phi L_star grad_phi hess_phi grad_L_star hess_L_star grad_y_star grad_y_star_lam "
    "hess_y_star hess_y_star_lam".split()
)


def identity_script(form: Identity) -> str | None:
    """Source of the script, None where a side uses something that it does not know."""
    definitions = {name: value.tree for name, value in form.define.items()}
    sides = [substitute(substitute(side.tree, definitions), definitions) for side in (form.left, form.right)]
    letters = sorted(set().union(*(free_letters(side) for side in sides)) - {"lam"})
    try:
        left, right = (_source(side) for side in sides)
        points = [_point(name, number) for number, name in enumerate(letters)]
    except TypeError:
        return None
    return SOURCE.format(points="\n".join(points) or "    pass", left=left, right=right)


def _point(name: str, number: int) -> str:
    if name[:1] not in ("x", "y", "w", "z", "v"):
        raise TypeError(name)
    size = "dx" if name.startswith("x") else "dy"
    value = f"mpf((5 * i + {7 * number + 3}) % 11 - 5) / 8 for i in range({size})"
    return f"    v_{name} = np.array([{value}], dtype=object)"


def _source(node: tree.Node) -> str:
    match node:
        case tree.Number(value=value):
            return f"(mpf({value.numerator})/{value.denominator})"
        case tree.Letter(name=name):
            return "LAM" if name == "lam" else f"v_{name}"
        case tree.Add(terms=terms):
            return f"add({', '.join(_source(t) for t in terms)})"
        case tree.Negate(operand=operand):
            return f"(-{_source(operand)})"
        case tree.Multiply(factors=factors):
            return "(" + " * ".join(_source(f) for f in factors) + ")"
        case tree.Divide(numerator=top, denominator=bottom):
            return f"({_source(top)} / {_source(bottom)})"
        case tree.MatrixMultiply(left=left, right=right):
            return f"({_source(left)} @ {_source(right)})"
        case tree.Call():
            return _call(node)
    raise TypeError(f"no script for {type(node).__name__}")


def _call(node: tree.Call) -> str:
    inner = ", ".join(_source(a) for a in node.arguments)
    if node.function in ("f", "g"):
        return f'p.part("{node.function}", "", {inner})'
    if node.function == "T":
        return f"np.transpose({inner})"
    if node.function in ("inv", "mode"):
        return f"{node.function}({inner})"
    if node.function in OBJECTS:
        return f"p.{node.function}({inner})"
    found = DERIVATIVE.match(node.function)
    if found is None:
        raise TypeError(f"no script for {node.function}")
    return f'p.part("{found[2]}", "{found[1]}", {inner})'
