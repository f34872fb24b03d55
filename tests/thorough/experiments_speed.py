"""Gradients at the printed shapes beside the same written by hand.

    python tests/thorough/experiments_speed.py [tuning cleaning completion]

Prints the ratio of the least seconds of processor in alternating rounds (everything has one thread, so that other jobs
of the machine disturb little), and the peak of resident memory. A step of hypercleaning stands beside PyTorch and JAX
too, where they are installed.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numba
import numpy as np

from bilevel_verify.experiments.data import labelled, ratings
from bilevel_verify.experiments.models.classification import Cleaning, Sample, Tuning
from bilevel_verify.experiments.models.completion import Completion
from bilevel_verify.experiments.models.links import Softmax
from bilevel_verify.methods import run_method
from bilevel_verify.oracles.external import ExternalProblem

ROUNDS = 7


def ratio(ours: Callable[[], Any], **rivals: Callable[[], Any]) -> str:
    """Least times of alternating rounds; the rivals' results are ours."""
    for call in rivals.values():
        np.testing.assert_allclose(ours(), call(), rtol=1e-9, atol=1e-12)
    times: dict[str, list[float]] = {"": [], **{name: [] for name in rivals}}
    for _ in range(ROUNDS):
        for name, call in (("", ours), *rivals.items()):
            begin = time.process_time()
            call()
            times[name].append(time.process_time() - begin)
    ms = {name: 1e3 * min(t) for name, t in times.items()}
    return f"{ms['']:.1f} ms" + "".join(f"; {n} {ms[n]:.1f} ms, ratio {ms[''] / ms[n]:.2f}" for n in rivals)


