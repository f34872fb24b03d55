"""Vectors in ``check``: lengths and cosines against random vectors, what may stand where, scripts."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.audit.entries.gram import in_lengths
from bilevel_verify.audit.entries.reading import REAL
from bilevel_verify.audit.scalar.claim import POSITIVE, ScalarClaim
from bilevel_verify.errors import InputError
from bilevel_verify.language import parse, tree

TRUE = [
    ("norm(a + b) <= norm(a) + norm(b)", "a, b = vectors"),
    ("abs(dot(a, b)) <= norm(a)*norm(b)", "a, b = vectors"),
    ("abs(norm(a) - norm(b)) <= norm(a - b)", "a, b = vectors"),
    ("norm(a - b)*norm(a + b) <= norm(a)**2 + norm(b)**2", "a, b = vectors"),
    ("norm(a + b)**2 <= (1 + e)*norm(a)**2 + (1 + 1/e)*norm(b)**2", "a, b = vectors; e = (0, oo)"),
    ("norm(t*a) == t*norm(a)", "a = vectors; t = [0, oo)"),
]
FALSE = [
    ("norm(a + b)**2 <= 2*norm(a)**2 + norm(b)**2", "a, b = vectors"),
    ("norm(a + b) <= norm(a) - norm(b)", "a, b = vectors"),
    ("norm(a)*norm(b) <= dot(a, b)", "a, b = vectors"),
    ("norm(a)*norm(b) <= abs(dot(a, b))", "a, b = vectors"),  # true on a line, false in the plane
    ("norm(t*a) == t*norm(a)", "a = vectors; t = [-1, 1]"),
]


def value(text: str, vectors: dict[str, np.ndarray]) -> bool:
    """The relation at vectors, by NumPy alone."""
    names = {"norm": np.linalg.norm, "dot": np.dot, "abs": abs, "e": 0.7, "t": 0.4}
    return bool(eval(text.replace("<=", "<= 1e-9 +").replace("==", "== 0 +"), {}, names | vectors))


@pytest.mark.parametrize(("text", "ranges"), TRUE)
def test_true_relations_between_vectors_hold(text: str, ranges: str) -> None:
    (finding,) = bv.check(text, ranges)
    assert (finding.row.verdict, finding.row.certainty) == ("holds", "proved")
    rng = np.random.default_rng(1)
    if "==" not in text:
        assert all(value(text, dict(zip("ab", rng.normal(size=(2, d))))) for d in (1, 2, 3, 5) for _ in range(50))


@pytest.mark.parametrize(("text", "ranges"), FALSE)
def test_false_relations_are_refuted_by_a_script(text: str, ranges: str, tmp_path: Path) -> None:
    (finding,) = bv.check(text, ranges)
    row = finding.row
    assert row.verdict == "refuted"
    assert row.measured is not None
    assert row.bound is not None
    if "==" not in text:
        assert row.measured > row.bound, "both sides of the relation itself, not of a minor of its matrix"
    assert finding.script is not None
    (tmp_path / "show.py").write_text(finding.script, encoding="utf8")
    done = subprocess.run([sys.executable, str(tmp_path / "show.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_hypotheses_on_vectors_are_used_and_needed() -> None:
    text, ranges = "norm(a + b) <= 2*norm(a)", "a, b = vectors"
    assert bv.check(text, ranges, "norm(b) <= norm(a)")[0].row.verdict == "holds"
    assert bv.check(text, ranges, "norm(b) <= 2*norm(a)")[0].row.verdict == "refuted"


def test_three_cosines_are_those_of_a_gram_matrix() -> None:
    """Obtuse angles cannot be pairwise below -1/2: without the condition on cosines this would not be provable."""
    ranges, unit = "a, b, c = vectors", ["norm(a) == 1", "norm(b) == 1", "norm(c) == 1"]
    relation = parse("norm(a + b + c) >= 0")
    assert isinstance(relation, tree.Compare)
    claim = ScalarClaim(relation.operands[0], ">=", relation.operands[1], {}, ())
    numbers, complete = in_lengths(claim, ("a", "b", "c"))
    assert complete
    assert len(numbers.where) == 1
    point = {name: Fraction(-9, 10) if name.startswith("cos") else Fraction(1) for name in numbers.letters}
    (condition,) = numbers.where
    assert isinstance(condition, tree.Compare)
    squares = sum(point[f"cos_{pair}"] ** 2 for pair in ("a_b", "a_c", "b_c"))
    assert squares > 1 + 2 * point["cos_a_b"] * point["cos_a_c"] * point["cos_b_c"], "no vectors have these cosines"
    for bound, verdict in (("3/2", "holds"), ("7/5", "refuted")):  # -3/2 is reached at 120 degrees
        (finding,) = bv.check(f"dot(a, b) + dot(a, c) + dot(b, c) >= -{bound}", ranges, unit)
        assert finding.row.verdict == verdict


def test_names_of_lengths_never_meet_a_letter() -> None:
    relation = parse("norm(a) + norm_a <= norm(a) + norm_a + cos_a_b")
    assert isinstance(relation, tree.Compare)
    claim = ScalarClaim(relation.operands[0], "<=", relation.operands[1], {"norm_a": POSITIVE, "cos_a_b": REAL}, ())
    numbers, _ = in_lengths(claim, ("a", "b"))
    assert {"norm_a", "norm_a_", "cos_a_b"} <= set(numbers.domains)
    assert numbers.domains["cos_a_b"] == REAL


@pytest.mark.parametrize(
    ("text", "ranges", "message"),
    [
        ("a <= 1", "a = vectors", "'a' is a vector"),
        ("norm(a)*b <= 1", "a, b = vectors", "'b' is a vector"),
        ("norm(a) <= 1", "a = (0, oo)", "norm"),
        ("norm(a) <= 1", "a = domain", "'vectors'"),
    ],
)
def test_wrong_use_is_one_line(text: str, ranges: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        bv.check(text, ranges)
    assert "\n" not in str(caught.value)


def test_letters_may_share_a_range() -> None:
    assert bv.check("a*b <= 1", "a, b = [0, 1]")[0].row.verdict == "holds"
    with pytest.raises(InputError, match="not of the form"):
        bv.check("a*b <= 1", "b = [0, 1], a")
