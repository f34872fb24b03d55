"""The site is built in strict mode from the pages of the repository, with the network out of reach."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bilevel_verify.theorems.library import shipped

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="extra: docs (mkdocs) is not here")


def without_network(command: list[str]) -> list[str]:
    """In a name space without a network where the system gives one; elsewhere through a proxy that is not there."""
    alone = ["unshare", "-n", "-r"]
    found = shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True, check=False)
    return [*alone, *command] if found and found.returncode == 0 else command


def built(folder: Path, **environment: str) -> Path:
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", "docs/site/mkdocs.yml", "-d", str(folder)]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    given = os.environ | nowhere | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(without_network(command), cwd=ROOT, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("site"), BILEVEL_VERIFY_LESSONS="skip")


def test_every_page_is_there(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    named = re.findall(r"([\w/-]+)\.(?:md|ipynb)", (ROOT / "docs" / "site" / "mkdocs.yml").read_text(encoding="utf-8"))
    wanted = {f"{name}.html" for name in named if name != "install-size"}
    assert len(wanted) > 25
    assert wanted <= pages, wanted - pages


def test_formulas_are_set_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    text = (site / "theory" / "constants.html").read_text(encoding="utf-8")
    assert "<math" in text
    assert not re.search(r"</?p>\s*<math(?![^>]*display)", text)  # a line may begin with one, and ends no paragraph
    for page in site.rglob("*.html"):
        shown = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="https?://', shown), page


def test_the_papers_are_marked_manuscripts_of_the_default_site(site: Path) -> None:
    """Every shipped paper, reached from the navigation, with formulas and verdicts; without a word of its text."""
    assert 'href="manuscripts.html"' in (site / "index.html").read_text(encoding="utf-8")
    listed = (site / "manuscripts.html").read_text(encoding="utf-8")
    for key in shipped():
        assert f'href="manuscript-{key}.html"' in listed
        page = (site / f"manuscript-{key}.html").read_text(encoding="utf-8")
        assert page.count('<div class="f ') > 50
        assert page.count("<math") > 50
        assert 'class="v refuted">' in page


def test_pages_of_ones_own_take_their_place(tmp_path: Path) -> None:
    (papers := tmp_path / "papers").mkdir()
    (papers / "manuscript-mine.html").write_text("<p>marked</p>")
    site = built(tmp_path / "site", BILEVEL_VERIFY_MANUSCRIPTS=str(papers), BILEVEL_VERIFY_LESSONS="skip")
    assert (site / "manuscript-mine.html").read_text(encoding="utf-8") == "<p>marked</p>"
    assert 'href="manuscript-mine.html">mine</a>' in (site / "manuscripts.html").read_text(encoding="utf-8")
