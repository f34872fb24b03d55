"""All benchmarks in one run."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib import metadata

from bilevel_verify.benchmarks import growth
from bilevel_verify.benchmarks.rows import Section
from bilevel_verify.errors import InputError

PARTS = (
    "reading", "answers", "truth", "loops", "steppers", "batch", "dimension", "samples", "scale", "constants",
    "import", "main-job",
)  # fmt: skip


def run_benchmarks(
    parts: Sequence[str] | None = None,
    quick: bool = False,
    with_main_job: bool = False,
) -> list[Section]:
    """Measure the rows of the speed targets.

    Parameters
    ----------
    parts : some of ``PARTS``; all by default.
    quick : smaller sizes and fewer rounds.
    with_main_job : run the main job too (minutes).

    Raises
    ------
    InputError : an unknown part.
    """
    unknown = [part for part in parts or () if part not in PARTS]
    if unknown:
        raise InputError(f"no benchmark {unknown[0]!r}; there are {', '.join(PARTS)}")
    sections = [surroundings()]
    for part in PARTS if parts is None else parts:
        sections += _part(part, quick, with_main_job)
    return sections


def _part(part: str, quick: bool, with_main_job: bool) -> list[Section]:
    from bilevel_verify.benchmarks import certified, loops, scale, steppers, waiting

    match part:
        case "reading":
            return [waiting.reading(quick)]
        case "answers":
            return [waiting.answers(quick)]
        case "truth":
            return [waiting.truths(quick)]
        case "loops":
            return [loops.solver_loops(quick)]
        case "steppers":
            return [steppers.steppers(quick)]
        case "batch":
            return [loops.batches(quick)]
        case "dimension":
            return growth.with_dimension(quick)
        case "samples":
            return [growth.with_samples(quick)]
        case "scale":
            return [scale.laws(quick)]
        case "constants":
            return [certified.certified_constants(quick)]
        case "import":
            return [growth.imports(quick)]
    return [growth.main_job(with_main_job)]


def surroundings() -> Section:
    """The machine and the versions that the numbers belong to."""
    versions = []
    for name in ("sympy", "numpy", "numba", "llvmlite", "jax", "casadi", "python-flint"):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    busy = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, {busy}"
    notes = (f"{machine}; Python {platform.python_version()}; {', '.join(versions)}", "least of several rounds in turn")
    return Section("bilevel-verify bench", (), notes)
