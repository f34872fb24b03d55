"""Promises with a probability: exact binomial bounds over seeds that were fixed in advance.

A row may refute such a promise, never prove it. The level is 1e-6 a row, divided by the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from bilevel_verify.checks.verdicts.verdict import Verdict

LEVEL = 1e-6


@dataclass(frozen=True, slots=True)
class Frequency:
    """Observed successes with their exact (Clopper-Pearson) bounds, each one-sided at the corrected level."""

    verdict: Verdict
    reason: str
    successes: int
    trials: int
    lower: float
    upper: float


def binomial_bounds(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Exact one-sided bounds of a success probability, each at ``level``.

    Raises
    ------
    ValueError : counts that do not fit, or a level outside (0, 1).
    """
    if not 0 <= successes <= trials or trials < 1 or not 0 < level < 1:
        raise ValueError(f"{successes} successes in {trials} trials at level {level} make no sense")
    from scipy.stats import beta

    lower = 0.0 if successes == 0 else float(beta.ppf(level, successes, trials - successes + 1))
    upper = 1.0 if successes == trials else float(beta.ppf(1 - level, successes + 1, trials - successes))
    return lower, upper


def judge_frequency(successes: int, trials: int, promised: float, rows: int = 1, level: float = LEVEL) -> Frequency:
    """Judge "succeeds with probability at least ``promised``"; time-outs are counted as failures by the caller.

    ``rows`` is the number of rows among which this one is looked at (Bonferroni).
    """
    lower, upper = binomial_bounds(successes, trials, level / max(1, rows))
    if upper < promised:
        return Frequency(
            "refuted", f"{successes} of {trials} seeds, upper bound {upper:.4f}", successes, trials, lower, upper
        )
    detail = f"{successes} of {trials} seeds: probability in [{lower:.4f}, {upper:.4f}]"
    reason = f"a frequency proves no probability; {detail}"
    return Frequency("undecided", reason, successes, trials, lower, upper)
