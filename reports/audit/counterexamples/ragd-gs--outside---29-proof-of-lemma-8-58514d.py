"""the range begins with i = 0, where x[i - 1] is x[-1], which no display and no line of an algorithm gives: the lowest there is x[0]

(29), proof of lemma-8. Exit status 0: the finding is shown; 1: it is not. Needs Python alone.
"""
import sys

PRINTED = ['\\sum_{i=0}^{k-1} \\|x_i - x_{i-1}\\|^{2+\\nu_f} \\leq S_{k-1}^{\\frac{2+\\nu_f}{2}}, \\quad \\sum_{i=0}^{k-1} \\|x_i - x_{i-1}\\|^{2+2\\nu_f} \\leq S_{k-1}^{1+\\nu_f}.']
TREES = [('Call', 'sum', (('Power', ('Call', 'norm', (('Add', (('Index', 'x', (('Letter', 'i'),)), ('Negate', ('Index', 'x', (('Add', (('Letter', 'i'), ('Negate', ('Number', 1)))),))))),)), ('Add', (('Number', 2), ('Letter', 'nu_f')))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Add', (('Letter', 'k'), ('Negate', ('Number', 1)))))))), ('Power', ('Index', 'S', (('Add', (('Letter', 'k'), ('Negate', ('Number', 1)))),)), ('Divide', ('Add', (('Number', 2), ('Letter', 'nu_f'))), ('Number', 2))), ('Call', 'sum', (('Power', ('Call', 'norm', (('Add', (('Index', 'x', (('Letter', 'i'),)), ('Negate', ('Index', 'x', (('Add', (('Letter', 'i'), ('Negate', ('Number', 1)))),))))),)), ('Add', (('Number', 2), ('Multiply', (('Number', 2), ('Letter', 'nu_f')))))), ('Tuple', (('Letter', 'i'), ('Number', 0), ('Add', (('Letter', 'k'), ('Negate', ('Number', 1)))))))), ('Power', ('Index', 'S', (('Add', (('Letter', 'k'), ('Negate', ('Number', 1)))),)), ('Add', (('Number', 1), ('Letter', 'nu_f'))))]  # the formulas as they were read: (what, parts ...)


def walk(t):
    if isinstance(t, tuple):
        yield t
        for part in t:
            yield from walk(part)


def letters(t):
    return {p[1] for p in walk(t) if p and p[0] in ("Letter", "Index")}


print("\n".join(PRINTED))

def value(t, at):
    """A whole number made of numbers and one letter; None for anything else."""
    if t[0] == "Number":
        return t[1]
    if t[0] == "Letter":
        return at.get(t[1])
    if t[0] in ("Negate", "Add"):
        parts = [value(p, at) for p in (t[1:] if t[0] == "Negate" else t[1])]
        return None if None in parts else -parts[0] if t[0] == "Negate" else sum(parts)
    return None


LOWEST = {'x': 0}  # the lowest entry that a display or a line of an algorithm gives
found = []
for tree in TREES:
    for t in walk(tree):
        if t and t[0] == "Call" and t[2] and t[2][-1][0] == "Tuple" and len(t[2][-1][1]) == 3:
            letter, low = t[2][-1][1][0][1], value(t[2][-1][1][1], {})
            for p in walk(t[2][:-1]):
                if p and p[0] == "Index" and p[1] in LOWEST and low is not None:
                    entry = value(p[2][-1], {letter: low})
                    if entry is not None and entry < LOWEST[p[1]]:
                        found.append(f"at {letter} = {low} the range needs {p[1]}[{entry}]; "
                                     f"the lowest entry is {p[1]}[{LOWEST[p[1]]}]")

print("\n".join(found) or "not shown")
sys.exit(not found)
