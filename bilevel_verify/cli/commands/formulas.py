"""``derive`` and ``constants``: what follows from the formulas, and how smooth they are."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from bilevel_verify.cli import output, values
from bilevel_verify.cli.commands.constant_table import constants_latex, show
from bilevel_verify.cli.commands.refining import Refined, refined
from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bilevel_verify.constants import Constant

LONGEST = 1500
"""Characters of one quantity on a terminal, unless it is asked for by name."""


def derive_command(arguments: argparse.Namespace) -> int:
    """Print the derived quantities."""
    from bilevel_verify.symbolic import derive
    from bilevel_verify.symbolic.derivation_printing import text as text_of

    problem = values.member_of(values.problem_of(arguments)[0])
    derivation = derive(problem)
    known = list(derivation.names)
    closed = ["y_star", "phi"] if problem.y and derivation.y_star is not None else []
    if "y_star" in (arguments.only or "") and problem.y and "y_star" not in closed:
        raise InputError("--only: y_star has no closed form here; bv.truth(p).y_star(x) encloses its value at a point")
    names = known if arguments.only is None else _chosen(arguments.only, [*closed, *known], "quantity")
    latex = {name: derivation.latex(name) for name in names}
    if arguments.out:
        body = "\n".join(f"\\[ {text} \\]" for text in latex.values())
        _write(Path(arguments.out), {"derivation.tex": body, "derivation.json": json.dumps(latex, indent=1)})
    if arguments.json:
        quantities = {name: {"latex": latex[name], "text": text_of(derivation.quantity(name))} for name in names}
        output.print_json({"problem": problem.name, "kind": problem.kind, "quantities": quantities})
    elif arguments.latex:
        output.line("\n\n".join(latex.values()))
    else:
        for name in names:
            text = text_of(derivation.quantity(name))
            if len(text) > LONGEST and arguments.only is None:
                text = f"{text[:LONGEST]} ...\n  ({len(text)} characters; --only {name} shows all of it)"
            output.line(f"{name} = {text}")
    return 0


def constants_command(arguments: argparse.Namespace) -> int:
    """Print the constants of a problem with where they come from."""
    from bilevel_verify.constants import constants

    problem = values.member_of(values.problem_of(arguments)[0])
    only = arguments.only.replace(",", " ").split() if arguments.only else None
    if arguments.nu is not None and not 0 <= arguments.nu <= 1:
        raise InputError(f"--nu: a Hoelder exponent lies in [0, 1], not {arguments.nu}")

    def compute(effort: float, only: list[str] | None = only) -> Mapping[str, Constant]:
        found: Mapping[str, Constant] = constants(
            problem, paper=arguments.paper or None, nu=arguments.nu, only=only, effort=effort
        )
        return found

    known = refined(compute, arguments.seconds or 0.0)
    found = known.records
    said = {} if known.interrupted else _certificates(known, arguments.certificates)
    for name, record in said.items():
        found[name.partition(" ")[0]]["certificate"] = record
    if arguments.out:
        texts = {
            "constants.json": json.dumps(found, indent=1, allow_nan=False),
            "constants.tex": constants_latex(found),
        }
        _write(Path(arguments.out), texts)
    if arguments.json:
        output.print_json({"problem": problem.name, "paper": arguments.paper, "constants": found})
    elif arguments.latex:
        output.line(constants_latex(found))
    else:
        closed = {name: str(known.tables[name][name].exact) for name in found if found[name].get("exact")}
        show(found, {name: text for name, text in closed.items() if not _plain(text)}, arguments.why)
        if said:
            from bilevel_verify.certificates.numbers.writing import lines_of

            output.line("\n".join(["", *lines_of(said, Path(arguments.certificates))]))
    if known.interrupted:
        raise KeyboardInterrupt  # what is known was said
    return 0


def _certificates(known: Refined, folder: str | None) -> dict[str, dict[str, object]]:
    """Certificates of the constants, written; nothing without a folder."""
    if folder is None:
        return {}
    from bilevel_verify.certificates.numbers.constants import certified_constant
    from bilevel_verify.certificates.numbers.writing import write_certificates
    from bilevel_verify.constants.api import Constants

    shown, problem = [], ""
    for name, table in known.tables.items():
        if not isinstance(table, Constants):
            raise InputError("--certificates: constants of a family depend on its letters; give one member")
        problem = table.problem.name
        if known.records[name]["value"] is not None:
            shown.append(certified_constant(table, name))
    return write_certificates(problem, shown, Path(folder))


def _plain(text: str) -> bool:
    """True for a closed form that says no more than its decimals."""
    return text in ("oo", "-oo") or text.lstrip("-").isdigit() or len(text) > 40


def _chosen(text: str | None, known: list[str], what: str) -> list[str]:
    if text is None:
        return known
    from bilevel_verify.language import nearest

    wanted = text.replace(",", " ").split()
    if not wanted:
        raise InputError(f"--only: name a {what}; there are {', '.join(known)}")
    for name in wanted:
        if name not in known:
            raise InputError(f"--only: no {what} {name!r}{nearest(name, known)}; there are {', '.join(known)}")
    return wanted


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None
