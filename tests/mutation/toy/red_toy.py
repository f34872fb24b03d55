"""A test that fails on the true code: the driver must say so and judge nothing (not collected: its name)."""

from __future__ import annotations

import toy_ends


def test_it_fails():
    assert toy_ends.halvings(8) == 4
