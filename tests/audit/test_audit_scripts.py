"""Independent scripts of refutations that are no scalar links: units, identities, definedness. They run with ``-I``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from seeds import SEED

from bilevel_verify.audit.auditor import findings_of
from bilevel_verify.audit.identities.identity_script import identity_script
from bilevel_verify.audit.units.homogeneity import unit_findings
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Identity
from bilevel_verify.theorems.card_parts import Expression
from bilevel_verify.theorems.library import load_card

DRAFT = """
[paper]
key = "draft"
standing = "Section 1"
[units]
F = "values"
X = "length"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)" }
eps = { unit = "F/X", domain = "(0, oo)" }
[[inequality]]
id = "pole"
for = { a = "[0, 1]", k = "integers 1.." }
for_from = "Theorem 1"
where = ["a <= 1/k"]
where_from = "Theorem 1"
chain = ["a/(a + (k-1)**2)", "<= 1"]
[[inequality]]
id = "lengths"
chain = ["L*eps", "<= L*eps + eps**2"]
"""


def run(source: str, folder: Path) -> int:
    """Exit status of a script in a Python that knows nothing of the package's folder."""
    assert "bilevel_verify" not in source
    path = folder / "script.py"
    path.write_text(source, encoding="utf-8")
    return subprocess.run([sys.executable, "-I", str(path)], check=False, capture_output=True, timeout=120).returncode


def test_scripts_of_units_show_a_quotient_that_changes(tmp_path: Path) -> None:
    card = load_card(("fsba", "ragd-gs", "rahgd")[SEED % 3])
    refuted = [
        finding
        for entry in card.entries.values()
        for finding in unit_findings(card, entry)
        if finding.verdict == "refuted"
    ]
    assert [f.statement for f in refuted if f.script is None] == []
    print(f"seed {SEED}: {len(refuted)} rows")
    for place in np.random.default_rng(SEED).permutation(len(refuted))[:4]:
        assert run(refuted[place].script or "", tmp_path) == 0, refuted[place].statement


def test_the_script_of_a_homogeneous_relation_says_so(tmp_path: Path) -> None:
    from bilevel_verify.audit.units.unit_script import unit_script
    from bilevel_verify.theorems.units.unit_table import unit_table

    table = unit_table(load_card("fsba"))
    left, right = parse("M/12*norm(x[0] - x[1])**3"), parse("eps*norm(x[0]) + sqrt(M*eps)*norm(x[1])**2")
    source = unit_script(table, left, right)
    assert source is not None
    assert run(source, tmp_path) == 1


@pytest.mark.parametrize(("paper", "name"), [("fsba", "hypergradient"), ("ragd-gs", "equation-13")])
def test_scripts_of_identities_tell_false_from_true(paper: str, name: str, tmp_path: Path) -> None:
    entry = load_card(paper).entries[name]
    assert isinstance(entry, Identity)
    assert run(identity_script(entry) or "", tmp_path) == 0
    if paper == "fsba":
        assert isinstance(entry.repaired, Identity)
        assert run(identity_script(entry.repaired) or "", tmp_path) == 1


def test_a_planted_sign_in_an_identity_is_shown_by_its_script(tmp_path: Path) -> None:
    entry = load_card("ragd-gs").entries["jacobian-y-star"]
    assert isinstance(entry, Identity)
    text = entry.right.text.replace("-", "", 1)
    from dataclasses import replace

    planted = replace(entry, right=Expression(parse(text), text))
    assert run(identity_script(planted) or "", tmp_path) == 0


def test_a_formula_without_a_value_has_a_script_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "draft.toml"
    path.write_text(DRAFT, encoding="utf-8")
    card = load_card(path)
    found = {(f.row.statement, f.row.kind): f for name in card.entries for f in findings_of(card, card.entries[name])}
    pole, lengths = found["pole", "definedness"], found["lengths", "units"]
    assert pole.verdict == lengths.verdict == "refuted"
    assert pole.counterexample == {"a": "0", "k": "1"}
    assert run(pole.script or "", tmp_path) == 0
    assert run(lengths.script or "", tmp_path) == 0


def test_a_formula_of_a_reviewer_is_told_where_it_has_no_value(tmp_path: Path) -> None:
    from bilevel_verify.audit.formula import check

    link, pole = check("x/x <= 1", "x = [0, 1]")
    assert link.verdict == "undecided"
    assert (link.row.reason or "").startswith("undefined at x = 0; holds where defined: ")
    assert (pole.row.kind, pole.verdict, pole.counterexample) == ("definedness", "refuted", {"x": "0"})
    assert run(pole.script or "", tmp_path) == 0
    assert len(check("x/(1 + x) <= 1", "x = [0, 1]")) == 1


def test_a_formula_of_vectors_is_told_where_it_has_no_value(tmp_path: Path) -> None:
    """The point has no value for a vector: the script shows the part that is not defined, and no sides."""
    from bilevel_verify.audit.formula import check

    young = "norm(a + b)**2 <= (1 + e)*norm(a)**2 + (1 + 1/e)*norm(b)**2"
    link, pole = check(young, "a, b = vectors; e = [0, oo)")
    assert link.verdict == "undecided"
    assert (pole.row.kind, pole.verdict, pole.counterexample) == ("definedness", "refuted", {"e": "0"})
    assert run(pole.script or "", tmp_path) == 0
    assert "for name, side in ():" in (pole.script or "")
