"""A solver in JAX under test: compiled once for each shape, the numbers of an example are arguments."""

import jax
import jax.numpy as jnp

from bilevel_verify.testing import assert_hypergradient, formulas, parameters

jax.config.update("jax_enable_x64", True)
f, g = formulas(jnp)


@jax.jit
def solve(theta, x, y, step):
    y = jax.lax.fori_loop(0, 900, lambda _, y: y - step * jax.grad(g, 2)(theta, x, y), y)
    v = jnp.linalg.solve(jax.hessian(g, 2)(theta, x, y), jax.grad(f, 2)(theta, x, y))
    return jax.grad(f, 1)(theta, x, y) - jax.grad(lambda x: jax.grad(g, 2)(theta, x, y) @ v)(x)


def hypergradient(oracles, x):
    return solve(parameters(oracles.instance), x, jnp.zeros(oracles.dy), 1 / oracles.L)


def test_jax():
    assert_hypergradient(hypergradient, most=2)
