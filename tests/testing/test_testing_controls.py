"""The controls: broken solvers are caught, correct ones are not flagged."""

from __future__ import annotations

import pytest

from bilevel_verify.testing import CONTROLS, REFERENCES, Profile, detection_matrix

SEED = 0


def test_the_quick_profile_catches_the_controls():
    slow = {"runs for ever", "asks for ever"}  # named in test_testing_assertions
    subjects = tuple(control for control in CONTROLS if control.name not in slow)
    matrix = detection_matrix("quick", subjects, seed=SEED, metamorphic=False)
    assert len(CONTROLS) >= 40
    assert len({control.name for control in CONTROLS}) == len(CONTROLS)
    assert len(matrix.caught) >= 0.9 * len(subjects), str(matrix)
    assert matrix.missed == (), str(matrix)
    assert "caught (quick)" in str(matrix)


def test_correct_references_are_not_flagged():
    matrix = detection_matrix(Profile("short", 20), REFERENCES, seed=SEED, seconds=60, metamorphic=False)
    assert matrix.caught == (), str(matrix)
    assert detection_matrix(Profile("short", 10), REFERENCES[:1], seed=SEED, seconds=60).caught == ()


def test_metamorphic_relations_need_no_exact_answer():
    names = {"implicit: clipped", "implicit: reversed order", "implicit: all zero", "coarse finite differences"}
    subjects = tuple(control for control in CONTROLS if control.name in names)
    matrix = detection_matrix(Profile("short", 8), subjects, seed=SEED, seconds=60)
    relations = {name for row in matrix.cells.values() for name, hit in row.items() if hit and "metamorphic" in name}
    assert {"metamorphic: unit rescaling", "metamorphic: rotation"} <= relations
    assert not any(hit for name, hit in matrix.cells["implicit: all zero"].items() if "metamorphic" in name)


def test_a_matrix_shows_what_was_missed():
    matrix = detection_matrix(Profile("short", 5), REFERENCES[3:5], seed=SEED)
    assert str(matrix).splitlines()[0] == "0 of 2 caught (short)"
    assert "MISSED" in str(matrix)


@pytest.mark.parametrize("entry", ["betty #15", "optimistix #94", "torchopt #222", "PEPit #97", "gtsam #2629"])
def test_the_catalogue_is_covered(entry):
    assert any(control.catalogue == entry for control in CONTROLS)
