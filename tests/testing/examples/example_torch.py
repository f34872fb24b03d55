"""A solver in PyTorch under test: the formulas are differentiated by autograd."""

import torch
from torch.func import grad, hessian

from bilevel_verify.testing import assert_hypergradient, formulas, parameters

f, g = formulas(torch)


def solve(theta, x, y):
    for _ in range(60):
        step = torch.linalg.solve(hessian(g, 2)(theta, x, y), grad(g, 2)(theta, x, y))
        y = y - step
        if step.norm() <= 1e-12:
            break
    v = torch.linalg.solve(hessian(g, 2)(theta, x, y), grad(f, 2)(theta, x, y))
    return grad(f, 1)(theta, x, y) - grad(lambda x: grad(g, 2)(theta, x, y) @ v)(x)


def hypergradient(oracles, x):
    theta = {name: torch.tensor(value) for name, value in parameters(oracles.instance).items()}
    return solve(theta, torch.tensor(x), torch.zeros(oracles.dy, dtype=torch.float64)).numpy()


def test_torch():
    assert_hypergradient(hypergradient, most=2)
