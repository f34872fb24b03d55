"""``python -m bilevel_verify.experiments [NAME ...] --out FOLDER [--seed N] [--quick]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.experiments.comparison import compare, reference_of
from bilevel_verify.experiments.instances import instances
from bilevel_verify.experiments.report import write

NAMES = ("linear-inverse-3", "linear-inverse-100", "diabetes-wide", "diabetes-tall", "breast-cancer-wide")


def main(argv: list[str] | None = None) -> int:
    """Run the experiments; exit status 2 for wrong input, 3 where something else is missing."""
    parser = argparse.ArgumentParser(prog="python -m bilevel_verify.experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--out", type=Path, required=True, help="folder of the report")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a tenth of the iterations")
    arguments = parser.parse_args(argv)
    unknown = [name for name in arguments.names if name not in NAMES]
    if unknown:
        parser.error(f"no experiment {unknown[0]!r}; there are {', '.join(NAMES)}")
    try:
        parts = []
        for name in arguments.names or NAMES:
            print(name, file=sys.stderr, flush=True)
            (instance,) = instances([name], arguments.seed, arguments.quick)
            reference = reference_of(instance)
            parts.append((instance, reference, compare(instance, reference)))
        chosen = " ".join(arguments.names)
        tail = f"{chosen + ' ' if chosen else ''}--seed {arguments.seed}{' --quick' if arguments.quick else ''}"
        write(arguments.out, parts, f"python -m bilevel_verify.experiments {tail}")
    except (BilevelVerifyError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 3
    print(arguments.out / "report.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
