"""Attackers with seeds: problem files, formulas, cards and calls of the Python interface, many thousands of each.

    python tests/thorough/attackers.py problems --seed 7 --count 100000 --minutes 8 --out attackers

Goes on where the same command ended before (``DIR/KIND-SEED.json``). Every case runs in a child that a watcher ends
when it hangs; what is no answer and no error of our own is kept with its number, so that ``--only NUMBER`` shows it again.
"""

# ruff: noqa: E501 (payloads are what they are)
from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "theorems")]
HANG = 12.0
"""Seconds without an answer (more than the budget of any case) after which a case hangs."""
MEMORY = 3 * 2**30
MARKER = "PWNED"
PAYLOADS = [
    f"__import__('os').system('touch {MARKER}')", f"open('{MARKER}','w')", f"$(touch {MARKER})", f"; touch {MARKER} #",
    "x1.__class__.__mro__", "lambda: 0", "9**9**9", "exp(exp(exp(exp(9))))", "((x1+1)**64)**64", "1/0", "nan", "oo", "zoo",
    "sum(sum(x1,(i,0,1000)),(j,0,1000))", "prod(x1+i,(i,0,10**6))", "max(" + ",".join(f"{i}*x1" for i in range(40)) + ")",
    "(" * 300 + "x1" + ")" * 300, "x1" + "+x1" * 3000, "x" * 5000, "\u001b[31m", "\u202e", "\\u0000", "1e400", "10**400", "-0.0",
    "a." * 60 + "a = 1", "[[[[", "'''", '"""', "\u221e", "\\frac{1}{0}", "Piecewise((1, x1 > 0), (2, True))", "x1[0]", "{}", "[]",
    "true", "2024-01-01", "{ file = '../../etc/passwd' }", "{ file = '/dev/zero' }", "factorial(10**6)", "binomial(999, 500)",
]  # fmt: skip


def mutated(text: str, rng: random.Random) -> str:
    """A text with a few lines, words or signs cut, doubled, swapped or replaced by something nasty."""
    for _ in range(rng.randint(1, 3)):
        parts = text.split(rng.choice(["\n", " ", '"', "=", ","]))
        glue = "\n" if len(parts) == 1 else text[len(parts[0]) : len(parts[0]) + 1]
        i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
        match rng.randrange(6):
            case 0:
                parts.pop(i)
            case 1:
                parts.insert(i, parts[j])
            case 2:
                parts[i], parts[j] = parts[j], parts[i]
            case 3:
                parts[i] = rng.choice(PAYLOADS)
            case 4:
                parts[i] += rng.choice(PAYLOADS)
            case _:
                at = rng.randrange(len(parts[i]) + 1)
                parts[i] = parts[i][:at] + chr(rng.choice([0, 9, 27, 34, 40, 42, 46, 92, 0x9B, 0x202E])) + parts[i][at:]
        text = glue.join(parts)
    return text


def command(*words: str) -> str:
    """What a command line answers: its status, or what is wrong with how it says it."""
    from bilevel_verify.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(words))
    said = err.getvalue()
    if status == 3:
        return f"status 3: {said[-200:]}"
    if status == 2 and len(said.strip().splitlines()) != 1 and "error:" not in said:
        return f"{len(said.splitlines())} lines: {said[:200]!r}"
    if any(sign in said + out.getvalue() for sign in "\x1b\x07\x9b\u202e\0"):
        return f"raw sign: {said[:200]!r}"
    if max(map(len, said.splitlines()), default=0) > 3_000:
        return f"long: {said[:200]!r}"
    return f"status {status}"


def problem_case(rng: random.Random) -> str:
    """A shipped problem file, damaged, loaded; one in twenty is derived, too."""
    files = sorted((ROOT / "bilevel_verify" / "problems" / "zoo").rglob("*.toml"))
    text = mutated(rng.choice(files).read_text(encoding="utf-8"), rng)
    Path("case.toml").write_text(text, encoding="utf-8", errors="replace")
    if rng.random() < 0.05:
        return command("derive", "case.toml", "--only", "hypergradient")
    import bilevel_verify as bv

    bv.load("case.toml")
    return "status 0"


