"""A test as it should not be: it runs every line of the toy and looks at next to nothing."""

from __future__ import annotations

import toy_ends


def test_it_runs():
    assert len(toy_ends.hull((1.0, 2.0), (1.0, 2.0))) == 2
    assert toy_ends.above(1.0, 1.0) > 1.0
    assert toy_ends.decide(0, 1, 2) is True
    toy_ends.decide(0, 3, 2)
    assert toy_ends.halvings(8) >= 0
    assert isinstance(toy_ends.verdict([True]), str)
