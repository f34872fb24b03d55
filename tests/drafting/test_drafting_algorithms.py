"""Printed algorithms of a draft: their lines as steps of the card, what they take, and why one is not read.

The expected steps were written by hand beside the LaTeX.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bilevel_verify.audit import audit
from bilevel_verify.drafting import Draft, draft
from bilevel_verify.drafting.answers import answers_of
from bilevel_verify.errors import InputError
from bilevel_verify.theorems.algorithm import program_text, read_program
from bilevel_verify.theorems.card import Algorithm
from bilevel_verify.theorems.library import load_card

pytestmark = pytest.mark.fast

TEXT = r"""
\section{Analysis} Let $\eta>0$, $\beta\in(0,1)$, $\epsilon>0$, $K\ge1$ and $B>0$ be given.
\begin{lemma} Let $\eta>0$. Then \[ \|x_{k+1}-x_k\|\le\eta\|\nabla f(x_k)\|, \quad \|y_k\|\le\|x_k\|. \] \end{lemma}
"""


def drafted(tmp_path: Path, *lines: str, answers: dict[str, object] | None = None, name: str = "paper.tex") -> Draft:
    """The draft of a paper with one algorithm."""
    body = "\n".join(lines)
    source = (
        f"\\begin{{algorithm}}\n\\begin{{algorithmic}}[1]\n{body}\n\\end{{algorithmic}}\n\\end{{algorithm}}\n{TEXT}"
    )
    if name.endswith(".md"):
        source = (
            f"**Algorithm 1** A method\n\n{body}\n\n## 2 Analysis\n\n**Lemma 1.** We have $$\\|y_k\\|\\le\\eta.$$\n"
        )
    path = tmp_path / name
    path.write_text(source, encoding="utf-8")
    return draft(path, None if answers is None else answers_of(answers, "answers"))


def card_rows(tmp_path: Path, found: Draft) -> dict[str, list[tuple[str, str]]]:
    """Entry -> (verdict, reason) of the rows about pseudo-code, by the card that was written."""
    path = tmp_path / "card.toml"
    path.write_text(found.text(), encoding="utf-8")
    card = load_card(path)
    rows: dict[str, list[tuple[str, str]]] = {}
    for finding in audit(card, quick=True):
        if finding.row.kind == "executability":
            rows.setdefault(finding.row.statement, []).append((finding.row.verdict, finding.row.reason or ""))
    return rows


ALGORITHMIC = (
    r"\Require $x_0\in\mathbb{R}^d$, step size $\eta>0$, momentum $\beta\in(0,1)$, $T\ge1$",
    r"\State Initialize $m_0=0$",
    r"\For{$t=0,1,\dots,T-1$}",
    r"\State Sample $\xi_t\sim\mathcal{D}$",
    r"\State $m_{t+1}\gets\beta m_t+(1-\beta)\nabla f(x_t;\xi_t)$ \Comment{momentum}",
    r"\If{$\|m_{t+1}\|\le\epsilon$}",
    r"\State \textbf{break}",
    r"\ElsIf{$t\ge 3$ or $\|x_t\|>B$}",
    r"\State $x_{t+1}=x_t$",
    r"\Else",
    r"\State $x_{t+1}\gets x_t-\eta m_{t+1}$",
    r"\EndIf",
    r"\EndFor",
    r"\State \Return $x_T$",
)
STEPS = """\
m[0] = 0  # 1
for t in range(0, T_v):  # 2
    xi[t] = drawn(D_cal)  # 3
    m[t + 1] = beta*m[t] + (1 - beta)*grad_f(x[t], xi[t])  # 4
    if norm(m[t + 1]) <= eps:  # 5
        break  # 6
    else:
        if t >= 3 or norm(x[t]) > B:  # 7
            x[t + 1] = x[t]  # 8
        else:
            x[t + 1] = x[t] - eta*m[t + 1]  # 10
