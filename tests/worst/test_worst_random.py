"""Random problems of the class of a statement: certified or left out, counted, and repeated by their commands."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

import bilevel_verify as bv
from bilevel_verify.cli import main
from bilevel_verify.errors import InputError
from bilevel_verify.worst import families, family
from bilevel_verify.worst.drawing import fault_of
from bilevel_verify.worst.family import from_table
from bilevel_verify.worst.finding import request_for

LEMMA = "restarted-agd-hb/lemma-1"
HALF_LINE = {
    "kind": "simple_bilevel",
    "f": "m*(x1 - 1)**2",
    "g": "x1**2",
    "x": "x1",
    "feasible": {"set": "Orthant"},
    "knobs": {"m": 1},
    "free": {"m": [1, 2], "start": [1, 2]},
}


def repeated(row: dict, capsys: pytest.CaptureFixture[str]) -> dict:
    """The same row, by the command that it names."""
    words = shlex.split(row["reproduce"])
    assert words[0] == "bilevel-verify"
    main([*words[1:], "--json"])
    found = json.loads(capsys.readouterr().out)["rows"]
    return next(one for one in found if one["claim"] == row["claim"])


@pytest.mark.parametrize("with_files", [False, True], ids=["zoo", "files"])
def test_the_command_of_a_row_repeats_it(with_files, tmp_path, capsys):
    arguments = ["verify", LEMMA, "--random", "2", "--seed", "1", "--json"]
    assert main(arguments + (["--out", str(tmp_path / "out")] if with_files else [])) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    named = {shlex.split(row["reproduce"])[4] for row in rows}
    assert len(named) == 2
    assert all(name.endswith(".toml") if with_files else name.startswith("zoo:") for name in named)
    for row in (rows[0], rows[-1]):
        again = repeated(row, capsys)
        assert [again[key] for key in ("verdict", "measured", "bound")] == [
            row[key] for key in ("verdict", "measured", "bound")
        ]


def test_what_is_left_out_is_counted(capsys):
    found = bv.verify_random(LEMMA, 2, 1)
    assert found.drawn == len(found.instances) + sum(found.skipped.values())
    assert len(found.verifications) == len(found.instances) == 2
    assert sum(found.skipped.values()) > 0
    assert {row.verdict for row in found.claims} == {"holds"}
    assert [str(one) for one in found.instances] == [str(one) for one in bv.random_instances(LEMMA, 2, 1)]
    main(["verify", LEMMA, "--random", "2", "--seed", "1", "--json"])
    told = json.loads(capsys.readouterr().out)["random"]
    assert told == [json.loads(json.dumps(found.to_dict()))]
    assert "drawn problems meet the hypotheses; left out" in str(found)


def test_a_hypothesis_that_floats_alone_confirm_is_a_fault():
    """The half-line is not compact: that g has a minimiser there is read off in floats."""
    request = request_for("agm-bio/lemma-a-1")
    half_line = from_table("half-line", HALF_LINE, None).candidate([0.5, 0.5])
    assert fault_of(request, half_line) == "the lower level has a minimiser is computed, not certified"
    interval = from_table("interval", {**HALF_LINE, "feasible": {"set": "Box", "lo": [0.0], "hi": [3.0]}}, None)
    assert fault_of(request, interval.candidate([0.5, 0.5])) == ""


@pytest.mark.parametrize(
    ("statement", "name", "start"),
    [(LEMMA, "single-ramp", (0.0, 0.0)), ("agm-bio/lemma-a-1", "simple-box", (0.5, 0.25))],
)
def test_a_stationary_start_is_a_fault(statement, name, start):
    one = family(name)
    candidate = one.candidate([0.25] * one.size(False), 0.01 if statement == LEMMA else None)
    if name == "single-ramp":
        candidate = replace(candidate, problem=bv.zoo("cosine-sum", d=2))
    else:
        knobs = {"p": "1/2", "q": "1/4"}
        candidate = replace(candidate, problem=bv.zoo("simple-box", **knobs))
    request = request_for(statement)
    assert fault_of(request, replace(candidate, x0=start)) == "the start is a stationary point"
    assert fault_of(request, replace(candidate, x0=(0.4, 0.3))) == ""


def test_every_shipped_family_is_a_zoo_entry_with_free_knobs():
    for one in families():
        candidate = one.candidate([0.3] * one.size(True), 0.1)
        again = bv.zoo(one.zoo, **{name: float(value) for name, value in candidate.knobs.items()})
        assert again.content_hash() == candidate.problem.content_hash(), one.name


def test_a_folder_that_cannot_be_written_is_named():
    with pytest.raises(InputError, match="give another folder in out="):
        bv.verify_random(LEMMA, 1, 1, out="/dev/null/x")
