"""The order of symmetric matrices in a proof, and what is left of equations that do not follow."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.language import tree
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.formulas import read_print
from bilevel_verify.manuscript.judging import Judgement, OutOfScope, judge
from bilevel_verify.manuscript.relations import relations_of
from tests.seeds import SEED

CARD = """
[paper]
key = "mine"
title = "A draft"
[units]
F = "values"
[letters]
b = { unit = "1", domain = "[0, oo)", domain_from = "Section 1", meaning = "b" }
c = { unit = "1", domain = "(0, oo)", domain_from = "Section 1", meaning = "c" }
[functions]
f = { arguments = ["F"], value = "F" }
[notation]
letters = 'b c'
matrices = 'A B C I'
sets = 'S'
vectors = 'u v w'
functions = 'f'
"""
FOLLOW = (
    r"A \succeq -\|A\|I",
    r"A \preceq \|A\|I",
    r"A \succeq B-\|A-B\|I",
    r"A \succeq B-\|A-C\|I-\|C-B\|I",
    r"A+cI \succeq A",
    r"A+bI \succeq A",
    r"-\|A-B\|I \succeq -\|A-C\|I-\|B-C\|I",
    r"2A-A \preceq A+bI",
    r"cA \succeq cB-c\|A-B\|I",
)
FALSE = (
    r"A \succeq \|A\|I",
    r"A \succeq -\frac12\|A\|I",
    r"A \preceq -\|A\|I",
    r"A \succeq B-\frac12\|A-B\|I",
    r"A \succeq B+\|A-B\|I",
    r"A \preceq B-\|A-B\|I",
    r"A \succeq -\|B\|I",
    r"A \succeq B-\|A-C\|I",
    r"A-cI \succeq A",
    r"-\|A-C\|I-\|B-C\|I \succeq -\|A-B\|I",
    r"A \succeq B",
    r"2A \succeq A-\frac12\|A\|I",
    r"A \succeq bI",
)


def judged(tmp_path: Path, latex: str, more: str = "") -> Judgement:
    """What is said of one printed relation of a proof."""
    (tmp_path / "mine.toml").write_text(CARD, encoding="utf8")
    text = f"paper = 'mine'\n{more}\n[[formula]]\nn = 1\nlatex = '{latex}'\nwithin = 'proof of lemma-1'\n"
    paper = Paper(bv.card(tmp_path / "mine.toml"), read_print(tomllib.loads(text)))
    return judge(paper, relations_of(paper.read[0])[0], effort=0.1)


def at(node: tree.Node, values: Mapping[str, np.ndarray | float]) -> np.ndarray | float:
    """The value of a side with numbers in the place of its letters, by numpy alone."""
    match node:
        case tree.Number(value=value):
            return float(value)
        case tree.Letter(name=name):
            return values[name]
        case tree.Negate(operand=inner):
            return -at(inner, values)
        case tree.Add(terms=terms):
            return sum((at(t, values) for t in terms[1:]), start=at(terms[0], values))
        case tree.Multiply(factors=factors):
            found = at(factors[0], values)
            for factor in factors[1:]:
                found = found * at(factor, values)
            return found
        case tree.Divide(numerator=top, denominator=bottom):
            return at(top, values) / at(bottom, values)
        case tree.Call(function="norm", arguments=(inner,)):
            return float(np.linalg.norm(at(inner, values), 2))
    raise AssertionError(node)


def least_eigenvalues(tmp_path: Path, latex: str) -> list[float]:
    """The smallest eigenvalue of larger less smaller at 300 points: symmetric matrices, some nearly equal or flat."""
    (tmp_path / "mine.toml").write_text(CARD, encoding="utf8")
    text = f"paper = 'mine'\n[[formula]]\nn = 1\nlatex = '{latex}'\n"
    paper = Paper(bv.card(tmp_path / "mine.toml"), read_print(tomllib.loads(text)))
    relation = relations_of(paper.read[0])[0].relation
    sign = 1 if relation.op == "psd>=" else -1
    rng = np.random.default_rng(SEED)
    found = []
    for number in range(300):
        values: dict[str, np.ndarray | float] = {"I": np.eye(2), "b": float(rng.choice([0, 1])), "c": 1.0}
        for name in "ABC":
            half = rng.normal(size=(2, 2)) * rng.choice([0, 1, 5])
            values[name] = half + half.T if number % 3 else np.diag(rng.choice([-1.0, 0.0, 1.0], size=2))
        larger, smaller = (relation.left, relation.right)[::sign]
        found.append(float(np.linalg.eigvalsh(at(larger, values) - at(smaller, values))[0]))
    return found


@pytest.mark.parametrize("latex", FOLLOW)
def test_what_follows_from_norms_holds_and_is_true(tmp_path: Path, latex: str) -> None:
    found = judged(tmp_path, latex)
    assert found.verdict == "holds", found.reason
    assert "M >= -norm(M) I" in found.reason
    assert min(least_eigenvalues(tmp_path, latex)) > -1e-9


@pytest.mark.parametrize("latex", FALSE)
def test_nothing_false_holds(tmp_path: Path, latex: str) -> None:
    assert min(least_eigenvalues(tmp_path, latex)) < -1e-3
    found = judged(tmp_path, latex)
    assert found.verdict == "undecided"
    assert "the sides differ by" in found.reason


def test_what_a_paper_says_of_a_norm_is_used(tmp_path: Path) -> None:
    said = "[[said]]\nsource = 'Lemma 2'\nlatex = '\\|A-B\\|\\le c'\n"
    found = judged(tmp_path, r"A \succeq B-cI", said)
    assert found.verdict == "holds"
    assert "Lemma 2" in found.reason
    assert judged(tmp_path, r"A \succeq B-\frac c2I", said).verdict == "undecided"
    assert judged(tmp_path, r"A \succeq B+cI", said).verdict == "undecided"


def test_an_arbitrary_norm_says_nothing_of_eigenvalues(tmp_path: Path) -> None:
    assert judged(tmp_path, r"A \succeq -\|A\|I", "euclidean = false").verdict == "undecided"


def test_an_equation_of_sets_stays_a_reason_and_one_of_vectors_shows_what_is_left(tmp_path: Path) -> None:
    with pytest.raises(OutOfScope, match="equation between vectors, matrices or sets"):
        judged(tmp_path, r"S=\{u, v\}")
    found = judged(tmp_path, r"u=v+cw")
    assert found.verdict == "undecided"
    assert found.reason.endswith("the sides differ by u + -v + {-1*c} w")
    assert judged(tmp_path, r"u+cw=w+u+(c-1)w").verdict == "holds"
