"""``audit --certificates`` and ``--coq``: files, levels on the rows, counts; Coq where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from bilevel_check import check
from bilevel_verify.audit.formula import check as judged
from bilevel_verify.audit.formula import claims_of
from bilevel_verify.audit.findings.levels import CHECKED, WORD
from bilevel_verify.certificates.audited import with_certificates
from bilevel_verify.certificates.coq.lemmas import PRELUDE, NotWritten, lemma
from bilevel_verify.certificates.finding import Certificate, certify
from bilevel_verify.cli import main


def test_the_audit_writes_certificates_and_says_the_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["audit", "agm-bio", "--quick", "--statement", "equation-29", "--jobs", "1", "--json"]
    assert main([*command, "--certificates", str(tmp_path / "found"), "--coq", str(tmp_path / "coq")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["certificates"] == {"holds": {CHECKED: 1}}
    [row] = [row for row in answer["rows"] if row["kind"] == "inequality"]
    assert row["details"]["certificate"] == CHECKED
    text = (tmp_path / "found" / row["details"]["certificate_file"]).read_text()
    assert check(text).shows == "proved"
    assert json.loads(text)["about"]["statement"] == "equation-29"
    assert (tmp_path / "coq" / "agm-bio.v").read_text().startswith(PRELUDE)


def test_a_row_without_a_certificate_keeps_its_verdict_and_says_so() -> None:
    findings = judged("x <= x + 1", "x = (0, oo)")
    assert findings[0].claim is None  # a single formula is not certified by the audit
    found, levels = with_certificates(findings, None)
    assert found[0].verdict == "holds"
    assert found[0].row.details["certificate"] == WORD
    assert levels.to_dict() == {"holds": {WORD: 1}}
    assert "0 % of 1" in str(levels)


def test_what_coq_has_no_word_for_is_left_out() -> None:
    [claim] = claims_of("2*sqrt(a*b) <= a + b", "a = [0, oo); b = [0, oo)")
    found = certify(claim)
    assert found is not None
    with pytest.raises(NotWritten):
        lemma(found.text, "c")


@pytest.mark.extra
@pytest.mark.skipif(shutil.which("coqc") is None, reason="extra: needs coqc (Debian: coq)")
def test_coq_accepts_the_lemmas_and_no_false_one(tmp_path: Path, certificates: list[Certificate | None]) -> None:
    lemmas = []
    for number, found in enumerate(certificates):
        assert found is not None
        with suppress(NotWritten):
            lemmas.append(lemma(found.text, f"c_{number}"))
    assert len(lemmas) >= 4
    (tmp_path / "good.v").write_text("\n".join([PRELUDE, *lemmas]))
    command = ["coqc", "-q"]
    assert subprocess.run([*command, "good.v"], cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "bad.v").write_text(PRELUDE + lemmas[0].replace(" 1 ", " 2 ", 1))
    assert subprocess.run([*command, "bad.v"], cwd=tmp_path, capture_output=True, check=False).returncode != 0
