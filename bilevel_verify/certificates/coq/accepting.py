"""Which lemmas the Coq on this machine accepts: all of them in a few sessions of ``coqtop``, a failed one left behind.

Coq's own limit of a sentence is one of the clock, which on a busy machine ends what is quick. So a lemma that met it is
asked once more, alone, with a limit of processor time: load changes no answer.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from bilevel_verify.certificates.coq.lemmas import PRELUDE, SUMS

CLOCK, PROCESSOR = 20, 60
"""Seconds for one sentence of a proof in a session of many; seconds of processor time for a lemma that met that limit."""
COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
LONGEST = 3_600
"""Seconds of a session, which ends only a Coq that does not answer."""


def coq_is_here() -> bool:
    """Whether ``coqtop`` can be run."""
    return shutil.which("coqtop") is not None


def accepted_by_coq(lemmas: Mapping[str, str], jobs: int = 1) -> frozenset[str]:
    """The names of the lemmas whose proof the kernel accepts.

    Parameters
    ----------
    lemmas : name -> text, each a ``Lemma`` of that name with a proof that ends in ``Qed``.
    jobs : sessions side by side.

    Raises
    ------
    FileNotFoundError : there is no ``coqtop``.
    ValueError : a text that admits what it does not prove.
    """
    for name, text in lemmas.items():
        if unproved := re.search(r"\b(Admitted|Axiom|Parameter|Hypothesis|Conjecture)\b", COMMENT.sub("", text)):
            raise ValueError(f"{name} says {unproved[0]}")
    names = list(lemmas)
    shares = [names[start::jobs] for start in range(min(jobs, len(names)))]
    with ThreadPoolExecutor(max(len(shares), 1)) as pool:
        return frozenset(name for found in pool.map(lambda share: _session(share, lemmas), shares) for name in found)


def _session(names: list[str], lemmas: Mapping[str, str]) -> list[str]:
    """The accepted ones of many; what was not accepted in a session whose clock ended something is asked alone."""
    accepted, late = _asked(names, lemmas, CLOCK)
    alone = [name for name in names if name not in accepted] if late else []
    return [*accepted, *(name for name in alone if _asked([name], lemmas, None)[0])]


def _asked(names: list[str], lemmas: Mapping[str, str], clock: int | None) -> tuple[list[str], bool]:
    """The accepted ones, and whether a limit of the clock was met; without one processor time is limited.

    One ``coqtop``: an error leaves the proof open, which ``Abort All`` ends; ``Check`` knows what was proved. Silent but
    for the answer of ``Check``: to print the goals after each sentence costs as much as to prove them.
    """
    parts = [f"{lemmas[name]}\nAbort All.\nUnset Silent.\nCheck {name}.\nSet Silent.\n" for name in names]
    limit = [] if clock is None else [f"Set Default Timeout {clock}."]
    script = "\n".join([PRELUDE, SUMS, *limit, "Set Silent.", *parts])
    command = ["coqtop", "-q"] if limit else ["sh", "-c", f"ulimit -t {PROCESSOR} && exec coqtop -q"]
    with tempfile.TemporaryDirectory() as folder:  # some of its tactics leave caches where they run
        try:
            done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=LONGEST, cwd=folder)
        except subprocess.TimeoutExpired:
            return [], True
    said = set(re.findall(r"^(?:\w+ < )*(\w+)\n? *: ", done.stdout, re.MULTILINE))
    return [name for name in names if name in said], "Timeout!" in done.stderr
