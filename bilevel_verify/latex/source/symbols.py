"""Tables of the LaTeX that papers use: what a command means before anybody asks what a letter means."""

from __future__ import annotations

import re

from bilevel_verify.language import elementary

REASONS = {
    "unbalanced": "a brace, bracket, bar or environment that is not closed, or closed and never opened",
    "macro": "a command that the reader does not know",
    "letter": "a letter that is not declared in the notation",
    "ambiguous": "two readings, both printed",
    "words": "words inside a formula that are neither a separator nor a declared name",
    "missing": "an operand that is missing",
    "script": "a subscript or superscript that the notation does not explain",
    "arguments": "a function without its arguments, or with the wrong number of them",
    "range": "a sum, product, minimum or maximum whose index or range cannot be told",
    "kind": "a product of things that cannot be multiplied",
    "syntax": "a sign that has no place here",
    "too large": "beyond the limits of length, nesting, work or exponent",
    "picture": "a picture or a table, not a formula",
}
"""Every reason for which a formula is not read: the list is closed."""

GREEK = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu xi pi varpi "
    "rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi "
    "Psi Omega ell".split()
)
UNICODE = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩℓ∇∞≤≥∈×·ϵ", (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon varphi chi "
    "psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell nabla infty le ge in times cdot epsilon"
).split(), strict=True))  # fmt: skip

RELATIONS = {
    "<": "<", ">": ">", "=": "==", "le": "<=", "leq": "<=", "leqslant": "<=", "lt": "<", "gt": ">", "ge": ">=",
    "geq": ">=", "geqslant": ">=", "coloneqq": ":=", "triangleq": ":=", "coloneq": ":=", "doteq": ":=",
    "equiv": "equiv",
    "ne": "!=", "neq": "!=", "in": "in", "notin": "not in", "subset": "subset", "subseteq": "subset",
    "succeq": "psd>=", "preceq": "psd<=", "succ": "psd>", "prec": "psd<", "approx": "approx", "simeq": "approx",
    "sim": "distributed",
    "leftarrow": "<-", "gets": "<-", "to": "to", "rightarrow": "to", "propto": "proportional",
    "lesssim": "order<=", "gtrsim": "order>=", "asymp": "order==",
}  # fmt: skip
"""Command or sign -> word of the relation. ``order<=`` holds up to a constant, ``psd<=`` in the Loewner order."""
RELATION_LATEX = {
    "<": "<", ">": ">", "==": "=", "<=": r"\le", ">=": r"\ge", ":=": r"\triangleq", "equiv": r"\equiv", "!=": r"\ne",
    "in": r"\in", "not in": r"\notin", "subset": r"\subset", "psd>=": r"\succeq", "psd<=": r"\preceq",
    "psd>": r"\succ", "psd<": r"\prec", "approx": r"\approx", "distributed": r"\sim", "<-": r"\leftarrow",
    "to": r"\to", "proportional": r"\propto", "order<=": r"\lesssim", "order>=": r"\gtrsim", "order==": r"\asymp",
    ":": ":",
}  # fmt: skip
COMPARABLE = {"<": "<", ">": ">", "==": "==", "<=": "<=", ">=": ">=", ":=": "==", "<-": "=="}
"""Relations that the expression language has; a definition is an equation there."""
CONNECTIVES = {"Leftrightarrow": "iff", "iff": "iff", "Rightarrow": "implies", "implies": "implies"}

ACCENTS = {"hat": "hat", "widehat": "hat", "tilde": "tilde", "widetilde": "tilde", "bar": "bar", "overline": "bar",
           "check": "check", "breve": "breve", "dot": "dot", "vec": "vec"}  # fmt: skip
FONTS = {"mathbf": "mathbf", "bm": "mathbf", "boldsymbol": "mathbf", "mathcal": "mathcal", "mathbb": "mathbb",
         "mathfrak": "mathfrak", "mathscr": "mathscr", "mathsf": "mathsf", "mathit": "", "mathnormal": "",
         "mathrm": "mathrm", "pmb": "mathbf"}  # fmt: skip
SWITCHES = {"bf": "mathbf", "rm": "mathrm", "cal": "mathcal", "it": "", "sf": "mathsf", "bfseries": "mathbf"}
TEXTS = frozenset("text textrm textit textbf textsf texttt mbox hbox textnormal".split())
"""Commands whose argument is running text."""
NAMING = frozenset("operatorname operatorname* textsc".split())

