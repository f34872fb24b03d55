"""One table of atoms: value, derivatives, stable kernels, smoothness."""

from bilevel_verify.atoms.functions import (
    abspow,
    logcosh,
    logsumexp,
    plus,
    pluspow,
    sgnpow,
    sigmoid,
    sigmoid_d,
    softplus,
)
from bilevel_verify.atoms.kernels import PRELUDE, kernel_name, module_source, scalar_source
from bilevel_verify.atoms.numeric import evaluator, lambdify_modules
from bilevel_verify.atoms.pieces import huber, huber_d, psi, psi_d
from bilevel_verify.atoms.table import TABLE, Atom, recognise

__all__ = [
    "PRELUDE",
    "TABLE",
    "Atom",
    "abspow",
    "evaluator",
    "huber",
    "huber_d",
    "kernel_name",
    "lambdify_modules",
    "logcosh",
    "logsumexp",
    "module_source",
    "plus",
    "pluspow",
    "psi",
    "psi_d",
    "recognise",
    "scalar_source",
    "sgnpow",
    "sigmoid",
    "sigmoid_d",
    "softplus",
]
