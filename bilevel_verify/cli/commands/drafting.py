"""``draft``: a card from a paper's source; and the papers that ``audit`` is given in place of cards."""

from __future__ import annotations

import argparse
import atexit
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bilevel_verify.cli import output
from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from bilevel_verify.drafting import Answers, Draft, Question

PAPERS = (".tex", ".ltx", ".md", ".markdown")
SHOWN = 12
"""Lines of each sort that are shown on a terminal; the card holds all."""


def is_paper(name: str) -> bool:
    """Whether a name is that of a paper's source and not of a card."""
    return Path(name).suffix.lower() in PAPERS


def draft_command(arguments: argparse.Namespace) -> int:
    """Draft a card, ask the author if there is one, write the card."""
    from bilevel_verify.drafting import draft, read_answers

    answers = read_answers(Path(arguments.answers) if arguments.answers else None)
    found = draft(arguments.paper, answers)
    if sys.stdin.isatty() and not arguments.json and not arguments.answers:
        asked = ask(found.questions, answers)
        found = draft(arguments.paper, asked) if asked != answers else found
    target = Path(arguments.out or f"{Path(arguments.paper).stem}.draft.toml")
    _write(target, found)
    if arguments.json:
        output.print_json(_record(found, target))
    else:
        show(found, target)
    return 0


def ask(questions: Sequence[Question], answers: Answers, read: Callable[[str], str] = input) -> Answers:
    """Ask on the terminal, the most wanted questions first; an empty line passes on, a full stop ends."""
    open_ = [q for q in questions if q.sort in ("kind", "range")][:30]
    for number, question in enumerate(open_, 1):
        hint = "number, vector, matrix, function, set" if question.sort == "kind" else "(0, oo), [0, 1], integers 1.."
        while True:
            try:
                text = read(f"{number}/{len(open_)} {question.where}: {question.text} [{hint}] ").strip()
            except EOFError:
                return answers
            if text == ".":
                return answers
            if not text:
                break
            try:
                answers = answers.with_answer(question.sort, question.about, text)
                break
            except InputError as error:
                output.say(str(error))
    return answers


def show(draft: Draft, target: Path) -> None:
    """What was drafted, what could not be read, and what is asked."""
    for title, lines in (
        ("not read", [str(remark) for remark in draft.remarks]),
        ("noted", [f"{note.where}: {note.text}" for note in draft.notes]),
        ("asked", [f"{q.where}: {q.text}" for q in draft.questions]),
    ):
        for line in lines[:SHOWN]:
            output.show(f"{title}: {line}")
        if len(lines) > SHOWN:
            output.show(f"{title}: {len(lines) - SHOWN} more in the card")
    output.show(str(draft.counts))
    output.show(f"card: {target}")
    output.show(f"next: {shlex.join(['bilevel-verify', 'audit', str(target)])}")


def _record(draft: Draft, target: Path) -> dict[str, object]:
    return {
        "card": str(target),
        **draft.counts.record(),
        "remarks": [{"where": str(r.where), "reason": r.reason, "message": r.message} for r in draft.remarks],
        "notes": [{"entry": n.entry, "where": str(n.where), "text": n.text} for n in draft.notes],
        "questions": [{"sort": q.sort, "about": q.about, "text": q.text, "where": q.where} for q in draft.questions],
    }


def _write(target: Path, draft: Draft) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(draft.text(), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target}: {error.strerror or error}: choose another --out file") from None


def drafted_cards(papers: Sequence[str], out: str | None, answers: str | None) -> tuple[list[str], dict[str, Draft]]:
    """The same list with a card drafted for every paper in it, and the drafts by the key of their card.

    The cards stay in ``out``, or in a temporary folder.
    """
    from bilevel_verify.drafting import draft, read_answers

    if not any(is_paper(name) for name in papers):
        if answers:
            raise InputError("--answers: there is no paper (.tex or .md) to be answered for")
        return list(papers), {}
    said = read_answers(Path(answers) if answers else None)
    folder = Path(out) if out else _passing()
    found: list[str] = []
    drafts: dict[str, Draft] = {}
    for name in papers:
        if not is_paper(name):
            found.append(name)
            continue
        made = draft(name, said)
        target = folder / f"{made.key}.draft.toml"
        _write(target, made)
        for remark in made.remarks[:SHOWN]:
            output.say(f"not read: {remark}")
        if len(made.remarks) > SHOWN:
            output.say(f"not read: {len(made.remarks) - SHOWN} more in the card")
        kept = f"card: {target}" if out else f"its card: {shlex.join(['bilevel-verify', 'draft', name])}"
        output.say(f"{made.counts}; {kept}")
        found.append(str(target))
        drafts[made.key] = made
    return found, drafts


def _passing() -> Path:
    """A folder for the cards of this process alone."""
    folder = Path(tempfile.mkdtemp(prefix="bilevel-verify-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
