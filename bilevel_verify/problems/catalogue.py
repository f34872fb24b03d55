"""The zoo: test problems with known constants, answers and difficulty, one TOML file each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, overload

from bilevel_verify.errors import ProblemError
from bilevel_verify.language import nearest
from bilevel_verify.problems.family import ProblemFamily
from bilevel_verify.problems.files import from_spec, read_toml
from bilevel_verify.problems.problem import Kind, Problem

FOLDER = Path(__file__).parent / "zoo"


@dataclass(frozen=True, slots=True)
class Control:
    """A negative control: the verdict that a checker must give, and why."""

    verdict: Literal["not applicable", "undecided"]
    because: str
    hypothesis: str


@dataclass(frozen=True, slots=True)
class ProblemRecord:
    """One entry of the zoo, before its formulas are read.

    Attributes
    ----------
    name : key for :func:`zoo`.
    kind, title, latex, source, note : for the reader; ``title`` may contain LaTeX between dollar signs.
    tags : number in the zoo (``H3``), and words such as ``hard``, ``saddle``, ``negative control``.
    promises : keys of the papers whose theorems the entry serves.
    knobs : name -> default.
    known : constants, minima and solutions as stated (texts over the knobs); claims, verified by the tests.
    control : set for negative controls.
    extra : optional dependency that the entry needs (``data``), or "".
    """

    name: str
    kind: Kind
    title: str
    source: str
    latex: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()
    knobs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    known: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    control: Control | None = None
    extra: str = ""

    def load(self, **knobs: object) -> Problem | ProblemFamily:
        """The problem, or a family if knobs are texts over eps, kappa, d, nu."""
        return _load(self.name, knobs)

    def __str__(self) -> str:
        knobs = ", ".join(f"{k}={v}" for k, v in self.knobs.items())
        return f"{self.name}({knobs}) [{self.kind}] {self.title}"


@overload
def zoo() -> list[ProblemRecord]: ...
@overload
def zoo(name: str, **knobs: object) -> Any: ...
def zoo(name: str | None = None, **knobs: object) -> Problem | ProblemFamily | list[ProblemRecord]:
    """The records of all entries, or one entry by name.

    Parameters
    ----------
    name : None for the list. Case does not matter; ``ramp``, ``double-well``, or the zoo's own number such as ``S1``
        where it is unique.
    knobs : numbers, or texts over eps, kappa, d, nu; a text makes it a
        :class:`~bilevel_verify.problems.family.ProblemFamily`.

    Raises
    ------
    ProblemError : unknown entry or knob, with the nearest known name.
    """
    if name is None:
        return list(records().values())
    return _load(_resolve(name), knobs)


def record(name: str) -> ProblemRecord:
    """The record of one entry."""
    return records()[_resolve(name)]


@cache
def names() -> frozenset[str]:
    """The names of all entries."""
    return frozenset(path.stem for path in FOLDER.glob("*.toml"))


@lru_cache(maxsize=1)
def records() -> Mapping[str, ProblemRecord]:
    """All entries by name, sorted."""
    return MappingProxyType({p.stem: _record(p.stem) for p in sorted(FOLDER.glob("*.toml"))})


@cache
def _spec(name: str) -> Mapping[str, Any]:
    return MappingProxyType(read_toml(FOLDER / f"{name}.toml"))


def _record(name: str) -> ProblemRecord:
    spec = _spec(name)
    control = spec.get("control")
    return ProblemRecord(
        name=name,
        kind=spec["kind"],
        title=spec.get("title", name),
        source=spec.get("source", ""),
        latex=spec.get("latex", ""),
        note=spec.get("note", ""),
        tags=tuple(spec.get("tags", ())),
        promises=tuple(spec.get("promises", ())),
        knobs=MappingProxyType(dict(spec.get("knobs", {}))),
        known=MappingProxyType(dict(spec.get("known", {}))),
        control=None if control is None else Control(**control),
        extra=spec.get("extra", ""),
    )


def _resolve(name: str) -> str:
    if not isinstance(name, str):
        raise ProblemError(f"the name of a zoo entry must be text, not {type(name).__name__}")
    table = records()
    plain = name.strip().lower().replace("_", "-")
    if plain in table:
        return plain
    tagged = [n for n, r in table.items() if name.strip().upper() in r.tags]
    if len(tagged) == 1:
        return tagged[0]
    if tagged:
        raise ProblemError(f"{name!r} means {', '.join(tagged)}; name one of them")
    raise ProblemError(f"no entry {name[:40]!r} in the zoo{nearest(plain, table.keys())}")


def _load(name: str, knobs: Mapping[str, object]) -> Problem | ProblemFamily:
    if not knobs:
        return _default(name)
    return _read(name, knobs)


@lru_cache(maxsize=256)
def _default(name: str) -> Problem | ProblemFamily:
    return _read(name, {})


def _read(name: str, knobs: Mapping[str, object]) -> Problem | ProblemFamily:
    try:
        return from_spec(_spec(name), folder=FOLDER, knobs=knobs, name=name)
    except ProblemError as error:
        raise ProblemError(f"zoo entry {name!r}: {error}") from None
