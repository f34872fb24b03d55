"""Claims attacked on instances, and relations of matrices: what is false is refuted, what is true survives."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from bilevel_verify.audit.formula import check
from bilevel_verify.audit.instances.claims import instance_findings
from bilevel_verify.audit.instances.rational import NoValue, evaluate, inverse, norm, positive_definite
from bilevel_verify.cli import main
from bilevel_verify.errors import InputError
from bilevel_verify.language import parse
from bilevel_verify.theorems.library import load_card

CARD = """
[paper]
key = "steps"
title = "A descent lemma, with a factor of its own"
[letters]
L = { from = "constants", meaning = "Lipschitz constant of the gradient" }
eta = { meaning = "step" }
N = { from = "user", default = "2", meaning = "steps" }
[settings.s.parameters]
eta = "1/L"
[[theorem]]
id = "t"
method = "gradient-descent"
settings = ["s"]
  [[theorem.claim]]
  id = "descent"
  over = "step"
  chain = ["phi(x[k + 1]) - phi(x[k])", "<= -FACTOR*norm(grad_phi(x[k]))**2/L"]
[[theorem]]
id = "u"
text = "nothing about instances"
"""


def findings(tmp_path: Path, factor: str, **options: object) -> list:
    path = tmp_path / "steps.toml"
    path.write_text(CARD.replace("FACTOR", factor), encoding="utf-8")
    return instance_findings([load_card(path)], **{"instances": 6, **options})


def test_a_true_claim_survives_and_is_never_said_to_hold(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "(1/2)")
    assert found.verdict == "undecided"
    count, ratio = re.match(r"survived (\d+) instances, largest ratio ([\d.e-]+) ", found.row.reason).groups()
    assert 1 <= int(count) <= 6
    assert 0.9 <= float(ratio) <= 1
    assert "instance" in found.row.details


def test_a_false_claim_is_refuted_and_verify_repeats_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = findings(tmp_path, "(3/4)")
    assert found.verdict == "refuted"
    assert (found.row.details["op"], found.row.right[:3]) == ("<=", "-(3")
    folder = tmp_path / "instances"
    folder.mkdir()
    words = shlex.split(found.row.reproduce)
    file = folder / found.row.details["instance_file"]
    assert words[words.index("--problem") + 1] == f"instances/{file.name}"
    file.write_text(found.row.details["instance"], encoding="utf-8")
    words[words.index("--problem") + 1] = str(file)
    assert main([*words[1:], "--json"]) == 1
    again = json.loads(capsys.readouterr().out)["rows"][0]
    assert again["verdict"] == "refuted"
    assert again["measured"] == found.row.measured


def test_steps_that_cannot_be_carried_out_are_named(tmp_path: Path) -> None:
    path = tmp_path / "steps.toml"
    steps = "x[0] = x_int  # 1\nx[1] = x[0] - eta*grad_f  # 2\nreturn x[1]  # 3"
    algorithm = f'[[algorithm]]\nid = "a"\ninputs = ["x_int", "eta"]\nsteps = """\n{steps}\n"""\n'
    text = CARD.replace('method = "gradient-descent"', 'algorithm = "a"')
    path.write_text(text.replace("FACTOR", "(1/2)") + algorithm, encoding="utf-8")
    (found,) = instance_findings([load_card(path)], instances=3)
    assert found.verdict == "undecided"
    assert "cannot be carried out: line 2: a function without its arguments" in found.row.reason


def test_nothing_is_attacked_where_nothing_was_asked_for(tmp_path: Path) -> None:
    assert findings(tmp_path, "(3/4)", instances=0) == []
    assert findings(tmp_path, "(3/4)", statement="u") == []
    assert len(findings(tmp_path, "(3/4)", statement="t", instances=1)) == 1


def test_the_command_writes_the_problem_file_that_repeats_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "steps.toml", tmp_path / "out"
    path.write_text(CARD.replace("FACTOR", "(3/4)"), encoding="utf-8")
    asked = ["audit", str(path), "--jobs", "1", "--json"]
    assert main([*asked, "--quick", "--instances", "0"]) == 0
    assert not [row for row in json.loads(capsys.readouterr().out)["rows"] if row["kind"] == "step"]
    assert main([*asked, "--quick", "--out", str(out)]) == 1
    (row,) = (row for row in json.loads(capsys.readouterr().out)["rows"] if row["kind"] == "step")
    monkeypatch.chdir(out)
    assert main([*shlex.split(row["reproduce"])[1:], "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["rows"][0]["measured"] == row["measured"]


M = "matrices"
TRUE = {
    "norm(A @ B) <= norm(A)*norm(B)": {"A": M, "B": M},
    "norm(A + B) <= norm(A) + norm(B)": {"A": M, "B": M},
    "norm(inv(A) - inv(B)) <= norm(inv(A))*norm(A - B)*norm(inv(B))": {"A": M, "B": M},
    r"\|AB-CD\|\le\|A-C\|\|B\|+\|C\|\|B-D\|": dict.fromkeys("ABCD", M),
    "norm(A @ v)**2 <= norm(A)*dot(v, A @ v)": {"A": "positive definite matrices", "v": "vectors"},
    "frobenius(A) >= norm(A)": {"A": M},
    r"\|A^{-1}\|\ge\frac{1}{\|A\|}": {"A": "positive definite matrices"},
}
FALSE = {
    "norm(A @ B) <= norm(B @ A)": {"A": M, "B": M},
    "norm(inv(A) - inv(B)) <= norm(inv(A))*norm(A - B)": {"A": M, "B": M},
    r"\|AB-CD\|\le\|A-C\|\|B\|+\|A\|\|B-D\|": dict.fromkeys("ABCD", M),
    r"\|A^{-1}\|\le\frac{1}{\|A\|}": {"A": M},
    "norm(A @ v)**2 <= norm(A)*dot(v, A @ v)": {"A": "symmetric matrices", "v": "vectors"},
    "frobenius(A) <= norm(A)": {"A": M},
    "norm(A + B)**2 <= norm(A)**2 + norm(B)**2": {"A": M, "B": M},
}


@pytest.mark.parametrize("text", TRUE)
def test_a_true_relation_of_matrices_survives(text: str) -> None:
    (found,) = check(text, TRUE[text])
    assert found.verdict == "undecided"
    assert re.match(r"survived [1-9]\d\d instances, largest ratio ", found.row.reason)
    assert found.row.details["tightness"] <= 1


@pytest.mark.parametrize("text", FALSE)
def test_a_false_relation_of_matrices_is_refuted_and_its_script_shows_it(text: str, tmp_path: Path) -> None:
    (found,) = check(text, FALSE[text])
    assert found.verdict == "refuted"
    assert found.row.certainty == "proved"
    path = tmp_path / "script.py"
    path.write_text(found.script, encoding="utf-8")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_hypotheses_are_met_by_every_instance() -> None:
    kinds = {"A": M, "m": "positive numbers"}
    assert check("norm(A) <= m", kinds)[0].verdict == "refuted"
    assert check("norm(A) <= m", kinds, "norm(A) <= m")[0].verdict == "undecided"
    (found,) = check("norm(A) <= m", kinds, "norm(A) <= 2*m")
    rows = json.loads(re.sub(r"-?\d+/\d+", lambda m: str(float(Fraction(m[0]))), found.counterexample["A"]))
    size = np.linalg.norm(np.array(rows), 2)
    assert float(Fraction(found.counterexample["m"])) < size <= 2 * float(Fraction(found.counterexample["m"]))


def test_letters_beside_matrices_have_a_kind() -> None:
    with pytest.raises(InputError, match="--for: m: beside matrices a letter is one of"):
        check("norm(A) <= m", "A = matrices")
    with pytest.raises(InputError, match="must be a relation"):
        check("norm(A)", "A = matrices")


def test_norms_are_enclosed() -> None:
    rng = np.random.default_rng(3)
    for size in (1, 2, 3, 4):
        rows = tuple(tuple(Fraction(int(x), 7) for x in row) for row in rng.integers(-9, 9, (size, size)))
        found = norm(rows)
        exact = np.linalg.norm(np.array(rows, dtype=float), 2)
        assert float(found.low) <= exact * (1 + 1e-12)
        assert exact <= float(found.high) * (1 + 1e-12)
        assert float(found.high - found.low) <= 1e-8 * max(exact, 1)
    rank_one = norm(((Fraction(3), Fraction(0)), (Fraction(4), Fraction(0))))
    assert rank_one.low <= 5 <= rank_one.high <= 5 + Fraction(1, 10**7)


def test_what_has_no_value() -> None:
    zero, one = ((Fraction(0),),), ((Fraction(1), Fraction(2)),)
    with pytest.raises(NoValue, match="singular"):
        inverse(zero)
    with pytest.raises(NoValue, match="not square"):
        inverse(one)
    with pytest.raises(NoValue, match="different shapes"):
        evaluate(parse("A + B"), {"A": zero, "B": one})
    with pytest.raises(NoValue, match="division by zero"):
        evaluate(parse("1/norm(A)"), {"A": zero})
    assert not positive_definite(((Fraction(1), Fraction(2)), (Fraction(2), Fraction(4))))
    assert positive_definite(((Fraction(1), Fraction(2)), (Fraction(2), Fraction(5))))


def test_claims_of_proofs_are_attacked_and_definitions_are_not() -> None:
    findings = instance_findings([load_card("ragd-gs")], instances=1, statement="proof-lemma-8")
    assert findings
    assert not instance_findings([load_card("ragd-gs")], instances=1, statement="equation-5")
