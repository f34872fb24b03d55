"""One cell of a campaign: a question as plain data, its seed, and the key of its answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

from bilevel_verify.errors import InputError

Kind = Literal["verify", "solve", "audit", "experiment"]
KINDS: tuple[Kind, ...] = ("verify", "solve", "audit", "experiment")
Scalar = float | int | str


@dataclass(frozen=True, slots=True)
class Limits:
    """What one cell may use.

    Attributes
    ----------
    seconds : wall-clock time of a cell; None for no limit.
    megabytes : resident memory of the process that works on it; None for no limit.
    """

    seconds: float | None = None
    megabytes: float | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "megabytes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"limits: {name} must be a positive number, not {value!r}")


@dataclass(frozen=True)  # no slots: the digest of a cell is asked for often and kept
class Cell:
    """One question: a statement (or a method alone, or a paper's audit) on one problem with everything that decides it.

    Attributes
    ----------
    kind : ``verify`` (a statement on a problem), ``solve`` (a method on a problem), ``audit`` (a paper by itself),
        ``experiment`` (a run of an experiment of a paper: ``experiment:NAME``, what is run in ``knobs``).
    problem : ``zoo:NAME`` or the path of a problem file; None for an audit.
    knobs : values of a family's knobs; text may depend on eps, kappa, d, nu.
    statement : ``paper/id``, or a paper's key for an audit; None for ``solve``.
    card : path of a user's card; None for a built-in one.
    method : name of a method; None for the statement's own; ``own:NAME`` with a ``solver``.
    solver : ``FILE.py:FUNCTION`` or ``module:FUNCTION`` of a solver of the user, as the caller named it.
    eps : tolerances of the sweep, as the statement wants them together.
    x0, y0 : start; None for the problem's own.
    parameters : explicit letters, which win over the card's.
    values : leaf letters given by hand (``zeta``, ``nu_f`` ...).
    budget : most oracle calls of a run; None for the default of the checker.
    replicate : number of the repetition; with the content it makes the seed.
    control : the verdict that a negative control must get.
    """

    kind: Kind = "verify"
    problem: str | None = None
    knobs: Mapping[str, Scalar] = field(default_factory=dict)
    statement: str | None = None
    card: str | None = None
    method: str | None = None
    solver: str | None = None
    eps: tuple[float, ...] = ()
    x0: tuple[float, ...] | None = None
    y0: tuple[float, ...] | None = None
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    values: Mapping[str, Scalar] = field(default_factory=dict)
    budget: int | None = None
    replicate: int = 0
    control: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Only the fields that say something; strict JSON."""
        said: dict[str, Any] = {"kind": self.kind}
        for name in ("problem", "statement", "card", "method", "solver", "budget", "control"):
            if getattr(self, name) is not None:
                said[name] = getattr(self, name)
        for name in ("eps", "x0", "y0"):
            if getattr(self, name):
                said[name] = list(getattr(self, name))
        for name in ("knobs", "parameters", "values"):
            if getattr(self, name):
                said[name] = dict(getattr(self, name))
        if self.replicate:
            said["replicate"] = self.replicate
        return said

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Cell:
        """Inverse of :meth:`to_dict`."""
        unknown = set(data) - {f.name for f in fields(cls)}
        if unknown:
            raise InputError(f"cell: unknown field {sorted(unknown)[0]!r}")
        fields_given: dict[str, Any] = dict(data)
        fields_given |= {k: tuple(fields_given[k]) for k in ("eps", "x0", "y0") if k in data}
        return cls(**fields_given)

    @cached_property
    def content(self) -> str:
        """SHA-256 of the question as stated (names only): the same cell before and after a change of the sources."""
        return digest(self.to_dict())

    @property
    def seed(self) -> int:
        """Seed of everything random in the cell: the first 63 bits of its content, whatever the order of the cells."""
        return int(self.content[:16], 16) >> 1

    @property
    def shared(self) -> str:
        """What a worker derives once: the problem with its knobs; of an experiment, its data at a seed."""
        knobs = dict(self.knobs)
        if self.kind == "experiment":
            knobs["entry"] = self.replicate  # methods share the data of a seed, seeds of a method share nothing
        return f"{self.problem}|{sorted(knobs.items())}"

    @property
    def label(self) -> str:
        """Short name for progress bars and messages."""
        knobs = "".join(f":{k}={v}" for k, v in sorted(self.knobs.items()))
        parts = [self.statement or self.card or "", self.method or "", f"{self.problem or ''}{knobs}"]
        named = " on ".join(p for p in (" by ".join(x for x in parts[:2] if x), parts[2]) if p)
        varied = [f"eps = {', '.join(f'{e:g}' for e in self.eps)}"] if self.eps else []
        varied += [f"{k} = {v}" for k, v in sorted(self.parameters.items())]
        varied += [f"x0 = {list(self.x0)}"] if self.x0 is not None else []
        varied += [f"seed {self.replicate}"] if self.replicate else []
        return ", ".join([named, *varied])


def canonical(data: object) -> str:
    """JSON with sorted keys and no spaces; NaN and infinities are refused."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(data: object) -> str:
    """SHA-256 of the canonical JSON of ``data``."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()