def formula(rng: random.Random, depth: int = 3) -> str:
    """A random formula, mostly of the language."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["t", "k", "n", "x1", "2", "1/3", "0", "pi", "10**9", *PAYLOADS[:6]] + ["a", "b"] * 5)
    one, two = formula(rng, depth - 1), formula(rng, depth - 1)
    return rng.choice([
        f"({one} + {two})", f"{one}*{two}", f"({one})/({two})", f"({one})**({two})", f"-{one}", f"sqrt({one})",
        f"log({one})", f"exp({one})", f"max({one}, {two})", f"abs({one})", f"sum({one}, (i, 0, {two}))", f"floor({one})",
        f"prod({one} + j, (j, 1, {two}))", f"Piecewise(({one}, {two} > 0), (1, True))", rng.choice(PAYLOADS),
    ])  # fmt: skip


def formula_case(rng: random.Random) -> str:
    """A relation read as ``check`` reads it; one in two hundred is judged with a budget of a fifth of a second."""
    from bilevel_verify.audit.formula import claims_of

    text = f"{formula(rng)} {rng.choice(['<=', '<', '==', '>=', '>', '!=', '=<', ''])} {formula(rng)}"
    text = mutated(text, rng) if rng.random() < 0.3 else text
    ranges = rng.choice(
        ["", "", "k = integers 1..", "t = [0, 1]; n = integers 2..", f"t = {rng.choice(PAYLOADS)}", "t = (1, 0)"]
    )
    if rng.random() < 0.005:
        return command("check", "--budget", "0.2", f"--for={ranges}", "--", text)
    claims_of(text, ranges)
    return "status 0"


def card_case(rng: random.Random) -> str:
    """A small card, damaged, audited quickly with a small budget."""
    from test_theorems_bad_cards import SOUND

    text = mutated(SOUND, rng)
    if rng.random() < 0.3:
        steps = rng.choice(
            [
                "k = 2\nwhile True:\n    k = k*k",
                "k = 3\nk = k**k\nk = k**k\nreturn k",
                "return k @ 1",
                "k = x_int\nwhile k < 1:\n    k = k + k",
            ]
        )
        text = text.replace('steps = "return x_int - eta*grad_f(x_int)"', f'steps = """{mutated(steps, rng)}"""')
    Path("case.toml").write_text(text, encoding="utf-8", errors="replace")
    return command("audit", "case.toml", "--quick", "--budget", "0.05", "--jobs", "1")


def call_case(rng: random.Random) -> str:
    """A public callable with one hostile argument or more."""
    from hostile_calls import call_one

    return call_one(rng)


CASES: dict[str, Callable[[random.Random], str]] = {
    "problems": problem_case,
    "formulas": formula_case,
    "cards": card_case,
    "calls": call_case,
}


def outcome(kind: str, seed: int, number: int) -> str:
    """What one case comes to, in a word; a bare error names its place."""
    from bilevel_verify.errors import BilevelVerifyError, InputError

    try:
        said = CASES[kind](random.Random(f"{kind} {seed} {number}"))
    except InputError as error:
        said = (
            "status 2" if "\n" not in str(error) and len(str(error)) <= 2_000 else f"bad message: {str(error)[:200]!r}"
        )
    except BilevelVerifyError:
        said = "own error"
    except MemoryError:
        said = "memory"
    except BaseException as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "bilevel_verify" in f.filename]
        place = f"{frames[-1].filename.rpartition('bilevel_verify/')[2]}:{frames[-1].lineno}" if frames else "?"
        said = f"bare {type(error).__name__} at {place}: {str(error)[:120]}"
    return f"code was run: {said}" if Path(MARKER).exists() else said


def serve(pipe: Connection, kind: str, seed: int, first: int, last: int) -> None:
    """The child: cases one after the other, each answer sent at once."""
    os.chdir(tempfile.mkdtemp(prefix="attackers-"))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (until the process ends)
    for number in range(first, last):
        pipe.send((number, outcome(kind, seed, number)))


def attack(kind: str, seed: int, count: int, minutes: float, folder: Path) -> dict[str, Any]:
    """Cases from where the file of this seed ends, for some minutes; returns the record of the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}-{seed}.json"
    record = (
        json.loads(path.read_text())
        if path.exists()
        else {"kind": kind, "seed": seed, "next": 0, "counts": {}, "bad": []}
    )
    counts, until = Counter(record["counts"]), time.monotonic() + 60 * minutes
    fork = multiprocessing.get_context("fork")
    while record["next"] < count and time.monotonic() < until:
        ours, theirs = fork.Pipe(duplex=False)
        last = min(count, record["next"] + 2_000)
        child = fork.Process(target=serve, args=(theirs, kind, seed, record["next"], last))
        child.start()
        theirs.close()
        while record["next"] < last and time.monotonic() < until:
            begun, said = time.monotonic(), "hang"
            try:
                if ours.poll(4 * HANG):
                    _, said = ours.recv()
            except EOFError:
                said = "the process died"
            record["next"] += 1
            slow = time.monotonic() - begun > HANG and said != "hang"
            word = said if said.startswith("status ") and said[7:].isdigit() else said.split(":")[0]
            counts["slow" if slow else word] += 1
            if slow or word not in ("status 0", "status 1", "status 2", "own error"):
                record["bad"].append(
                    [record["next"] - 1, f"{time.monotonic() - begun:.0f} s: {said}" if slow else said]
                )
            if said in ("hang", "the process died"):
                break
        child.kill()
        child.join()
        record["counts"] = dict(counts)
        path.write_text(json.dumps(record, indent=1))
    return record


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=CASES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--out", type=Path, default=Path("attackers"))
    parser.add_argument("--only", type=int, help="show one case again, in this process")
    given = parser.parse_args()
    if given.only is not None:
        folder = tempfile.mkdtemp(prefix="attackers-")
        os.chdir(folder)
        print(folder, outcome(given.kind, given.seed, given.only))
        return
    record = attack(given.kind, given.seed, given.count, given.minutes, given.out)
    print(json.dumps({key: record[key] for key in ("kind", "seed", "next", "counts")}))
    for number, said in record["bad"][:50]:
        print(number, said)


if __name__ == "__main__":
    main()
