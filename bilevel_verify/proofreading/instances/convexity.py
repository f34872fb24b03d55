"""The order between the constants of a function that is strongly convex and smooth: ``mu <= L``, printed or not."""

from __future__ import annotations

import re

from bilevel_verify.language import tree
from bilevel_verify.proofreading.source import HOLE, Paper

STRONG = re.compile(r"\s*-?\s*strong(?:ly)?[- ](?:convex|concave|monoton)\w*", re.I)
SMOOTH = re.compile(r"\s*-?\s*(?:smooth|Lipschitz)", re.I)
HESSIAN = re.compile(r"\\nabla(?:_\{?\w+\}?)?\^")
GRADIENT = re.compile(r"\bgradients?\b", re.I)
MOST = 6
"""More pairs of such constants are those of several functions."""


def convexity_orders(paper: Paper) -> tuple[tree.Compare, ...]:
    """``mu <= L`` for what the words call the constants of strong convexity and of a Lipschitz gradient."""
    strong: dict[str, None] = {}
    smooth: dict[str, None] = {}
    for passage in paper.passages:
        pieces = passage.words.split(HOLE)
        if len(pieces) != len(passage.formulas) + 1:
            continue
        for place, sentence in enumerate(passage.formulas):
            nodes, after = list(sentence.nodes()), pieces[place + 1]
            if len(nodes) != 1 or not isinstance(nodes[0], tree.Letter):
                continue
            before = passage.formulas[place - 1].latex if place else ""
            of_gradient = "\\nabla" in before and HESSIAN.search(before) is None
            if STRONG.match(after):
                strong[nodes[0].name] = None
            elif SMOOTH.match(after) and (of_gradient or "mooth" in after[:10] or GRADIENT.search(after[:40])):
                smooth[nodes[0].name] = None
    pairs = [(one, other) for one in strong for other in smooth if one != other]
    orders = (tree.Compare((tree.Letter(one), tree.Letter(other)), ("<=",)) for one, other in pairs)
    return tuple(orders) if len(pairs) <= MOST else ()
