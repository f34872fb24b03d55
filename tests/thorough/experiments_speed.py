"""Gradients at the printed shapes beside the same written by hand: ``python tests/thorough/experiments_speed.py``.

Prints the ratio of medians of alternating rounds, and the peak of resident memory.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from bilevel_verify.experiments.data import labelled, ratings
from bilevel_verify.experiments.models.classification import Cleaning, Sample, Tuning
from bilevel_verify.experiments.models.completion import Completion
from bilevel_verify.experiments.models.links import Softmax
from bilevel_verify.methods import run_method
from bilevel_verify.oracles.external import ExternalProblem

ROUNDS = 7


def ratio(ours: Callable[[], Any], hand: Callable[[], Any]) -> str:
    np.testing.assert_allclose(ours(), hand(), rtol=1e-9, atol=1e-12)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for place, call in enumerate((ours, hand)):
            begin = time.perf_counter()
            call()
            times[place].append(time.perf_counter() - begin)
    a, b = (float(np.median(t)) for t in times)
    return f"{1e3 * a:.1f} ms, by hand {1e3 * b:.1f} ms, ratio {a / b:.2f}"


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

    return f"5,657 x 130,170 x 20, grad_y g: {ratio(ours, hand)}"


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

    return f"69,878 x 10,677, 10^7 entries, rank 10, grad f: {ratio(lambda: model.gradient('f', x, x, 'x')[0], hand)}"


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
    hand, x = ByHand(data.train, data.valid, 1e-3), np.zeros(20000)
    letters = {"beta": 100.0, "alpha": 0.5, "D": 10, "N_cg": 5, "steps": 1}

    def ours() -> Any:
        problem: Any = ExternalProblem(Cleaning(train, valid, 1e-3), "cleaning")
        return run_method(problem, "aid-bio", letters, x, budget={"iterations": 1}, record="last").x

    both = ratio(ours, lambda: hand.step(x, 0.5, 100.0))
    return f"20,000 x 785 x 10, one step of AID (10 gradients, 5 products): {both}"


def resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    for measure in (tuning, cleaning, completion):
        before = resident()
        print(f"{measure()}; resident memory at most {before} MB before, {resident()} MB after")
