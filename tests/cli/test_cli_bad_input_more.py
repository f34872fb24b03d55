"""Bad input that was once taken for something else: each is one line and exit status 2."""

from __future__ import annotations

import pytest

from bilevel_verify.cli import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "x <= nan", "--for", "x = [0, 1]"], "'nan' in"),
        (["check", "x <= True + 1", "--for", "x = [0, 1]"], "is no number here"),
        (["check", "x <= inf", "--for", "x = [0, 1]"], "infinity is oo"),
        (["verify", "ragd-gs/theorem-1", "--problem", "zoo:bilevel-cubic", "--eps", "0.1,,0.2"], "between commas"),
        (
            ["verify", "ragd-gs/theorem-1", "--problem", "zoo:bilevel-cubic", "--eps", "0.1", "--sweep", "kappa=1,2"],
            "which is no family",
        ),
        (["worst", "ragd-gs/theorem-1", "--set", "foo=1"], "has no letter 'foo'"),
    ],
)
def test_it_is_refused_in_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert not shown.out
