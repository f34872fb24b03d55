"""Many random cubic models against the two conditions of optimality: run as a script, it prints its counts to a file.

    python tests/thorough/cubic_models.py [--models 100000] [--seed 1] [--out reports/thorough/cubic.txt]

Every model is made from the seed and its own number, so that a single failure can be repeated with ``--first``.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np

from bilevel_verify.methods.cubic.subproblem import minimise

KINDS = (
    "generic",
    "hard case: g orthogonal to the lowest eigenspace",
    "g = 0",
    "nearly hard case: 1e-14 of g in the lowest eigenspace",
    "convex",
    "hard case: lowest eigenvalue of multiplicity > 1",
    "rank one",
    "diagonal, exact hard case",
)
TOLERANCE = 1e-12


def random_model(seed: int, number: int) -> tuple[int, np.ndarray, np.ndarray, float]:
    """Kind, g, H, M of one model; d from 1 to 200, scales over many decades."""
    rng = np.random.default_rng([seed, number])
    kind = number % len(KINDS)
    d = int(rng.integers(1, 13)) if number % 20 else int(rng.integers(13, 201))
    values = rng.standard_normal(d) * 10.0 ** rng.uniform(-4, 4)
    gradient = rng.standard_normal(d) * 10.0 ** rng.uniform(-8, 4)
    if kind == 4:
        values = np.abs(values)
    if kind == 5:
        values[: max(1, d // 2)] = values.min()
    if kind == 6:
        values[1:] = 0.0
    basis = np.eye(d) if kind == 7 else np.linalg.qr(rng.standard_normal((d, d)))[0]
    lowest = values == values.min()
    if kind in (1, 3, 5, 7):
        gradient = basis @ np.where(lowest, 1e-14 if kind == 3 else 0.0, basis.T @ gradient)
    if kind == 2:
        gradient = np.zeros(d)
    return kind, gradient, (basis * values) @ basis.T, 10.0 ** rng.uniform(-4, 5)


def judged(gradient: np.ndarray, hessian: np.ndarray, M: float) -> tuple[float, float, bool]:
    """Relative residual of (19) and relative violation of (20), from the model itself; whether it was the hard case."""
    step = minimise(gradient, hessian, M)
    symmetric = (hessian + hessian.T) / 2
    length = float(np.linalg.norm(step.s))
    eigenvalues = np.linalg.eigvalsh(symmetric)
    largest = float(np.max(np.abs(eigenvalues)))
    left = gradient + symmetric @ step.s + M / 2 * length * step.s
    scale = float(np.linalg.norm(gradient)) + largest * length + M / 2 * length**2
    violation = max(0.0, -(float(eigenvalues[0]) + M / 2 * length)) / (largest + M / 2 * length)
    return float(np.linalg.norm(left)) / max(scale, 1e-300), violation, step.hard


def survey(seed: int, first: int, models: int) -> tuple[Counter[str], dict[int, list[float]], list[int]]:
    """Counts, the worst residual and violation per kind, and the numbers of the models that failed."""
    counts: Counter[str] = Counter()
    worst: dict[int, list[float]] = {kind: [0.0, 0.0] for kind in range(len(KINDS))}
    failed: list[int] = []
    for number in range(first, first + models):
        kind, gradient, hessian, M = random_model(seed, number)
        residual, violation, hard = judged(gradient, hessian, M)
        counts[KINDS[kind]] += 1
        counts["solved by the hard case"] += hard
        counts["d > 100"] += len(gradient) > 100
        worst[kind] = [max(worst[kind][0], residual), max(worst[kind][1], violation)]
        if not (residual <= TOLERANCE and violation <= TOLERANCE):
            failed.append(number)
    return counts, worst, failed


def main() -> int:
    """Run and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("reports/thorough/cubic.txt"))
    args = parser.parse_args()
    began = time.perf_counter()
    counts, worst, failed = survey(args.seed, args.first, args.models)
    lines = [
        f"cubic sub-problem: {args.models} random models, seed {args.seed}, numbers {args.first} to "
        f"{args.first + args.models - 1}, d from 1 to 200, {time.perf_counter() - began:.0f} s",
        f"failed (relative residual of (19) or violation of (20) above {TOLERANCE:g}): {len(failed)} {failed[:10]}",
        f"largest residual {max(w[0] for w in worst.values()):.2e}, "
        f"largest violation of (20) {max(w[1] for w in worst.values()):.2e}",
        "",
    ]
    lines += [
        f"{counts[name]:7d}  residual <= {worst[kind][0]:.1e}, violation <= {worst[kind][1]:.1e}  {name}"
        for kind, name in enumerate(KINDS)
    ]
    lines += [f"{counts[name]:7d}  {name}" for name in ("solved by the hard case", "d > 100")]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
