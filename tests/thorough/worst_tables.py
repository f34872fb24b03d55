"""Two more tables of ``reports/worst.md``: a claim for every method, and where the proofs lose most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bilevel_verify.methods import METHODS
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.library import shipped

Json = Mapping[str, Any]
SHOWN = 3
"""Links that are kept of one statement, the loosest first."""
OWN = "own card"
"""What a bound is called that no paper here prints."""


def method_of(statement: str) -> str:
    """The method that a statement is about, without its variant; empty for none."""
    card, _, name = statement.rpartition("/")
    entry = next((one for one in load_card(card).statements if one.id == name), None)
    return "" if entry is None else entry.method.partition(":")[0]


def by_method(results: Sequence[Json]) -> str:
    """Markdown: for each method the claims that a search decided, the tightest and the loosest of them."""
    found: dict[str, list[tuple[Json, Json]]] = {name: [] for name in METHODS}
    tried: dict[str, int] = dict.fromkeys(METHODS, 0)
    for one in results:
        method = method_of(str(one["statement"]))
        if method in found:
            tried[method] += int(one["tried"])
            found[method] += [(one, claim) for claim in one["claims"] if _sound(one, claim)]
    lines = [
        "## Every method", "",
        "The largest share of a claim that is not refuted; `own card`: an elementary or classical bound in "
        "`docs/worst/`, which none of the papers prints.", "",
        "| method | claims | instances | tightest claim | from | share | family | loosest claim | share | family |",
        "|---|---:|---:|---|---|---:|---|---|---:|---|",
    ]  # fmt: skip
    for name, claims in sorted(found.items()):
        ranked = sorted(claims, key=lambda pair: -float(pair[1]["ratio"]))
        if not ranked:
            lines.append(f"| {name} | 0 | {tried[name]} | no claim was decided | | | | | | |")
            continue
        cells = [name, len(ranked), tried[name], *_cells(*ranked[0]), *_cells(*ranked[-1], source=False)]
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _sound(one: Json, claim: Json) -> bool:
    """Whether a share says something: confirmed, not above 1, and for a paper not from the stationary origin."""
    moving = ".toml" in str(one["statement"]) or any(claim["x0"])
    return moving and bool(claim["confirmed"]) and claim["verdict"] != "refuted" and 0 < float(claim["ratio"]) <= 1


def _cells(one: Json, claim: Json, source: bool = True) -> list[str]:
    card, _, name = str(one["statement"]).rpartition("/")
    where = [OWN if card not in shipped() else card] if source else []
    return [f"{name}: {claim['claim']}", *where, f"{float(claim['ratio']):.4g}", str(claim["family"])]


def links_of(rows: Iterable[Json]) -> dict[str, list[Json]]:
    """Of every statement the links of its proof with their tightness, the loosest first.

    Parameters
    ----------
    rows : those of ``report.json`` of an audit. A link belongs to the statement whose name its entry has, or begins
        with, or names as that of its proof.
    """
    names = {f"{key}/{entry.id}" for key in shipped() for entry in load_card(key).statements if entry.claims}
    found: dict[str, dict[tuple[str, str], Json]] = {}
    for row in rows:
        ratio = row["details"].get("tightness")
        if ratio is None or row["verdict"] == "refuted" or not 0 < float(ratio) <= 1:
            continue
        owner = _owner(str(row["paper"]), str(row["statement"]), names)
        if owner:
            name = f"{row['statement']}:{row['claim']}" if row["claim"] else str(row["statement"])
            link = {"link": name, "relation": f"{row['left']} {row['details'].get('op', '')} {row['right']}"}
            before = found.setdefault(owner, {}).get((name, link["relation"]))
            if before is None or float(ratio) > before["ratio"]:
                found[owner][name, link["relation"]] = {**link, "ratio": float(ratio)}
    return {name: sorted(links.values(), key=lambda one: one["ratio"]) for name, links in found.items()}


def _owner(paper: str, entry: str, names: set[str]) -> str:
    """The statement with the longest name that the name of an entry begins with."""
    plain = entry.removeprefix("proof-").removesuffix("-proof")
    words = plain.split("-")
    candidates = ("-".join(words[:count]) for count in range(len(words), 0, -1))
    return next((f"{paper}/{one}" for one in candidates if f"{paper}/{one}" in names), "")


def along_the_proofs(results: Sequence[Json]) -> str:
    """Markdown: of every statement its tightest claim and the link of its proof that loses most."""
    lines = [
        "## Where the proofs lose", "",
        "Link by link along the proof of each statement, from the audit: the largest share of the link that its attack "
        "saw, over letters in their ranges and on instances. The link with the least share loses most, by at least its "
        "inverse on everything tried; a share of 1 is a link that is attained.", "",
        "| statement | links | attained | loses most | relation | share | then | share |",
        "|---|---:|---:|---|---|---:|---|---:|",
    ]  # fmt: skip
    for one in results:
        links = one.get("links") or []
        if not links:
            continue
        first, then = links[0], links[1] if len(links) > 1 else None
        relation = first["relation"] if len(first["relation"]) <= 160 else first["relation"][:157] + "..."
        second = ["", ""] if then is None else [then["link"], f"{then['ratio']:.4g}"]
        cells = [one["statement"], one["links_tried"], one["links_attained"], first["link"], f"`{relation}`"]
        cells += [f"{first['ratio']:.4g}", *second]
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def with_links(results: dict[str, dict[str, Any]], rows: Iterable[Json]) -> None:
    """Put the loosest links of its proof beside every statement; one that was not searched gets an entry of its own."""
    for name, links in links_of(rows).items():
        empty = {"statement": name, "claims": [], "tried": 0, "decided": 0, "places": 0, "skipped": {"not searched": 0}}
        one = results.setdefault(name, empty)
        one["links_tried"], one["links"] = len(links), links[:SHOWN]
        one["links_attained"] = sum(link["ratio"] >= 1 - 1e-6 for link in links)
