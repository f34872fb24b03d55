"""Problem files, formulas and cards that somebody has damaged: a little, so that they are still read, or roughly."""

# ruff: noqa: E501 (payloads are what they are)
from __future__ import annotations

import contextlib
import functools
import io
import random
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARKER = "PWNED"
"""Text that is run would make a file of this name."""
PAYLOADS = [
    f"__import__('os').system('touch {MARKER}')", f"open('{MARKER}','w')", f"$(touch {MARKER})", f"; touch {MARKER} #",
    "x1.__class__.__mro__", "lambda: 0", "9**9**9", "exp(exp(exp(exp(9))))", "((x1+1)**64)**64", "1/0", "nan", "oo", "zoo",
    "sum(sum(x1,(i,0,1000)),(j,0,1000))", "prod(x1+i,(i,0,10**6))", "max(" + ",".join(f"{i}*x1" for i in range(40)) + ")",
    "(" * 300 + "x1" + ")" * 300, "x1" + "+x1" * 3000, "x" * 5000, "\u001b[31m", "\u202e", "\\u0000", "1e400", "10**400", "-0.0",
    "a." * 60 + "a = 1", "[[[[", "'''", '"""', "\u221e", "\\frac{1}{0}", "Piecewise((1, x1 > 0), (2, True))", "x1[0]", "{}", "[]",
    "true", "2024-01-01", "{ file = '../../etc/passwd' }", "{ file = '/dev/zero' }", "factorial(10**6)", "binomial(999, 500)",
]  # fmt: skip
NUMBERS = ["0", "1", "-1", "2", "1/3", "-0.5", "1e-30", "1e30", "0.1", "7", "63", "64", "65", "10**9", "-3/2"]
FUNCTIONS = [
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "abs",
    "atan",
    "tanh",
    "plus",
    "max",
    "min",
    "erf",
    "floor",
    "norm",
]
WORD = re.compile(r"(?<![\w.])\d+(?:\.\d+)?|\*\*|[-+*/]|[A-Za-z_]\w*")


def mutated(text: str, rng: random.Random) -> str:
    """One text in two is changed a little, the other roughly."""
    return gently(text, rng) if rng.random() < 0.5 else roughly(text, rng)


def gently(text: str, rng: random.Random) -> str:
    """A text with one or two numbers, operators or words in the place of others: mostly still one of the language."""
    for _ in range(rng.randint(1, 2)):
        found = list(WORD.finditer(text))
        if not found:
            return text
        one = rng.choice(found)
        word = one[0]
        if word[0].isdigit():
            new = rng.choice(NUMBERS)
        elif not word[0].isalpha() and word[0] != "_":
            new = rng.choice(["+", "-", "*", "/", "**"])
        elif word in FUNCTIONS:
            new = rng.choice(FUNCTIONS)
        else:
            new = rng.choice([other[0] for other in found if other[0][0].isalpha()])
        text = text[: one.start()] + new + text[one.end() :]
    return text


def roughly(text: str, rng: random.Random) -> str:
    """A text with a few lines, words or signs cut, doubled, swapped or replaced by something nasty."""
    for _ in range(rng.randint(1, 3)):
        sign = rng.choice(["\n", " ", '"', "=", ","])
        parts = text.split(sign)
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
        text = sign.join(parts)
    return text


def command(*words: str) -> str:
    """What a command line answers: its status, or what is wrong with how it says it."""
    from bilevel_verify.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(words))
    said = err.getvalue()
    if status == 3 and ("internal error" in said or "error:" not in said):
        return f"status 3: {said[-200:]}"
    if status in (2, 3) and len(said.strip().splitlines()) != 1 and "error:" not in said:
        return f"{len(said.splitlines())} lines: {said[:200]!r}"
    if any(sign in said + out.getvalue() for sign in "\x1b\x07\x9b\u202e\0"):
        return f"raw sign: {said[:200]!r}"
    if max(map(len, said.splitlines()), default=0) > 3_000:
        return f"long: {said[:200]!r}"
    return "own error" if status == 3 else f"status {status}"


