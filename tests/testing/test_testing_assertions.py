"""What the assertions say: contract, place, amount, a problem file that repeats it; misbehaviour by its name."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from bilevel_verify.errors import InputError
from bilevel_verify.problems import loads, single_level
from bilevel_verify.testing import (
    RELATIONS,
    BrokenContract,
    Profile,
    assert_all,
    assert_constants,
    assert_counts,
    assert_descent,
    assert_hyper_hessian,
    assert_hypergradient,
    assert_inner_solver_rate,
    assert_keeps_promises,
    assert_linear_solver,
    assert_metamorphic,
    assert_oracles,
    assert_same_iterates,
    assert_stationary,
    formulas,
    parameters,
    profile,
    references,
    rewritten,
)
from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.trials import contracts, ledger, trying
from bilevel_verify.testing.trials.trying import NO_FORK

FAST = Profile("fast", 12, seconds=0.3, simplify=200, compile_seconds=1.0)


def broken(assertion, function, *arguments, **options) -> BrokenContract:
    with pytest.raises(BrokenContract) as caught:
        assertion(function, *arguments, profile_=FAST, **options)
    return caught.value


def hypergradient(fault):
    def estimator(oracles, x):
        return references.implicit_hypergradient(oracles, x, fault)

    return estimator


def test_a_message_says_everything_and_its_file_repeats_the_failure():
    failure = broken(assert_hypergradient, hypergradient("wrong sign of the implicit part"))
    assert str(failure).startswith("estimator: wrong hypergradient at call ")
    assert "the implicit part with the wrong sign" in failure.detail
    assert "error / (1 + |exact|)" in failure.detail
    stated = loads(failure.problem_file)
    assert (stated.kind, stated.dx, stated.dy) == ("bilevel", 1, 1)
    assert len(failure.problem_file) < 250, "not simplified"


@pytest.mark.parametrize(
    ("fault", "contract"),
    [
        ("a column instead of a vector", "returns the wrong shape"),
        ("NaN", "returns NaN or infinity"),
        ("overwrites x", "changes its input"),
        ("all zero", "wrong hypergradient"),
    ],
)
def test_misbehaviour_has_a_name(fault, contract):
    failure = broken(assert_hypergradient, hypergradient(fault))
    assert failure.contract == contract
    assert "kind = " in failure.problem_file


def test_what_never_returns_is_ended():
    assert (
        broken(assert_hypergradient, references.asks_for_ever, budget=200).contract == "never returns within its budget"
    )
    assert broken(assert_hypergradient, references.runs_for_ever).contract == "never returns"


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks here")
def test_code_that_no_signal_reaches_is_ended_in_a_child_process():
    if any(name in sys.modules for name in NO_FORK):  # another test loaded it: nothing is forked here any more
        alone = [sys.executable, "-m", "pytest", "-q", f"{__file__}::{inspect.currentframe().f_code.co_name}"]
        subprocess.run(alone, check=True, capture_output=True)
        return

    def deaf(oracles, x):
        while True:
            time.sleep(0.01)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # the child inherits it: no race with its clock
    try:
        failure = broken(assert_hypergradient, deaf)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert failure.contract == "never returns"
    assert "its process was ended" in failure.detail


def test_errors_and_other_types():
    assert "ZeroDivisionError: step of length zero" in broken(assert_hypergradient, references.raises).detail
    assert broken(assert_hypergradient, lambda oracles, x: "words").contract == "returns no numbers"
    assert broken(assert_hypergradient, lambda oracles, x: oracles.grad_x_f(x, [1.0] * 9)).contract == "raises"
    assert broken(assert_counts, lambda oracles, x0: x0).contract == "returns no counts"


def test_a_warning_breaks_no_contract():
    def warns(oracles, x):
        warnings.warn("an interface of the library goes", DeprecationWarning, stacklevel=1)
        return references.implicit_hypergradient(oracles, x)

    assert_hypergradient(warns, profile_=Profile("one", 2))


def test_places_are_named():
    rate = broken(assert_inner_solver_rate, lambda *a: references.accelerated_descent(*a, fault="one iterate late"))
    assert rate.where.startswith("k = 1")
    same = broken(
        assert_same_iterates,
        lambda *a: references.accelerated_descent(*a, fault="gradient at x instead of w"),
        references.accelerated_descent,
    )
    assert same.where in ("k = 2", "k = 3")
    fall = broken(assert_descent, lambda *a: references.descent(*a, fault="ascent"))
    assert fall.where.startswith("step ")
    counted = broken(assert_counts, lambda *a: references.reporting_solver(*a, fault="products not counted"))
    assert counted.where in ("hvp_yy_g", "jvp_xy_g")


def test_wrong_starts_and_too_many_calls():
    def elsewhere(gradient, y0, mu, L, steps):
        return references.accelerated_descent(gradient, y0 + 1, mu, L, steps)

    assert broken(assert_inner_solver_rate, elsewhere).contract == "does not begin at its start"

    def wasteful(apply, b, tolerance):
        for _ in range(20):
            apply(b)
        return b

    assert broken(assert_linear_solver, wasteful).contract == "too many products"


def test_plain_descent_keeps_its_own_rate_only():
    def plain(gradient, y0, mu, L, steps):
        return references.accelerated_descent(gradient, y0, mu, L, steps, "no momentum")

    assert_inner_solver_rate(plain, rate="gd", profile_=FAST)
    with pytest.raises(BrokenContract, match="slower than the rate"):
        assert_inner_solver_rate(plain, profile_="quick")


def test_shrinking_keeps_the_contract_and_seeds_repeat():
    first, second = (broken(assert_hypergradient, hypergradient("damped Hessian"), seed=7) for _ in range(2))
    assert str(first) == str(second)


def test_metamorphic_relations_find_units_and_order():
    def unitful(oracles, x):
        return references.implicit_hypergradient(oracles, x) + 1e-2

    assert broken(assert_metamorphic, unitful, "unit rescaling").contract == "changes under unit rescaling"
    reversed_order = broken(assert_metamorphic, hypergradient("reversed order"), "rotation")
    assert "relative difference" in reversed_order.detail
    with pytest.raises(InputError, match="no relation 'mirror'"):
        assert_metamorphic(unitful, "mirror")


def test_stationary():
    assert_stationary(references.hyper_descent, eps=1e-2, profile_=FAST, kinds=("minimax",))
    failure = broken(assert_stationary, lambda oracles, x0, eps: x0)
    assert failure.contract == "output is not stationary"


def test_profiles(monkeypatch):
    monkeypatch.setenv("BILEVEL_VERIFY_PROFILE", "thorough")
    assert profile().examples > profile("quick").examples
    with pytest.raises(InputError, match="no profile 'slow'"):
        profile("slow")


def test_the_ledger_keeps_what_was_done():
    before = len(ledger.ENTRIES)
    broken(assert_hypergradient, hypergradient("all zero"))
    entry = ledger.ENTRIES[before]
    assert (entry.assertion, entry.subject, entry.broken) == (
        "assert_hypergradient",
        "estimator",
        "wrong hypergradient",
    )
    assert any("wrong hypergradient" in line for line in ledger.table())
    assert ledger.table([]) == []


CARD = """
[paper]
key = "planted"
standing = "Section 1"
title = "Gradient descent, one promise"
[units]
F = "values of f"
X = "length of x"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants" }
eps = { unit = "F/X", domain = "(0, oo)", from = "user" }
eta = { unit = "X**2/F", domain = "(0, oo)" }
N = { unit = "1", domain = "integers 1.." }
[settings.gd]
parameters = { eta = "1/L", N = "50" }
[[theorem]]
id = "descent"
method = "gradient-descent"
settings = ["gd"]
  [[theorem.claim]]
  id = "decrease"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k]) - eta/2*norm(grad_f(x[k]))**2"
