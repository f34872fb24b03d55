"""The tightness of every statement of the shipped cards: a long search over all families, resumed where it was.

``python tests/thorough/worst_run.py --minutes 0.5 --for 30 --out reports`` works for half an hour, half a minute a
statement, and writes ``worst.json`` and ``worst.md``; called again it goes on with the statements that are missing.
``--keep`` alone writes the tightest instance of every statement into the main job, from ``worst.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from worst_tables import along_the_proofs, by_method, with_links

from bilevel_verify.checks import requests
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.library import shipped
from bilevel_verify.worst import WorstCase, family, worst_case
from bilevel_verify.worst.tightness_map import table, tightness_map, totals


def statements() -> list[str]:
    """Every statement with claims, cheap papers first."""
    order = ("restarted-agd-hb", "agm-bio", "ragd-gs", "fsba", "rahgd")
    keys = [key for key in order if key in shipped()]
    return [f"{key}/{entry.id}" for key in keys for entry in load_card(key).statements if entry.claims]


def joined(old: dict[str, Any] | None, found: WorstCase) -> dict[str, Any]:
    """A result as JSON, with the claims of an older one where its share is the larger; what was tried is added up."""
    new = found.to_dict()
    for claim in new["claims"]:  # the rows are long; verify gives them again
        claim.pop("row", None)
    if old is None:
        return new
    best = {claim["claim"]: claim for claim in old["claims"]}
    for claim in new["claims"]:
        before = best.get(claim["claim"])
        if before is None or (claim["confirmed"], _size(claim)) > (before["confirmed"], _size(before)):
            best[claim["claim"]] = claim
    order = sorted(best.values(), key=lambda one: (not one["confirmed"], -_size(one), one["claim"]))
    sums = {key: old[key] + new[key] for key in ("tried", "decided", "places")}
    kept_links = {key: old[key] for key in ("links", "links_tried", "links_attained") if key in old}
    silent = [name for name in new["silent"] if name not in best]
    return {**new, **sums, **kept_links, "claims": order, "silent": silent}


def _size(claim: dict[str, Any]) -> float:
    return float(claim["ratio"])


def write(results: dict[str, dict], folder: Path) -> None:
    listed = [results[name] for name in named() if name in results]
    (folder / "worst.json").write_text(json.dumps(listed, indent=1) + "\n")
    lines = [f"{name}: {number}" for name, number in totals(listed).items()]
    text = "# How tight is every theorem: the largest share of every bound that a search found\n\n"
    parts = [text + "\n".join(f"* {line}" for line in lines) + "\n", by_method(listed), along_the_proofs(listed)]
    (folder / "worst.md").write_text("\n".join([*parts, "## Every statement, every claim\n", table(listed)]))


CARDS = ("docs/worst/classical.toml", "docs/worst/methods.toml")
"""Cards of known bounds; the second has one for every method without a theorem in the papers."""
HEAVY_BALL = ("theorem-4", "theorem-5", "lemma-5", "lemma-6")
OPTIONS: dict[str, dict[str, Any]] = {
    **{f"restarted-agd-hb/{one}": {"eps": 1e-7} for one in HEAVY_BALL},  # theta <= 1/10
    "docs/worst/methods.toml/mng": {"problem": "docs/worst/simple-origin.toml"},  # starts where f is least
}


def options_of(name: str) -> dict[str, Any]:
    """What a statement needs so that its hypotheses hold on some candidate."""
    return OPTIONS.get(name, {})


def named() -> list[str]:
    """Every statement with claims of the known bounds, then of the shipped cards."""
    known = [f"{path}/{entry.id}" for path in CARDS for entry in load_card(path).statements if entry.claims]
    return known + statements()


KEPT = Path(requests.__file__).with_name("worst.toml")
KEPT_HEAD = """# The worst instances that a search has found (reports/worst.json): for each statement the one on which a
# claim that is not broken uses up most of its bound. Always part of the main job.
# Written by `python tests/thorough/worst_run.py --keep`.
"""


def kept(results: list[dict]) -> str:
    """The jobs of the tightest instances, as TOML; statements on one instance share a job."""
    jobs: dict[str, list[str]] = {}
    for one in results:
        if ".toml" in one["statement"]:  # a card of known bounds is no part of the main job
            continue
        moving = [c for c in one["claims"] if any(c["x0"])]  # the origin is stationary: no evidence
        claims = [c for c in moving if float(c["ratio"]) <= 1 and c["verdict"] != "refuted"]
        if not claims:
            continue
        worst = max(claims, key=lambda claim: claim["ratio"])
        knobs = ", ".join(f"{name} = {value}" for name, value in worst["knobs"].items())
        lines = [f'problem = "{family(worst["family"]).zoo}"', f"knobs = {{ {knobs} }}"]
        lines += [] if worst["eps"] is None else [f"eps = [{worst['eps']!r}]"]
        jobs.setdefault("\n".join([*lines, f"x0 = {worst['x0']}"]), []).append(one["statement"])
    texts = [f"\n[[job]]\n{job}\nstatements = {json.dumps(names)}\n" for job, names in sorted(jobs.items())]
    return KEPT_HEAD + "".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="for one statement")
    parser.add_argument("--candidates", type=int, default=None, help="most candidates of one statement")
    parser.add_argument("--for", type=float, default=600.0, dest="whole", help="minutes for everything")
    parser.add_argument("--out", type=Path, default=Path("reports"))
    parser.add_argument("--only", default="", help="statements whose name contains this")
    parser.add_argument("--again", action="store_true", help="statements that are there already, too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="write worst.toml from worst.json, search nothing")
    parser.add_argument("--links", type=Path, default=None, help="report.json of an audit: where the proofs lose")
    given = parser.parse_args()
    path = given.out / "worst.json"
    if given.links:
        results = {one["statement"]: one for one in json.loads(path.read_text())}
        with_links(results, json.loads(given.links.read_text())["rows"])
        write(results, given.out)
        return
    if given.keep:
        KEPT.write_text(kept(json.loads(path.read_text())))
        return
    results = {one["statement"]: one for one in json.loads(path.read_text())} if path.exists() else {}
    end = time.monotonic() + 60 * given.whole
    for name in named():
        if given.only not in name or (name in results and not given.again) or time.monotonic() > end:
            continue
        try:
            options = {"candidates": given.candidates, "seed": given.seed, **options_of(name)}
            found = worst_case(name, minutes=given.minutes, **options)
        except InputError as error:
            print(f"{name}: {error}", flush=True)
            continue
        except BilevelVerifyError as error:
            print(f"{name}: FAILED {type(error).__name__}: {error}", flush=True)
            continue
        results[name] = joined(None, found)
        best = found.worst
        print(f"{name}: {found.decided} of {found.tried}, {best.ratio if best else None}", flush=True)
        write(results, given.out)
    if results:
        tightness_map([results[n] for n in named() if n in results]).savefig(given.out / "worst.svg")


if __name__ == "__main__":
    main()
