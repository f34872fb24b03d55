"""A process that runs a toy campaign, to be killed: ``python campaign_child.py FOLDER COUNT``."""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

from campaign_toy import campaign

from bilevel_verify.campaign import fingerprint, run_campaign
from bilevel_verify.errors import BilevelVerifyError

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may have it ignored
    fingerprint.source_fingerprint = lambda *rooms: "pinned"  # these tests are about the store, not about the sources
    if "TOY_FILE_SIZE" in os.environ:
        size = int(os.environ["TOY_FILE_SIZE"])
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    folder = Path(sys.argv[1])
    try:
        outcome = run_campaign(campaign(folder, int(sys.argv[2])), folder / "out", jobs=2, work="campaign_toy:work")
    except BilevelVerifyError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(3)
    print(outcome.answered)
    sys.exit(130 if outcome.interrupted else 0)
