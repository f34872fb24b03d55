"""The pseudo-code that belongs to a named method: the steps of its card, or those written in ``recalled``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from bilevel_verify.errors import InputError
from bilevel_verify.testing.printed.recalled import RECALLED
from bilevel_verify.theorems.algorithm import read_program
from bilevel_verify.theorems.card import Algorithm

CARDS = ("ragd-gs", "rahgd", "restarted-agd-hb", "fsba", "agm-bio")
FRAMES = {"gradient-descent-restarted": ("restarted-agd-hb", "gradient-descent-frame")}
"""Methods whose card files the steps under another name."""
DESCEND = """z[0] = z_0                            # 1
for j in range(0, T):                 # 2
    z[j+1] = z[j] - alpha*grad_h(z[j])    # 3
return z[T]                           # 4
"""
FISTA = """u[0] = z_0; v[0] = z_0; th[0] = 1                          # 1
for j in range(0, T):                                      # 2
    u[j+1] = P(v[j] - step*h(v[j]))                        # 3
    th[j+1] = (1 + sqrt(1 + 4*th[j]**2))/2                 # 4
    v[j+1] = u[j+1] + (th[j] - 1)/th[j+1]*(u[j+1] - u[j])  # 5
return u[T]                                                # 7
"""


@dataclass(frozen=True)
class Printed:
    """Pseudo-code of a method. ``library`` : algorithms that it calls, by the name it uses."""

    method: str
    source: str
    algorithm: Algorithm
    library: Mapping[str, Algorithm]

    def text(self, number: int, inside: str = "") -> str:
        """The text of a line (1-based) without its comment; ``inside`` : of a called algorithm."""
        lines = (self.library[inside] if inside else self.algorithm).program.text.splitlines()
        return " ".join(lines[number - 1].partition("#")[0].split()) if 0 < number <= len(lines) else ""


@cache
def printed(method: str) -> Printed | None:
    """The pseudo-code of a named method; None where there is none (its own run is then compared row by row).

    Raises
    ------
    InputError : no such method.
    """
    from bilevel_verify.methods import METHODS

    if method not in METHODS:
        raise InputError(f"no method {method!r}; there are {', '.join(METHODS)}")
    if method in RECALLED:
        return _recalled(method)
    from bilevel_verify.theorems import card

    for key in CARDS:
        paper = card(key)
        for found in paper.algorithms:
            named = FRAMES.get(method) == (key, found.id) or (method not in FRAMES and found.method == method)
            if named:
                return Printed(method, f"{key}, {found.source}", found, _called(key))
    return None


def _steps(name: str, source: str, inputs: str, steps: str, called: str = "") -> Algorithm:
    return Algorithm(
        kind="algorithm",
        id=name,
        source=source,
        inputs=tuple(inputs.split()),
        steps=steps,
        program=read_program(steps),
        called=called,
    )


def _called(key: str) -> dict[str, Algorithm]:
    from bilevel_verify.theorems import card

    descend = _steps("descend", "gradient descent", "grad_h z_0 T alpha", DESCEND, "descend")
    fista = _steps("fista", "FISTA", "h P z_0 T step", FISTA, "fista")
    return {"descend": descend, "fista": fista} | {
        other.called: other for other in card(key).algorithms if other.called
    }


def _recalled(method: str) -> Printed:
    found = RECALLED[method]
    steps = _steps(method, found.source, found.inputs, found.steps)
    return Printed(method, found.source, steps, _called(found.calls or "rahgd"))
