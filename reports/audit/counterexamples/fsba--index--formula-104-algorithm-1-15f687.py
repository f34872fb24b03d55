"""the index t stands here once and nowhere else; z_v is indexed by k

formula 104, algorithm-1. Exit status 0: the finding is shown; 1: it is not. Needs Python alone.
"""
import sys

PRINTED = ['\\left(h(\\cdot),\\bm{z}_{0},K,\\eta,\\theta\\right)', '\\tilde{\\bm{z}}_{0}=\\bm{z}_{0}', 'k=0', 'K-1', '{\\bm{z}}_{k+1}=\\tilde{\\bm{z}}_{k}-\\eta\\nabla h\\left(\\tilde{\\bm{z}}_{k}\\right)', '\\tilde{\\bm{z}}_{k+1}=\\bm{z}_{t+1}+\\theta\\left(\\bm{z}_{k+1}-\\bm{z}_{k}\\right)', '{\\bm{z}}_{K}']
TREES = [('Tuple', (('Call', 'h', (('Letter', '_'),)), ('Index', 'z_v', (('Number', 0),)), ('Letter', 'K'), ('Letter', 'eta'), ('Letter', 'theta'))), ('Index', 'zt', (('Number', 0),)), ('Index', 'z_v', (('Number', 0),)), ('Letter', 'k'), ('Number', 0), ('Add', (('Letter', 'K'), ('Negate', ('Number', 1)))), ('Index', 'z_v', (('Add', (('Letter', 'k'), ('Number', 1))),)), ('Add', (('Index', 'zt', (('Letter', 'k'),)), ('Negate', ('Multiply', (('Letter', 'eta'), ('Call', 'grad_h', (('Index', 'zt', (('Letter', 'k'),)),))))))), ('Index', 'zt', (('Add', (('Letter', 'k'), ('Number', 1))),)), ('Add', (('Index', 'z_v', (('Add', (('Letter', 't'), ('Number', 1))),)), ('Multiply', (('Letter', 'theta'), ('Add', (('Index', 'z_v', (('Add', (('Letter', 'k'), ('Number', 1))),)), ('Negate', ('Index', 'z_v', (('Letter', 'k'),))))))))), ('Index', 'z_v', (('Letter', 'K'),))]  # the formulas as they were read: (what, parts ...)


def walk(t):
    if isinstance(t, tuple):
        yield t
        for part in t:
            yield from walk(part)


def letters(t):
    return {p[1] for p in walk(t) if p and p[0] in ("Letter", "Index")}


print("\n".join(PRINTED))

INDEX = 't'


def free(t):  # how often the letter stands in a formula, sums over it left out
    if not isinstance(t, tuple):
        return 0
    if len(t) > 2 and t[0] == "Call" and t[2] and t[2][-1][0] == "Tuple" and ("Letter", INDEX) in walk(t[2][-1][1][0]):
        return 0
    return (t == ("Letter", INDEX)) + sum(free(part) for part in t)


count = sum(free(tree) for tree in TREES)
found = [f"the index {INDEX} stands once in these {len(TREES)} formulas"] if count == 1 else []

print("\n".join(found) or "not shown")
sys.exit(not found)
