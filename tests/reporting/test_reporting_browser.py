"""The page in a real headless browser: no console error, no request, scripts of users never run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from reporting_samples import ATTACK, problem, verifications

from bilevel_verify.reporting import report

CHROMIUM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr"),
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("BILEVEL_VERIFY_BROWSER_REQUIRED"), reason="no chromium on this machine"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    attack = problem("wave", ATTACK)
    return report(verifications(), folder, title=f"Report {ATTACK}", command=ATTACK, problems=(None, attack, None))


def browse(address: str, profile: Path, *more: str) -> tuple[str, list[str]]:
    """DOM after the scripts ran, and the lines that the console and the network would complain with."""
    assert CHROMIUM, "install chromium"
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={profile}",
        "--virtual-time-budget=3000",
        *more,
        "--dump-dom",
        address,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [x for x in done.stderr.splitlines() if "CONSOLE" in x or "Refused to" in x]


def test_no_console_message_and_no_user_script(page: Path, tmp_path: Path) -> None:
    dom, complaints = browse(page.as_uri(), tmp_path)
    assert complaints == []
    title = re.search(r"<title>(.*?)</title>", dom, re.S)
    assert title
    assert title[1].startswith("Report &lt;script&gt;")
    assert re.search(r'<html lang="en" class="js" data-ready="\d+">', dom)  # the script came to its end


@pytest.mark.parametrize("place", ["s--restarted-agd-hb/theorem-1", "p--wave", "rows", "errata", "coverage", "methods"])
def test_every_page_opens_by_its_address(page: Path, tmp_path: Path, place: str) -> None:
    dom, complaints = browse(f"{page.as_uri()}#{place}", tmp_path)
    assert complaints == []
    shown = re.findall(r'<section class="page on" id="([^"]+)"', dom)
    assert shown == [place]


def test_the_table_of_rows_is_drawn_and_escaped(page: Path, tmp_path: Path) -> None:
    dom, complaints = browse(f"{page.as_uri()}#rows", tmp_path)
    assert complaints == []
    body = dom[dom.index('id="rows-body"') :]
    assert "11 of 11 rows" in body or "11 of 11 rows" in dom
    assert "<img" not in body
    assert "&lt;script&gt;" in body


def test_a_planted_inline_script_is_stopped_by_the_policy(page: Path, tmp_path: Path) -> None:
    """Control: if markup did get through, the policy would still stop it."""
    text = page.read_text(encoding="utf-8").replace("<main>", "<main><script>document.title='pwned'</script>", 1)
    planted = page.with_name("planted.html")
    planted.write_text(text, encoding="utf-8")
    dom, complaints = browse(planted.as_uri(), tmp_path)
    assert "<title>pwned" not in dom
    assert any("Content Security Policy" in c for c in complaints)


@pytest.mark.parametrize("size", ["1280,900", "390,844"])
def test_screenshots_are_not_blank(page: Path, tmp_path: Path, size: str) -> None:
    shot = tmp_path / "shot.png"
    browse(page.as_uri(), tmp_path / "profile", f"--window-size={size}", f"--screenshot={shot}")
    assert shot.stat().st_size > 15_000
