"""The whole detection matrix, and 10,000 examples without a false alarm (opt-in: minutes)."""

from __future__ import annotations

import datetime
import os

from bilevel_verify.testing import CONTROLS, REFERENCES, detection_matrix, ledger

SEED = int(os.environ.get("BILEVEL_VERIFY_SEED", datetime.date.today().toordinal()))


def test_every_control_is_caught():
    matrix = detection_matrix("thorough", CONTROLS, seed=SEED)
    print(f"BILEVEL_VERIFY_SEED={SEED}\n{matrix}")
    assert matrix.missed == ()


def test_no_false_alarm():
    before = len(ledger.ENTRIES)
    matrix = detection_matrix("thorough", REFERENCES, seed=SEED, seconds=120)
    print(f"BILEVEL_VERIFY_SEED={SEED}\n{matrix}")
    assert matrix.caught == ()
    assert sum(entry.examples for entry in ledger.ENTRIES[before:]) >= 10_000
