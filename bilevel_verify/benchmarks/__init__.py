"""How fast the toolkit is, side by side with other ways to do the same: ``bilevel-verify bench``.

Ratios of times taken in one run, interleaved, the least of several rounds of processor time. Nothing here is a test.
"""

from __future__ import annotations

from bilevel_verify.benchmarks.everything import PARTS, run_benchmarks
from bilevel_verify.benchmarks.rows import Row, Section, as_text

__all__ = ["PARTS", "Row", "Section", "as_text", "run_benchmarks"]
