"""Small algorithms, right ones and ones with one planted defect of their data flow: who is called defective."""

from __future__ import annotations

import textwrap

import pytest

from bilevel_verify.language import parse
from bilevel_verify.theorems.algorithm import Program, read_program
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.pseudocode.assignment import path_defects, undecided_reads
from bilevel_verify.theorems.pseudocode.choices import far_constants

pytestmark = pytest.mark.fast


def ends(low: str, high: str = "", kind: str = "integers") -> Domain:
    first, last = (Expression(parse(e), e) if e else None for e in (low, high))
    return Domain(f"{kind} {low}..{high}", kind, first, last, kind == "integers", kind == "integers")  # type: ignore[arg-type]


RANGES = {
    "K": ends("1"), "T": ends("1"), "Z": ends("0"), "N": ends("0", "5"), "M": ends("1", "K"), "P": ends("2"),
    "eps": ends("0", kind="interval"), "theta": ends("0", "1", "interval"), "B": ends("0", kind="interval"),
}  # fmt: skip
INPUTS = {*RANGES, "x0", "y0", "g0"}

RIGHT = {
    "a norm that is positive or 0": """
        for k in range(K):
            g = grad_f(x0)
            if norm(g) > 0:
                d = g
            elif norm(g) == 0:
                d = g/2
            s = d
        return s""",
    "a norm is not negative": """
        for k in range(K):
            g = grad_f(x0)
            if norm(g) >= 0:
                d = g
            s = d
        return s""",
    "a maximum is not below its number": """
        for k in range(K):
            g = grad_f(x0)
            if max(norm(g), 1) >= 1:
                d = g
            s = d
        return s""",
    "a sum of a norm and a positive number": """
        for k in range(K):
            g = grad_f(x0)
            if norm(g) + 1 > 0:
                d = g
            elif norm(g) > 5:
                d = g/2
            s = d
        return s""",
    "one value under two names": """
        for k in range(K):
            g = grad_f(x0)
            if norm(g) > 2:
                d = g
            if norm(grad_f(x0)) > 3:
                s = d
        return x0""",
    "the two tests leave nothing out": """
        if K > 2:
            s = 1
        if K <= 2:
            s = 2
        return s""",
    "a range that is never empty": """
        for k in range(Z + 1):
            s = k
        return s""",
    "a range that is never empty, shifted": """
        for k in range(2, P + 1):
            s = k
        return s""",
    "nested tests on one letter": """
        if K > 5:
            s = 1
        else:
            if K <= 5:
                s = 2
        return s""",
    "three cases": """
        if N < 2:
            s = 1
        if N == 2:
            s = 2
        if N > 2:
            s = 3
        return s""",
    "a test that the range answers": """
        if theta < 1:
            s = 1
        return s""",
    "a test that the range answers the other way": """
        if theta <= 0:
            return s
        s = 1
        return s""",
    "the first test of a loop is true": """
        k = 0
        while k <= Z:
            s = k
            k = k + 1
        return s""",
    "the first test of a loop is true, from one": """
        k = 1
        while k <= K:
            s = k
            k = k + 1
        return s""",
    "a letter below another": """
        for k in range(M - 1, K):
            s = k
        return s""",
    "a flag": """
        done = 0
        if norm(x0) > eps:
            s = 1
            done = 1
        if done == 0:
            s = 2
        return s""",
    "the same opaque test twice": """
        if norm(x0) > eps:
            s = 1
        if norm(x0) <= eps:
            s = 2
        return s""",
    "the same opaque test, turned round": """
        if norm(x0) > eps:
            s = 1
        if eps >= norm(x0):
            s = 2
        return s""",
    "gradient descent": """
        x[0] = x0
        for k in range(K):
            x[k+1] = x[k] - eps*grad_f(x[k])
        return x[K]""",
    "momentum": """
        x[-1] = x0
        x[0] = x0
        for k in range(K):
            y[k] = x[k] + (1 - theta)*(x[k] - x[k-1])
            x[k+1] = y[k] - eps*grad_f(y[k])
        return x[K], y[K-1]""",
    "an average": """
        x[0] = x0
        for k in range(K):
            x[k+1] = x[k] - eps*grad_f(x[k])
        return sum(x[i], (i, 0, K))/(K + 1)""",
    "every second entry, all of them": """
        x[0] = x0
        for k in range(K):
            x[2*k+1] = x[2*k]
            x[2*k+2] = x[2*k+1]
        return x[2*K]""",
    "even and odd": """
        x[0] = x0
        for k in range(K):
            x[2*k+2] = x[2*k]
        if K % 2 == 0:
            s = x[K]
        else:
            s = x[K-1]
        return s""",
    "the output of a loop that breaks": """
        x[0] = x0
        for k in range(K):
            s = x[k]
            if norm(grad_f(s)) <= eps:
                break
            x[k+1] = s - eps*grad_f(s)
        return s""",
    "a restart": """
        k = 0
        x[0] = x0
        y[0] = x0
        while k < K:
            x[k+1] = y[k] - eps*grad_f(y[k])
            y[k+1] = x[k+1]
            k = k + 1
            if norm(x[k] - x[0]) > B:
                x[0] = x[k]
                y[0] = x[k]
                k = 0
        return y[k]""",
    "entries set downwards": """
        x[K] = x0
        for k in range(K):
            x[K-k-1] = x[K-k]
        return x[0]""",
    "an argument of the least step": """
        x[0] = x0
        for k in range(K):
            x[k+1] = x[k] - eps*grad_f(x[k])
        j = argmin(norm(x[k+1] - x[k]), (k, floor(K/2), K-1))
        return x[j+1]""",
    "a guarded read": """
        x[0] = x0
        for k in range(K):
            if k > 0 and norm(x[k] - x[k-1]) <= eps:
                break
            x[k+1] = x[k] - eps*grad_f(x[k])
        return x[0]""",
    "lazy updates": """
        x[0] = x0
        for t in range(T):
            if t % P == 0:
                H = hess_f(x[t])
            x[t+1] = x[t] - H @ grad_f(x[t])
        return x[T]""",
    "two sequences": """
        x[0] = x0
        for t in range(T):
            w[t,0] = x[t]
            for k in range(K):
                w[t,k+1] = w[t,k] - eps*grad_f(w[t,k])
            x[t+1] = w[t,K]
        return x[T]""",
    "an inner loop that runs": """
        for t in range(T):
            for k in range(K):
                s = t + k
            r = s
        return r""",
    "repeat until": """
        while True:
            s = grad_f(x0)
            if norm(s) <= eps:
                break
        return s""",
    "a value of both branches": """
        if norm(x0) > eps and norm(y0) > eps:
            s = 1
        else:
            s = 2
        return s""",
    "nothing left by a return": """
        if norm(x0) > eps:
            return x0
        else:
            s = 2
        return s""",
    "an empty range that reads nothing": """
        s = x0
        for k in range(Z):
            s = s - eps*grad_f(s)
        return s""",
}

