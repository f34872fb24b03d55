"""Every oracle of every model against the symbolic derivation of the same formula; counters; forms."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import bilevel_verify as bv
from bilevel_verify.errors import ParameterError
from bilevel_verify.experiments.instances import solved
from bilevel_verify.experiments.models.classification import Cleaning, Sample, Tuning
from bilevel_verify.experiments.models.completion import Completion
from bilevel_verify.experiments.models.formulas import LeastSquares, WShaped
from bilevel_verify.experiments.models.links import Logistic, Softmax, Squares
from bilevel_verify.experiments.models.representation import Representation
from bilevel_verify.methods import run_method
from bilevel_verify.oracles import oracles
from bilevel_verify.oracles.external import ExternalProblem, answer

RNG = np.random.default_rng(5)
FIELDS = (
    *("value", "grad", "grad_x", "grad_y", "hess"),
    *("hvp", "hvp_yy", "jvp_xy", "jvp_yx"),
)


def linear(row: Any, first: int, step: int, name: str = "y") -> str:
    """Text of <row, (y_first, y_(first+step), ...)>."""
    return "(" + "+".join(f"({v!r})*{name}{first + step * k}" for k, v in enumerate(row)) + ")"


def softmax(scores: list[str], label: int) -> str:
    return f"(log({'+'.join(f'exp({s})' for s in scores)})-({scores[label]}))"


def mean(terms: list[str]) -> str:
    return f"({'+'.join(terms)})/{len(terms)}"


def _classes(kind: str, sparse: bool) -> tuple[Any, str, str, int, int]:
    c, p, n = (1 if kind == "logistic" else 3), 2, 3
    tables = [np.round(RNG.normal(size=(n, p)), 2) for _ in range(2)]
    labels = [RNG.integers(0, max(c, 2), n) for _ in range(2)]
    link = Logistic if c == 1 else Softmax
    samples = [Sample(csr_matrix(A) if sparse else A, link(b), c) for A, b in zip(tables, labels)]

    def losses(A: Any, b: Any) -> list[str]:
        scores = [[linear(row, j + 1, c) for j in range(c)] for row in A.tolist()]
        if c == 1:
            return [f"log(1+exp({-1 if v > 0 else 1}*({s[0]})))" for s, v in zip(scores, b)]
        return [softmax(s, v) for s, v in zip(scores, b)]

    return samples, mean(losses(tables[1], labels[1])), losses(tables[0], labels[0]), c, p  # type: ignore[return-value]


def cleaning(kind: str, sparse: bool) -> tuple[Any, Any]:
    (train, valid), f, terms, c, p = _classes(kind, sparse)
    weighted = mean([f"sigmoid(x{i + 1})*({term})" for i, term in enumerate(terms)])
    g = f"{weighted}+1/10*({'+'.join(f'y{k + 1}**2' for k in range(c * p))})"
    problem = bv.bilevel(f=f, g=g, x="x1 x2 x3", y=" ".join(f"y{k + 1}" for k in range(c * p)))
    return Cleaning(train, valid, 0.1), problem


def tuning(kind: str, sparse: bool) -> tuple[Any, Any]:
    (train, valid), f, terms, c, p = _classes(kind, sparse)
    ridge = "+".join(f"exp(x{k + 1})*y{k * c + j + 1}**2" for k in range(p) for j in range(c))
    problem = bv.bilevel(
        f=f, g=f"{mean(terms)}+({ridge})/{2 * c * p}", x="x1 x2", y=" ".join(f"y{k + 1}" for k in range(c * p))
    )
    return Tuning(train, valid), problem


def representation(head: str, two: bool) -> tuple[Any, Any]:
    p, k, c, tasks, n = 2, 1, 2, 2, 2
    text: dict[str, list[str]] = {"f": [], "g": []}
    sets: dict[str, list[Any]] = {"f": [], "g": []}
    for t in range(tasks):
        for h in "fg":
            A, b = np.round(RNG.normal(size=(n, p)), 2), RNG.integers(0, c, n)
            targets = np.round(RNG.normal(size=(n, c)), 2)
            inner = [linear(row, 1, 1, "x") for row in A.tolist()]
            inner = [f"tanh({v})" for v in inner] if two else inner
            scores = [[f"{v}*y{t * k * c + j + 1}" for j in range(c)] for v in inner]
            if head == "ridge":
                rows = ["+".join(f"({s}-({v!r}))**2/2" for s, v in zip(z, e)) for z, e in zip(scores, targets.tolist())]
                sets[h].append((A, Squares(targets)))
            else:
                rows = [softmax(z, int(v)) for z, v in zip(scores, b)]
                sets[h].append((A, Softmax(b)))
            ridge = "+".join(f"y{t * k * c + j + 1}**2" for j in range(k * c))
            text[h].append(f"({mean(rows)})" + (f"+3/20*({ridge})" if h == "g" else ""))
    problem = bv.bilevel(f=mean(text["f"]), g=mean(text["g"]), x="x1 x2", y="y1 y2 y3 y4")
    return Representation(sets["g"], sets["f"], k, c, 0.3, two), problem


def completion(one_bit: bool) -> tuple[Any, Any]:
    entries = csr_matrix((np.array([1.0, -1.0, 1.0, -1.0]), ([0, 0, 1, 2], [0, 1, 1, 0])), shape=(3, 2))
    terms = []
    for i, j, v in zip(*entries.nonzero(), entries.data):
        r = f"(x{i + 1}*x{j + 4})"
        terms.append(f"log(1+exp(({-v!r})*{r}))" if one_bit else f"({r}-({v!r}))**2/2")
    f = f"({'+'.join(terms)}+(x1**2+x2**2+x3**2-x4**2-x5**2)**2/2)/4"
    return Completion(entries, 1, one_bit), bv.single_level(f=f.replace("np.float64", ""), x="x1 x2 x3 x4 x5")


def w_shaped() -> tuple[Any, Any]:
    return WShaped(), bv.zoo("w-minimax")


def least_squares() -> tuple[Any, Any]:
    A, C = RNG.integers(-3, 4, (2, 3)), RNG.integers(-3, 4, (3, 3))
    b, d = RNG.integers(-3, 4, 2), RNG.integers(-3, 4, 3)
    text = [
        "+".join(f"({linear(r, 1, 1, 'x')}-({v}))**2/2" for r, v in zip(M.tolist(), t)) for M, t in ((C, d), (A, b))
    ]
    problem = bv.simple_bilevel(f=text[0], g=text[1], x="x1 x2 x3", feasible=bv.problems.Ball(radius=1))
    return LeastSquares(A.astype(float), b.astype(float), C.astype(float), d.astype(float)), problem


CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "cleaning, softmax": lambda: cleaning("softmax", False),
    "cleaning, logistic, CSR": lambda: cleaning("logistic", True),
    "tuning, softmax, CSR": lambda: tuning("softmax", True),
    "tuning, logistic": lambda: tuning("logistic", False),
    "representation, ridge": lambda: representation("ridge", False),
    "representation, two layers": lambda: representation("logistic", True),
    "completion": lambda: completion(False),
    "one bit": lambda: completion(True),
    "W-shaped": w_shaped,
    "least squares": least_squares,
}


@pytest.mark.parametrize("name", CASES)
def test_oracles_are_the_derivatives_of_the_formula(name: str) -> None:
    model, problem = CASES[name]()
    asked = oracles(problem, compiled=False)
    assert (model.dx, model.dy) == (problem.dx, problem.dy)
    for trial in range(2):
        x, y = RNG.normal(size=model.dx) * 0.7, RNG.normal(size=model.dy)
        if name == "W-shaped":
            x[2] = (0.05, -0.55)[trial]
        for h in "fg" if model.kind != "single_level" else "f":
            for field in FIELDS:
                if "y" in field and not model.dy:
                    continue
                v = RNG.normal(size={"hvp": model.dx + model.dy, "jvp_yx": model.dx}.get(field, model.dy))
                arguments = (x, y, v) if "vp" in field else (x, y)
                wanted = asked._ask(f"{field}_{h}", *arguments)
                found = answer(model, f"{field}_{h}", *arguments)
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11, err_msg=f"{field}_{h}")


def small_cleaning(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    samples = [Sample(rng.normal(size=(12, 4)), Softmax(rng.integers(0, 3, 12)), 3) for _ in range(2)]
    return Cleaning(samples[0], samples[1], 0.05)


LETTERS = {
    "aid-bio": {"beta": 1.0, "alpha": 0.3, "D": 3, "N_cg": 2, "steps": 4},
    "itd-bio": {"beta": 1.0, "alpha": 0.3, "D": 3, "steps": 4},
    "f2ba": {"eta": 1.0, "alpha": 0.3, "tau": 0.03, "lam": 10.0, "K": 3, "T": 4},
    "lfsba": {"M": 10.0, "m": 2, "rho_bar": 1.0, "T": 4, "K1": 3, "K2": 3, "l1": 3, "l2": 33, "kappa1": 9, "kappa2": 9}
    | {"lam": 10.0},
}


@pytest.mark.parametrize("method", LETTERS)
def test_calls_are_counted_exactly_and_the_forms_agree(method: str) -> None:
    runs, seen = [], []
    for compiled in (None, False):
        log: list[str] = []
        problem = ExternalProblem(small_cleaning(), "cleaning", watch=lambda field, x, y, s, log=log: log.append(field))
        runs.append(run_method(problem, method, LETTERS[method], np.zeros(12), compiled=compiled, record="last"))
        seen.append(log)
    np.testing.assert_allclose(runs[0].x, runs[1].x, rtol=1e-9, atol=1e-12)
    assert seen[0] == seen[1]
    assert sum(runs[0].counts.values()) == len(seen[0])
    assert np.linalg.norm(runs[0].x) > 1e-4


def test_trouble_in_a_callback_is_kept_and_ends_the_run() -> None:
    class Broken(Cleaning):
        def lower_gradient(self, x: Any, y: Any, want: Any) -> Any:
            raise RuntimeError("no data")

    model = small_cleaning()
    problem = ExternalProblem(Broken(model.train, model.valid, 0.05), "broken")
    run = run_method(problem, "aid-bio", LETTERS["aid-bio"], np.zeros(12), record="last")
    assert run.status == "not finite"
    assert "no data" in str(problem.ready_oracles.trouble[0])


def test_large_hessians_and_third_derivatives_are_refused() -> None:
    model = small_cleaning()
    model.dy = 3000
    with pytest.raises(ParameterError, match="too large"):
        answer(model, "hess_g", np.zeros(12), np.zeros(3000))
    with pytest.raises(ParameterError, match="third"):
        answer(small_cleaning(), "third_g", np.zeros(12), np.zeros(12))


def test_memory_of_a_run_has_no_square_of_the_dimension() -> None:
    import tracemalloc

    rng = np.random.default_rng(0)
    p, c, n = 20_000, 5, 40
    rows = [csr_matrix((rng.normal(size=200), (np.repeat(np.arange(n), 5), rng.integers(0, p, 200))), shape=(n, p))] * 2
    samples = [Sample(A, Softmax(rng.integers(0, c, n)), c) for A in rows]
    problem = ExternalProblem(Tuning(samples[0], samples[1]), "tuning")
    letters = LETTERS["aid-bio"] | {"steps": 1, "D": 1, "N_cg": 1}
    run_method(problem, "aid-bio", letters, np.zeros(p), budget={"iterations": 1, "calls": 100}, record="last")
    tracemalloc.start()
    run_method(problem, "aid-bio", letters, np.zeros(p), budget={"iterations": 1, "calls": 100}, record="last")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120 * 8 * p * c, peak / (8 * p * c)


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_that_no_training_row_has_are_solved_for_as_well(sparse: bool) -> None:
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    rng = np.random.default_rng(11)
    A, labels, c = rng.normal(size=(7, 5)), np.array([0, 1, 2, 0, 1, 2, 1]), 3
    A[:, [1, 4]] = 0.0
    x = rng.normal(size=5)

    def lower(flat: Any) -> float:
        W = flat.reshape(5, c)
        Z = A @ W
        ridge = np.sum(np.exp(x)[:, None] * W**2) / (2 * 5 * c)
        return float(np.mean(logsumexp(Z, axis=1) - Z[np.arange(7), labels]) + ridge)

    known = minimize(lower, np.zeros(15), method="BFGS", options={"gtol": 1e-7}).x
    sample = Sample(csr_matrix(A) if sparse else A, Softmax(labels), c)
    start = rng.normal(size=15)
    found = solved(Tuning(sample, sample), x, start)
    np.testing.assert_allclose(found, known, atol=2e-5)
    assert not found.reshape(5, c)[[1, 4]].any()


def test_a_gradient_that_is_changed_afterwards_is_not_the_next_answer() -> None:
    model, _ = CASES["completion"]()
    x = RNG.normal(size=model.dx)
    first = model.gradient("f", x, x, "x")[0]
    kept = first.copy()
    first[:] = 0.0
    np.testing.assert_array_equal(model.gradient("f", x, x, "x")[0], kept)
    assert model.value("f", x, x) != model.value("f", 2 * x, x)


def test_the_price_of_a_call_is_in_seconds_of_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks, seen = iter(range(0, 100, 2)), list[tuple[str, float]]()
    monkeypatch.setattr(time, "process_time", lambda: float(next(ticks)))
    model, _ = CASES["completion"]()
    problem = ExternalProblem(model, "m", watch=lambda field, x, y, seconds: seen.append((field, seconds)))
    problem.ready_oracles.answer("grad_f", np.ones(model.dx), np.zeros(0))
    assert seen == [("grad_f", 2.0)]
