"""How soon a report answers in a real browser, and how large it is: 1,000 cells of 8 rows."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "reporting"))

from test_reporting_browser import CHROMIUM, FLAGS
from test_reporting_document import many

from bilevel_verify.reporting import report


def main() -> None:
    import subprocess

    assert CHROMIUM, "install chromium"
    with tempfile.TemporaryDirectory() as folder:
        page = report(many(1000, 8), Path(folder) / "report", formats=["html"])
        ready = []
        for turn in range(5):
            command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}/profile-{turn}", "--dump-dom", page.as_uri()]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
            found = re.search(r'data-ready="(\d+)"', done.stdout)
            assert found, "the script did not come to its end"
            ready.append(int(found[1]))
        print(f"1,000 cells, 8,000 rows: {page.stat().st_size / 1e6:.2f} MB, answers after {min(ready)} ms (best of 5)")


if __name__ == "__main__":
    main()