DEFECTIVE = {
    "a gap between two tests": """
        if K > 3:
            s = 1
        if K < 3:
            s = 2
        return s""",
    "a range that may be empty": """
        for k in range(Z):
            s = k
        return s""",
    "a range from one": """
        for k in range(1, T):
            s = k
        return s""",
    "one branch only": """
        if norm(x0) > eps:
            s = 1
        return s""",
    "a nested case is left out": """
        if K > 5:
            s = 1
        else:
            if K < 4:
                s = 2
        return s""",
    "every second entry": """
        x[0] = x0
        for k in range(K):
            x[2*k+2] = x[2*k]
        return x[K]""",
    "one entry too far": """
        x[0] = x0
        for k in range(K):
            x[k+1] = x[k] - eps*grad_f(x[k])
        return x[K+1]""",
    "no first entry": """
        for k in range(K):
            x[k+1] = x[k] - eps*grad_f(x[k])
        return x[K]""",
    "no entry before the first": """
        x[0] = x0
        for k in range(K):
            y[k] = x[k] + (1 - theta)*(x[k] - x[k-1])
            x[k+1] = y[k] - eps*grad_f(y[k])
        return x[K]""",
    "the last extrapolated point": """
        x[-1] = x0
        x[0] = x0
        for k in range(K):
            y[k] = x[k] + (1 - theta)*(x[k] - x[k-1])
            x[k+1] = y[k] - eps*grad_f(y[k])
        return y[K]""",
    "a sum one term too long": """
        x[0] = x0
        for k in range(K):
            x[k+1] = x[k] - eps*grad_f(x[k])
        return sum(x[i], (i, 0, K + 1))/(K + 2)""",
    "a sum of an unassigned first term": """
        z = x0
        for k in range(K):
            x[k+1] = z - eps*grad_f(z)
            z = x[k+1]
        return sum(x[i], (i, 0, K))""",
    "break before the assignment": """
        x[0] = x0
        for k in range(K):
            if norm(grad_f(x[k])) <= eps:
                break
            x[k+1] = x[k] - eps*grad_f(x[k])
        return x[K]""",
    "an output of the rest of the body": """
        x[0] = x0
        for k in range(K):
            if norm(grad_f(x[k])) <= eps:
                break
            s = x[k] - eps*grad_f(x[k])
            x[k+1] = s
        return s""",
    "read before the line that assigns": """
        for k in range(K):
            r = s
            s = k
        return r""",
    "a flag that is turned": """
        done = 1
        if norm(x0) > eps:
            s = 1
            done = 1
        if done == 0:
            s = 2
        return s""",
    "a lazy update that starts late": """
        x[0] = x0
        for t in range(T):
            if t % P == 1:
                H = hess_f(x[t])
            x[t+1] = x[t] - H @ grad_f(x[t])
        return x[T]""",
    "the wrong row": """
        x[0] = x0
        for t in range(T):
            w[t,0] = x[t]
            for k in range(K):
                w[t,k+1] = w[t,k] - eps*grad_f(w[t,k])
            x[t+1] = w[t+1,K]
        return x[T]""",
    "the wrong column": """
        x[0] = x0
        for t in range(T):
            w[t,1] = x[t]
            for k in range(K):
                w[t,k+1] = w[t,k] - eps*grad_f(w[t,k])
            x[t+1] = w[t,K]
        return x[T]""",
    "an index behind its range": """
        x[0] = x0
        for k in range(K):
            x[k+1] = x[k] - eps*grad_f(x[k])
        j = argmin(norm(x[k] - x[k-1]), (k, 1, K))
        return x[j+1]""",
    "the loop stops one short": """
        x[0] = x0
        for k in range(K - 1):
            x[k+1] = x[k] - eps*grad_f(x[k])
        return x[K]""",
    "the counter moves first": """
        k = 0
        x[0] = x0
        while k < K:
            k = k + 1
            x[k+1] = x0 - eps*grad_f(x0)
        return x[1]""",
    "the counter jumps": """
        x[0] = x0
        k = 0
        while k < K:
            x[k+1] = x[k] - eps*grad_f(x[k])
            k = k + 2
        return x[1]""",
    "a restart without its point": """
        k = 0
        x[0] = x0
        y[0] = x0
        while k < K:
            x[k+1] = y[k] - eps*grad_f(y[k])
            k = k + 1
            if norm(x[k] - x[0]) > B:
                k = 0
                break
            y[k+1] = x[k]
        return y[k]""",
    "a while that may not begin": """
        k = 1
        while k < K:
            s = k
            k = k + 1
        return s""",
    "else without its value": """
        if theta > 1/2:
            s = 1
        else:
            r = 2
        return s""",
    "three values of one letter, two cases": """
        if N < 2:
            s = 1
        if N > 2:
            s = 3
        return s""",
    "two opaque tests that leave a gap": """
        if norm(x0) > 2*eps:
            s = 1
        if norm(x0) <= eps:
            s = 2
        return s""",
    "a gap at one large number": """
        if K <= 1000*P:
            s = 1
        return s""",
    "an entry far behind": """
        x[0] = x0
        for k in range(K):
            x[k+1] = x[k]
        if K > 20:
            s = x[K+1]
        else:
            s = x[K]
        return s""",
}
NOT_FOUND = {
    "two opaque tests that leave a gap": "two tests of one value in different places are not compared: undecided",
    "a gap at one large number": "only small numbers are tried: undecided",
}
"""Known: what is planted there is not shown by a path."""


