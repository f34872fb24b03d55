"""What the pictures draw, against closed forms: the data of the lines and contours, never pixels."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks import Row
from bilevel_verify.checks.series import series_of
from bilevel_verify.cli import main
from bilevel_verify.errors import InputError
from bilevel_verify.methods.run import Trace


def parabola(**more):
    """phi(x) = (x - 1)^2 + x^2 with y*(x) = 2 x; L*_lam(x) = (x - 1)^2 + 2 lam x^2 / (1 + 2 lam)."""
    return bv.bilevel(f="(x1 - 1)**2 + y1**2/4", g="(y1 - 2*x1)**2/2", x="x1", y="y1", **more)


def well():
    """Minima -1/4 at (0, -1) and (0, 1), a saddle at the origin."""
    box = {"x1": (-2, 2), "x2": (-2, 2)}
    return bv.single_level(f="x1**2/2 + x2**4/4 - x2**2/2", x="x1 x2", domain=box, start=[1.0, 0.5])


def lines(figure, label):
    """The data of the first line whose label begins so."""
    found = [line for ax in figure.axes for line in ax.get_lines() if str(line.get_label()).startswith(label)]
    assert found, [line.get_label() for ax in figure.axes for line in ax.get_lines()]
    return np.asarray(found[0].get_xdata(), dtype=float), np.asarray(found[0].get_ydata(), dtype=float)


def labels(figure):
    return [str(line.get_label()) for ax in figure.axes for line in ax.get_lines()]


def test_hyper_objective_is_the_curve_with_its_certified_minimum() -> None:
    figure = bv.plot.hyper_objective(parabola(domain={"x1": (-1, 2)}))
    x, value = lines(figure, r"$\varphi")
    assert (x[0], x[-1]) == (-1, 2)
    assert np.allclose(value, (x - 1) ** 2 + x**2, atol=1e-12)
    at, least = lines(figure, "minimum")
    assert (at[0], least[0]) == pytest.approx((0.5, 0.5), abs=1e-9)
    assert any("minimum: 0.5 " in one and "certified" in one for one in labels(figure))


def test_a_minimum_of_a_part_is_not_called_the_minimum() -> None:
    figure = bv.plot.hyper_objective(parabola(domain={"x1": (-1, 2)}), box={"x1": (0.75, 2)})
    at, _ = lines(figure, "minimum of this window")
    assert at[0] == pytest.approx(0.75)
    assert not any(one.startswith("minimum:") for one in labels(figure))


def test_contours_lie_on_their_levels_and_stationary_points_are_named_by_kind() -> None:
    figure = bv.plot.hyper_objective(well())
    ax, seen = figure.axes[0], 0
    for collection in ax.collections[:1]:
        for level, path in zip(collection.levels, collection.get_paths(), strict=True):
            x, y = path.vertices.T
            seen += len(x)
            assert np.allclose(x**2 / 2 + y**4 / 4 - y**2 / 2, level, atol=0.02)
    assert seen > 500
    assert [np.round(v, 9).tolist() for v in lines(figure, "2 stationary: minimum")] == [[0, 0], [-1, 1]]
    assert [np.round(v, 9).tolist() for v in lines(figure, "1 stationary: saddle")] == [[0], [0]]


def test_a_slice_marks_its_point_and_no_stationary_point() -> None:
    p = bv.single_level(f="x1**2 + 2*x2**2 + 3*x3**2", x="x1 x2 x3")
    figure = bv.plot.hyper_objective(p, along="x3", point=[1.0, 1.0, 0.5])
    x, value = lines(figure, "$f$")
    assert np.allclose(value, 3 + 3 * x**2)
    assert [float(v[0]) for v in lines(figure, "the point")] == [0.5, 3.75]
    assert not any("stationary" in one or "minimum" in one for one in labels(figure))


def test_where_nothing_is_proved_the_curve_has_a_gap() -> None:
    p = bv.bilevel(f="y1", g="x1*y1**2/2 - y1", x="x1", y="y1", domain={"x1": (-1, 1)})
    x, value = lines(bv.plot.hyper_objective(p, stationary=False, count=21), r"$\varphi")
    assert np.isnan(value[x <= 0]).all()
    assert np.allclose(value[x > 0.1], 1 / x[x > 0.1])


def test_the_penalty_of_every_lambda() -> None:
    figure = bv.plot.penalty(parabola(), lam=[0.5, 8], box={"x1": (-1, 1)})
    for lam in (0.5, 8):
        found = [line for line in figure.axes[0].get_lines() if str(line.get_label()).endswith(f"= {lam:g}")]
        x, value = found[0].get_data()
        assert np.allclose(value, (x - 1) ** 2 + 2 * lam * x**2 / (1 + 2 * lam), atol=1e-12)
        distance = [line for line in figure.axes[1].get_lines() if str(line.get_label()).endswith(f"= {lam:g}")]
        x, value = distance[0].get_data()
        seen = np.isfinite(value)
        assert np.allclose(value[seen], x[seen] ** 2 / (1 + 2 * lam), rtol=1e-9)
        assert seen[np.abs(x) > 0.01].all()
        assert not seen[x == 0].any()


def halving(x0=(1.0, 2.0), **options):
    """Gradient descent with step 1/2 on |x|^2/2: every iterate is half the one before it."""
    p = bv.single_level(f="x1**2/2 + x2**2/2", x="x1 x2", start=list(x0))
    return p, bv.solve(p, "gradient-descent", eps=1e-3, x0=list(x0), parameters={"eta": 0.5}, **options)


def test_a_path_is_the_iterates() -> None:
    p, run = halving()
    for figure in (bv.plot.trajectory(run, p), bv.plot.trajectory(run)):
        x, y = lines(figure, "gradient-descent")
        assert np.allclose(x, 0.5 ** np.arange(len(x)))
        assert np.allclose(y, 2 * x)
        assert len(x) == run.iterations + 1


def test_restarts_stand_where_an_epoch_begins() -> None:
    p = bv.zoo("double-well")
    run = bv.solve(p, "restarted-agd", eps=1e-2, x0=[0.1, 0.8])
    assert run.epochs > 2
    x, y = lines(bv.plot.trajectory(run, p), f"{run.epochs - 1} restarts")
    first = run.trace.x[(run.trace.k == 0) & (run.trace.epoch > 0)]
    assert np.array_equal(np.column_stack([x, y]), first)


def test_in_one_dimension_the_path_lies_on_the_curve() -> None:
    p = parabola()
    start = Trace(np.zeros(3, dtype=np.int64), np.arange(3), {"x": np.array([[2.0], [1.0], [0.75]])})
    run = replace(halving()[1], x=np.array([0.75]), trace=start)
    x, value = lines(bv.plot.trajectory(run, p), "gradient-descent")
    assert x.tolist() == [2.0, 1.0, 0.75]
    assert np.allclose(value, (x - 1) ** 2 + x**2, atol=1e-9)


HISTORIES = {
    "restarted-agd": ("double-well", {"eps": 1e-2, "x0": [0.1, 0.8]}),
    "gradient-descent": ("double-well", {"eps": 1e-2, "x0": [0.1, 0.8]}),
    "cubic-newton": ("double-well", {"x0": [0.1, 0.8], "eps": 1e-6, "parameters": {"M": 20.0, "T": 30}}),
    "aid-bio": (
        "toy-a",
        {"parameters": {"alpha": 0.1, "beta": 0.1, "D": 5, "N_cg": 2, "steps": 12}, "eps": 1e-6, "x0": [1.0, 1.0]},
    ),
    "bi-sg": ("disc", {"parameters": {"K": 12, "c": 1.0, "t": 0.1}}),
}


@pytest.mark.parametrize("method", HISTORIES)
def test_counts_along_a_run_are_those_of_the_run_cut_there(method) -> None:
    name, options = HISTORIES[method]
    p = bv.zoo(name)
    found = bv.plot.history(p, method, **options)
    assert found.run.counts == bv.solve(p, method, **options).counts
    assert found.iterations[-1] == found.run.iterations
    assert all(int(n[-1]) <= found.run.counts[kind] for kind, n in found.calls.items())
    for steps in range(1, min(9, found.run.iterations)):
        cut = bv.solve(p, method, budget={"iterations": steps}, **options)
        places = np.flatnonzero(found.iterations == steps)
        assert len(places), steps
        assert np.array_equal(found.x[places[0]], cut.trace.x[-1])
        asked = {kind: int(n[places[0]]) for kind, n in found.calls.items()}
        assert {k: v for k, v in asked.items() if v} == {k: v for k, v in cut.counts.items() if v}, steps


def test_gap_and_gradient_norm_fall_as_they_must() -> None:
    p, _ = halving()
    options = {"x0": [1.0, 2.0], "parameters": {"eta": 0.5}}
    figure = bv.plot.convergence(p, {"mine": "gradient-descent"}, 1e-3, against="iterations", **options)
    left, right = figure.axes
    k, gap = (np.asarray(v, dtype=float) for v in left.get_lines()[0].get_data())
    assert np.allclose(gap, 2.5 * 0.25**k)
    k, norm = (np.asarray(v, dtype=float) for v in right.get_lines()[0].get_data())
    assert np.allclose(norm, np.sqrt(5) * 0.5**k)


def test_an_unknown_axis_names_the_known_ones() -> None:
    p, _ = halving()
    with pytest.raises(InputError, match="grad_f"):
        bv.plot.convergence(p, "gradient-descent", 1e-3, against="grad_h", x0=[1.0, 2.0], parameters={"eta": 0.5})


CARD = """
[paper]
key = "half"
title = "Half steps"
standing = "Section 1"
[units]
F = "values"
X = "length"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants", meaning = "Lipschitz" }
eps = { unit = "F/X", domain = "(0, oo)", from = "user", meaning = "accuracy" }
eta = { unit = "X**2/F", domain = "(0, oo)", meaning = "step" }
[functions]
f = { arguments = ["X"], value = "F" }
grad_f = { arguments = ["X"], value = "F/X" }
[settings.main.parameters]
eta = "1/(2*L)"
[[theorem]]
id = "theorem-1"
source = "Theorem 1"
method = "gradient-descent"
settings = ["main"]
  [[theorem.claim]]
  id = "decrease"
  over = "step"
  left = "f(x[k+1]) - f(x[k])"
  right = "-eta/2*norm(grad_f(x[k]))**2"
