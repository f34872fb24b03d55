"""A literal run needs what its algorithm takes as input, a tolerance too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.cli import main
from bilevel_verify.errors import InputError


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """The own algorithm of docs/cards.md, with a tolerance in its step and in no formula of its theorem."""
    text = (Path(__file__).parents[2] / "docs" / "cards.md").read_text(encoding="utf8")
    found = re.search(r"```toml\n(# my-algorithm\.toml\n.*?)```", text, re.S)
    assert found is not None
    written = found[1].replace('"eta", "K"]', '"eta", "K", "eps", "L"]').replace("- eta*d ", "- eta*eps/eps*L/L*d ")
    eps = 'eps = { unit = "F/X", domain = "(0, oo)", from = "user", meaning = "accuracy" }'
    path = tmp_path / "mine.toml"
    path.write_text(written.replace("[letters]\n", f"[letters]\n{eps}\n"), encoding="utf8")
    return path


def test_a_missing_tolerance_is_one_line(card: Path) -> None:
    with pytest.raises(InputError, match=r"needs a tolerance: give eps= \(--eps"):
        bv.verify(bv.zoo("cosine-sum"), str(card), x0=[1.0, 0.8, 2.0])


def test_inputs_of_the_algorithm_have_their_values(card: Path) -> None:
    """``eta`` and ``K`` of the settings, ``L`` of the problem, ``eps`` of the caller: the verdicts of docs/cards.md."""
    found = bv.verify(bv.zoo("cosine-sum"), str(card), eps=0.1, x0=[1.0, 0.8, 2.0])
    assert {row.claim: row.verdict for row in found.claims} == {"decrease": "holds", "too-much": "refuted"}


def test_an_audit_draws_the_tolerance(card: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(card), "--json"]) == 1
    rows = [row for row in json.loads(capsys.readouterr().out)["rows"] if row["judges"] != "units"]
    shown = {row["claim"]: row for row in rows if row["claim"] in ("decrease", "too-much")}
    assert shown["too-much"]["verdict"] == "refuted"
    assert "--eps" in shown["too-much"]["reproduce"]
    assert "no value" not in " ".join(row["reason"] or "" for row in shown.values())
