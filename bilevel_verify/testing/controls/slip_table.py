"""The table of slips: one mutant after another, each kept as soon as it is judged, shown where readers look.

A run is cut into slices: ``slips.jsonl`` begins with what all its verdicts share (seed, numbers of examples, a
fingerprint of the code that judges); the same command goes on behind the last line, and begins anew if any of it
changed. ``slips.md`` and the table of docs/testing.md are made from that file and from nothing else.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bilevel_verify import testing
from bilevel_verify.testing.controls.mutants import MUTATED, POOL, Verdict, judged, sample
from bilevel_verify.testing.printed.library import printed
from bilevel_verify.testing.trials.contracts import QUICK, THOROUGH, Profile

DATA, PAGE = "slips.jsonl", "slips.md"
BEGIN, END = "<!-- slips: written by the command, not by hand -->\n", "<!-- slips end -->\n"
JUDGES = (
    *(f"printed/{name}" for name in "cases comparing drawing guilt oracles order products running slips".split()),
    *(f"instances/{name}" for name in ("blocks", "counting", "data_sums", "decoding", "families", "ridges", "simple")),
    "assertions/same_lines",
    "controls/mutants",
)
"""Modules whose change makes older verdicts worthless, beside the pseudo-code itself."""
HEAD = "| | mutants | stillborn | equivalent | real | caught, quick | caught, thorough | missed |"


@dataclass(frozen=True)
class Plan:
    """What all verdicts of a run share: how many slips of which seed, examples of both profiles and of survivors."""

    count: int
    seed: int
    quick: int = QUICK.examples
    thorough: int = 120
    pool: int = POOL

    @property
    def profiles(self) -> tuple[Profile, Profile]:
        """Quick as it is; of thorough its first examples (what they catch, all of them catch)."""
        return Profile("quick", self.quick), Profile("thorough", min(self.thorough, THOROUGH.examples))


@dataclass(frozen=True)
class Kept:
    """A verdict as a line of the file."""

    name: str
    method: str
    operator: str
    kind: str
    caught: str
    why: str

    @classmethod
    def of(cls, verdict: Verdict) -> Kept:
        """The line of a verdict."""
        slip = verdict.slip
        return cls(slip.name, slip.printed.method, slip.operator, verdict.kind, verdict.caught, verdict.why)


def fingerprint() -> str:
    """Of the code that judges a slip and of the pseudo-code that gets slips."""
    home, found = Path(testing.__file__).parent, hashlib.sha256()
    for name in JUDGES:
        found.update((home / f"{name}.py").read_bytes())
    found.update((home / "instances/guilty.toml").read_bytes())
    for method in MUTATED:
        source = printed(method)
        assert source is not None
        texts = [source.algorithm.steps, *(source.library[name].steps for name in sorted(source.library))]
        found.update("\n".join(texts).encode())
    return found.hexdigest()[:16]


def judge_all(plan: Plan, data: Path, minutes: float, say: Callable[[str], None]) -> list[Kept]:
    """The verdicts so far; those of an earlier slice are read, further ones made until the minutes are over."""
    head: dict[str, Any] = {**asdict(plan), "code": fingerprint()}
    kept = read(data, head)
    if not kept:
        data.parent.mkdir(parents=True, exist_ok=True)
        data.write_text(json.dumps(head) + "\n", encoding="utf8")
    slips, until = sample(plan.count, plan.seed), time.monotonic() + 60 * minutes
    with data.open("a", encoding="utf8") as file:
        for slip in slips[len(kept) :]:
            if time.monotonic() > until:
                break
            kept.append(Kept.of(judged(slip, plan.seed, plan.profiles, plan.pool)))
            file.write(json.dumps(asdict(kept[-1])) + "\n")
            file.flush()
            if kept[-1].caught != "quick" and kept[-1].kind != "stillborn":
                say(f"slips: {kept[-1].name}: {kept[-1].kind}, {kept[-1].caught or '-'}: {kept[-1].why}")
    say(f"slips: {len(kept)} of {len(slips)} judged{'' if len(kept) == len(slips) else '; the same command goes on'}")
    return kept


def read(data: Path, head: dict[str, object] | None = None) -> list[Kept]:
    """The verdicts of a file; none if it is absent or its head is another one than asked for."""
    if not data.exists():
        return []
    first, *rest = data.read_text(encoding="utf8").splitlines()
    return [] if head is not None and json.loads(first) != head else [Kept(**json.loads(line)) for line in rest]


def write(data: Path, docs: Path | None = None) -> list[str]:
    """``slips.md`` beside the data, and the table between the two marks of a document; the table's lines."""
    head, kept = json.loads(data.read_text(encoding="utf8").partition("\n")[0]), read(data)
    lines = table(kept, "method")
    (data.parent / PAGE).write_text("\n".join(_page(head, kept, lines)) + "\n", encoding="utf8")
    if docs is not None:
        before, _, rest = docs.read_text(encoding="utf8").partition(BEGIN)
        docs.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.partition(END)[2], encoding="utf8")
    return lines


def table(kept: Sequence[Kept], by: str) -> list[str]:
    """Markdown: one row a method or an operator (``by``), and one for all."""
    groups: dict[str, list[Kept]] = {}
    for one in kept if by == "method" else sorted(kept, key=lambda k: k.operator):
        groups.setdefault(getattr(one, by), []).append(one)
    return [HEAD, f"|{'---|' * 8}", *(_row(name, group) for name, group in groups.items()), _row("**all**", kept)]


def _row(name: str, group: Sequence[Kept]) -> str:
    kinds, caught = Counter(k.kind for k in group), Counter(k.caught for k in group if k.kind == "real")
    numbers = [len(group), *(kinds[kind] for kind in ("stillborn", "equivalent", "real"))]
    numbers += [caught["quick"], caught["quick"] + caught["thorough"], caught[""]]
    return f"| {name} | {' | '.join(map(str, numbers))} |"


def _page(head: dict[str, object], kept: Sequence[Kept], lines: Sequence[str]) -> list[str]:
    late = [k for k in kept if k.kind == "real" and k.caught != "quick"]
    return [
        "# Slips",
        "",
        "Pseudo-code of named methods with one slip each, handed to `assert_same_iterates` as solvers; written by",
        f"`python -m bilevel_verify.testing --part slips --count {head['count']} --seed {head['seed']}` from one file",
        f"of verdicts of one state of the code ({DATA}). quick: {head['quick']} examples; thorough: the first",
        f"{head['thorough']} of its {THOROUGH.examples}; survivors: {head['pool']} further ones of another seed.",
        "*Stillborn*: does not run (reads what was never made, mixes shapes). *Equivalent*: the same iterates, output",
        "and calls on every example, and a reason why it must be so; without a reason it counts as missed.",
        "",
        *lines,
        "",
        "## By operator",
        "",
        *table(kept, "operator"),
        "",
        "## Equivalent, with the reason",
        "",
        *(f"* {k.name}: {k.why}" for k in kept if k.kind == "equivalent"),
        "",
        "## Real, not caught by the quick profile",
        "",
        *(f"* {k.name}: {f'{k.caught}: ' if k.caught else 'missed: '}{k.why}" for k in late),
    ]
