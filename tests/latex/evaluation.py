"""Values of trees at a random point, and the same names for expressions written by hand."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from bilevel_verify.language import tree
from bilevel_verify.latex import Notation

DIMENSION = 3
TABLE = {
    "indices": "i j k l t",
    "components": "",
    "letters": r"""a b c r \alpha \beta \alpha'=alpha_p \beta'=beta_p \lambda \mu \rho \kappa \epsilon \eta \theta
        \sigma \nu \ell L M B=B_ L_g L_f C_f \rho_g D_2 H_\nu K K_0 \bar{\rho}=rho_bar \tilde{L}=L_tilde
        \mathcal{D}=D \mathcal{R}=R""",
    "matrices": r"\mathbf{A}=A \mathbf{B}=B \mathbf{H}=H \mathbf{I}=I",
    "sequences": r"Z S p T=T_ T'=Tp \lambda=lamj \tilde{v}=vt:upper,lower-component A=A_s a=a_s",
    "vector_sequences": "x y w z=zu:upper",
    "functions": r"f g \varphi=phi \varphi=phi_part:first,of-scalar \lambda_{\min}=lambda_min:1",
    "vector_functions": "y^*=y_star",
}
NOTATION = Notation.from_table(TABLE)
FIELDS = Notation.from_table(
    {
        **TABLE,
        "letters": TABLE["letters"] + r" n m d \tau",
        "functions": TABLE["functions"] + " KL=KL:2 Var=Var:1 tr=trace:1",
    }
)
PAPERS = Notation.from_table(
    {
        "indices": "i j k l t s",
        "norms": {"1": "norm1", r"\infty": "norm_inf"},
        "letters": r"""e=E \pi=pi a b c h r n m d N T K \alpha \beta \gamma \delta \epsilon \eta \theta \kappa \lambda
            \mu \nu \rho \sigma \tau \omega \zeta \Delta L M R C C_0 C_1 c_1 c_2 \hat{\sigma}=sig_hat \bar{X}=X_bar
            \bar{Y}=Y_bar \bar{\mu}=mu_bar \hat{\theta}=th_hat \theta^*=th_star f^*=f_star \sigma_0 L_0 L_1
            L_{\max}=L_max \gamma_{\min}=gam_min \lambda'=lam_p""",
        "vectors": "u v x^*=x_star",
        "matrices": r"A B P Q \Sigma=Sig \mathbf{X}=Xb \mathbf{K}=Kb I",
        "sequences": r"""X Y W p q \gamma=gam_s \eta=eta_s \lambda=lam_s \sigma=sig_s \mu=mu_s \alpha=al_s \beta=be_s
            h=h_s t=tt a=ac \Delta=De \hat{y}=yh""",
        "vector_sequences": "x y w g=gs",
        "functions": r"""f F \psi=psi \phi=phi \ell=loss:2 \mathrm{KL}=KL:2 \mathrm{Var}=Var:1 \operatorname{tr}=trace:1
            \lambda_{\min}=lambda_min:1 \lambda_{\max}=lambda_max:1""",
    }
)


