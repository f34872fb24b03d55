"""What the public functions are given: of the types that their signatures say, numbers and points within floats.

One layer for the whole Python interface: a function of a room is wrapped once, when it becomes a public name, and what
its annotations and the meaning of a parameter's name do not allow is one :class:`~bilevel_verify.errors.InputError`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import islice
from numbers import Integral, Number, Real
from typing import Any, Literal, TypeVar

from bilevel_verify.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=type[Any])
Test = Callable[[Any], bool]
MOST_LOOKED_AT = 10_000
"""Entries of a list that are looked at."""
_BEFORE: dict[Callable[..., Any], Callable[..., Any]] = {}


def answered_before(before: Callable[..., Any]) -> Callable[[Function], Function]:
    """A function (as a decorator) some of whose calls need no look at their arguments.

    ``before`` is asked first, with the same arguments. What it gives is the answer, unless it is None; it answers only
    where all arguments are equal, value by value and type by type, to arguments that were checked before.
    """

    def mark(function: Function) -> Function:
        _BEFORE[function] = before
        before.__qualname__ = function.__qualname__  # which Python says in its errors
        return function

    return mark


def checked(function: Function, name: str = "", home: str = "") -> Function:
    """The function (also as a decorator) with its arguments checked first; ``pickle`` finds it as ``home.name``.

    Raises
    ------
    InputError : (from the result) an argument is not of the type of its annotation, or not what its name means.
    TypeError : (from the result) a wrong number of arguments, or an unknown name of one, as Python says it.
    """
    signature, shown = inspect.signature(function), name or function.__qualname__.removesuffix(".__init__")
    usual, places, needed = _plain_names(signature)
    tests: dict[str, tuple[Test, Test]] = {}
    before = _BEFORE.get(function)

    @functools.wraps(function)
    def call(*arguments: object, **named: object) -> Any:
        if before is not None and (answer := before(*arguments, **named)) is not None:
            return answer
        given: Mapping[str, Any] = {**dict(zip(places, arguments)), **named}
        if len(given) != len(arguments) + len(named) or not needed <= given.keys() <= usual:
            given = _bound(signature, shown, arguments, named)
        if not tests:  # annotations are read when they are needed: they may name what is imported later
            tests.update({parameter: _tests(function, parameter) for parameter in signature.parameters})
        for parameter, (fits, means) in tests.items():
            if parameter in given:
                value = given[parameter]
                for one in (value,) if parameter in usual else value.values() if isinstance(value, dict) else value:
                    if not (fits(one) and means(one)):
                        raise InputError(_complaint(function, shown, parameter, one))
        return function(*arguments, **named)

    if home:
        call.__module__, call.__qualname__ = home, name
    return typing.cast(Function, call)


def checked_methods(kind: Kind) -> Kind:
    """A class whose public methods check their arguments (as a decorator)."""
    for name, value in list(vars(kind).items()):
        if isinstance(value, types.FunctionType) and (name == "__init__" or not name.startswith("_")):
            setattr(kind, name, checked(value))
    return kind


def _plain_names(signature: inspect.Signature) -> tuple[Set[str], list[str], Set[str]]:
    """Parameters that take one argument each, by name; of these the ones that have a place; those without a default.

    Binding by hand costs a tenth of ``Signature.bind``, which stays for whatever is unusual.
    """
    many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    single = {name: p for name, p in signature.parameters.items() if p.kind not in many}
    places = [name for name, p in single.items() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    unusual = any(p.kind is inspect.Parameter.POSITIONAL_ONLY for p in single.values())
    needed = {name for name, p in single.items() if p.default is inspect.Parameter.empty}
    return single.keys(), places, {*needed, ""} if unusual else needed  # "" is nobody's name


def _bound(
    signature: inspect.Signature, shown: str, arguments: tuple[object, ...], named: Mapping[str, object]
) -> Mapping[str, Any]:
    try:
        return signature.bind(*arguments, **named).arguments
    except TypeError as error:
        raise TypeError(f"{shown}() {error}") from None


def _tests(function: Callable[..., object], parameter: str) -> tuple[Test, Test]:
    """Whether a value is of the annotated type, and whether it is what the parameter's name means."""
    meaning = MEANINGS.get(parameter, (_anything, ""))[0]
    hint = _hints(function).get(parameter, Any)
    return _test(hint), lambda value: value is None or meaning(value)


