"""Known wrong hypergradients: what a wrong answer looks like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances.counting import Call
from bilevel_verify.testing.instances.families import Instance

FloatArray = NDArray[np.float64]


def looks_like(
    instance: Instance,
    x: FloatArray,
    got: FloatArray,
    earlier: FloatArray | None = None,
    asked: Sequence[Call] = (),
) -> str:
    """``"; looks like ..."`` if the answer is a known wrong one, else an empty text.

    Parameters
    ----------
    earlier : the point of the call before: a kept y or x shows up as its gradient.
    asked : what the solver asked; the last point y shows whether the lower level was solved.
    """
    exact = instance.grad_phi(x)
    y = instance.y_star(x)
    direct = instance.grad_x_f(x, y)
    implicit = exact - direct
    known = {
        "nothing at all (identically zero)": np.zeros_like(exact),
        "the negative gradient": -exact,
        "twice the gradient": 2 * exact,
        "half the gradient": exact / 2,
        "the direct part alone (implicit gradient zero)": direct,
        "the implicit part alone (grad_x f missing)": implicit,
        "the implicit part with the wrong sign": direct - implicit,
        "the implicit part with a factor 1/2": direct + implicit / 2,
        "the implicit part with a factor 2": direct + 2 * implicit,
        "an identity in place of the inverse Hessian": direct - instance.hess_xy_g(x, y) @ instance.grad_y_f(x, y),
    }
    if earlier is not None:
        known["the gradient at the point of the call before"] = instance.grad_phi(earlier)
        known["y kept from the call before"] = instance.grad_x_f(x, instance.y_star(earlier))
    size = 1 + float(np.linalg.norm(exact))
    found = [text for text, value in known.items() if float(np.linalg.norm(got - value)) <= 1e-6 * size]
    found += _unsolved(instance, x, got, asked, 1e-6 * size) if not found else []
    return f"; looks like {' or '.join(found)}" if found else ""


def _unsolved(instance: Instance, x: FloatArray, got: FloatArray, asked: Sequence[Call], close: float) -> list[str]:
    """The implicit gradient, right but for its y: the last point that was asked about in place of y*(x)."""
    last = next((call.y for call in reversed(asked) if call.y is not None and call.y.shape == (instance.dy,)), None)
    if last is None or not np.isfinite(last).all():
        return []
    solution = np.linalg.solve(instance.hess_yy_g(x, last), instance.grad_y_f(x, last))
    there = instance.grad_x_f(x, last) - instance.hess_xy_g(x, last) @ solution
    slope = float(np.linalg.norm(instance.grad_y_g(x, last)))
    if slope <= 1e-9 or float(np.linalg.norm(got - there)) > close:
        return []
    return [f"the right formula at y = {last.tolist()}, where the lower level is not solved (|grad_y g| = {slope:.2g})"]
