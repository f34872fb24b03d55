"""Recognise well-known expressions and write them with the stable atoms; take SymPy's own kinks over to ours.

``log(1 + e^t) -> softplus(t)``, ``log(e^a + e^b + ...) -> logsumexp``, ``1/(1 + e^-t) -> sigmoid(t)``,
``log(cosh t) -> logcosh(t)``, ``max(t, 0) + log(1 + e^-|t|) -> softplus(t)`` and such for ``logsumexp`` (so libraries
write them), ``|t|``, ``max``, ``min``, ``sign`` -> powers whose smoothness is known. The value is the same function
everywhere; only overflow and lost kinks go away.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import S

from bilevel_verify import atoms


def stabilise(expression: sympy.Expr) -> sympy.Expr:
    """Bottom-up rewriting of one expression (shared subexpressions once)."""
    return _Rewriter().visit(expression)


class _Rewriter:
    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.unchanged: set[Any] = set()

    def visit(self, node: sympy.Expr) -> sympy.Expr:
        if not node.args:
            return node
        if node in self.unchanged:
            return node  # not an equal one seen before: its parents would be built, and evaluated, anew
        found = self.known.get(node)
        if found is None:
            arguments = [self.visit(a) for a in node.args]
            same = all(a is b for a, b in zip(arguments, node.args))
            found = _rule(node if same else node.func(*arguments))
            if found is node:
                self.unchanged.add(node)
            else:
                self.known[node] = found
        return found


def _rule(node: object) -> sympy.Expr:
    if isinstance(node, sympy.log):
        return _logarithm(node)
    if isinstance(node, sympy.Add):
        return _softplus_in_parts(node)
    if isinstance(node, sympy.Mul):
        return _sign_products(_absorb_exponentials(node))
    if isinstance(node, sympy.Pow):
        return _logistic(node)
    if isinstance(node, sympy.Abs):
        return atoms.abspow(S.One, node.args[0])
    if isinstance(node, sympy.sign):
        return atoms.sgnpow(S.Zero, node.args[0])
    if isinstance(node, sympy.Max | sympy.Min):
        return _extreme(node)
    return node


def _extreme(node: sympy.Expr) -> sympy.Expr:
    flip = 1 if isinstance(node, sympy.Max) else -1
    values = sorted((flip * a for a in node.args), key=sympy.default_sort_key)
    result = values[0]
    for value in values[1:]:
        result = atoms.plus(value) if result == 0 else result + atoms.plus(value - result)
    return flip * result


def _logarithm(node: sympy.Expr) -> sympy.Expr:
    inner = node.args[0]
    if isinstance(inner, sympy.cosh):
        return atoms.logcosh(inner.args[0])
    if not isinstance(inner, sympy.Add) or not inner.has(sympy.exp):
        return node
    exponents = [_exponent(term) for term in inner.args]
    if any(e is None for e in exponents) or all(e.is_number for e in exponents):
        return node
    if len(exponents) == 2 and S.Zero in exponents:
        exponents.remove(S.Zero)
        return atoms.softplus(exponents[0])
    return _shifted(exponents)


def _shifted(exponents: list[object]) -> object:
    """``logsumexp``; a maximum that was taken away from every exponent stands before it, where it cancels."""
    shared = set.intersection(*({*sympy.Add.make_args(e)} for e in exponents))
    shift = sympy.Add(*(term for term in shared if term.has(atoms.pluspow)))
    if shift == 0:
        return atoms.logsumexp(*exponents)
    return shift + _logarithm(sympy.log(sympy.Add(*(sympy.exp(e - shift) for e in exponents)), evaluate=False))


def _softplus_in_parts(node: sympy.Expr) -> object:
    """``max(t, 0) + log(1 + e^-|t|) -> softplus(t)``, each with the same factor: the kinks of the parts cancel."""
    terms = dict(term.as_coeff_Mul()[::-1] for term in node.args)
    for tail, factor in [*terms.items()]:
        t = (-tail.args[0]).argument if isinstance(tail, atoms.softplus) and _minus_absolute(tail.args[0]) else None
        for argument in () if t is None else (t, -t):
            if terms.get(atoms.plus(argument)) == factor:
                rest = [term for term in node.args if term.as_coeff_Mul()[1] not in (tail, atoms.plus(argument))]
                return _rule(sympy.Add(*rest, factor * atoms.softplus(argument)))
    return node


def _minus_absolute(t: sympy.Expr) -> bool:
    """``t = -|u|``, held as ``-1 * |u|``."""
    return isinstance(-t, atoms.abspow) and (-t).parameters[0] == 1


def _exponent(term: sympy.Expr) -> sympy.Expr:
    """``a`` with ``term == e^a``: exponentials, positive numbers, and their products; None for anything else."""
    if isinstance(term, sympy.exp):
        return term.args[0]
    if term.is_number:
        return sympy.log(term) if term.is_positive else None
    if isinstance(term, sympy.Mul):
        parts = [_exponent(f) for f in term.args]
        return None if any(p is None for p in parts) else sympy.Add(*parts)
    return None


def _logistic(node: sympy.Expr) -> sympy.Expr:
    """``(1 + e^t)^-n -> sigmoid(-t)^n``."""
    if not node.exp.is_integer or not node.exp.is_negative:
        return node
    t = _one_plus_exponential(node.base)
    return node if t is None else atoms.sigmoid(-t) ** (-node.exp)


def _absorb_exponentials(node: sympy.Expr) -> sympy.Expr:
    """``e^(m t) sigmoid(-t)^n -> sigmoid(t)^m sigmoid(-t)^(n - m)`` for integers ``1 <= m <= n``."""
    for one in node.args:
        base, power = one.as_base_exp()
        if not isinstance(base, atoms.sigmoid) or not power.is_Integer or power < 1:
            continue
        for other in node.args:
            if not isinstance(other, sympy.exp):
                continue
            ratio = sympy.cancel(-other.args[0] / base.args[0])
            if ratio.is_Integer and 1 <= ratio <= power:
                rest = [a for a in node.args if a is not one and a is not other]
                return _rule(sympy.Mul(*rest, atoms.sigmoid(-base.args[0]) ** ratio, base ** (power - ratio)))
    return node


def _one_plus_exponential(base: sympy.Expr) -> sympy.Expr | None:
    if not isinstance(base, sympy.Add) or len(base.args) != 2 or S.One not in base.args:
        return None
    other = base.args[0] if base.args[1] == 1 else base.args[1]
    return other.args[0] if isinstance(other, sympy.exp) else None


def _sign_products(node: sympy.Expr) -> sympy.Expr:
    """``sgn(t)|t|^p |t|^q`` and ``|t|^p t`` as one power, so that no kink is invented by the product rule."""
    if not isinstance(node, sympy.Mul):
        return node
    powers = [f for f in node.args if isinstance(f, atoms.abspow | atoms.sgnpow)]
    if not powers:
        return node
    argument = powers[0].argument
    total, odd, rest = S.Zero, False, []
    for factor in node.args:
        base, exponent = factor.as_base_exp()
        if isinstance(factor, atoms.abspow | atoms.sgnpow) and factor.argument == argument:
            total += factor.parameters[0]
            odd ^= isinstance(factor, atoms.sgnpow)
        elif base == argument and exponent.is_Integer and exponent.is_positive:
            total += exponent
            odd ^= bool(exponent.is_odd)
        else:
            rest.append(factor)
    if len(rest) >= len(node.args) - 1:
        return node
    return sympy.Mul(*rest, (atoms.sgnpow if odd else atoms.abspow)(total, argument))