def _complaint(function: Callable[..., object], name: str, parameter: str, value: object) -> str:
    hint = _hints(function).get(parameter, Any)
    words = MEANINGS[parameter][1] if _test(hint)(value) else _words(hint)
    return f"{name}: {parameter} must be {words}, not {_shown(value)}"


@functools.cache
def _hints(function: Callable[..., object]) -> dict[str, object]:
    """The annotations; one that names what is imported for type checkers only allows everything."""
    found: dict[str, Any] = {}
    for name, hint in function.__annotations__.items():
        alone = types.SimpleNamespace(__annotations__={name: hint})
        with contextlib.suppress(NameError, TypeError):
            found |= typing.get_type_hints(alone, inspect.unwrap(function).__globals__)
    return found


def _anything(value: object) -> bool:
    return True


@functools.cache
def _test(hint: object) -> Test:
    """Whether a value is of an annotated type: integers are floats, arrays and lists are sequences, texts are not."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object) or isinstance(hint, TypeVar):
        return _anything
    if hint is None or hint is types.NoneType:
        return lambda value: value is None
    if origin in (typing.Union, types.UnionType):
        return _one_of([_test(part) for part in parts])
    if origin is Literal:
        return lambda value: any(type(value) is type(part) and value == part for part in parts)
    if hint is complex:  # in the type of what NumPy makes an array of
        return lambda value: isinstance(value, Number)
    if hint in (bool, float, int):
        return lambda value: _is_plain(value, hint)
    if origin is Callable or hint is Callable:
        return callable
    kind = origin or hint
    return _test_of_kind(kind, parts) if isinstance(kind, type) else _anything


def _one_of(tests: Sequence[Test]) -> Test:
    def fits(value: object) -> bool:
        for test in tests:  # noqa: SIM110 (half the time of any)
            if test(value):
                return True
        return False

    return fits


def _test_of_kind(kind: type, parts: tuple[object, ...]) -> Test:
    """The test of a class, or of a collection with annotated entries."""
    if issubclass(kind, Mapping):
        return lambda value: isinstance(value, Mapping) and _mapping_fits(value, parts)
    if issubclass(kind, Iterable) and kind not in (str, bytes) and kind.__module__ in ("collections.abc", "builtins"):
        return lambda value: _is_list(value, kind) and _entries_fit(value, parts)
    if kind.__module__ == "numpy":
        return lambda value: isinstance(value, kind) or _is_list(value, Sequence)
    if _is_of_arrays(kind):
        return lambda value: hasattr(value, "__array__") or _is_list(value, Sequence)
    try:
        isinstance(None, kind)
    except TypeError:  # a protocol: what it asks for is called, and not looked up beforehand
        return _anything
    return lambda value: isinstance(value, kind)


def _is_of_arrays(hint: object) -> bool:
    """A part of NumPy's ``ArrayLike``: protocols that a tuple is not found to follow."""
    return str(getattr(typing.get_origin(hint) or hint, "__module__", "")).startswith("numpy._typing")


def _is_plain(value: object, hint: type) -> bool:
    if hint is bool:
        return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
    if isinstance(value, bool):
        return False
    return isinstance(value, Integral) if hint is int else isinstance(value, Real) and _is_number(value)


def _is_list(value: object, kind: type) -> bool:
    if isinstance(value, str | bytes | Mapping):
        return False
    if hasattr(value, "__array__"):
        return len(getattr(value, "shape", ())) > 0
    wanted: Any = Collection if kind in (list, tuple, set, frozenset) else kind
    return isinstance(value, wanted)


def _entries_fit(values: object, parts: tuple[object, ...]) -> bool:
    if not parts or not isinstance(values, Collection):
        return True
    wanted = parts[0] if len(parts) == 1 or parts[1:] == (...,) else Any
    if hasattr(values, "dtype") and wanted in (float, complex, Any):
        return getattr(values, "dtype").kind in "biufcO"  # noqa: B009 (an array of numbers, of any shape)
    return all(map(_test(wanted), islice(values, MOST_LOOKED_AT)))


