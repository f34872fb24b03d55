"""What each paper's letters mean: functions, derivative forms, metric. One letter has several meanings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bilevel_verify.errors import InputError

Measure = Literal["norm", "strong convexity", "exponent", "hoelder", "ratio", "diameter", "error bound", "gradient"]


@dataclass(frozen=True, slots=True)
class Letter:
    """One constant of one paper.

    Attributes
    ----------
    name : as in the paper, ASCII.
    measure : how it is computed.
    parts : pairs (function, form); the constant is the largest over them (smallest for ``mu``). Forms are words over
        ``x y z`` with one letter per slot, see :mod:`bilevel_verify.constants.calculus.forms`.
    norm : metric and which variables move.
    meaning : definition, with its formula.
    partner : for an exponent the letter of its constant and the other way round; numerator and denominator for a ratio.
    """

    name: str
    measure: Measure
    parts: tuple[tuple[str, str], ...]
    norm: str
    meaning: str
    partner: tuple[str, ...] = ()


JOINT = "Euclidean / spectral, joint in (x, y)"
SUM = "Euclidean / spectral, sum metric |x - x'| + |y - y'|: the larger of the two partial constants"
IN_X = "Euclidean / spectral, all of x moves"
ON_Z = "Euclidean / spectral, all of x moves within Z"
IN_Y = "Euclidean / spectral, y moves, every fixed x"


def _mu(function: str = "g", concave: bool = False) -> Letter:
    word = "-f is mu-strongly convex in y" if concave else "g(x, .) is mu-strongly convex"
    return Letter(
        "mu",
        "strong convexity",
        ((function, "yy"),),
        IN_Y,
        f"largest m with inf lambda_min(nabla^2_yy) >= m: {word} for every x (may be negative)",
    )


_RAGD_GS = (
    _mu(),
    Letter("L_g", "norm", (("g", "zz"),), JOINT, "Lipschitz constant of nabla g: sup |nabla^2 g|"),
    Letter("rho_g", "norm", (("g", "zzz"),), JOINT, "Lipschitz constant of nabla^2 g: sup |D^3 g|"),
    Letter(
        "nu_g",
        "exponent",
        (("g", "zzz"),),
        JOINT,
        "exponent of D^3 g: |D^3 g(z) - D^3 g(z')| <= M_g |z - z'|^nu_g",
        ("M_g",),
    ),
    Letter("M_g", "hoelder", (("g", "zzz"),), JOINT, "|D^3 g(z) - D^3 g(z')| <= M_g |z - z'|^nu_g", ("nu_g",)),
    Letter("C_f", "norm", (("f", "y"),), IN_Y, "Lipschitz constant of f in y: sup |nabla_y f|"),
    Letter("L_f", "norm", (("f", "zz"),), JOINT, "Lipschitz constant of nabla f: sup |nabla^2 f|"),
    Letter(
        "nu_f",
        "exponent",
        (("f", "xx"),),
        JOINT,
        "exponent of nabla^2_xx f: |nabla^2_xx f(z) - nabla^2_xx f(z')| <= H_f |z - z'|^nu_f",
        ("H_f",),
    ),
    Letter(
        "H_f", "hoelder", (("f", "xx"),), JOINT, "|nabla^2_xx f(z) - nabla^2_xx f(z')| <= H_f |z - z'|^nu_f", ("nu_f",)
    ),
    Letter(
        "rho_f",
        "norm",
        (("f", "xyz"), ("f", "yyz")),
        JOINT,
        "largest Lipschitz constant of nabla^2_xy f, nabla^2_yx f, nabla^2_yy f in (x, y): sup |D nabla^2_block f|",
    ),
)

_RAHGD = (
    Letter("M", "norm", (("f", "x"), ("f", "y")), SUM, "f is M-Lipschitz: max(sup |nabla_x f|, sup |nabla_y f|)"),
    Letter(
        "ell",
        "norm",
        (("f", "xz"), ("f", "yz"), ("g", "xz"), ("g", "yz")),
        SUM,
        "nabla f and nabla g are ell-Lipschitz: the largest of sup |D(nabla h)| along x alone and along y alone",
    ),
    Letter(
        "rho",
        "norm",
        (("f", "xxx"), ("f", "xxy"), ("f", "xyy"), ("f", "yyy"), ("g", "xxy"), ("g", "xyy"), ("g", "yyy")),
        SUM,
        "the blocks xy, xx, yy of nabla^2 f and xy, yy of nabla^2 g are rho-Lipschitz along x alone and along y alone",
    ),
    Letter(
        "nu",
        "norm",
        (("g", "xxxy"), ("g", "xxyy"), ("g", "xyyy"), ("g", "yyyy")),
        SUM,
        "the blocks xyx, yxy, yyy of D^3 g are nu-Lipschitz along x alone and along y alone",
    ),
    _mu(),
    Letter("kappa", "ratio", (), "none", "condition number ell / mu", ("ell", "mu")),
)

_FSBA = (
    Letter("C", "norm", (("f", "z"),), JOINT, "f is C-Lipschitz: sup |nabla f|"),
    Letter(
        "ell",
        "norm",
        (("f", "zz"), ("g", "zz")),
        JOINT,
        "nabla f and nabla g are ell-Lipschitz: max(sup |nabla^2 f|, sup |nabla^2 g|)",
    ),
    Letter(
        "rho",
        "norm",
        (("f", "zzz"), ("g", "zzz")),
        JOINT,
        "nabla^2 f and nabla^2 g are rho-Lipschitz: max(sup |D^3 f|, sup |D^3 g|)",
    ),
    Letter("nu", "norm", (("g", "zzzz"),), JOINT, "D^3 g is nu-Lipschitz: sup |D^4 g|"),
    _mu(),
)

_ONE_LEVEL = (
    Letter("L", "norm", (("f", "zz"),), IN_X, "Lipschitz constant of nabla f: sup |nabla^2 f|"),
    Letter("rho", "norm", (("f", "zzz"),), IN_X, "Lipschitz constant of nabla^2 f: sup |D^3 f|"),
)

_MINIMAX = (
    _mu("g", concave=True),
    Letter("ell", "norm", (("f", "zz"),), JOINT, "nabla f is ell-Lipschitz: sup |nabla^2 f|"),
    Letter("rho", "norm", (("f", "zzz"),), JOINT, "nabla^2 f is rho-Lipschitz: sup |D^3 f|"),
    Letter("kappa", "ratio", (), "none", "condition number ell / mu", ("ell", "mu")),
)

_AGM_BIO = (
    Letter("L_f", "norm", (("f", "zz"),), ON_Z, "Lipschitz constant of nabla f on the feasible set: sup |nabla^2 f|"),
    Letter("L_g", "norm", (("g", "zz"),), ON_Z, "Lipschitz constant of nabla g on the feasible set: sup |nabla^2 g|"),
    Letter("D", "diameter", (), "Euclidean", "diameter of the feasible set: sup |x - x'| over Z"),
    Letter(
        "alpha",
        "error bound",
        (("g", "zz"),),
        "Euclidean",
        "(alpha / r) dist(x, X_g*)^r <= g(x) - g* on Z (Hoelderian error bound)",
        ("r",),
    ),
    Letter("r", "error bound", (("g", "zz"),), "none", "exponent of the Hoelderian error bound", ("alpha",)),
    Letter(
        "M",
        "gradient",
        (("f", "z"),),
        "Euclidean",
        "max |nabla f| over the lower-level solutions X_g* (bounded over Z)",
    ),
)

PAPERS: dict[str, tuple[Letter, ...]] = {
    "ragd-gs": _RAGD_GS,
    "rahgd": _RAHGD,
    "fsba": _FSBA,
    "restarted-agd-hb": _ONE_LEVEL,
    "minimax": _MINIMAX,
    "agm-bio": _AGM_BIO,
}
"""Paper -> its letters, in the order in which they are printed."""

DEFAULT = {"bilevel": "ragd-gs", "minimax": "minimax", "single_level": "restarted-agd-hb", "simple_bilevel": "agm-bio"}
"""Which paper's letters a kind of problem gets when none is asked for."""

_NEEDS = {
    "ragd-gs": ("bilevel", "minimax"),
    "rahgd": ("bilevel", "minimax"),
    "fsba": ("bilevel", "minimax"),
    "restarted-agd-hb": ("single_level",),
    "minimax": ("minimax",),
    "agm-bio": ("simple_bilevel",),
}


def letters_of(paper: str | None, kind: str) -> tuple[str, tuple[Letter, ...]]:
    """Name and letters of the paper that was asked for (or of the default for the kind).

    Raises
    ------
    InputError : unknown paper, or a paper that does not speak of this kind of problem.
    """
    name = DEFAULT[kind] if paper is None else paper
    if name not in PAPERS:
        raise InputError(f"no constants are defined for the paper {name!r}; known are {', '.join(PAPERS)}")
    if kind not in _NEEDS[name]:
        raise InputError(
            f"the letters of {name} are defined for {' and '.join(_NEEDS[name])} problems, this one is {kind}"
        )
    return name, PAPERS[name]
