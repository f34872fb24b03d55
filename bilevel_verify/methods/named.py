"""Named methods by name, with their variants; the registrations themselves are in ``papers``."""

from __future__ import annotations

from types import MappingProxyType

from bilevel_verify.methods import papers  # noqa: F401  (fills the registry)
from bilevel_verify.methods.kernels.state import COLD_START, WARM
from bilevel_verify.methods.registry import Method

VARIANT_FLAGS = MappingProxyType(
    {
        "last-tie": {"last_tie": 1},
        "literal": {"literal": 1},
        "cold": {"cold": COLD_START},
        "warm": {"cold": WARM},
        "plain-values": {"levels": 1},
        "constant-level": {"levels": 2},
    }
)
"""What a variant changes."""


def variant_of(method: Method, variant: str) -> Method:
    """A variant of a method, named ``name:variant``."""
    from dataclasses import replace

    from bilevel_verify.errors import InputError

    if variant not in method.variants:
        known = ", ".join(method.variants) or "none"
        raise InputError(f"{method.name} has no variant {variant!r}; it has {known}")
    flags = {**method.flags, **VARIANT_FLAGS[variant]}
    return replace(method, name=f"{method.name}:{variant}", flags=MappingProxyType(flags), variants=())