@functools.cache
def shipped(heavy: bool) -> tuple[str, ...]:
    """The problem files of the package as text: those over loaded data, which take seconds, or the others."""
    files = sorted((ROOT / "bilevel_verify" / "problems" / "zoo").rglob("*.toml"))
    texts = (file.read_text(encoding="utf-8") for file in files)
    return tuple(text for text in texts if ("loader" in text) == heavy)


def problem_case(rng: random.Random) -> str:
    """A shipped problem file, damaged, loaded; one in a hundred is derived, too (one in 300 is over loaded data)."""
    text = rng.choice(shipped(heavy=rng.random() < 1 / 300))
    Path("case.toml").write_text(mutated(text, rng), encoding="utf-8", errors="replace")
    if rng.random() < 0.01:
        return command("derive", "case.toml", "--only", "hypergradient")
    import bilevel_verify as bv

    bv.load("case.toml")
    return "status 0"


def formula(rng: random.Random, depth: int = 3, payloads: bool = True) -> str:
    """A random formula of the language, or with something in it that is not."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["t", "k", "n", "2", "1/3", "0", "pi", "10**9", *["a", "b"] * 5] + PAYLOADS[:6] * payloads)
    one, two = formula(rng, depth - 1, payloads), formula(rng, depth - 1, payloads)
    shapes = [
        f"({one} + {two})", f"{one}*{two}", f"({one})/({two})", f"({one})**({two})", f"-{one}", f"sqrt({one})",
        f"log({one})", f"exp({one})", f"max({one}, {two})", f"abs({one})", f"sum({one}, (i, 0, {two}))", f"floor({one})",
        f"prod({one} + j, (j, 1, {two}))", f"min({one}, {two})",
    ]  # fmt: skip
    return rng.choice(shapes + [rng.choice(PAYLOADS)] * payloads)


def formula_case(rng: random.Random) -> str:
    """A relation read as ``check`` reads it; one in two hundred is judged with a budget of a fifth of a second."""
    from bilevel_verify.audit.formula import claims_of

    payloads = rng.random() < 0.5
    sign = rng.choice(["<=", "<", "==", ">=", ">"] + ["!=", "=<", ""] * payloads)
    text = f"{formula(rng, payloads=payloads)} {sign} {formula(rng, payloads=payloads)}"
    if payloads and rng.random() < 0.5:
        text = mutated(text, rng)
    good = ["", "k = integers 1..", "t = [0, 1]; n = integers 2..", "a, b = [-1, 1]; k = integers 0..9"]
    bad = [f"t = {rng.choice(PAYLOADS)}", "t = (1, 0)", "t = [t, 1]", "k = integers", "a = matrices", "a, b = vectors"]
    ranges = rng.choice(bad if payloads and rng.random() < 0.3 else good)
    if rng.random() < 0.005:
        return command("check", "--budget", "0.2", f"--for={ranges}", "--", text)
    claims_of(text, ranges)
    return "status 0"


STEPS = [
    "k = 2\nwhile True:\n    k = k*k", "k = 3\nk = k**k\nk = k**k\nreturn k", "return k @ 1",
    "k = x_int\nwhile k < 1:\n    k = k + k", "x = x_int\nfor t in range(10):\n    x = x - eta*grad_f(x)\nreturn x",
]  # fmt: skip


def of_letters(rng: random.Random, letters: tuple[str, ...]) -> str:
    """A formula over the letters of the card."""
    return re.sub(r"\b[abtkn]\b", lambda _: rng.choice(letters), formula(rng, 2, payloads=False))


def card_case(rng: random.Random) -> str:
    """A small card with other formulas in it, in half of the cases damaged, audited quickly with a small budget."""
    from test_theorems_bad_cards import SOUND

    text = SOUND
    if rng.random() < 0.3:
        steps = mutated(rng.choice(STEPS), rng) if rng.random() < 0.5 else rng.choice(STEPS)
        text = text.replace('steps = "return x_int - eta*grad_f(x_int)"', f'steps = """{steps}"""')
    if rng.random() < 0.5:
        one, two = of_letters(rng, ("kappa", "L", "2")), of_letters(rng, ("kappa", "eps", "L"))
        text = text.replace('"1/(1+kappa)", "<= 1"', f'"{one}", "{rng.choice(["<=", "<", ">=", "=="])} {two}"')
    if rng.random() < 0.3:
        text = text.replace('right = "kappa/eps"', f'right = "{of_letters(rng, ("kappa", "eps", "L"))}"')
    if rng.random() < 0.2:
        text = text.replace('eta = "1/(4*L)"', f'eta = "{of_letters(rng, ("L", "kappa"))}"')
    if rng.random() < 0.5:
        text = gently(text, rng) if rng.random() < 0.5 else roughly(text, rng)
    Path("case.toml").write_text(text, encoding="utf-8", errors="replace")
    return command("audit", "case.toml", "--quick", "--budget", "0.05", "--jobs", "1")


LINES = [
    "solve gradient-descent --problem small.toml --eps 0.5 --x0=1 --set eta=0.1 --budget 50",
    "solve f2ba --problem two.toml --eps 0.5 --x0=1 --y0=0 --set eta=0.1 --budget 50 --json",
    "derive two.toml --only hypergradient", "constants two.toml --only L_g --nu 0.5", "check a<=b --budget 0.1 --for a=[0,1]",
    "list problems", "list methods --json", "report missing --out r", "audit small-card.toml --quick --budget 0.05 --jobs 1",
    "plot hyper-objective two.toml --out p.svg", "draft small.md --out d", "run small-run.toml --out o --jobs 1 --dry-run",
    "fidelity small-card.toml --print small.md", "coverage small-card.toml --print small.md", "experiments run nothing --size tiny",
    "plot trajectory small.toml --method gradient-descent --eps 0.5 --x0=1 --set eta=0.1 --out t.svg", "cache",
]  # fmt: skip
WORDS = [
    "", " ", "-1", "0", "nan", "inf", "1e400", "10**400", "-", "--", "--json", "--nothing", "--eps", "--problem", "a,b", "1,,2", "1;2",
    "=", "x=", "=1", "x=1", "zoo:", "zoo:ramp", "zoo:ramp:knob", "zoo:ramp:x=1e999", "../..", "/", "/dev/zero", "/etc/passwd", ".", "\ud800",
    "small.toml", "small-card.toml", "missing.toml", "x" * 5000, "\x1b[31m", "a\nb", "\u202e", "%s%n", "{}", "*", "~", "$HOME", "http://127.0.0.1:9/x",
    "ragd-gs/theorem-1", "ragd-gs/nothing", "gradient-descent", "gradient-descent:nothing", "2024-01-01", *PAYLOADS[:6],
]  # fmt: skip
SMALL = {
    "small.toml": 'kind = "single_level"\nf = "x1**2/2 + cos(x1)"\nx = "x1"\n',
    "two.toml": 'kind = "bilevel"\nf = "sin(x1) + y1**2/2"\ng = "y1**2 - x1*y1"\nx = "x1"\ny = "y1"\n[domain]\nx1 = [-3, 3]\n',
    "small.md": "# A lemma\n\n$$a \\le b + 1$$\n",
    "small-run.toml": '[campaign]\nname = "small"\n[[grid]]\nproblems = ["small.toml"]\nmethods = ["gradient-descent"]\neps = [0.5]\n',
}


def line_case(rng: random.Random) -> str:
    """A command line with a word or two dropped, doubled, moved, or of a kind that does not belong there."""
    from test_theorems_bad_cards import SOUND

    for name, text in (SMALL | {"small-card.toml": SOUND}).items():
        Path(name).write_text(text, encoding="utf-8")
    words = rng.choice(LINES).split(" ")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(words))
        match rng.randrange(4):
            case 0:
                words.insert(at + 1, rng.choice(WORDS))
            case 1 if len(words) > 2:  # a command without a name means all there is, which takes its time
                words.pop(max(2, at))
            case 2 if "=" in words[at] and words[at].startswith("--"):
                words[at] = words[at].partition("=")[0] + "=" + rng.choice(WORDS)
            case _:
                words[max(1, at) if len(words) > 1 else 0] = rng.choice(WORDS)
    if words[0] in ("audit", "fidelity", "coverage") and (len(words) < 2 or words[1].startswith("-")):
        words.insert(1, "missing.toml")  # without a name they judge all there is, which takes its time
    return command(*words)
