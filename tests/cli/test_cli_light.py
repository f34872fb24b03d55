"""What a user waits for at a prompt: a checked formula loads no SymPy, no store of campaigns, no page."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("sympy", "bilevel_verify.campaign", "bilevel_verify.reporting.build", "numba", "sqlalchemy")


def test_check_loads_nothing_that_it_does_not_print_with() -> None:
    code = (
        "import sys\nfrom bilevel_verify.cli.main import main\n"
        "status = main(['check', 'k < k+1', '--for', 'k = integers 1..'])\n"
        f"assert not status, status\nassert not {HEAVY} & sys.modules.keys()\n"
    ).replace(str(HEAVY), str(set(HEAVY)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 holds" in done.stdout
