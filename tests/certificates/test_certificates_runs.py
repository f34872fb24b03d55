"""Certificates of claims along runs: what the rows say, what the files say, and that false ones are refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_check import check, check_folder
from bilevel_verify.certificates.numbers import runs
from bilevel_verify.checks import verify
from bilevel_verify.cli import main
from bilevel_verify.errors import InputError

STATEMENT, PROBLEM = "restarted-agd-hb/theorem-1", "zoo:cosine-sum"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[bv.Verification, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return bv.verify(PROBLEM.removeprefix("zoo:"), STATEMENT, eps=0.05, certificates=folder), folder


def test_verdicts_are_those_without_certificates_and_nearly_all_decided_rows_have_files(found) -> None:
    with_files, folder = found
    plain = verify(PROBLEM.removeprefix("zoo:"), STATEMENT, eps=0.05)
    assert [(r.claim, r.verdict, r.places) for r in with_files.claims] == [
        (r.claim, r.verdict, r.places) for r in plain.claims
    ]
    decided = [row for row in with_files.claims if row.verdict in ("holds", "refuted")]
    own = [row for row in decided if row.details["certificate"] == "accepted by the small checker"]
    assert len(own) >= 0.9 * len(decided) > 20
    for row in own:
        wanted = row.places if row.verdict == "holds" else 1
        assert len(row.details["certificate_files"]) == wanted, row.claim
    for row in decided:
        if row not in own:
            assert row.details["certificate_reason"]
    answers = list(check_folder(folder))
    assert len(answers) == sum(len(row.details["certificate_files"]) for row in own)
    assert all(verdict.accepted for _, verdict in answers)


def test_values_at_iterates_are_formulas_at_rational_points(found) -> None:
    """``f(x[k+1]) - f(x[k]) <= ...``: the cosines of the problem at the numbers that the run recorded."""
    verification, folder = found
    row = next(row for row in verification.claims if row.claim == "step-potential")
    text = (folder / row.details["certificate_files"][3]).read_text()
    assert '"cos"' in text
    points = {Fraction(float(value)) for value in verification.runs[0].trace.x.ravel()}
    shown = [Fraction(*map(int, one[1:])) for one in _cosines(json.loads(text)["statement"]["claim"])]
    assert shown
    assert set(map(abs, shown)) <= set(map(abs, points))


def _cosines(data):
    if isinstance(data, list):
        if data[0] == "cos" and isinstance(data[1], list) and data[1][0] == "/":
            yield data[1]
        for part in data[1:]:
            yield from _cosines(part)


def test_what_is_refuted_is_shown_the_other_way_round(found) -> None:
    verification, folder = found
    row = next(row for row in verification.claims if row.verdict == "refuted")
    (name,) = row.details["certificate_files"]
    statement = json.loads((folder / name).read_text())["statement"]
    assert (row.left, row.related) == ("k_end", "<= K")
    op, letter, steps = statement["claim"]
    assert (op, letter, isinstance(steps, int)) == ("<", "K", True)
    assert Fraction(statement["hypotheses"][1][2]) < steps


def test_a_changed_number_is_refused(found) -> None:
    """Each number of a claim by itself a thousand times as large or as small: nothing false is accepted."""
    verification, folder = found
    row = next(row for row in verification.claims if row.claim == "output" and row.verdict == "holds")
    data = json.loads((folder / row.details["certificate_files"][0]).read_text())
    op, left, right = data["statement"]["claim"]
    false = [op, ["*", 1000, left], ["/", right, 1000]]
    data["statement"]["claim"] = false
    data["proof"] = [[line[0], false, *line[2:]] if line[0] == "boxes" else line for line in data["proof"]]
    assert not check(json.dumps(data)).accepted


def test_what_has_none_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    p = bv.bilevel(f="sin(x1) + y1**2/2", g="y1**2 - x1*y1", x="x1", y="y1", domain={"x1": (-3, 3), "y1": (-3, 3)})
    rows = bv.verify(p, "ragd-gs/lemma-1", certificates=tmp_path / "points").claims
    assert {row.details["certificate_reason"] for row in rows} == {"no place of a run or of parameters was kept"}
    monkeypatch.setattr(runs, "MOST", 3)
    rows = bv.verify("cosine-sum", STATEMENT, eps=0.05, certificates=tmp_path / "few").claims
    reasons = {row.details.get("certificate_reason", "") for row in rows if (row.places or 0) > 3}
    assert all("more than 3" in reason for reason in reasons if reason)
    assert any(reasons)
    assert all(len(row.details.get("certificate_files", ())) <= 3 for row in rows)


def test_the_terminal_says_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["verify", STATEMENT, "--problem", PROBLEM, "--eps", "0.05", "--certificates"]
    main([*asked, str(tmp_path / "c")])
    said = "".join(capsys.readouterr())
    count = len(list((tmp_path / "c").glob("*.json")))
    assert f"{count} files; check them: python -m bilevel_check" in said
    (tmp_path / "file").write_text("")
    assert main([*asked, str(tmp_path / "file")]) == 2
    assert "is a file: name a folder" in "".join(capsys.readouterr())
    with pytest.raises(InputError, match="is a file"):
        bv.verify("cosine-sum", STATEMENT, eps=0.05, certificates=tmp_path / "file")
    assert main(["verify", STATEMENT, "--random", "1", "--certificates", str(tmp_path / "c")]) == 2


def test_letters_lie_between_the_ends_that_the_engine_certifies(tmp_path: Path) -> None:
    row = next(
        row
        for row in bv.verify("bilevel-cubic", "ragd-gs/theorem-1", eps=0.1, certificates=tmp_path).claims
        if row.left == "norm(grad_phi(output))"
    )
    data = json.loads((tmp_path / row.details["certificate_files"][0]).read_text())
    ends = [Fraction(str(condition[2])) for condition in data["statement"]["hypotheses"]]
    assert data["about"]["letter v1"].startswith("norm(grad_phi(output))")
    assert ends[0] <= ends[1]
    assert np.isclose(float(ends[1]), row.measured, rtol=1e-9)
