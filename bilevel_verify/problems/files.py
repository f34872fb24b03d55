"""Problem files: TOML in, TOML out; data arrays inline, or as CSV, NPY or NPZ beside the file (never pickles)."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify import language
from bilevel_verify.errors import ExpressionError, ProblemError
from bilevel_verify.files import parse_toml, plain_file
from bilevel_verify.files import read_toml as read_table
from bilevel_verify.problems import construct
from bilevel_verify.problems.family import ProblemFamily, free_letters, resolve_knobs
from bilevel_verify.problems.problem import KINDS, Problem
from bilevel_verify.problems.text import to_text

BUILDERS: dict[str, Callable[..., Problem]] = {
    "bilevel": construct.bilevel,
    "minimax": construct.minimax,
    "single_level": construct.single_level,
    "simple_bilevel": construct.simple_bilevel,
    "constrained_bilevel": construct.bilevel,
}
NEEDED = {
    "bilevel": ("f", "g", "x", "y"),
    "minimax": ("f", "x", "y"),
    "single_level": ("f", "x"),
    "simple_bilevel": ("f", "g", "x"),
    "constrained_bilevel": ("f", "g", "x", "y", "feasible"),
}
OPTIONAL = ("domain", "knobs", "data", "define", "start", "known", "name", "title", "source", "note")
CATALOGUE = ("tags", "promises", "control", "latex", "extra", "free")
"""Fields that only the zoo, or the search for worst cases (``free``), reads; allowed in every file."""

MAXIMUM_FILE = 64_000_000
DAMAGED = (
    *(ValueError, EOFError, KeyError, TypeError, AttributeError),
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError),
)
"""What the readers of NumPy and of zip archives raise over a file that is not what its name says."""


def load(path: str | Path, *, allow_outside: bool = False, **knobs: object) -> Problem | ProblemFamily:
    """Read a problem file.

    Parameters
    ----------
    path : TOML file with ``kind``, the formulas, the blocks of variables, and optional tables.
    allow_outside : permit data files outside the folder of the problem file.
    knobs : values that replace those of the file; texts over eps, kappa, d, nu make it a family.

    Raises
    ------
    ProblemError : one line that names the file, the field and the fix.
    """
    path = Path(path)
    spec = read_toml(path)
    try:
        return from_spec(spec, folder=path.parent, allow_outside=allow_outside, knobs=knobs, name=path.stem)
    except (ProblemError, ExpressionError) as error:
        raise ProblemError(f"{path.name}: {error}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The table of a TOML file; ProblemError if it is missing, too large, or not TOML."""
    return read_table(path, label=path.name, error=ProblemError)


def loads(text: str, *, folder: Path | None = None, **knobs: object) -> Problem | ProblemFamily:
    """Read a problem from TOML text; data files only if ``folder`` is given."""
    return from_spec(parse_toml(text, "text of a problem", ProblemError), folder=folder, knobs=knobs)


def from_spec(
    spec: Mapping[str, Any],
    *,
    folder: Path | None = None,
    allow_outside: bool = False,
    knobs: Mapping[str, object] | None = None,
    name: str = "",
) -> Problem | ProblemFamily:
    """A problem, or a family if its knobs depend on letters, from the plain table of a file."""
    kind = spec.get("kind")
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise ProblemError(
            f"field 'kind' must be one of {known}, not {str(kind)[:40]!r}"
            if "kind" in spec
            else f"field 'kind' is missing; write kind = with one of {known}"
        )
    allowed = (
        *NEEDED[kind],
        *OPTIONAL,
        *CATALOGUE,
        "kind",
        *(("feasible",) if kind in ("simple_bilevel", "bilevel") else ()),
    )
    for field in spec:
        if field not in allowed:
            raise ProblemError(f"unknown field {str(field)[:40]!r}{language.nearest_of(str(field), allowed)}")
    for field in NEEDED[kind]:
        if field not in spec:
            raise ProblemError(f"missing field {field!r}")
    values = _merge_knobs(spec.get("knobs") or {}, knobs or {})
    fields = {k: v for k, v in spec.items() if k not in ("kind", "knobs", "data", *CATALOGUE)}
    fields.setdefault("name", name)
    data = read_arrays(spec.get("data") or {}, folder, allow_outside)

    def build(numbers: Mapping[str, sympy.Expr]) -> Problem:
        return BUILDERS[kind](**fields, knobs=numbers, data=data)

    letters = free_letters(values)
    if letters:
        return ProblemFamily(fields["name"], kind, values, letters, build, str(spec.get("title", "")))
    return build(resolve_knobs(values, {}))


def _merge_knobs(own: object, given: Mapping[str, object]) -> dict[str, object]:
    if not isinstance(own, Mapping):
        raise ProblemError("knobs must be a table")
    for name in given:
        if name not in own:
            known = ", ".join(own) or "none"
            raise ProblemError(f"unknown knob {name!r}{language.nearest(name, list(own))} (knobs: {known})")
    return {**own, **given}


def read_arrays(data: object, folder: Path | None, allow_outside: bool) -> dict[str, Any]:
    """Arrays of the ``[data]`` table: inline lists, ``{file = "a.npz", key = "A"}``, or ``{loader = "..."}``."""
    if not isinstance(data, Mapping):
        raise ProblemError("data must be a table of arrays")
    result = {}
    for name, value in data.items():
        if isinstance(value, Mapping) and set(value) == {"loader"}:
            result[name] = _from_loader(name, value["loader"])
        elif isinstance(value, Mapping):
            unknown = set(value) - {"file", "key", "shape", "header"}
            if unknown or not isinstance(value.get("file"), str):
                raise ProblemError(f'data array {name!r} must be a list or {{file = "..."}} with key, shape, header')
            result[name] = _read_file(name, value, folder, allow_outside)
        else:
            result[name] = value
    return result


