"""``audit --certificates`` and ``--coq``: files, levels on the rows, counts; Coq where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from coq_reader import plain, statement

from bilevel_check import check
from bilevel_verify.audit.findings.levels import CHECKED, WORD
from bilevel_verify.audit.formula import check as judged
from bilevel_verify.audit.formula import claims_of
from bilevel_verify.certificates.audited import coq_file, with_certificates
from bilevel_verify.certificates.coq.accepting import PROCESSOR, accepted_by_coq
from bilevel_verify.certificates.coq.lemmas import PRELUDE, SUMS, NotWritten, lemma, with_prelude
from bilevel_verify.certificates.finding import Certificate, certify
from bilevel_verify.cli import main

BEFORE = "Require Import prelude Reals Lra Lia.\nFrom Interval Require Import Tactic.\nOpen Scope R_scope.\n"
PRELUDE_LINES = 150


def test_the_audit_writes_certificates_and_says_the_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bilevel_verify.certificates.audited.coq_is_here", lambda: False)
    command = ["audit", "agm-bio", "--quick", "--statement", "equation-29", "--jobs", "1", "--json"]
    assert main([*command, "--certificates", str(tmp_path / "found"), "--coq", str(tmp_path / "coq")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["certificates"] == {"holds": {CHECKED: 1}}
    [row] = [row for row in answer["rows"] if row["kind"] == "inequality"]
    assert row["details"]["certificate"] == CHECKED
    text = (tmp_path / "found" / row["details"]["certificate_file"]).read_text()
    assert check(text).shows == "proved"
    assert json.loads(text)["about"]["statement"] == "equation-29"
    assert row["details"]["coq_file"] == "agm_bio.v"
    assert (tmp_path / "coq" / "agm_bio.v").read_text().startswith(PRELUDE)


@pytest.mark.parametrize(
    ("paper", "file"),
    [("agm-bio", "agm_bio.v"), ("2024 draft", "paper_2024_draft.v"), ("", "paper_.v"), ("x.y", "x_y.v")],
)
def test_files_of_coq_are_named_by_identifiers(paper: str, file: str) -> None:
    assert coq_file(paper) == file


def test_a_row_without_a_certificate_keeps_its_verdict_and_says_so() -> None:
    findings = [replace(one, claim=None) for one in judged("x <= x + 1", "x = (0, oo)")]
    found, levels = with_certificates(findings, None)
    assert found[0].verdict == "holds"
    assert found[0].row.details["certificate"] == WORD
    assert levels.to_dict() == {"holds": {WORD: 1}}
    assert "0 % of 1" in str(levels)


def test_what_coq_has_no_word_for_is_left_out() -> None:
    data = {"statement": {"letters": {"x": "real"}, "hypotheses": [], "claim": ["==", ["sin", "x"], ["sin", "x"]]}}
    text = json.dumps({**data, "proof": []})
    assert check(text).accepted
    with pytest.raises(NotWritten):
        lemma(text, "c")


BOUNDS = (
    # what an atom brings along, and how it is said: squares of norms, tangents, floors, maxima in a case
    ("norm((1 - t)*a)**2 <= norm(a)**2", "a = vectors; t = [0, 1]", "", ("a",), "0 <= (dot a a)). { apply dot_pos. }"),
    ("log(1 - 1/sqrt(k)) <= -1/sqrt(k)", "k = (1, oo)", "", (), "ln_below"),
    ("2*ceil(x) <= 2*x + 2", "x = [0, oo)", "", (), "floor_gt"),
    ("abs(s + z) <= abs(s) + r", "s = (-oo, oo); z = (-oo, oo); r = [0, oo)", "abs(z) <= r", (), "(Rabs z) = z)"),
)


def lemma_of_bound(text: str, ranges: str, where: str, vectors: tuple[str, ...], name: str) -> str:
    [claim] = claims_of(text, ranges, where)
    found = certify(claim, vectors)
    assert found is not None
    return lemma(found.text, name)


@pytest.mark.parametrize("place", range(len(BOUNDS)))
def test_what_atoms_bring_along_is_said_before_it_is_used(place: int) -> None:
    """The checker knows it of every atom; Coq has to be told."""
    *stated, said = BOUNDS[place]
    text = lemma_of_bound(*stated, "c")
    assert said in text
    if stated[3]:
        assert text.index(said) < text.index("(dot a a) * t")


def test_the_statement_in_coq_reads_back_as_the_certificate(certificates: list[Certificate | None]) -> None:
    for found in certificates:
        assert found is not None
        stated = json.loads(found.text)["statement"]
        sorts, hypotheses, claim = statement(lemma(found.text, "c"))
        assert sorts == stated["letters"]
        assert hypotheses == [plain(one) for one in stated["hypotheses"]]
        assert claim == plain(stated["claim"])


def test_the_prelude_can_be_read() -> None:
    assert len(PRELUDE.splitlines()) <= PRELUDE_LINES
    assert not set(f"{PRELUDE} {SUMS}".split()) & {"Axiom", "Parameter", "Admitted.", "admit.", "Conjecture"}


def test_sums_and_vectors_stand_only_before_what_speaks_of_them(certificates: list[Certificate | None]) -> None:
    lemmas = [lemma(found.text, "c") for found in certificates if found is not None]
    assert with_prelude(lemmas[:1]) == f"{PRELUDE}\n{lemmas[0]}"
    assert SUMS in with_prelude(lemmas)


@pytest.mark.extra
@pytest.mark.skipif(shutil.which("coqc") is None, reason="extra: needs coqc (Debian: coq, libcoq-interval)")
def test_coq_accepts_the_lemmas_and_no_false_one(tmp_path: Path, certificates: list[Certificate | None]) -> None:
    lemmas = [lemma(found.text, f"c_{i}") for i, found in enumerate(certificates) if found is not None]
    lemmas += [lemma_of_bound(*stated, f"b_{i}") for i, (*stated, _) in enumerate(BOUNDS)]
    [claim] = claims_of("x**2 <= x", "x = (0, oo)")
    refuted = certify(claim, point={"x": Fraction(3, 2)})
    assert refuted is not None
    (tmp_path / "prelude.v").write_text(PRELUDE + SUMS)
    (tmp_path / "good.v").write_text("\n".join([BEFORE, *lemmas, lemma(refuted.text, "r")]))
    false = lemmas[0].replace("(2 * (sqrt", "(3 * (sqrt")
    assert false != lemmas[0]
    (tmp_path / coq_file("my-draft")).write_text((tmp_path / "prelude.v").read_text())
    (tmp_path / "bad.v").write_text(BEFORE + false)
    status = [
        subprocess.run(["coqc", "-q", "-R", ".", "", name], cwd=tmp_path, capture_output=True, check=False).returncode
        for name in ("prelude.v", "good.v", coq_file("my-draft"), "bad.v")
    ]
    assert status[:3] == [0, 0, 0]
    assert status[3] != 0


@pytest.mark.skipif(shutil.which("coqtop") is None, reason="extra: needs coqtop (Debian: coq, libcoq-interval)")
def test_coq_is_asked_for_each_lemma_and_a_false_one_leaves_the_others(
    tmp_path: Path, certificates: list[Certificate | None], capsys: pytest.CaptureFixture[str]
) -> None:
    found = [one for one in certificates if one is not None][:3]
    lemmas = {f"c_{i}": lemma(one.text, f"c_{i}") for i, one in enumerate(found)}
    false = lemmas["c_0"].replace("(2 * (sqrt", "(3 * (sqrt").replace("c_0", "c_false")
    open_proof = "Lemma c_open : 0 <= 1.\nProof. assert (1 = 1)."  # never closed; what follows it must not close it
    unproved = "Lemma c_admitted : 1 <= 0. Admitted."
    every = {"c_false": false, "c_open": open_proof, **lemmas}
    assert accepted_by_coq(every) == set(lemmas)
    assert accepted_by_coq(every, jobs=3) == set(lemmas)
    with pytest.raises(ValueError, match="Admitted"):
        accepted_by_coq({"c_admitted": unproved})
    command = ["audit", "agm-bio", "--quick", "--statement", "equation-29", "--jobs", "1", "--coq", str(tmp_path)]
    assert main(command) == 0
    assert "accepted by the small checker and by Coq" in capsys.readouterr().out


def test_without_coq_the_level_is_that_of_the_small_checker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bilevel_verify.certificates.audited.coq_is_here", lambda: False)
    command = ["audit", "agm-bio", "--quick", "--statement", "equation-29", "--jobs", "1", "--coq", str(tmp_path)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "by Coq" not in said
    assert "accepted by the small checker" in said


def test_a_checked_formula_has_its_certificates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["check", "2*sqrt(x) <= 1 + x < 5", "--for", "x = [0, 4]", "--certificates", str(tmp_path)]
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["certificates"] == {"holds": {CHECKED: 1}, "refuted": {CHECKED: 1}}
    texts = [file.read_text() for file in sorted(tmp_path.glob("*.json"))]
    assert [check(text).shows for text in texts] == ["proved", "refuted"]
    assert main(["check", "exp(x) >= 1 + x", "--for", "x = (-oo, oo)", "--certificates", str(tmp_path)]) == 0
    assert "1 accepted by the small checker" in capsys.readouterr().out


BUSY = """#!/bin/sh
# A Coq on a machine so busy that the clock of a session ends what is quick, and that is killed where it needs too long.
script=$(cat)
case "$script" in
*"Default Timeout"*) echo "Timeout!" >&2; echo "early"; echo "     : 1 <= 2" ;;
*"endless"*) ulimit -t >> "$LIMITS"; kill -XCPU $$ ;;
*"slow"*) ulimit -t >> "$LIMITS"; echo "slow"; echo "     : 1 <= 2" ;;
esac
"""


@pytest.mark.fast
def test_what_the_clock_ends_is_asked_again_with_processor_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Load changes no answer of Coq: what a limit of the clock ended is asked alone, and only a limit of work ends that."""
    (tmp_path / "coqtop").write_text(BUSY)
    (tmp_path / "coqtop").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("LIMITS", str(tmp_path / "limits"))
    lemmas = {name: f"Lemma {name} : 1 <= 2.\nProof. lra. Qed." for name in ("early", "slow", "endless", "wrong")}
    assert accepted_by_coq(lemmas) == {"early", "slow"}
    assert (tmp_path / "limits").read_text().split() == [str(PROCESSOR)] * 2