SPACES = frozenset(", ; ! : > /".split()) | frozenset(
    "displaystyle textstyle scriptstyle limits nolimits nonumber notag small large Large normalsize footnotesize "
    "thinspace medspace thickspace negthinspace strut null relax allowbreak ignorespaces mathstrut hfill".split()
)
GAPS = frozenset("quad qquad hskip enspace".split())
DROPPED = frozenset("phantom hphantom vphantom hspace vspace label tag color hspace* vspace* ref eqref cite".split())
"""Commands that go away together with their argument."""

SIZES = frozenset(
    f"{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m")
)  # fmt: skip
DELIMITERS = {
    "(": "(", ")": ")", "[": "[", "]": "]", "|": "|", r"\|": "||", r"\{": "{", r"\}": "}", r"\lceil": "ceil(",
    r"\rceil": "ceil)", r"\lfloor": "floor(", r"\rfloor": "floor)", r"\langle": "dot(", r"\rangle": "dot)",
    r"\vert": "|", r"\lvert": "|(", r"\rvert": "|)", r"\Vert": "||", r"\lVert": "||(", r"\rVert": "||)",
    r"\lbrace": "{", r"\rbrace": "}", r"\lbrack": "[", r"\rbrack": "]",
}  # fmt: skip
CLOSING = {"(": ")", "[": "]", "{": "}", "ceil(": "ceil)", "floor(": "floor)", "dot(": "dot)", "|(": "|)", "||(": "||)",
           "|": "|", "||": "||"}  # fmt: skip

ARGUMENTS = {"frac": 2, "dfrac": 2, "tfrac": 2, "cfrac": 2, "nicefrac": 2, "sfrac": 2, "binom": 2, "tbinom": 2,
             "dbinom": 2, "sqrt": 1, "overset": 2, "underset": 2, "stackrel": 2, "underbrace": 1, "overbrace": 1,
             "boxed": 1, "pmod": 1, **dict.fromkeys(ACCENTS, 1)}  # fmt: skip
FRACTIONS = frozenset("frac dfrac tfrac cfrac nicefrac sfrac".split())

OPERATORS = {"sum": "sum", "prod": "prod", "min": "min", "max": "max", "sup": "sup", "inf": "inf", "int": "integral",
             "argmin": "argmin", "argmax": "argmax"}  # fmt: skip
"""Operators with a range below them."""
NAMED_OPERATORS = frozenset("min max sup inf argmin argmax".split())
"""Those that are typed as words too; an upright ``int`` is no integral."""
ELEMENTARY = {word: one.name for one in elementary.ELEMENTARY.values() for word in one.words}
ELEMENTARY_LATEX = {one.name: one.latex for one in elementary.ELEMENTARY.values() if one.words}
DOTS = frozenset("dots ldots cdots dotsc dotsb vdots".split())
PICTURES = frozenset("includegraphics tikzpicture picture tikz figure tabular tabularx table algorithm".split())
ALIGNED = frozenset(
    "aligned align align* split gather gather* gathered equation equation* eqnarray eqnarray* multline multline* "
    "alignedat alignat alignat* displaymath math subequations flalign flalign*".split()
)
MATRICES = frozenset("matrix pmatrix bmatrix Bmatrix smallmatrix".split())
"""Not ``vmatrix``: its bars are a determinant."""
CASES = frozenset("cases dcases rcases array".split())

WORDS = {
    "and": "and", "or": "or", "where": "where", "with": "where", "for": "for", "for all": "for", "for any": "for",
    "for each": "for", "for every": "for", "for some": "for some", "for each of": "for", "if": "if", "when": "if",
    "whenever": "if", "provided that": "if", "s.t.": "s.t.", "s.t": "s.t.", "s. t.": "s.t.", "subject to": "s.t.",
    "such that": "s.t.", "otherwise": "otherwise", "else": "otherwise", "othersize": "otherwise", "hence": "and",
    "thus": "and", "therefore": "and", "so that": "and", "i.e.": "and", "let": "and", "then": "and", "we have": "and",
    "all": "for", "while": "and", "but": "and", "any": "for", "because": "and", "since": "and",
}  # fmt: skip
"""Words between formulas -> what they do."""
REASON = re.compile(r"\W*(?:by|since|using|due to|because|thanks to|from|see)\s+\S", re.I)
"""Words that say why a line holds, and are no part of it."""
