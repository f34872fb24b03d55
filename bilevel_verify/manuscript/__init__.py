"""The print of a paper beside its card: what is quoted, whether it is what is judged, and what nobody judges."""

from bilevel_verify.manuscript.fidelity import BAD, OUTCOMES, Row, counts, fidelity
from bilevel_verify.manuscript.formulas import Formula, Print, has_print, load_print, read_print

__all__ = [
    "BAD",
    "OUTCOMES",
    "Formula",
    "Print",
    "Row",
    "counts",
    "fidelity",
    "has_print",
    "load_print",
    "read_print",
]
