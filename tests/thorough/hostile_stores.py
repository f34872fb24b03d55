"""Campaigns that are killed at random instants, and stores that the disk has damaged."""

from __future__ import annotations

import functools
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

CAMPAIGN = Path(__file__).parents[1] / "campaign"
CELLS = 24
WORK = "campaign_toy:work"


def run_all(folder: Path, local: bool) -> None:
    """Answer the toy cells of a folder, in two worker processes or in two threads."""
    from campaign_toy import campaign

    from bilevel_verify.campaign import fingerprint, run_campaign

    fingerprint.source_fingerprint = lambda *rooms: "pinned"  # this is about the store, not about the sources
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
    if local:
        run_campaign(campaign(folder, CELLS), folder / "out", jobs=2, work=WORK)
        return
    with ThreadPoolExecutor(2) as executor:
        run_campaign(campaign(folder, CELLS), folder / "out", jobs=2, work=WORK, executor=executor)


def apart(function: Callable[[], None]) -> int:
    """Call a function in a process of its own; returns its number."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.setsid()
        function()
        status = 0
    finally:
        os._exit(status)


def ended(child: int) -> bool:
    """Wait for a process; whether it came to its end by itself and well."""
    return os.waitpid(child, 0)[1] == 0


@functools.cache
def duration(local: bool) -> float:
    """Seconds of an unbroken run on this machine."""
    folder = Path("unbroken").absolute() / str(local)
    folder.mkdir(parents=True)
    began = time.monotonic()
    assert ended(apart(lambda: run_all(folder, local)))
    return time.monotonic() - began


def killed_once(folder: Path, local: bool, instant: float) -> bool:
    """Begin a run and kill it; False if it had come to its end before."""
    child = apart(lambda: run_all(folder, local))
    time.sleep(instant)
    os.kill(child, signal.SIGKILL)
    return not ended(child)


def said_by(folder: Path) -> list[float]:
    """The measured values of a store, sorted; every seal is checked on the way."""
    from bilevel_verify.campaign import Store
    from bilevel_verify.campaign.run import STORE_NAME

    if not (folder / "out" / STORE_NAME).exists():
        return []
    with Store(folder / "out" / STORE_NAME) as store:
        assert not store.discard(), "a kill has altered rows"
        return sorted(stored.answer["rows"][0]["measured"] for stored in store.cells())


def left_over(folder: Path) -> list[int]:
    """Leases, workers and failures that are left in a store."""
    from bilevel_verify.campaign.run import STORE_NAME

    connection = sqlite3.connect(folder / "out" / STORE_NAME)
    counts = [connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("leases", "workers", "failures")]
    connection.close()
    return counts


def kill_case(rng: random.Random) -> str:
    """A small campaign, killed at a random instant (sometimes again), then run to its end."""
    from campaign_toy import campaign, rows_of

    os.environ["PYTHONPATH"] = os.pathsep.join([str(CAMPAIGN), str(CAMPAIGN.parents[1])])
    os.environ["TOY_SLEEP"] = rng.choice(["0", "0.002", "0.01"])
    folder = Path("killed").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    local = rng.random() < 0.25
    whole = sorted(rows_of(cell)[0]["measured"] for cell in campaign(folder, CELLS).cells)
    share = rng.random()
    while not killed_once(folder, local, share * duration(local)):
        share *= 0.7
        shutil.rmtree(folder / "out")
    before = said_by(folder)
    if rng.random() < 0.3:
        killed_once(folder, local, rng.random() * duration(local))
        if not set(before) <= set(said_by(folder)):
            return "a row was lost"
    if not set(before) <= set(whole) or len(before) != len(set(before)):
        return "a row was altered or doubled"
    if not ended(apart(lambda: run_all(folder, False))):
        return "the run after the kill failed"
    if said_by(folder) != whole:
        return "other rows than those of an unbroken run"
    return "status 0" if left_over(folder) == [0, 0, 0] else f"left over: {left_over(folder)}"


@functools.cache
def sound() -> tuple[dict[str, Any], bytes]:
    """What a small store says, and the bytes of its file."""
    from campaign_damage import small_store

    path = Path("sound.sqlite").absolute()
    written = small_store(path)
    return written, path.read_bytes()


def damaged(image: bytes, rng: random.Random) -> bytes:
    """The image of a store with a bit, a run of bytes or a page changed, moved, cut or added."""
    data, size = bytearray(image), len(image)
    used = [n for n, byte in enumerate(image) if byte]
    at, page = rng.choice(used), 4096
    one, two = (page * rng.randrange(size // page) for _ in range(2))
    match rng.choice(["bit", "bit", "bit", "digit", "run", "zeros", "short", "swap", "copy", "longer", "letters"]):
        case "bit":
            data[at] ^= 1 << rng.randrange(8)
        case "digit":
            digits = [n for n in used if chr(image[n]).isdigit()]
            data[rng.choice(digits)] = ord(str(rng.randrange(10)))
        case "letters":
            letters = [n for n in used if chr(image[n]).isalpha()]
            data[rng.choice(letters)] = rng.choice(b"abcxyzKL")
        case "run":
            data[at : at + rng.randint(2, 64)] = rng.randbytes(rng.randint(2, 64))
        case "zeros":
            length = rng.choice([16, 512, page])
            data[at : at + length] = bytes(min(length, size - at))
        case "short":
            del data[rng.randrange(size) :]
        case "swap":
            data[one : one + page], data[two : two + page] = data[two : two + page], data[one : one + page]
        case "copy":
            data[one : one + page] = data[two : two + page]
        case _:
            data += rng.randbytes(rng.choice([1, 100, page]))
    return bytes(data)


def store_case(rng: random.Random) -> str:
    """A damaged store is read as it was, or refused, or mended by doing again what is missing."""
    from campaign_damage import read_damaged

    written, image = sound()
    path = Path("damaged.sqlite").absolute()
    fate = read_damaged(path, written, damaged(image, rng))
    known = {"same": "status 0", "refused": "status 2", "mended": "mended"}
    return known.get(fate, fate)
