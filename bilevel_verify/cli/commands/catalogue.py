"""``list``: what there is, and one of it in full."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.campaign.records import plain, problem_record
from bilevel_verify.cli import output
from bilevel_verify.errors import InputError
from bilevel_verify.files import read_toml
from bilevel_verify.oracles.convention import NO_BUDGET

if TYPE_CHECKING:
    from bilevel_verify.methods.registry import Letter, Method
    from bilevel_verify.theorems.card import Card

KINDS = ("problems", "statements", "methods", "cards")


PROMISES = ("theorem", "lemma", "proposition", "corollary")


def list_command(arguments: argparse.Namespace) -> int:
    """List problems, statements, methods and cards, or show one of them."""
    if arguments.kind == "api":
        from bilevel_verify.reporting.reference import reference

        print(reference(), end="")
        return 0
    if arguments.show:
        found = _found(arguments.show, arguments.fidelity)
        if arguments.json:
            output.print_json(found)
        else:
            _print_tree(found)
        return 0
    kinds = [arguments.kind] if arguments.kind else ["statements"] if arguments.paper else list(KINDS)
    lists = {kind: _records(kind, arguments.paper) for kind in kinds}
    if arguments.json:
        output.print_json(lists)
        return 0
    for kind, records in lists.items():
        number = len(records)
        if kind == "statements" and arguments.paper is None:
            records = _papers(records)
            output.say("the statements of one paper: bilevel-verify list statements --paper KEY")
        columns = list(records[0]) if records else ["name"]
        lines = [[", ".join(map(str, v)) if isinstance(v, list) else v or "" for v in r.values()] for r in records]
        output.table(f"{kind} ({number})", columns, lines)
    return 0


def _records(kind: str, paper: str | None) -> list[dict[str, object]]:
    if kind == "problems":
        from bilevel_verify.problems import zoo

        return [{"name": r.name, "kind": getattr(r, "kind", ""), "title": getattr(r, "title", "")} for r in zoo()]
    if kind == "methods":
        from bilevel_verify.methods import methods

        return [_method(m) for m in methods()]
    from bilevel_verify import theorems

    if kind == "cards":
        return [{"name": r.name, "title": r.title, "error": r.error} for r in theorems.cards()]
    return [
        {"name": r.name, "kind": r.kind, "source": r.source, "title": r.title, "checks": list(r.checks)}
        for r in theorems.statements(paper)
    ]


def _papers(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many statements of what kinds each paper has, and the first that ``verify`` takes."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(record["name"].partition("/")[0], []).append(record)
    found = []
    for paper, members in groups.items():
        kinds = [m["kind"].replace("_", " ") for m in members]
        common = ", ".join(f"{n} {kind}" for kind, n in Counter(kinds).most_common(5))
        first = next((m["name"] for m in members if m["kind"] in PROMISES and m["checks"]), "")
        found.append({"paper": paper, "statements": len(members), "such as": first, "most of them": common})
    return found


def _method(method: object) -> dict[str, object]:
    fields = {name: getattr(method, name, "") for name in ("name", "paper", "statement", "scheme", "estimator")}
    return {k: v if isinstance(v, str) else getattr(v, "name", str(v)) for k, v in fields.items()}


def _found(name: str, beside: bool = False) -> dict[str, object]:
    """One thing in full, whatever it is: statement, card, method or problem."""
    from bilevel_verify.methods import METHODS
    from bilevel_verify.theorems.library import shipped

    if "/" in name and not name.startswith("zoo:") and not name.endswith(".toml"):
        return _statement(name, beside)
    if name in METHODS:
        return _described_method(METHODS[name])
    if name in shipped() or (name.endswith(".toml") and _is_card(name)):
        return _card(name)
    from bilevel_verify.campaign.sources import open_problem, zoo_names
    from bilevel_verify.problems.family import ProblemFamily

    reference = name if name.startswith("zoo:") or name.endswith(".toml") else f"zoo:{name}"
    if reference.startswith("zoo:") and reference[4:].partition(":")[0] not in zoo_names():
        from bilevel_verify.language import nearest

        known = [*zoo_names(), *METHODS, *shipped()]
        raise InputError(f"nothing is called {name!r}{nearest(name, known)}; `bilevel-verify list` shows all")
    problem = open_problem(reference)
    if isinstance(problem, ProblemFamily):
        return {"family": str(problem), "knobs": plain(problem.knobs), "letters": list(problem.letters)}
    return {**problem_record(problem)}


def _is_card(path: str) -> bool:

    try:
        return "paper" in read_toml(Path(path))
    except InputError:
        return False


def _statement(name: str, beside: bool = False) -> dict[str, Any]:
    """A statement with the LaTeX of what was understood next to what is printed and to the source text."""
    from bilevel_verify.reporting.cards import entry_record
    from bilevel_verify.theorems import find_statement

    card, entry = find_statement(name)
    found: dict[str, Any] = {**entry_record(card, entry)}
    return {**found, "fidelity": _fidelity(card, entry.id)} if beside else found


def _fidelity(card: Card, statement: str) -> list[dict[str, Any]]:
    """What became of each quotation of a statement, where the print of its paper is there."""
    from bilevel_verify.manuscript import fidelity, has_print, load_print

    if not has_print(card.key):
        return []
    rows = fidelity(card, load_print(card.key), statement)
    return [{"part": r.part, "outcome": r.outcome, "formulas": list(r.places), "reason": r.reason} for r in rows]


def _described_method(method: Method) -> dict[str, object]:
    letters = [
        {
            "name": x.name,
            "kind": x.kind,
            "default": "no limit" if x.default == NO_BUDGET else x.default,
            **_meant(method, x),
        }
        for x in getattr(method, "letters", ())
    ]
    readings = [plain(_fields(r)) for r in getattr(method, "readings", ())]
    return {**_method(method), "letters": letters, "readings": readings}


def _meant(method: Method, letter: Letter) -> dict[str, str]:
    """What the card of a method's paper says that a letter is, and what the method's theorem prescribes for it."""
    from bilevel_verify.methods.meanings import MEANT
    from bilevel_verify.theorems import load_card

    meaning, values = MEANT.get(f"{method.name} {letter.name}", ""), []
    if method.paper and "as recalled" not in method.source:  # those have letters of their own
        card = load_card(method.paper)
        said, entry = card.letters.get(letter.name), card.entries.get(method.statement)
        names = [n for name in getattr(entry, "settings", ()) for n in (*card.settings[name].includes, name)]
        settings = (card.settings[name].parameters.get(letter.name) for name in names)
        values = [_prescribed(one.value) for one in settings if one is not None and one.value is not None]
        meaning = meaning or (said.meaning if said else "")
    meaning = meaning or MEANT.get(letter.name, "")
    return {"meaning": " ".join(meaning.split()), "prescribed": " or ".join(dict.fromkeys(values))}


def _prescribed(value: Any) -> str:
    """A formula, or the equation whose root a letter is."""
    return value.text if hasattr(value, "text") else f"the root of {value.equation.text}"


def _fields(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in getattr(record, "__dataclass_fields__", {})}


def _card(name: str) -> dict[str, object]:
    from bilevel_verify.theorems import load_card

    card = load_card(name)
    entries = [{"id": e.id, "kind": e.kind, "source": e.source} for e in card.entries.values()]
    letters = {
        k: {"meaning": s.meaning, "from": s.source, "domain": str(s.domain or "")} for k, s in card.letters.items()
    }
    return {"name": card.key, "title": card.title, "authors": card.authors, "letters": letters, "entries": entries}


def _print_tree(value: object, indent: int = 0, name: str = "") -> None:
    """Nested data as indented text, empty parts left out."""
    space = "  " * indent
    if isinstance(value, dict):
        if name:
            output.line(f"{space}{name}:")
        for key, inner in value.items():
            if inner not in (None, "", [], {}):
                _print_tree(inner, indent + bool(name), str(key))
    elif isinstance(value, list):
        simple = all(not isinstance(v, dict | list) for v in value)
        if simple and sum(len(str(v)) for v in value) < 100:
            output.line(f"{space}{name}: {', '.join(map(str, value))}")
            return
        if _flat(value):
            shown = [key for key in value[0] if any(one[key] not in (None, "") for one in value)]
            rows = [["" if one[key] is None else one[key] for key in shown] for one in value]
            output.table(name, shown, rows)
            return
        output.line(f"{space}{name}:")
        for inner in value:
            if (
                isinstance(inner, dict)
                and "id" in inner
                and all(not isinstance(v, dict | list) for v in inner.values())
            ):
                output.line("  " * (indent + 1) + "  ".join(str(v) for v in inner.values() if v not in (None, "")))
            else:
                _print_tree(inner, indent + 1, "-")
    else:
        output.line(f"{space}{name}: {value}")


def _flat(value: list[Any]) -> bool:
    """Whether a list is a table: named records of the same simple fields."""
    return (
        bool(value)
        and all(isinstance(one, dict) and list(one) == list(value[0]) and "name" in one for one in value)
        and all(not isinstance(inner, dict | list) for one in value for inner in one.values())
    )
