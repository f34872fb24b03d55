"""The shipped notations of the five papers, and displays of the papers read back by eye."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.errors import CardError, InputError, LatexError
from bilevel_verify.installation import theory_directory
from bilevel_verify.latex import Notation, read_latex

KEYS = ("agm-bio", "fsba", "ragd-gs", "rahgd", "restarted-agd-hb")
DISPLAYS = tomllib.loads(Path(__file__).with_name("read_back.toml").read_text(encoding="utf8"))["display"]


@lru_cache
def notation(key: str) -> Notation:
    path = theory_directory() / "notation" / f"{key}.toml"
    return Notation.from_table(tomllib.loads(path.read_text(encoding="utf8")), key)


@pytest.mark.parametrize("key", KEYS)
def test_displays_are_read_as_they_were_read_back(key: str) -> None:
    displays = [d for d in DISPLAYS if d["paper"] == key]
    assert len(displays) >= 60
    for display in displays:
        reading = read_latex(display["latex"], notation(key))
        assert reading.text == display["text"]
        kept = tuple(s for s in reading.statements if s.word != "label")
        assert read_latex(reading.latex(), notation(key)).statements == kept, reading.latex()


@pytest.mark.parametrize("key", KEYS)
def test_a_card_knows_its_notation(key: str) -> None:
    assert {e.name for e in notation(key).entries} <= {e.name for e in bv.card(key).notation.entries}


def test_read_takes_a_card_a_key_a_mapping_or_nothing() -> None:
    source = r"\|\nabla\varphi(x)\|\le\epsilon"
    assert bv.read(source, letters="ragd-gs").text == "norm(grad_phi(x)) <= eps"
    assert bv.read(source, letters=bv.card("ragd-gs")) == bv.read(source, letters="ragd-gs")
    assert bv.read(r"\lambda_0^2", letters={"lam": r"\lambda_0"}).text == "lam**2"
    assert bv.read(r"\lambda_0^2").text == "lam_0**2"
    reading = bv.read(r"a^2 \le b")
    assert (reading.text, reading.latex()) == ("a**2 <= b", r"a^{2} \le b")
    with pytest.raises(LatexError, match=r"\\mu is not declared"):
        bv.read(r"\mu", letters={"lam": r"\lambda"})
    with pytest.raises(InputError, match="letters must be a Card or a Notation or Mapping"):
        bv.read("a", letters=3)  # type: ignore[arg-type]


CARD = r"""
[paper]
key = "mine"
title = "A draft"
[units]
F = "values"
X = "length"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants", meaning = "smoothness" }
eta = { unit = "X**2/F", domain = "(0, oo)", display = '\eta', meaning = "step" }
[functions]
f = { arguments = ["X"], value = "F" }
grad_f = { arguments = ["X"], value = "F/X" }
"""
ENTRY = r"""
[[inequality]]
id = "descent"
source = "proof"
define = { eta = '\frac1L' }
chain = ['-\eta+\frac{L\eta^2}{2}', '\le -\frac\eta2']
[[theorem]]
id = "theorem-1"
source = "Theorem 1"
  [[theorem.claim]]
  id = "decrease"
  over = "step"
  left = 'f(x_{k+1})-f(x_k)'
  right = '-\frac\eta2\|\nabla f(x_k)\|^2'
"""


def test_expressions_of_a_card_in_latex(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(CARD + ENTRY, encoding="utf8")
    card = bv.card(path)
    link = card.entries["descent"].chain[0]  # type: ignore[attr-defined]
    assert (link.left.text, link.op, link.right.text) == ("-eta + L*eta**2/2", "<=", "-(eta/2)")
    claim = card.statement("theorem-1").claims[0]
    assert [(s.left.text, s.right.text) for s in claim.chain] == [
        ("f(x[k + 1]) - f(x[k])", "-(eta/2*norm(grad_f(x[k]))**2)")
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CARD + "[notation]\ncolours = 'a'\n", "unknown key 'colours'"),
        (CARD + "[notation]\nletters = 'a+b'\n", "not one symbol"),
        (CARD + "[notation]\nletters = 'a=a:wide'\n", "unknown flag 'wide'"),
        (CARD + ENTRY.replace(r"\frac\eta2'", r"\frac\mu2'"), "is not declared"),
        (CARD + ENTRY.replace(r"\frac\eta2'", r"\frac{\eta'"), "unbalanced"),
    ],
)
def test_a_card_whose_latex_cannot_be_read_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf8")
    with pytest.raises(CardError, match=message) as caught:
        bv.card(path)
    assert "\n" not in str(caught.value)


def test_a_problem_in_latex_is_the_problem_in_plain_text() -> None:
    domain = {"x1": (-3, 3), "y1": (-3, 3)}
    plain = bv.bilevel(f="sin(x1) + cos(x1 - y1)/2", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1", domain=domain)
    typed = bv.bilevel(
        f=r"\sin x_1+\tfrac12\cos(x_1-y_1)", g=r"y_1^2+\frac12\cos y_1-x_1y_1", x="x1", y="y1", domain=domain
    )
    assert (typed.f - plain.f).expand() == (typed.g - plain.g).expand() == 0
    assert typed.text["g"] == "y1**2 + 1/2*cos(y1) - x1*y1"


def test_abbreviations_of_a_problem_in_latex() -> None:
    typed = bv.single_level(
        f=r"h(x_1)+u^2", x="x1", domain={"x1": (-1, 1)}, define={"h(t)": r"\frac{t^2}{2}", "u": r"\sin x_1"}
    )
    plain = bv.single_level(f="x1**2/2 + sin(x1)**2", x="x1", domain={"x1": (-1, 1)})
    assert (typed.f - plain.f).expand() == 0
    assert typed.text["u"] == "sin(x1)"


def test_a_problem_names_the_field_and_the_letter() -> None:
    with pytest.raises(InputError, match=r"f: letter: \\mu is not declared"):
        bv.single_level(f=r"\mu x_1^2", x="x1", domain={"x1": (-1, 1)})
