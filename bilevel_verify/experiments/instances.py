"""From a file of an experiment to an instance: the model with its data, the start, and what is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.experiments.data import corrupted, labelled, ratings, regression
from bilevel_verify.experiments.files import Experiment, Size, experiment
from bilevel_verify.experiments.ground_truth import least_squares_on_ball
from bilevel_verify.experiments.models.classification import Cleaning, Sample, Tuning
from bilevel_verify.experiments.models.completion import Completion
from bilevel_verify.experiments.models.formulas import LeastSquares, WShaped
from bilevel_verify.experiments.models.links import Logistic, Softmax, Squares
from bilevel_verify.experiments.models.representation import Representation

if TYPE_CHECKING:
    from bilevel_verify.experiments.data import Labelled

FloatArray = NDArray[np.float64]
Measure = Callable[[FloatArray, FloatArray], dict[str, float]]


@dataclass
class Instance:
    """One problem with its data.

    Attributes
    ----------
    model : see ``bilevel_verify.oracles.external``. ``start`` : of x; y starts at zero.
    measure : (x, y) -> what the pictures show, not counted.
    final : (x, y) -> what is said of the end of a run.
    constants : numbers that letters may use. ``around`` : a problem with a feasible set, for simple bilevel methods.
    dear : whether measuring solves something and is done at fewer points.
    """

    model: Any
    start: FloatArray
    measure: Measure
    source: str
    final: Measure = lambda x, y: {}
    constants: Mapping[str, float] = field(default_factory=dict)
    around: Any = None
    dear: bool = False


@lru_cache(maxsize=2)
def instance(name: str, size: str, variant: str, seed: int, folder: str | None) -> Instance:
    """The instance of an experiment for a seed (the last two are kept)."""
    found = experiment(name)
    made: Instance = MAKERS[found.problem](found, found.size[size], found.variants[variant], seed, folder)
    return made


def _cleaning(e: Experiment, size: Size, variant: Mapping[str, Any], seed: int, folder: str | None) -> Instance:
    data = labelled({**size.data_at(folder), **variant.get("data", {})}, seed, Path(folder) if folder else None)
    noisy, wrong = corrupted(data.train[1], data.classes, float(variant["corruption"]), seed)
    train, valid, test = _samples(data, noisy)
    model = Cleaning(train, valid, float(size.options.get("C", 1e-3)))

    def final(x: FloatArray, y: FloatArray) -> dict[str, float]:
        return {"auc": detector(-x, wrong)}

    measure = _classified(model, test, size.retrain)
    constants = {"L1": _curvature(train) + 2 * model.C, "mu": 2 * model.C}
    return Instance(model, np.zeros(model.dx), measure, data.source, final, constants, dear=size.retrain)


def _tuning(e: Experiment, size: Size, variant: Mapping[str, object], seed: int, folder: str | None) -> Instance:
    data = labelled(size.data_at(folder), seed, Path(folder) if folder else None)
    train, valid, test = _samples(data, data.train[1])
    model = Tuning(train, valid)
    constants = {"L1": _curvature(train) + model.scale, "mu": model.scale}
    measure = _classified(model, test, size.retrain)
    return Instance(model, np.zeros(model.dx), measure, data.source, constants=constants, dear=size.retrain)


def _samples(data: Labelled, train_labels: NDArray[np.int64]) -> tuple[Sample, Sample, Sample]:
    binary = data.classes == 2
    link, c = (Logistic, 1) if binary else (Softmax, data.classes)
    rows = (data.train[0], train_labels), data.valid, data.test
    train, valid, test = (Sample(A, link(labels), c) for A, labels in rows)
    return train, valid, test


def _curvature(sample: Sample) -> float:
    """A bound of the curvature of the mean loss: |A|^2/(4 n) binary, |A|^2/(2 n) softmax, by 30 power steps."""
    v = np.random.default_rng(0).standard_normal(int(sample.A.shape[1]))
    size = 1.0
    for _ in range(30):
        v = sample.At @ (sample.A @ (v / np.linalg.norm(v)))
        size = float(np.linalg.norm(v))
    return 1.05 * size / sample.n * (0.25 if sample.c == 1 else 0.5)


def _classified(model: Any, test: Sample, retrain: bool) -> Measure:
    """Validation loss (of the lower level solved anew, if asked for), test loss and accuracy."""
    warm = [np.zeros(model.dy)]

    def measure(x: FloatArray, y: FloatArray) -> dict[str, float]:
        found = {"own": model.value("f", x, y)}
        at = y
        if retrain:
            at = warm[0] = solved(model, x, warm[0])
            found["validation"] = model.value("f", x, at)
        Z = test.scores(at)
        return found | {"test": float(np.mean(test.link.loss(Z))), "accuracy": test.link.correct(Z)}

    return measure


def solved(model: Any, x: FloatArray, start: FloatArray) -> FloatArray:
    """The minimiser of g(x, .) by L-BFGS from a start; for measuring only.

    Half of the columns of sparse rows may be in no training row, and vectors cost more than gradients there: they are
    left out, and five pairs are kept instead of ten.
    """
    from scipy.optimize import minimize

    if not np.all(np.isfinite(x)):
        return np.full(model.dy, np.nan)
    if isinstance(model, Tuning) and len(model.seen[1]) < model.dx:
        part, columns = model.seen
        found = np.zeros((model.dx, model.train.c))
        found[columns] = solved(part, x[columns], start.reshape(found.shape)[columns].ravel()).reshape(len(columns), -1)
        return found.ravel()

    def both(y: FloatArray) -> tuple[float, FloatArray]:
        return model.value("g", x, y), model.gradient("g", x, y, "y")[1]

    start = start if np.all(np.isfinite(start)) else np.zeros(model.dy)
    result = minimize(
        both, start, jac=True, method="L-BFGS-B", options={"maxiter": 300, "gtol": 1e-7, "ftol": 1e-13, "maxcor": 5}
    )
    return np.asarray(result.x)


def detector(scores: FloatArray, wrong: NDArray[np.bool_]) -> float:
    """Area under the curve of a detector: how often a wrong label scores above a right one, ties half."""
    from scipy.stats import rankdata

    bad = int(wrong.sum())
    if bad in (0, len(wrong)) or not np.all(np.isfinite(scores)):
        return float("nan")
    ranks = rankdata(scores)
    return float((ranks[wrong].sum() - bad * (bad + 1) / 2) / (bad * (len(wrong) - bad)))


def _representation(
    e: Experiment, size: Size, variant: Mapping[str, object], seed: int, folder: str | None
) -> Instance:
    d, rng = size.data, np.random.default_rng([seed, 7])
    p, k, c, tasks = (int(d[key]) for key in ("features", "representation", "ways", "tasks"))
    shared = rng.standard_normal((p, k)) / np.sqrt(p)

    def task(centres: FloatArray, shots: int) -> tuple[FloatArray, Any]:
        labels = np.repeat(np.arange(c), shots)
        A = (centres[labels] + 0.4 * rng.standard_normal((len(labels), k))) @ np.linalg.pinv(shared)
        A = A / np.sqrt(np.mean(A * A)) + float(d["noise"]) * rng.standard_normal((len(labels), p))
        return A, Squares(np.eye(c)[labels]) if variant["head"] == "ridge" else Softmax(labels)

    centres = [rng.standard_normal((c, k)) for _ in range(2 * tasks)]
    sets = [(task(m, int(d["shots"])), task(m, int(d["queries"]))) for m in centres]
    two = bool(variant["two_layers"])
    seen, unseen = (
        Representation([s for s, _ in part], [q for _, q in part], k, c, float(d["rho"]), two)
        for part in (sets[:tasks], sets[tasks:])
    )

    def measure(x: FloatArray, y: FloatArray) -> dict[str, float]:
        heads = solved(unseen, x, np.zeros(unseen.dy))
        found = {"own": seen.value("f", x, y), "test": unseen.value("f", x, heads)}
        if size.retrain:
            found["validation"] = seen.value("f", x, solved(seen, x, y))
        accuracy = unseen.correct(x, heads)
        return found | {"accuracy": accuracy, "error": 1.0 - accuracy}

    start = rng.standard_normal(p * k) / np.sqrt(p)
    source = f"seeded tasks: {tasks} of {c} ways, {d['shots']} shots, {p} inputs, {k} shared features"
    constants = {"L1": 4.0 / tasks, "mu": float(d["rho"]) / tasks}
    return Instance(seen, start, measure, source, constants=constants, dear=True)


def _completion(e: Experiment, size: Size, variant: Mapping[str, object], seed: int, folder: str | None) -> Instance:
    one_bit = bool(size.options.get("one_bit"))
    entries, source = ratings({**size.data_at(folder), "one_bit": one_bit}, seed, Path(folder) if folder else None)
    model = Completion(entries, int(size.data["rank"]), one_bit)

    def measure(x: FloatArray, y: FloatArray) -> dict[str, float]:
        value, slope = model.both(x)
        return {"objective": value, "gradient": float(np.linalg.norm(slope))}

    return Instance(model, model.start(seed), measure, source)


def _minimax(e: Experiment, size: Size, variant: Mapping[str, object], seed: int, folder: str | None) -> Instance:
    model = WShaped()
    jitter = 1.0 + float(size.options.get("jitter", 0.0)) * np.random.default_rng([seed, 8]).uniform(-1, 1, 3)
    start = np.asarray(variant["start"], dtype=float) * jitter
    source = "the printed formula; starts multiplied by 1 + jitter of the seed"
    return Instance(model, start, lambda x, y: {"gap": model.phi(x)}, source)


def _regression(e: Experiment, size: Size, variant: Mapping[str, object], seed: int, folder: str | None) -> Instance:
    from bilevel_verify.problems import Ball

    A, b, C, d, source = regression(size.data, seed)
    known = least_squares_on_ball(A, b, C, d, 1.0)
    model = LeastSquares(A, b, C, d)
    return _simple(
        model, SimpleNamespace(feasible=Ball(radius=1.0)), np.zeros(model.dx), known.f_star, known.g_star, source
    )


def _inverse(e: Experiment, size: Size, variant: Mapping[str, Any], seed: int, folder: str | None) -> Instance:
    from bilevel_verify.problems import zoo

    n = int(variant["n"])
    model = LeastSquares(np.ones((1, n)), np.ones(1), None, None)
    start = np.random.default_rng([seed, 9]).uniform(0.0, 1.0, n)
    return _simple(
        model, zoo("linear-inverse", n=n), start, 1 / (2 * n), 0.0, "the printed formula; start uniform on [0, 1]^n"
    )


def _simple(
    model: LeastSquares, around: object, start: FloatArray, f_star: float, g_star: float, source: str
) -> Instance:
    def measure(x: FloatArray, y: FloatArray) -> dict[str, float]:
        f, g = model.value("f", x, y) - f_star, max(model.value("g", x, y) - g_star, 0.0)
        return {"infeasibility": g, "suboptimality": abs(f), "worse": max(abs(f), g)}

    constants = {"L_f": model.curvature("f"), "L_g": model.curvature("g"), "b_size": 0.5 * float(np.sum(model.b**2))}
    return Instance(model, start, measure, source, constants=constants, around=around)


MAKERS: Mapping[str, Callable[..., Instance]] = {
    "cleaning": _cleaning,
    "tuning": _tuning,
    "representation": _representation,
    "completion": _completion,
    "minimax": _minimax,
    "regression": _regression,
    "inverse": _inverse,
}
