"""Functions of JAX as formulas: values and gradients against JAX's own in float64, refusals for what is no formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify import atoms
from bilevel_verify.errors import ExpressionError, ProblemError

jax = pytest.importorskip("jax", reason="extra: jax")
jnp: Any = pytest.importorskip("jax.numpy", reason="extra: jax")

DATA = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]])
LABELS = np.array([1.0, -1.0])


def _loop(x: Any, y: Any) -> Any:
    """Four steps of gradient descent on the lower level: an unrolled value."""

    def step(i: int, v: Any) -> Any:
        return v - 0.25 * (v - x[0])

    return jnp.sum(jax.lax.fori_loop(0, 4, step, y) ** 2)


def _over_rows(x: Any, y: Any) -> Any:
    """A loop over the entries of vectors, from the last to the first; what it hands out is used, too."""

    def step(carried: Any, row: Any) -> Any:
        return carried * 0.5 + jnp.sin(row[0]) * row[1], carried * row[0]

    last, handed = jax.lax.scan(step, x[0], (y, y[::-1]), reverse=True, _split_transpose=True)
    return last + handed @ jnp.arange(3.0) + jnp.sum(jax.lax.map(lambda a: a**2, x))


FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "logistic": lambda x, y: jnp.mean(jnp.log1p(jnp.exp(-LABELS * (DATA @ y)))) + jnp.exp(x[0]) * y @ y / 2,
    "softplus": lambda x, y: jnp.sum(jax.nn.softplus(DATA @ y)) + 3 * jax.nn.softplus(-x[1]) * x[0],
    "log-sum-exp": lambda x, y: (
        jax.nn.logsumexp(jnp.concatenate([x, y])) + jax.nn.logsumexp(jnp.array([1.0, 0]) * y[1])
    ),
    "softmax": lambda x, y: -jax.nn.log_softmax(jnp.outer(x, y))[1, 2] + jax.nn.sigmoid(y[0]),
    "norms": lambda x, y: jnp.linalg.norm(x - y[:2]) + jnp.linalg.norm(jnp.outer(x, y)) ** 2 + jnp.abs(y).sum(),
    "statistics": lambda x, y: jnp.var(y) + jnp.mean((x - 1) ** 3) + jnp.max(y) - jnp.min(x),
    "branches": lambda x, y: jnp.where(x[0] > 0.1, x[0] ** 2, -x[0]) + jax.nn.relu(y[0]) + jnp.clip(y[1], -0.5, 0.5),
    "indices": lambda x, y: y[-1] * x[jnp.array([1, 0])] @ x + y[::-1][0] + jnp.roll(y, 1) @ y + jnp.cumsum(y)[1],
    "products": lambda x, y: jnp.einsum("i,ij,j->", x, DATA, y) + jnp.prod(y) + jnp.trace(jnp.outer(y, y)),
    "functions": lambda x, y: jnp.tanh(x[0]) + jnp.sqrt(1 + y[0] ** 2) + jax.scipy.special.erf(y[1]) + jnp.arctan(x[1]),
    "batches": lambda x, y: jnp.sum(jax.vmap(lambda row, label: jnp.cos(label * row @ y))(DATA, LABELS)) + x[0],
    "an unrolled loop": _loop,
    "a loop over rows": _over_rows,
    "running products": lambda x, y: jnp.cumprod(y) @ jnp.arange(3.0) + jax.lax.cumsum(x, reverse=True)[0],
    "stacked and padded": lambda x, y: jnp.sum(jnp.stack([x, y[:2]]) * DATA[:, :2]) + jnp.pad(y, 1) @ jnp.arange(5.0),
    "counted truths": lambda x, y: (y > 0).sum() * x[0] + jnp.where(x > y[:2], 1.0, 2.0).sum(),
    "float32": lambda x, y: jnp.sum(y.astype(jnp.float32) * 0.5) + x[0],
}


def _doubles() -> Any:
    switch = getattr(jax, "enable_x64", None)
    if callable(switch):
        return switch(True)
    from jax.experimental import enable_x64

    return enable_x64(True)


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_gradients_are_those_of_jax(name: str) -> None:
    p = bv.bilevel(f=FORMULAS[name], g=lambda x, y: y @ y, x="x1 x2", y="y1 y2 y3")
    o, draw = bv.oracles(p), np.random.default_rng(SEED)
    with _doubles():
        value, slope = jax.jit(FORMULAS[name]), jax.jit(jax.grad(FORMULAS[name], argnums=(0, 1)))
        for _ in range(5):
            x, y = draw.normal(size=2), draw.normal(size=3)
            close = 1e-6 if name == "float32" else 1e-10
            assert float(o.value_f(x, y)) == pytest.approx(float(value(x, y)), rel=close)
            expected = slope(x, y)
            np.testing.assert_allclose(o.grad_x_f(x, y), expected[0], rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(o.grad_y_f(x, y), expected[1], rtol=1e-6, atol=1e-9)


def test_stable_forms_of_the_library_lose_their_kinks() -> None:
    p = bv.bilevel(
        f=lambda x, y: jax.nn.logsumexp(y) + 2 * jax.nn.softplus(x[0] * y[0]), g=lambda x, y: y @ y, x="x1", y="y1 y2"
    )
    x1, y1, y2 = p.variables
    assert p.f == atoms.logsumexp(0, y2 - y1) + y1 + 2 * atoms.softplus(x1 * y1) or p.f == (
        atoms.softplus(y2 - y1) + y1 + 2 * atoms.softplus(x1 * y1)
    )


def test_one_level_and_the_text_of_what_was_read() -> None:
    p = bv.single_level(f=lambda x: 0.1 * x[0] ** 2 + jnp.sin(x[1]), x="x1 x2")
    assert p.content_hash() == bv.single_level(f="x1**2/10 + sin(x2)", x="x1 x2").content_hash()
    assert p.content_hash() == bv.single_level(f=p.text["f"], x="x1 x2").content_hash()


def _raises(x: Any, y: Any) -> Any:
    raise ValueError("my own\nerror")


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (lambda x, y: y, "must be a scalar"),
        (lambda x, y: (y[0], x[0]), "must return one scalar"),
        (lambda x, y: jnp.argmax(y) + x[0], "'argmax' of JAX has no closed formula here"),
        (lambda x, y: jnp.sort(y)[0], "'sort' of JAX has no closed formula here"),
        (lambda x, y: y[jnp.floor(x[0]).astype(int)], "an index that depends on the variables|conversion"),
        (lambda x, y: jax.lax.while_loop(lambda v: v < 1, lambda v: v + 1, x[0]), "'while' of JAX"),
        (lambda x, y: jnp.zeros(600_000).sum() + x[0], "operations"),
        (lambda x, y: x[0] / 0.0, "undefined or infinite"),
        (lambda x, y: x[0] > y[0], "not a truth value"),
        (lambda x, y: jax.lax.div(jnp.floor(x[0]).astype(int), 2) + y[0], "div of integers"),
        (lambda x, y: jnp.where(jnp.isfinite(1 / x[0]), 1 / x[0], 0.0), "whether a value is finite"),
        (lambda x, y: y.at[jnp.array([9])].get(mode="fill", fill_value=0.0).sum(), "beyond the end"),
        (lambda x, y: y.at[jnp.array([9, 1])].get(mode="fill", fill_value=2.0).sum(), "beyond the end"),
        (lambda x, y: jax.random.normal(jax.random.key(0), (3,)) @ y, "no formula|no closed formula"),
        (_raises, "JAX cannot trace the function: ValueError: my own"),
        (lambda x: x[0], "JAX cannot trace the function: TypeError"),
        (lambda x, y: float(x[0]), "JAX cannot trace the function"),
    ],
)
def test_what_is_no_formula_is_refused_in_one_line(formula: Callable[..., Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message) as caught:
        bv.bilevel(f=formula, g="y1**2 + y2**2 + y3**2", x="x1 x2", y="y1 y2 y3")
    assert str(caught.value).startswith("f")
    assert "\n" not in str(caught.value)


UNDEFINED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "exponential of a logarithm": (lambda x: jnp.exp(jnp.log(x[0])) + x[1] ** 2, "x1 = -1"),
    "quotient of equals": (lambda x: x[0] / x[0] + x[1], "x1 = 0"),
    "square of a root": (lambda x: jnp.sqrt(x[0]) ** 2 + x[1] ** 2, "x1 = -1"),
    "integer powers": (lambda x: x[0] ** -1 * x[0] + x[1], "x1 = 0"),
    "difference of logarithms": (lambda x: jnp.log1p(x[0]) - jnp.log1p(x[0]) + x[1] ** 2, "x1 = -1"),
    "power of a power": (lambda x: (x[0] ** 0.25) ** 4 + x[1], "x1 = -1"),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_a_function_without_a_value_is_not_read_as_a_formula_that_has_one(name: str) -> None:
    function, where = UNDEFINED[name]
    with pytest.raises(ExpressionError, match="has no value at") as caught:
        bv.single_level(f=function, x=["x1", "x2"])
    assert where in str(caught.value)
    assert "as written" in str(caught.value)
    assert bv.single_level(f=function, x=["x1", "x2"], domain={"x": (1, 2)}).f.is_finite is not False


def test_branches_that_are_not_taken_need_nothing() -> None:
    f = bv.single_level(f=lambda x: jnp.where(x[0] > 0, x[0] / x[0], 1.0) + x[1] ** 2, x=["x1", "x2"]).f
    assert f == 1 + bv.single_level(f="x2**2", x=["x1", "x2"]).f
