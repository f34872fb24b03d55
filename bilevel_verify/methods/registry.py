"""Records of the table "outer scheme x gradient estimator": schemes, estimators, and the methods that papers name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from bilevel_verify.errors import InputError
from bilevel_verify.problems.problem import Kind

LetterKind = Literal["positive", "nonnegative", "real", "count", "length", "sequence"]
"""``count``: an integer >= 1; ``length``: an inner length, an integer >= 0 or one per epoch; ``sequence``: a list of
numbers, or one number for all indices."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A parameter of a method.

    Attributes
    ----------
    name : the paper's letter in ASCII (a prime is a ``p``: ``Tp_0``).
    kind : what values it takes.
    default : used where the letter is not given; None: it must be given.
    optional : may be absent altogether (a test that is then not made).
    words : texts that may stand in place of a number.
    replaced_by : what makes an optional letter unnecessary; without that a theorem prescribes it with the others.
    """

    name: str
    kind: LetterKind = "positive"
    default: float | None = None
    optional: bool = False
    words: tuple[str, ...] = ()
    replaced_by: str = ""


UNLIMITED = 2**62
"""Default of a number of steps that the run does not need: something else ends it."""
PERTURBATION_RADIUS = Letter("r", "nonnegative", optional=True, replaced_by="noise")
"""Radius of perturbations; not needed where the noise itself is given."""


TWO_LEVELS: tuple[Kind, ...] = ("bilevel", "minimax")


def _empty() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Scheme:
    """An outer scheme: a solver loop, what it works on, and what it needs.

    Attributes
    ----------
    function : the loop, plain Python marked for compilation.
    record : its letters by name, and flags and numbers of its own (:func:`bilevel_verify.methods.records.record`).
    state : a ``NamedTuple`` of its vectors of dimension dx.
    letters : what a user gives; each is a field of the record.
    flags : field of the record, or of ``Progress``, -> value.
    restarts : whether it has epochs.
    noisy : whether it asks for perturbations.
    values, stopping : whether it asks the estimator for function values, for exact gradients of a stopping test.
    prepare : called with ``Progress``, the record and the given letters before the run.
    sequences : name -> column of the trace (fields of ``Points``).
    known : column of the trace -> field of the state, besides x, that is known when a row is begun.
    history : whether it keeps all iterates of an epoch.
    """

    name: str
    function: Callable[..., int]
    record: type
    state: type[tuple[Any, ...]]
    letters: tuple[Letter, ...]
    flags: Mapping[str, int] = field(default_factory=_empty)
    restarts: bool = True
    noisy: bool = False
    values: bool = False
    stopping: bool = False
    prepare: Callable[[Any, Any, Mapping[str, Any]], None] | None = None
    sequences: Mapping[str, str] = field(default_factory=_empty)
    known: Mapping[str, str] = field(default_factory=_empty)
    history: bool = False

    def __post_init__(self) -> None:
        names = {entry.name for entry in fields(self.record)}
        unknown = [letter.name for letter in self.letters if letter.name not in names and letter != PERTURBATION_RADIUS]
        missing = {"x", "output"} - set(field_names(self.state))
        if unknown or missing:
            raise ValueError(f"the scheme {self.name!r} has no fields {[*unknown, *sorted(missing)]}")


class Nothing(NamedTuple):
    """An estimator without letters, or without inner lengths."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """A gradient estimator: how a scheme learns the gradient.

    Attributes
    ----------
    function, value, exact : the gradient, function values, exact gradients of stopping tests.
    kinds : problem kinds it is for.
    numbers, steps : ``NamedTuple`` s under whose names the functions find letters and inner lengths.
    letters, lengths : what a user gives, in the same order.
    needs, value_needs, stopping_needs : oracles that are asked for gradients, values, exact gradients.
    inner_first : the trace holds y[k] as it was when iteration k began (else as it was left).
    picks : given the letters, the oracles that are asked, where this depends on them.
    tape : name of the length whose iterates are kept (unrolled differentiation), else None.
    sequences : inner sequences it fills, name -> column of the trace (fields of ``LowerPoints``).
    """

    name: str
    function: Callable[..., int]
    value: Callable[..., int]
    exact: Callable[..., int]
    kinds: tuple[Kind, ...]
    numbers: type[tuple[Any, ...]] = Nothing
    steps: type[tuple[Any, ...]] = Nothing
    letters: tuple[Letter, ...] = ()
    lengths: tuple[Letter, ...] = ()
    needs: frozenset[str] = frozenset()
    value_needs: frozenset[str] = frozenset()
    stopping_needs: frozenset[str] = frozenset()
    inner_first: bool = False
    picks: Callable[[Mapping[str, Any]], frozenset[str]] | None = None
    tape: str | None = None
    sequences: Mapping[str, str] = field(default_factory=_empty)

    def __post_init__(self) -> None:
        for kind, given in ((self.numbers, self.letters), (self.steps, self.lengths)):
            if field_names(kind) != tuple(letter.name for letter in given):
                raise ValueError(f"the estimator {self.name!r} and {kind.__name__} name different letters")


def field_names(kind: type[tuple[object, ...]]) -> tuple[str, ...]:
    """Fields of a ``NamedTuple``."""
    return tuple(kind._fields)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a printed line was read where it cannot be executed as it stands or leaves something open.

    Attributes
    ----------
    line : where it is printed.
    printed, taken : what is printed, and what is run.
    reason : why.
    literal : True if the method runs the line as printed (and another reading is the variant).
    """

    line: str
    printed: str
    taken: str
    reason: str
    literal: bool = False


