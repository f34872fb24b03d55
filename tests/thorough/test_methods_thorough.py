"""The comparison with the transcriptions on many more problems; run on demand: ``pytest tests/thorough``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "methods"))

from methods_cases import BILEVEL, MINIMAX, SINGLE, case, differences
from methods_random_problems import SEED, bilevels, saddles, singles
from methods_transcription_li_lin import Tie

from bilevel_verify.methods import run_method

COUNT = 400


@pytest.mark.parametrize("name", [*SINGLE, *BILEVEL, *MINIMAX])
def test_agrees_step_for_step_on_many_problems(name):
    make = singles if name in SINGLE else bilevels if name in BILEVEL else saddles
    for number, p in enumerate(make(COUNT, salt=11)):
        p.counts.clear()
        parameters, more, transcription = case(name, p, number)
        try:
            rows, output = transcription()
        except Tie:
            continue
        if name == "convex-until-guilty":
            p.counts["free"] = p.counts.pop("value_f")
        run = run_method(p.problem, name, parameters, p.x0, compiled=False, **more)
        found = differences(run, rows, output, p.counts)
        assert not found, f"seed {SEED}, problem {number}, {parameters}: {found[:4]}"
