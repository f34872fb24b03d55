"""What newcomers tripped over on timed walks: each message says the fix, no table tears a name apart."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bilevel_verify.cli import main, output
from bilevel_verify.cli.commands import catalogue
from bilevel_verify.methods import methods

PROBLEM = """
kind = "bilevel"
f = "{f}"
g = "y1**2 - x1*y1"
x = ["x1"]
y = ["y1"]
domain = {{ x1 = [-2, 2], y1 = [-2, 2] }}
"""
CARD = """
[paper]
key = "mine"
[letters]
mu = {{ from = "constants" }}
a = {{ default = 0.05 }}
N = {{ default = 3 }}
{letters}
[settings.main.parameters]
b = "1/2"
[[theorem]]
id = "one"
algorithm = "loop"
settings = ["main"]
  [[theorem.claim]]
  id = "calls"
  over = "run"
  left = "calls(grad_g)"
  right = "N"
  {claim}
[[algorithm]]
id = "loop"
inputs = ["x_int", "y0", "a", "b", "N"]
steps = \"\"\"
y[0] = y0; x[0] = x_int
for k in range(N):
    y[k+1] = y[k] - b*grad_y_g(x[k], y[k])
    x[k+1] = x[k] - a*grad_x_f(x[k], y[k+1])
return x[N]
\"\"\"
"""
RATE = '[[theorem.claim]]\n  id = "rate"\n  over = "run"\n  left = "calls(grad_g)"\n  right = "O(1/eps**2)"'
POINT = '[[theorem.claim]]\n  id = "p"\n  over = "point"\n  left = "norm(grad_phi(x))"\n  right = "mu"'
SOLVER = """
def mine(oracles, x0, parameters):
    x, points = x0, [x0]
    for _ in range(int(parameters["N"])):
        y = oracles.grad_y_g(x, [0.0])
        x = x - parameters["{letter}"] * (oracles.grad_x_f(x, y) + 0 * oracles.{oracle})
        points.append(x)
    return points
"""
SOLVED = {"letter": "a", "oracle": "hvp_yy_g(x, y, y)"}


def files(folder: Path, letters: str = "b = {}", claim: str = "", f: str = "x1**2 + y1", **solver: str) -> list[str]:
    """The words of ``verify`` for a card, a problem and a solver of one's own."""
    (folder / "p.toml").write_text(PROBLEM.format(f=f))
    (folder / "c.toml").write_text(CARD.format(letters=letters, claim=claim))
    (folder / "s.py").write_text(SOLVER.format(**{**SOLVED, **solver}))
    words = ["verify", "--card", str(folder / "c.toml"), "--problem", str(folder / "p.toml")]
    return words + (["--solver", f"{folder / 's.py'}:mine"] if solver else [])


STEPS = """
[paper]
key = "steps"
[letters]
L = { from = "constants" }
eta = {}
[settings.main.parameters]
eta = "1/L"
[[theorem]]
id = "one"
method = "gradient-descent"
settings = ["main"]
  [[theorem.claim]]
  id = "decrease"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k])"
"""


@pytest.mark.parametrize(("words", "status"), [((), 2), (("--eps", "0.01"), 0), (("--budget", "20"), 0)])
def test_a_run_that_nothing_ends_asks_for_its_end(words: tuple[str, ...], status: int, tmp_path: Path, capsys) -> None:
    (tmp_path / "c.toml").write_text(STEPS)
    (tmp_path / "p.toml").write_text('kind = "single_level"\nf = "x1**2 + cos(x1)"\nx = ["x1"]\nstart = [2]\n')
    given = ["verify", "--card", str(tmp_path / "c.toml"), "--problem", str(tmp_path / "p.toml"), *words]
    assert main(given) == status
    assert ("nothing ends gradient-descent: give --eps 0.01" in capsys.readouterr().err) == (status == 2)


def test_a_lower_level_that_is_flat_far_away_is_answered_with_a_box(tmp_path: Path, capsys) -> None:
    path = tmp_path / "flat.toml"
    path.write_text('kind = "bilevel"\nf = "sin(x1 + y1)"\ng = "log(1 + exp(y1)) - x1*y1"\nx = ["x1"]\ny = ["y1"]\n')
    main(["verify", "ragd-gs/lemma-1", "--problem", str(path)])
    said = " ".join(capsys.readouterr().out.split())
    assert "mu <= 0; add x1 = [-10, 10], y1 = [-10, 10] under [domain]" in said
    main(["constants", str(path), "--only", "mu"])
    assert "add x1 = [-10, 10], y1 = [-10, 10] under [domain]" in " ".join(capsys.readouterr().out.split())