return x[T_v]  # 13
"""


def test_lines_of_algpseudocode_are_steps(tmp_path: Path) -> None:
    one = drafted(tmp_path, *ALGORITHMIC).algorithms[0]
    assert (one.text, one.inputs, one.unknown) == (STEPS, ("x", "eta", "beta", "T_v"), ("D_cal",))
    assert set(one.taken) == {"eps", "B"}


def test_lines_of_algorithmic_and_of_a_numbered_list_are_the_same_steps(tmp_path: Path) -> None:
    upper = [
        re.sub(r"\\\\(?:State|For|If|ElsIf|Else|EndFor|EndIf)\\b", lambda m: m[0].upper(), line) for line in ALGORITHMIC
    ]
    assert drafted(tmp_path, *upper).algorithms[0].text == STEPS
    numbered = (
        r"1. Input: $x_0$, $\eta$, $K$", r"2. $k=0$", r"3. while $k<K$ do", r"4. $\quad y_k=\eta x_k$", r"5. $k=k+1$",
        r"6. end while", r"7. Output: $\bar y=\frac1K\sum_{k=0}^{K-1}y_k$",
    )  # fmt: skip
    one = drafted(tmp_path, *numbered, name="paper.md").algorithms[0]
    assert one.text == (
        "k = 0  # 2\nwhile k < K:  # 3\n    y[k] = eta*x[k]  # 4\n    k = k + 1  # 5\n"
        "y_bar = 1/K*sum(y[k], (k, 0, K - 1))  # 7\nreturn y_bar  # 7\n"
    )
    assert one.inputs == ("x", "eta", "K")


BRACED = r"""
\caption{A method with $m$ steps}\label{alg}
\SetKwInOut{Input}{In}
\KwIn{$x_0$, $\eta>0$, $K$}
$y_0\gets x_0$\;
\For{$k=0,\dots,K-1$}{
  $x_{k+1}\gets y_k-\eta g_k$\tcp*{a step with $\eta=3$}
  \uIf{$x_k\le 1$}{$a_k\gets 1$\;}
  \ElseIf{$x_k\le 2$}{$a_k\gets 2$\;}
  \Else{$a_k\gets 3$\;}
  \eIf{$x_{k+1}\le x_k$}{
    \Return $x_{k+1}$\;
  }{
    $y_{k+1}\gets x_{k+1}$\;
  }
}
\Repeat{$b\ge 4$}{$b\gets b+1$\;}
\Return{$x_K$}
"""


def test_blocks_in_braces_are_steps(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(f"\\begin{{algorithm}}[t]{BRACED}\\end{{algorithm}}\n{TEXT}", encoding="utf-8")
    one = draft(path).algorithms[0]
    assert (
        re.sub(r"  # \d+", "", one.text)
        == """\
y[0] = x[0]
for k in range(0, K):
    x[k + 1] = y[k] - eta*g[k]
    if x[k] <= 1:
        a[k] = 1
    else:
        if x[k] <= 2:
            a[k] = 2
        else:
            a[k] = 3
    if x[k + 1] <= x[k]:
        return x[k + 1]
    else:
        y[k + 1] = x[k + 1]
while True:
    b = b + 1
    if b >= 4:
        break
