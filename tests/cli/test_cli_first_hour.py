"""The first hour: what a newcomer types, and that each message says what to change."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from bilevel_verify.campaign import Store, grid, run_campaign
from bilevel_verify.campaign.export import RUN_COLUMNS, export_runs_csv, export_runs_parquet, flat_runs
from bilevel_verify.cli import main, output
from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import parse

ONE = 'kind = "single_level"\nf = "{}"\nx = ["x1"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2x1", "a '*' is missing after '2'"),
        ("(x1 + 1)x1", "a '*' is missing after ')'"),
        ("sin(x1", "a ')' is missing"),
        ("sin(x1))", "a '(' is missing"),
        ("x1 =< 2", "write '<='"),
        ("x1^2", "write '**'"),
        ("x1 <= 2 +", "'+' has nothing to its right"),
        ("x1 <= -", "'-' has nothing to its right"),
        ("x1 < < 3", "'<' has nothing to its right"),
        ("(x1 *) <= 3", "'*' has nothing to its right"),
        ("sin x1 <= 1", "write sin(...)"),
    ],
)
def test_what_is_missing_is_named(text, said) -> None:
    with pytest.raises(ExpressionError, match=re.escape(said)):
        parse(text)


@pytest.mark.parametrize("text", ["2*x1", "1e5*x1", "x1**2", "f(x1)", "2.5*(x1)", "x_2*3"])
def test_what_is_right_is_read(text) -> None:
    parse(text)


@pytest.mark.parametrize(
    ("f", "said"), [("relu(x1)", "write plus(t)"), ("sine(x1)", "did you mean"), ("2x1", "'*' is missing")]
)
def test_a_problem_file_says_what_to_write(tmp_path: Path, capsys, f, said) -> None:
    path = tmp_path / "p.toml"
    path.write_text(ONE.format(f))
    assert main(["constants", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_an_unknown_field_lists_the_known_ones(tmp_path: Path, capsys) -> None:
    path = tmp_path / "p.toml"
    path.write_text(ONE.format("x1**2") + "lower = 3\n")
    assert main(["constants", str(path)]) == 2
    assert "there are" in (said := capsys.readouterr().err)
    assert "domain" in said


@pytest.mark.parametrize(
    ("relation", "ranges", "said", "not_said"),
    [
        ("norm(a) <= 4", "a = R**3", "'vectors' or 'matrices'", "'vectors y'"),
        ("O(x) <= 4", "x = [0, 1]", "check compares numbers", "vectors"),
        ("softO(x) <= 4", "x = [0, 1]", "is an order", "quantity of scope"),
        ("norm(a) <= 4", "x = [0, 1]", "--for 'a, b = vectors'", "set over"),
    ],
)
def test_check_says_what_it_takes(capsys, relation, ranges, said, not_said) -> None:
    assert main(["check", relation, "--for", ranges]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert not_said not in message


def test_several_variables_at_once_are_named(tmp_path: Path, capsys) -> None:
    path = tmp_path / "p.toml"
    path.write_text(ONE.format("x1**2").replace('["x1"]', '"x1..x2"'))
    assert main(["constants", str(path)]) == 2
    assert 'several at once are "y{1..3}"' in capsys.readouterr().err


def test_a_problem_stands_behind_the_method_that_solves_it(capsys) -> None:
    words = ["gradient-descent", "--eps", "0.1", "--x0=0.1,0.8", "--json"]
    assert main(["solve", words[0], "zoo:double-well", *words[1:]]) == 0
    behind = json.loads(capsys.readouterr().out)
    assert main(["solve", *words, "--problem", "zoo:double-well"]) == 0
    assert json.loads(capsys.readouterr().out)["x"] == behind["x"]


def test_letters_that_are_zero_are_named_where_a_formula_divides_by_them(tmp_path: Path, capsys) -> None:
    path = tmp_path / "p.toml"
    path.write_text('kind = "bilevel"\nf = "x1**2 + y1"\ng = "3*y1**2 - x1*y1"\nx = ["x1"]\ny = ["y1"]\n')
    assert main(["solve", "ragd-gs", "--problem", str(path), "--eps", "0.1", "--x0=0.5"]) == 2
    assert "H_f = 0" in (said := capsys.readouterr().err)
    assert "a larger bound is valid too" in said


def test_the_columns_of_a_latex_table_are_chosen(tmp_path: Path, capsys) -> None:
    assert (
        main(
            [
                "verify",
                "restarted-agd-hb/lemma-1",
                "--problem",
                "zoo:ridge-cosines",
                "--eps",
                "0.1",
                "--out",
                str(tmp_path),
            ]
        )
        == 0
    )
    words = ["report", str(tmp_path / "report.json"), "--out", str(tmp_path), "--format", "latex", "--columns"]
    capsys.readouterr()
    assert main([*words, "claim,eps,formula,certainty"]) == 0
    said = "".join(capsys.readouterr())
    assert "index.html" not in said  # what is named was written
    assert str(tmp_path / "tables" / "rows.tex") in said
    table = (tmp_path / "tables" / "rows.tex").read_text(encoding="utf-8")
    assert r"claim & $\varepsilon$ & formula & certainty \\" in table
    assert table.count(r"\resizebox{") == 1
    assert main([*words, "clam"]) == 2
    assert "did you mean 'claim'" in capsys.readouterr().err


OWN = """
[paper]
key = "mine"
title = "t"
[units]
F = "f"
X = "x"
[letters]
L = {{ unit = "F/X**2", domain = "(0, oo)", from = "constants", meaning = "Lipschitz" }}
beta = {{ unit = "1", domain = "[0, 1)", meaning = "momentum" }}
[functions]
f = {{ arguments = ["X"], value = "F" }}
grad_f = {{ arguments = ["X"], value = "F/X" }}
[settings.main.parameters]
beta = "1/2"
[[theorem]]
id = "theorem-1"
source = "s"
algorithm = "algorithm-1"
settings = ["main"]
  [[theorem.claim]]
  id = "decrease"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k])"
