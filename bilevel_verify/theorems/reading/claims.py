"""Reading the relations of a card: claims with their readings and repairs, links, what is on record as refuted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bilevel_verify.language import nearest
from bilevel_verify.theorems.card import (
    NEVER,
    Claim,
)
from bilevel_verify.theorems.card_parts import SCOPES, Link, Mark, Refuted, Scope
from bilevel_verify.theorems.reading.declarations import Context, Declarations, context_of
from bilevel_verify.theorems.reading.fields import MARK_FIELDS, Names, Place, Table, displayed
from bilevel_verify.theorems.reading.from_print import display_of


def refuted_of(table: Table, declared: Declarations) -> Refuted | None:
    if "refuted" not in table.data:
        return None
    inner = Table(table.table("refuted"), table.place.at("refuted"))
    letters = inner.table("set")
    for name, value in letters.items():
        if name not in declared.letters:
            raise inner.place.at("set").fail(f"unknown letter '{name}'{nearest(name, declared.letters)}")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise inner.place.at("set", name).fail("expected a number")
    found = Refuted(
        inner.text("since"),
        inner.text("why"),
        inner.text("at"),
        inner.table("on") if isinstance(inner.data.get("on"), dict) else inner.text("on"),
        inner.numbers("eps"),
        inner.numbers("x0"),
        letters,
        _digits(inner),
        inner.text("never"),
    )
    if found.never and found.never not in NEVER:
        raise inner.place.at("never").fail(f"expected one of {', '.join(NEVER)}, not {found.never!r}")
    if found.never and found.on:
        raise inner.place.at("never").fail("'on' gives an instance and 'never' says that there is none; keep one")
    inner.finish()
    return found


def _digits(table: Table) -> int:
    """The digits of a recorded run; 0 stands for those of float64."""
    found = table.get("digits", 0)
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise table.place.at("digits").fail("expected a whole number of digits")
    return found


def assumed_of(table: Table, usual: bool) -> bool:
    """Whether the paper assumes it: then no refutation can be recorded."""
    found = table.flag("assumed", usual)
    if found and "refuted" in table.data:
        raise table.place.at("refuted").fail(
            "an assumption claims nothing that could be refuted; if the paper claims it, write assumed = false"
        )
    return found


def read_claim(
    data: Mapping[str, object], declared: Declarations, place: Place, parent: Context, number: int, assumed: bool
) -> Claim:
    """One claim with its readings and its repaired form; ``assumed`` is the rule of its entry."""
    table = Table(data, place)
    identity = table.name("id") if "id" in table.data else str(number + 1)
    table.place = place.at(f'claim "{identity}"')
    over = table.text("over", None)
    if over not in SCOPES:
        raise table.place.at("over").fail(f"unknown scope '{over}'{nearest(over, SCOPES)}")
    claim = _claim_body(table, declared, parent, identity, over, assumed)
    readings = tuple(
        _variant(Table(r, table.place.at("reading")), declared, parent, claim, data) for r in table.tables("reading")
    )
    repaired = None
    if "repaired" in data:
        repaired = _variant(Table(table.table("repaired"), table.place.at("repaired")), declared, parent, claim, data)
    table.finish()
    return replace(claim, readings=readings, repaired=repaired)


def _claim_body(
    table: Table, declared: Declarations, parent: Context, identity: str, over: Scope, assumed: bool
) -> Claim:
    names = declared.names(over)
    context = context_of(table, names, parent)
    probability = table.get("probability")
    chain, where = relation_of(table, names, context), context.conditions(table, "where", names)
    added = context.added(side.tree for side in (*(s for link in chain for s in (link.left, link.right)), *where))
    return Claim(
        id=identity,
        over=over,
        chain=chain,
        for_=context.for_,
        where=where,
        added=context.conditions(table, "added", names),
        narrowed=context.narrowed,
        marks=(*table.marks(), *added),
        as_printed=not added and not (table.data.keys() & MARK_FIELDS.keys()),
        define=context.define,
        source=table.text("source"),
        printed=table.strings("printed"),
        stated=table.strings("stated"),
        refuted=refuted_of(table, declared),
        same_as=table.strings("same_as"),
        counted=table.strings("counted"),
        points=tuple(context.expression(p, table.place.at("points"), names) for p in table.strings("points")),
        probability=None if probability is None else context.expression(probability, table.place, names),
        fit=table.text("fit"),
        given_by=table.strings("given_by"),
        assumed=assumed_of(table, assumed),
        note=table.text("note"),
        why=table.text("why"),
    )


def relation_of(table: Table, names: Names, context: Context) -> tuple[Link, ...]:
    """``left``/``op``/``right`` or ``chain``, with its displays and marks."""
    return displayed(_links(table, names, context), table)


def _links(table: Table, names: Names, context: Context) -> tuple[Link, ...]:
    if "chain" in table.data:
        for key in ("left", "right", "op"):
            if key in table.data:
                raise table.place.fail(f"'chain' and '{key}' exclude each other")
        return context.chain(table.strings("chain"), table.place, names)
    key, texts = display_of(table)
    if key and not table.data.keys() & {"left", "right", "op"}:
        return context.printed(key, texts, table.place, names)
    for key in ("left", "right"):
        if key not in table.data:
            raise table.place.fail(f"the field '{key}' is missing (or write a chain)")
    operator = table.text("op", "<=")
    if operator not in ("<=", "<", "==", ">=", ">"):
        raise table.place.at("op").fail(f"'{operator}' is not one of <= < == >= >")
    left = context.expression(table.get("left"), table.place.at("left"), names)
    right = context.expression(table.get("right"), table.place.at("right"), names)
    return (Link(left, operator, right),)


def _variant(table: Table, declared: Declarations, parent: Context, claim: Claim, base: Mapping[str, object]) -> Claim:
    """A reading or a repaired form: the claim with some fields replaced."""
    own = {"change", "why", "name", "label", "literal", "since"}
    dropped = ("repaired", "reading", "refuted", "note", "link", *stale_origins(table.data))
    merged = {k: v for k, v in base.items() if k not in dropped}
    relation = {"chain", "left", "right", "op"} & table.data.keys()
    if "chain" in relation or ("chain" in merged and relation):
        merged = {k: v for k, v in merged.items() if k not in ("left", "right", "op", "chain")}
    merged |= {k: v for k, v in table.data.items() if k not in own}
    label = table.text("label") or table.text("name")
    if label in declared.readings:
        label = declared.readings[label].label
    inner = Table(merged, table.place)
    inner.asked |= {"id", "over", "claim"}
    over = merged.get("over", claim.over)
    if over not in SCOPES:
        raise table.place.at("over").fail(f"unknown scope '{over}'{nearest(str(over), SCOPES)}")
    body = _claim_body(inner, declared, parent, claim.id, over, claim.assumed)
    inner.finish()
    change = table.text("change")
    mark = (
        Mark("repaired", change or "the repaired form")
        if table.place.parts[-1] == "repaired"
        else Mark("reading", label)
    )
    return replace(
        body,
        marks=(*body.marks, mark),
        reading=label,
        literal=table.flag("literal"),
        change=change,
        why=table.text("why"),
        as_printed=False,
    )


def stale_origins(changed: Mapping[str, object]) -> list[str]:
    """Places that belong to hypotheses and ranges which the changed form replaces."""
    return [
        f"{key}_from" for key in ("where", "for", "regime", "define") if key in changed and f"{key}_from" not in changed
    ]
