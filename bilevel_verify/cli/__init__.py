"""The front door: ``bilevel-verify run | verify | solve | derive | constants | audit | check | list | report ...``.

Exit status: 0 nothing newly refuted; 1 a promise is refuted whose card does not already record it (with ``--strict``:
or undecided); 2 wrong use or ill-formed input; 3 an error of our own; 130 interrupted, what was done is kept.
"""

from __future__ import annotations

from bilevel_verify.cli.main import main

__all__ = ["main"]
