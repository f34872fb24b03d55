"""What a row says of a formula that is undefined somewhere: the place and the part, and no values of its sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilevel_verify.audit import check
from bilevel_verify.audit.findings.coverage import Share
from bilevel_verify.cli import main
from bilevel_verify.errors import InputError


def test_an_undefined_formula_has_no_values() -> None:
    broken, undefined = check("x/y <= 1", {"x": "[0, 1]", "y": "[0, 1]"})
    assert (broken.row.measured, broken.row.bound) == (2.0, 1.0)
    assert undefined.row.kind == "definedness"
    assert (undefined.row.measured, undefined.row.bound, undefined.row.margin) == (None, None, None)


def test_the_terminal_names_the_part_and_rounds_as_a_reader_would(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "x/y <= 9/5", "--for", "x = [0, 2]", "--for", "y = [0, 1]"]) == 1
    shown = capsys.readouterr().out
    assert "undefined at y = 0: a division by y" in shown
    assert "right  9/5 = 1.8\n" in shown


def test_a_factorial_sign_is_answered_with_the_function(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'k!' is written factorial\(k\)"):
        check("k! >= k", {"k": "integers 1.."})


def test_nothing_to_decide_is_no_hundred_percent() -> None:
    assert str(Share(0, 0)) == "no scalar links or derivations to decide"
    assert str(Share(1, 2)).endswith("(50 %)")
