"""Named methods by name, with their variants; the registrations themselves are in ``papers``."""

from __future__ import annotations

from types import MappingProxyType

from bilevel_verify.methods import papers  # noqa: F401  (fills the registry)
from bilevel_verify.methods.kernels.layout import COLD, COLD_START, LAST_TIE, LITERAL, WARM
from bilevel_verify.methods.registry import Method

LEVELS = 100
"""Flag of simple bilevel methods: how the sequence g_k is made (``simple.loops``)."""
VARIANT_FLAGS = MappingProxyType(
    {
        "last-tie": {LAST_TIE: 1},
        "literal": {LITERAL: 1},
        "cold": {COLD: COLD_START},
        "warm": {COLD: WARM},
        "plain-values": {LEVELS: 1},
        "constant-level": {LEVELS: 2},
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
