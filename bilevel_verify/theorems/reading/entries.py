"""Reading the numbered items of a card: statements with claims, inequalities, steps, derivations, algorithms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bilevel_verify.errors import CardError
from bilevel_verify.language import nearest
from bilevel_verify.theorems.algorithm import read_program
from bilevel_verify.theorems.card import (
    Algorithm,
    Derivation,
    Entry,
    Identity,
    Inequality,
    Statement,
    Step,
    TableRow,
)
from bilevel_verify.theorems.card_parts import ASSUMED_KINDS, SCOPES, Expression, Mark, Scope
from bilevel_verify.theorems.reading.claims import assumed_of, read_claim, refuted_of, relation_of, stale_origins
from bilevel_verify.theorems.reading.declarations import SIGNATURE, Context, Declarations, context_of, read_definitions
from bilevel_verify.theorems.reading.fields import Names, Table
from bilevel_verify.theorems.reading.from_print import DISPLAYS, display_of, read_value
from bilevel_verify.theorems.reading.written import expression


def _common(table: Table, kind: str, context: Context, names: Names, declared: Declarations) -> dict[str, Any]:
    """Fields that every entry has."""
    return {
        "kind": kind,
        "id": table.name("id"),
        "source": table.text("source"),
        "title": table.text("title"),
        "for_": context.for_,
        "where": context.conditions(table, "where", names),
        "added": context.conditions(table, "added", names),
        "narrowed": context.narrowed,
        "marks": (*_marks(table), *(context.added() if kind in ENTRY_READERS else ())),
        "define": context.define,
        "assumes": table.strings("assumes"),
        "printed": table.strings("printed"),
        "stated": table.strings("stated"),
        "text": table.text("text"),
        "refuted": refuted_of(table, declared),
        "assumed": assumed_of(table, kind in ASSUMED_KINDS),
        "drafted": table.flag("drafted"),
        "quantified": table.strings("quantified"),
        "same_as": table.strings("same_as"),
        "nothing_to_decide": table.text("nothing_to_decide"),
        "note": table.text("note"),
        "why": table.text("why"),
        "reading": table.text("reading"),
        "settings": table.strings("settings"),
        "parameters": read_definitions(table.table("parameters"), declared, table.place.at("parameters")),
    }


def _marks(table: Table) -> tuple[Mark, ...]:
    """The marks of an entry; one that is itself a named reading has that mark."""
    reading = table.text("reading")
    return (*table.marks(), *([Mark("reading", reading)] if reading else []))


def read_statement(table: Table, declared: Declarations, kind: str) -> Statement:
    """A theorem, lemma ... with its claims; also assumptions, definitions, proofs and tables."""
    claims = table.tables("claim")
    scopes: set[Scope] = {scope for scope in SCOPES if any(c.get("over") == scope for c in claims)}
    widest: Scope = max(scopes, key=SCOPES.index, default="point")
    names = declared.names("run" if widest in ("run", "order") else widest)
    if kind in PASSIVE and not scopes:
        names = declared.names("point")
    context = context_of(table, names)
    common = _common(table, kind, context, names, declared)
    found = Statement(
        **common,
        readings=table.strings("readings"),
        method=table.text("method"),
        algorithm=table.text("algorithm"),
        claims=tuple(
            read_claim(c, declared, table.place, context, number, common["assumed"]) for number, c in enumerate(claims)
        ),
        items=table.strings("items"),
        uses=table.strings("uses"),
    )
    seen: set[str] = set()
    for claim in found.claims:
        if claim.id in seen:
            raise table.place.fail(f'claim "{claim.id}" occurs twice; rename one of them')
        seen.add(claim.id)
    return found


PASSIVE = ("assumption", "definition", "proof", "table")


def _scalar_names(declared: Declarations) -> Names:
    names = declared.names("parameters")
    return names.plus(letters=declared.letters)


def read_inequality(table: Table, declared: Declarations, kind: str) -> Inequality:
    """Scalar links; run letters may be named as plain numbers (``k``, ``t``) through ``for``."""
    names = _scalar_names(declared)
    context = context_of(table, names)
    repaired = _repaired_entry(table, declared, kind, read_inequality)
    return Inequality(
        **_common(table, kind, context, names, declared), chain=relation_of(table, names, context), repaired=repaired
    )


def read_step(table: Table, declared: Declarations, kind: str) -> Step:
    """Vector links, linear in inner products."""
    vectors = table.strings("vectors")
    if not vectors:
        raise table.place.fail("the field 'vectors' is missing")
    names = _scalar_names(declared).plus(letters=vectors, functions={"norm", "dot"})
    context = context_of(table, names)
    repaired = _repaired_entry(table, declared, kind, read_step)
    return Step(
        **_common(table, kind, context, names, declared),
        vectors=vectors,
        chain=relation_of(table, names, context),
        repaired=repaired,
    )


def read_derivation(table: Table, declared: Declarations, kind: str) -> Derivation:
    """``result`` with ``substitute`` gives ``gives``."""
    substitute = table.table("substitute")
    names = _scalar_names(declared).plus(letters=substitute)
    context = context_of(table, names)
    regime = table.get("regime", "default")
    if isinstance(regime, str):
        if regime not in declared.regimes and regime != "default":
            raise table.place.at("regime").fail(f"unknown regime '{regime}'{nearest(regime, declared.regimes)}")
        conditions = declared.regimes.get(regime, ())
    else:
        conditions = context.conditions(table, "regime", names)
    return Derivation(
        **_common(table, kind, context, names, declared),
        result=context.expression(table.get("result"), table.place.at("result"), names),
        gives=_gives(table, context, names),
        substitute={
            key: context.expression(text, table.place.at("substitute", key), names) for key, text in substitute.items()
        },
        regime=conditions,
        premise=table.strings("premise"),
        dimensionless=table.flag("dimensionless"),
        free_of=table.strings("free_of"),
        repaired=_repaired_entry(table, declared, kind, read_derivation),
    )


def _gives(table: Table, context: Context, names: Names) -> Expression:
    """``gives``, or the last member of what is printed."""
    key, texts = display_of(table)
    if "gives" in table.data or len(texts) != 1:
        return context.expression(table.get("gives"), table.place.at("gives"), names)
    return read_value(key, texts[0], table.place, context.known(names))


def read_identity(table: Table, declared: Declarations, kind: str) -> Identity:
    """A printed formula and the object it claims to be, at points of the domain."""
    names = declared.names("point").plus(letters={"x", "y", "v"})
    context = context_of(table, names)
    return Identity(
        **_common(table, kind, context, names, declared),
        left=context.expression(table.get("left"), table.place.at("left"), names),
        right=context.expression(table.get("right"), table.place.at("right"), names),
        repaired=_repaired_entry(table, declared, kind, read_identity),
    )


def read_table_row(table: Table, declared: Declarations, kind: str) -> TableRow:
    """One row of a comparison table."""
    names = _scalar_names(declared)
    context = context_of(table, names)
    entries = table.table("entries")
    return TableRow(
        **_common(table, kind, context, names, declared),
        table=table.text("table", None),
        method=table.text("method", None),
        entries={k: context.expression(v, table.place.at("entries", k), names) for k, v in entries.items()},
        regime=declared.regimes.get("default", ()),
    )


def read_algorithm(table: Table, declared: Declarations, kind: str) -> Algorithm:
    """A pseudo-code, parsed into statements."""
    names = declared.names("run")
    context = context_of(table, names)
    steps = table.text("steps", None)
    try:
        program = read_program(steps)
    except CardError as error:
        raise table.place.at("steps").fail(str(error)) from None
    return Algorithm(
        **_common(table, kind, context, names, declared),
        inputs=table.strings("inputs"),
        steps=steps,
        program=program,
        called=table.text("called"),
        taken=_taken(table),
        families=_families(table, declared),
        outputs=table.strings("outputs"),
        functions=table.strings("functions"),
        supplied_by=table.strings("supplied_by"),
        method=table.text("method"),
        variant_of=table.text("variant_of"),
        literal=table.flag("literal", True),
    )


def _taken(table: Table) -> dict[str, str]:
    """Letters that no input of the paper names, each with the reason why a run takes it."""
    inner = Table(table.table("taken"), table.place.at("taken"))
    found = {name: inner.text(name) for name in inner.data}
    for name, why in found.items():
        if not why.strip():
            raise inner.place.at(name).fail("say why the run takes it although the paper does not name it as an input")
        if name in table.strings("inputs"):
            raise inner.place.at(name).fail("it is an input already; take it out here or there")
    return found


def _families(table: Table, declared: Declarations) -> dict[str, tuple[tuple[str, ...], Expression]]:
    """``"T(t, k)" = "T_m1 if k == -1 else T_k"``."""
    found: dict[str, tuple[tuple[str, ...], Expression]] = {}
    for key, text in table.table("families").items():
        place = table.place.at("families", key)
        signature = SIGNATURE.match(key)
        if signature is None:
            raise place.fail("write the indices of the sequence, as in 'T(t, k)'")
        indices = tuple(part.strip() for part in signature[2].split(",") if part.strip())
        found[signature[1]] = (indices, expression(text, place, declared.names("parameters").plus(letters=indices)))
    return found


def _repaired_entry(
    table: Table, declared: Declarations, kind: str, reader: Callable[[Table, Declarations, str], Entry]
) -> Entry | None:
    """The repaired form of an inequality, step, derivation or identity: a sibling with some fields replaced."""
    if "repaired" not in table.data:
        return None
    change = Table(table.table("repaired"), table.place.at("repaired"))
    written = not {"chain", "left", "result"}.isdisjoint((*table.data, *change.data))
    quoted = () if written else DISPLAYS
    dropped = {"repaired", "refuted", *DISPLAYS, "note", "link", *stale_origins(change.data)}.difference(quoted)
    base = {k: v for k, v in table.data.items() if k not in dropped}
    if "chain" in change.data or ("left" in change.data and kind != "identity"):
        base = {k: v for k, v in base.items() if k not in ("chain", "left", "right", "op")}
    merged = Table({**base, **{k: v for k, v in change.data.items() if k != "change"}}, change.place)
    found = reader(merged, declared, kind)
    merged.finish()
    if quoted and isinstance(found, Inequality | Step):  # read from the quotation of the entry, which is not its own
        bare = tuple(replace(link, printed="", stated="") for link in found.chain)
        found = replace(found, chain=bare, printed=(), stated=())
    text = change.text("change")
    return replace(found, reading=text, marks=(*found.marks, Mark("repaired", text or "the repaired form")))


ENTRY_READERS: dict[str, Callable[[Table, Declarations, str], Entry]] = {
    "algorithm": read_algorithm,
    "inequality": read_inequality,
    "step": read_step,
    "derivation": read_derivation,
    "identity": read_identity,
    "table_row": read_table_row,
}