def program(text: str) -> Program:
    return read_program(textwrap.dedent(text))


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_right_algorithms(name: str) -> None:
    assert path_defects(program(RIGHT[name]), INPUTS, RANGES) == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTIVE)
def test_planted_defects_are_found(name: str) -> None:
    found = path_defects(program(DEFECTIVE[name]), INPUTS, RANGES)
    assert bool(found) is (name not in NOT_FOUND)


@pytest.mark.parametrize("name", RIGHT)
def test_most_right_algorithms_are_seen_to_be_right(name: str) -> None:
    assert bool(undecided_reads(program(RIGHT[name]), INPUTS, RANGES)) is (name in NOT_SEEN)


NOT_SEEN = {
    "a test that the range answers",
    "a test that the range answers the other way",
    "a letter below another",
    "a flag",
    "a norm that is positive or 0",
    "a norm is not negative",
    "a maximum is not below its number",
    "a sum of a norm and a positive number",
    "one value under two names",
}
"""Known: right, and undecided."""


def test_the_message_names_the_numbers_of_a_path() -> None:
    (found,) = path_defects(program(DEFECTIVE["every second entry"]), INPUTS, RANGES)
    assert found.message == "x[K] is read, and a path leads here that does not assign it (K = 1)"
    assert found.kind == "unassigned output"