def _seeded(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


class Sequence:
    """Entries drawn once for every index."""

    def __init__(self, name: str, shape: tuple[int, ...], offset: float) -> None:
        self.name, self.shape, self.offset = name, shape, offset

    def __getitem__(self, index: Any) -> Any:
        key = index if isinstance(index, tuple) else (index,)
        drawn = _seeded(f"{self.name}{[round(i) for i in key]}").normal(size=self.shape)
        return float(abs(drawn) + self.offset) if self.shape == () else drawn


class Share(Sequence):
    """Entries between 0 and 1."""

    def __getitem__(self, index: Any) -> Any:
        return 1 / (1 + super().__getitem__(index))


def function(name: str) -> Callable[..., Any]:
    """A smooth function with values of the shape that its name says."""
    kind = name.removeprefix("hat_").removeprefix("tilde_")
    shape: tuple[int, ...] = ()
    vector = "y_star" in name
    if kind.startswith("grad_") and not kind.endswith("_part"):
        shape = (DIMENSION, DIMENSION) if vector else (DIMENSION,)
    elif kind.startswith("hess_"):
        shape = (DIMENSION, DIMENSION)
    elif vector:
        shape = (DIMENSION,)
    seeds = _seeded(name)
    weights, shift = seeds.normal(size=(*shape, 2 * DIMENSION)), seeds.normal(size=shape)

    def value(*arguments: Any) -> Any:
        flat = np.concatenate([np.atleast_1d(np.asarray(a, dtype=float)).ravel() for a in arguments])
        padded = np.resize(np.concatenate([flat, np.zeros(2 * DIMENSION)]), 2 * DIMENSION)
        result = np.tanh(weights @ padded + shift)
        return float(result) if shape == () else result

    return value


def environment(seed: int) -> dict[str, Any]:
    """Names -> values."""
    draw = np.random.default_rng(seed)
    names = (
        "a b c r alpha beta alpha_p beta_p lam mu rho eps eta sigma nu ell L M B_ L_g L_f C_f rho_g D_2 H_nu".split()
    )
    found: dict[str, Any] = {name: float(draw.uniform(0.3, 2.0)) for name in [*names, "rho_bar", "L_tilde", "D", "R"]}
    found |= {"kappa": float(draw.uniform(1.2, 3)), "theta": float(draw.uniform(0.1, 0.9))}
    found |= {"r": float(draw.uniform(1.2, 2)), "k": 4, "j": 2, "i": 1, "t": 3, "l": 2, "K": 7, "K_0": 3, "k_p": 2}
    found |= {"x0": draw.normal(size=DIMENSION), "y0": draw.normal(size=DIMENSION), "I": np.eye(DIMENSION)}
    found |= {name: draw.normal(size=(DIMENSION, DIMENSION)) for name in "AB"}
    square = draw.normal(size=(DIMENSION, DIMENSION))
    found["H"] = square + square.T
    found |= {name: Sequence(f"{name}{seed}", (), 0.5) for name in "Z S p T_ Tp lamj vt A_s a_s".split()}
    found |= {name: Sequence(f"{name}{seed}", (DIMENSION,), 0.0) for name in "x y w zu".split()}
    derived = (
        "f g phi phi_part y_star grad_phi hat_grad_phi tilde_grad_phi hess_phi grad_x_f grad_y_f grad_y_g hess_xy_g"
    )
    more = "hess_yx_g hess_yy_g hess_yx_f grad_y_star grad_phi_part"
    found |= {name: function(name) for name in (derived + " " + more).split()}
    found |= {"n": 6, "m": 3, "d": 3, "tau": float(draw.uniform(0.3, 2)), "trace": np.trace}
    found |= {"KL": lambda a, b: a * math.log(a / b) + b - a, "Var": lambda a: a * a + math.sin(a)}
    return found | {"math": math, "np": np, "norm": np.linalg.norm}


def _integral(body: Callable[[float], Any], low: float, high: float) -> Any:
    nodes, weights = np.polynomial.legendre.leggauss(60)
    half, middle = (high - low) / 2, (low + high) / 2
    return half * sum(w * body(half * p + middle) for p, w in zip(nodes, weights, strict=True))


HELPERS: dict[str, Any] = {
    "math": math,
    "np": np,
    "norm": np.linalg.norm,
    "sq": math.sqrt,
    "ln": math.log,
    "exp": math.exp,
    "inv": np.linalg.inv,
    "eig": np.linalg.eigvalsh,
    "C_": math.comb,
    "fact": math.factorial,
    "mp": np.linalg.matrix_power,
    "quad": _integral,
    "Su": lambda f, a, b: sum(f(q) for q in range(a, b + 1)),
    "Pr": lambda f, a, b: math.prod(f(q) for q in range(a, b + 1)),
}
"""Short names for sums, products and integrals written by hand."""


def papers(seed: int) -> dict[str, Any]:
    """Names -> values for the notation ``PAPERS``."""
    draw = np.random.default_rng(seed)
    positive = """a b c h r mu nu rho sigma tau omega zeta Delta L M R C C_0 C_1 c_1 c_2 sig_hat X_bar Y_bar mu_bar
        f_star sigma_0 L_0 L_1 L_max gam_min lam lam_p eta"""
    found: dict[str, Any] = {name: float(draw.uniform(0.3, 2)) for name in positive.split()}
    found |= {n: float(draw.uniform(0.1, 0.9)) for n in "alpha beta gamma delta eps theta th_hat th_star".split()}
    found |= {"kappa": float(draw.uniform(1.2, 3)), "pi": math.pi, "I": np.eye(DIMENSION)}
    found |= {"n": 6, "m": 3, "d": 3, "N": 8, "T": 7, "K": 5, "k": 4, "i": 1, "j": 2, "l": 2, "t": 3, "s": 2}
    found |= {name: draw.normal(size=DIMENSION) for name in "x0 y0 u v x_star w0 gs0".split()}
    found |= {name: draw.normal(size=(DIMENSION, DIMENSION)) for name in "A B Xb".split()}
    for name in "P Q Sig Kb".split():
        square = draw.normal(size=(DIMENSION, DIMENSION))
        found[name] = square @ square.T + np.eye(DIMENSION)
    numbers = "X Y W p q gam_s eta_s lam_s sig_s mu_s h_s tt ac De yh"
    found |= {name: Sequence(f"{name}{seed}", (), 0.5) for name in numbers.split()}
    found |= {name: Share(f"{name}{seed}", (), 0.5) for name in ("al_s", "be_s")}
    found |= {name: Sequence(f"{name}{seed}", (DIMENSION,), 0.0) for name in "x y w gs".split()}
    found |= {name: function(name) for name in "f F psi phi loss grad_f grad_phi".split()}
    found |= {
        "trace": np.trace,
        "lambda_max": lambda a: np.linalg.eigvalsh(a)[-1],
        "Var": lambda a: a * a + math.sin(a),
    }
    found |= {"KL": lambda a, b: a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))}
    found |= {"norm1": lambda a: np.abs(a).sum(), "norm_inf": lambda a: np.abs(a).max()}
    hessian = function("hess_f")
    return found | HELPERS | {"hess_f": lambda a: hessian(a) + hessian(a).T}