return x[K]
"""
    )


@pytest.mark.parametrize(
    ("head", "last"),
    [
        (r"\Ensure $x_K$", "return x[K]  # input"),  # put out at the end, not before the lines that assign it
        (r"\Ensure a point with $\epsilon$", "    x[k + 1] = eta*x[k]  # 2"),
        (r"\Require $x_0$", "    x[k + 1] = eta*x[k]  # 2"),
    ],
)
def test_outputs_in_the_head_are_those_of_the_end(tmp_path: Path, head: str, last: str) -> None:
    lines = (head, r"\For{$k=0,\dots,K-1$} \Comment{with $\eta=2$}", r"\State $x_{k+1}=\eta x_k$", r"\EndFor")
    text = drafted(tmp_path, *lines).algorithms[0].text
    assert text.splitlines()[-1] == last
    assert text.startswith("for k in range(0, K):")


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        (r"$(a,b)=F(c)$", "a = item(F(c), 1)  # 1\nb = item(F(c), 2)  # 1\n"),
        (r"$(a,b)=(c,2c)$", "a = c  # 1\nb = 2*c  # 1\n"),
        (r"$a=b=c$", "a = b = c  # 1\n"),
        (r"$x_0=z_0\in\mathbb{R}^n$", "x[0] = z_0  # 1\n"),
        (r"Sample $i$ uniformly", "i = drawn()  # 1\n"),
        (r"$u\gets w(y)+a$, where $w(s)\ge 0$ and $a=3$", "a = 3  # 1\nu = w(y) + a  # 1\n"),
        (r"if $a>b$ then $a=b$", "if a > b:  # 1\n    a = b  # 1\n"),
    ],
)
def test_a_line(tmp_path: Path, line: str, steps: str) -> None:
    assert drafted(tmp_path, r"\State " + line).algorithms[0].text == steps


def test_a_value_of_a_function_that_a_line_assigns_is_read_where_it_stands_again(tmp_path: Path) -> None:
    text = drafted(
        tmp_path, r"\For{$k=0,\dots,K-1$}", r"\State $\hat\nabla\Phi(w_k)\gets\nabla_x f(w_k,y_k)+\nabla_x g(w_k,y_k)$",
        r"\State $x_{k+1}\gets w_k-\eta\hat\nabla\Phi(w_k)$", r"\EndFor",
    ).algorithms[0].text  # fmt: skip
    assert "hat_grad_Phi_at_w[k] = grad_x_f(w[k], y[k]) + grad_x_g(w[k], y[k])" in text
    assert "x[k + 1] = w[k] - eta*hat_grad_Phi_at_w[k]" in text


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((r"\State Solve the linear system",), "line 1: no assignment was found in it"),
        ((r"\State $x_0=1$", r"\For{$k=0,\dots,K$}", r"\State $x_{k+1}=x_k$"), "line 2: its block does not end"),
        ((r"\For{every sample}", r"\EndFor"), "line 1: a loop without a range"),
        ((r"\State $(a,b)=(b,a)$",), "line 1: names that are assigned at once are read there, too"),
        ((r"\State $x_0=1$", r"\EndIf"), "line 2: closes what was never opened"),
        ((r"\State $a=\unknown b$",), "line 1: macro"),
        ((r"\While{it is cold}", r"\State $a=1$", r"\EndWhile"), "line 1: the test cannot be told"),
    ],
)
def test_what_is_not_read_has_a_reason_and_a_question(tmp_path: Path, lines: tuple[str, ...], why: str) -> None:
    found = drafted(tmp_path, *lines)
    assert found.algorithms[0].text == ""
    assert found.algorithms[0].why.startswith(why)
    assert any(r.reason == "steps" and why in r.message for r in found.remarks)
    assert any(q.sort == "steps" and q.about == "Algorithm 1" and why in q.text for q in found.questions)
    assert (found.counts.algorithms, found.counts.steps) == (1, 0)
    assert "[definition.algorithm-1]" in found.text()


def test_the_authors_steps_are_taken_and_kept(tmp_path: Path) -> None:
    steps = "z = solve(A, b)\nreturn z\n"
    found = drafted(tmp_path, r"\State Solve the linear system", answers={"steps": {"Algorithm 1": steps}})
    assert (found.algorithms[0].text, found.counts.steps) == (steps, 1)
    assert "[draft.answers.steps]" in found.text()
    assert answers_of({"steps": {"Algorithm 1": steps}}, "a").table() == {"steps": {"Algorithm 1": steps}}
    with pytest.raises(InputError, match="steps of Algorithm 1: line 1: not a statement"):
        answers_of({"steps": {"Algorithm 1": "z == ("}}, "answers")


def test_a_letter_with_two_readings_stops_only_the_lines_that_turn_on_it(tmp_path: Path) -> None:
    found = []
    for line in (r"$a_t=r_t^Tr_t$", r"$a_t=2r_t$"):
        lines = (r"1. Input: $T$", r"2. for $t=0,\dots,T-1$ do", f"3. {line}", "4. end for")
        text = "+".join(r"\frac{1}{r}" for _ in range(20))
        body = rf"$$\|r_t\|\le\|r_{{t+1}}\|,\qquad 0<r<{text}.$$"
        path = tmp_path / "paper.md"
        path.write_text("**Algorithm 1** M\n\n" + "\n".join(lines) + f"\n\n## 2 B\n\n{body}\n", encoding="utf-8")
        found.append(draft(path).algorithms[0].why)
    assert found == ["is $r$ a number or a vector?", ""]


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        (r"$w_{t+1}=F(K_t^1)+K_t^2$", "    w[t + 1] = F(K[1,t]) + K[2,t]  # 2\n"),  # nobody prints a first power
        (r"$w_{t+1}=F(K_t)+K_t^2$", "    w[t + 1] = F(K[t]) + K[t]**2  # 2\n"),
        (r"$w_t=\Pi_{\mathcal{X}}(\eta-w_{t-1})$", "    w[t] = Pi_mathcal_X(eta - w[t - 1])  # 2\n"),  # no product
        (r"$w_t=\Pi_{c}(\eta-w_{t-1})$", "    w[t] = Pi_c*(eta - w[t - 1])  # 2\n"),
    ],
)
def test_superscripts_and_projections(tmp_path: Path, line: str, steps: str) -> None:
    text = drafted(tmp_path, r"\For{$t=1,\dots,T$}", rf"\State {line}", r"\EndFor").algorithms[0].text
    assert text == "for t in range(1, T_v + 1):  # 1\n" + steps


def test_the_square_of_a_vector_is_no_entry(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_text(r"**Lemma 1.** We have $$\|r_t\|\le\|r_{t+1}\|,$$ $$\frac{a r^2}{2}\le 1.$$", encoding="utf-8")
    assert [u.remark.message for u in draft(path).reader.unread] == ["a vector to a power"]


def test_defects_of_drafted_steps_are_shown_and_refute_nothing_until_somebody_has_read_them(tmp_path: Path) -> None:
    found = drafted(
        tmp_path, r"\Require $x_0$, $\eta>0$, $K\ge1$", r"\For{$k=0,\dots,K-1$}",
        r"\State $x_{k+1}=x_k-\eta\nabla f(x_t)$",
        r"\EndFor", r"\State \Return $\bar u$",
    )  # fmt: skip
    rows = card_rows(tmp_path, found)["algorithm-1"]
    assert {verdict for verdict, _ in rows} == {"undecided"}
    told = " | ".join(reason for _, reason in rows)
    assert "unassigned: line 2: 't' is never assigned" in told
    assert "'u_bar' is never assigned" in told
    assert "drafted = false" in told
    path = tmp_path / "read.toml"
    path.write_text(found.text().replace("drafted = true\n", "drafted = false\n"), encoding="utf-8")
    read = [f.verdict for f in audit(load_card(path), quick=True) if f.row.kind == "executability"]
    assert read.count("refuted") >= 2


def test_sound_steps_hold_and_what_they_take_is_marked(tmp_path: Path) -> None:
    lines = (r"\Require $x_0$, $K\ge1$", r"\For{$k=0,\dots,K-1$}", r"\State $x_{k+1}=x_k-\eta\nabla f(x_k)$",
             r"\EndFor", r"\State \Return $x_K$")  # fmt: skip
    path = tmp_path / "card.toml"
    path.write_text(drafted(tmp_path, *lines).text(), encoding="utf-8")
    card = load_card(path)
    entry = card.entries["algorithm-1"]
    assert isinstance(entry, Algorithm)
    assert entry.drafted
    assert (entry.inputs, set(entry.taken)) == (("x", "K"), {"eta"})
    rows = [f.row for f in audit(card, quick=True) if f.row.kind == "executability"]
    assert [(r.verdict, r.as_printed) for r in rows] == [("holds", False)]
    assert "eta is taken: no input of the algorithm; paper.tex:" in rows[0].marks[0]


PROGRAMS = (
    "k = 0\nwhile True:\n    k = k + 1\n    if k > 3 and k < 9:\n        break\nreturn k, k + 1\n",
    "for k in range(0, oo):\n    x[k,-1] = x[k - 1,0] = -(k - 1)**2/(3*k)\n"
    "    if k == 2:\n        y = 1\n    else:\n        y = 2\n",
    "a = 1 if b > 2 else max(b, (c, 1))\n",
)


@pytest.mark.parametrize("text", PROGRAMS)
def test_steps_that_are_written_are_read_as_what_was_written(text: str) -> None:
    program = read_program(text)
    assert read_program(program_text(program.statements)).statements == program.statements
