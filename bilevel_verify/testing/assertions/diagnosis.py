"""Known wrong hypergradients: what a wrong answer looks like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances.families import Instance

FloatArray = NDArray[np.float64]


def looks_like(instance: Instance, x: FloatArray, got: FloatArray, earlier: FloatArray | None = None) -> str:
    """``"; looks like ..."`` if the answer is a known wrong one, else an empty text.

    Parameters
    ----------
    earlier : the point of the call before: a kept y or x shows up as its gradient.
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
    return f"; looks like {' or '.join(found)}" if found else ""
