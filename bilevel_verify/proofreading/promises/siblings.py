"""What several statements of a paper suppose of a parameter, and one that uses it, too, does not.

Told is a statement without any condition on a letter that stands in what it promises or in its proof, where two others
of its kind suppose one and the same of it, and nothing outside of statements says anything of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.statements import EQUATES, ORDERED, Statement
from bilevel_verify.manuscript.opaque import kind_in
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.parameters import INHERITS, STANDING
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.promises.said import supposed_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage

LEAST, MANY = 2, 3
"""Others that suppose the same; others that suppose anything of it, with which a value in the text is an example."""
WORDS = frozenset(("min", "max", "sqrt", "log", "exp", "O"))
QUOTED = re.compile(r"[“‘`\"]+[^“”‘’`'\"]{0,40}[”’'\"]+")
"""The name of a line of an algorithm: the “if condition”."""


def sibling_defects(paper: Paper) -> Iterator[Defect]:
    """Every statement beside the others of its kind."""
    supposed = {name: dict(_conditions(home)) for name, home in paper.stated.items()}
    outside = {many: _outside(paper, many) for many in (False, True)}
    for name, home in paper.stated.items():
        words = QUOTED.sub(" ", STANDING.sub("", home.words))
        if INHERITS.search(words) or not home.formulas:
            continue
        mine = {n for s in supposed_in(home) for chain in s.chains() for n in _bound(chain) or _letters(chain)}
        used = _used(paper, home)
        for letter, held in _of_others(paper, home, supposed).items():
            said, others = max(held.items(), key=lambda one: len(one[1]))
            many = sum(len(names) for names in held.values()) >= MANY
            if (
                letter in mine
                or letter in outside[many]
                or not used >= {letter, *re.findall(r"[A-Za-z_]\w*", said)} - WORDS
            ):
                continue
            if len(others) >= LEAST and kind_in(paper.notation, tree.Letter(letter)) == "scalar":
                title = f"{name} supposes nothing of {letter}, which it uses; {' and '.join(others[:2])} suppose {said}"
                at = home.formulas[0]
                evidence = tuple(f"{other}: {said}" for other in others)
                yield Defect("hypothesis", at.place, title, "local slip", at.latex, evidence, unit=home.id)


def _conditions(home: Passage) -> Iterator[tuple[str, str]]:
    """Letter and condition, of the conditions that a statement supposes."""
    for sentence in supposed_in(home):
        for chain in sentence.chains():
            for letter in _bound(chain) if not _is_sign(chain) else ():
                yield letter, _shown(chain)


def _bound(chain: Statement) -> tuple[str, ...]:
    """Letters that stand alone between the signs of a chain."""
    if not chain.relations or any(r.word not in (*ORDERED, *EQUATES, "in") for r in chain.relations):
        return ()
    return tuple(dict.fromkeys(m.name for m in chain.members if isinstance(m, tree.Letter)))


def _is_sign(chain: Statement) -> bool:
    """``nu > 0``, ``k >= 0``."""
    return len(chain.members) == 2 and any(isinstance(m, tree.Number) for m in chain.members)


def _letters(chain: Statement) -> set[str]:
    """Letters of a chain between numbers alone: ``eta L <= 1``."""
    parts = [p for m in chain.members for p in m.walk()]
    return set() if any(isinstance(p, tree.Call | tree.Index) for p in parts) else set().union(
        *(tree.letters(m) for m in chain.members))  # fmt: skip


def _shown(chain: Statement) -> str:
    words = [{":=": "==", "<-": "=="}.get(r.word, r.word) for r in chain.relations]
    return " ".join(
        [to_text(chain.members[0]), *(f"{w} {to_text(m)}" for w, m in zip(words, chain.members[1:], strict=False))]
    )


def _of_others(paper: Paper, home: Passage, supposed: dict[str, dict[str, str]]) -> dict[str, dict[str, list[str]]]:
    """Letter -> condition -> the other statements of a kind that suppose it."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, other in paper.stated.items():
        if other is not home and other.kind == home.kind:
            for letter, said in supposed[name].items():
                found[letter][said].append(name)
    return found


def _outside(paper: Paper, many: bool) -> set[str]:
    """Letters of which the text, an assumption or a line of an algorithm says more than their sign."""
    found: set[str] = set()
    for passage in (p for p in paper.passages if p.kind not in (*PROMISES, "proof")):
        for chain in (c for s in passage.formulas for c in s.chains()):
            value = any(r.word in EQUATES for r in chain.relations)
            if not _is_sign(chain) and not (many and value and passage.kind in ("text", "remark")):
                found |= {*_bound(chain)}
    return found


def _used(paper: Paper, home: Passage) -> set[str]:
    """Letters of the proofs of a statement; of what it promises where it has no proof of its own."""
    proofs = [s for proof in own_proofs(paper, home.name) for s in proof.formulas]
    supposed = supposed_in(home)
    return {n for s in (proofs or [s for s in home.formulas if s not in supposed]) for n in s.names()}
