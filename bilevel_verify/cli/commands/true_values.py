"""The truth beside a run: every quantity with value, error bar, method and certificate."""

from __future__ import annotations

from typing import Any

from bilevel_verify.campaign.records import plain
from bilevel_verify.errors import BilevelVerifyError

CERTIFICATES = {
    "proved": "exact arithmetic",
    "certified": "outward rounding all the way",
    "computed": "none: floating point with an error estimate",
    "sampled": "none: an estimate",
}


def truth_at(problem: Any, x: Any) -> dict[str, object]:
    """True quantities at x, each with its error bar and certificate; what does not exist says why (``error``)."""
    from bilevel_verify.truth import truth

    answers = truth(problem)
    found: dict[str, Any] = {}
    rows = answers.summary(x)
    if problem.kind == "simple_bilevel":
        rows.append(_distance(answers, x))
    for row in rows:
        name = row["quantity"]
        if row["value"] is None:
            found[name] = {"error": " ".join(str(row["method"]).split())}
        else:
            record = {k: plain(row[k]) for k in ("value", "error", "certainty", "method", "attained")}
            found[name] = record | {"certificate": CERTIFICATES[row["certainty"]]}
    return found


def _distance(answers: Any, x: Any) -> dict[str, object]:
    try:
        found = answers.distance_to_solutions(x)
    except BilevelVerifyError as error:
        return {"quantity": "distance_to_solutions", "value": None, "method": str(error)}
    return {
        "quantity": "distance_to_solutions", "value": float(found.value), "error": found.error,
        "certainty": found.certainty, "method": found.method, "attained": None,
    }  # fmt: skip


def shown(value: Any) -> str:
    """One true quantity as text: value, error bar, certificate, method (or why there is none)."""
    from bilevel_verify.reporting.words import number

    if "value" not in value:
        return str(value["error"])
    inner = value["value"]
    if isinstance(inner, list):
        flat = [", ".join(number(v, 8) for v in row) if isinstance(row, list) else number(row, 8) for row in inner]
        text = ("; " if inner and isinstance(inner[0], list) else ", ").join(flat)
    else:
        text = number(inner, 8)
    ends = "" if value["attained"] is not False else ", not attained"
    return (
        f"{text} ± {number(value['error'], 2)} ({value['certainty']}: {value['certificate']}{ends})\n{value['method']}"
    )
