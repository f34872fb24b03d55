"""The controls: broken solvers are caught, correct ones are not flagged."""

from __future__ import annotations

import json

import pytest
from seeds import SEED as ROTATING

from bilevel_verify.testing import (
    CONTROLS,
    REFERENCES,
    BrokenContract,
    Profile,
    assert_counts,
    assert_hypergradient,
    detection_matrix,
)
from bilevel_verify.testing import __main__ as command
from bilevel_verify.testing.controls import report
from bilevel_verify.testing.controls.own_methods import OWN, OWN_ASSERTIONS, counts_of, gradient_of
from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.trials import ledger, trying

SEED = 0


def test_the_quick_profile_catches_the_controls():
    left_out = {"runs for ever", "asks for ever"}  # named in test_testing_assertions
    if not trying._can_fork():  # JAX is installed and something loaded it: it would end this process
        left_out.add("ends the process")
    subjects = tuple(control for control in CONTROLS if control.name not in left_out)
    matrix = detection_matrix("quick", subjects, seed=SEED, seconds=1.0, metamorphic=False)
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


def test_the_methods_of_the_package_raise_no_alarm():
    before = len(ledger.ENTRIES)
    matrix = detection_matrix(Profile("short", 6), OWN, seed=ROTATING, seconds=120, assertions=OWN_ASSERTIONS)
    assert matrix.caught == (), f"BILEVEL_VERIFY_SEED={ROTATING}\n{matrix}"
    assert sum(entry.examples for entry in ledger.ENTRIES[before:]) >= 500


def test_wrong_counts_of_a_method_would_be_seen():
    """The adapters of the package's own methods do not hide what they are there to show."""

    def forgetful(oracles, x0):
        x, counts = counts_of("rahgd")(oracles, x0)
        return x, {**counts, "hvp_yy_g": counts.get("hvp_yy_g", 0) - 1}

    with pytest.raises(BrokenContract, match="wrong count at hvp_yy_g"):
        assert_counts(forgetful, profile_=Profile("short", 3))
    halved = gradient_of("rahgd")
    with pytest.raises(BrokenContract, match="looks like half the gradient"):
        assert_hypergradient(lambda o, x: halved(o, x) / 2, profile_=Profile("short", 3), budget=10**6)


CATALOGUE = (
    "betty #15|benchmark_bilevel #36|benchmark_bilevel #37|benchmark_bilevel simulated.py|optimistix #94"
    "|optimistix tests helper|jaxopt #141/#143|torchopt #222|optimistix #54|PEPit #97|template_benchmark #49"
    "|BilevelJuMP #182, #155, #82|discopt #638|gtsam #2629|GAMS EMP library note|SymPy-based Lipschitz helper"
).split("|")


@pytest.mark.parametrize("entry", CATALOGUE)
def test_every_entry_of_the_catalogue_has_a_control(entry):
    assert any(control.catalogue == entry for control in CONTROLS)


def test_the_matrix_as_data_markdown_and_html(tmp_path):
    subjects = tuple(c for c in CONTROLS if c.name in ("CG: no conjugation", "AGD: asks twice", "CG: wrong sign of b"))
    matrix = detection_matrix(Profile("quick", 8), subjects, seed=SEED)
    paths = report.write({"quick": matrix}, tmp_path, subjects)
    data = json.loads(paths[0].read_text(encoding="utf8"))
    assert data["profiles"]["quick"] == {"caught": 3, "of": 3, "missed": []}
    assert data["controls"][0]["cells"]["quick"]["assert_linear_solver"] == "residual too large"
    text = paths[1].read_text(encoding="utf8")
    assert "quick: 3 of 3 caught." in text
    assert "| AGD: asks twice |  |  | quick | quick |" in text
    page = paths[2].read_text(encoding="utf8")
    assert page.count("<tr>") == 4
    assert '<section id="detection-matrix">' in page


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "REFERENCES", REFERENCES[2:4])
    log = tmp_path / "logs" / "counts.txt"
    options = ["--profile", "quick", "--examples", "4", "--part", "references", "--seed", "3", "--log", str(log)]
    assert command.main(options) == 0
    assert log.read_text(encoding="utf8") == capsys.readouterr().out
    assert "references: 12 examples in all, 0 false alarms" in log.read_text(encoding="utf8")


@pytest.mark.parametrize("seed", [0, 1, 739943, 739944])  # with free draws the last two met no square bilevel problem
def test_twenty_examples_meet_every_shape(seed):
    examples = [trying.in_turn(data, number) for number, data in enumerate(trying.examples(20, seed))]
    instances = [decoding.either(data[trying.POINTS :]) for data in examples]
    assert {(i.dx, i.dy) for i in instances} == {(dx, dy) for dx in (1, 2, 3) for dy in (1, 2, 3)}
    assert {i.kind for i in instances if i.dx == i.dy > 1} == {"bilevel", "minimax"}
    control = next(control for control in CONTROLS if "transposed Jacobian" in control.name)
    with pytest.raises(BrokenContract, match="wrong hypergradient"):
        assert_hypergradient(control.make(), profile_=Profile("short", 20), seed=seed)