def test_a_callable_is_handed_the_inputs_of_the_algorithm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(files(tmp_path, letter="a")) == 0
    assert "1 holds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"letter": "step"}, "parameters has N, a, b"),
        ({"oracle": "hess_yy_g(x, y)"}, "hvp_yy_g(x, y, v) is its product with v"),
        ({"oracle": "hess_xx_f(x, y)"}, "hess_f(x, y) the blocks xx, xy, yy"),
        ({"oracle": "grad_z_g(x, y)"}, "did you mean 'grad_y_g'"),
        ({"letters": ""}, "add b = {} under [letters]"),
        ({"claim": POINT}, 'for = { x = "domain" }'),
        ({"f": "x1**2 + y2"}, "the variables (x, y) and knobs are x1, y1"),
        ({"f": "(y1 - 1)^2 + x1"}, "write '**' for '^'"),
    ],
)
def test_a_slip_is_told_its_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, str], said: str
) -> None:
    assert main(files(tmp_path, **options)) == 2
    assert said in capsys.readouterr().err


def test_a_problem_alone_is_told_what_to_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--problem", files(tmp_path)[-1]]) == 2
    assert "ragd-gs/lemma-1" in capsys.readouterr().err


def test_an_order_that_one_tolerance_cannot_show_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = files(tmp_path, letters='b = {}\neps = { from = "user" }', claim=RATE)
    assert main([*words, "--eps", "0.1"]) == 0
    assert "mine/one:rate is an order of growth" in capsys.readouterr().err
    main([*words, "--eps", "0.1,0.01"])
    assert "order of growth" not in capsys.readouterr().err


def test_what_is_counted_to_is_a_whole_number_in_trials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = files(tmp_path)
    main(["audit", words[2], "--quick", "--jobs", "1"])
    assert "trial-1" not in capsys.readouterr().out
    card = Path(words[2])
    card.write_text(card.read_text().replace("N = { default = 3 }", 'N = { default = 3, domain = "(0, oo)" }'))
    main(["audit", str(card), "--quick", "--jobs", "1"])
    assert "trial-1" in capsys.readouterr().out


def test_a_picture_without_a_run_names_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plot", "bound", "zoo:toy-a", "--statement", "ragd-gs/lemma-1", "--eps", "0.1"]
    assert main([*words, "--out", str(tmp_path / "b.svg")]) == 2
    assert "`margins` draws any claim" in capsys.readouterr().err


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_table_tears_a_name_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    name = "a-paper/lemma-1-proof-eq-3"
    lines = [["undecided", name, "a reason of several words " * 4, ""], ["holds", "p/q", "short", "x"]]
    output.table("title", ["verdict", "statement", "why of it", "other"], lines)
    shown = capsys.readouterr().out
    assert re.search(rf"{name}\s", shown)
    assert max(map(len, shown.splitlines())) <= width


def test_the_statements_are_counted_by_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "statements"]) == 0
    caught = capsys.readouterr()
    assert caught.out.count("\n") < 60
    assert "ragd-gs/lemma-1" in caught.out
    assert "--paper KEY" in caught.err


def test_every_letter_of_a_method_says_what_it_is_and_what_its_theorem_prescribes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for method in methods():
        unsaid = [one["name"] for one in catalogue._described_method(method)["letters"] if not one["meaning"]]
        assert not unsaid, method.name
    assert main(["list", "methods", "--show", "rahgd", "--json"]) == 0
    letters = {one["name"]: one for one in json.loads(capsys.readouterr().out)["letters"]}
    assert (letters["alpha"]["meaning"], letters["alpha"]["prescribed"]) == ("step size of the inner AGD", "1/ell")
    assert main(["list", "methods", "--show", "bi-sg"]) == 0
    assert "exponent with which the step size on f falls" in " ".join(capsys.readouterr().out.split())


def test_what_a_table_of_verdicts_leaves_open_is_said_below_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (problem := tmp_path / "mine.toml").write_text(
        'kind = "single_level"\nf = "log(1 + exp(x1)) - x1/3 + x2**2"\nx = ["x1", "x2"]\nstart = [3, -2]\n'
    )
    words = ["verify", "restarted-agd-hb/theorem-1:epoch-length", "--problem", str(problem)]
    assert main([*words, "--eps", "0.1"]) == 0
    assert "refuted and on record in the card: 1; the exit status is about new ones" in capsys.readouterr().out
    assert main([*words, "--eps", "0.1", "--budget", "2"]) == 0
    assert "--budget N lets the run make more oracle calls" in capsys.readouterr().out
