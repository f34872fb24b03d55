"""Who holds a lease: a process that is taken for no other, and whether it is still there.

The name of an owner says where it runs (host, boot of the kernel, space of process numbers), which process it is there
(number and start) and, by chance, that it is no copy. Only where all of the place is ours can a process be missed:
containers that share a host name count their processes apart, machines that share one were booted apart. Everybody
else is believed until it falls silent (:mod:`bilevel_verify.campaign.leases`).
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import uuid
from pathlib import Path
from typing import NamedTuple

UNKNOWN = "unknown"
"""The start of a process that exists and does not show when it began."""


class Owner(NamedTuple):
    """The parts of an owner's name; empty where the disk has damaged it, or an older version wrote it."""

    host: str
    process: str
    began: str
    place: str


def ourselves() -> str:
    """A name for this process that nobody else has or had."""
    process = os.getpid()
    return f"{socket.gethostname()}:{process}:{_start_time(process)}:{_place()}:{secrets.token_hex(8)}"


def parts(owner: str) -> Owner:
    """The parts of a name; any text has some."""
    return Owner(*[*owner.rsplit(":", 4), "", "", ""][:4])


def alive(owner: str) -> bool:
    """Whether the process behind a lease still exists; one that cannot be seen from here is believed."""
    host, process, began, place = parts(owner)
    if not place or (host, place) != (socket.gethostname(), _place()):
        return True
    if not (process.isascii() and process.isdecimal() and len(process) <= 10):
        return False
    found = _start_time(int(process))
    return found in (began, UNKNOWN)


def _place() -> str:
    """Where process numbers mean the same: one boot of one kernel, one space of numbers; "" if that is not known."""
    if not sys.platform.startswith("linux"):
        return f"{uuid.getnode():x}"
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except (OSError, UnicodeError):
        return ""
    return f"{boot}.{space}" if boot and space else ""


def _start_time(process: int) -> str:
    """When a process started, in ticks since boot (so that a reused number is noticed); "" if there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
        state, *fields = text.rpartition(")")[2].split()
        return "" if state in "ZX" else fields[18]  # ended, but not yet forgotten by its parent
    except (OSError, IndexError, ValueError):
        pass
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return UNKNOWN
