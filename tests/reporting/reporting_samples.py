"""Made-up verifications for the tests of the report: every verdict, every certainty, awkward texts."""

from __future__ import annotations

import sympy

from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.problems import bilevel
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

ATTACK = '<script>document.title="pwned"</script><img src=x onerror="alert(1)">'
EPS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3)


def row(verdict: str, **fields: object) -> Row:
    """A row with sensible defaults."""
    given: dict[str, object] = {
        "paper": "restarted-agd-hb", "statement": "theorem-1", "claim": "gradient-count", "source": "Theorem 1",
        "problem": "ramp", "method": "restarted-agd", "kind": "run", "verdict": verdict, "certainty": "certified",
        "left": "calls(grad_f)", "right": "Delta*L**(1/2)*rho**(1/4)/eps**(7/4)", "measured": 1200.0, "bound": 9e4,
        "margin": 0.9867, "where": "eps = 0.01", "places": 5,
        "reproduce": "bilevel-verify verify --problem 'zoo:ramp:s=2*eps,drop=1' --statement restarted-agd-hb/theorem-1",
    }  # fmt: skip
    return Row(**(given | fields))  # type: ignore[arg-type]


def series() -> dict[str, object]:
    """A sweep with its bound."""
    counts = [30.0 * e**-1.75 for e in EPS]
    bounds = [900.0 * e**-1.75 for e in EPS]
    driver = [1 / e for e in EPS]
    return {
        "eps": list(EPS), "driver": driver, "counts": counts, "bounds": bounds, "interval": [1.74, 1.76],
    }  # fmt: skip


def problem(name: str = "wave", title: str = "") -> Problem:
    """A small bilevel problem."""
    return bilevel(
        f="sin(x1) + y1**2/2 + cos(x1 - y1)",
        g="y1**2 + cos(y1)/2 - x1*y1",
        x="x1",
        y="y1",
        domain={"x1": (-3, 3), "y1": (-3, 3)},
        name=name,
        title=title,
    )


def constants() -> dict[str, object]:
    """Two constants with derivations, one of them local."""
    leaf = Reason("supremum", "sup |cos| = 1")
    why = Reason("calculus", "L_g <= sup |2 - cos(y1)/2| + 1", (leaf, Reason("affine", "d2/dx dy = -1", (leaf,))))
    mu = Constant(
        "mu", 1.5, 1.5, 1.5, "lower", True, "exact", "spectral in y", "the whole space", why,
        exact=sympy.Rational(3, 2), attained=True, meaning="strong convexity of g in y",
    )  # fmt: skip
    big = Constant(
        "L_g", 3.1, 2.9, 3.1, "upper", False, "sampling", "spectral, joint", "box [-3, 3]^2", why, whole_space=False
    )
    return {"mu": mu, "L_g": big, "M_g": float("inf")}


def verifications(title: str = "") -> list[Verification]:
    """One of every verdict on three problems."""
    truth = {"phi_min": Enclosure(-0.6, 1e-12, "certified", "branch and bound", True), "Delta": Enclosure(1.5, 1e-9)}
    rows = [
        row("holds"),
        row("holds", claim="output", measured=0.0081, bound=0.82, margin=0.99, certainty="computed"),
        row("consistent", claim="rate", kind="order", measured=1.75, bound=1.75, margin=0.0, details=series()),
        row(
            "undecided",
            claim="decrease",
            statement="lemma-1",
            reason="tie (2 of 81 places)",
            kind="epoch",
            margin=1e-16,
        ),
    ]
    wave = [
        row("refuted", problem="wave", claim="decrease", statement="lemma-1", measured=-0.1, bound=-0.2, margin=-0.5),
        row(
            "not applicable",
            problem="wave",
            reason="hypothesis: theta < 1 is false (theta = 1.33)",
            measured=None,
            bound=None,
        ),
        row("inconsistent", problem="wave", claim="rate", kind="order", known_refuted=True),
        row(
            "holds",
            problem="wave",
            claim="decrease",
            statement="lemma-1",
            as_printed=False,
            margin=0.01,
            certainty="proved",
        ),
    ]
    odd = [
        row("uninformative", problem="<b>bold</b> & co", claim=ATTACK, reason=ATTACK, where=ATTACK, left=ATTACK),
        row(
            "holds",
            problem="<b>bold</b> & co",
            paper="mine",
            statement=ATTACK,
            claim="c",
            measured=float("inf"),
            bound=None,
        ),
        row("holds", problem=None, paper="mine", statement="lemma-9", kind="inequality", certainty="proved"),
    ]
    made = {"constants": constants(), "truth": truth, "parameters": ({"eta": 0.25, "B": 0.1},)}
    hypotheses = (row("holds", claim="theta < 1", kind="parameters", measured=0.4, bound=1.0),)
    return [
        Verification("restarted-agd-hb/theorem-1", "ramp", "undecided", tuple(rows), hypotheses, seconds=1.5),
        Verification("restarted-agd-hb/lemma-1", "wave", "refuted", tuple(wave), seconds=0.2, **made),  # type: ignore[arg-type]
        Verification("mine/lemma-9", "<b>bold</b> & co", "holds", tuple(odd)),
    ]


def many(cells: int, claims: int) -> list[Verification]:
    """Synthetic verifications: ``cells`` of ``claims`` rows each on 20 problems and 25 statements."""
    made = []
    for n in range(cells):
        statement, name = f"theorem-{n % 25}", f"problem-{n // 25 % 20}"
        rows = tuple(
            row("holds" if (n + c) % 9 else "undecided", statement=statement, problem=name, claim=f"claim-{c}",
                margin=((n * 7 + c) % 100) / 100, where=f"eps = {10 ** -(n % 5):g}, epoch {n % 17}, k = {c}",
                reason=None if (n + c) % 9 else f"tie ({c} of 81 places)")
            for c in range(claims)
        )  # fmt: skip
        made.append(Verification(f"restarted-agd-hb/{statement}", name, "holds", rows))
    return made
