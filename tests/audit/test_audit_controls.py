"""Controls of the audit: mutants of proved links are refuted, or proved to be still true; true links never fall."""

from __future__ import annotations

import os

from seeds import SEED

from bilevel_verify.audit.controls.running import controls, counts
from bilevel_verify.theorems.library import load_card

LINKS = int(os.environ.get("BILEVEL_VERIFY_CONTROLS", "6"))


def test_mutants_do_not_slip_through() -> None:
    mutants = controls(load_card("restarted-agd-hb"), most=LINKS, per_link=2, seed=SEED, seconds=3.0)
    tally = counts(mutants)
    print(f"seed {SEED}: {tally}")
    assert tally["true links"] > 0
    assert tally["true links refuted"] == 0
    assert tally["undecided"] <= max(1, LINKS // 5), [(m.statement, m.link, m.operator) for m in mutants]