def _from_loader(name: str, loader: str) -> NDArray[np.float64]:
    from bilevel_verify.problems.datasets import arrays

    table = arrays(str(loader))
    if name not in table:
        raise ProblemError(f"data array {name!r}: loader {loader!r} has {', '.join(table)}")
    return table[name]


def _read_file(name: str, value: Mapping[str, Any], folder: Path | None, allow_outside: bool) -> NDArray[np.float64]:
    path = _inside(name, value["file"], folder, allow_outside)
    plain_file(path, MAXIMUM_FILE, f"data array {name!r}: {path.name}", ProblemError)
    try:
        array = _parse(name, path, value)
    except ProblemError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)[:60]
        raise ProblemError(f"data array {name!r}: {path.name} cannot be read ({reason})") from None
    except DAMAGED as error:
        raise ProblemError(f"data array {name!r}: {path.name}: {str(error)[:80]}") from None
    shape = value.get("shape")
    if shape is not None and not isinstance(shape, list | tuple):
        raise ProblemError(f"data array {name!r}: shape must be a list of lengths such as [3, 2]")
    if shape is not None and list(np.shape(array)) != list(shape):
        raise ProblemError(f"data array {name!r} has shape {list(np.shape(array))}, the file states {shape}")
    return array


def _inside(name: str, file: str, folder: Path | None, allow_outside: bool) -> Path:
    if folder is None:
        raise ProblemError(f"data array {name!r}: data files need a problem file beside them")
    if "\0" in file:
        raise ProblemError(f"data array {name!r}: the name of its file holds a zero byte")
    path = (folder / file).resolve()
    if not allow_outside and not path.is_relative_to(folder.resolve()):
        raise ProblemError(
            f"data array {name!r}: {file[:60]!r} is outside the folder; allow_outside=True (--allow-outside) permits it"
        )
    return path


def _parse(name: str, path: Path, value: Mapping[str, object]) -> NDArray[np.float64]:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        skip = 1 if value.get("header") else 0
        table = np.loadtxt(path, delimiter=",", skiprows=skip, ndmin=2, encoding="utf-8")
        return table[:, 0] if table.shape[1] == 1 else table
    if suffix == ".npy":
        with path.open("rb") as stream:
            return _array(stream)
    if suffix != ".npz":
        raise ProblemError(f"data array {name!r}: {path.name} must be a .csv, .npy or .npz file")
    with zipfile.ZipFile(path) as archive:
        keys = [member.removesuffix(".npy") for member in archive.namelist()]
        key = value.get("key", name)
        if key not in keys:
            shown = ", ".join(keys)[:200] or "none"
            raise ProblemError(f"data array {name!r}: {path.name} has no key {str(key)[:60]!r}; it has {shown}")
        with archive.open(archive.infolist()[keys.index(key)]) as stream:
            return _array(stream)


def _array(stream: IO[bytes]) -> NDArray[np.float64]:
    """The array of an NPY stream whose header announces at most ``MAXIMUM_FILE`` bytes: only those are unpacked.

    Raises
    ------
    ValueError : not NPY, objects, or a larger array.
    """
    version = np.lib.format.read_magic(stream)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = reader(stream)
    if dtype.hasobject:
        raise ValueError("objects (a pickle) are not read; save an array of numbers")
    size = math.prod(shape) * dtype.itemsize
    if size > MAXIMUM_FILE:
        raise ValueError(f"an array of {size} bytes; at most {MAXIMUM_FILE} are read")
    content = stream.read(size)
    if len(content) != size:
        raise ValueError("shorter than its header says")
    return np.frombuffer(content, dtype=dtype).reshape(shape, order="F" if fortran else "C")


def dump(problem: Problem) -> str:
    """TOML text of a problem; :func:`loads` of it gives the same problem (same ``content_hash``)."""
    lines = [f"kind = {_string(problem.kind)}"]
    lines += [
        f"{k} = {_string(getattr(problem, k))}" for k in ("name", "title", "source", "note") if getattr(problem, k)
    ]
    definitions = {k: v for k, v in problem.text.items() if k not in ("f", "g")}
    lines.append(f"f = {_string(problem.text.get('f') or to_text(problem.f))}")
    if problem.g is not None:
        lines.append(f"g = {_string(problem.text.get('g') or to_text(problem.g))}")
    lines.append(f"x = {_string(' '.join(s.name for s in problem.x))}")
    if problem.y:
        lines.append(f"y = {_string(' '.join(s.name for s in problem.y))}")
    if problem.start is not None:
        lines.append(f"start = {_value(problem.start)}")
    for title, table in (
        ("define", definitions),
        ("domain", problem.domain),
        ("knobs", problem.knobs),
        ("data", problem.data),
        ("feasible", {} if problem.feasible is None else problem.feasible.to_dict()),
        ("known", problem.known),
    ):
        if table:
            lines += ["", f"[{title}]", *(f"{_key(k)} = {_value(v)}" for k, v in table.items())]
    return "\n".join(lines) + "\n"


def save(problem: Problem, path: str | Path) -> Path:
    """Write :func:`dump` to a file."""
    path = Path(path)
    path.write_text(dump(problem), encoding="utf-8")
    return path


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _string(name)


def _string(text: str) -> str:
    table = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(table.get(c, c if c.isprintable() else f"\\u{ord(c):04x}") for c in text) + '"'


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, np.ndarray):
        return _value(value.tolist())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, sympy.Integer):
        return str(int(value)) if abs(value) < 2**62 else _string(str(value))
    if isinstance(value, sympy.Basic):
        return _string(to_text(value))
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else _string("oo" if value > 0 else "-oo")
    return repr(value)