def tuning() -> str:
    spec = {"set": "documents", "train": 5657, "valid": 10, "test": 10, "features": 130170, "classes": 20, "words": 90}
    data = labelled(spec, 1, None)
    A, labels = data.train
    sample = Sample(A, Softmax(labels), 20)
    model = Tuning(sample, Sample(data.valid[0], Softmax(data.valid[1]), 20))
    x, y, n = np.zeros(model.dx), np.random.default_rng(0).normal(size=model.dy), A.shape[0]
    At = A.T.tocsr()

    def hand() -> Any:
        W = y.reshape(-1, 20)
        Z = A @ W
        P = np.exp(Z - Z.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        P[np.arange(n), labels] -= 1
        return (At @ (P / n) + (np.exp(x) / model.dy)[:, None] * W).ravel()

    def ours() -> Any:
        sample.kept.point = None  # every round is a new point
        return model.gradient("g", x, y, "y")[1]

    return f"5,657 x 130,170 x 20, grad_y g: {ratio(ours, by_hand=hand)}"


@numba.njit
def _by_hand(starts: Any, columns: Any, values: Any, U: Any, V: Any) -> Any:
    A, B = np.zeros_like(U), np.zeros_like(V)
    for i in range(U.shape[0]):
        for place in range(starts[i], starts[i + 1]):
            j = columns[place]
            r = -values[place]
            for k in range(U.shape[1]):
                r += U[i, k] * V[j, k]
            for k in range(U.shape[1]):
                A[i, k] += r * V[j, k]
                B[j, k] += r * U[i, k]
    return A, B


def completion() -> str:
    spec = {"set": "low-rank", "rows": 69878, "columns": 10677, "entries": 10**7, "rank": 10}
    model = Completion(ratings(spec, 1, None)[0], 10, False)
    x = np.random.default_rng(0).normal(size=model.dx)

    def hand() -> Any:
        U, V = (np.ascontiguousarray(part) for part in model.split(x))
        A, B = _by_hand(*model.csr, U, V)
        D = U.T @ U - V.T @ V
        return np.concatenate([(A + 2 * U @ D).ravel(), (B - 2 * V @ D).ravel()]) / model.N

    def ours() -> Any:
        model.kept.point = None  # every round is a new point
        return model.gradient("f", x, x, "x")[0]

    both = ratio(ours, by_hand=hand)
    return f"69,878 x 10,677, 10^7 entries, rank 10, grad f: {both}"


class ByHand:
    """Hypercleaning of ten classes in NumPy: a step of AID, 10 gradient steps and 5 conjugate gradient steps."""

    def __init__(self, train: Any, valid: Any, C: float) -> None:
        (self.A, a), (self.V, v), self.C = train, valid, C
        self.a, self.v = np.eye(10)[a], np.eye(10)[v]

    def softmax(self, Z: Any) -> Any:
        P = np.exp(Z - Z.max(axis=1, keepdims=True))
        return P / P.sum(axis=1, keepdims=True)

    def step(self, x: Any, alpha: float, beta: float) -> Any:
        n, s = len(self.A), 1 / (1 + np.exp(-x))
        W = np.zeros((self.A.shape[1], 10))
        for _ in range(10):
            P = self.softmax(self.A @ W)
            W -= alpha * (self.A.T @ ((P - self.a) * (s / n)[:, None]) + 2 * self.C * W)
        b = self.V.T @ (self.softmax(self.V @ W) - self.v) / len(self.V)
        P = self.softmax(self.A @ W)
        v, r = np.zeros_like(b), b.copy()
        p, rr = r.copy(), np.sum(r * r)
        for _ in range(5):
            D = self.A @ p
            PD = P * D
            H = self.A.T @ ((PD - P * PD.sum(axis=1, keepdims=True)) * (s / n)[:, None]) + 2 * self.C * p
            t = rr / np.sum(p * H)
            v, r = v + t * p, r - t * H
            rr, old = np.sum(r * r), rr
            p = r + rr / old * p
        return x + beta * s * (1 - s) / n * np.sum((P - self.a) * (self.A @ v), axis=1)


def by_torch(hand: ByHand, x0: Any, alpha: float, beta: float) -> Callable[[], Any]:
    """The same step as a user of PyTorch writes it: losses, and automatic differentiation for the rest."""
    import torch
    from torch.nn.functional import cross_entropy

    torch.set_num_threads(1)
    A, V = torch.from_numpy(hand.A), torch.from_numpy(hand.V)
    a, v = (torch.from_numpy(labels.argmax(axis=1)) for labels in (hand.a, hand.v))

    def lower(x: Any, W: Any) -> Any:
        return (torch.sigmoid(x) * cross_entropy(A @ W, a, reduction="none")).mean() + hand.C * (W * W).sum()

    def step() -> Any:
        x = torch.from_numpy(x0).clone().requires_grad_()
        W = torch.zeros(A.shape[1], 10, dtype=A.dtype, requires_grad=True)
        for _ in range(10):
            (slope,) = torch.autograd.grad(lower(x.detach(), W), W)
            W = (W - alpha * slope).detach().requires_grad_()
        (b,) = torch.autograd.grad(cross_entropy(V @ W, v), W)
        (slope,) = torch.autograd.grad(lower(x, W), W, create_graph=True)
        u, r, p, rr = torch.zeros_like(b), b.clone(), b.clone(), (b * b).sum()
        for _ in range(5):
            (H,) = torch.autograd.grad(slope, W, p, retain_graph=True)
            t = rr / (p * H).sum()
            u, r = u + t * p, r - t * H
            rr, old = (r * r).sum(), rr
            p = r + rr / old * p
        (cross,) = torch.autograd.grad(slope, x, u)
        return (x0 + beta * cross.numpy()).ravel()

    return step


def by_jax(hand: ByHand, x0: Any, alpha: float, beta: float) -> Callable[[], Any]:
    """The same step in JAX, compiled as a whole."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    A, a, V, v, start = (jnp.asarray(part) for part in (hand.A, hand.a, hand.V, hand.v, x0))

    def losses(Z: Any, labels: Any) -> Any:
        return jax.nn.logsumexp(Z, axis=1) - (Z * labels).sum(axis=1)

    def lower(x: Any, W: Any, A: Any, a: Any) -> Any:
        return (jax.nn.sigmoid(x) * losses(A @ W, a)).mean() + hand.C * (W * W).sum()

    @jax.jit
    def step(x: Any, A: Any, a: Any, V: Any, v: Any) -> Any:
        slope = jax.grad(lower, argnums=1)
        W = jnp.zeros((A.shape[1], 10))
        W = jax.lax.fori_loop(0, 10, lambda _, W: W - alpha * slope(x, W, A, a), W)
        b = jax.grad(lambda W: losses(V @ W, v).mean())(W)
        _, product = jax.linearize(lambda W: slope(x, W, A, a), W)

        def conjugate(_: int, state: Any) -> Any:
            u, r, p, rr = state
            H = product(p)
            t = rr / (p * H).sum()
            u, r = u + t * p, r - t * H
            new = (r * r).sum()
            return u, r, r + new / rr * p, new

        u, *_ = jax.lax.fori_loop(0, 5, conjugate, (jnp.zeros_like(b), b, b, (b * b).sum()))
        return x + beta * jax.grad(lambda x: (slope(x, W, A, a) * u).sum())(x)

    return lambda: np.asarray(step(start, A, a, V, v))


FRAMEWORKS = {"torch": ("PyTorch", by_torch), "jax": ("JAX", by_jax)}


def cleaning() -> str:
    spec = {
        "set": "clusters",
        "train": 20000,
        "valid": 5000,
        "test": 10,
        "features": 785,
        "classes": 10,
        "spread": 0.35,
    }
    data = labelled(spec, 1, None)
    train, valid = (Sample(A, Softmax(labels), 10) for A, labels in (data.train, data.valid))
    hand, x = ByHand(data.train, data.valid, 1e-3), np.random.default_rng(0).normal(size=20000)
    letters = {"beta": 100.0, "alpha": 0.5, "D": 10, "N_cg": 5, "steps": 1}

    def ours() -> Any:
        problem: Any = ExternalProblem(Cleaning(train, valid, 1e-3), "cleaning")
        return run_method(problem, "aid-bio", letters, x, budget={"iterations": 1}, record="last").x

    rivals = {name: make(hand, x, 0.5, 100.0) for module, (name, make) in FRAMEWORKS.items() if find_spec(module)}
    found = ratio(ours, by_hand=lambda: hand.step(x, 0.5, 100.0), **rivals)
    return f"20,000 x 785 x 10, one step of AID (10 gradients, 5 products): {found}"


def resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    for measure in (tuning, cleaning, completion):
        if sys.argv[1:] and measure.__name__ not in sys.argv[1:]:
            continue
        before = resident()
        print(f"{measure()}; resident memory at most {before} MB before, {resident()} MB after")
