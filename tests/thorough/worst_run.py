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

from bilevel_verify.checks import requests
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.library import shipped
from bilevel_verify.worst import family, worst_case
from bilevel_verify.worst.tightness_map import table, tightness_map, totals


def statements() -> list[str]:
    """Every statement with claims, cheap papers first."""
    order = ("restarted-agd-hb", "agm-bio", "ragd-gs", "fsba", "rahgd")
    keys = [key for key in order if key in shipped()]
    return [f"{key}/{entry.id}" for key in keys for entry in load_card(key).statements if entry.claims]


def write(results: dict[str, dict], folder: Path) -> None:
    listed = [results[name] for name in statements() if name in results]
    (folder / "worst.json").write_text(json.dumps(listed, indent=1) + "\n")
    lines = [f"{name}: {number}" for name, number in totals(listed).items()]
    text = "# How tight is every theorem: the largest share of every bound that a search found\n\n"
    (folder / "worst.md").write_text(text + "\n".join(f"* {line}" for line in lines) + "\n\n" + table(listed))


KEPT = Path(requests.__file__).with_name("worst.toml")
KEPT_HEAD = """# The worst instances that a search has found (reports/worst.json): for each statement the one on which a
# claim that is not broken uses up most of its bound. Always part of the main job.
# Written by `python tests/thorough/worst_run.py --keep`.
"""


def kept(results: list[dict]) -> str:
    """The jobs of the tightest instances, as TOML; statements on one instance share a job."""
    jobs: dict[str, list[str]] = {}
    for one in results:
        claims = [c for c in one["claims"] if float(c["ratio"]) <= 1 and c["verdict"] != "refuted"]
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
    given = parser.parse_args()
    path = given.out / "worst.json"
    if given.keep:
        KEPT.write_text(kept(json.loads(path.read_text())))
        return
    results = {one["statement"]: one for one in json.loads(path.read_text())} if path.exists() else {}
    end = time.monotonic() + 60 * given.whole
    for name in statements():
        if given.only not in name or (name in results and not given.again) or time.monotonic() > end:
            continue
        try:
            found = worst_case(name, minutes=given.minutes, candidates=given.candidates, seed=given.seed)
        except InputError as error:
            print(f"{name}: {error}", flush=True)
            continue
        except BilevelVerifyError as error:
            print(f"{name}: FAILED {type(error).__name__}: {error}", flush=True)
            continue
        results[name] = found.to_dict()
        for claim in results[name]["claims"]:  # the rows are long; verify gives them again
            claim.pop("row", None)
        best = found.worst
        print(f"{name}: {found.decided} of {found.tried}, {best.ratio if best else None}", flush=True)
        write(results, given.out)
    if results:
        tightness_map([results[n] for n in statements() if n in results]).savefig(given.out / "worst.svg")


if __name__ == "__main__":
    main()
