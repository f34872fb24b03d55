"""an inner product: a matrix and a vector

formula 330, proof of theorem-3-4. Exit status 0: the finding is shown; 1: it is not. Needs Python alone.
"""
import sys

PRINTED = ['\\|\\tilde{\\delta}_{k}\\| & =\\left\\|{\\bf U}^{\\top}\\hat{\\nabla}\\Phi(w_{k})-\\tilde{\\nabla}\\Phi(w_{k})+\\tilde{\\nabla}\\Phi(w_{k})-\\nabla\\phi(\\tilde{w}_{k})\\right\\|_{2} \\\\\n\\leq\\left\\|\\tilde{\\nabla}\\Phi(w_{k})-\\tilde{\\nabla}\\Phi(x_{0})-{\\bf\\Lambda}(\\tilde{w}_{k}-\\tilde{x}_{0})\\right\\|_{2}+\\left\\|{\\bf U}^{\\top}\\hat{\\nabla}\\Phi(w_{k})-\\tilde{\\nabla}\\Phi(w_{k})\\right\\|_{2} \\\\\n=\\left\\|\\nabla\\Phi(w_{k})-\\nabla\\Phi(x_{0})-{\\bf H}(w_{k}-x_{0})\\right\\|_{2}+\\left\\|\\hat{\\nabla}\\Phi(w_{k})-\\nabla\\Phi(w_{k})\\right\\|_{2} \\\\\n\\leq\\left\\|\\int_{0}^{1}\\langle\\nabla^{2}\\Phi(x_{0}+t(w_{k}-x_{0}))-{\\bf H},w_{k}-x_{0}\\rangle\\,{\\rm d}t\\right\\|_{2}+\\sigma \\\\\n\\leq\\frac{\\tilde{\\rho}}{2}\\left\\|w_{k}-x_{0}\\right\\|_{2}^{2}+\\sigma \\\\\n\\leq 2\\tilde{\\rho}B^{2}+\\sigma,']
TREES = [('Call', 'norm', (('Index', 'deltat', (('Letter', 'k'),)),)), ('Call', 'norm', (('Add', (('MatrixMultiply', ('Call', 'T', (('Letter', 'U'),)), ('Call', 'hat_grad_Phi', (('Index', 'w', (('Letter', 'k'),)),))), ('Negate', ('Call', 'tilde_grad_Phi', (('Index', 'w', (('Letter', 'k'),)),))), ('Call', 'tilde_grad_Phi', (('Index', 'w', (('Letter', 'k'),)),)), ('Negate', ('Call', 'grad_phi', (('Index', 'wt', (('Letter', 'k'),)),))))),)), ('Add', (('Call', 'norm', (('Add', (('Call', 'tilde_grad_Phi', (('Index', 'w', (('Letter', 'k'),)),)), ('Negate', ('Call', 'tilde_grad_Phi', (('Index', 'x', (('Number', 0),)),))), ('Negate', ('MatrixMultiply', ('Letter', 'Lambda'), ('Add', (('Index', 'wt', (('Letter', 'k'),)), ('Negate', ('Index', 'xt', (('Number', 0),))))))))),)), ('Call', 'norm', (('Add', (('MatrixMultiply', ('Call', 'T', (('Letter', 'U'),)), ('Call', 'hat_grad_Phi', (('Index', 'w', (('Letter', 'k'),)),))), ('Negate', ('Call', 'tilde_grad_Phi', (('Index', 'w', (('Letter', 'k'),)),))))),)))), ('Add', (('Call', 'norm', (('Add', (('Call', 'grad_Phi', (('Index', 'w', (('Letter', 'k'),)),)), ('Negate', ('Call', 'grad_Phi', (('Index', 'x', (('Number', 0),)),))), ('Negate', ('MatrixMultiply', ('Letter', 'H'), ('Add', (('Index', 'w', (('Letter', 'k'),)), ('Negate', ('Index', 'x', (('Number', 0),))))))))),)), ('Call', 'norm', (('Add', (('Call', 'hat_grad_Phi', (('Index', 'w', (('Letter', 'k'),)),)), ('Negate', ('Call', 'grad_Phi', (('Index', 'w', (('Letter', 'k'),)),))))),)))), ('Add', (('Call', 'norm', (('Call', 'integral', (('Call', 'dot', (('Add', (('Call', 'hess_Phi', (('Add', (('Index', 'x', (('Number', 0),)), ('Multiply', (('Letter', 't'), ('Add', (('Index', 'w', (('Letter', 'k'),)), ('Negate', ('Index', 'x', (('Number', 0),))))))))),)), ('Negate', ('Letter', 'H')))), ('Add', (('Index', 'w', (('Letter', 'k'),)), ('Negate', ('Index', 'x', (('Number', 0),))))))), ('Tuple', (('Letter', 't'), ('Number', 0), ('Number', 1))))),)), ('Letter', 'sigma'))), ('Add', (('Multiply', (('Divide', ('Letter', 'rho_tilde'), ('Number', 2)), ('Power', ('Call', 'norm', (('Add', (('Index', 'w', (('Letter', 'k'),)), ('Negate', ('Index', 'x', (('Number', 0),))))),)), ('Number', 2)))), ('Letter', 'sigma'))), ('Add', (('Multiply', (('Number', 2), ('Letter', 'rho_tilde'), ('Power', ('Letter', 'B'), ('Number', 2)))), ('Letter', 'sigma')))]  # the formulas as they were read: (what, parts ...)


def walk(t):
    if isinstance(t, tuple):
        yield t
        for part in t:
            yield from walk(part)


def letters(t):
    return {p[1] for p in walk(t) if p and p[0] in ("Letter", "Index")}


print("\n".join(PRINTED))

KINDS = {'B': 'number', 'H': 'matrix', 'Lambda': 'matrix', 'U': 'matrix', 'deltat': 'vector', 'grad_Phi': 'vector', 'grad_phi': 'vector', 'hat_grad_Phi': 'vector', 'hess_Phi': 'matrix', 'k': 'number', 'rho_tilde': 'number', 'sigma': 'number', 't': 'number', 'tilde_grad_Phi': 'vector', 'w': 'vector', 'wt': 'vector', 'x': 'vector', 'xt': 'vector'}  # what the paper says that its letters and functions are
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
