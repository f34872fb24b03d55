"""r is a quantity of the paper and the running index of a sum here

formula 295, proof of lemma-9. Exit status 0: the finding is shown; 1: it is not. Needs Python alone.
"""
import sys

PRINTED = ['\\begin{aligned} \\begin{bmatrix} \\mathbf{w}^{k+1} \\\\ \\mathbf{w}^k \\end{bmatrix} &= \\begin{bmatrix} (2-\\theta)(\\mathbf{I} - \\eta\\mathbf{H}) & -(1-\\theta)(\\mathbf{I} - \\eta\\mathbf{H}) \\\\ \\mathbf{I} & 0 \\end{bmatrix} \\begin{bmatrix} \\mathbf{w}^k \\\\ \\mathbf{w}^{k-1} \\end{bmatrix} - \\eta \\begin{bmatrix} (2-\\theta)\\Delta^k \\mathbf{w}^k - (1-\\theta)\\Delta^k \\mathbf{w}^{k-1} \\\\ 0 \\end{bmatrix} \\\\ &= \\mathbf{A} \\begin{bmatrix} \\mathbf{w}^k \\\\ \\mathbf{w}^{k-1} \\end{bmatrix} - \\eta \\begin{bmatrix} \\phi^k \\\\ 0 \\end{bmatrix} = \\mathbf{A}^{k+1} \\begin{bmatrix} \\mathbf{w}^0 \\\\ \\mathbf{w}^0 \\end{bmatrix} - \\eta \\sum_{r=0}^k \\mathbf{A}^{k-r} \\begin{bmatrix} \\phi^r \\\\ 0 \\end{bmatrix}, \\end{aligned}', '\\begin{aligned}f(\\mathbf{x}^{t+1,0}) - f(\\mathbf{x}^{t,K}) &\\leq \\langle \\nabla f(\\mathbf{x}^{t,K}), \\mathbf{x}^{t+1,0} - \\mathbf{x}^{t,K} \\rangle + \\frac{L}{2} \\|\\mathbf{x}^{t+1,0} - \\mathbf{x}^{t,K}\\|^2 \\\\ &= \\langle \\nabla f(\\mathbf{x}^{t,K}), \\xi^t \\rangle + \\frac{L}{2} \\|\\xi^t\\|^2 \\\\ &\\leq \\frac{5Br}{4\\eta} + \\frac{Lr^2}{2} \\leq \\frac{\\theta B^2}{8\\eta K},\\end{aligned}']
TREES = [('Call', 'matrix', (('Tuple', (('Index', 'w', (('Add', (('Letter', 'k'), ('Number', 1))),)),)), ('Tuple', (('Index', 'w', (('Letter', 'k'),)),)))), ('Add', (('MatrixMultiply', ('Call', 'matrix', (('Tuple', (('Multiply', (('Add', (('Number', 2), ('Negate', ('Letter', 'theta')))), ('Add', (('Letter', 'I'), ('Negate', ('Multiply', (('Letter', 'eta'), ('Letter', 'H')))))))), ('Negate', ('Multiply', (('Add', (('Number', 1), ('Negate', ('Letter', 'theta')))), ('Add', (('Letter', 'I'), ('Negate', ('Multiply', (('Letter', 'eta'), ('Letter', 'H'))))))))))), ('Tuple', (('Letter', 'I'), ('Number', 0))))), ('Call', 'matrix', (('Tuple', (('Index', 'w', (('Letter', 'k'),)),)), ('Tuple', (('Index', 'w', (('Add', (('Letter', 'k'), ('Negate', ('Number', 1)))),)),))))), ('Negate', ('Multiply', (('Letter', 'eta'), ('Call', 'matrix', (('Tuple', (('Add', (('Multiply', (('Add', (('Number', 2), ('Negate', ('Letter', 'theta')))), ('MatrixMultiply', ('Index', 'Delta', (('Letter', 'k'),)), ('Index', 'w', (('Letter', 'k'),))))), ('Negate', ('Multiply', (('Add', (('Number', 1), ('Negate', ('Letter', 'theta')))), ('MatrixMultiply', ('Index', 'Delta', (('Letter', 'k'),)), ('Index', 'w', (('Add', (('Letter', 'k'), ('Negate', ('Number', 1)))),)))))))),)), ('Tuple', (('Number', 0),))))))))), ('Add', (('MatrixMultiply', ('Letter', 'A'), ('Call', 'matrix', (('Tuple', (('Index', 'w', (('Letter', 'k'),)),)), ('Tuple', (('Index', 'w', (('Add', (('Letter', 'k'), ('Negate', ('Number', 1)))),)),))))), ('Negate', ('Multiply', (('Letter', 'eta'), ('Call', 'matrix', (('Tuple', (('Index', 'phi', (('Letter', 'k'),)),)), ('Tuple', (('Number', 0),))))))))), ('Add', (('MatrixMultiply', ('Power', ('Letter', 'A'), ('Add', (('Letter', 'k'), ('Number', 1)))), ('Call', 'matrix', (('Tuple', (('Index', 'w', (('Number', 0),)),)), ('Tuple', (('Index', 'w', (('Number', 0),)),))))), ('Negate', ('Multiply', (('Letter', 'eta'), ('Call', 'sum', (('MatrixMultiply', ('Power', ('Letter', 'A'), ('Add', (('Letter', 'k'), ('Negate', ('Letter', 'r'))))), ('Call', 'matrix', (('Tuple', (('Index', 'phi', (('Letter', 'r'),)),)), ('Tuple', (('Number', 0),))))), ('Tuple', (('Letter', 'r'), ('Number', 0), ('Letter', 'k')))))))))), ('Add', (('Call', 'f', (('Index', 'x', (('Add', (('Letter', 't'), ('Number', 1))), ('Number', 0))),)), ('Negate', ('Call', 'f', (('Index', 'x', (('Letter', 't'), ('Letter', 'K'))),))))), ('Add', (('Call', 'dot', (('Call', 'grad_f', (('Index', 'x', (('Letter', 't'), ('Letter', 'K'))),)), ('Add', (('Index', 'x', (('Add', (('Letter', 't'), ('Number', 1))), ('Number', 0))), ('Negate', ('Index', 'x', (('Letter', 't'), ('Letter', 'K')))))))), ('Multiply', (('Divide', ('Letter', 'L'), ('Number', 2)), ('Power', ('Call', 'norm', (('Add', (('Index', 'x', (('Add', (('Letter', 't'), ('Number', 1))), ('Number', 0))), ('Negate', ('Index', 'x', (('Letter', 't'), ('Letter', 'K')))))),)), ('Number', 2)))))), ('Add', (('Call', 'dot', (('Call', 'grad_f', (('Index', 'x', (('Letter', 't'), ('Letter', 'K'))),)), ('Index', 'xi', (('Letter', 't'),)))), ('Multiply', (('Divide', ('Letter', 'L'), ('Number', 2)), ('Power', ('Call', 'norm', (('Index', 'xi', (('Letter', 't'),)),)), ('Number', 2)))))), ('Add', (('Divide', ('Multiply', (('Number', 5), ('Letter', 'B'), ('Letter', 'r'))), ('Multiply', (('Number', 4), ('Letter', 'eta')))), ('Divide', ('Multiply', (('Letter', 'L'), ('Power', ('Letter', 'r'), ('Number', 2)))), ('Number', 2)))), ('Divide', ('Multiply', (('Letter', 'theta'), ('Power', ('Letter', 'B'), ('Number', 2)))), ('Multiply', (('Number', 8), ('Letter', 'eta'), ('Letter', 'K'))))]  # the formulas as they were read: (what, parts ...)


def walk(t):
    if isinstance(t, tuple):
        yield t
        for part in t:
            yield from walk(part)


def letters(t):
    return {p[1] for p in walk(t) if p and p[0] in ("Letter", "Index")}


print("\n".join(PRINTED))

sums = {t[2][-1][1][0][1] for tree in TREES for t in walk(tree)
        if t and t[0] == "Call" and t[1] in ("sum", "prod") and t[2][-1][0] == "Tuple"}
factors = {p[1] for tree in TREES for t in walk(tree) if t and t[0] in ("Multiply", "Divide")
           for part in t[1:] for p in (part if part and isinstance(part[0], tuple) else (part,)) if p[0] == "Letter"}
found = [f"{name} is the index of a sum and a factor" for name in sorted(sums & factors)]

print("\n".join(found) or "not shown")
sys.exit(not found)
