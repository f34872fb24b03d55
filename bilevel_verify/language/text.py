"""Tree back to text of the language, with no more brackets than needed; ``parse(to_text(node)) == node``."""

from __future__ import annotations

from bilevel_verify.language import tree as t

CONDITIONAL, OR, AND, NOT, RELATION, SUM, PRODUCT, SIGN, POWER, ATOM = range(10)


def to_text(node: t.Node) -> str:
    """The expression as a card or a command line would write it."""
    return _at(node, CONDITIONAL)


def _at(node: t.Node, level: int) -> str:
    text, own = _plain(node)
    return f"({text})" if own < level else text


def _plain(node: t.Node) -> tuple[str, int]:
    match node:
        case t.Number(value=value):
            if value.denominator == 1:
                return str(value.numerator), ATOM if value >= 0 else SUM
            decimal = _decimal(value.numerator, value.denominator)
            return (decimal, ATOM) if decimal else (f"{value.numerator}/{value.denominator}", PRODUCT)
        case t.Truth(value=value):
            return str(value), ATOM
        case t.Letter(name=name):
            return name, ATOM
        case t.Add(terms=terms):
            return _sum(terms), SUM
        case t.Multiply(factors=factors):
            return "*".join(
                _at(f, PRODUCT if i == 0 and not isinstance(f, t.Multiply) else SIGN) for i, f in enumerate(factors)
            ), PRODUCT
        case t.Divide(numerator=top, denominator=bottom):
            return f"{_at(top, PRODUCT)}/{_at(bottom, SIGN)}", PRODUCT
        case t.MatrixMultiply(left=left, right=right):
            return f"{_at(left, PRODUCT)} @ {_at(right, SIGN)}", PRODUCT
        case t.Modulo(left=left, right=right):
            return f"{_at(left, PRODUCT)} % {_at(right, SIGN)}", PRODUCT
        case t.Negate(operand=operand):
            return f"-{_at(operand, SIGN)}", SIGN
        case t.Power(base=base, exponent=exponent):
            return f"{_at(base, ATOM)}**{_at(exponent, SIGN)}", POWER
        case t.Call(function=name, arguments=arguments):
            return f"{name}({', '.join(_at(a, CONDITIONAL) for a in arguments)})", ATOM
        case t.Index(base=base, indices=indices):
            return f"{base}[{','.join(_at(i, CONDITIONAL) for i in indices)}]", ATOM
        case t.Tuple(items=items):
            inner = ", ".join(_at(i, CONDITIONAL) for i in items)
            return f"({inner},)" if len(items) == 1 else f"({inner})", ATOM
    return _condition(node)


def _condition(node: t.Node) -> tuple[str, int]:
    match node:
        case t.Compare(operands=operands, operators=operators):
            rest = (f" {op} {_at(o, SUM)}" for op, o in zip(operators, operands[1:], strict=True))
            return _at(operands[0], SUM) + "".join(rest), RELATION
        case t.Logical(operator=word, operands=operands):
            level = AND if word == "and" else OR
            return f" {word} ".join(_at(o, level + 1) for o in operands), level
        case t.Not(operand=operand):
            return f"not {_at(operand, NOT)}", NOT
        case t.Conditional(test=test, yes=yes, no=no):
            return f"{_at(yes, OR)} if {_at(test, OR)} else {_at(no, CONDITIONAL)}", CONDITIONAL
    raise TypeError(f"no text for {type(node).__name__}")


def _sum(terms: tuple[t.Node, ...]) -> str:
    text = _at(terms[0], SUM if not isinstance(terms[0], t.Add) else PRODUCT)
    for term in terms[1:]:
        if isinstance(term, t.Negate):
            text += f" - {_at(term.operand, PRODUCT)}"
        else:
            text += f" + {_at(term, PRODUCT)}"
    return text


def _decimal(top: int, bottom: int) -> str:
    """The decimal, where the fraction was certainly written as one (0.64, 0.001), else ''."""
    rest = bottom
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1 or top < 0 or len(str(bottom)) > 24:
        return ""
    digits = 0
    while (10**digits) % bottom:
        digits += 1
    whole, part = divmod(top * 10**digits // bottom, 10**digits)
    return f"{whole}.{part:0{digits}d}"
