r"""Orders of a print: what holds by growth alone, what does not, what the statement sets and what a line before says.

A false order must never hold: each of ``FALSE`` breaks along the family beside it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.language import parse
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.formulas import read_print
from bilevel_verify.manuscript.judging import Judgement, OutOfScope, judge
from bilevel_verify.manuscript.orders import between_numbers
from bilevel_verify.manuscript.relations import relations_of

CARD = r"""
[paper]
key = "mine"
title = "A draft"
[units]
F = "values"
[regime]
default = ["kappa >= 1", "eps <= 1"]
default_from = ["Section 1", "an order in eps speaks of eps to 0"]
[letters]
kappa = { unit = "1", domain = "[1, oo)", domain_from = "Section 1", display = '\kappa' }
ell = { unit = "1", domain = "(0, oo)", domain_from = "Section 1", display = '\ell' }
eps = { unit = "1", domain = "(0, oo)", domain_from = "Section 1", from = "user", display = '\epsilon' }
lam = { unit = "1", domain = "(0, oo)", domain_from = "Section 1", display = '\lambda' }
M = { unit = "1", domain = "(0, oo)", domain_from = "Section 1" }
T = { unit = "1", domain = "(0, oo)", domain_from = "Section 1" }
h = { unit = "1", sign = "any" }
[functions]
f = { arguments = ["F"], value = "F" }
[notation]
letters = '\kappa=kappa \ell=ell \epsilon=eps \lambda=lam M T h'
matrices = 'A I'
vectors = 'u'
functions = 'f \mathcal{O}=O \tilde{\mathcal{O}}=softO \Omega=Omega'
[settings.main]
source = "Lemma 1"
lam = { value = "max(ell*kappa**3/eps, ell)", printed = '\lambda=\max\{\ell\kappa^3/\epsilon,\ell\}' }
T = { value = "O(kappa**2/eps)", printed = 'T=\mathcal{O}(\kappa^2/\epsilon)' }
M = { value = "Omega(ell)", printed = 'M=\Omega(\ell)' }
[[lemma]]
id = "lemma-1"
source = "Lemma 1"
settings = ["main"]
"""
O = r"\mathcal{O}"
HOLD = (
    rf"{O}(\kappa^2)+\epsilon \le {O}(\kappa^2)",
    rf"3\kappa^2+\kappa = {O}(\kappa^2)",
    rf"{O}(\kappa){O}(\kappa^2\epsilon) = {O}(\kappa^3\epsilon)",
    rf"{O}(\kappa^2\epsilon) \le {O}(\kappa){O}(\kappa\epsilon)",
    r"\mathcal{O}(\kappa^3\epsilon^{-1}\log(\kappa/\epsilon)) = \tilde{\mathcal{O}}(\kappa^3\epsilon^{-1})",
    rf"-\kappa I-{O}(\kappa)I \succeq -{O}(\kappa)I",
)
FALSE = (
    (rf"{O}(\kappa^2) \le {O}(\kappa)", "kappa"),
    (rf"{O}(\kappa)+\ell = {O}(\kappa)", "ell"),
    (rf"{O}(\kappa){O}(\kappa) = {O}(\kappa)", "kappa"),
    (rf"\kappa\log(2\kappa) = {O}(\kappa)", "kappa"),
    (rf"{O}(1/\epsilon) \le {O}(\kappa)", "eps"),
    (rf"-\kappa I-{O}(\kappa^2)I \succeq -{O}(\kappa)I", "kappa"),
    (rf"\|u\| \le {O}(\epsilon)", "value_1"),
    (rf"f(\epsilon) = {O}(\epsilon)", "value_1"),
)
UNASKED = (
    rf"\kappa-{O}(\kappa) \le {O}(1)",
    rf"\frac{{1}}{{{O}(\kappa)}} \le {O}(1)",
    rf"\kappa = \epsilon+{O}(1)",
    rf"\|A-{O}(1)I\| \le {O}(1)",
    rf"A \succeq -{O}(\kappa)I",
    rf"{O}(\kappa) = \Omega(\kappa)",
)


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> bv.Card:
    path = Path(tmp_path_factory.mktemp("orders")) / "mine.toml"
    path.write_text(CARD, encoding="utf8")
    return bv.card(path)


SET = ("\\lambda=\\max\\{\\ell\\kappa^3/\\epsilon,\\ell\\}", "T=\\mathcal{O}(\\kappa^2/\\epsilon)", "M=\\Omega(\\ell)")


def last(card: bv.Card, *lines: str, proof: bool = True, said: str = "") -> Judgement:
    """What is found of the first relation of the last line of a proof, with the settings of its lemma in the print."""
    within = "proof of lemma-1" if proof else "lemma-1"
    body = "".join(
        f"[[formula]]\nn = {n}\nwithin = 'lemma-1'\nkind = 'inline'\nlatex = '{text}'\n"
        for n, text in enumerate(SET, 1)
    )
    body += "".join(
        f"[[formula]]\nn = {n}\nwithin = '{within}'\nlatex = '''{text}'''\n" for n, text in enumerate(lines, 11)
    )
    paper = Paper(card, read_print(tomllib.loads(f"paper = 'mine'\n{body}{said}"), "test"))
    return judge(paper, relations_of(paper.by_number[10 + len(lines)])[0], effort=0.05)


@pytest.mark.parametrize("line", HOLD)
def test_an_order_that_growth_shows(card: bv.Card, line: str) -> None:
    found = last(card, line)
    assert (found.verdict, found.uses) == ("holds", ()), found
    assert found.reason.startswith("order algebra: ")


@pytest.mark.parametrize(("line", "letter"), FALSE)
def test_a_false_order_never_holds(card: bv.Card, line: str, letter: str) -> None:
    found = last(card, line)
    assert found.verdict == "undecided"
    assert f"{letter} = t" in found.reason


@pytest.mark.parametrize("line", UNASKED)
def test_what_is_no_upper_bound_is_not_asked(card: bv.Card, line: str) -> None:
    with pytest.raises(OutOfScope, match=r"order|set or operator"):
        last(card, line)


def test_a_letter_without_a_range_is_not_taken_as_positive(card: bv.Card) -> None:
    found = last(card, rf"h = {O}(h)")
    assert (found.verdict, found.reason) == ("undecided", "order algebra: h may be negative")


def test_what_the_statement_sets_counts_in_its_proof(card: bv.Card) -> None:
    line = rf"{O}(\ell\kappa^3/\lambda)+\epsilon \le {O}(\epsilon)"
    assert last(card, line).verdict == "holds"
    assert last(card, rf"{O}(\ell\kappa^4/\lambda)+\epsilon \le {O}(\epsilon)").verdict == "undecided"


def test_a_letter_known_from_one_side_counts_on_that_side_alone(card: bv.Card) -> None:
    assert last(card, rf"T\kappa = {O}(\kappa^3/\epsilon)").verdict == "holds"  # T = O(kappa^2/eps)
    assert last(card, rf"\kappa^2/\epsilon = {O}(T)").verdict == "undecided"  # T may be small
    assert last(card, rf"\frac{{1}}{{T}} = {O}(\epsilon)").verdict == "undecided"
    assert last(card, rf"\ell/M = {O}(1)").verdict == "holds"  # M = Omega(ell)
    assert last(card, rf"M = {O}(\ell)").verdict == "undecided"
    assert last(card, rf"\ell = {O}(M)").verdict == "undecided"


def test_a_statement_is_no_premise_of_itself(card: bv.Card) -> None:
    found = last(card, rf"T \le {O}(\kappa^2/\epsilon)", proof=False)
    assert found.verdict == "undecided"


def test_a_line_before_bounds_a_term(card: bv.Card) -> None:
    first, then = rf"\|u\| \le {O}(\kappa)", rf"\|u\|+\kappa \le {O}(\kappa^2)"
    assert last(card, first, then).uses == ("11.1",)
    assert last(card, first, then).verdict == "undecided"  # as long as the line before is
    assert last(card, rf"\|u\| \ge {O}(\kappa)", then).uses == ()
    assert last(card, first, rf"-\|u\|+\kappa \le {O}(\kappa^2)").uses == ()
    assert last(card, first, rf"\frac{{\kappa}}{{\|u\|}} \le {O}(1)").uses == ()


def test_an_order_that_the_paper_says_of_a_letter(card: bv.Card) -> None:
    said = "[[said]]\nsource = 'Lemma 0'\nlatex = '\\ell=\\mathcal{O}(\\kappa)'\n"
    line = rf"\ell\kappa = {O}(\kappa^2)"
    assert last(card, line).verdict == "undecided"
    assert last(card, line, said=said).verdict == "holds"
    assert last(card, rf"\kappa/\ell = {O}(1)", said=said).verdict == "undecided"
    cited = said + "cites = 1\n"
    assert last(card, line, said=cited).uses == ("1.1",)


def test_a_second_definition_is_compared_with_the_first(tmp_path: Path) -> None:
    text = CARD.replace("functions = 'f ", "matrix_functions = 'G=G_m'\nfunctions = 'f ")
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf8")
    card = bv.card(path)
    first = r"G(u) := A-\kappa I"
    assert last(card, first, r"G(u) := -\kappa I+A").verdict == "holds"
    assert last(card, first, r"G(u) := A+\kappa I").verdict == "undecided"
    with pytest.raises(OutOfScope, match="definition"):
        last(card, first)


def test_multiples_of_the_identity() -> None:
    def turned(left: str, op: str, right: str) -> Relation | None:
        return between_numbers(Relation(parse(left), op, parse(right)))

    assert turned("2*I", "psd>=", "-(3*I)") == Relation(parse("-2"), "<=", parse("3"))
    assert turned("2*I", "psd<=", "3*I - 4*I") == Relation(parse("-3 + 4"), "<=", parse("-2"))
    assert turned("A", "psd<=", "3*I") is None
    assert turned("a", "<=", "b") == Relation(parse("a"), "<=", parse("b"))


def test_the_reason_names_what_was_put_in(card: bv.Card) -> None:
    line = rf"{O}(\ell\kappa^3/\lambda)+\epsilon \le {O}(\epsilon)"
    assert last(card, line).reason.endswith("; with lam = max(ell*kappa**3/eps, ell)")
    assert "; with " not in last(card, HOLD[0]).reason
