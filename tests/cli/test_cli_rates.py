"""``rates``: the table of the papers and rates of one's own; ``verify --sweep``."""

from __future__ import annotations

import json

from bilevel_verify.cli import main

RAMP = ["rates", "--problem", "zoo:ramp:s=2*eps,drop=1", "--method", "gradient-descent", "--set", "eta=1"]


def test_the_list_names_series_with_their_exponents(capsys):
    assert main(["rates", "--list", "--only", "RAHGD in kappa", "--json"]) == 0
    found = {row["name"]: row["exponent"] for row in json.loads(capsys.readouterr().out)}
    assert found["amplifier, RAHGD in kappa, outer iterations"] == 2.75
    assert main(["rates", "--only", "nothing of that name"]) == 2
    assert "rates --list" in capsys.readouterr().err


def test_one_series_is_measured_and_kept(tmp_path, capsys):
    words = ["rates", "--only", "ramp, cubic Newton", "--out", str(tmp_path)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "consistent" in shown
    assert "1.500" in shown
    row = json.loads((tmp_path / "rates.json").read_text())[0]
    assert abs(row["last"] - 1.5) <= 0.06
    assert main([*words, "--resume"]) == 0
    assert "measuring" not in capsys.readouterr().err


def test_a_rate_of_ones_own(tmp_path, capsys):
    words = [*RAMP, "--eps", "1e-1,3e-2,1e-2,3e-3,1e-3"]
    assert main([*words, "--exponent", "2", "--out", str(tmp_path), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rates"][0]
    assert row["verdict"] == "consistent"
    assert abs(row["slope"] - 2) <= 0.06
    assert main([*words, "--exponent", "1.75", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rates"][0]["verdict"] == "inconsistent"
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rates"][0]["reason"] == "no exponent was promised"
    assert json.loads((tmp_path / "rates.json").read_text())[0]["own"] is True


def test_mistakes_are_one_line(capsys):
    for words, said in (
        ([*RAMP, "--eps", "0.1,0.01"], "at least four"),
        (["rates", "--problem", "zoo:ramp"], "--method"),
        ([*RAMP, "--sweep", "kappa=1,2,3,4"], "one tolerance"),
        ([*RAMP, "--sweep", "eps=1,2", "--eps", "0.1"], "--sweep"),
        ([*RAMP, "--eps", "0.1,0.03,0.01,0.003", "--count", "nonsense"], "nonsense"),
    ):
        assert main(words) == 2, words
        assert said in capsys.readouterr().err


def test_verify_sweeps_another_letter(capsys):
    words = [
        "verify",
        "rahgd/theorem-3-4:rate-kappa",
        "--problem",
        "zoo:amplifier-ramp:kappa=kappa,s=1/1000,drop=1/100000",
    ]
    assert main([*words, "--eps", "1e-3", "--sweep", "kappa=2,3,4,6", "--set", "Delta=1e-4", "--json"]) in (0, 1)
    rows = [r for r in json.loads(capsys.readouterr().out)["rows"] if r["claim"] == "rate-kappa"]
    assert rows
    assert rows[0]["details"]["driver"] == [2, 3, 4, 6]
