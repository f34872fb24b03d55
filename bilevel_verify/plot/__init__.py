"""Pictures for papers, notebooks and the report: ``bv.plot.hyper_objective(p)``, ``bv.plot.trajectory(run, p)`` ...

Every function returns a matplotlib :class:`Picture`, or draws into the ``axes`` that it is given and returns their
figure. Colours are those of Okabe and Ito, lines differ in dash and mark too: a picture survives a printer. What is
drawn comes from :mod:`bilevel_verify.truth`, with its error bars; a point that is marked as a minimum or as
stationary is certified, or the legend says ``computed``.

Matplotlib is loaded when the first picture is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilevel_verify.first_use import on_first_use

_HOME = {
    "landscape": "hyper_objective penalty",
    "paths": "trajectory",
    "progress": "convergence history History",
    "promises": "along scaling margins",
    "smoothness": "curvature",
    "profiles": "performance_profile data_profile",
    "style": "Picture",
}
__all__ = [
    "History",
    "Picture",
    "along",
    "convergence",
    "curvature",
    "data_profile",
    "history",
    "hyper_objective",
    "margins",
    "penalty",
    "performance_profile",
    "scaling",
    "trajectory",
]

if TYPE_CHECKING:
    from bilevel_verify.plot.landscape import hyper_objective, penalty
    from bilevel_verify.plot.paths import trajectory
    from bilevel_verify.plot.profiles import data_profile, performance_profile
    from bilevel_verify.plot.progress import History, convergence, history
    from bilevel_verify.plot.promises import along, margins, scaling
    from bilevel_verify.plot.smoothness import curvature
    from bilevel_verify.plot.style import Picture


__getattr__ = on_first_use(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