def _mapping_fits(values: Mapping[object, object], parts: tuple[object, ...]) -> bool:
    if len(parts) != 2:
        return True
    key, entry = map(_test, parts)
    if entry is _anything:
        return all(map(key, islice(values, MOST_LOOKED_AT)))
    return all(key(k) and entry(v) for k, v in islice(values.items(), MOST_LOOKED_AT))


def _is_number(value: Any) -> bool:
    """Whether a float can hold it (NaN and infinities are the business of who computes with it)."""
    if type(value) is float:  # what is asked most often
        return True
    if isinstance(value, (bool, str, bytes, complex)) or getattr(value, "shape", ()) != ():
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError, ArithmeticError, AttributeError):
        return False
    return True


def _is_point(value: object) -> bool:
    """A number, or lists of numbers (of one, two or three levels): what starts and points are written as."""
    return _is_number(value) or _is_nested(value, 3)


def _is_nested(value: Any, levels: int) -> bool:
    if hasattr(value, "__array__") and hasattr(value, "dtype"):
        return value.dtype.kind in "iuf" or (value.dtype.kind == "O" and all(map(_is_number, value.ravel())))
    if isinstance(value, str | bytes | Mapping | set) or not isinstance(value, Sequence) or not levels:
        return False
    return all(_is_number(v) or _is_nested(v, levels - 1) for v in islice(value, MOST_LOOKED_AT))


def _is_formula(value: object) -> bool:
    return isinstance(value, str) or _is_number(value)


def _are_accuracies(value: Any) -> bool:
    listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return _is_formula(value) or _is_nested(value, 1) or (listed and all(map(_is_formula, value)))


def _are_letters(value: object) -> bool:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        return False
    return all(type(v) is float or v is None or callable(v) or _is_formula(v) or _is_point(v) for v in value.values())


def _at_least(least: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _is_positive(value: Any) -> bool:
    return _is_number(value) and 0 < float(value) < math.inf


def _is_file_name(value: object) -> bool:
    return "\0" not in str(value)


def _are_axes(value: object) -> bool:
    listed = value if isinstance(value, list | tuple) else [value]
    return bool(listed) and all(hasattr(one, "figure") and hasattr(one, "plot") for one in listed)


def _is_box(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(n, str) and _is_nested(r, 1) for n, r in value.items())


MEANINGS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("x0", "y0", "v0"), (_is_point, "a number or a list of numbers")),
    "point": (_is_point, "a number or a list of numbers"),
    "axes": (_are_axes, "axes of matplotlib, or a list of them"),
    "box": (_is_box, "names with pairs (low, high)"),
    "eps": (_are_accuracies, "a positive number, or a list of them"),
    **dict.fromkeys(("parameters", "values"), (_are_letters, "names with numbers, texts or lists of numbers")),
    **dict.fromkeys(("jobs", "threads"), (_at_least(1), "a whole number from 1 on")),
    **dict.fromkeys(("seconds", "minutes"), (_is_positive, "a positive number of them")),
    "seed": (_at_least(0), "a whole number from 0 on"),
    "memory": (_is_positive, "a positive number of bytes"),
    "effort": (lambda effort: _is_number(effort) and 0 <= float(effort) < math.inf, "a number from 0 on"),
    "out": (_is_file_name, "the name of a folder, without a zero byte"),
}
"""What a parameter of this name takes wherever it occurs: a test, and its words."""


def _words(hint: object) -> str:
    """An annotation as a message says it."""
    if hint is types.NoneType:
        return "None"
    if isinstance(hint, type) and not typing.get_args(hint):
        return {"str": "a text", "int": "an integer", "float": "a number", "bool": "True or False"}.get(
            hint.__name__, f"a {hint.__name__}"
        )
    parts = typing.get_args(hint)
    if any(map(_is_of_arrays, parts)):
        rest = [part for part in parts if not _is_of_arrays(part) and part not in (complex, bytes, str)]
        return " or ".join(["an array of numbers", *map(_words, rest)])
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(_words(part) for part in parts)
    if typing.get_origin(hint) is Literal:
        return f"one of {', '.join(map(repr, parts))}"
    return str(hint).replace("collections.abc.", "").replace("typing.", "")


def _shown(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "an integer beyond the range of floats"
    text = repr(value) if isinstance(value, str | int | float | bool | list | tuple | dict | type(None)) else ""
    return f"{type(value).__name__} {text[:60]}".strip()
