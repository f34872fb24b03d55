"""Many toy cells in a process of its own, with what they cost: ``python campaign_scale.py FOLDER COUNT``."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from campaign_toy import campaign

from bilevel_verify.campaign import Store, run_campaign
from bilevel_verify.campaign.run import STORE_NAME
from bilevel_verify.reporting.write import report_store


def main(folder: Path, count: int) -> None:
    """Run, run again (nothing to do), write the report; print the times, the memory and the sizes as JSON."""
    clock = time.monotonic()
    cells = campaign(folder, count)
    out = folder / "out"
    outcome = run_campaign(cells, out, jobs=2, work="campaign_toy:work")
    ran = time.monotonic() - clock
    clock = time.monotonic()
    again = run_campaign(cells, out, jobs=2, work="campaign_toy:work")
    resumed = time.monotonic() - clock
    clock = time.monotonic()
    with Store(out / STORE_NAME, read_only=True) as store:
        page = report_store(store, out, formats=("html", "json", "markdown"))
    reported = time.monotonic() - clock
    found = {"cells": count, "answered": outcome.answered, "again": again.answered, "run_seconds": round(ran, 2)}
    found |= {"resume_seconds": round(resumed, 2), "report_seconds": round(reported, 2)}
    found |= {"megabytes": peak_megabytes(), "page": page.stat().st_size}
    found["exported_lines"] = sum(1 for _ in (out / "rows.csv").open()) - 1 if (out / "rows.csv").exists() else 0
    print(json.dumps(found))


def peak_megabytes() -> float:
    """Largest resident memory of this process alone (the system's other count starts with that of the parent)."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
