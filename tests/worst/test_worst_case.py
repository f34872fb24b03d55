"""Whole searches: known truths are found, what is found is repeated by ``verify``, bad input is one line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from worst_known import CARD, KNOWN

import bilevel_verify as bv
from bilevel_verify.cli import main
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.worst import worst_case

CHEAP = {
    "convex/last-value": 60,
    "quadratic/distance": 32,
    "cubic/decrease": 70,
}
"""Known cases of a few seconds with their candidates; all of them: tests/thorough/test_worst_thorough.py."""


@pytest.mark.parametrize("name", CHEAP)
def test_known_worst_cases_are_found(name):
    known = next(one for one in KNOWN if one.claim == name)
    found = worst_case(known.name, family=known.family, minutes=5, candidates=CHEAP[name], seed=3, **known.options)
    best = found.worst
    assert best is not None
    assert 0.93 * known.truth() <= best.ratio <= known.truth() * (1 + 1e-6)
    assert best.verdict == "holds"
    assert best.share.certainty == "certified"


def test_the_result_is_written_and_verify_repeats_it(tmp_path: Path, capsys):
    out = tmp_path / "out"
    arguments = ["worst", f"{CARD}/smooth:descent", "--family", "single-quadratic", "--candidates", "12", "--out"]
    assert main([*arguments, str(out), "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert table["tried"] == 12
    assert table["claims"][0]["verdict"] == "holds"
    written = json.loads((out / "worst.json").read_text())
    assert (out / "worst.svg").stat().st_size > 1000
    claim = written["claims"][0]
    again = bv.verify(bv.load(out / claim["problem"]), f"{CARD}/smooth:descent", eps=claim["eps"], x0=claim["x0"])
    assert again.claims[0].measured == claim["row"]["measured"]
    assert shlex.split(claim["reproduce"])[:2] == ["bilevel-verify", "verify"]
    assert main([*shlex.split(claim["reproduce"])[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["measured"] == claim["row"]["measured"]
    assert main([*arguments, str(out), "--json"]) == 0  # resumed: nothing is left to try
    assert json.loads(capsys.readouterr().out)["claims"][0]["ratio"] == claim["ratio"]


FALSE = """
[paper]
key = "false"
title = "A bound that is a tenth too small"
[letters]
L = { from = "constants", meaning = "Lipschitz constant of the gradient" }
eta = { meaning = "step" }
N = { from = "user", default = "2", meaning = "steps" }
[settings.s.parameters]
eta = "1/L"
[[theorem]]
id = "t"
method = "gradient-descent"
settings = ["s"]
  [[theorem.claim]]
  id = "descent"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k]) - 11/20*norm(grad_f(x[k]))**2/L"
