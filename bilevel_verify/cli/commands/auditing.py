"""``audit`` and ``check``: printed formulas, without any run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bilevel_verify.cli import output
from bilevel_verify.errors import InputError


def _relation(row: Mapping[str, Any]) -> str:
    """Both sides with the relation between them; ``~`` where only their units are compared."""
    if row["left"] is None:
        return ""
    return f"{row['left']} {(row.get('details') or {}).get('op', '<=')} {row['right']}"


def audit_command(arguments: Any) -> int:
    """Judge the printed formulas of one card or of all."""
    from bilevel_verify.audit import audit

    options = {"statement": arguments.statement, "budget": arguments.budget, "seed": arguments.seed}
    findings = audit(arguments.paper, **options)
    if arguments.out:
        _write(findings, Path(arguments.out), arguments.paper or "all cards")
    return _show(findings, arguments)


def check_command(arguments: Any) -> int:
    """Prove or refute the links of one chain."""
    from bilevel_verify.audit import check

    ranges, conditions = "; ".join(arguments.ranges), list(arguments.where)
    findings = check(arguments.formula, ranges, conditions, seed=arguments.seed, seconds=arguments.budget)
    return _show(findings, arguments)


def _show(findings: Any, arguments: Any) -> int:
    many = list(findings) if isinstance(findings, list | tuple) else [findings]
    rows = [f.to_dict() for f in many]
    if arguments.json:
        output.print_json({"rows": rows})
        return output.exit_status(rows, arguments.strict)
    lines = []
    for row in rows:
        name = "/".join(p for p in (row["paper"], row["statement"], row["claim"]) if p)
        point = row.get("counterexample")
        shown = ", ".join(f"{k} = {v}" for k, v in point.items()) if point else row["reason"] or ""
        lines.append([row["verdict"], name, _relation(row), shown])
    output.table("", ["verdict", "statement", "relation", "counterexample or certificate"], lines)
    output.console().print(output.verdict_counts(rows), markup=False)
    return output.exit_status(rows, arguments.strict)


def _write(findings: Any, folder: Path, what: str) -> None:
    """A report of the findings and, for each refutation, its independent script."""
    from bilevel_verify.reporting.build import build
    from bilevel_verify.reporting.words import slug
    from bilevel_verify.reporting.write import write_document

    rows = [f.row.to_dict() for f in findings]
    answer = {"statement": what, "problem": None, "rows": rows}
    page = write_document(build([answer], title=f"Audit of {what}", command=f"bilevel-verify audit {what}"), folder)
    try:
        for finding in findings:
            if finding.script:
                (folder / "counterexamples").mkdir(exist_ok=True)
                name = slug(finding.row.paper, finding.row.statement, finding.row.claim).replace("/", "-")
                (folder / "counterexamples" / f"{name}.py").write_text(finding.script, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None
    output.say(f"report: {page}")