@dataclass(frozen=True, slots=True)
class Method:
    """A runnable method.

    Attributes
    ----------
    name, title : the name that ``solve`` takes, and a readable one.
    kinds : problem kinds.
    scheme, estimator : names of the cell of the table; None for methods that are not cells of it.
    letters : every letter it takes.
    sequences : names of the sequences its trace holds, as the paper names them -> column of the trace.
    flags : field of the scheme's record or of ``Progress`` -> value, on top of the scheme's.
    paper, statement : where the default parameters are prescribed (id of the paper's sheet and of its statement).
    readings : how printed lines were read.
    variants : literal readings and the like that can be run as ``name:variant``.
    restarts : whether it has epochs (``Run.epochs`` counts restarts + 1).
    oracles : what its loop asks (of a runner: if it has a loop in the three forms).
    runner : makes the stepper of a run from a prepared set-up; None for cells of the table.
    loop_of : the loop of a runner for a set-up, None where its steps are NumPy; None for runners without a loop.
    """

    name: str
    title: str
    kinds: tuple[Kind, ...]
    letters: tuple[Letter, ...]
    scheme: str | None = None
    estimator: str | None = None
    sequences: Mapping[str, str] = field(default_factory=_empty)
    paper: str = ""
    statement: str = ""
    readings: tuple[Reading, ...] = ()
    variants: tuple[str, ...] = ()
    restarts: bool = True
    noisy: bool = False
    renamed: Mapping[str, str] = field(default_factory=_empty)
    flags: Mapping[str, int] = field(default_factory=_empty)
    oracles: frozenset[str] = frozenset()
    runner: Callable[..., Any] | None = None
    loop_of: Callable[..., Callable[..., int] | None] | None = None
    source: str = ""
    note: str = ""

    def letter(self, name: str) -> Letter | None:
        """The letter of this name, or None."""
        return next((letter for letter in self.letters if letter.name == name), None)


SCHEMES: dict[str, Scheme] = {}
ESTIMATORS: dict[str, Estimator] = {}
METHODS: dict[str, Method] = {}


def register_scheme(scheme: Scheme) -> Scheme:
    """Add a scheme to the table."""
    _register(SCHEMES, scheme, "scheme")
    return scheme


def register_estimator(estimator: Estimator) -> Estimator:
    """Add an estimator to the table."""
    _register(ESTIMATORS, estimator, "estimator")
    return estimator


def register(method: Method) -> Method:
    """Add a method."""
    _register(METHODS, method, "method")
    return method


def import_all(package: str, path: Iterable[str]) -> None:
    """Import every module of a package, in the order of their names: they register what they hold."""
    for name in sorted(module.name for module in iter_modules(path)):
        import_module(f"{package}.{name}")


def _register(table: dict[str, Any], record: Any, what: str) -> None:
    if record.name in table:
        raise ValueError(f"the {what} {record.name!r} is registered twice")
    table[record.name] = record


def compose(
    scheme: str,
    estimator: str,
    *,
    name: str | None = None,
    renamed: Mapping[str, str] | None = None,
    flags: Mapping[str, int] | None = None,
    **more: Any,
) -> Method:
    """The method of a cell of the table, named by a paper or not.

    Parameters
    ----------
    scheme, estimator : names in ``SCHEMES`` and ``ESTIMATORS``.
    name : default ``scheme+estimator``.
    renamed : letter of the scheme or estimator -> the letter of this method, where the paper uses another one.
    flags : field of the scheme's record or of ``Progress`` -> value, on top of the scheme's.
    more : further fields of :class:`Method`.

    Raises
    ------
    InputError : no such scheme or estimator.
    """
    outer, inner = look_up(SCHEMES, scheme, "scheme"), look_up(ESTIMATORS, estimator, "estimator")
    change = dict(renamed or {})
    letters = (*outer.letters, *inner.letters, *inner.lengths)
    chosen = {change.get(letter.name, letter.name): letter for letter in reversed(letters)}
    more.setdefault("title", f"{outer.name} with the {inner.name} gradient")
    more.setdefault("kinds", inner.kinds)
    more.setdefault("sequences", MappingProxyType({**outer.sequences, **inner.sequences}))
    extra = tuple(more.pop("extra_letters", ()))
    oracles = inner.needs
    oracles |= inner.value_needs if outer.values else frozenset()
    oracles |= inner.stopping_needs if outer.stopping else frozenset()
    return Method(
        name=name or f"{scheme}+{estimator}",
        letters=(*(replace(letter, name=new) for new, letter in reversed(chosen.items())), *extra),
        scheme=scheme,
        estimator=estimator,
        restarts=outer.restarts,
        noisy=more.pop("noisy", outer.noisy),
        renamed=MappingProxyType(change),
        flags=MappingProxyType(dict(flags or {})),
        oracles=oracles,
        **more,
    )


def method_named(name: str) -> Method:
    """A registered method, or the cell ``scheme+estimator`` of the table, whether a paper has named it or not.

    Raises
    ------
    InputError : no such method, scheme or estimator.
    """
    scheme, plus, estimator = name.partition("+")
    if plus and name not in METHODS:
        return compose(scheme, estimator)
    found: Method = look_up(METHODS, name, "method")
    return found


def look_up(table: Mapping[str, object], name: str, what: str) -> Any:
    """An entry by name; an error that names the nearest ones."""
    if name in table:
        return table[name]
    import difflib

    near = difflib.get_close_matches(name, table, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else f"; there are {', '.join(table)}"
    raise InputError(f"no {what} named {name!r}{hint}")