"""


def test_promises_of_a_theorem(tmp_path):
    path = tmp_path / "planted.toml"
    path.write_text(CARD, encoding="utf8")
    bowl = single_level(f="cos(x1) + cos(2*x1 + x2 + 1)/2", x="x1 x2", name="bowl")

    def solver(sign):
        def run(oracles, x0, parameters):
            points = [np.array(x0)]
            for _ in range(6):
                points.append(points[-1] - sign * parameters["eta"] * oracles.grad_f(points[-1])[0])
            return np.array(points)

        return run

    options = {"problem": bowl, "eps": 0.1, "x0": [0.5, 0.0]}
    assert_keeps_promises(solver(1), f"{path}/descent", **options)
    with pytest.raises(BrokenContract, match="claim decrease") as caught:
        assert_keeps_promises(solver(-1), f"{path}/descent", **options)
    assert loads(caught.value.problem_file).dx == 2
    with pytest.raises(BrokenContract, match="NaN"):
        assert_keeps_promises(lambda o, x0, p: np.array([x0, x0 * np.nan]), f"{path}/descent", **options)
    with pytest.raises(BrokenContract, match="raises"):
        assert_keeps_promises(lambda o, x0, p: 1 / 0, f"{path}/descent", **options)
    for call, contract in (
        (lambda o, x0, p: np.zeros((3, 5)), "returns the wrong shape"),
        (lambda o, x0, p: "words", "returns no numbers"),
    ):
        with pytest.raises(BrokenContract, match=contract):
            assert_keeps_promises(call, f"{path}/descent", **options)
    assert_keeps_promises(solver(1), f"{path}/descent", profile_="quick")
    with pytest.raises(BrokenContract, match="claim decrease"):
        assert_keeps_promises(solver(-1), str(path), profile_="quick")
    path.write_text(CARD.replace('method = "gradient-descent"', ""), encoding="utf8")
    with pytest.raises(InputError, match="give problem= or kind="):
        assert_keeps_promises(solver(1), f"{path}/descent")


def test_deadlines_survive_compilation():
    """The first call for each shape may take as long as a compiler; every later one has its own limit."""
    seen: set[tuple[int, int]] = set()

    def compiled(oracles, x):
        if (oracles.dx, oracles.dy) not in seen:
            time.sleep(0.4)
            seen.add((oracles.dx, oracles.dy))
        return references.implicit_hypergradient(oracles, x)

    brief = Profile("brief", 4, seconds=0.3, compile_seconds=30.0)
    assert_hypergradient(compiled, profile_=brief, most=1)

    def never_compiled(oracles, x):
        end = time.process_time() + 0.6
        while time.process_time() < end:
            pass
        return references.implicit_hypergradient(oracles, x)

    with pytest.raises(BrokenContract, match="never returns at call 2") as caught:
        assert_hypergradient(never_compiled, profile_=brief, most=1)
    assert "no answer within 0.3 s" in str(caught.value)


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_what_goes_on_asking_is_ended_by_its_budget_not_by_seconds(monkeypatch):
    """On a slow machine a right solver was said never to return: seconds end only what asks nothing."""
    brief = Profile("brief", 2, seconds=0.1, compile_seconds=0.1)

    def slow(oracles, x):
        for _ in range(20):
            spin(0.02)
            oracles.grad_f(x, np.zeros(oracles.dy))
        return references.implicit_hypergradient(oracles, x)

    assert_hypergradient(slow, profile_=brief, most=1)

    def asks_once(oracles, x):
        oracles.grad_f(x, np.zeros(oracles.dy))
        spin(0.5)
        return references.implicit_hypergradient(oracles, x)

    with pytest.raises(BrokenContract, match="never returns at call 1"):
        assert_hypergradient(asks_once, profile_=brief, most=1)
    monkeypatch.setattr(contracts, "LONGER", 2)
    with pytest.raises(BrokenContract, match="never returns at call 1"):
        assert_hypergradient(slow, profile_=brief, most=1)


def test_an_inner_solver_that_goes_on_asking_is_not_ended_by_seconds():
    def slow(gradient, y, mu, L, steps):
        iterates = [y]
        for _ in range(steps):
            spin(0.02)
            iterates.append(iterates[-1] - gradient(iterates[-1]) / L)
        return np.array(iterates)

    assert_inner_solver_rate(
        slow, rate=lambda kappa, k: 1.0, profile_=Profile("brief", 3, seconds=0.1, compile_seconds=0.1)
    )


def test_what_ends_or_crashes_the_process_is_named():
    if not trying._can_fork():
        pytest.skip("extra: JAX is installed and loaded, examples run in this process")
    failure = broken(assert_hypergradient, references.ends_the_process)
    assert (failure.contract, failure.detail) == ("ends its process", "exit code 3")

    def crashes(oracles, x):
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(5)

    failure = broken(assert_hypergradient, crashes)
    assert failure.contract == "ends its process"
    assert "SIGSEGV" in failure.detail
    assert "kind = " in failure.problem_file

    def leaves(oracles, x):
        raise SystemExit(4)

    assert broken(assert_hypergradient, leaves).detail.startswith("SystemExit: 4")


def test_a_later_example_that_hangs_is_ended_too():
    def hangs_in_two_dimensions(oracles, x):
        if oracles.dx > 1:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            while True:
                time.sleep(0.01)
        return references.implicit_hypergradient(oracles, x)

    failure = broken(assert_hypergradient, hangs_in_two_dimensions)
    assert failure.contract == "never returns"
    assert 'x = "x1 x2' in failure.problem_file


def test_hyper_hessians_constants_and_hand_written_problems():
    assert_hyper_hessian(references.hyper_hessian, profile_=FAST)
    zero = broken(assert_hyper_hessian, lambda o, x: np.zeros((len(x), len(x))))
    assert "identically zero" in zero.detail
    assert_constants(references.constants_helper, profile_=FAST)
    assert_constants(references.constants_helper, loose=1.01, profile_=FAST)
    loose = broken(assert_constants, lambda i: {"L": 10 * i.L}, loose=2)
    assert loose.contract == "L is too loose"
    small = broken(assert_constants, lambda i: {"L": 1e-3})
    assert "smaller than the exact" in small.detail
    assert broken(assert_constants, lambda i: {"ell": 1.0}).contract == "returns no constants"
    mine = {"value_f": lambda x: x[0] ** 2, "grad_x_f": lambda x: [2 * x[0]]}
    stated = single_level(f="x1**2", x="x1", domain={"x1": (-1, 1)})
    assert_oracles(mine, stated, profile_=FAST)
    wrong = {**mine, "grad_x_f": lambda x: [x[0]]}
    with pytest.raises(BrokenContract, match="grad_x_f is not that of the formula") as caught:
        assert_oracles(wrong, stated, profile_=FAST)
    assert loads(caught.value.problem_file).dx == 1
    with pytest.raises(InputError, match="none of value_f"):
        assert_oracles({}, stated)
    with pytest.raises(InputError, match="kinds are among"):
        assert_hypergradient(references.implicit_hypergradient, kinds=("single_level",))


def test_solvers_under_relations():
    assert_metamorphic(references.descent, "rotation", protocol="solver", profile_=FAST)

    def unshifted(oracles, x0, steps):
        return references.descent(oracles, x0, steps, fault="Polyak step with f* = 0")

    with pytest.raises(BrokenContract, match="changes under shift of f and g at k = 1"):
        assert_metamorphic(unshifted, "shift of f and g", protocol="solver", profile_=FAST)
    with pytest.raises(InputError, match="for protocol 'solver'"):
        assert_metamorphic(unshifted, "min and max spelling", protocol="solver")


@pytest.mark.parametrize("relation", sorted(RELATIONS))
def test_statements_can_be_rewritten(relation):
    from bilevel_verify.truth import truth

    instance = decoding.displaced(bytes([1, 0, 1, 1, 2, 5, 3, 7, 1, 2, 4, 9, 1, 1, 2, 3, 1]), kind="minimax")
    how = RELATIONS[relation](decoding.Reader(bytes([1, 2, 3, 4])), instance.dx, instance.dy)
    other = rewritten(instance.problem(), how)
    x = np.linspace(0.3, 0.9, how.T.shape[1])
    expected = how.a * (how.T.T @ instance.grad_phi(how.T @ x))
    np.testing.assert_allclose(truth(other).grad_phi(x).value, expected, rtol=1e-7, atol=1e-7)
    boxed = single_level(f="x1**2", x="x1", domain={"x1": (-1, 1)})
    with pytest.raises(InputError, match="whole space"):
        rewritten(boxed, how)


def test_one_formula_with_its_numbers_as_arguments():
    f, g = formulas(np)
    rng, shapes = np.random.default_rng(2), {}
    for _ in range(60):
        instance = decoding.either(rng.integers(0, 256, 160, dtype=np.uint8).tobytes())
        x, y = rng.normal(size=instance.dx), rng.normal(size=instance.dy)
        theta = parameters(instance)
        assert f(theta, x, y) == pytest.approx(instance.value_f(x, y), rel=1e-11, abs=1e-11)
        assert g(theta, x, y) == pytest.approx(instance.value_g(x, y), rel=1e-11, abs=1e-11)
        found = tuple((name, value.shape) for name, value in theta.items())
        assert shapes.setdefault((instance.dx, instance.dy), found) == found
    with pytest.raises(InputError, match="has no formula here"):
        parameters(decoding.hoelder(bytes(160)))


def test_everything_in_one_call():
    tiny = Profile("tiny", 2)
    assert_all(
        hypergradient=references.implicit_hypergradient,
        linear_solver=references.conjugate_gradients,
        inner_solver=references.accelerated_descent,
        solver=references.two_level_descent,
        profile_=tiny,
    )
    with pytest.raises(InputError, match="needs a part of a solver"):
        assert_all()
    with pytest.raises(BrokenContract, match="y does not solve the lower level"):
        assert_all(solver=lambda o, x, e: references.two_level_descent(o, x, e, "returns the y of the start"))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="extra: a POSIX system")
def test_time_that_is_over_inside_a_callback_of_the_interpreter_is_not_lost():
    """What ``__del__`` or the callback of a weak reference raises is printed and forgotten."""

    def busy(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    class Gone:
        def __del__(self):
            busy(0.2)

    def work():
        Gone()
        busy(2.0)

    begin = time.process_time()
    with pytest.raises(contracts._TimeUp), contracts._alarm(0.1, lambda: 0, lambda seconds: None):
        work()
    assert 0.2 <= time.process_time() - begin < 1.5
