"""What the suite does not run still imports: pages of the site, lessons, the gallery, thorough runs, benchmarks.

A module that moves leaves these behind: the linters do not follow their imports, and the site is built in CI alone.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from package_trees import outline_of

ROOT = Path(__file__).resolve().parents[2]
OURS = ("bilevel_verify", "bilevel_check")
OUTSIDE = ("docs", "reports", "tests/thorough", "tests/benchmarks", "tests/mutation")


def sources(folder: Path) -> Iterator[tuple[Path, str]]:
    """Python of a folder: its modules, the cells of its notebooks (without magics), fenced blocks of its pages."""
    for path in sorted(folder.rglob("*.py")):
        yield path, path.read_text(encoding="utf8")
    for path in sorted(folder.rglob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf8"))["cells"]:
            if cell["cell_type"] == "code":
                yield path, re.sub(r"^[%!].*$", "", "".join(cell["source"]), flags=re.M)
    for path in sorted(folder.rglob("*.md")):
        for block in re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf8"), re.M | re.S):
            yield path, block


def missing(source: str) -> list[str]:
    """Imports from our packages, inside functions too, of modules or names that are not there."""
    found = []
    for node in outline_of(source).found:
        if isinstance(node, ast.Import):
            wanted = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            wanted = [(str(node.module), alias.name) for alias in node.names]
        else:
            continue
        found += [
            f"{module}:{name}" for module, name in wanted if module.split(".")[0] in OURS and not there(module, name)
        ]
    return found


def there(module: str, name: str | None) -> bool:
    """Whether a module can be imported and has the name (or is a package with a module of that name)."""
    try:
        loaded = importlib.import_module(module)
        return name is None or hasattr(loaded, name) or importlib.util.find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError as error:
        if not str(error.name).startswith(OURS):
            raise
        return False


@pytest.mark.parametrize("folder", OUTSIDE)
def test_what_stands_outside_the_package_imports_what_is_there(folder: str) -> None:
    read = list(sources(ROOT / folder))
    assert len(read) >= 10
    assert not [(path.name, name) for path, text in read for name in missing(text)]


@pytest.mark.parametrize(
    "line",
    [
        "from bilevel_verify.reporting.mathml import to_mathml",
        "def f():\n    from bilevel_verify.reporting.typesetting.mathml import to_html_of_old",
        "import bilevel_verify.nowhere",
    ],
)
def test_a_name_that_moved_is_noticed(line: str) -> None:
    assert len(missing(line)) == 1


def test_the_files_that_ci_names_are_there() -> None:
    named = set(re.findall(r"\btests/[\w/.]+\.py\b", (ROOT / ".ci/run").read_text(encoding="utf8")))
    assert len(named) >= 4
    assert not [name for name in sorted(named) if not (ROOT / name).is_file()]
