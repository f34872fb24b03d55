"""Reading the numbered items of a card: statements with claims, inequalities, steps, derivations, algorithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bilevel_verify.errors import CardError
from bilevel_verify.language import nearest
from bilevel_verify.theorems.algorithm import read_program
from bilevel_verify.theorems.card import (
    NEVER,
    Algorithm,
    Claim,
    Derivation,
    Entry,
    Identity,
    Inequality,
    Statement,
    Step,
    TableRow,
)
from bilevel_verify.theorems.card_parts import ASSUMED_KINDS, SCOPES, Expression, Link, Mark, Refuted, Scope
from bilevel_verify.theorems.reading.declarations import SIGNATURE, Context, Declarations, context_of, read_definitions
from bilevel_verify.theorems.reading.fields import MARK_FIELDS, Names, Place, Table, displayed, expression
from bilevel_verify.theorems.reading.from_print import DISPLAYS, display_of, read_value


def _refuted(table: Table, declared: Declarations) -> Refuted | None:
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


def _assumed(table: Table, usual: bool) -> bool:
    """Whether the paper assumes it: then no refutation can be recorded."""
    found = table.flag("assumed", usual)
    if found and "refuted" in table.data:
        raise table.place.at("refuted").fail(
            "an assumption claims nothing that could be refuted; if the paper claims it, write assumed = false"
        )
    return found


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
        "refuted": _refuted(table, declared),
        "assumed": _assumed(table, kind in ASSUMED_KINDS),
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
    chain, where = _relation(table, names, context), context.conditions(table, "where", names)
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
        refuted=_refuted(table, declared),
        same_as=table.strings("same_as"),
        counted=table.strings("counted"),
        points=tuple(context.expression(p, table.place.at("points"), names) for p in table.strings("points")),
        probability=None if probability is None else context.expression(probability, table.place, names),
        fit=table.text("fit"),
        given_by=table.strings("given_by"),
        assumed=_assumed(table, assumed),
        note=table.text("note"),
        why=table.text("why"),
    )


def _relation(table: Table, names: Names, context: Context) -> tuple[Link, ...]:
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
    dropped = ("repaired", "reading", "refuted", "note", "link", *_stale_origins(table.data))
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


def _scalar_names(declared: Declarations) -> Names:
    names = declared.names("parameters")
    return names.plus(letters=declared.letters)


def read_inequality(table: Table, declared: Declarations, kind: str) -> Inequality:
    """Scalar links; run letters may be named as plain numbers (``k``, ``t``) through ``for``."""
    names = _scalar_names(declared)
    context = context_of(table, names)
    repaired = _repaired_entry(table, declared, kind, read_inequality)
    return Inequality(
        **_common(table, kind, context, names, declared), chain=_relation(table, names, context), repaired=repaired
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
        chain=_relation(table, names, context),
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
    dropped = {"repaired", "refuted", *DISPLAYS, "note", "link", *_stale_origins(change.data)}.difference(quoted)
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


def _stale_origins(changed: Mapping[str, object]) -> list[str]:
    """Places that belong to hypotheses and ranges which the changed form replaces."""
    return [
        f"{key}_from" for key in ("where", "for", "regime", "define") if key in changed and f"{key}_from" not in changed
    ]


ENTRY_READERS: dict[str, Callable[[Table, Declarations, str], Entry]] = {
    "algorithm": read_algorithm,
    "inequality": read_inequality,
    "step": read_step,
    "derivation": read_derivation,
    "identity": read_identity,
    "table_row": read_table_row,
}
