"""Ranges that a text gives in words: what is taken of them, what is not, and what they let an audit decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilevel_verify.audit import audit
from bilevel_verify.drafting import draft
from bilevel_verify.theorems.library import load_card
from tests.drafting.test_drafting_cards import rows


def told(tmp_path: Path, words: str, display: str = "a + b + c + L + \\mu + \\kappa + \\epsilon \\le 1") -> str:
    """The card of a note that is one assumption and one lemma."""
    path = tmp_path / "paper.tex"
    path.write_text(
        f"\\begin{{assumption}} {words} \\end{{assumption}} \\begin{{lemma}} Then \\[ {display} \\] \\end{{lemma}}",
        encoding="utf-8",
    )
    return draft(path).text()


@pytest.mark.parametrize(
    ("words", "letter", "domain"),
    [
        ("The function $f$ is $L$-smooth.", "L", "[0, oo)"),
        ("The gradient of $f$ is $L$-Lipschitz continuous.", "L", "[0, oo)"),
        ("The function $f$ is $L$-Hessian Lipschitz.", "L", "[0, oo)"),
        ("Its gradient is Lipschitz continuous with constant $L$.", "L", "[0, oo)"),
        ("The Hölder constant $L$ is known.", "L", "[0, oo)"),
        (r"The function $g$ is $\mu$-strongly convex.", "mu", "(0, oo)"),
        (r"It has the strong convexity parameter $\mu$.", "mu", "(0, oo)"),
        (r"We write for the condition number $\kappa$.", "kappa", "[1, oo)"),
        (r"Denote $\kappa = L/\mu \ge 1$.", "kappa", "[1, oo)"),
        (r"We seek an $\epsilon$-stationary point.", "eps", "[0, oo)"),
        (r"The target accuracy $\epsilon$ is fixed.", "eps", "[0, oo)"),
        ("There are positive constants $a$, $b$ and $c$.", "c", "(0, oo)"),
        ("There are positive constants $a,b$.", "b", "(0, oo)"),
        ("The number $a$ is positive.", "a", "(0, oo)"),
        ("Take a nonnegative number $a$.", "a", "[0, oo)"),
        ("Let $0<a<b$ be constants.", "b", "(0, oo)"),
        ("Let $1\\le a\\le b$ and $b\\le c$ be constants.", "c", "[1, oo)"),
        # printed signs are believed, and words are not asked then
        ("The function $f$ is $L$-smooth with $L>0$.", "L", "(0, oo)"),
        (r"The function is $\mu$-strongly convex with $\mu\ge0$.", "mu", "[0, oo)"),
        # the least that is said
        ("It is $a$-smooth. The number $a$ is positive.", "a", "[0, oo)"),
    ],
)
def test_what_words_say_of_a_range(tmp_path: Path, words: str, letter: str, domain: str) -> None:
    assert f'{letter} = {{ domain = "{domain}"' in told(tmp_path, words)


@pytest.mark.parametrize(
    "words",
    [
        "The number $a$ is not positive.",
        "Take a non-positive number $a$.",
        "Take a nonpositive $a$.",
        "It is not $a$-smooth.",
        "If $f$ is $a$-smooth, more is known.",
        "No positive number $a$ is enough.",
        "Let $a$ be a number. The matrix is positive definite.",
        "We use a positive matrix and $a$.",
        "Its gradient has the $a$-th order Hölder property.",
        "A positive result is that $a$ exists.",
        "The constant $a^2$ is positive.",
        "We need $f$ positive where $a$ lives.",
    ],
)
def test_words_that_say_nothing_of_the_letter(tmp_path: Path, words: str) -> None:
    text = told(tmp_path, words, "a \\le 1 + b")
    assert 'a = { sign = "any"' in text


def test_the_card_names_the_words(tmp_path: Path) -> None:
    text = told(tmp_path, r"Let $g$ be $\mu$-strongly convex.", r"\mu \ge \mu^2 - 1")
    assert 'domain_from = "Assumption 1, in words: ... -strongly convex"' in text


def test_words_of_a_statement_are_in_force_there_alone(tmp_path: Path) -> None:
    text = (
        "\\begin{lemma} Let $a$ be given. For a positive constant $a$, \\[ 2a \\ge a + \\tfrac12 a \\] \\end{lemma}"
        "\\begin{lemma} Then \\[ 3a \\ge a + a \\] \\end{lemma}"
    )
    assert rows(tmp_path, text) == {"2*a >= a + 1/2*a": "holds", "3*a >= a + a": "undecided+holds"}


def test_what_may_be_zero_is_judged_once_more_as_positive(tmp_path: Path) -> None:
    text = r"""\begin{assumption} The function $f$ is $L$-smooth. \end{assumption}
    \begin{lemma} Then \[ \frac1L + L \ge 2, \quad L + 1 \ge L, \quad L \le 2L \] \end{lemma}"""
    found = rows(tmp_path, text)
    assert found == {"1/L + L >= 2": "undecided+holds", "L + 1 >= L": "holds", "L <= 2*L": "holds"}
    path = tmp_path / "card.toml"
    marks = [f.row.marks for f in audit(load_card(path), quick=True) if f.row.left == "1/L + L" and f.row.marks]
    assert marks == [("added: L in (0, oo)",)]


@pytest.mark.parametrize(
    ("words", "display", "verdict"),
    [
        (r"The function is $L$-smooth.", r"L^2 \le -1", "refuted"),  # at no point of [0, oo)
        (r"The function is $L$-smooth.", r"L^2 \ge 2L+1", "undecided"),  # at some points only
        (r"The function is $L$-smooth.", r"L \le L^2 - L", "undecided"),  # true at L = 0
        (r"The function is $L$-smooth.", r"2L \le L", "undecided"),  # true at L = 0, and only there
        (r"The function is $\mu$-strongly convex.", r"2\mu \le \mu", "refuted"),
        (r"The function is $\mu$-strongly convex.", r"2\mu \le \mu + c", "undecided"),  # nobody says where c lives
        (r"If the function is $\mu$-strongly convex.", r"2\mu \le \mu", "undecided"),
    ],
)
def test_words_refute_only_what_is_false_everywhere(tmp_path: Path, words: str, display: str, verdict: str) -> None:
    text = f"\\begin{{assumption}} {words} \\end{{assumption}} \\begin{{lemma}} Then \\[ {display} \\] \\end{{lemma}}"
    assert [v.partition("+")[0] for v in rows(tmp_path, text).values()] == [verdict]


def test_a_step_of_vectors_that_is_not_defined_everywhere_ends_in_a_row(tmp_path: Path) -> None:
    text = (
        r"\begin{proof} We have \[ \frac{1}{a}\langle u,v\rangle \le \frac{1}{a}\|u\|\|v\| \] with the vectors"
        r" $\nabla f(u)$, $\nabla f(v)$ and $a\ge0$ \end{proof}"
    )
    assert all(v.startswith("undecided") for v in rows(tmp_path, text).values())


STANDING = r"""\section{Proofs}
%s, $0<\mu\le L$, $\kappa=L/\mu$, $\beta\in(0,1)$ and $0<\eta\le 1/L$.
\begin{lemma} %s \[ %s \] \end{lemma}
"""


def standing(tmp_path: Path, opening: str, words: str, display: str) -> str:
    """The entry of the only link of a section that begins with a sentence about its letters."""
    path = tmp_path / "paper.tex"
    path.write_text(STANDING % (opening, words, display), encoding="utf-8")
    return draft(path).text().partition("[inequality.")[2]


@pytest.mark.parametrize("opening", ["Throughout", "Throughout this section", "In what follows", "From now on"])
def test_a_standing_sentence_is_a_hypothesis_of_its_section(tmp_path: Path, opening: str) -> None:
    found = standing(tmp_path, opening, "Then", r"\frac{1-\eta\mu}{1+\eta\mu}\le 1-\eta\mu")
    assert '"mu <= L"' in found
    assert '"eta <= 1/L"' in found
    assert "kappa = L/mu" in standing(tmp_path, opening, "Then", r"1-\eta\mu\le\kappa")


@pytest.mark.parametrize("words", [r"For all $\eta>0$ we have", r"Let $\eta=2/L$. Then", r"If $\eta\le 2/L$, then"])
def test_a_standing_sentence_gives_way_to_the_statement(tmp_path: Path, words: str) -> None:
    assert '"eta <= 1/L"' not in standing(tmp_path, "Throughout", words, r"1-\eta\mu\le\exp(-\eta\mu)")


@pytest.mark.parametrize("opening", ["Throughout the run we have", "Throughout, it follows that", "Here we get"])
def test_what_the_text_promises_is_no_hypothesis(tmp_path: Path, opening: str) -> None:
    assert "where" not in standing(tmp_path, opening, "Then", r"1-\eta\mu\le\exp(-\eta\mu)")
