"""The examples as a solver's author runs them: SciPy, JAX, PyTorch, and five lines that catch the controls."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from seeds import SEED

import bilevel_verify
from bilevel_verify.testing import CONTROLS, BrokenContract, Profile, assert_all, references
from bilevel_verify.testing.references.stated import BILEVEL, ROSENBROCK

ROOT = Path(bilevel_verify.__file__).parents[1]
EXAMPLES = Path(__file__).parent / "examples"
INSTALLED = any(entry.value == "bilevel_verify.testing.plugin" for entry in entry_points(group="pytest11"))
MINE = """
from bilevel_verify.testing import references as correct

def hypergradient(oracles, x):
    return correct.implicit_hypergradient(oracles, x, FAULT)

cg, agd, solve = correct.conjugate_gradients, correct.accelerated_descent, correct.two_level_descent
"""


def pytest_run(file: Path, folder: Path, *options: str) -> str:
    """What a run of one file printed, the plugin on."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "BILEVEL"))}
    path = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    environment |= {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    plugin = () if INSTALLED else ("-p", "bilevel_verify.testing.plugin")
    words = [
        sys.executable,
        "-m",
        "pytest",
        *plugin,
        "--bilevel",
        "quick",
        "-p",
        "no:cacheprovider",
        *options,
        str(file),
    ]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment)
    return done.stdout + done.stderr


def code_lines(path: Path) -> int:
    """Lines that are neither blank nor part of the docstring at the top."""
    lines = path.read_text(encoding="utf8").split('"""')[-1].splitlines()
    return sum(1 for line in lines if line.strip())


@pytest.mark.parametrize("style", ["scipy", "jax", "torch"])
def test_adapters(style, tmp_path):
    example = EXAMPLES / f"example_{style}.py"
    assert code_lines(example) < 20
    if importlib.util.find_spec(style) is None:
        pytest.skip(f"extra: {style}")
    printed = pytest_run(example, tmp_path)
    assert "1 passed" in printed, printed
    assert "assert_hypergradient" in printed


def test_a_whole_solver_in_torch_as_a_black_box_ends(tmp_path):
    """27 seconds of processor, PyTorch itself among them."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("extra: torch")
    printed = pytest_run(EXAMPLES / "example_torch_solver.py", tmp_path)
    assert "1 passed" in printed, printed
    assert "assert_stopping" in printed


@pytest.mark.parametrize(("fault", "outcome"), [("", "1 passed"), ("one inner step", "1 failed")])
def test_five_lines_of_pytest(fault, outcome, tmp_path):
    example = EXAMPLES / "example_five_lines.py"
    assert code_lines(example) <= 5
    (tmp_path / "mine.py").write_text(f"FAULT = {fault!r}{MINE}", encoding="utf8")
    (tmp_path / "test_mine.py").write_text(example.read_text(encoding="utf8"), encoding="utf8")
    printed = pytest_run(tmp_path / "test_mine.py", tmp_path)
    assert outcome in printed, printed
    if fault:
        assert "hypergradient: wrong hypergradient at call" in printed
        assert "Problem file that repeats it:" in printed


PART = {
    "hypergradient": "hypergradient",
    "linear": "linear_solver",
    "inner": "inner_solver",
    "descent": "descent",
    "counts": "counts",
    "method": "solver",
    "two levels": "solver",
    "hyper-Hessian": "hyper_hessian",
    "constants": "constants",
    "solver": "iterates",
    "simple bilevel": "simple_bilevel",
}
MORE = {
    "method": {"kinds": ("minimax",)},
    "inner": {"inner_transcription": references.accelerated_descent},
    "solver": {"transcription": references.restarted_descent},
}


def in_five_lines(control, profile, seed=0):
    """The control given to ``assert_all`` as its author would; whether it was caught."""
    if control.protocol.startswith("by hand"):
        given = {"oracles": control.make(), "problem": BILEVEL if control.protocol.endswith("bilevel") else ROSENBROCK}
    else:
        given = {PART[control.protocol]: control.make(), **MORE.get(control.protocol, {})}
    try:
        assert_all(**given, profile_=profile, seed=seed)
    except BrokenContract:
        return True
    return False


@pytest.mark.parametrize("protocol", sorted({control.protocol for control in CONTROLS}))
def test_the_five_lines_catch_the_controls(protocol):
    quick = Profile("quick", 40, seconds=2.0, simplify=0, compile_seconds=2.0)
    slow = {"runs for ever", "asks for ever"}  # named in test_testing_assertions
    subjects = [control for control in CONTROLS if control.protocol == protocol and control.name not in slow]
    missed = [control.name for control in subjects[SEED % 6 :: 6] if not in_five_lines(control, quick)]
    assert missed == []


def test_every_block_of_the_guide_runs():
    guide = (ROOT / "docs" / "testing.md").read_text(encoding="utf8")
    blocks = re.findall(r"^```python\n(.*?)^```", guide, re.M | re.S)
    assert len(blocks) == 4
    # Hypothesis reads the source of every module that lies in the project before its first draw: hundreds here, none of
    # them where the package is installed. A busy machine takes more than the second that it allows.
    patient = (
        "from hypothesis import HealthCheck, settings\n"
        "settings.register_profile('patient', suppress_health_check=[HealthCheck.too_slow])\n"
        "settings.load_profile('patient')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", patient + "\n".join(blocks)], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("wrong hypergradient call ")
    from bilevel_verify import testing

    listed = [name for name in testing.__all__ if name.startswith("assert_") or name.endswith("_instances")]
    assert [name for name in listed if f"`{name}`" not in guide] == []
