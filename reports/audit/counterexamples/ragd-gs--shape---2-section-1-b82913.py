"""terms of a sum: a vector and a number

(2), section 1. Exit status 0: the finding is shown; 1: it is not. Needs Python alone.
"""
import sys

PRINTED = ['\\begin{aligned} \\nabla \\varphi(x) &= \\nabla_x f(x, y) + \\nabla_y f(x, y^*(x)) \\nabla_y^2 g(x, y^*(x))^{-1} \\nabla_y f(x, y^*(x)) \\\\ &= \\nabla_x f(x, y^*(x)) - \\nabla_{xy}^2 g(x, y^*(x)) [\\nabla_{yy}^2 g(x, y^*(x))]^{-1} \\nabla_y f(x, y^*(x)). \\end{aligned}']
TREES = [('Call', 'grad_phi', (('Letter', 'x'),)), ('Add', (('Call', 'grad_x_f', (('Letter', 'x'), ('Letter', 'y'))), ('MatrixMultiply', ('MatrixMultiply', ('Call', 'grad_y_f', (('Letter', 'x'), ('Call', 'y_star', (('Letter', 'x'),)))), ('Call', 'inv', (('Call', 'hess_yy_g', (('Letter', 'x'), ('Call', 'y_star', (('Letter', 'x'),)))),))), ('Call', 'grad_y_f', (('Letter', 'x'), ('Call', 'y_star', (('Letter', 'x'),))))))), ('Add', (('Call', 'grad_x_f', (('Letter', 'x'), ('Call', 'y_star', (('Letter', 'x'),)))), ('Negate', ('MatrixMultiply', ('MatrixMultiply', ('Call', 'hess_xy_g', (('Letter', 'x'), ('Call', 'y_star', (('Letter', 'x'),)))), ('Call', 'inv', (('Call', 'hess_yy_g', (('Letter', 'x'), ('Call', 'y_star', (('Letter', 'x'),)))),))), ('Call', 'grad_y_f', (('Letter', 'x'), ('Call', 'y_star', (('Letter', 'x'),))))))))]  # the formulas as they were read: (what, parts ...)


def walk(t):
    if isinstance(t, tuple):
        yield t
        for part in t:
            yield from walk(part)


def letters(t):
    return {p[1] for p in walk(t) if p and p[0] in ("Letter", "Index")}


print("\n".join(PRINTED))

KINDS = {'grad_phi': 'vector', 'grad_x_f': 'vector', 'grad_y_f': 'vector', 'hess_xy_g': 'matrix', 'hess_yy_g': 'matrix', 'y_star': 'vector'}  # what the paper says that its letters and functions are
PRODUCTS = {("vector", "matrix"): "row", ("row", "matrix"): "row", ("row", "vector"): "number",
            ("matrix", "vector"): "vector", ("matrix", "matrix"): "matrix"}
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
            found.append(f"an inner product of a {inside[0]} and a {inside[1]}")
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
        if len(set(known) - {"row"}) > 1:
            found.append(f"terms of a sum: {', '.join(str(part) for part in parts)}")
        return known[0] if known else None
    for part in t[1:]:
        if isinstance(part, tuple) and part:
            kind(part)
    return None


for tree in TREES:
    kind(tree)

print("\n".join(found) or "not shown")
sys.exit(not found)
