"""The pytest plugin: ``pytest --bilevel quick|thorough``, a summary table, a report page.

It is loaded in every pytest run of an environment, so that it imports only the standard library and pytest, and does
nothing unless ``--bilevel`` is given.
"""

from __future__ import annotations

import html
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.testing.trials import ledger

PROFILES = ("quick", "thorough")
VARIABLE = "BILEVEL_VERIFY_PROFILE"
EXAMPLES = {"quick": 100, "thorough": 1000}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the kit."""
    group = parser.getgroup("bilevel", "property-based tests of bilevel solvers (bilevel-verify)")
    group.addoption("--bilevel", choices=PROFILES, default=None, help="how hard the assertions try; prints a summary")
    group.addoption("--bilevel-report", metavar="FILE", default=None, help="write the summary as an HTML page")


def _chosen(config: pytest.Config) -> str | None:
    name: str | None = config.getoption("--bilevel", default=None)
    return name


def pytest_configure(config: pytest.Config) -> None:
    """Hand the profile to the assertions, and to Hypothesis if it is there."""
    name = _chosen(config)
    if name is None:
        return
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = name

    def restore() -> None:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before

    config.add_cleanup(restore)
    _spare_libraries(config)
    _hypothesis_profile(config, name)


LIBRARIES = ("ignore:.*torch.jit.*:DeprecationWarning", "ignore:.*torch.jit.*:FutureWarning")
"""Warnings of a library about its own parts: they end no run, even where warnings are errors."""


def _spare_libraries(config: pytest.Config) -> None:
    for line in LIBRARIES:
        config.addinivalue_line("filterwarnings", line)
    given = getattr(config.known_args_namespace, "pythonwarnings", None)
    if given:  # what the command line says wins over the file, and is taken literally from the first letter on
        given.extend(line.replace(".*torch.jit.*", "`torch.jit") for line in LIBRARIES)


def _hypothesis_profile(config: pytest.Config, name: str) -> None:
    """No deadlines: the first call of a compiled solver takes as long as its compiler."""
    if config.getoption("--hypothesis-profile", default=None):
        return  # the user's own choice wins
    try:
        from hypothesis import settings
    except ImportError:
        return
    settings.register_profile(f"bilevel-{name}", deadline=None, max_examples=EXAMPLES[name], print_blob=True)
    settings.load_profile(f"bilevel-{name}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist hands its entries to the controller."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None and _chosen(session.config) is not None:
        output["bilevel"] = [tuple(entry) for entry in ledger.ENTRIES]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """The controller takes the entries of a worker."""
    for entry in getattr(node, "workeroutput", {}).get("bilevel", ()):
        ledger.note(ledger.Entry(*entry))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The table at the end, and the page."""
    name = _chosen(config)
    if name is None:
        return
    lines = ledger.table()
    terminalreporter.section(f"bilevel-verify, profile {name}")
    for line in lines or ["no assertion of bilevel_verify.testing was used"]:
        terminalreporter.write_line(line)
    target = config.getoption("--bilevel-report", default=None)
    if target is not None:
        Path(target).write_text(page(name), encoding="utf8")
        terminalreporter.write_line(f"report page: {target}")


def _told(entry: ledger.Entry) -> str:
    """The contract that broke, and behind it the whole message with its problem file."""
    if not entry.broken:
        return "none"
    summary = html.escape(entry.broken)
    return f"<details><summary>{summary}</summary><pre>{html.escape(entry.message)}</pre></details>"


def page(name: str) -> str:
    """The summary as an HTML page that needs nothing else."""
    rows = "\n".join(
        f'<tr class="{"broken" if e.broken else "kept"}"><td>{html.escape(e.assertion)}</td>'
        f"<td>{html.escape(e.subject)}</td><td>{e.examples}</td><td>{e.seconds:.2f}</td>"
        f"<td>{_told(e)}</td></tr>"
        for e in ledger.ENTRIES
    )
    broken = sum(1 for e in ledger.ENTRIES if e.broken)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>bilevel-verify</title><style>'
        "body{font:16px system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse}"
        "td,th{padding:.3rem .8rem;border-bottom:1px solid #ccc;text-align:left}"
        ".broken td{background:#fde8e4}pre{white-space:pre-wrap}"
        f"</style></head><body><h1>Contracts, profile {html.escape(name)}</h1>"
        f"<p>{len(ledger.ENTRIES)} assertions, {broken} broken; Python {sys.version.split()[0]}.</p>"
        "<table><thead><tr><th>assertion</th><th>subject</th><th>examples</th><th>seconds</th>"
        f"<th>contract broken</th></tr></thead><tbody>\n{rows}\n</tbody></table></body></html>\n"
    )
