"""The error tree.

Every error of the package derives from :class:`BilevelVerifyError` and also from the standard type a caller would
expect. Messages are one line and name the thing to change. The command line turns :class:`InputError` into exit
status 2 and everything else of this tree into exit status 3; neither loses what was already computed.
"""

from __future__ import annotations

LONGEST_WORD, LONGEST_MESSAGE = 300, 2_000
"""Signs of one word of a message, and of a message: what is longer is shortened in its middle."""
VISIBLE = {
    **{sign: 0x2400 + sign for sign in range(32) if chr(sign) not in "\n\t"},
    **dict.fromkeys(
        [*range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD
    ),
}
"""Signs that move a cursor, colour a terminal or turn the direction of text -> one visible sign for each."""


def visible(text: str) -> str:
    """The text as a terminal may show it: control signs are pictures of themselves."""
    return text.translate(VISIBLE)


def one_line(text: str) -> str:
    """A message: one line of visible signs, with long words and long messages shortened in the middle."""
    words = [_shortened(word, LONGEST_WORD) for word in visible(text).split()]
    return _shortened(" ".join(words), LONGEST_MESSAGE)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 3 :]}"


class BilevelVerifyError(Exception):
    """Root of every error that this package raises on purpose; what it says is one visible line of bounded length."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class InputError(BilevelVerifyError, ValueError):
    """Ill-formed input or wrong use: the message names the field and the fix (exit status 2)."""


class ExpressionError(InputError):
    """Text outside the expression language.

    Parameters
    ----------
    message : what is wrong and how to mend it.
    text : the expression, as far as it is safe to show.
    column : 1-based column of the offending place, if known.
    """

    def __init__(self, message: str, text: str = "", column: int | None = None) -> None:
        self.text, self.column, self.plain = text, column, message
        place = "" if column is None else f" (column {column}: {_excerpt(text, column)!r})"
        super().__init__(f"{message}{place}")


class LatexError(ExpressionError):
    """LaTeX that the reader does not read.

    Parameters
    ----------
    message : what stands there and how to mend it.
    reason : one of ``bilevel_verify.latex.REASONS``.
    line, column : place in the source, 1-based.
    readings : both readings, where the formula has two.
    """

    def __init__(
        self, message: str, reason: str, line: int = 1, column: int = 1, readings: tuple[str, ...] = ()
    ) -> None:
        self.message, self.reason, self.line, self.readings = message, reason, line, readings
        both = "".join(f"; {'or' if i else 'either'} {reading}" for i, reading in enumerate(readings))
        super().__init__(f"{reason}: {message}{both}")
        self.column = column

    def __str__(self) -> str:
        return one_line(f"LaTeX, line {self.line}, column {self.column}: {self.plain}")


class ProblemError(InputError):
    """A problem (file or call) that cannot be read: missing field, unknown symbol, impossible domain."""


class CardError(InputError):
    """A theory card that cannot be read; names the card, the statement, the field and the column."""


class ParameterError(InputError):
    """A parameter, tolerance, start or budget outside what the method can run with."""


class SolverError(InputError):
    """A solver of the user raised an exception of its own, which is the cause (``__cause__``) of this one."""


class StoreError(InputError):
    """A result store that must not be touched: newer version, foreign schema, corrupted file."""


class MissingExtraError(BilevelVerifyError, ImportError):
    """An optional dependency is absent; the message names the extra to install."""


class MathematicalError(BilevelVerifyError, ArithmeticError):
    """A quantity that does not exist here (no minimiser, singular lower level); carries what is known instead."""


class UnboundError(MathematicalError, KeyError):
    """A letter that a formula needs has no value; its name is the argument."""

    def __str__(self) -> str:
        return f"{self.args[0]} has no value"


class InfeasibleError(MathematicalError):
    """The feasible set (or its intersection with a cut) is empty."""


class CertificationError(BilevelVerifyError, ArithmeticError):
    """A certificate that was asked for could not be produced; never answered by a silent fallback."""


class SolverFailure(BilevelVerifyError, RuntimeError):
    """An external solver failed or was inaccurate; says which one, its status, and what is known all the same."""


def _excerpt(text: str, column: int, width: int = 24) -> str:
    """The neighbourhood of a 1-based column, short enough for one line."""
    start = max(0, column - 1 - width // 3)
    return " ".join(text[start : start + width].split())
