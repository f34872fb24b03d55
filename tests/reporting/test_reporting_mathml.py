"""LaTeX to MathML: well-formed, escaped, and nothing guessed."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilevel_verify.reporting.typesetting.mathml import mixed_to_html, to_mathml

FORMULAS = [
    r"\frac{\Delta_f L^{1/2}\rho^{1/4}}{\epsilon^{7/4}}",
    r"\|\nabla f(\hat{\mathbf y})\|\le82\epsilon",
    r"T'_{t,i}=\left\lceil2\sqrt{\tfrac{4L_g}\mu}\,\log\sqrt{1+\tfrac{4L_g}\mu}\Big(1+\tfrac{C+\sigma}L\Big)\right\rceil",
    r"\mathcal L^*_\lambda(x)-\varphi(x)\leq \frac{D_0}{\lambda}",
    r"\begin{cases} 1 & t < 1 \\ \text{a < b} & \text{else} \end{cases}",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
    r"\sum_{i=0}^{k-1}\|x^{i+1}-x^i\|^2 > B^2",
    r"\arg\min_{0\le k\le K} f'(x)''",
    r"\sqrt[3]{x}+\binom{n}{k}+\operatorname{prox}_{\eta g}(x)",
    r"\min_{x\in\mathbb R^{d_x}} \varphi(x)",
    r"\tilde{\mathcal O}(\kappa^{11/4}\epsilon^{-7/4})",
    r"\left.\frac{d}{dt}\right|_{t=0}",
]


@pytest.mark.parametrize("latex", FORMULAS)
def test_formulas_of_cards_become_well_formed_mathml(latex: str) -> None:
    text = to_mathml(latex)
    assert text.startswith("<math>"), text
    ElementTree.fromstring(text)


def test_structure_is_what_the_formula_says() -> None:
    assert to_mathml(r"\frac{a}{b}") == "<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>"
    assert to_mathml("x_1^2") == "<math><msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup></math>"
    assert "<munderover>" in to_mathml(r"\sum_{i=1}^n i")
    assert to_mathml(r"\mathcal L") == "<math><mi>ℒ</mi></math>"
    assert to_mathml(r"\lambda") == "<math><mi>λ</mi></math>"
    assert to_mathml(r"\frac12x") == "<math><mrow><mfrac><mn>1</mn><mn>2</mn></mfrac><mi>x</mi></mrow></math>"
    assert to_mathml("x^12") == "<math><mrow><msup><mi>x</mi><mn>1</mn></msup><mn>2</mn></mrow></math>"
    assert to_mathml(r"x^{\frac{7}{4}}") == to_mathml("x^{7/4}").replace('<mo stretchy="false">', "<mo>")
    assert to_mathml(r"\tfrac L\mu") == "<math><mfrac><mi>L</mi><mi>μ</mi></mfrac></math>"


@pytest.mark.parametrize(
    "latex", [r"\unknowncommand x", r"\frac{a}", "{a", r"\left( a", "x_", r"\begin{tikz}a\end{tikz}"]
)
def test_what_is_not_understood_is_shown_as_source(latex: str) -> None:
    text = to_mathml(latex)
    assert text == f'<code class="latex">{latex}</code>'


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\mathrm{<b>}",
        r"x<y>z & \<script\>",
        '"><svg/onload=1>',
    ],
)
def test_markup_in_formulas_is_text(attack: str) -> None:
    text = to_mathml(attack)
    names = set(re.findall(r"<\s*/?\s*([A-Za-z]+)", text))
    assert names <= {"math", "mrow", "mi", "mo", "mn", "mtext", "mspace", "code"}, text


def test_running_text_keeps_its_formulas_apart() -> None:
    html = mixed_to_html(r"take <b> $\lambda \ge 1$ and & $$x^2$$")
    assert html.startswith("take &lt;b&gt; <math>")
    assert 'display="block"' in html
    assert "and &amp; " in html


@given(st.text(alphabet=r"\{}()[]_^&$<>'\" abfxt12lrceig", max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_well_formed_markup(text: str) -> None:
    ElementTree.fromstring(to_mathml(text).replace("&nbsp;", " "))


def test_deep_nesting_is_refused_not_crashed() -> None:
    assert to_mathml("{" * 5000 + "x" + "}" * 5000).startswith("<code")
    assert to_mathml(r"\sqrt" * 3000 + "x").startswith("<code")


def test_every_formula_of_the_shipped_cards_is_understood() -> None:
    from bilevel_verify.language import to_latex
    from bilevel_verify.theorems import cards, load_card
    from bilevel_verify.theorems.notation import symbols_of

    refused, seen = [], 0
    for record in cards():
        if record.error:
            continue
        card = load_card(record.name)
        display = symbols_of(card)
        for _, claim in card.claims():
            parsed = [to_latex(side.tree, display) for link in claim.chain for side in (link.left, link.right)]
            printed = [p for p in (*claim.printed, *(link.printed for link in claim.chain)) if p]
            for latex in [*parsed, *printed]:
                seen += 1
                if "<code" in mixed_to_html(latex):
                    refused.append((record.name, claim.id, latex))
    assert not refused[0:] or len(refused) <= 0.02 * seen, refused[:10]


@pytest.mark.parametrize(
    ("text", "shown"), [("for all ", "for all\u00a0"), (" and ", "\u00a0and\u00a0"), ("where", "where"), ("a b", "a b")]
)
def test_spaces_at_the_ends_of_words_are_seen(text: str, shown: str) -> None:
    assert f"<mtext>{shown}</mtext>" in to_mathml(rf"\text{{{text}}}k")