[[algorithm]]
id = "algorithm-1"
source = "s"
inputs = ["x_int"]
steps = """


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x[1] = x[0] - beta*(x[0] - x[0]", "a ')' is missing in 'x[1] = x[0] - beta*(x[0] - x[0]'"),
        ("x[1] = x[0])", "a '(' is missing"),
        ("x[1] = 2x[0]", "a '*' is missing after '2'"),
        ("output x[0]", "neither an assignment nor while"),
        ("x[1] = lambda*x[0]", "write 'lam' for lambda"),
    ],
)
def test_steps_that_cannot_be_read_say_what_to_change(tmp_path: Path, capsys, line, said) -> None:
    card = tmp_path / "c.toml"
    card.write_text(OWN.format() + f'"""\nx[0] = x_int\n{line}\nreturn x[0]\n"""\n')
    assert main(["verify", "--card", str(card), "--problem", "zoo:cosine-sum", "--x0=1.0,0.8,2.0"]) == 2
    assert said in capsys.readouterr().err


def test_steps_that_cannot_be_carried_out_name_the_letter(tmp_path: Path, capsys) -> None:
    card = tmp_path / "c.toml"
    card.write_text(OWN.format() + '"""\nx[0] = x_int\nx[1] = x[0] - beta*grad_f(x[0])\nreturn x[1]\n"""\n')
    words = ["verify", "--card", str(card), "--problem", "zoo:cosine-sum", "--x0=1.0,0.8,2.0", "--json"]
    assert main(words) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["verdict"] == "undecided"
    assert row["reason"].startswith("hypothesis: the steps cannot be carried out: ")
    assert "'beta' was never assigned" in row["reason"]


def test_a_mistyped_method_of_a_card_is_an_error(tmp_path: Path, capsys) -> None:
    card = tmp_path / "c.toml"
    card.write_text(
        '[paper]\nkey = "mine"\ntitle = "t"\n[[theorem]]\nid = "theorem-1"\nsource = "s"\nmethod = "gradient-decent"\n'
    )
    assert main(["audit", str(card), "--quick"]) == 2
    assert "did you mean 'gradient-descent'" in capsys.readouterr().err
    card.write_text(card.read_text().replace("gradient-decent", "Frank and Wolfe 1956"))
    assert main(["audit", str(card), "--quick"]) == 0


def test_a_flat_lower_level_is_called_that(tmp_path: Path, capsys) -> None:
    path = tmp_path / "p.toml"
    lines = ('kind = "bilevel"', 'f = "x1**2 + y1"', 'g = "y1**4/4 - x1*y1"', 'x = ["x1"]', 'y = ["y1"]', "[domain]")
    path.write_text("\n".join([*lines, "x1 = [-1, 1]", "y1 = [-2, 2]", ""]))
    assert main(["solve", "ragd-gs", "--problem", str(path), "--eps", "0.1", "--x0", "0.5"]) == 2
    said = capsys.readouterr().err
    assert "strongly convex in y" in said
    assert "root of a negative number" not in said


def test_derive_shows_the_closed_forms(tmp_path: Path, capsys) -> None:
    path = tmp_path / "p.toml"
    path.write_text('kind = "bilevel"\nf = "y1**2"\ng = "y1**2/2 - 3*x1*y1"\nx = ["x1"]\ny = ["y1"]\n')
    assert main(["derive", str(path), "--only", "y_star,phi"]) == 0
    assert "3*x1" in capsys.readouterr().out
    path.write_text('kind = "bilevel"\nf = "y1**2"\ng = "y1**2 + cos(y1)/2 - x1*y1"\nx = ["x1"]\ny = ["y1"]\n')
    assert main(["derive", str(path), "--only", "y_star"]) == 2
    assert "no closed form" in capsys.readouterr().err


def verdict_row(**more):
    base = dict.fromkeys(("paper", "problem", "measured", "bound", "margin", "where", "certainty"))
    base |= {"paper": "p", "statement": "t", "claim": "c", "kind": "run", "marks": [], "judges": "relation"}
    return base | {"verdict": "not applicable", "reason": "L is infinite; add y1 = [-10, 10] under [domain]"} | more


def test_rows_that_do_not_apply_for_one_reason_are_one_line(capsys) -> None:
    rows = [verdict_row(claim=f"c{n}") for n in range(9)] + [verdict_row(verdict="holds", reason="fine", measured=1.0)]
    output.verdict_table(rows)
    said = capsys.readouterr()
    assert said.out.count("not applicable") == 1
    assert "(9 rows)" in said.out
    assert "add y1 = [-10, 10] under [domain]" in " ".join(said.out.split())
    assert "rows are shown" not in said.err


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_narrow_terminal_gets_whole_words_and_no_trailing_blanks(monkeypatch, capsys, width) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    why = "every single word of this rather long reason has to stay whole, hypothesis included"
    output.verdict_table([verdict_row(paper="my-paper", statement="theorem-1", reason=why)])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert not [line for line in lines if line != line.rstrip()]
    assert set(why.split()) <= set(" ".join(lines).split())
    assert "my-paper/theorem-1" in " ".join(lines)


def test_runs_of_a_campaign_are_a_table(tmp_path: Path) -> None:
    cells = grid(
        problems=["zoo:double-well"], methods=["gradient-descent"], eps=[0.1, 0.05], sweep=False, x0=[[0.1, 0.8]]
    )
    assert len({cell.label for cell in cells.cells}) == 2  # what a dry run shows tells them apart
    outcome = run_campaign(cells, tmp_path / "out", jobs=1)
    with Store(outcome.store, read_only=True) as store:
        runs = list(flat_runs(store))
        assert export_runs_csv(store, tmp_path / "runs.csv") == 2
        assert export_runs_parquet(store, tmp_path / "runs.parquet") == 2
    assert sorted(run["eps"] for run in runs) == [0.05, 0.1]
    for run in runs:
        assert tuple(run) == RUN_COLUMNS
        assert run["grad_f"] == run["calls"] == json.loads(run["counts"])["grad_f"] > 10
        assert (run["status"], run["method"], json.loads(run["x0"])) == ("stationary", "gradient-descent", [0.1, 0.8])
    with (tmp_path / "runs.csv").open(encoding="utf-8") as stream:
        assert [int(line["iterations"]) for line in csv.DictReader(stream)] == [run["iterations"] for run in runs]
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(tmp_path / "runs.parquet").to_pylist()
    assert [line["calls"] for line in table] == [run["calls"] for run in runs]