"""


def test_a_false_theorem_is_refuted_in_many_digits_and_the_exit_status_says_so(tmp_path, capsys):
    (tmp_path / "false.toml").write_text(FALSE)
    status = main(
        ["worst", f"{tmp_path / 'false.toml'}/t", "--family", "single-quadratic", "--candidates", "10", "--json"]
    )
    claim = json.loads(capsys.readouterr().out)["claims"][0]
    assert (status, claim["verdict"], claim["word"]) == (1, "refuted", "broken")
    assert float(claim["ratio"]) > 1
    assert "50 digits" in claim["row"]["reason"]


def test_a_family_of_a_file_and_one_whose_hypotheses_fail(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    path.write_text('kind = "single_level"\nf = "m*x1**4"\nx = "x1"\n[knobs]\nm = 1\n[free]\nm = [1, 2]\n')
    assert main(["worst", f"{CARD}/smooth", "--problem", str(path), "--candidates", "5"]) == 0
    said = capsys.readouterr().out
    assert "nothing decisive was found" in said
    assert "L is infinite" in said


def test_the_state_belongs_to_its_search(tmp_path):
    """Another seed, or the same family file with another range, is another search."""
    mine = tmp_path / "mine.toml"
    text = 'kind = "single_level"\nf = "m*x1**2"\nx = "x1"\n[knobs]\nm = 1\n[free]\nm = [1, 2]\n'
    mine.write_text(text)
    options = {"problem": mine, "candidates": 2, "out": tmp_path / "out"}
    worst_case(f"{CARD}/smooth:descent", **options)
    with pytest.raises(InputError, match="another search"):
        worst_case(f"{CARD}/smooth:descent", **{**options, "seed": 1})
    mine.write_text(text.replace("[1, 2]", "[1, 3]"))
    with pytest.raises(InputError, match="another search"):
        worst_case(f"{CARD}/smooth:descent", **options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"statement": "nonsense/theorem-1"}, "nonsense"),
        ({"statement": "restarted-agd-hb/theorem-99"}, "theorem-99"),
        ({"statement": str(CARD)}, "name one of them"),
        ({"statement": "restarted-agd-hb/lemma-1", "family": "nonsense"}, "no family 'nonsense'"),
        ({"statement": "restarted-agd-hb/lemma-1", "family": "bilevel-wave"}, "single_level"),
        ({"statement": "restarted-agd-hb/lemma-1", "method": "nonsense"}, "no method"),
        ({"statement": "restarted-agd-hb/lemma-1", "minutes": 0}, "positive"),
        ({"statement": "restarted-agd-hb/lemma-1", "minutes": float("nan")}, "positive"),
        ({"statement": "restarted-agd-hb/lemma-1", "candidates": 0}, "positive"),
        ({"statement": "restarted-agd-hb/lemma-1", "eps": -1.0}, "eps must be positive"),
        ({"statement": "agm-bio/rates-theorem-4-1"}, "no claim with two sides"),
        ({"statement": "restarted-agd-hb/lemma-1", "family": "single-huber", "problem": "a.toml"}, "not both"),
        ({"statement": "restarted-agd-hb/lemma-1", "problem": "none.toml"}, "none.toml"),
    ],
)
def test_bad_input_is_one_line(options, match):
    with pytest.raises(BilevelVerifyError, match=match) as caught:
        worst_case(**options)
    assert "\n" not in str(caught.value)


def test_random_instances_meet_the_hypotheses_and_repeat():
    first = bv.random_instances("restarted-agd-hb/lemma-1", 4, 5)
    again = bv.random_instances("restarted-agd-hb/lemma-1", 4, 5)
    other = bv.random_instances("restarted-agd-hb/lemma-1", 4, 6)
    assert [str(one) for one in first] == [str(one) for one in again]
    assert [str(one) for one in first] != [str(one) for one in other]
    assert len({one.family for one in first}) > 1
    for one in first:
        found = bv.verify(one.problem, "restarted-agd-hb/lemma-1", eps=one.eps, x0=one.x0)
        assert {row.verdict for row in found.hypotheses} == {"holds"}


def test_verify_random_on_the_command_line(capsys):
    arguments = ["verify", "restarted-agd-hb/lemma-1", "--random", "2", "--seed", "1", "--json"]
    assert main(arguments) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len({row["problem"] for row in rows}) == 2
    assert "not applicable" not in {row["verdict"] for row in rows if row["claim"] != "decrease"}
    assert main([*arguments, "--problem", "zoo:ramp"]) == 2
    assert "leave out --problem" in capsys.readouterr().err


def test_too_few_random_instances_say_why():
    with pytest.raises(InputError, match=r"0 of 1 instances in 25 draws"):
        bv.random_instances("restarted-agd-hb/lemma-1", 1, 0, family="single-huber", eps=0.01)


def test_the_end_of_a_run_that_was_cut_is_no_end():
    """With 20 calls no run of theorem 1 is through: nothing is said of its output, which would be far off its bound."""
    found = worst_case(
        "restarted-agd-hb/theorem-1:output", family="single-ramp", eps=1e-4, budget=20, candidates=6, minutes=5
    )
    assert found.claims == ()
    assert found.skipped == {"no place decides a claim": 6}
