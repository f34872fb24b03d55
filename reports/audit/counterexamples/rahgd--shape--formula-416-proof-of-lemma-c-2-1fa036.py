"""terms of a sum: a matrix and a number

formula 416, proof of lemma-c-2. Exit status 0: the finding is shown; 1: it is not. Needs Python alone.
"""
import sys

PRINTED = ['\\small\\begin{split}{\\bf\\Omega}_{k}=\\int_{0}^{1}(\\nabla^{2}\\Phi(tw_{k}+(1-t)w_{k}^{\\prime})-K)\\,{\\rm d}t,~{}~{}\\varsigma_{k}^{\\prime}=\\nabla\\Phi(w_{k}^{\\prime})-\\hat{\\nabla}\\Phi(w_{k}^{\\prime})~{}~{}\\text{and}~{}~{}\\varsigma_{k}^{\\prime\\prime}=\\nabla\\Phi(w_{k}^{\\prime\\prime})-\\hat{\\nabla}\\Phi(w_{k}^{\\prime\\prime}).\\end{split}']
TREES = [('Index', 'Omega_bf', (('Letter', 'k'),)), ('Call', 'integral', (('Add', (('Call', 'hess_Phi', (('Add', (('Multiply', (('Letter', 't'), ('Index', 'w', (('Letter', 'k'),)))), ('Multiply', (('Add', (('Number', 1), ('Negate', ('Letter', 't')))), ('Index', 'w_p', (('Letter', 'k'),)))))),)), ('Negate', ('Letter', 'K')))), ('Tuple', (('Letter', 't'), ('Number', 0), ('Number', 1))))), ('Index', 'varsigma_p', (('Letter', 'k'),)), ('Add', (('Call', 'grad_Phi', (('Index', 'w_p', (('Letter', 'k'),)),)), ('Negate', ('Call', 'hat_grad_Phi', (('Index', 'w_p', (('Letter', 'k'),)),))))), ('Index', 'varsigma_pp', (('Letter', 'k'),)), ('Add', (('Call', 'grad_Phi', (('Index', 'w_pp', (('Letter', 'k'),)),)), ('Negate', ('Call', 'hat_grad_Phi', (('Index', 'w_pp', (('Letter', 'k'),)),)))))]  # the formulas as they were read: (what, parts ...)


def walk(t):
    if isinstance(t, tuple):
        yield t
        for part in t:
            yield from walk(part)


def letters(t):
    return {p[1] for p in walk(t) if p and p[0] in ("Letter", "Index")}


print("\n".join(PRINTED))

KINDS = {'K': 'number', 'Omega_bf': 'matrix', 'grad_Phi': 'vector', 'hat_grad_Phi': 'vector', 'hess_Phi': 'matrix', 'k': 'number', 't': 'number', 'varsigma_p': 'vector', 'varsigma_pp': 'vector', 'w': 'vector', 'w_p': 'vector', 'w_pp': 'vector'}  # what the paper says that its letters and functions are
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
