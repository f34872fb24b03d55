"""Joints one by one: a step that its citation gives and one that it does not, and what is left undecided on purpose."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest
from incremental import right
from joint_cases import HEAD, JOINTS
from joint_mutants import mutants
from proofreading_mutants import papers
from standing_alone import status

from bilevel_verify.drafting.draft import draft
from bilevel_verify.language import parse, tree
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.proofreading import Defect, Report, proofread_draft
from bilevel_verify.proofreading.errata.collecting import errata
from bilevel_verify.proofreading.joints.clauses import named_in, numbered_in
from bilevel_verify.proofreading.joints.forms import Formless, Monomial, form_of, tree_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.ties import Tie, rewritten
from bilevel_verify.theorems.library import load_card

SEED, COUNT, LEAST = 20, 18, 0.9


def report(tmp_path: Path, text: str) -> Report:
    path = tmp_path / "paper.md"
    path.write_text(text, encoding="utf-8")
    return proofread_draft(draft(path))


@pytest.mark.parametrize("case", JOINTS)
def test_a_joint_holds_as_it_should_be_and_is_refuted_with_one_slip(case: str, tmp_path: Path) -> None:
    kind, body, right, wrong = JOINTS[case]
    good = report(tmp_path, HEAD + body.replace("%s", right))
    assert [str(d) for d in good.defects] == []
    said = "undecided" if case == "independent" else "holds"  # no text proves that nothing else depends on a letter
    assert any(j.kind == kind and j.verdict == said for j in good.joints)
    bad = report(tmp_path, HEAD + body.replace("%s", wrong))
    assert {d.kind for d in bad.defects} == {kind}
    assert sum(j.verdict == "refuted" for j in bad.joints) >= 1


@pytest.mark.parametrize(("total", "found"), [("N", set()), ("N^2", {"total"})])
def test_a_total_may_stand_behind_its_steps_and_the_epochs_behind_their_cost(
    total: str, found: set[str], tmp_path: Path
) -> None:
    said = r"the lemmas each epoch has at most $N$ steps, and there are at most $\frac{\Delta}{\epsilon}$ epochs."
    body = rf"{said} Hence at most $\frac{{\Delta {total}}}{{\epsilon}}$ steps in total are made."
    assert {d.kind for d in report(tmp_path, HEAD + body).defects} == found


def test_a_decrease_before_the_epochs_is_not_their_cost(tmp_path: Path) -> None:
    """What was told of a right paper: the decrease of another sentence was taken for the steps of an epoch."""
    body = (
        r"the lemmas the function decreases with a magnitude at least $\epsilon^{\frac32}$ in each epoch but the last."
        r" Thus there are at most $\epsilon^{-\frac32}$ epochs, and accordingly $\epsilon^{-\frac74}$ total steps since"
        r" each epoch needs at most $\epsilon^{-\frac14}$ iterations. In the last one the norm is at most $2\epsilon$."
    )
    assert {d.kind for d in report(tmp_path, HEAD + body).defects} == set()


NO_SCRIPT = ("summed", "quoted of another", "another two added up", "a special case that is excluded", "independent")


@pytest.mark.parametrize("case", [name for name in JOINTS if name not in NO_SCRIPT])
def test_a_refuted_joint_has_a_script_that_stands_alone(case: str, tmp_path: Path) -> None:
    _, body, _, wrong = JOINTS[case]
    bad = report(tmp_path, HEAD + body.replace("%s", wrong))
    script = bad.scripts[bad.defects[0]]
    assert status(tmp_path, script) == 0
    sides = {line.partition(" = ")[0]: line for line in script.splitlines() if line.startswith(("ONE = ", "OTHER = "))}
    if sides:
        same = script.replace(sides["OTHER"], sides["ONE"].replace("ONE", "OTHER", 1))
        assert status(tmp_path, same) == 1


PREMISES = {
    "met": (r"**Theorem 2.** Let $\eta=\frac{1}{2L}$. Then all is well.", "holds"),
    "a constant too large": (r"**Theorem 2.** Let $\eta=\frac{1}{L}$. Then all is well.", "refuted"),
    "only a weaker range": (r"**Theorem 2.** Let $0<\eta\le\frac{1}{L}$. Then all is well.", "refuted"),
    "the same range": (r"**Theorem 2.** Let $0<\eta\le\frac{1}{2L}$. Then all is well.", "holds"),
    "nothing said": (r"**Theorem 2.** Let $B\le 1$. Then all is well.", "refuted"),
    "a value for each case": (
        r"**Theorem 2.** Let $\eta=\frac{1}{L}$ for even $d$, and let $\eta=\frac{1}{2L}$ for odd $d$."
        " Then all is well.",
        "undecided",
    ),
    "a formula that was not read": (r"**Theorem 2.** Let $\eta\unknown\frac{1}{L}$. Then all is well.", "undecided"),
    "conditions taken over": (r"**Theorem 2.** Under the usual conditions on the step all is well.", "undecided"),
    "as large as a hypothesis lets it be": (
        r"**Theorem 2.** Let $\epsilon\le L^2$ and $\eta=\frac{\epsilon^{1/2}}{L^2}$. Then all is well.",
        "refuted",
    ),
    "below that": (
        r"**Theorem 2.** Let $\epsilon\le L^2$ and $\eta=\frac{\epsilon^{1/2}}{2L^2}$. Then all is well.",
        "holds",
    ),
}


@pytest.mark.parametrize("case", PREMISES)
def test_the_hypothesis_of_a_lemma_where_it_is_used(case: str, tmp_path: Path) -> None:
    statement, verdict = PREMISES[case]
    found = report(tmp_path, f"{HEAD}Lemma 1.\n\n{statement}\n\n*Proof.* By Lemma 1 this is clear.\n")
    judged = [j.verdict for j in found.joints if j.place == "proof of Theorem 2" and "eta <= 1/(2*L)" in j.joint]
    assert judged == [verdict]
    for defect in found.defects:
        assert defect.kind == "premise"
        if script := found.scripts.get(defect):
            assert status(tmp_path, script) == 0


def test_a_premise_that_the_proof_itself_settles_is_not_missed(tmp_path: Path) -> None:
    body = "Lemma 1.\n\n**Theorem 2.** Let $0<\\eta\\le\\frac{1}{L}$. Then all is well.\n\n*Proof.* "
    found = report(tmp_path, f"{HEAD}{body}We may take $\\eta\\le\\frac{{1}}{{2L}}$. By Lemma 1 this is clear.\n")
    assert found.defects == ()


def test_a_proof_of_which_the_text_says_otherwise_is_not_judged(tmp_path: Path) -> None:
    text = (
        "Lemma 1.\n\n**Theorem 2.** Let $\\eta=\\frac1L$. Then all is well.\n\n## 3 Proof of Lemma 2\n\n"
        "Now we give the proof of Lemma 2.\n\n*Proof.* By Lemma 1 this is clear.\n"
    )
    assert not any(j.kind == "premise" and "Theorem 2" in j.place for j in report(tmp_path, HEAD + text).joints)


TOGETHER = {
    r"Let $\eta=\frac{1}{4L}$ and $\eta\le\frac{1}{2L}$.": "holds",
    r"Let $\eta=\frac{1}{L}$ and $\eta\le\frac{1}{2L}$.": "refuted",
    r"Let $\eta\ge\frac{2}{L}$ and $\eta\le\frac{1}{L}$.": "refuted",
    r"If $d=1$, let $\eta\ge\frac{2}{L}$, otherwise $\eta\le\frac{1}{L}$.": None,
}


@pytest.mark.parametrize("hypotheses", TOGETHER)
def test_hypotheses_together(hypotheses: str, tmp_path: Path) -> None:
    found = report(tmp_path, f"{HEAD}Lemma 2.\n\n**Theorem 2.** {hypotheses} Then $\\eta\\le 1$.\n")
    verdicts = [j.verdict for j in found.joints if j.kind == "hypothesis" and j.place == "Theorem 2"]
    wanted = TOGETHER[hypotheses]
    assert "refuted" not in verdicts if wanted is None else verdicts == [wanted]


ALLOWED = {
    "a weaker result": r"Lemma 2. Substituting $\eta=\frac{1}{4L}$ into (2), we have"
    r" $$N\le\frac{13\Delta L}{\epsilon^2}.$$",
    "a weaker quotation": r"Lemma 1, we have $f(x_{1})\le f(x_0)-\frac{\eta}{5}\|\nabla f(x_0)\|^2$.",
    "a letter with a new value": r"Lemma 1. Let $\eta=\frac{1}{8L}$.",
    "somebody else's rate": "Lemma 1.\n\n## 2\n\n"
    r"Theorem 1 shows more than $\mathcal{O}(\Delta L^{7}\epsilon^{-3})$ steps of others.",
    "somebody else's row": "Lemma 1.\n\n## 2\n\n| Method | Steps |\n| --- | --- |\n"
    "| Theirs [1] | $\\mathcal{O}(\\Delta L\\epsilon^{-9})$ |\n| Others [2] | $\\mathcal{O}(1)$ |\n",
    "an order of epochs": r"Lemma 3 it ends in at most $\mathcal{O}(\Delta B\epsilon^{-3/2})$ epochs.",
    "epochs with a restart": r"Lemma 3 it has at most $10\Delta B\epsilon^{-3/2}$ epochs with a restart.",
    "cases that overlap": r"Lemma 1. If $\|\nabla f(x_0)\|\ge B$, fine."
    r" On the other hand, if $\|\nabla f(x_0)\|\le B$, too.",
    "another constant of the second function": r"the mean value, $$|p(x)-p(y)|\le L\|x-y\|.$$ Similarly, we have"
    r" $$|q(x)-q(y)|\le\frac{L}{2}\|x-y\|.$$",
    "similar, with another letter": r"the mean value, $$|p(x)-p(y)|\le L_p\|x-y\|.$$ Similarly, we have"
    r" $$|q(x)-q(y)|\le N\|x-y\|.$$",
    "combined, not added": r"the steps, $$\|x_1\|\le 2B+N,\tag{4}$$ and $$\|x_2\|\le 3B.\tag{5}$$ Combining"
    r" (4) and (5), we get $$\|x_1\|+\|x_2\|\le 4B+N.$$",
    "independent of what is not known": r"Lemma 1. The noise is independent of $\epsilon$.",
    "a factor with letters left out": "Lemma 1.\n\n## 2\n\n"
    r"The rate $\mathcal{O}(\Delta L\epsilon^{-1})$ improves $\mathcal{O}(\Delta\epsilon^{-2})$ by a factor of"
    r" $\epsilon^{-1}$.",
    "a statement weaker than its proof": "what is known.\n\n"
    r"**Lemma 4.** We have $$\|x_1-x_0\|\le 5B.$$"
    "\n\n*Proof.* "
    r"By the step $$\|x_1-x_0\|\le 4B.$$",
    "a value outside for another statement": "what is known.\n\n"
    r"**Lemma 4.** Let $p>1$. Then $$T\le pB.$$"
    "\n\n*Proof.* This is known.\n\n## 2\n\n"
    r"Unlike Lemma 4, the rule with $p=1$ is new.",
    "a consequence in a display": r"Lemma 1, we have $$f(x_{k+1})\le f(x_k).$$",
}


@pytest.mark.parametrize("case", ALLOWED)
def test_nothing_is_said_of_what_is_allowed(case: str, tmp_path: Path) -> None:
    assert [str(d) for d in report(tmp_path, HEAD + ALLOWED[case]).defects] == []


def test_an_order_that_leaves_a_letter_out_of_a_relation_does_not_hold(tmp_path: Path) -> None:
    text = r"Lemma 1.\n\n**Lemma 5.** We have $\|x_1-x_0\|\le\mathcal{O}(L^2\epsilon)$.".replace(r"\n", "\n")
    text += "\n\n*Proof.* This is known.\n\n## 2\n\n" + r"By Lemma 5 we have $\|x_1-x_0\|\le\mathcal{O}(\epsilon)$."
    found = report(tmp_path, HEAD + text)
    assert found.defects == ()
    assert [j.verdict for j in found.joints if "Lemma 5" in j.joint] == ["undecided"]


TIES = {
    "a tie by a product": (
        r"where $B=\frac{\epsilon}{L}$.",
        r"\frac{3\Delta B}{\epsilon^2}",
        r"\frac{3\Delta}{L\epsilon}",
    ),
    "a tie of all three": (
        r"where $\kappa=\frac{L}{\mu}$ and $\mu>0$.",
        r"3\Delta\kappa L\mu",
        r"\frac{3\Delta L^2\kappa\mu}{\mu\kappa}",
    ),
}


@pytest.mark.parametrize("case", TIES)
def test_what_the_paper_ties_may_be_rewritten(case: str, tmp_path: Path) -> None:
    tie, base, result = TIES[case]
    text = f"the step $$N\\le{base},\\tag{{4}}$$ {tie} Also $$T\\le T+N\\eta.\\tag{{5}}$$ "
    text += f"Substituting $\\eta=1$ into (4), we have $$N\\le{result}.$$"
    assert [str(d) for d in report(tmp_path, HEAD + text).defects] == []


def test_products_that_ties_rewrite_are_told_from_others() -> None:
    def powers(text: str) -> Monomial:
        single = form_of(parse(text)).single
        assert single is not None
        return single[0]

    ties = (Tie(powers("kappa*mu/L"), "kappa"), Tie(powers("B**2*rho/eps"), "B"))
    assert rewritten(ties, powers("kappa**2*mu*L"), powers("kappa*L**2"), hidden=False)
    assert rewritten(ties, powers("kappa**2*mu*L*eps"), powers("kappa*L**2*mu*eps/mu"), hidden=False)
    assert rewritten(ties, powers("kappa**3*mu**2*L*eps"), powers("kappa*L**3*mu**0*eps*mu/mu"), hidden=False)
    assert rewritten(ties, powers("kappa**3*mu**2*L"), powers("kappa**2*L**2*mu"), hidden=False)
    assert not rewritten(ties, powers("kappa**3*mu**2*L"), powers("kappa**2*L**3*mu"), hidden=False)
    assert not rewritten((), powers("kappa**3*eps"), powers("kappa**2*eps"), hidden=True)
    assert rewritten(ties, powers("kappa**3*L"), powers("kappa**4"), hidden=True)
    assert not rewritten(ties, powers("kappa**3*eps**2"), powers("kappa**4"), hidden=True)
    of_lam = (Tie(powers("lam*eps/(ell*kappa**3)"), "lam"),)
    assert not rewritten(of_lam, powers("kappa**3*ell*eps**-2"), powers("kappa**3*eps**-1"), hidden=True)
    assert rewritten(of_lam, powers("kappa**3*ell*eps**-2"), powers("lam*eps**-1"), hidden=True)


def test_citations_in_words() -> None:
    assert named_in("by Lemmas 3 and B.4, Theorem 1 and Lemma 7 of [5]") == ("Lemma 3", "Lemma B.4", "Theorem 1")
    assert numbered_in("from (12), equation 13a and Eq. (4)") == ("12", "13a", "4")


def test_a_refuted_joint_needs_a_defect_and_no_other_has_one() -> None:
    defect = Defect("table", "Table 1", "a cell", "wording")
    with pytest.raises(ValueError, match="refuted"):
        Judged("table", "Table 1", "a cell", "refuted")
    with pytest.raises(ValueError, match="holds"):
        Judged("table", "Table 1", "a cell", "holds", defect=defect)


def drawn(draw: random.Random, depth: int) -> tree.Node:
    """A formula of positive letters without differences in roots."""
    if depth == 0:
        return tree.Letter(draw.choice("abc")) if draw.random() < 0.7 else tree.Number(Fraction(draw.randint(1, 6)))
    parts = tuple(drawn(draw, depth - 1) for _ in range(2))
    match draw.randint(0, 3):
        case 0:
            return tree.Add(parts)
        case 1:
            return tree.Multiply(parts)
        case 2:
            return tree.Divide(*parts)
    return tree.Power(parts[0], tree.Number(Fraction(draw.choice([1, 2, 3]), draw.choice([1, 2]))))


def test_a_form_has_the_values_of_its_formula() -> None:
    draw = random.Random(SEED)
    values = {"a": Fraction(4), "b": Fraction(9, 4), "c": Fraction(25)}
    for _ in range(200):
        node = drawn(draw, 3)
        try:
            form = form_of(node)
        except Formless:
            continue
        names = {p.name for p in tree_of(form.terms).walk() if isinstance(p, tree.Letter)}
        point = values | {n: Formula(values).value(parse(n)) for n in names if n.startswith("(")}
        one, other = float(Formula(values).value(node)), float(Formula(point).value(tree_of(form.terms)))
        assert one == pytest.approx(other, rel=1e-9)


def test_forms_tell_exponents_with_letters_apart() -> None:
    def same(one: str, other: str) -> bool:
        return form_of(parse(one)).terms == form_of(parse(other)).terms

    assert same("(L*k)**(nu/(1 + nu))", "L**(nu/(1 + nu))*k**(nu/(nu + 1))")
    assert not same("L**(nu/(1 + nu))", "L**(-nu/(1 + nu))")
    assert same("(4*L)**(1/2)", "2*sqrt(L)")
    assert same("((6*a + 2)/(2*c))**nu", "((3*a + 1)/c)**nu")
    assert not same("(a + 1)**nu", "(a + 2)**nu")


def test_damaged_joints_are_told(tmp_path: Path) -> None:
    every = mutants()
    random.Random(SEED).shuffle(every)
    drawn_ = every[:COUNT]
    for file in {m.file for m in drawn_}:
        right(file, papers()[file])
    missed = [m for m in drawn_ if not told(m.file, m.text, tmp_path)]
    assert len(missed) <= (1 - LEAST) * len(drawn_), [(m.operator, m.change) for m in missed]


def told(file: str, text: str, folder: Path) -> bool:
    path = folder / file
    path.write_text(text, encoding="utf-8")
    return bool(proofread_draft(draft(path)).defects)


def test_the_errata_page_takes_joints_as_entries(tmp_path: Path) -> None:
    statement = r"**Theorem 2.** Let $\eta=\frac{1}{L}$. Then all is well."
    found = report(tmp_path, f"{HEAD}Lemma 1.\n\n{statement}\n\n*Proof.* By Lemma 1 this is clear.\n")
    (entry,) = errata(load_card("fsba"), [], found)
    assert entry.grade == "local slip"
    assert "Lemma 1 is used" in entry.sentence
    assert any(name.endswith(".py") for name in entry.files)
    assert {j["verdict"] for j in found.to_dict()["joints"]} >= {"refuted"}  # type: ignore[attr-defined]
