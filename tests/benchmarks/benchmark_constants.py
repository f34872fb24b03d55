"""Certified constants: time and distance to the true supremum. Run as a script: ``bilevel-verify bench`` has the rows."""

from __future__ import annotations

from bilevel_verify.benchmarks import as_text, run_benchmarks

if __name__ == "__main__":
    print(as_text(run_benchmarks(["constants"])))
