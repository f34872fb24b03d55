"""``bilevel-verify audit`` as a user calls it: drafts, bad cards beside good ones, errata pages, JSON, coverage."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bilevel_verify.cli import main

DRAFT = """
[paper]
key = "draft"
standing = "Section 1"
title = "A draft"
[units]
F = "values"
X = "length"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)" }
D = { unit = "F", domain = "(0, oo)" }
eps = { unit = "F/X", domain = "(0, oo)" }
[[inequality]]
id = "true"
source = "(1)"
chain = ["L*D", "<= 2*L*D"]
printed = 'L\\Delta\\le2L\\Delta'
[[inequality]]
id = "false"
source = "(2)"
where = ["eps**2 <= L*D"]
where_from = "Theorem 1"
chain = ["3*L*D", "<= 2*L*D + eps**2"]
printed = '3L\\Delta\\le2L\\Delta+\\epsilon^2'
[[inequality]]
id = "open-end"
source = "(3)"
for = { a = "[0, 1]" }
for_from = "Theorem 1"
chain = ["a/a", "<= 1"]
[[remark]]
id = "remark-1"
nothing_to_decide = "words only"
"""
BAD = {
    "misspelt symbol": (("3*L*D", "3*L*Dd"), "false, chain", "did you mean 'D'?"),
    "undeclared unit": (("F/X**2", "F/Y**2"), "[letters], L, unit", "declare it under [units]"),
    "one id twice": (('id = "false"', 'id = "true"'), '"true" occurs twice', "rename one of them"),
    "scope": (
        (
            'nothing_to_decide = "words only"',
            '[[remark.claim]]\nid = "c"\nover = "point"\nleft = "iterations"\nright = "1"',
        ),
        'remark-1, claim "c", left',
        'set over = "run"',
    ),
}


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(DRAFT, encoding="utf-8")
    return path


def test_audit_of_a_draft(draft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    status = main(["audit", "--card", str(draft), "--json", "--jobs", "1", "--budget", "3", "--out", str(out)])
    answer = json.loads(capsys.readouterr().out)
    assert status == 1
    verdicts = {(r["statement"], r["kind"], r["as_printed"]): r["verdict"] for r in answer["rows"]}
    assert verdicts[("true", "inequality", True)] == "holds"
    assert verdicts[("false", "inequality", True)] == "refuted"
    assert verdicts[("false", "inequality", False)] == "holds", "the nearest true form"
    assert verdicts[("open-end", "definedness", True)] == "refuted"
    assert (answer["decided"]["decided"], answer["decided"]["total"]) == (2, 3), "a/a is undefined at 0"
    assert {line["id"] for line in answer["coverage"]} == {"true", "false", "open-end", "remark-1"}
    page = (out / "errata-draft.html").read_text(encoding="utf-8")
    assert "A draft" in page
    assert "What shows it" in page
    assert "left side" in page.lower()
    assert (out / "errata-draft.md").read_text(encoding="utf-8").startswith("# Errata: A draft")
    assert [one["paper"] for one in answer["errata"]] == ["draft"] * len(answer["errata"])
    scripts = list((out / "counterexamples").glob("*false*.py"))
    assert len(scripts) == 1
    assert "bilevel_verify" not in scripts[0].read_text(encoding="utf-8")
    assert subprocess.run([sys.executable, "-I", str(scripts[0])], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("what", BAD)
def test_a_bad_card_is_one_line_and_the_others_still_run(
    what: str, draft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, place, fix = BAD[what]
    bad = tmp_path / "bad.toml"
    bad.write_text(DRAFT.replace('key = "draft"', 'key = "bad"').replace(*change), encoding="utf-8")
    arguments = ["audit", "--card", str(bad), "--card", str(draft), "--statement", "true", "--quick", "--jobs", "1"]
    assert main([*arguments, "--json"]) == 1
    seen = capsys.readouterr()
    answer = json.loads(seen.out)
    assert {r["paper"] for r in answer["rows"]} == {"draft"}
    (line,) = answer["errors"]
    assert "bad.toml" in line
    assert place in line
    assert fix in line
    assert "\n" not in line


def test_two_cards_with_one_key(draft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twin = tmp_path / "twin.toml"
    twin.write_text(DRAFT, encoding="utf-8")
    main(["audit", str(draft), str(twin), "--statement", "true", "--quick", "--jobs", "1", "--json"])
    (line,) = json.loads(capsys.readouterr().out)["errors"]
    assert "twin.toml: [paper], key" in line
    assert "give one of them another key" in line


def test_the_formula_of_the_manual(capsys: pytest.CaptureFixture[str]) -> None:
    text = "k**3/12 <= sum(((i+1)/2)**2, (i, 1, k-1)) <= k**3/6"
    assert main(["check", text, "--for", "k = integers 2..", "--json"]) == 0
    assert [r["verdict"] for r in json.loads(capsys.readouterr().out)["rows"]] == ["holds", "holds"]


def test_controls_print_their_counts_and_the_report_its_coverage(
    draft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["audit", "--card", str(draft), "--statement", "true", "--quick", "--jobs", "1", "--out", str(out)]
    main([*arguments, "--controls"])
    seen = " ".join(capsys.readouterr().out.split())
    text = r"controls: (\d+) refuted, (\d+) proved still true, (\d+) undecided, \d+ true links, 0 true links refuted;"
    counted = re.search(text, seen)
    assert counted is not None
    assert sum(map(int, counted.groups())) > 0
    assert "of the mutants not proved still true are refuted" in seen
    from bilevel_verify.audit import audit
    from bilevel_verify.checks.verdicts.verdict import judged_by
    from bilevel_verify.reporting.cards import coverage
    from bilevel_verify.theorems.library import load_card

    sample = next(f.row.to_dict() for f in audit(draft, statement="true", quick=True) if f.row.kind == "inequality")
    kinds = (("units", "holds"), ("inequality", "refuted"), ("inequality", "holds"))
    rows = [sample | {"kind": kind, "judges": judged_by(kind), "verdict": verdict} for kind, verdict in kinds]
    first, *others = coverage(load_card(draft), rows)
    assert first["by_check"]["units"]["verdicts"] == {}
    assert first["by_check"]["units"]["apart"] == {"units": {"agree": 1}}
    assert first["by_check"]["inequality"]["as_printed"] == {"refuted": 1, "holds": 1}
    assert first["verdicts"] == {"refuted": 1, "holds": 1}
    assert first["checks"] == others[0]["checks"] == ["inequality"]
    assert others[-1]["nothing_to_decide"] == "words only"
