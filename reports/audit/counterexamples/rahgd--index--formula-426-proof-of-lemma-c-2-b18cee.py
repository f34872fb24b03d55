"""the index i is bound twice: by a sum inside a sum over the same letter

formula 426, proof of lemma-c-2. Exit status 0: the finding is shown; 1: it is not. Needs Python alone.
"""
import sys

PRINTED = ['\\quad\\left\\|\\eta\\begin{pmatrix}{\\bf I}&0\\end{pmatrix}\\sum_{i=0}^{k}{\\bf A}^{k-i}\\begin{pmatrix}\\omega_{i}\\\\ 0\\end{pmatrix}\\right\\|_{2} \\\\\n\\leq\\eta\\sum_{i=0}^{k}\\left\\|\\begin{pmatrix}{\\bf I}&0\\end{pmatrix}\\sum_{i=0}^{k}{\\bf A}^{k-i}\\begin{pmatrix}{\\bf I}\\\\ 0\\end{pmatrix}\\right\\|_{2}\\left\\|\\omega_{i}\\right\\|_{2} \\\\\n\\leq\\eta\\sum_{i=0}^{k}\\left\\|\\begin{pmatrix}{\\bf I}&0\\end{pmatrix}\\sum_{i=0}^{k}{\\bf A}^{k-i}\\begin{pmatrix}{\\bf I}\\\\ 0\\end{pmatrix}\\right\\|_{2}\\left(18\\tilde{\\rho}B\\left\\|\\begin{pmatrix}{\\bf I}&0\\end{pmatrix}{\\bf A}^{i}\\begin{pmatrix}z_{0}\\\\ z_{0}\\end{pmatrix}\\right\\|_{2}+2\\sigma\\right) \\\\\n\\overset{({\\rm a})}{=}\\eta\\sum_{i=0}^{k}|a_{k-i}|\\ (\\ 18\\tilde{\\rho}Br_{0}|a_{i}-b_{i}|+2\\sigma) \\\\\n\\overset{({\\rm b})}{\\leq}\\eta\\sum_{i=0}^{k}|a_{k-i}|\\ (\\ 20\\tilde{\\rho}Br_{0}|a_{i}-b_{i}|) \\\\\n\\overset{({\\rm c})}{\\leq}20\\tilde{\\rho}B\\eta\\sum_{i=0}^{k}\\left(\\frac{2}{\\theta}+k+1\\right)|a_{k+1}-b_{k+1}|r_{0} \\\\\n\\leq 20\\tilde{\\rho}B\\eta K\\left(\\frac{2}{\\theta}+K\\right)\\left\\|\\begin{pmatrix}{\\bf I}&0\\end{pmatrix}{\\bf A}^{k+1}\\begin{pmatrix}z_{0}\\\\ z_{0}\\end{pmatrix}\\right\\|_{2}\\ ,']
TREES = [('Call', 'norm', (('Multiply', (('Letter', 'eta'), ('MatrixMultiply', ('Call', 'matrix', (('Tuple', (('Letter', 'I'), ('Number', 0))),)), ('Call', 'sum', (('MatrixMultiply', ('Power', ('Letter', 'A_bf'), ('Add', (('Letter', 'k'), ('Negate', ('Letter', 'i'))))), ('Call', 'matrix', (('Tuple', (('Index', 'omega', (('Letter', 'i'),)),)), ('Tuple', (('Number', 0),))))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Letter', 'k')))))))),)), ('Multiply', (('Letter', 'eta'), ('Call', 'sum', (('Multiply', (('Call', 'norm', (('MatrixMultiply', ('Call', 'matrix', (('Tuple', (('Letter', 'I'), ('Number', 0))),)), ('Call', 'sum', (('MatrixMultiply', ('Power', ('Letter', 'A_bf'), ('Add', (('Letter', 'k'), ('Negate', ('Letter', 'i'))))), ('Call', 'matrix', (('Tuple', (('Letter', 'I'),)), ('Tuple', (('Number', 0),))))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Letter', 'k')))))),)), ('Call', 'norm', (('Index', 'omega', (('Letter', 'i'),)),)))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Letter', 'k'))))))), ('Multiply', (('Letter', 'eta'), ('Call', 'sum', (('Multiply', (('Call', 'norm', (('MatrixMultiply', ('Call', 'matrix', (('Tuple', (('Letter', 'I'), ('Number', 0))),)), ('Call', 'sum', (('MatrixMultiply', ('Power', ('Letter', 'A_bf'), ('Add', (('Letter', 'k'), ('Negate', ('Letter', 'i'))))), ('Call', 'matrix', (('Tuple', (('Letter', 'I'),)), ('Tuple', (('Number', 0),))))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Letter', 'k')))))),)), ('Add', (('Multiply', (('Number', 18), ('Letter', 'rho_tilde'), ('Letter', 'B'), ('Call', 'norm', (('MatrixMultiply', ('MatrixMultiply', ('Call', 'matrix', (('Tuple', (('Letter', 'I'), ('Number', 0))),)), ('Power', ('Letter', 'A_bf'), ('Letter', 'i'))), ('Call', 'matrix', (('Tuple', (('Index', 'z', (('Number', 0),)),)), ('Tuple', (('Index', 'z', (('Number', 0),)),))))),)))), ('Multiply', (('Number', 2), ('Letter', 'sigma'))))))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Letter', 'k'))))))), ('Multiply', (('Letter', 'eta'), ('Call', 'sum', (('Multiply', (('Call', 'abs', (('Index', 'a', (('Add', (('Letter', 'k'), ('Negate', ('Letter', 'i')))),)),)), ('Add', (('Multiply', (('Number', 18), ('Letter', 'rho_tilde'), ('Letter', 'B'), ('Letter', 'r_0'), ('Call', 'abs', (('Add', (('Index', 'a', (('Letter', 'i'),)), ('Negate', ('Index', 'b', (('Letter', 'i'),))))),)))), ('Multiply', (('Number', 2), ('Letter', 'sigma'))))))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Letter', 'k'))))))), ('Multiply', (('Letter', 'eta'), ('Call', 'sum', (('Multiply', (('Call', 'abs', (('Index', 'a', (('Add', (('Letter', 'k'), ('Negate', ('Letter', 'i')))),)),)), ('Number', 20), ('Letter', 'rho_tilde'), ('Letter', 'B'), ('Letter', 'r_0'), ('Call', 'abs', (('Add', (('Index', 'a', (('Letter', 'i'),)), ('Negate', ('Index', 'b', (('Letter', 'i'),))))),)))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Letter', 'k'))))))), ('Multiply', (('Number', 20), ('Letter', 'rho_tilde'), ('Letter', 'B'), ('Letter', 'eta'), ('Call', 'sum', (('Multiply', (('Add', (('Divide', ('Number', 2), ('Letter', 'theta')), ('Letter', 'k'), ('Number', 1))), ('Call', 'abs', (('Add', (('Index', 'a', (('Add', (('Letter', 'k'), ('Number', 1))),)), ('Negate', ('Index', 'b', (('Add', (('Letter', 'k'), ('Number', 1))),))))),)), ('Letter', 'r_0'))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Letter', 'k'))))))), ('Multiply', (('Number', 20), ('Letter', 'rho_tilde'), ('Letter', 'B'), ('Letter', 'eta'), ('Letter', 'K'), ('Add', (('Divide', ('Number', 2), ('Letter', 'theta')), ('Letter', 'K'))), ('Call', 'norm', (('MatrixMultiply', ('MatrixMultiply', ('Call', 'matrix', (('Tuple', (('Letter', 'I'), ('Number', 0))),)), ('Power', ('Letter', 'A_bf'), ('Add', (('Letter', 'k'), ('Number', 1))))), ('Call', 'matrix', (('Tuple', (('Index', 'z', (('Number', 0),)),)), ('Tuple', (('Index', 'z', (('Number', 0),)),))))),))))]  # the formulas as they were read: (what, parts ...)


def walk(t):
    if isinstance(t, tuple):
        yield t
        for part in t:
            yield from walk(part)


def letters(t):
    return {p[1] for p in walk(t) if p and p[0] in ("Letter", "Index")}


print("\n".join(PRINTED))

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

print("\n".join(found) or "not shown")
sys.exit(not found)
