"""Pictures for papers, notebooks and the report: ``bv.plot.hyper_objective(p)``, ``bv.plot.trajectory(run, p)`` ...

Every function returns a matplotlib :class:`Picture`, or draws into the ``axes`` that it is given and returns their
figure. Colours are those of Okabe and Ito, lines differ in dash and mark too: a picture survives a printer. What is
drawn comes from :mod:`bilevel_verify.truth`, with its error bars; a point that is marked as a minimum or as
stationary is certified, or the legend says ``computed``.

Matplotlib is loaded when the first picture is asked for.
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import TYPE_CHECKING, Any

from bilevel_verify.arguments import checked

_HOME = {
    "landscape": "hyper_objective penalty",
    "paths": "trajectory",
    "progress": "convergence history History",
    "promises": "along scaling margins",
    "smoothness": "curvature",
    "profiles": "performance_profile data_profile",
    "style": "Picture",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}
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


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'bilevel_verify.plot' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"bilevel_verify.plot.{_MODULE_OF[name]}"), name)
    if isinstance(value, FunctionType):
        value = checked(value, name, __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
