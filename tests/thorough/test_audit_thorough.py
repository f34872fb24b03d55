"""Long runs of the audit: random statements against brute force, and the controls over every proved link of every card.

Run it by hand: ``python tests/thorough/test_audit_thorough.py --count 3000 --seed 1 --out reports/thorough/audit.txt``;
each call appends its counts. The mutants of every link are written to
``--state`` as soon as they are judged, random statements to ``--trials``: a run that was ended goes on where it
stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "audit"))
from test_audit_stress import trial, trials

from bilevel_verify.audit.controls.running import (
    Effort,
    Target,
    by_operator,
    controls_of,
    share_refuted,
    shown,
    tally,
    targets,
)
from bilevel_verify.theorems.library import cards, load_card

COUNT = int(os.environ.get("BILEVEL_VERIFY_THOROUGH", "3000"))


def all_targets() -> list[Target]:
    """Every link of every card."""
    return [target for record in cards() if not record.error for target in targets(load_card(record.name))]


def remembered(state: Path, effort: Effort) -> dict[str, list[dict[str, Any]]]:
    """Results of links that were judged before with the same effort, by the key and the text of the link."""
    if not state.exists():
        return {}
    lines = [json.loads(line) for line in state.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return {line["key"]: line["mutants"] for line in lines if line["effort"] == _signature(effort)}


def _signature(effort: Effort) -> list[Any]:
    return [effort.per_link, effort.seed, effort.seconds, *([effort.operator] if effort.operator else [])]


def _key(target: Target) -> str:
    return f"{target.key} {target.fingerprint}"


def judged(state: Path, effort: Effort, papers: tuple[str, ...] = ()) -> Iterator[tuple[Target, list[dict[str, Any]]]]:
    """Every link with its mutants, from the state or judged now and then written there."""
    known = remembered(state, effort)
    wanted = [t for t in all_targets() if not papers or t.card.key in papers]
    started = time.process_time()
    state.parent.mkdir(parents=True, exist_ok=True)
    for number, target in enumerate(wanted):
        key = _key(target)
        if key not in known:
            before = time.process_time()
            found = [mutant.to_dict() for mutant in controls_of((target, effort))]
            line = {
                "key": key,
                "effort": _signature(effort),
                "seconds": round(time.process_time() - before, 2),
            }
            with state.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**line, "mutants": found}) + "\n")
            known[key] = found
            spent = time.process_time() - started
            print(f"{number + 1} of {len(wanted)} ({spent:.0f} s): {target.key}", file=sys.stderr, flush=True)
        yield target, known[key]


def summary(found: list[dict[str, Any]], title: str) -> list[str]:
    """The counts in all and of every operator, and the mutants that are undecided."""
    pairs = [(m["operator"], m["outcome"]) for m in found]
    total = tally(pairs)
    lines = [f"{title}: {shown(total)}; {share_refuted(total):.1f} % of the mutants not proved still true are refuted"]
    for operator, counted in by_operator(pairs).items():
        lines.append(f"    {operator}: {share_refuted(counted):.1f} %, {shown(counted)}")
    return lines


def tried(count: int, seed: int, state: Path) -> list[dict[str, Any]]:
    """The random statements of a seed with their verdicts, from the state or judged now and then written there."""
    known = {}
    if state.exists():
        lines = (json.loads(line) for line in state.read_text(encoding="utf-8").splitlines() if line.endswith("}"))
        known = {line["number"]: line for line in lines if line["seed"] == seed}
    state.parent.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        if number in known:
            continue
        before = time.process_time()
        found = trial(number, seed)
        statement = found.statement
        line = {
            "seed": seed, "number": number, "kind": statement.kind, "text": statement.text,
            "for": statement.declared, "where": list(statement.where), "verdict": found.verdict,
            "reason": found.reason, "objection": found.objection, "seconds": round(time.process_time() - before, 2),
        }  # fmt: skip
        known[number] = line
        with state.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    return [known[number] for number in range(count)]


def trial_summary(found: list[dict[str, Any]], seed: int) -> list[str]:
    """The counts in all and of every kind, and every verdict that brute force contradicts."""
    spent = sum(line["seconds"] for line in found)
    against = [line for line in found if line["objection"]]
    lines = [
        f"random statements, seed {seed}: {len(found)} in {spent:.0f} s of processor time, {_verdicts(found)}; "
        f"{len(against)} contradicted by brute force"
    ]
    for kind in sorted({line["kind"] for line in found}):
        lines.append(f"    {kind}: {_verdicts([line for line in found if line['kind'] == kind])}")
    for line in against:
        lines.append(f"    CONTRADICTED number {line['number']}: {line['text']} for {line['for']}: {line['objection']}")
    return lines


def _verdicts(found: list[dict[str, Any]]) -> str:
    counts = Counter(line["verdict"] for line in found)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("holds", "refuted", "undecided", "not applicable"))


def test_many_random_statements() -> None:
    verdicts = Counter(found.verdict for found in trials(range(COUNT), 1))
    assert verdicts["undecided"] <= COUNT // 4


def test_controls_over_all_proved_links(tmp_path: Path) -> None:
    found = [m for _, part in judged(tmp_path / "state.jsonl", Effort()) for m in part]
    total = tally((m["operator"], m["outcome"]) for m in found)
    assert total["true links refuted"] == 0
    assert share_refuted(total) >= 95.0


def main() -> None:
    """One run of both; the counts go to a text file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-link", type=int, default=2, help="mutants of each proved link")
    parser.add_argument("--seconds", type=float, default=5.0, help="processor time for each mutant")
    parser.add_argument("--operator", default="", help="every mutant of this operator instead of a few of all")
    parser.add_argument("--paper", action="append", default=[], help="controls of these cards only")
    parser.add_argument("--out", default="reports/thorough/audit.txt")
    parser.add_argument("--state", default="reports/thorough/audit-controls.jsonl")
    parser.add_argument("--trials", default="reports/thorough/audit-stress.jsonl")
    parser.add_argument("--skip", choices=("stress", "controls"), help="leave one of the two out")
    chosen = parser.parse_args()
    lines = []
    if chosen.skip != "stress":
        lines += trial_summary(tried(chosen.count, chosen.seed, Path(chosen.trials)), chosen.seed)
    if chosen.skip != "controls":
        effort = Effort(chosen.per_link, chosen.seed, chosen.seconds, chosen.operator)
        found = [m for _, part in judged(Path(chosen.state), effort, tuple(chosen.paper)) for m in part]
        what = f"controls of all proved links, {', '.join(chosen.paper) or 'all cards'}, seed {chosen.seed}"
        each = f"every mutant of {chosen.operator}" if chosen.operator else f"{chosen.per_link} mutants of each"
        lines += summary(found, f"{what}, {each}")
    out = Path(chosen.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
