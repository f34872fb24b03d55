"""The simple bilevel methods under their names, with the letters of their parameters."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from bilevel_verify.methods.registry import Letter, Method, Reading, register
from bilevel_verify.methods.simple import searches, steppers
from bilevel_verify.methods.simple.agm import WORDS, make_agm
from bilevel_verify.methods.simple.composite import CompositeAgmBio, ConceptualAgm
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
    blocks = more.pop("blocks", None) or runner.blocks
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


_WEIGHTS = Letter("a_k", "sequence", optional=True)
_AGM = (Letter("gamma", default=1.0), L_F, L_G, K, SEQUENCE, _WEIGHTS)
_MADE = ("plain-values", "constant-level")
_ALGORITHM_1 = {"blocks": AgmBio.blocks, "readings": (VALUES,), "source": "agm-bio, Algorithm 1", "variants": _MADE}
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
_register(
    "a-irg", "a-IRG", steppers.AveragedIrg,
    (Letter("gamma0"), Letter("eta0"), Letter("b", default=0.25), Letter("rho", "nonnegative", default=0.5), K),
    "section-3-5", readings=(AVERAGE,), source="Kaushik, Yousefian 2021, as recalled",
)  # fmt: skip
_register(
    "bi-sg", "Bi-SG", steppers.BiSg, (Letter("t"), Letter("c"), Letter("alpha", default=0.75), K), "section-3-5",
    source="Merchav, Sabach 2023, as recalled",
)  # fmt: skip
_register(
    "big-sam", "BiG-SAM", steppers.BigSam, (Letter("t"), Letter("s"), Letter("c"), K), "section-3-5",
    source="Sabach, Shtern 2017, as recalled",
)  # fmt: skip
_register(
    "r-apm", "R-APM", steppers.RApm, (Letter("eta"), Letter("gamma"), K), "section-3-5",
    source="Samadi, Burbano, Yousefian 2023, as recalled",
)  # fmt: skip
_register(
    "pb-apg", "PB-APG", steppers.PbApg, (Letter("penalty"), L_F, Letter("L_g"), K), "section-3-5",
    source="Chen, Shi, Jiang, Wang 2024, as recalled",
)  # fmt: skip
_register(
    "dbgd", "DBGD", steppers.Dbgd,
    (Letter("s"), Letter("a"), Letter("b"), Letter("g_hat", "real"), K), "section-3-5",
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