BINARY: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda a: a**0.5,
    "log": math.log,
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "tan": math.tan,
    "atan": math.atan,
    "erf": math.erf,
    "sign": lambda a: (a > 0) - (a < 0),
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "factorial": lambda a: math.factorial(int(a)),
    "plus": lambda a: max(a, 0),
    "norm": lambda a: np.linalg.norm(a, 2),
    "frobenius": np.linalg.norm,
    "inv": np.linalg.inv,
    "T": np.transpose,
    "lambda_min": lambda a: np.linalg.eigvalsh(a)[0],
    "indicator": float,
}
FOLDS: dict[str, Callable[[list[Any]], Any]] = {"sum": sum, "prod": math.prod, "max": max, "min": min, "sup": max}


def value(node: tree.Node, names: dict[str, Any]) -> Any:
    """Value of a tree."""
    match node:
        case tree.Number(value=number):
            return float(number) if number.denominator != 1 else int(number)
        case tree.Truth(value=truth):
            return truth
        case tree.Letter(name=name):
            return math.e if name == "E" else names.get(f"{name}0", names.get(name))
        case tree.Add(terms=terms):
            return sum(value(t, names) for t in terms)
        case tree.Multiply(factors=factors):
            return math.prod(value(f, names) for f in factors) if _numbers(factors, names) else _scaled(factors, names)
        case tree.MatrixMultiply(left=left, right=right):
            one, other = value(left, names), value(right, names)
            if isinstance(right, tree.Call) and right.function == "T" and np.ndim(one) == np.ndim(other) == 1:
                return np.outer(one, other)  # x y^T of vectors is no inner product
            return one @ other
        case tree.Divide(numerator=top, denominator=bottom):
            return value(top, names) / value(bottom, names)
        case tree.Modulo(left=left, right=right):
            return value(left, names) % value(right, names)
        case tree.Negate(operand=inner):
            return -value(inner, names)
        case tree.Power(base=base, exponent=exponent):
            held, power = value(base, names), value(exponent, names)
            return np.linalg.matrix_power(held, int(power)) if isinstance(held, np.ndarray) else float(held) ** power
        case tree.Index(base=base, indices=indices):
            return names[base][tuple(value(i, names) for i in indices)]
        case tree.Compare(operands=operands, operators=operators):
            held = [value(o, names) for o in operands]
            return all(BINARY[op](a, b) for op, a, b in zip(operators, held, held[1:], strict=False))
        case tree.Call():
            return _call(node, names)
    raise TypeError(node)


def _numbers(factors: tuple[tree.Node, ...], names: dict[str, Any]) -> bool:
    return all(not isinstance(value(f, names), np.ndarray) for f in factors)


def _scaled(factors: tuple[tree.Node, ...], names: dict[str, Any]) -> Any:
    result: Any = 1.0
    for factor in factors:
        result = result * value(factor, names)
    return result


def _call(node: tree.Call, names: dict[str, Any]) -> Any:
    name, arguments = node.function, node.arguments
    last = arguments[-1]
    if name in FOLDS and isinstance(last, tree.Tuple):
        index, low, high = last.items
        assert isinstance(index, tree.Letter)
        span = range(int(value(low, names)), int(value(high, names)) + 1)
        return FOLDS[name]([value(arguments[0], {**names, index.name: i}) for i in span])
    if name == "integral" and isinstance(last, tree.Tuple):
        index, low, high = last.items
        assert isinstance(index, tree.Letter)
        ends = value(low, names), value(high, names)
        return _integral(lambda point: value(arguments[0], {**names, index.name: point}), *ends)
    if name == "Piecewise":
        return next(
            value(b.items[0], names) for b in arguments if isinstance(b, tree.Tuple) and value(b.items[1], names)
        )
    if name == "matrix":
        return np.block(
            [[np.atleast_2d(value(i, names)) for i in row.items] for row in arguments if isinstance(row, tree.Tuple)]
        )
    held = [value(a, names) for a in arguments]
    if name in ("max", "min"):
        return FOLDS[name](held)
    if name == "binomial":
        return math.comb(int(held[0]), int(held[1]))
    if name == "dot":
        return held[0] @ held[1]
    if name == "entry":
        return held[0][tuple(int(i) - 1 for i in held[1:])]
    return UNARY[name](held[0]) if name in UNARY else names[name](*held)
