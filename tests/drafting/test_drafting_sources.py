"""Sources of papers: what stands where, macros, files that a paper takes in, and what is broken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bilevel_verify.drafting import draft
from bilevel_verify.drafting.document import Macro
from bilevel_verify.drafting.latex_source import read_latex_source
from bilevel_verify.drafting.macros import written_out
from bilevel_verify.drafting.markdown_source import read_markdown_source
from bilevel_verify.errors import InputError, LatexError
from bilevel_verify.language import to_text
from bilevel_verify.latex import read_latex

LATEX = r"""
\newtheorem{thm}{Theorem}[section]
\newtheorem{lem}[thm]{Lemma}
\newcommand{\be}{\begin{equation}}
\newcommand{\ee}{\end{equation}}
\begin{document}
\section{First}
\begin{thm}[Named]\label{t} Let $a>0$. Then % a comment with $x$
\be\label{one} a \le 2a . \ee
\end{thm}
\begin{proof}[Proof of Theorem~\ref{t}] We have \[ a = a . \]
\verb|$not a formula$|
\begin{align} b &= b \\ c &= c \nonumber \end{align}
\end{proof}
\section{Second}
\begin{lem} $d\ge0$ \end{lem}
\begin{algorithm} $e=1$ \end{algorithm}
\end{document}
\[ after = the end \]
"""


PLACES = [
    ("paper.tex:3:70", "unbalanced"),
    ("paper.tex:1:24", "unbalanced"),
    ("paper.tex:3:15", "macro"),
    ("paper.tex:3:34", "picture"),
]


def paper(tmp_path: Path, text: str, name: str = "paper.tex") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_units_of_a_latex_paper_with_numbers_and_owners(tmp_path: Path) -> None:
    document = read_latex_source(paper(tmp_path, LATEX))
    found = [(u.kind, u.name, u.of) for u in document.units if u.kind != "text"]
    assert found == [
        ("theorem", "Theorem 1.1", ""),
        ("proof", "", "Theorem 1.1"),
        ("lemma", "Lemma 2.1", ""),
        ("algorithm", "Algorithm 1", ""),
    ]
    formulas = [(f.clean.strip(), f.display, f.number) for u in document.units for f in u.formulas()]
    assert formulas == [
        ("a>0", False, ""),
        (r"\label{one} a \le 2a .", True, "1"),
        ("a = a .", True, ""),
        (r"b &= b \\ c &= c \nonumber", True, "2"),
        (r"d\ge0", False, ""),
        ("e=1", False, ""),
    ]
    assert document.labels["one"] == "1"
    assert document.remarks == ()


def test_places_are_those_of_the_file(tmp_path: Path) -> None:
    path = paper(tmp_path, LATEX)
    lines = LATEX.splitlines()
    document = read_latex_source(path)
    for formula in (f for u in document.units for f in u.formulas() if not f.environment):
        where = document.text.where(formula.at)
        assert lines[where.line - 1][where.column - 1 :].startswith(formula.clean)


def test_units_of_a_markdown_paper(tmp_path: Path) -> None:
    text = (
        "# Title\n\n## 1 Intro\n\nText $a$.\n\n**Lemma 2 (Named).** Let $b>0$. Then\n\n$$\nb \\le 2b.\n\\tag{3}\n$$\n\n"
        "*Proof of Lemma 2.* As $c=c$.\n\n## Appendix B More\n\n$$\nd = d\n$$\n"
    )
    document = read_markdown_source(paper(tmp_path, text, "paper.md"))
    found = [
        (u.kind, u.name, u.of, u.section, [f.clean.strip().split("\n")[0] for f in u.formulas()])
        for u in document.units
    ]
    assert found == [
        ("text", "", "", "Section 1", ["a"]),
        ("lemma", "Lemma 2", "", "Section 1", ["b>0", r"b \le 2b."]),
        ("proof", "", "Lemma 2", "Section 1", ["c=c"]),
        ("text", "", "", "Appendix B", ["d = d"]),
    ]
    assert document.title == "Title"
    assert next(f for f in document.units[1].formulas() if f.display).number == "3"


def test_macros_with_arguments_and_defaults_are_written_out() -> None:
    macros = {
        "norm": Macro(1, None, r"\|#1\|"),
        "half": Macro(1, "1", r"\frac{#1}{2}"),
        "R": Macro(0, None, r"\mathbb{R}"),
    }
    assert written_out(r"\norm{x}\half\half[3]\R x", macros) == (r"\|x\|\frac{1}{2}\frac{3}{2}\mathbb{R} x", True)
    assert written_out("x", macros) == ("x", False)


def test_a_command_at_the_end_of_a_macro_does_not_swallow_the_letter_of_the_next_one() -> None:
    macros = {"defeq": Macro(0, None, r"\coloneqq"), "Lg": Macro(0, None, "L_g")}
    assert written_out(r"\ell\defeq\Lg", macros)[0] == r"\ell\coloneqq L_g"
    assert read_latex(r"a\defeq\Lg", macros={"defeq": r"\coloneqq", "Lg": "L_g"}).text == "a := L_g"


DEFINED = r"""
\DeclarePairedDelimiter{\norm}{\lVert}{\rVert}
\DeclarePairedDelimiterX{\ip}[2]{\langle}{\rangle}{#1,#2}
\NewDocumentCommand{\half}{O{2} m}{\frac{#2}{#1}}
\newcommand\numberthis{\addtocounter{equation}{1}\tag{\theequation}}
\declaretheorem[numberwithin=section]{theorem}
\declaretheorem[sibling=theorem,name=Lemma]{lm}
\begin{document}
\section{First}
\begin{theorem} Let $\half{a}\ge\half[4]{a}$. \end{theorem}
\begin{lm} \begin{align*} \norm[\big]{x}+\norm*{y} &\le 1+\ip{x}{y} \numberthis\label{e} \end{align*} \end{lm}
\end{document}
"""


def test_definitions_of_the_packages_that_papers_use(tmp_path: Path) -> None:
    found = draft(paper(tmp_path, DEFINED))
    assert [u.name for u in found.reader.document.units if u.kind != "text"] == ["Theorem 1.1", "Lemma 1.2"]
    assert [f"{to_text(p.left)} {p.op} {to_text(p.right)}" for p in found.reader.printed] == [
        "a/2 >= a/4",
        "norm(x) + norm(y) <= 1 + dot(x, y)",
    ]
    assert not [r for r in found.remarks if r.reason != "steps"]


def test_a_least_value_and_an_exponent_are_numbers(tmp_path: Path) -> None:
    text = r"We solve $\min_x F(x)$, with $F^*=F(x^*)$. After $R$ rounds $F(x_R)-F^*\le 2^{-R}$ for $k=0,\dots,D-1$."
    assert [q.text for q in draft(paper(tmp_path, text)).questions if q.sort == "kind"] == []


@pytest.mark.parametrize(
    "macros",
    [
        {"a": Macro(0, None, r"\b"), "b": Macro(0, None, r"\a")},
        {"a": Macro(0, None, r"\a\a")},
        {"a": Macro(1, None, "#1" * 9 + r"\a{#1#1}")},
    ],
)
def test_macros_without_end_are_an_error_in_bounded_work(macros: dict[str, Macro]) -> None:
    with pytest.raises(LatexError, match="too large"):
        written_out(r"\a{x}", macros)


def test_input_is_read_beside_the_paper_and_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    folder.mkdir()
    paper(tmp_path, "$secret=1$", "outside.tex")
    paper(folder, r"$inside=2$ \input{main}", "part.tex")
    (folder / "link.tex").symlink_to(tmp_path / "outside.tex")
    main = paper(folder, r"\input{part} \input{../outside} \input{link} \input{nothing} $here=3$", "main.tex")
    document = read_latex_source(main)
    assert [f.clean for u in document.units for f in u.formulas()] == ["inside=2", "here=3"]
    told = [str(r) for r in document.remarks]
    assert told == [
        "part.tex:1:12: too large: main: takes itself in; left out",
        "main.tex:1:14: missing: ../outside: outside of the paper's folder, not read",
        "main.tex:1:33: missing: link: outside of the paper's folder, not read",
        "main.tex:1:46: missing: nothing: no such file beside the paper",
    ]


def test_what_is_broken_is_one_line_and_the_rest_is_read(tmp_path: Path) -> None:
    text = "Let $a>0$ and $\\frac{1}{2$.\n\nThen \\[ a \\le \\nope{a} \\] "
    text += "and \\[ \\includegraphics{x} \\] and $b > 0$, $c\n\n"
    text += "\\[ a = a . \\]\n"
    found = draft(paper(tmp_path, text))
    assert [(str(r.where), r.reason) for r in found.remarks] == PLACES
    assert sum(p.context.formula.display for p in found.reader.printed) == 1


@pytest.mark.parametrize("name", ["missing.tex", "folder.tex", "pipe.tex", "binary.tex", "paper.pdf", "empty.tex"])
def test_what_is_no_paper_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.tex").mkdir()
    os.mkfifo(tmp_path / "pipe.tex")
    (tmp_path / "binary.tex").write_bytes(b"\x7fELF\0\0$a=b$")
    (tmp_path / "paper.pdf").write_bytes(b"%PDF")
    (tmp_path / "empty.tex").write_text("no formula here")
    with pytest.raises(InputError) as error:
        draft(tmp_path / name)
    assert name in str(error.value)
    assert "\n" not in str(error.value)
