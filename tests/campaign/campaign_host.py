"""A process on a made-up host with wrong clocks: ``campaign_host.py FOLDER NAME COUNT SHIFT PACE SILENCE [HOST]``.

With a HOST, the process runs in a container of that name: it sees no process of another one.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from campaign_toy import campaign

from bilevel_verify.campaign import agenda, fingerprint, owners, run_campaign
from bilevel_verify.campaign.cell import Cell

HERE = {"host": "", "folder": ""}


def work(cell: Cell) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Answer a cell of the toy campaign and note who did it; slow where the environment says so."""
    import campaign_toy

    with open(Path(HERE["folder"]) / "done.log", "a", encoding="ascii") as log:
        log.write(f"{HERE['host']} {cell.replicate}\n")
    return campaign_toy.work(cell)


def main(folder: Path, host: str, count: int, shift: float, pace: float, silence: float, shared: str = "") -> None:
    """Run the campaign as another host would whose clocks are ``shift`` seconds off and run at another pace."""
    import campaign_host  # the module that the work is found in is not __main__

    campaign_host.HERE.update(host=host, folder=str(folder))
    true, day = time.monotonic, time.time
    socket.gethostname = lambda: shared or host
    if shared:
        owners._place = lambda: f"boot.{host}"
        seen = owners._start_time
        owners._start_time = lambda process: seen(process) if process == os.getpid() else ""
    time.monotonic = lambda: shift + pace * true()
    time.time = lambda: day() + shift
    agenda.SILENCE = silence
    fingerprint.source_fingerprint = lambda *rooms: "pinned"
    said: set[str] = set()
    (folder / f"{host}.up").touch()
    with ThreadPoolExecutor(1) as executor:
        outcome = run_campaign(
            campaign(folder, count),
            folder / "out",
            jobs=1,
            work="campaign_host:work",
            executor=executor,
            progress=lambda state: said.add(state.waiting) if state.waiting else None,
        )
    (folder / f"{host}.json").write_text(json.dumps({"answered": outcome.answered, "waited": sorted(said)}))


if __name__ == "__main__":
    os.environ.setdefault("TOY_SLEEP", "0")
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *map(float, sys.argv[4:7]), *sys.argv[7:])
