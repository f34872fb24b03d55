"""Code generation for structured functions: loops over constant arrays around the unrolled nonlinear core.

The loops themselves are written by :mod:`bilevel_verify.symbolic.loops`; here each oracle is put together from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from bilevel_verify.symbolic import differentiate
from bilevel_verify.symbolic.generate import Source
from bilevel_verify.symbolic.graph import ZERO, reachable
from bilevel_verify.symbolic.groups import Form, Group
from bilevel_verify.symbolic.loops import Block, LoopWriter, Matrix
from bilevel_verify.symbolic.program import Program
from bilevel_verify.symbolic.structure import Structure, plus, times

WORTHWHILE = 120
"""Entries of dense arrays from which on loops are faster to compile and to run than unrolled sums (measured)."""


def generate_structured(name: str, kind: str, structure: Structure, dx: int) -> Source:
    """Source of one oracle of a structured function.

    Parameters
    ----------
    name : of the function.
    kind : ``value grad grad_x grad_y hess hvp hvp_yy jvp_xy jvp_yx`` (see the oracle convention).
    dx : the first dx variables are ``x``, the others ``y``.
    """
    return _Generator(structure, dx).source(name, kind)


class _Generator(LoopWriter):
    """The oracles of one function."""

    def __init__(self, structure: Structure, dx: int) -> None:
        super().__init__()
        self.structure = structure
        n = structure.size
        self.x, self.y, self.z = range(dx), range(dx, n), range(n)
        self.blocks: list[Block] = [("x", self.x), ("y", self.y)]
        self.hessian: Matrix = {}
        for (i, j), value in structure.quadratic.items():
            if i == j:
                self.hessian[i, i] = times(Fraction(2), value)
            else:
                self.hessian[i, j] = self.hessian[j, i] = value
        self.forms = _matrix(structure.forms)

    def source(self, name: str, kind: str) -> Source:
        ranges = {
            "grad": (self.z, self.z),
            "grad_x": (self.x, self.z),
            "grad_y": (self.y, self.z),
            "hvp": (self.z, self.z),
            "hvp_yy": (self.y, self.y),
            "jvp_xy": (self.x, self.y),
            "jvp_yx": (self.y, self.x),
        }
        arguments = ["x", "y"]
        if kind == "value":
            self._value()
        elif kind == "hess":
            self._hessian()
        elif kind.startswith("grad"):
            self._gradient(ranges[kind][0])
        else:
            arguments.append("v")
            self._product(*ranges[kind])
        return self.finished(name, [*arguments, "out"])

    def evaluate_forms(self) -> None:
        """``t = Wz + b`` for the core."""
        self.evaluate("t", self.structure.forms, self.forms)

    def evaluate(self, target: str, forms: Sequence[Form], matrix: Matrix) -> None:
        """Affine forms at (x, y) into a work array."""
        if forms:
            self.start(target, [constant for _, constant in forms])
            for block in self.blocks:
                self.multiply(target, matrix, range(len(forms)), block)

    def group_loop(
        self, number: int, group: Group, program: Program, inputs: Sequence[str], targets: Sequence[str]
    ) -> None:
        """One loop over the terms of a group; ``inputs`` are the texts of what follows the slots and the numbers."""
        slots = [f"u{number}_{a}[k]" for a in range(len(group.forms))]
        numbers = [f"{self.array(values)}[k]" for values in group.parameters]
        self.lines.append(f"for k in range({group.count}):")
        self.unroll(program, [*slots, *numbers, *inputs], targets, inside=True)

    def evaluate_slots(self, number: int, group: Group) -> list[Matrix]:
        """The affine forms of a group into ``u<number>_<slot>``; their matrices."""
        matrices = [_matrix(forms) for forms in group.forms]
        for a, (forms, matrix) in enumerate(zip(group.forms, matrices, strict=True)):
            self.evaluate(f"u{number}_{a}", forms, matrix)
        return matrices

    def variable(self, i: int) -> str:
        """Text of a variable."""
        return f"x[{i}]" if i in self.x else f"y[{i - len(self.x)}]"

    def core_inputs(self) -> list[str]:
        """Texts of the inputs of the core."""
        return [self.variable(i) for i in self.z] + [f"t[{k}]" for k in range(len(self.structure.forms))]

    def used(self) -> tuple[list[int], list[int]]:
        """Variables and forms (as positions among the inputs) that the core depends on."""
        core = self.structure.core
        if core is None:
            return [], []
        needed = reachable(core.instructions, core.outputs)
        found = sorted(i.value for i, flag in zip(core.instructions, needed, strict=True) if flag and i.op == "input")
        return [p for p in found if p < self.structure.size], [p for p in found if p >= self.structure.size]

    # oracles

    def _value(self) -> None:
        self.start("w", [self.structure.linear.get(i, ZERO) for i in self.z])
        half = {place: times(Fraction(1, 2), v) for place, v in self.hessian.items()}
        for block in self.blocks:
            self.multiply("w", half, self.z, block)
        self.evaluate_forms()
        self.lines.append("total = 0.0")
        for name, variables in self.blocks:
            if len(variables):
                self.lines += [f"for i in range({len(variables)}):", f"    total += w[{variables[0]} + i]*{name}[i]"]
        constant = self.array([self.structure.constant])
        self.lines.append(f"out[0] = total + {constant}[0]")
        for number, group in enumerate(self.structure.groups):
            self.evaluate_slots(number, group)
            self.lines.append("total = 0.0")
            self.group_loop(number, group, group.template, [], ["total +="])
            self.lines.append("out[0] += total")
        if self.structure.core is not None:
            self.unroll(self.structure.core, self.core_inputs(), ["out[0] +="])

    def _gradient(self, rows: Sequence[int]) -> None:
        core = self.structure.core
        direct, forms = self.used()
        wanted = [p for p in direct if p in rows]
        self.evaluate_forms()
        self.start("o", [self.structure.linear.get(i, ZERO) for i in rows])
        if core is not None:
            if forms:
                self.lines.append(f"s = zeros({len(self.structure.forms)})")
            targets = [f"s[{p - self.structure.size}] =" for p in forms] + [f"o[{rows.index(p)}] +=" for p in wanted]
            self.unroll(differentiate.gradient(core, [*forms, *wanted]), self.core_inputs(), targets)
        for block in self.blocks:
            self.multiply("o", self.hessian, rows, block)
        if forms:
            self.transposed("o", rows, self.forms, "s", len(self.structure.forms))
        for number, group in enumerate(self.structure.groups):
            self._group_gradient(number, group, rows)
        self.deliver(len(rows))

    def _group_gradient(self, number: int, group: Group, rows: Sequence[int]) -> None:
        matrices = [_matrix(forms) for forms in group.forms]
        slots = [a for a, matrix in enumerate(matrices) if any(i in rows for _, i in matrix)]
        if not slots:
            return
        self.evaluate_slots(number, group)
        self.lines += [f"s{number}_{a} = zeros({group.count})" for a in slots]
        program = differentiate.gradient(group.template, slots)
        self.group_loop(number, group, program, [], [f"s{number}_{a}[k] =" for a in slots])
        for a in slots:
            self.transposed("o", rows, matrices[a], f"s{number}_{a}", group.count)

    def _group_product(self, number: int, group: Group, rows: Sequence[int], columns: Sequence[int]) -> None:
        matrices = [_matrix(forms) for forms in group.forms]
        slots = [a for a, matrix in enumerate(matrices) if any(i in rows for _, i in matrix)]
        moved = [a for a, matrix in enumerate(matrices) if any(i in columns for _, i in matrix)]
        program = differentiate.jacobian_product(differentiate.gradient(group.template, slots), moved)
        if not slots or not moved or all(_is_zero(program, o) for o in program.outputs):
            return
        self.evaluate_slots(number, group)
        for a in moved:
            self.lines.append(f"d{number}_{a} = zeros({group.count})")
            self.multiply(f"d{number}_{a}", matrices[a], range(group.count), ("v", columns))
        self.lines += [f"s{number}_{a} = zeros({group.count})" for a in slots]
        self.group_loop(
            number, group, program, [f"d{number}_{a}[k]" for a in moved], [f"s{number}_{a}[k] =" for a in slots]
        )
        for a in slots:
            self.transposed("o", rows, matrices[a], f"s{number}_{a}", group.count)

    def _product(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        core, n = self.structure.core, self.structure.size
        direct, forms = self.used()
        self.start("o", [ZERO] * len(rows))
        self.multiply("o", self.hessian, rows, ("v", columns))
        for number, group in enumerate(self.structure.groups):
            self._group_product(number, group, rows, columns)
        if core is None:
            self.deliver(len(rows))
            return
        self.evaluate_forms()
        moved = set(columns)
        along_forms = [p for p in forms if any(i in moved for i in self.structure.forms[p - n][0])]
        along = [*along_forms, *(p for p in direct if p in moved)]
        wanted = [p for p in direct if p in rows]
        if forms:
            count = len(self.structure.forms)
            self.lines += [f"d = zeros({count})", f"s = zeros({count})"]
            self.multiply("d", self.forms, range(count), ("v", columns))
        program = differentiate.jacobian_product(differentiate.gradient(core, [*forms, *wanted]), along)
        inputs = self.core_inputs() + [f"d[{p - n}]" if p >= n else f"v[{columns.index(p)}]" for p in along]
        targets = [f"s[{p - n}] =" for p in forms] + [f"o[{rows.index(p)}] +=" for p in wanted]
        self.unroll(program, inputs, targets)
        if forms:
            self.transposed("o", rows, self.forms, "s", len(self.structure.forms))
        self.deliver(len(rows))

    def _hessian(self) -> None:
        n, core = self.structure.size, self.structure.core
        rows = self.array([tuple(self.hessian.get((i, j), ZERO) for j in self.z) for i in self.z])
        self.lines += [
            f"for i in range({n}):",
            f"    r0 = {rows}[i]",
            f"    for j in range({n}):",
            f"        out[i*{n} + j] = r0[j]",
        ]
        for number, group in enumerate(self.structure.groups):
            self._group_hessian(number, group, n)
        if core is not None:
            self._core_hessian(core, n)
        self.lines += [
            f"for i in range({n}):",
            "    for j in range(i):",
            f"        out[i*{n} + j] = out[j*{n} + i]",
        ]

    def _group_hessian(self, number: int, group: Group, n: int) -> None:
        """``sum_k h_ab[k] (W_a[k]' W_b[k] + its transpose)`` onto the upper triangle, for every pair of slots."""
        count = len(group.forms)
        full = differentiate.hessian(group.template, range(count))
        pairs = [
            (a, b) for a in range(count) for b in range(a, count) if not _is_zero(full, full.outputs[a * count + b])
        ]
        if not pairs:
            return
        matrices = self.evaluate_slots(number, group)
        self.lines += [f"h{number}_{a}_{b} = zeros({group.count})" for a, b in pairs]
        program = full.restrict([full.outputs[a * count + b] for a, b in pairs])
        self.group_loop(number, group, program, [], [f"h{number}_{a}_{b}[k] =" for a, b in pairs])
        for a, b in pairs:
            self._outer_products(f"h{number}_{a}_{b}", matrices[a], matrices[b], group.count, n)

    def _outer_products(self, weights: str, left: Matrix, right: Matrix, count: int, n: int) -> None:
        same = left is right
        if len(left) <= 3 * count and len(right) <= 3 * count:
            self._sparse_outer_products(weights, left, right, count, n)
            return
        p, q = (self.array([tuple(m.get((k, i), ZERO) for i in range(n)) for k in range(count)]) for m in (left, right))
        self.lines += [f"for k in range({count}):", f"    b = {weights}[k]", f"    r0 = {p}[k]", f"    r1 = {q}[k]"]
        self.lines += [f"    for i in range({n}):", "        a0 = r0[i]*b"]
        if same:
            self.lines += [f"        for j in range(i, {n}):", f"            out[i*{n} + j] += a0*r1[j]"]
        else:
            self.lines += ["        a1 = r1[i]*b", f"        for j in range(i, {n}):"]
            self.lines += [f"            out[i*{n} + j] += a0*r1[j] + a1*r0[j]"]

    def _sparse_outer_products(self, weights: str, left: Matrix, right: Matrix, count: int, n: int) -> None:
        rows: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
        for (k, j), v in sorted(right.items(), key=lambda item: item[0]):
            rows[k].append((j, v))
        total: dict[tuple[int, int], Any] = {}
        for (k, i), u in left.items():
            for j, v in rows[k]:
                places = [(i, j)] if left is right else [(i, j), (j, i)]
                for a, b in places:
                    if a <= b:
                        total[k, a * n + b] = plus(total.get((k, a * n + b), ZERO), times(u, v))
        order = sorted(total)
        term, place = self.array([k for k, _ in order]), self.array([p for _, p in order])
        value = self.array([total[e] for e in order])
        self.lines += [f"for e in range({len(order)}):", f"    out[{place}[e]] += {value}[e]*{weights}[{term}[e]]"]

    def _core_hessian(self, core: Program, n: int) -> None:
        self.evaluate_forms()
        direct, forms = self.used()
        entries, program = _core_hessian(core, [*direct, *forms])
        if entries:
            self.lines.append(f"h = zeros({len(entries)})")
            self.unroll(program, self.core_inputs(), [f"h[{place}] =" for place in range(len(entries))])
        for place, (a, b) in enumerate(entries):
            if b < n:
                self.lines.append(f"out[{a * n + b}] += h[{place}]")
        self._mixed_terms([(place, a, b) for place, (a, b) in enumerate(entries) if a < n <= b], n)
        self._congruence([(place, a, b) for place, (a, b) in enumerate(entries) if a >= n], n)

    def _mixed_terms(self, across: Sequence[tuple[int, int, int]], n: int) -> None:
        """Entries d2r/dz_a dt_k: ``e_a w_k' + w_k e_a'`` onto the upper triangle."""
        for place, a, b in across:
            for i, value in self.structure.forms[b - n][0].items():
                low, high = min(a, i), max(a, i)
                factor = times(Fraction(2), value) if i == a else value
                self.lines.append(f"out[{low * n + high}] += {self.array([factor])}[0]*h[{place}]")

    def _congruence(self, inside: Sequence[tuple[int, int, int]], n: int) -> None:
        """``W' H W`` onto the upper triangle: row k of ``H W`` at a time."""
        if not inside:
            return
        m = len(self.structure.forms)
        dense = self.array([tuple(self.forms.get((k, i), ZERO) for i in range(n)) for k in range(m)])
        entries = sorted(
            {(a - n, b - n, place) for place, a, b in inside} | {(b - n, a - n, place) for place, a, b in inside}
        )
        starts = [0]
        for k in range(m):
            starts.append(starts[-1] + sum(1 for row, _, _ in entries if row == k))
        first, other = self.array(starts), self.array([column for _, column, _ in entries])
        kept = self.array([place for _, _, place in entries])
        self.lines += [
            f"p = zeros({n})",
            f"for k in range({m}):",
            f"    for i in range({n}):",
            "        p[i] = 0.0",
            f"    for e in range({first}[k], {first}[k + 1]):",
            f"        a0 = h[{kept}[e]]",
            f"        r0 = {dense}[{other}[e]]",
            f"        for i in range({n}):",
            "            p[i] = p[i] + a0*r0[i]",
            f"    r1 = {dense}[k]",
            f"    for i in range({n}):",
            "        a1 = r1[i]",
            f"        for j in range(i, {n}):",
            f"            out[i*{n} + j] += a1*p[j]",
        ]


def _core_hessian(core: Program, inputs: Sequence[int]) -> tuple[list[tuple[int, int]], Program]:
    """The entries (a <= b) of the Hessian of the core that are not identically zero, and their program."""
    full = differentiate.hessian(core, list(inputs))
    count = len(inputs)
    kept: list[tuple[int, int]] = []
    outputs: list[int] = []
    for i in range(count):
        for j in range(i, count):
            output = full.outputs[i * count + j]
            if not _is_zero(full, output):
                kept.append((inputs[i], inputs[j]))
                outputs.append(output)
    return kept, full.restrict(outputs)


def _is_zero(program: Program, output: int) -> bool:
    instruction = program.instructions[output]
    return bool(instruction.op == "const" and instruction.value == 0)


def _matrix(forms: Sequence[Form]) -> Matrix:
    """Coefficients of affine forms, by (form, variable)."""
    return {(k, i): v for k, (row, _) in enumerate(forms) for i, v in row.items()}
