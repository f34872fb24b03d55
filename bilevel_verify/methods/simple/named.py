"""The simple bilevel methods under their names, with the letters of their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from bilevel_verify.methods.engine import Setup
from bilevel_verify.methods.registry import Letter, Method, Reading, register
from bilevel_verify.methods.simple import passes, searches
from bilevel_verify.methods.simple.agm import LOOPED, WORDS, loop_of_agm, make_agm
from bilevel_verify.methods.simple.composite import CompositeAgmBio, ConceptualAgm
from bilevel_verify.methods.simple.looped import Looped, LoopStepper, data_of
from bilevel_verify.methods.simple.steppers import AgmBio

SHEET = "agm-bio"
L_F, L_G = Letter("L_f"), Letter("L_g", optional=True)
K = Letter("K", "count")
SEQUENCE = Letter("g_k", "sequence", optional=True, words=tuple(WORDS))

AVERAGE = Reading(
    "a-IRG", "two outputs are in use", "the last iterate", "the weighted average stands in outputs['average']"
)
VALUES = Reading(
    "Algorithm 1, line 1",
    "a sequence g_k",
    "as given (a list, or one number for all k); else FISTA on g from u_0 = x_0, run beside and counted: the least of "
    "g(u_1) .. g(u_{k+1}) ('minimum', the default), g(u_k) ('values'), the least of K steps for all k ('constant')",
    "values from u_0 on break (8) at k = 0 where the gradient of g at x* is not zero",
)
NONSMOOTH = Reading(
    "Algorithm 2, line 6",
    "f_2 and g_2 proximal-friendly",
    "weighted l1 norms (terms w*abs(x_i) of f and g) on the whole space, the orthant or a box, where the step is exact",
    "the paper leaves the proximal map open",
)


def _register(name: str, title: str, runner: Any, letters: tuple[Letter, ...], statement: str, **more: Any) -> None:
    blocks = more.pop("blocks") if "blocks" in more else runner.blocks
    sequences = {"x": "own", **dict.fromkeys(blocks, "own")}
    register(
        Method(
            name=name,
            title=title,
            kinds=("simple_bilevel",),
            letters=letters,
            sequences=MappingProxyType(sequences),
            paper=SHEET,
            statement=statement,
            restarts=False,
            runner=runner,
            **more,
        )
    )


def _register_loop(name: str, title: str, looped: Looped, letters: tuple[Letter, ...], **more: object) -> None:
    def loop_of(setup: Setup) -> Any:
        """None on intersections."""
        assert setup.problem.feasible is not None
        return None if data_of(setup.problem.feasible, setup.problem.dx) is None else looped.function

    more |= {"blocks": looped.sequences, "oracles": frozenset(looped.needs), "loop_of": loop_of}
    _register(name, title, partial(LoopStepper, looped=looped), letters, "section-3-5", **more)


_WEIGHTS = Letter("a_k", "sequence", optional=True)
_AGM = (Letter("gamma", default=1.0), L_F, L_G, K, SEQUENCE, _WEIGHTS)
_MADE = ("plain-values", "constant-level")
_ALGORITHM_1 = {
    "blocks": AgmBio.blocks, "readings": (VALUES,), "source": "agm-bio, Algorithm 1", "variants": _MADE,
    "oracles": frozenset(LOOPED.needs), "loop_of": loop_of_agm,
}  # fmt: skip
_register("agm-bio", "AGM-BiO", make_agm, _AGM, "theorem-4-1", **_ALGORITHM_1)
_register("agm-bio-cut-x", "AGM-BiO with cuts at x_k", make_agm, _AGM, "remark-3-1", **_ALGORITHM_1)
_register("agm-bio-cut-z", "AGM-BiO with cuts at z_k", make_agm, _AGM, "remark-3-1", **_ALGORITHM_1)
_register(
    "p-agm-bio", "P-AGM-BiO", CompositeAgmBio, _AGM, "lemma-b-1", readings=(VALUES, NONSMOOTH), variants=_MADE,
    source="agm-bio, Algorithm 2",
)  # fmt: skip
_register(
    "agm-conceptual", "Conceptual AGM on the solution set", ConceptualAgm, (Letter("gamma", default=1.0), L_F, K),
    "conceptual-method", source="agm-bio, (3)-(6)",
)  # fmt: skip
_GRADIENTS = ("grad_f", "grad_g")
_IRG = Looped(
    passes.averaged_irg, _GRADIENTS, (), lambda q: (q["gamma0"], q["eta0"], q["b"], q["rho"]), average=True
)  # fmt: skip
_register_loop(
    "a-irg", "a-IRG", _IRG,
    (Letter("gamma0"), Letter("eta0"), Letter("b", default=0.25), Letter("rho", "nonnegative", default=0.5), K),
    readings=(AVERAGE,), source="Kaushik, Yousefian 2021, as recalled",
)  # fmt: skip
_BI_SG = Looped(passes.bi_sg, _GRADIENTS, ("y",), lambda q: (q["t"], q["c"], q["alpha"]), inside=False)
_register_loop(
    "bi-sg", "Bi-SG", _BI_SG, (Letter("t"), Letter("c"), Letter("alpha", default=0.75), K),
    source="Merchav, Sabach 2023, as recalled",
)  # fmt: skip
_BIG_SAM = Looped(passes.big_sam, _GRADIENTS, (), lambda q: (q["t"], q["s"], q["c"]), inside=False)
_register_loop(
    "big-sam", "BiG-SAM", _BIG_SAM, (Letter("t"), Letter("s"), Letter("c"), K),
    source="Sabach, Shtern 2017, as recalled",
)  # fmt: skip
_R_APM = Looped(passes.accelerated, _GRADIENTS, ("y",), lambda q: (1, q["eta"], q["gamma"]))
_register_loop(
    "r-apm", "R-APM", _R_APM, (Letter("eta"), Letter("gamma"), K),
    source="Samadi, Burbano, Yousefian 2023, as recalled",
)  # fmt: skip


def _penalised(q: Mapping[str, float]) -> tuple[Any, ...]:
    """Weights and step of PB-APG: ``f + penalty g`` with the step ``1/(L_f + penalty L_g)``."""
    return q["penalty"], 1, 1 / (q["L_f"] + q["penalty"] * q["L_g"])


_register_loop(
    "pb-apg", "PB-APG", Looped(passes.accelerated, _GRADIENTS, ("y",), _penalised),
    (Letter("penalty"), L_F, Letter("L_g"), K), source="Chen, Shi, Jiang, Wang 2024, as recalled",
)  # fmt: skip
_DBGD = Looped(
    passes.dbgd, (*_GRADIENTS, "value_g"), (), lambda q: (q["s"], q["a"], q["b"], q["g_hat"]), inside=False
)  # fmt: skip
_register_loop(
    "dbgd", "DBGD", _DBGD, (Letter("s"), Letter("a"), Letter("b"), Letter("g_hat", "real"), K),
    source="Gong, Liu, Liu 2021, as recalled",
)  # fmt: skip
_register(
    "cg-bio", "CG-BiO", searches.CgBio, (Letter("eps_f"), Letter("eps_g"), Letter("c", default=2.0), K), "section-3-5",
    source="Jiang, Abolfazli, Mokhtari, Yazdandoost Hamedani 2023, as recalled",
)  # fmt: skip
_register(
    "bisec-bio", "Bisec-BiO", searches.BisecBio,
    (Letter("l", "real"), Letter("eps_f"), Letter("eps_g"), Letter("L_g"), Letter("n_lower", "count"),
     Letter("n_level", "count"), Letter("steps", "count", optional=True)),
    "section-3-5", source="Wang, Shi, Jiang 2024, as recalled",
)  # fmt: skip
_register(
    "mng", "MNG (minimal norm gradient)", searches.Mng, (Letter("M"), K), "section-3-5",
    source="Beck, Sabach 2014, as recalled",
)  # fmt: skip
