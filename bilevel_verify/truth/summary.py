"""The truth about a problem as rows of a table, for reports and the command line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.truth.arithmetic.enclosure import Enclosure


def summary_row(name: str, compute: Callable[[], Enclosure]) -> dict[str, object]:
    """A row ``quantity value error certainty method attained``; a failure is a row with its reason."""
    try:
        found = compute()
    except BilevelVerifyError as problem:
        return {
            "quantity": name,
            "value": None,
            "error": None,
            "certainty": None,
            "method": str(problem),
            "attained": None,
        }
    value = found.value.tolist() if isinstance(found.value, np.ndarray) else float(found.value)
    return {
        "quantity": name, "value": value, "error": float(found.error), "certainty": found.certainty,
        "method": found.method, "attained": found.attained,
    }  # fmt: skip
