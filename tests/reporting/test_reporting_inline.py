"""Formulas in running text: what is set as a formula, what stays a word, and that nothing of the text is lost."""

from __future__ import annotations

import random

import pytest

from bilevel_verify.reporting.typesetting.inline import pieces_of
from bilevel_verify.reporting.typesetting.mathml import to_mathml
from bilevel_verify.reporting.typesetting.prose import prose_markdown
from bilevel_verify.theorems.library import load_card, shipped


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("the sum is O(Delta sqrt(rho_tilde) chi^5 eps^(-3/2))", r"O\left(\Delta\,\sqrt{\tilde{\rho}}\,\chi^{5}"),
        ("the left side is eta/8 |a+e|^2 - eta/2 |a|^2", r"\frac{\eta}{8}\,\left|a + e\right|^{2} - \frac{\eta}{2}"),
        ("the product is -eta/lam_j <a, g_hat>", r"-\frac{\eta}{\lambda_{j}}\,\langle a, \hat{g}\rangle "),
        ("line 2 reads x_{1,-1} before", "x_{1,-1}"),
        ("where x_{t',0} = x_{t'-1,K_end}; with", r"x_{t',0} = x_{t'-1,K_{\mathrm{end}}}"),
        ("the candidate theta B/(20 K) gives", r"\frac{\theta\,B}{20\,K}"),
        ("so K = 2/theta log(20 B/r_0) is", r"K = \frac{2}{\theta}\,\log\left(\frac{20\,B}{r_{0}}\right)"),
        ("and |y*_lam(x)| <= |y*(x)|", r"\left|y^*_{\lambda}\left(x\right)\right| \le \left|y^*\left(x\right)\right|"),
        ("gives L*_lam <= phi, as", r"L^*_{\lambda} \le \phi"),
        ("3 lambda ell eps-tilde = 3/2 times", r"3\,\lambda\,\ell\,\tilde{\epsilon} = \frac{3}{2}"),
        ("the derivative nabla^2_yy g of", r"\nabla^{2}_{yy} g"),
        ("is grad^j Phi(x_0)/lam_j here", r"\frac{\nabla^{j} \Phi\left(x_{0}\right)}{\lambda_{j}}"),
        ("that is, ceil(K) times", r"\lceil K\rceil "),
        ("m(x) = min_y h(x, y) with", r"m\left(x\right) = \min_{y} h\left(x, y\right)"),
        ("with eta L = 1/4, see", r"\eta\,L = \frac{1}{4}"),
        ("the K^2_t steps", "K^{2}_{t}"),
        ("up to 1e-11 t of", r"10^{-11}\,t"),
        ("= (1 + b c^2/(m-a)^2); more", r"\left(1 + \frac{b\,c^{2}}{\left(m - a\right)^{2}}\right)"),
        ("is (36 + 32 sqrt 2) eps, which", r"\left(36 + 32\,\sqrt{2}\right)\,\epsilon"),
    ],
)  # fmt: skip
def test_a_formula_is_set_whole(text: str, latex: str) -> None:
    assert any(piece.latex.startswith(latex) for piece in pieces_of(text)), prose_markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        "a sum of what that I have", "by (5), (a) and (12), as in Lemma 2 (i) and Appendix C",
        "see lemma-e-2-factor and c-1-c-1, c-1-small-gradient", "files/x.py, --x0=1, zoo:ramp:s=2*eps,drop=1",
        "E.5 and C.3 of Theorem 3.4", "the range 3..8", "it's the step's",
        "the units 'f' and \"g\"", "|a", "<b",
        "of 1/4 <= 0 and -6 + 5/8 + 9/2 = -7/8", "75 % of 1068 samples",
    ],
)  # fmt: skip
def test_words_labels_names_and_numbers_stay_text(text: str) -> None:
    assert [text[piece.start : piece.end] for piece in pieces_of(text) if len(text[piece.start : piece.end]) > 1] == []


def test_in_every_remark_of_the_cards_words_stay_and_formulas_can_be_set() -> None:
    every = [entry for key in shipped() for entry in load_card(key).entries.values()]
    remarks = [entry.note for entry in every] + [one.why for e in every for one in (e.refuted, e.repaired) if one]
    remarks = [words for words in remarks if words and "$" not in words]
    assert len(remarks) > 250
    for words in remarks:
        end = 0
        for piece in pieces_of(words):
            assert end <= piece.start < piece.end <= len(words)
            assert to_mathml(piece.latex).startswith("<math"), piece
            end = piece.end
            taken = words[piece.start : piece.end].replace("sqrt", "").replace("log", "").replace("ceil", "")
            assert not {"the", "is", "of", "and", "that", "with", "than"} & set(taken.split()), taken


def test_nothing_breaks_on_signs_in_any_order() -> None:
    rng = random.Random(7)
    words = [
        "a",
        "K",
        "eps",
        "x_0",
        "L_tilde",
        "2",
        "0.5",
        "1e-3",
        "sqrt",
        "log",
        "grad",
        "hess_yy",
        "min_y",
        "the",
        *"()|<>{},+-*/^=_' :",
    ]
    for _ in range(4000):
        text = "".join(rng.choice(words) + rng.choice(["", " "]) for _ in range(rng.randrange(1, 14)))
        done = 0
        for piece in pieces_of(text):
            assert done <= piece.start < piece.end
            done = piece.end
            assert piece.latex.count("{") == piece.latex.count("}")
            assert piece.latex.count(r"\left") == piece.latex.count(r"\right")


def test_deep_brackets_and_long_texts_end_soon() -> None:
    assert pieces_of("(" * 3000 + "a" + ")" * 3000) == []
    assert len(prose_markdown("eps^2 " * 600)) < 20_000
    assert prose_markdown("eps^2 " * 1000) == "eps^2 " * 1000  # beyond the bound nothing is read