"""


def test_measured_and_bound_at_every_step(tmp_path: Path) -> None:
    """x_k = 2^-k x_0, so f falls by 3/8 |x_k|^2, the promise is 1/4 |x_k|^2, and the margin is 1/3 everywhere."""
    card = tmp_path / "half.toml"
    card.write_text(CARD)
    p, _ = halving()
    (series,) = series_of(p, f"{card}/theorem-1", "decrease", eps=1e-2, x0=[1.0, 2.0])
    size = 5 * 0.25 ** np.arange(len(series.judgements))
    assert np.allclose([j.measured for j in series.judgements], -3 / 8 * size)
    assert np.allclose([j.bound for j in series.judgements], -size / 4)
    assert np.allclose([j.margin for j in series.judgements], 1 / 3)
    figure = bv.plot.along(p, f"{card}/theorem-1", eps=1e-2, x0=[1.0, 2.0])
    assert np.allclose(lines(figure, "f(x[k+1])")[1], -3 / 8 * size)
    assert any("margin 0.333" in one for one in labels(figure))
    (said,) = (one for one in labels(figure) if one.startswith("closest: place "))
    place = int(said.split()[2])
    assert f"k = {place})" in said  # one epoch: the place on the axis is the step that is named
    assert figure.axes[0].get_xlabel() == "places of the claim (over step), in the order of the run"
    with pytest.raises(InputError, match="there are decrease"):
        series_of(p, f"{card}/theorem-1", "decreace", eps=1e-2)


def test_the_promised_slope_and_the_local_ones() -> None:
    _, run = halving()
    runs = [replace(run, eps=2.0**-k, iterations=3 * 4**k) for k in range(1, 5)]
    figure = bv.plot.scaling(runs, exponent=2)
    _, right = figure.axes
    driver, counts = lines(figure, "gradient-descent")
    assert np.allclose(counts, 3 * driver**2)
    assert np.allclose(lines(figure, "promised slope 2")[1], counts)
    assert np.allclose(right.get_lines()[0].get_ydata(), 2)
    figure.canvas.draw()
    assert [t.get_text() for t in right.get_xticklabels() if 2.8 < t.get_position()[0] < 12] == ["5", "10"]
    assert not any(t.get_text() for t in right.get_xticklabels(minor=True))
    with pytest.raises(InputError, match="two or more"):
        bv.plot.scaling(runs[:1])


def row(claim, measured, bound, verdict="holds", margin=None):
    given = (bound - measured) / max(abs(bound), abs(measured)) if margin is None else margin
    base = {"paper": "p", "statement": "s", "source": None, "problem": "q", "method": None, "kind": "run"}
    return Row(**base, claim=claim, verdict=verdict, measured=measured, bound=bound, margin=given)


def test_shares_of_bounds_by_verdict() -> None:
    rows = [row("a", 1.0, 4.0), row("b", 6.0, 2.0, "refuted"), row("c", 4.0, 1.0, margin=0.75), row("d", -1.0, 1.0)]
    figure = bv.plot.margins(rows)
    assert sorted(lines(figure, "holds")[0]) == [0.25, 0.25]  # "c" is a lower bound: kept, so a quarter of its room
    assert lines(figure, "refuted")[0].tolist() == [3.0]
    assert "1 rows have no such share" in figure.axes[0].get_xlabel()


def test_curvature_is_the_spectral_norm_of_the_hessian() -> None:
    p = bv.bilevel(f="x1*y1", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1", domain={"x1": (-1, 1), "y1": (-3, 3)})
    figure = bv.plot.curvature(p, "L_g", along=["y1"])
    y, found = (np.asarray(v, dtype=float) for v in figure.axes[0].get_lines()[0].get_data())
    trace = 2 - np.cos(y) / 2
    assert np.allclose(found, trace / 2 + np.sqrt(trace**2 / 4 + 1))
    assert np.allclose(bv.plot.curvature(p, "mu", along=["y1"]).axes[0].get_lines()[0].get_ydata(), trace)
    assert "certified" in figure.axes[0].get_title()


Values = Callable[[np.ndarray], np.ndarray]


def drawn(p: bv.Problem, letter: str, along: str, paper: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    figure = bv.plot.curvature(p, letter, along=[along], paper=paper, count=41)
    place, found = (np.asarray(v, dtype=float) for v in figure.axes[0].get_lines()[0].get_data())
    return place, found


CUBIC = bv.bilevel(
    f="x1**2*y1 + 3*x1*y2", g="2*y1**2 + cos(y1) + 4*y2**2", x="x1", y="y1 y2", domain={"y1": (-2, 2), "x1": (-1, 1)}
)


@pytest.mark.parametrize(
    ("letter", "paper", "along", "value"),
    [
        ("rho_g", None, "y1", lambda y: np.abs(np.sin(y))),
        ("nu", "fsba", "y1", lambda y: np.abs(np.cos(y))),
        ("rho_f", None, "x1", lambda x: 2 + 0 * x),  # the block xyz of x1^2 y1; xxy is not asked for
        ("C_f", None, "x1", lambda x: np.hypot(x**2, 3 * x)),
        ("M", "rahgd", "x1", lambda x: np.hypot(x**2, 3 * x)),  # f_x = 2 x1 y1 + 3 y2 is 0 where y is
    ],
)
def test_curvature_of_every_order_is_that_of_the_formula(
    letter: str, paper: str | None, along: str, value: Values
) -> None:
    place, found = drawn(CUBIC, letter, along, paper)
    assert np.allclose(found, value(place))


def test_the_norm_of_a_third_derivative_is_that_of_the_tensor() -> None:
    p = bv.single_level(f="x1**2*x2 + x2**2", x="x1 x2", domain={"x1": (-1, 1), "x2": (-1, 1)})
    assert np.allclose(drawn(p, "rho", "x1")[1], 6 * (2 / 3) / np.sqrt(3), rtol=1e-6)  # u1^2 = 2/3, u2^2 = 1/3


def test_curvature_of_minimax_is_of_minus_f_and_stays_in_the_declared_ranges() -> None:
    p = bv.minimax(f="x1*y1 - y1**3", x="x1", y="y1", domain={"x1": (-1, 1), "y1": (1, 2)})
    assert np.allclose(drawn(p, "mu", "x1")[1], 6)  # at y1 = 1, not at 0
    y, found = drawn(p, "mu", "y1")
    assert np.allclose(found, 6 * y)


def test_curvature_of_the_hyper_objective() -> None:
    p = bv.bilevel(f="sin(x1) + y1**2", g="(y1 - x1)**2", x="x1", y="y1", domain={"x1": (-1, 1)})
    x, found = drawn(p, "L_phi", "x1")
    assert np.allclose(found, 2 - np.sin(x))
    with pytest.raises(InputError, match=r"one or two of x1$"):
        bv.plot.curvature(p, "L_phi", along=["y1"])


@pytest.mark.parametrize(
    ("name", "letter", "said"),
    [
        ("bilevel-wave", "M_g", "compares two points"),
        ("bilevel-wave", "nu_f", "compares two points"),
        ("asinh-minimax", "kappa", "draw ell or mu"),
        ("disc", "D", "belongs to the set"),
        ("disc", "alpha", "distance to the solutions"),
        ("disc", "L_phi", "not here for simple_bilevel"),
        ("diabetes-ridge-10", "rho_g", "bounded, not evaluated"),
        ("bilevel-wave", "rho", "did you mean 'rho_g'"),
    ],
)
def test_a_constant_without_a_value_at_a_point_says_why(name: str, letter: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        bv.plot.curvature(bv.zoo(name), letter)
    assert "\n" not in str(caught.value)


def test_a_simple_bilevel_problem_is_drawn_on_the_box_of_its_set() -> None:
    figure = bv.plot.curvature(bv.zoo("disc"), "L_g", count=5)
    assert np.allclose(figure.axes[0].get_xlim(), (-1, 1))
    assert "over the lower-level solutions" in bv.plot.curvature(bv.zoo("disc"), "M", count=5).axes[0].get_title()


def test_profiles_of_runs() -> None:
    _, run = halving()
    runs = []
    for method, calls in {"a": (10, 10, 40), "b": (20, 5, None)}.items():
        for eps, n in zip((1.0, 0.5, 0.25), calls, strict=True):
            status = "finished" if n else "budget"
            runs.append(replace(run, method=method, eps=eps, status=status, counts={"grad_f": n or 1}))
    figure = bv.plot.performance_profile(runs)
    x, share = lines(figure, "a")
    assert dict(zip(x, share, strict=True))[1.0] == pytest.approx(2 / 3)
    assert max(share) == 1
    assert max(lines(figure, "b")[1]) == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="two instances"):
        bv.plot.data_profile(runs[:1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"box": {"x2": (0, 1)}}, "no coordinate"),
        ({"box": {"x1": (1, 0)}}, "smaller first"),
        ({"point": [1.0, 2.0]}, "1 finite numbers"),
        ({"along": ["x1", "x1", "x1"]}, "1 to 2"),
    ],
)
def test_a_wrong_window_is_named(words, said) -> None:
    with pytest.raises(InputError, match=said):
        bv.plot.hyper_objective(parabola(), **words)


def test_names_of_users_are_text_and_points_outside_the_domain_are_shown() -> None:
    _, run = halving()
    box = {"x1": (2, 3), "x2": (2, 3)}
    outside = bv.single_level(f="x1**2/2 + x2**2/2", x="x1 x2", domain=box, start=[2.5, 2.5], name="a $b$ c$")
    figure = bv.plot.trajectory({"_my $method": run}, outside, count=9)
    assert "my" in figure.to_svg()
    x, _ = lines(figure, r"my \$method")
    assert x[0] == 1.0


def test_given_axes_are_drawn_into() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_subplot()
    assert bv.plot.penalty(parabola(), [1.0], axes=axes) is figure
    assert len(axes.get_lines()) == 2


def test_a_picture_is_the_same_file_every_time(tmp_path: Path) -> None:
    pictures = [bv.plot.penalty(parabola(), [1.0]) for _ in "ab"]
    for kind in ("svg", "png", "pdf"):
        files = [one.write(tmp_path / f"{n}.{kind}") for n, one in enumerate(pictures)]
        assert files[0].read_bytes() == files[1].read_bytes()
    assert "<svg" in pictures[0]._repr_svg_()
    with pytest.raises(InputError, match="choose another file"):
        pictures[0].write(tmp_path / "0.svg" / "x.svg")


def test_plot_on_the_command_line(tmp_path: Path, capsys) -> None:
    target = tmp_path / "deep" / "path.svg"
    words = ["plot", "trajectory", "zoo:double-well", "--method", "gradient-descent,restarted-agd", "--eps", "0.01"]
    assert main([*words, "--x0=0.1,0.8", "--box", "x1=-2:2", "--out", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["picture"] == str(target)
    assert "restarted-agd" in target.read_text()
    for wrong, said in (
        (["plot", "penalty", "zoo:double-well"], "no penalty function"),
        (["plot", "hyper-objective", "zoo:double-well", "--box", "x1=1"], "NAME=LOW:HIGH"),
        (["plot", "scaling", "zoo:double-well", "--eps", "0.1", "--method", "gradient-descent"], "at least two"),
        (["plot", "bound", "zoo:double-well"], "--statement"),
        (["plot", "convergence", "zoo:double-well"], "--method"),
        (
            ["plot", "data-profile", "zoo:ridge-cosines", "--eps", "0.1", "--method", "gradient-descent"],
            "two instances",
        ),
    ):
        assert main(wrong) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["performance-profile", "data-profile"])
def test_profiles_on_the_command_line(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "profile.svg"
    words = [
        "plot",
        kind,
        "zoo:ridge-cosines",
        "--among",
        "zoo:leaving-box",
        "--method",
        "gradient-descent,restarted-agd",
    ]
    assert main([*words, "--eps", "0.1,0.05", "--out", str(target)]) == 0
    assert "4 instances" in target.read_text()


def test_runs_traces_and_findings_show_themselves_in_a_notebook() -> None:
    _, run = halving()
    page = replace(run, problem="<script>")._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert f"{run.iterations} iterations" in page
    trace = Trace(np.zeros(30, dtype=np.int64), np.arange(30), {"x": np.arange(30.0)[:, None]})
    assert trace._repr_html_().count("<tr>") == 1 + 10 + 1
    assert str(trace) == "30 iterates of x (1), last epoch 0"
    assert "N = no limit" in replace(run, parameters={"N": 2**62, "eta": 0.5})._repr_html_()
    (finding,) = bv.check("x + 1 <= x", "x = [0, 1]")
    assert "refuted" in finding._repr_html_()
    assert "&lt;=" in finding._repr_html_()


@pytest.mark.parametrize("count", [-1, 1, 10**6 + 1, 10**120])
def test_a_grid_has_two_points_or_more_and_no_more_than_a_picture_holds(count: int) -> None:
    p = bv.bilevel(f="x1 + y1", g="y1**2 - x1*y1", x="x1", y="y1")
    for picture in (bv.plot.hyper_objective, bv.plot.penalty, bv.plot.curvature):
        with pytest.raises(InputError, match="count: 2 to"):
            picture(p, count=count)


def test_a_grid_of_two_coordinates_is_bounded_as_a_whole() -> None:
    p = bv.single_level(f="x1**2 + x2**2", x="x1 x2")
    with pytest.raises(InputError, match="count: 2 to 1000 points"):
        bv.plot.hyper_objective(p, count=1001)


@pytest.mark.parametrize(("epochs", "size"), [(61, 6.0), (62, 2.0)])
def test_crowded_restarts_are_small(epochs: int, size: float) -> None:
    p, run = halving()
    places = np.linspace(1, 0, epochs)[:, None] * np.array([1.0, 2.0])
    many = replace(run, trace=Trace(np.arange(epochs), np.zeros(epochs, dtype=np.int64), {"x": places}))
    (squares,) = (one for one in bv.plot.trajectory(many, p).axes[0].get_lines() if one.get_marker() == "s")
    assert squares.get_markersize() == size
