"""A solver's run against the pseudo-code: the first line whose result differs, with both values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.checks.solvers.own_solver import trace_of, trajectory_of
from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.run import Run
from bilevel_verify.testing.instances.counting import Call
from bilevel_verify.testing.printed.running import Event, Key, Place, Transcript
from bilevel_verify.testing.trials.contracts import BrokenContract

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Handed:
    """What a solver handed back: rows of its sequences by (t, k), its output, its calls.

    ``epochs`` : whether it says where they begin; else the rows are those of one long epoch. ``minimax`` : g is -f.
    """

    sequences: Mapping[str, Mapping[Key, FloatArray]]
    output: FloatArray | None
    log: Sequence[Call]
    epochs: bool
    minimax: bool = False


@dataclass(frozen=True)
class Difference:
    """The first difference: a line, what differs there, and both values."""

    place: Place
    what: str
    got: str
    wanted: str
    size: float
    kind: str = "a different result"


def handed(raw: object, x0: FloatArray, log: Sequence[Call], minimax: bool = False) -> Handed:
    """What a solver may hand back to ``verify``: iterates, epochs, ``(iterates, output)``, a trajectory or a run.

    Raises
    ------
    BrokenContract : it is none of these, or not finite.
    """
    try:
        if isinstance(raw, Run):
            trace, output, known = raw.trace, raw.x, True
        else:
            answer, known = trajectory_of(raw, x0, len(x0))
            trace, output = trace_of(answer, len(x0)), answer.output
    except ParameterError as error:
        raise BrokenContract("returns no run", "the run", str(error)) from None
    rows: dict[str, dict[Key, FloatArray]] = {}
    for name, table in trace.sequences.items():
        numbers = np.asarray(table, dtype=float)
        pairs = zip(zip(trace.epoch.tolist(), trace.k.tolist()), numbers)
        rows[name] = {(int(t), int(k)): row for (t, k), row in pairs if name == "x" or not np.isnan(row).all()}
    if not all(np.isfinite(row).all() for row in rows["x"].values()):
        raise BrokenContract("returns NaN or infinity", "the iterates")
    last = list(rows["x"].values())[-1] if output is None else np.atleast_1d(np.asarray(output, dtype=float))
    return Handed(rows, last, log, known, minimax)


def gap(got: FloatArray, wanted: FloatArray) -> float:
    """``|got - wanted| / (1 + |wanted|)``; infinity for another shape."""
    if got.shape != wanted.shape:
        return float("inf")
    return float(np.linalg.norm(got - wanted) / (1 + np.linalg.norm(wanted)))


def first_difference(whole: Transcript, mine: Handed, tolerance: float) -> Difference | None:
    """The first line of the pseudo-code whose result differs; None if nothing does.

    Iterates and every further sequence that was handed back decide, then the number of steps, then the output. The
    line named is the first one whose questions the solver did not ask, or that made the entry that differs.
    """
    by_rows = _of_entries(whole, mine, tolerance)
    if by_rows is not None:
        event, found = by_rows
        return _earlier(whole, mine, event, tolerance) or found
    if mine.output is not None and whole.output is not None and not gap(mine.output, whole.output) <= tolerance:
        place = whole.last
        return Difference(place, "the output", _text(mine.output), _text(whole.output), gap(mine.output, whole.output))
    return None


def _entries(whole: Transcript) -> Iterator[tuple[int, Event]]:
    """The last event that made each entry of a sequence, in the order of the run."""
    last: dict[tuple[str, Key], int] = {}
    for number, event in enumerate(whole.events):
        if event.key is not None and not event.place.inside:
            last[event.name, event.key] = number
    for number in sorted(last.values()):
        yield number, whole.events[number]


def _of_entries(whole: Transcript, mine: Handed, tolerance: float) -> tuple[int, Difference] | None:
    """The first entry that differs, is missing, or should not be there."""
    rows = mine.sequences if mine.epochs else {"x": _folded(whole, mine.sequences["x"], tolerance)}
    for number, event in _entries(whole):
        name, key = event.name, event.key
        if name not in rows or key is None or key[1] < 0:
            continue
        wanted = whole.sequences[name][key]
        what = f"{name}[{key[0]}, {key[1]}]"
        if key not in rows[name]:
            if name == "x":
                return number, Difference(
                    event.place, what, "no such iterate", _text(wanted), float("inf"), "ends early"
                )
            continue
        got = rows[name][key]
        if not gap(got, wanted) <= tolerance:
            return number, Difference(event.place, what, _text(got), _text(wanted), gap(got, wanted))
    more = sorted(rows["x"].keys() - whole.sequences["x"].keys())
    if more:
        what = f"x[{more[0][0]}, {more[0][1]}]"
        found = Difference(whole.last, what, _text(rows["x"][more[0]]), "no such iterate", float("inf"), "goes on")
        return len(whole.events), found
    return None


def _folded(whole: Transcript, flat: Mapping[Key, FloatArray], tolerance: float) -> dict[Key, FloatArray]:
    """A flat list as the epochs that the pseudo-code has; starts of epochs may be left out of the list."""
    keys = sorted(key for key in whole.sequences["x"] if key[1] >= 0)
    without = [key for key in keys if key[1] > 0 or key[0] == 0]
    points = _from_the_first(whole, [flat[key] for key in sorted(flat)], (len(keys), len(without)), tolerance)
    chosen = without if len(points) != len(keys) else keys
    found = dict(zip(chosen, points))
    last = chosen[-1]
    found |= {(last[0], last[1] + 1 + i): point for i, point in enumerate(points[len(chosen) :])}
    if chosen is without:
        found |= {key: whole.sequences["x"][key] for key in keys if key[1] == 0 and key[0] > 0 and key not in found}
    return found


def _from_the_first(
    whole: Transcript, points: list[FloatArray], lengths: tuple[int, ...], tolerance: float
) -> list[FloatArray]:
    """A list that need not begin with the start of the run, from x[0, 0] on.

    The start is no iterate where the pseudo-code makes its first one from it; and a list without the start, whose first
    iterate is the start again, looks as if it began with it.
    """
    x = whole.sequences["x"]
    first, second = x[0, 0], x.get((0, 1))
    if len(points) > 1 and gap(points[1], first) <= tolerance:
        twice = gap(points[0], first) <= tolerance
        if not twice or (len(points) - 1 in lengths and len(points) not in lengths):
            return points[1:]
    stays = second is not None and gap(second, first) <= tolerance
    return [first, *points] if stays and len(points) + 1 in lengths and len(points) not in lengths else points


def reproduces(other: Transcript, mine: Handed, tolerance: float, calls: bool) -> bool:
    """Whether another pseudo-code gives what the solver gave: iterates and output (or the number of calls)."""
    theirs = other.sequences.get("x", {})
    if other.halted or not theirs or mine.output is None or other.output is None:
        return False
    rows = mine.sequences["x"] if mine.epochs else _folded(other, mine.sequences["x"], tolerance)
    if rows.keys() != {key for key in theirs if key[1] >= 0}:
        return False
    if calls and _numbers(other.log, mine.minimax) != _numbers(mine.log, mine.minimax):
        return False
    pairs = [*((rows[key], theirs[key]) for key in rows), (mine.output, other.output)]
    return all(gap(a, b) <= tolerance for a, b in pairs)


def _earlier(whole: Transcript, mine: Handed, until: int, tolerance: float) -> Difference | None:
    """The first question before an event that the solver did not ask, blamed on the line that made its point."""
    asked: dict[str, list[Call]] = {}
    for made in mine.log:
        asked.setdefault(made.kind, []).append(made)
    seen: dict[str, int] = {}
    for number, event in enumerate(whole.events[:until]):
        call = event.call
        if call is None or call.kind not in asked:
            continue
        place = seen[call.kind] = seen.get(call.kind, -1) + 1
        mine_of_kind = asked[call.kind]
        if any(_same(call, other, tolerance) for other in mine_of_kind[max(0, place - 3) : place + 4]):
            continue
        if any(_same(call, other, tolerance) for other in mine_of_kind):
            continue
        nearest = mine_of_kind[min(place, len(mine_of_kind) - 1)]
        return _blamed(whole, number, event, nearest, mine_of_kind, tolerance)
    return None


def _parts(call: Call) -> list[FloatArray]:
    return [part for part in (call.x, call.y, call.v) if part is not None and part.size]


def _same(one: Call, other: Call, tolerance: float) -> bool:
    first, second = _parts(one), _parts(other)
    return len(first) == len(second) and all(gap(a, b) <= tolerance for a, b in zip(second, first))


def _blamed(
    whole: Transcript, number: int, event: Event, nearest: Call, others: Sequence[Call], tolerance: float
) -> Difference:
    """The line that made the argument which the solver never asked at; else the line that asks."""
    call = event.call
    assert call is not None
    for place, part in enumerate(_parts(call)):
        if any(len(p := _parts(other)) > place and gap(p[place], part) <= tolerance for other in others):
            continue
        got = _parts(nearest)[place] if len(_parts(nearest)) > place else part
        for earlier in reversed(whole.events[:number]):
            if earlier.value is not None and earlier.value.shape == part.shape and np.array_equal(earlier.value, part):
                what = _named(earlier)
                return Difference(earlier.place, what, _text(got), _text(part), gap(got, part))
        what = f"the argument of {call.kind}"
        return Difference(event.place, what, _text(got), _text(part), gap(got, part))
    point, theirs = ", ".join(map(_text, _parts(call))), ", ".join(map(_text, _parts(nearest)))
    return Difference(event.place, f"the place of {call.kind}", theirs, point, float("inf"), "another question")


def _named(event: Event) -> str:
    return event.name if event.key is None else f"{event.name}[{event.key[0]}, {event.key[1]}]"


def _text(point: FloatArray) -> str:
    return f"[{', '.join(f'{v:.10g}' for v in point)}]"


def counted(log: Sequence[Call], minimax: bool = False) -> dict[str, list[Call]]:
    """Calls by kind as papers count them: the two parts of a gradient at one point, one after the other, are one.

    ``minimax`` : g is -f, so that a solver may ask either; they are one kind.
    """
    found: dict[str, list[Call]] = {}
    last: dict[str, set[str]] = {}
    for call in log:
        kind = call.kind[:-1] + "f" if minimax and call.kind.endswith("_g") else call.kind
        calls, parts = found.setdefault(kind, []), last.setdefault(call.kind, set())
        other = call.part and "" not in parts and call.part not in parts
        whole = call.kind.startswith("hess") or (call.kind.startswith("grad") and other)
        if not (calls and whole and calls[-1].kind == call.kind and _same(calls[-1], call, 0.0)):
            calls.append(call)
            parts.clear()
        parts.add(call.part)
    return found


def _numbers(log: Sequence[Call], minimax: bool) -> dict[str, int]:
    return {kind: len(calls) for kind, calls in counted(log, minimax).items()}


def excess(whole: Transcript, mine: Handed, tolerance: float) -> Difference | None:
    """The first question that the paper does not count: of a kind asked more often than the pseudo-code asks it."""
    theirs, own = counted(whole.log, mine.minimax), counted(mine.log, mine.minimax)
    for kind, calls in own.items():
        wanted = theirs.get(kind, [])
        if len(calls) <= len(wanted):
            continue
        number = next((i for i, (a, b) in enumerate(zip(calls, wanted)) if not _same(a, b, tolerance)), len(wanted))
        extra = calls[number]
        place = _asking(whole, extra, min(number, len(wanted)) - 1, tolerance)
        point = ", ".join(map(_text, _parts(extra)))
        what = f"call {number + 1} of {kind}, at {point}"
        return Difference(place, what, f"{len(calls)} calls", f"{len(wanted)} calls", float("inf"), "asks more often")
    return None


def _asking(whole: Transcript, call: Call, before: int, tolerance: float) -> Place:
    """The line that asks this question, or else the one that asked last before it."""
    events = [event for event in whole.events if event.call is not None and event.call.kind == call.kind]
    for event in events:
        if event.call is not None and _same(event.call, call, tolerance):
            return event.place
    return events[min(max(before, 0), len(events) - 1)].place if events else whole.last
