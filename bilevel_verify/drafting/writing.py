"""A drafted card as text: header, questions, letters, then statements and proofs in the order of the paper."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from bilevel_verify.drafting.document import Formula, Unit, plain_words, slug
from bilevel_verify.drafting.drafted import Drafted
from bilevel_verify.drafting.entries import Made
from bilevel_verify.drafting.kinds import DRAFTED, Declared
from bilevel_verify.drafting.scopes import NEW
from bilevel_verify.errors import CardError, InputError
from bilevel_verify.language import to_text
from bilevel_verify.latex import Entry, Notation
from bilevel_verify.latex.notation import GROUPS
from bilevel_verify.theorems.card import Card, Inequality
from bilevel_verify.theorems.reading import toml_text
from bilevel_verify.theorems.reading.fields import Names, Place
from bilevel_verify.theorems.reading.from_print import read_links
from bilevel_verify.theorems.reading.reader import FORMULA, card_of
from bilevel_verify.theorems.reading.shortened import entry_text

LONGEST = 900_000
"""Characters of a card; what does not fit is left out and said to be."""
HEAD = """Drafted from {source}. What the paper prints was read by machine: read it against the paper.
A drafted entry is never refuted at a point, because the text may restrict its letters in words; write `drafted = false`
into an entry when you have read it, with its ranges and its hypotheses (`given`, [letters])."""
EVERY = {"drafted": True}
"""What all links of a draft have."""


def card_text(draft: Drafted) -> str:
    """The card as TOML, in the short form of cards; a chain stands there where its print alone does not say it."""
    head, entries = _head(draft), _entries(draft)
    text = "\n".join([*head, *entries.values()])
    made = {one.id: one for one in draft.composer.made}
    said = _said_by_print(card_of(text, draft.path.name, draft.path.with_suffix(".toml")))
    for name in said & entries.keys():
        fields = {key: one for key, one in made[name].fields.items() if key != "chain"}
        entries[name] = entry_text(made[name].table, fields, EVERY)
    return "\n".join([*head, *entries.values()])


def _said_by_print(card: Card) -> frozenset[str]:
    """Entries whose ``printed`` text is read as their chain, so that no chain need be written beside it."""
    found = set()
    place = Place(card.key, notation=card.notation)
    for entry in card.entries.values():
        if isinstance(entry, Inequality) and entry.printed and not entry.marks:
            letters = {*card.letters, *entry.for_, *entry.define}
            try:
                links = read_links("printed", entry.printed, place, Names(frozenset(letters), FORMULA))
            except CardError:
                continue
            if [(k.left, k.op, k.right) for k in links] == [(k.left, k.op, k.right) for k in entry.chain]:
                found.add(entry.id)
    return frozenset(found)


def _head(draft: Drafted) -> list[str]:
    """All that stands before the entries."""
    parts = [toml_text.table("[paper]", {"key": draft.key, "title": draft.document.title[:300]},
                             HEAD.format(source=draft.path.name))]  # fmt: skip
    parts += _draft_tables(draft)
    if draft.answers.base:
        parts.append(toml_text.table("[units]", draft.answers.base))
    parts.append(toml_text.table("[notation]", notation_table(draft.notation)))
    parts.append(_letters(draft))
    kinds = sorted({made.table for made in draft.composer.made} | {"algorithm" for a in draft.algorithms if a.text})
    return parts + [toml_text.table(f"[every.{kind}]", EVERY) for kind in kinds]


def _draft_tables(draft: Drafted) -> list[str]:
    fields: dict[str, Any] = {
        "source": draft.path.name,
        **draft.counts.record(),
    }
    fields["question"] = [
        {"sort": one.sort, "about": one.about, "text": one.text, "where": one.where} for one in draft.questions[:200]
    ]
    fields["unread"] = [
        {"where": str(one.where), "reason": one.reason, "message": one.message[:300]} for one in draft.remarks[:500]
    ]
    fields["note"] = [{"entry": one.entry, "where": str(one.where), "text": one.text} for one in draft.notes[:300]]
    fields["symbol"] = [_symbol(draft, one) for one in draft.symbols[:600]]
    listed = ("question", "unread", "note", "symbol")
    parts = [toml_text.table("[draft]", {name: one for name, one in fields.items() if one or name not in listed})]
    return parts + [toml_text.table(f"[draft.answers.{name}]", one) for name, one in draft.answers.table().items()]


def _symbol(draft: Drafted, symbol: Declared) -> dict[str, Any]:
    """What is known of a symbol: how it is printed and taken, where it stands first and where it is introduced."""
    entry, place = symbol.entry, draft.places.get(symbol.entry.name)
    told: dict[str, Any] = {"latex": entry.display, "name": entry.name, "is": symbol.kind, "times": symbol.count}
    told["first"] = str(draft.document.text.where(symbol.first))
    if place is not None:
        told["introduced"] = f"{draft.reader.where(place.context.formula)}: {_words(place.context.before)}"
    return told


def _words(text: str) -> str:
    words = " ".join(text.replace("\x01", "$").split())
    found = list(NEW.finditer(words))
    start = found[-1].start() if found else max(len(words) - 60, 0)
    return words[start:][:80]


def notation_table(notation: Notation) -> dict[str, str]:
    """The notation as a card writes it; symbols that cannot be written in one word are left out."""
    groups: dict[tuple[str, str], str] = {pair: group for group, pair in GROUPS.items()}
    words: dict[str, list[str]] = defaultdict(list)
    for entry in notation.entries:
        group = groups.get((entry.role, entry.kind))
        word = _declaration(entry)
        if group and word and entry.display not in notation.indices:
            try:
                Notation.from_table({group: word})
            except InputError:
                continue
            words[group].append(word)
    table = {"indices": " ".join(sorted(notation.indices & set("ijklmnpqrst")))}
    return table | {group: " ".join(found) for group, found in words.items()} | DRAFTED


def _declaration(entry: Entry) -> str:
    if re.search(r"[\s=:]", entry.display):
        return ""
    flags = f":{','.join(sorted(entry.flags))}" if entry.flags else ""
    return f"{entry.display}={entry.name}{flags}"


def _letters(draft: Drafted) -> str:
    """Every letter of the entries, with its range where the paper or the author gives one."""
    composer = draft.composer
    wanted = sorted(
        set().union(*(m.letters for m in composer.made)) | _conditions(composer.made, composer.scopes.scalars)
    )
    displays = {e.name: e.display for e in reversed(draft.notation.entries) if e.role == "letter"}
    lines = ["[letters]"]
    for name in wanted:
        fields: dict[str, Any] = {}
        if draft.answers.base:
            fields["unit"] = draft.answers.units.get(name, "1" if name in composer.running else "")
            if not fields["unit"]:
                del fields["unit"]
        span = composer.scopes.standing.get(name)
        if name in draft.answers.ranges:
            fields |= {"domain": draft.answers.ranges[name], "domain_from": "the author's answer"}
        elif span is not None:
            unit = draft.document.units[span.units[0]]
            fields |= {
                "domain": span.text(name in composer.running),
                "domain_from": span.origin(unit.name or unit.section or "text"),
            }
        else:
            fields["sign"] = "any"
        if name in displays:
            fields["display"] = displays[name]
        lines.append(toml_text.field(toml_text.key(name), fields))
    meant = composer.store.names
    used = {n for m in composer.made for n in re.findall(r"[A-Za-z]\w*", " ".join(_texts(m)))}
    for key, name in meant.items():
        sort, _, text = key.partition(":")
        if sort != "vector" and name in used:
            whole = (
                {"domain": "[0, oo)", "domain_from": "a norm is not negative"} if sort == "size" else {"sign": "any"}
            )
            lines.append(toml_text.field(name, {**whole, "meaning": text[:200]}))
    return "\n".join(lines) + "\n"


def _texts(made: Made) -> list[str]:
    fields = made.fields
    return [*fields.get("chain", ()), fields.get("result", ""), fields.get("gives", "")]


def _conditions(made: list[Made], scalars: frozenset[str]) -> set[str]:
    """Letters that only hypotheses, definitions and ranges mention."""
    found: set[str] = set()
    for one in made:
        texts = [*one.fields.get("where", ()), *one.fields.get("define", {}).values(), *one.fields.get("define", {})]
        texts += [
            *one.fields.get("for", {}),
            *one.fields.get("substitute", {}),
            *one.fields.get("substitute", {}).values(),
        ]
        found |= set(re.findall(r"[A-Za-z]\w*", " ".join(texts))) & scalars
    return found


def _entries(draft: Drafted) -> dict[str, str]:
    """Statements and links in them, proofs with their links, by their ids: in the order of the paper, if they fit."""
    by_unit: dict[int, list[Made]] = defaultdict(list)
    for made in draft.composer.made:
        by_unit[made.unit].append(made)
    ids = {m.id for m in draft.composer.made}
    known = _conditions(draft.composer.made, draft.scopes.scalars).union(*(m.letters for m in draft.composer.made))
    found: dict[str, str] = {}
    size = 0
    for number, unit in enumerate(draft.document.units):
        own = by_unit[number]
        parts = [(entry_text(made.table, made.fields, EVERY), made.id) for made in own]
        if unit.is_statement or unit.kind in ("algorithm", "proof"):
            whole = _unit(draft, number, unit, own, ids, known)
            parts = [whole, *parts] if whole is not None else parts
        for text, name in parts:
            if size + len(text) > LONGEST:
                left_out = f"# The card would be too large: what follows entry {len(found)} is left out.\n"
                return found | {"": left_out}
            found[name] = text
            size += len(text)
    return found


def _unit(
    draft: Drafted, number: int, unit: Unit, own: list[Made], ids: set[str], known: set[str]
) -> tuple[str, str] | None:
    if unit.kind == "proof" and not own:
        return None
    of = f"proof of {unit.of}" if unit.of else "proof"
    name = _new(slug(of if unit.kind == "proof" else unit.name or unit.kind), ids)
    where = draft.document.text.where(unit.at)
    fields: dict[str, Any] = {"id": name, "source": f"{unit.name or of}, {where}"}
    if unit.title:
        fields["title"] = " ".join(unit.title.split())[:200]
    formulas = [f.clean.strip() for f in unit.formulas() if f.display]
    if unit.kind == "proof":
        fields["items"] = [m.id for m in own]
        return entry_text("proof", fields, {}), name
    steps = next((a for a in draft.algorithms if a.unit == number and a.text), None)
    if steps is not None:
        fields |= {"drafted": True, "inputs": list(steps.inputs), "steps": steps.text}
        return entry_text("algorithm", fields | ({"taken": steps.taken} if steps.taken else {}), EVERY), name
    fields["text"] = _told(unit)
    if unit.is_statement:
        scope = draft.scopes.of(number)
        conditions = {to_text(h.node): h.origin for h in scope.hypotheses}
        kept = {
            t: o for t, o in conditions.items() if set(re.findall(r"[A-Za-z]\w*", t)) & draft.scopes.scalars <= known
        }
        if kept:
            fields |= {"where": list(kept), "where_from": list(kept.values())}
    if formulas:
        fields["printed"] = formulas[:40]
    table = unit.kind if unit.kind != "algorithm" else "definition"
    return entry_text(table, fields, {}), name


def _new(name: str, ids: set[str]) -> str:
    wanted, number = name, 1
    while wanted in ids:
        number += 1
        wanted = f"{name}-{number}"
    ids.add(wanted)
    return wanted


def _told(unit: Unit) -> str:
    """The words of a statement with its formulas, shortened."""
    parts = [f"${p.clean.strip()}$" if isinstance(p, Formula) else plain_words(p.text) for p in unit.parts]
    text = " ".join(" ".join(parts).split())
    return text if len(text) <= 1_200 else f"{text[:1_197]}..."
