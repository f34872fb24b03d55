"""The whole detection matrix, and 10,000 examples of the package's own methods without a false alarm (opt-in: hours).

The same from the command line, with a log of what was reached: ``python -m bilevel_verify.testing``.
"""

from __future__ import annotations

from seeds import SEED

from bilevel_verify.testing import REFERENCES, detection_matrix
from bilevel_verify.testing.controls.mutants import judged, sample
from bilevel_verify.testing.controls.own_methods import OWN, OWN_ASSERTIONS
from bilevel_verify.testing.controls.slip_table import Kept, table
from bilevel_verify.testing.trials import ledger


def test_every_control_is_caught():
    matrix = detection_matrix("thorough", seed=SEED)
    print(f"BILEVEL_VERIFY_SEED={SEED}\n{matrix}")
    assert matrix.missed == ()


def test_no_false_alarm_on_references():
    matrix = detection_matrix("thorough", REFERENCES, seed=SEED, seconds=120)
    print(f"BILEVEL_VERIFY_SEED={SEED}\n{matrix}")
    assert matrix.caught == ()


def test_no_false_alarm_on_the_methods_of_the_package():
    before = len(ledger.ENTRIES)
    matrix = detection_matrix("thorough", OWN, seed=SEED, seconds=120, assertions=OWN_ASSERTIONS)
    print(f"BILEVEL_VERIFY_SEED={SEED}\n{matrix}")
    assert matrix.caught == ()
    assert sum(entry.examples for entry in ledger.ENTRIES[before:]) >= 10_000


def test_every_real_slip_is_caught():
    """The table of docs/testing.md: at least 600 mutants, 95 % of the real ones by the defaults, all by thorough."""
    verdicts = [judged(slip) for slip in sample(960, SEED)]
    print(f"BILEVEL_VERIFY_SEED={SEED}", *table([Kept.of(verdict) for verdict in verdicts], "method"), sep="\n")
    real = [verdict for verdict in verdicts if verdict.kind == "real"]
    assert len(verdicts) - sum(verdict.kind == "stillborn" for verdict in verdicts) >= 600
    assert len({verdict.slip.operator for verdict in verdicts}) >= 20
    assert sum(verdict.caught == "quick" for verdict in real) >= 0.95 * len(real)
    assert [verdict.slip.name for verdict in real if not verdict.caught] == []
