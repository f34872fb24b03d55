"""The worst instances that the main job always includes: chosen from the results of a search, entries of the zoo."""

from __future__ import annotations

import importlib.util
import json
import sys
import tomllib
from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.checks import builtin_jobs
from bilevel_verify.checks.requests.builtin import JOB_FILES

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/thorough"))  # its neighbours
_SPEC = importlib.util.spec_from_file_location("worst_run", ROOT / "tests/thorough/worst_run.py")
worst_run = importlib.util.module_from_spec(_SPEC)  # type: ignore[arg-type]
_SPEC.loader.exec_module(worst_run)  # type: ignore[union-attr]


def result(statement, *claims):
    common = {"family": "single-ramp", "knobs": {"s": "0.25"}, "x0": [1.0, 0.5], "eps": 0.01}
    return {"statement": statement, "claims": [common | claim for claim in claims]}


def test_the_tightest_claim_that_is_not_broken_is_kept():
    broken = {"ratio": 1.4, "verdict": "refuted", "x0": [9.0, 9.0]}
    on_record = {"ratio": 0.99, "verdict": "refuted", "x0": [8.0, 8.0]}
    noise = {"ratio": "inf", "verdict": None, "x0": [7.0, 7.0]}
    found = worst_run.kept(
        [
            result(
                "a/one",
                broken,
                on_record,
                noise,
                {"ratio": 0.9, "verdict": "holds"},
                {"ratio": 0.2, "verdict": "holds"},
            ),
            result("a/two", {"ratio": 0.5, "verdict": "undecided"}),
            result("a/none", broken),
            result("a/still", {"ratio": 0.7, "verdict": "holds", "x0": [0.0, 0.0]}),
            result("docs/worst/methods.toml/ba", {"ratio": 0.7, "verdict": "holds"}),
        ]
    )
    (job,) = tomllib.loads(found)["job"]
    assert job == {
        "problem": "ramp",
        "knobs": {"s": 0.25},
        "eps": [0.01],
        "x0": [1.0, 0.5],
        "statements": ["a/one", "a/two"],
    }


def test_what_is_kept_is_part_of_the_main_job():
    own = builtin_jobs(text=JOB_FILES[2].read_text(encoding="utf-8"))
    assert len(own) >= 24
    every = builtin_jobs()
    for job in own:
        assert job in every
        assert bv.zoo(job["problem"], **job["knobs"]).dx == len(job["x0"])


def test_what_is_kept_is_what_the_search_has_found():
    path = ROOT / "reports/worst.json"
    if not path.exists():
        pytest.skip("the reports are not shipped")
    assert worst_run.kept(json.loads(path.read_text())) == JOB_FILES[2].read_text(encoding="utf-8")
