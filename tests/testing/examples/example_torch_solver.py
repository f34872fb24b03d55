"""A whole bilevel solver in PyTorch under test as a black box."""

import torch
from torch.func import grad, hessian

from bilevel_verify.testing import assert_all, formulas, parameters

f, g = formulas(torch)


def lower(theta, x, y):
    for _ in range(60):
        step = torch.linalg.solve(hessian(g, 2)(theta, x, y), grad(g, 2)(theta, x, y))
        y = y - step
        if step.norm() <= 1e-12:
            break
    return y


def slope(theta, x, y):
    v = torch.linalg.solve(hessian(g, 2)(theta, x, y), grad(f, 2)(theta, x, y))
    return grad(f, 1)(theta, x, y) - grad(lambda x: grad(g, 2)(theta, x, y) @ v)(x)


def solve(oracles, x0, eps):
    theta = {name: torch.tensor(value) for name, value in parameters(oracles.instance).items()}
    x, step = torch.tensor(x0), 1.0
    y = lower(theta, x, torch.zeros(oracles.dy, dtype=torch.float64))
    while (d := slope(theta, x, y)).norm() > 0.9 * eps:
        step *= 2
        while f(theta, x - step * d, z := lower(theta, x - step * d, y)) > f(theta, x, y) - step / 2 * d @ d:
            step /= 2
        x, y = x - step * d, z
    return x.numpy(), y.numpy()


def test_solver():
    assert_all(solver=solve, kinds=("bilevel",))
