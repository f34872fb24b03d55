"""A drafted card as text: header, questions, letters, then statements and proofs in the order of the paper."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from bilevel_verify.drafting import toml_text
from bilevel_verify.drafting.document import Formula, Unit, plain_words, slug
from bilevel_verify.drafting.drafted import Drafted
from bilevel_verify.drafting.entries import Made
from bilevel_verify.drafting.scopes import NEW
from bilevel_verify.errors import InputError
from bilevel_verify.language import to_text
from bilevel_verify.latex import Entry, Notation
from bilevel_verify.latex.notation import GROUPS

LONGEST = 900_000
"""Characters of a card; what does not fit is left out and said to be."""
HEAD = """Drafted from {source}. What the paper prints was read by machine: read it against the paper.
An entry with `drafted = true` is never refuted at a point, because the text may restrict its letters in words;
take the line away when you have read the entry, its ranges (`for`, [letters]) and its hypotheses (`where`)."""


def card_text(draft: Drafted) -> str:
    """The card as TOML."""
    parts = [toml_text.table("[paper]", {"key": draft.key, "title": draft.document.title[:300]},
                             HEAD.format(source=draft.path.name))]  # fmt: skip
    parts += _draft_tables(draft)
    if draft.answers.base:
        parts.append(toml_text.table("[units]", draft.answers.base))
    parts.append(toml_text.table("[notation]", notation_table(draft.notation)))
    parts.append(_letters(draft))
    size = sum(map(len, parts))
    for number, (part, name) in enumerate(_entries(draft)):
        if size + len(part) > LONGEST:
            parts.append(f"# The card would be too large: what follows {name} (entry {number}) is left out.\n")
            break
        parts.append(part)
        size += len(part)
    return "\n".join(parts)


def _draft_tables(draft: Drafted) -> list[str]:
    fields: dict[str, Any] = {
        "source": draft.path.name,
        **draft.counts.record(),
    }
    parts = [toml_text.table("[draft]", fields)]
    for name, table in draft.answers.table().items():
        parts.append(toml_text.table(f"[draft.answers.{name}]", table))
    for question in draft.questions[:200]:
        asked = {"sort": question.sort, "about": question.about, "text": question.text, "where": question.where}
        parts.append(toml_text.table("[[draft.question]]", asked))
    for remark in draft.remarks[:500]:
        unread = {"where": str(remark.where), "reason": remark.reason, "message": remark.message[:300]}
        parts.append(toml_text.table("[[draft.unread]]", unread))
    for note in draft.notes[:300]:
        parts.append(
            toml_text.table("[[draft.note]]", {"entry": note.entry, "where": str(note.where), "text": note.text})
        )
    for symbol in draft.symbols[:600]:
        place = draft.places.get(symbol.entry.name)
        first = str(draft.document.text.where(symbol.first))
        entry = symbol.entry
        told: dict[str, Any] = {"latex": entry.display, "name": entry.name, "is": symbol.kind, "times": symbol.count}
        told["first"] = first
        if place is not None:
            told["introduced"] = f"{draft.reader.where(place.context.formula)}: {_words(place.context.before)}"
        parts.append(toml_text.table("[[draft.symbol]]", told))
    return parts


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
    return table | {group: " ".join(found) for group, found in words.items()} | {"open_minima": "wide"}


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
        lines.append(f"{toml_text.key(name)} = {toml_text.value(fields)}")
    meant = composer.store.names
    used = {n for m in composer.made for n in re.findall(r"[A-Za-z]\w*", " ".join(_texts(m)))}
    for key, name in meant.items():
        sort, _, text = key.partition(":")
        if sort != "vector" and name in used:
            whole = (
                {"domain": "[0, oo)", "domain_from": "a norm is not negative"} if sort == "size" else {"sign": "any"}
            )
            lines.append(f"{name} = {toml_text.value({**whole, 'meaning': text[:200]})}")
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


def _entries(draft: Drafted) -> list[tuple[str, str]]:
    """Statements, the links in them, proofs with their links: in the order of the paper."""
    by_unit: dict[int, list[Made]] = defaultdict(list)
    for made in draft.composer.made:
        by_unit[made.unit].append(made)
    ids = {m.id for m in draft.composer.made}
    found: list[tuple[str, str]] = []
    for number, unit in enumerate(draft.document.units):
        own = by_unit[number]
        if unit.is_statement or unit.kind in ("algorithm", "proof"):
            part = _unit(draft, number, unit, own, ids)
            if part is not None:
                found.append(part)
        for made in own:
            found.append((toml_text.table(f"[[{made.table}]]", made.fields), made.id))
    return found


def _unit(draft: Drafted, number: int, unit: Unit, own: list[Made], ids: set[str]) -> tuple[str, str] | None:
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
        return toml_text.table("[[proof]]", fields), name
    fields["text"] = _told(unit)
    if unit.is_statement:
        scope = draft.scopes.of(number)
        conditions = {to_text(h.node): h.origin for h in scope.hypotheses}
        known = set().union(*(m.letters for m in draft.composer.made)) | _conditions(
            draft.composer.made, draft.scopes.scalars
        )
        kept = {
            t: o for t, o in conditions.items() if set(re.findall(r"[A-Za-z]\w*", t)) & draft.scopes.scalars <= known
        }
        if kept:
            fields |= {"where": list(kept), "where_from": list(kept.values())}
    if formulas:
        fields["printed"] = formulas[:40]
    table = unit.kind if unit.kind != "algorithm" else "definition"
    return toml_text.table(f"[[{table}]]", fields), name


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