@pytest.mark.parametrize("name", ["a gap at one large number"])
def test_what_no_path_shows_is_undecided_where_it_is_possible(name: str) -> None:
    assert undecided_reads(program(DEFECTIVE[name]), INPUTS, RANGES)


def test_there_are_as_many_as_are_said() -> None:
    assert (len(RIGHT), len(DEFECTIVE)) == (35, 30)


STEP = "x[k+1] = x[k] - eta*grad_f(x[k])"
HEAD = "k = 0; x[0] = x_int\n"
FAR: dict[str, str] = {
    "a gap": HEAD + "while k < K:\n    if k < {c}:\n        x[k+1] = x_int\n    elif k > {c}:\n        x[k+1] = x_int\n"
    "    k = k + 1\nreturn x[k]",
    "a cap": HEAD + "while k < min(K, {c} - 1):\n    " + STEP + "\n    k = k + 1\nreturn x[min(K, {c})]",
    "one more for each c": HEAD + "while k < K:\n    " + STEP + "\n    k = k + 1\nreturn x[K + floor(K/{c})]",
    "far back": HEAD
    + "while k < K:\n    if k > {c}:\n        x[k+1] = x[k-{c}-2]\n    else:\n        "
    + STEP
    + "\n    k = k + 1\nreturn x[k]",
}
"""Right as long as no number comes near to c."""


@pytest.mark.slow
@pytest.mark.parametrize("c", [3, 9, 15, 20, 30])
@pytest.mark.parametrize("name", FAR)
def test_letters_come_near_to_the_numbers_of_the_text(name: str, c: int) -> None:
    assert path_defects(program(FAR[name].format(c=c)), INPUTS, RANGES)
    assert not far_constants(program(FAR[name].format(c=c)))


@pytest.mark.parametrize("name", FAR)
def test_numbers_that_no_path_comes_near_to_are_named(name: str) -> None:
    assert far_constants(program(FAR[name].format(c=1000)))[-1] == 1000


def test_a_right_program_with_a_number_stays_right() -> None:
    text = HEAD + "while k < K:\n    if k > 15:\n        x[k+1] = x[k-15]\n    else:\n        " + STEP
    right = program(text + "\n    k = k + 1\nreturn x[min(k, 15)]")
    assert not path_defects(right, INPUTS, RANGES)
    assert not far_constants(program(HEAD + "x[1] = x[0] - 1000*eta*grad_f(x[0])\nreturn x[1]"))  # decides no path
