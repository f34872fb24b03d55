"""Bad input: each piece is refused in one line with its place and the true reason, and the rest is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilevel_verify.drafting import draft

BEFORE = "\\newcommand{\\again}{a\\again}\n\\newcommand{\\grow}[1]{\\grow{#1#1}}\n\\begin{document}\n"
LEMMA = "\\begin{{lemma}} Let $a>0$. Then\n\\[ a \\le 2a \\]\n{}\n\\[ 3a \\ge a \\]\n\\end{{lemma}}\n\\end{{document}}"
LINE = 6


@pytest.mark.parametrize(
    ("bad", "column", "reason"),
    [
        (r"\[ \frac{a}{2 \le a \]", 12, "unbalanced"),
        (r"\[ a \le \unknownmacro{a} \]", 10, "macro"),
        (r"\[ a \le \begin{aligned} b \]", 10, "unbalanced"),
        (r"\[ \again \le 1 \]", 4, "too large"),
        (r"\[ \grow{a} \le 1 \]", 4, "too large"),
        (r"\[ \includegraphics{x.png} \]", 4, "picture"),
        (r"\[ \begin{tikzpicture} \draw (0,0); \end{tikzpicture} \]", 1, "picture"),
        (r"\[ \begin{tabular}{l} a \end{tabular} \le 1 \]", 1, "picture"),
        (r"\[ a \le " + "a + " * 240_000 + r"a \]", 1, "too large"),
        (r"\[ a \le b" + "\n\n", 1, "unbalanced"),
    ],
    ids=["brace", "macro", "environment", "endless", "growing", "image", "picture", "table", "megabyte", "open"],
)
def test_one_line_names_the_place_and_the_rest_is_read(tmp_path: Path, bad: str, column: int, reason: str) -> None:
    path = tmp_path / "bad.tex"
    path.write_text(BEFORE + LEMMA.format(bad), encoding="utf-8")
    found = draft(path)
    (remark,) = found.remarks
    assert "\n" not in str(remark)
    assert str(remark).startswith(f"bad.tex:{LINE}:{column}: {reason}: ")
    assert len(str(remark)) < 200
    texts = [made.fields["chain"] for made in found.composer.made]
    assert ["a", "<= 2*a"] in texts
    assert ["3*a", ">= a"] in texts
