"""``draft`` and ``audit PAPER`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bilevel_verify.cli.commands.drafting import ask
from bilevel_verify.cli.main import main
from bilevel_verify.drafting import Answers, draft

DRAFTS = Path(__file__).resolve().parents[2] / "docs" / "drafts"
PAPER = str(DRAFTS / "gradient-descent.tex")


def test_draft_writes_a_card_and_says_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card = tmp_path / "card.toml"
    assert main(["draft", PAPER, "--out", str(card), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["card"] == str(card)
    assert (told["links"], told["judged"]) == (12, 12)
    assert card.read_text(encoding="utf-8") == (DRAFTS / "gradient-descent.draft.toml").read_text(encoding="utf-8")


def test_audit_of_a_paper_is_draft_and_audit_with_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["audit", PAPER, "--quick", "--jobs", "1", "--out", str(out)]) == 1
    shown = capsys.readouterr()
    assert "refuted" in shown.out
    assert (out / "gradient-descent.draft.toml").is_file()
    assert any(path.suffix == ".html" for path in out.iterdir())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["draft", "nothing.tex"], "nothing.tex"),
        (["draft", "paper.pdf"], ".tex or a .md"),
        (["audit", "nothing.md"], "nothing.md"),
        (["audit", "fsba", "--answers", "a.toml"], "--answers"),
        (["draft", PAPER, "--answers", "nothing.toml"], "nothing.toml"),
        (["draft", PAPER, "--out", "/dev/null/card.toml"], "--out"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err.strip()
    assert text in error
    assert "\n" not in error


def test_questions_are_asked_until_the_author_has_enough(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(r"\begin{proof} We have \[ a \le 2a + b . \] \end{proof}", encoding="utf-8")
    said = iter(["nonsense", "(0, oo)", "."])
    prompts: list[str] = []

    def read(prompt: str) -> str:
        prompts.append(prompt)
        return next(said)

    answers = ask(draft(path).questions, Answers(), read)
    assert answers.ranges == {"a": "(0, oo)"}
    assert len(prompts) == 3
    assert "paper.tex:1:" in prompts[0]
