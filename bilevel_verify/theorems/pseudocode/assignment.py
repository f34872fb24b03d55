"""Which names of a pseudo-code are assigned where they are read, along every path.

What is read without a value is shown by a path that can be taken (``feasible``). Whether there may be more is asked
here: paths go through both branches of a condition, through ``break``, and past loops that may run no times. Letters
and sequences count as assigned once any of their entries is; an entry such as ``x[t+1]`` is followed by its text, and
only where no other assignment can have made the same entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.numbers.logic import logical
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.pseudocode.endless import MOST_PASSES
from bilevel_verify.theorems.pseudocode.execution import ScriptFinding
from bilevel_verify.theorems.pseudocode.feasible import Kept, followed
from bilevel_verify.theorems.rewrite import free_letters

Range = tuple[Fraction, bool]
"""The lower end of the range of a letter, and whether it belongs to the range."""


@dataclass(frozen=True, slots=True)
class State:
    """Names and entries that are assigned for certain, and letters whose value is a known number."""

    known: frozenset[str]
    values: Mapping[str, Fraction] = field(default_factory=dict)


def path_defects(
    program: script.Program, inputs: Iterable[str], ranges: Mapping[str, Domain] | None = None
) -> tuple[ScriptFinding, ...]:
    """Reads of names or entries that some path leaves without a value, each name once; loops that a path never leaves.

    Only paths that can be taken count: :mod:`feasible` finds the numbers of one, which the message names.

    Parameters
    ----------
    inputs : names that have a value from the start.
    ranges : where the letters live; without them every loop is taken to run, and only what :func:`possibly_unassigned`
        finds as well counts.
    """
    missed, kept = followed(program, inputs, ranges)
    if ranges is None:
        possible = {key.partition("[")[0] for key in possibly_unassigned(program, inputs)}
        missed = tuple(one for one in missed if one.name in possible)
    endless = tuple(_endless(loop) for loop in kept if loop.proved)
    return (*(_finding(one.statement, one.shown, one.numbers) for one in missed), *endless)


def undecided_reads(
    program: script.Program, inputs: Iterable[str], ranges: Mapping[str, Domain]
) -> tuple[ScriptFinding, ...]:
    """Reads that are not seen to have a value on every path; for programs of which no path without one is found."""
    return tuple(possibly_unassigned(program, inputs, _least(ranges)).values())


def undecided_loops(
    program: script.Program, inputs: Iterable[str], ranges: Mapping[str, Domain]
) -> tuple[ScriptFinding, ...]:
    """Loops that some path is not seen to leave, nor seen never to leave."""
    return tuple(_endless(loop) for loop in followed(program, inputs, ranges)[1] if not loop.proved)


def possibly_unassigned(
    program: script.Program, inputs: Iterable[str], least: Mapping[str, Range] | None = None
) -> dict[str, ScriptFinding]:
    """Name or entry -> where it may be read without a value; paths are not asked whether they can be taken.

    ``least`` holds lower ends of ranges, to see that a loop runs at least once; without it every loop is taken to run.
    Comparisons of what no line changes are answered alike wherever they stand.
    """
    found: dict[str, ScriptFinding] = {}
    for orders in _orders(program):
        flow = _Flow(program, least, orders)
        flow.block(program.statements, State(frozenset(inputs)))
        found |= {key: one for key, one in flow.found.items() if key not in found}
    return found


Orders = Mapping[tuple[tree.Node, tree.Node], int]
MOST_ATOMS = 4
"""Comparisons of what no line changes that are told apart."""


def _orders(program: script.Program) -> Iterator[Orders]:
    """Every way in which the sides of tests can be ordered that no line of the program changes."""
    assigned = _names_assigned(program.statements) | {
        t.base for s in program.walk() if isinstance(s, script.Assign) for t in s.targets if isinstance(t, tree.Index)
    }
    tests = [s.test for s in program.walk() if isinstance(s, script.If | script.While)]
    atoms: dict[tuple[tree.Node, tree.Node], int] = {}
    for part in (p for test in tests for p in test.walk()):
        if isinstance(part, tree.Compare) and len(part.operands) == 2 and not _read(part) & assigned:
            one, other = part.operands
            atom = (other, one) if (other, one) in atoms else (one, other)
            atoms[atom] = atoms.get(atom, 0) + 1
    kept = [atom for atom, times in atoms.items() if times > 1][:MOST_ATOMS]
    for signs in product((-1, 0, 1), repeat=len(kept)):
        yield dict(zip(kept, signs))


def _read(node: tree.Node) -> set[str]:
    """Letters and sequences in an expression."""
    return free_letters(node) | {p.base for p in node.walk() if isinstance(p, tree.Index)}


def _finding(statement: script.Statement, shown: str, numbers: Mapping[str, Fraction]) -> ScriptFinding:
    kind = "unassigned output" if isinstance(statement, script.Return) else "unassigned"
    message = f"{shown} is read, and a path leads here that does not assign it"
    return ScriptFinding(kind, statement.shown, message + _shown(numbers), static=True)


def _endless(loop: Kept) -> ScriptFinding:
    message = "no pass fulfils an exit test" if loop.proved else f"its exit is not reached in {MOST_PASSES} passes"
    return ScriptFinding("unreachable exit", loop.statement.shown, message + _shown(loop.numbers), static=True)


def _shown(numbers: Mapping[str, Fraction]) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in numbers.items())
    return f" ({values})" if values else ""


def _least(ranges: Mapping[str, Domain]) -> dict[str, Range]:
    """Lower ends of ranges that are numbers."""
    ends = {name: (domain.lower, domain.lower_closed) for name, domain in ranges.items()}
    return {n: (end.tree.value, closed) for n, (end, closed) in ends.items()
            if end is not None and isinstance(end.tree, tree.Number)}  # fmt: skip


class _Flow:
    def __init__(self, program: script.Program, least: Mapping[str, Range] | None, orders: Orders) -> None:
        self.least, self.once, self.orders = least or {}, least is None, orders
        assigns = [s for s in program.walk() if isinstance(s, script.Assign)]
        targets = [target for statement in assigns for target in statement.targets]
        self.names = {t.name if isinstance(t, tree.Letter) else t.base for t in targets}
        self.names |= {s.index for s in program.walk() if isinstance(s, script.For)}
        self.entries = [t for t in targets if isinstance(t, tree.Index)]
        self.steady = self.names - _unsteady(assigns)
        self.found: dict[str, ScriptFinding] = {}
        self.breaks: list[list[State]] = []

    def block(self, statements: Iterable[script.Statement], state: State | None) -> State | None:
        """The state behind a block; None if its end is never reached."""
        for statement in statements:
            if state is None:
                return None
            state = self.statement(statement, state)
        return state

    def statement(self, statement: script.Statement, state: State) -> State | None:
        for node in script.expressions_of(statement):
            self.read(node, state, statement)
        match statement:
            case script.Assign(targets=targets, value=value):
                number = _number(value)
                for target in targets:
                    state = _assigned(target, state, number)
                return state
            case script.If(test=test, body=body, orelse=orelse):
                answer = self.answer(test, state)
                yes = None if answer is False else self.block(body, state)
                return _joined([yes, None if answer else self.block(orelse, state)])
            case script.While(test=test, body=body):
                always = isinstance(test, tree.Truth) and test.value
                end, left = self.loop(body, state)
                skipped = None if self.once or self.answer(test, state) else state
                return _joined([None if always else end, skipped, *left])
            case script.For(index=index, start=start, stop=stop, body=body):
                first = _assigned(tree.Letter(index), state, _number(start))
                end, left = self.loop(body, first, {index})
                runs = self.once or self.answer(tree.Compare((start, stop), ("<",)), state)
                return _joined([end, None if runs else state, *left])
            case script.Break():
                self.breaks[-1].append(state)
        return None

    def loop(
        self, body: tuple[script.Statement, ...], state: State, moving: Iterable[str] = ()
    ) -> tuple[State | None, list[State]]:
        """The states at the end of the body and at its breaks, of the first pass and of a later one."""
        self.breaks.append([])
        end = self.block(body, state)
        if end is not None:
            changed = _names_assigned(body) | set(moving)
            later = State(end.known, {n: v for n, v in end.values.items() if n not in changed and n in state.values})
            end = _joined([end, self.block(body, _moved_on(later, state, changed))])
        return end, self.breaks.pop()

    def answer(self, test: tree.Node, state: State) -> bool | None:
        """A test as far as numbers and ranges tell."""
        match test:
            case tree.Truth(value=value):
                return value
            case tree.Logical(operator=word, operands=parts):
                return logical(word, (self.answer(part, state) for part in parts))
            case tree.Compare(operands=(one, other), operators=(op,)):
                for pair, turned in (((one, other), 1), ((other, one), -1)):
                    if pair in self.orders:
                        return tree.HOLDS[op](Fraction(turned * self.orders[pair]), Fraction(0))
                return self.ordered(one, op, other, state)
        return None

    def ordered(self, one: tree.Node, op: str, other: tree.Node, state: State) -> bool | None:
        """A comparison by numbers, or by the lower ends of the ranges of the larger side."""
        left, right = _value(one, state.values), _value(other, state.values)
        if left is not None and right is not None:
            return tree.HOLDS[op](left, right)
        least = self.lowest(other, state) if op in ("<", "<=") else None
        if left is None or least is None:
            return None
        low, closed = least
        return True if left < low or (left == low and not (closed and op == "<")) else None

    def lowest(self, node: tree.Node, state: State) -> Range | None:
        """The least value of a number, a letter with a range, or a sum of these, and whether it is reached."""
        if (number := _value(node, state.values)) is not None:
            return number, True
        match node:
            case tree.Letter(name=name):  # a declared range is one of every value that the letter takes
                return self.least.get(name)
            case tree.Add(terms=terms):
                ends = [self.lowest(term, state) for term in terms]
                found = [end for end in ends if end is not None]
                return (sum((n for n, _ in found), Fraction(0)), all(c for _, c in found)) if None not in ends else None
            case tree.Multiply(factors=(tree.Number(value=factor), rest)) if factor > 0:
                end = self.lowest(rest, state)
                return None if end is None else (factor * end[0], end[1])
        return None

    def read(self, node: tree.Node, state: State, statement: script.Statement) -> None:
        for name in sorted(free_letters(node) & self.names - state.known):
            self.report(name, f"'{name}'", statement)
        for entry in _entries(node):
            if entry.base in state.known and to_text(entry) not in state.known and self.only_there(entry):
                self.report(to_text(entry), f"{to_text(entry)}", statement)

    def report(self, key: str, shown: str, statement: script.Statement) -> None:
        self.found.setdefault(key, _finding(statement, shown, {}))

    def only_there(self, entry: tree.Index) -> bool:
        """Whether the entry is assigned by this text alone: other entries of the name have smaller or fixed indices."""
        texts = [to_text(other) for other in self.entries if other.base == entry.base]
        if to_text(entry) not in texts or not free_letters(tree.Tuple(entry.indices)) <= self.steady:
            return False
        others = [o for o in self.entries if o.base == entry.base and to_text(o) != to_text(entry)]
        return all(_earlier(other, entry) for other in others)


def _unsteady(assigns: Iterable[script.Assign]) -> set[str]:
    """Letters that are assigned anything but a number once, or themselves and a positive number."""
    found: set[str] = set()
    fixed: set[str] = set()
    for statement in assigns:
        for target in statement.targets:
            if not isinstance(target, tree.Letter):
                continue
            shift = _shift(statement.value, target.name)
            if shift is not None and shift > 0:
                continue
            if _number(statement.value) is None or target.name in fixed:
                found.add(target.name)
            fixed.add(target.name)
    return found


def _assigned(target: tree.Letter | tree.Index, state: State, value: Fraction | None) -> State:
    """The state after an assignment: entries whose index changes are other entries now."""
    if isinstance(target, tree.Index):
        return replace(state, known=state.known | {target.base, to_text(target)})
    kept = {key for key in state.known if "[" not in key or target.name not in _letters_of(key)}
    values = {name: number for name, number in state.values.items() if name != target.name}
    if value is not None:
        values[target.name] = value
    return State(frozenset(kept) | {target.name}, values)


def _names_assigned(body: tuple[script.Statement, ...]) -> set[str]:
    program = script.Program(body, "")
    assigns = [t for s in program.walk() if isinstance(s, script.Assign) for t in s.targets]
    return {t.name for t in assigns if isinstance(t, tree.Letter)} | {
        s.index for s in program.walk() if isinstance(s, script.For)
    }


def _moved_on(later: State, first: State, changed: set[str]) -> State:
    """A later pass: the index of the loop and what the body assigns have other values."""
    moving = changed | {name for name in first.values if name not in later.values}
    kept = {key for key in later.known if "[" not in key or not moving & _letters_of(key)}
    return State(frozenset(kept), later.values)


def _letters_of(key: str) -> set[str]:
    inside = key[key.index("[") :]
    return set("".join(c if c.isalnum() or c == "_" else " " for c in inside).split())


def _joined(states: list[State | None]) -> State | None:
    """What holds on every path that arrives."""
    arriving = [state for state in states if state is not None]
    if not arriving:
        return None
    values = {n: v for n, v in arriving[0].values.items() if all(s.values.get(n) == v for s in arriving)}
    return State(frozenset.intersection(*(s.known for s in arriving)), values)


def _value(node: tree.Node, values: Mapping[str, Fraction]) -> Fraction | None:
    """A number, a letter with a known value, or a multiple of 0 modulo anything."""
    if isinstance(node, tree.Letter):
        return values.get(node.name)
    if isinstance(node, tree.Modulo) and _value(node.left, values) == 0:
        return Fraction(0)
    return _number(node)


def _entries(node: tree.Node) -> Iterator[tree.Index]:
    """Entries that are read, outside of sums and their kind."""
    if isinstance(node, tree.Index):
        yield node
    if isinstance(node, tree.Call) and (span := binder(node)) is not None:
        for end in span[1:]:
            yield from _entries(end)
        return
    for part in node.children():
        yield from _entries(part)


def _earlier(other: tree.Index, entry: tree.Index) -> bool:
    """Whether another entry has a fixed index, or one that is smaller than the entry's, in some place."""
    if len(other.indices) != len(entry.indices):
        return True
    return any(_smaller(a, b) for a, b in zip(other.indices, entry.indices))


def _smaller(one: tree.Node, other: tree.Node) -> bool:
    letters = sorted(free_letters(other))
    if _number(one) is not None:
        return bool(letters)
    if len(letters) != 1:
        return False
    a, b = _shift(one, letters[0]), _shift(other, letters[0])
    return a is not None and b is not None and a < b


def _number(node: tree.Node) -> Fraction | None:
    match node:
        case tree.Number(value=value):
            return value
        case tree.Negate(operand=operand):
            inner = _number(operand)
            return None if inner is None else -inner
    return None


def _shift(node: tree.Node, name: str) -> Fraction | None:
    """``c`` where a node is the letter plus the number c."""
    if isinstance(node, tree.Letter):
        return Fraction(0) if node.name == name else None
    if not isinstance(node, tree.Add):
        return None
    letters = [t for t in node.terms if isinstance(t, tree.Letter) and t.name == name]
    numbers = [_number(t) for t in node.terms if t not in letters]
    if len(letters) != 1 or any(n is None for n in numbers):
        return None
    return sum((n for n in numbers if n is not None), Fraction(0))
