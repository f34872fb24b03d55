"""The plugin in runs of its own: profile, table, page; light to load, harmless without Hypothesis."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import bilevel_verify

ROOT = Path(bilevel_verify.__file__).parents[1]
INSTALLED = any(entry.value == "bilevel_verify.testing.plugin" for entry in entry_points(group="pytest11"))
TESTS = """
import os
from bilevel_verify.testing import Profile, assert_descent, references

TINY = Profile("tiny", 3)

def test_good():
    assert os.environ["BILEVEL_VERIFY_PROFILE"] == "thorough"
    assert_descent(references.descent, profile_=TINY)

def test_bad():
    assert_descent(lambda *a: references.descent(*a, fault="ascent"), profile_=TINY)
"""


def python(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "BILEVEL"))}
    path = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    environment |= {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=cwd, env=environment)


def test_a_run_with_profile_table_and_page(tmp_path):
    (tmp_path / "test_mine.py").write_text(TESTS, encoding="utf8")
    plugin = () if INSTALLED else ("-p", "bilevel_verify.testing.plugin")
    options = ("--bilevel", "thorough", "--bilevel-report", "page.html", "-p", "no:cacheprovider")
    done = python("-m", "pytest", *plugin, *options, "test_mine.py", cwd=tmp_path)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "bilevel-verify, profile thorough" in done.stdout
    assert "Problem file that repeats it" in done.stdout
    assert "/trials/" not in done.stdout  # pytest shows the line of the test, no frame of the kit
    assert "/assertions/" not in done.stdout
    assert ">       assert_descent(lambda" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("assert_descent")]
    assert [(line[1], " ".join(line[4:])) for line in lines] == [
        ("descent", "-"),
        ("<lambda>", "no sufficient decrease"),
    ]
    page = (tmp_path / "page.html").read_text(encoding="utf8")
    assert "2 assertions, 1 broken" in page
    assert "&lt;lambda&gt;" in page
    assert "kind = &quot;single_level&quot;" in page


def test_frames_are_hidden_of_broken_contracts_alone():
    from bilevel_verify.testing.trials import contracts

    for error, kept in ((contracts.BrokenContract("c"), False), (TypeError("a slip of the kit"), True)):
        with pytest.raises(type(error)) as raised:
            raise error
        assert contracts.hidden(raised) is not kept
    for path in (ROOT / "bilevel_verify/testing/assertions").glob("*.py"):
        text = path.read_text(encoding="utf8")
        assert ("\n__tracebackhide__ = hidden\n" in text) == ("trials.contracts import" in text), path.name


def test_workers_of_xdist_hand_over_their_entries(tmp_path):
    pytest.importorskip("xdist", reason="extra: xdist")
    for number in range(2):
        (tmp_path / f"test_part{number}.py").write_text(TESTS, encoding="utf8")
    plugin = () if INSTALLED else ("-p", "bilevel_verify.testing.plugin")
    options = ("--bilevel", "thorough", "--bilevel-report", "page.html", "-p", "no:cacheprovider", "-n", "2")
    done = python("-m", "pytest", *plugin, *options, cwd=tmp_path)
    assert "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    lines = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("assert_descent")]
    assert sorted(lines) == ["<lambda>", "<lambda>", "descent", "descent"]
    assert "4 assertions, 2 broken" in (tmp_path / "page.html").read_text(encoding="utf8")


def test_loading_the_plugin_is_light():
    heavy = "numpy sympy scipy numba hypothesis bilevel_verify.problems multiprocessing".split()
    code = f"import sys, bilevel_verify.testing.plugin; print(sorted(set({heavy!r}) & set(sys.modules)))"
    assert python("-c", code).stdout.strip() == "[]"


def test_without_hypothesis():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import bilevel_verify.testing.plugin\n"
        "from bilevel_verify.testing import assert_descent, references, Profile\n"
        "assert_descent(references.descent, profile_=Profile('tiny', 2))\n"
        "try:\n    from bilevel_verify.testing import bilevel_instances\n"
        "except ImportError as error:\n    print(type(error).__name__, error)\n"
    )
    done = python("-c", code)
    assert done.stdout.startswith("MissingExtraError"), done.stderr
    assert "bilevel-verify[testing]" in done.stdout
