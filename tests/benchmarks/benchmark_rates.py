"""The rate table anew: the same as ``bilevel-verify rates`` with these words.

python tests/benchmarks/benchmark_rates.py --out reports          all series (half an hour on a quiet core)
python tests/benchmarks/benchmark_rates.py --short                the cheap settings, table on the screen
python tests/benchmarks/benchmark_rates.py --only "in kappa" --out reports --resume
"""

from __future__ import annotations

import sys

from bilevel_verify.cli import main

if __name__ == "__main__":
    sys.exit(main(["rates", *sys.argv[1:]]))
