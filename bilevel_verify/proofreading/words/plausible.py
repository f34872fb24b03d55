"""A citation that has nothing of what its step puts in, where another relation of the paper has all of it.

``where we use (11) in <=``: what stands on the right side of that step alone comes from (11). ``By induction on (30)``,
``summing (31)``: the functions of the result stand in the relation that is summed. Told only where another numbered
relation before fits, so that the reader can compare both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.following.reaching import definitions, reach
from bilevel_verify.proofreading.joints.attributed import Attributed, attributed
from bilevel_verify.proofreading.joints.carrying import misnamed, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, cited_in, clauses, numbered_in
from bilevel_verify.proofreading.joints.forms import Formless, Monomial, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.vocabulary import SCALAR_FUNCTIONS, VECTOR_FUNCTIONS

NUMBER = r"(?:equation |inequalit(?:y|ies) |the inequality in )?\(?(\d+[a-z]?)\)?"
WORKED = re.compile(rf"\b(?:induction on|summing|sum up|telescoping)\s+{NUMBER}", re.I)
"""Operations on one relation: the functions of what comes out stand in it."""
CONDITION = re.compile(rf"\bconditions? on\s*{HOLE}\s*in\s+{NUMBER}", re.I)
"""``using the condition on g_i in (8)``: the quantity stands there."""
GIVEN = re.compile(rf"{HOLE}\s*,?\s*according to\s+{NUMBER}", re.I)
"""``Compute g_t = G(x_t) according to (5)``: the relation is about that function."""
KNOWN = SCALAR_FUNCTIONS | VECTOR_FUNCTIONS | {"sum", "prod", "norm_2", "dual_norm", "component", "O", "softO"}
OTHERWISE = re.compile(r"\b(?:definitions?|assum\w*|hypothes\w*|algorithm|lines?|conditions?|facts?|set)\b", re.I)
"""Words of a step that speak of something beside what is cited."""


def plausible_joints(paper: Paper) -> Iterator[Judged]:
    """Steps with a label, operations on a relation, conditions on a quantity: each against what it cites."""
    for clause in clauses(paper):
        for step in attributed(clause):
            yield from _used(paper, step)
        for said in WORKED.finditer(clause.words):
            after = clause.formulas[clause.words[: said.end()].count(HOLE) :]
            shown = next((f for f in after if f.read.formula.kind == "display"), None)
            cited = paper.numbered.get(said[1])
            if cited is not None and shown is not None and cited is not shown:
                yield from _functions(paper, shown, cited, said[1], clause)
        for said in CONDITION.finditer(clause.words):
            about = clause.formulas[clause.words[: said.end()].count(HOLE) - 1]
            yield from _about(paper, about, said[1])
    yield from _in_algorithms(paper)


def _in_algorithms(paper: Paper) -> Iterator[Judged]:
    """Lines that compute a function as a numbered relation says."""
    for passage in paper.passages if paper.numbered else ():
        if passage.kind != "algorithm":
            continue
        for said in GIVEN.finditer(passage.words):
            place, cited = passage.words[: said.start()].count(HOLE), paper.numbered.get(said[1])
            if cited is None or place >= len(passage.formulas):
                continue
            line = passage.formulas[place]
            names = {c.members[1].function for c in line.chains() if len(c.members) == 2
                     and isinstance(c.members[1], tree.Call)} - KNOWN  # fmt: skip
            yield from _computed(paper, line, names, cited, said[1])


def _computed(paper: Paper, line: Sentence, names: set[str], cited: Sentence, number: str) -> Iterator[Judged]:
    if len(names) != 1 or not cited.read.statements:
        return
    joint = f"{', '.join(names)} according to ({number})"
    others = [n for n, s in paper.numbered.items() if names <= _defined(s)]
    if names <= _defined(cited) or not others:
        yield Judged("citation", line.place, joint, "holds" if names <= _defined(cited) else "undecided",
                     "" if names <= _defined(cited) else "no relation defines it")  # fmt: skip
        return
    title = f"({number}) is cited for {', '.join(names)}; it defines something else, ({others[0]}) defines it"
    yield _refuted(line, cited, paper.numbered[others[0]], number, title, joint)


def _defined(sentence: Sentence) -> set[str]:
    """Functions that are the left side of an equation of a formula."""
    firsts = (c.members[0] for c in sentence.chains() if c.relations and c.relations[0].word in ("==", ":="))
    return {first.function for first in firsts if isinstance(first, tree.Call)}


def _used(paper: Paper, step: Attributed) -> Iterator[Judged]:
    """What a step takes away and what it brings in, against each relation and statement on which it is said to rest."""
    cited = cited_in(paper, step.words)
    gone, new = _changed(step.left, step.right)
    if OTHERWISE.search(step.words) or any(step.printed in held for held in cited.values()):
        return
    for name, held in cited.items():
        rest = _names_of([s for k, others in cited.items() if k != name for s in others] + [*step.formulas])
        wanted, mine = (gone | new) - rest, _names_of(held)
        if not wanted or not any(s.read.statements for s in held):
            continue
        joint = f"{', '.join(sorted(wanted))} in the step that uses {name}"
        lost = wanted - mine if name.startswith("(") else (wanted & _functions_of(paper)) - mine
        lost -= {n for n in lost if n.partition("_")[0] in mine}  # a point with a mark, in a relation between points
        if lost:
            lost -= set(_by_definition(paper, lost, mine | _symbols(step.left) | _symbols(step.right)))
        other = _that_has(paper, step, wanted, cited) if lost else None
        alone = len(cited) == 1 and not step.formulas and name.startswith("(")
        if other is None or not (not wanted & mine or alone):
            found = ("holds", "") if not lost else ("undecided", "no other relation has all of it")
            yield Judged("citation", step.printed.place, joint, *found)
            continue
        meant, there = other
        title = f"{name} is cited for a step about {', '.join(sorted(lost))}, which it does not have; {meant} has"
        yield misnamed(step.printed, joint, title, [(name, held[0]), (meant, there)])


def _changed(left: tree.Node, right: tree.Node) -> tuple[set[str], set[str]]:
    """Names that stand on the left side alone, and on the right side alone, in the terms that differ."""
    try:
        one, other = form_of(left).terms, form_of(right).terms
    except Formless:
        return _symbols(left) - _symbols(right), _symbols(right) - _symbols(left)
    gone = _words_of(m for m in one if m not in other)
    new = _words_of(m for m in other if m not in one)
    return (gone - _symbols(right)) & _symbols(left), (new - _symbols(left)) & _symbols(right)


def _words_of(monomials: Iterable[Monomial]) -> set[str]:
    return set(re.findall(r"[A-Za-z]\w*", " ".join(name for m in monomials for name, _ in m))) - KNOWN


def _names_of(sentences: Iterable[Sentence]) -> set[str]:
    return set().union(*(_of(s) for s in sentences), set())


def _that_has(
    paper: Paper, step: Attributed, wanted: set[str], cited: Mapping[str, object]
) -> tuple[str, Sentence] | None:
    """The last relation or statement before a step that is not cited for it and has all that changes in it."""
    n, numbered = step.printed.read.formula.n, any(k.startswith("(") for k in cited)
    fits = [
        (k, held[0]) for k, held in paper.citable.items()
        if k not in cited and (k.startswith("(") or not numbered) and held[0].read.formula.n < n
        and step.printed.may_rest_on(held[0]) and wanted <= _names_of(held)
    ]  # fmt: skip
    return fits[-1] if fits else None


def _by_definition(paper: Paper, names: set[str], known: set[str]) -> Iterator[str]:
    """Names that an equation of the paper gives in what is known without them."""
    for left, right in definitions(paper):
        name = tree.head_of(left)
        if name in names and _symbols(right) <= known - {name}:
            yield name


def _functions_of(paper: Paper) -> set[str]:
    return {p.function for p in paper.parts if isinstance(p, tree.Call)} - KNOWN


def _functions(paper: Paper, shown: Sentence, cited: Sentence, number: str, clause: Clause) -> Iterator[Judged]:
    """Functions on the left side of a result, against the relation that is worked on."""
    chain = next(shown.chains(), None)
    if chain is None or not chain.relations or chain.continues:
        return
    needed = {name for name in tree.functions(chain.members[0]) - KNOWN if not name.startswith(("grad_", "hess_"))}
    joint = f"{', '.join(sorted(needed))} in what comes out of ({number})"
    if not needed or needed <= _of(cited) or needed <= _of(cited) | reach(paper, cited.nodes()):
        if needed:
            yield Judged("citation", shown.place, joint, "holds")
        return
    other = _other(paper, shown, cited, clause, lambda s: needed <= _of(s) and _kin(s, cited))
    if other is None or needed & _of(cited):
        yield Judged("citation", shown.place, joint, "undecided", "no other relation has them")
        return
    meant = other.read.formula.number
    title = f"({number}) is said to give a relation about {', '.join(sorted(needed))}; it has none of it, ({meant}) has"
    yield _refuted(shown, cited, other, number, title, joint)


def _about(paper: Paper, about: Sentence, number: str) -> Iterator[Judged]:
    """A condition on a quantity that is said to stand in a relation."""
    cited = paper.numbered.get(number)
    names = {p.base for node in about.nodes() for p in node.walk() if isinstance(p, tree.Index)}
    if cited is None or not names or not cited.read.statements:
        return
    joint = f"a condition on {', '.join(sorted(names))} in ({number})"
    if names & _of(cited):
        yield Judged("citation", about.place, joint, "holds")
        return
    title = f"({number}) is named as a condition on {', '.join(sorted(names))}, and it does not have it"
    evidence = (f"({number}): {to_text_of(cited)}",)
    defect = Defect("citation", about.place, title, "wording", about.latex, evidence, unit=about.unit)
    yield Judged("citation", about.place, joint, "refuted", title, defect)


def _other(
    paper: Paper, shown: Sentence, cited: Sentence, clause: Clause, fits: Callable[[Sentence], bool]
) -> Sentence | None:
    """The last numbered relation before a display that fits and is not cited in the same sentence."""
    named = {*numbered_in(clause.words)}
    found = None
    for number, one in paper.numbered.items():
        ahead = one.read.formula.n < shown.read.formula.n and one is not cited and number not in named
        if ahead and fits(one):
            found = one
    return found


def _kin(one: Sentence, other: Sentence) -> bool:
    """Whether two relations stand in one proof or statement."""
    return one.home == other.home


def _of(sentence: Sentence) -> set[str]:
    return set().union(*(_symbols(node) for node in sentence.nodes()), set())


def _symbols(node: tree.Node) -> set[str]:
    """Letters, sequences and functions; running indices left out."""
    found: set[str] = set()
    for part in node.walk():
        if isinstance(part, tree.Call) and part.function not in KNOWN:
            found.add(part.function)
        elif isinstance(part, tree.Index):
            found.add(part.base)
        elif isinstance(part, tree.Letter):
            found.add(part.name)
    inside = {p.name for part in node.walk() if isinstance(part, tree.Index) for i in part.indices for p in i.walk()
              if isinstance(p, tree.Letter)}  # fmt: skip
    return found - inside - {"dots", "oo", "_"}


def _refuted(shown: Sentence, cited: Sentence, other: Sentence, number: str, title: str, joint: str) -> Judged:
    evidence = (f"({number}): {to_text_of(cited)}", f"({other.read.formula.number}): {to_text_of(other)}",
                f"the step: {to_text_of(shown)}")  # fmt: skip
    defect = Defect("citation", shown.place, title, "wording", shown.latex, evidence, unit=shown.unit)
    return Judged("citation", shown.place, joint, "refuted", title, defect)
