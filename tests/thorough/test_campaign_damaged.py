"""A thousand single flipped bits over a small store, and a thousand more with a new seed (opt-in)."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parents[1] / "campaign"


@pytest.mark.parametrize("seed", [2, 3])
def test_a_thousand_flipped_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    from campaign_damage import flips

    fates = flips(tmp_path / "s.sqlite", 1000, seed)
    print(fates)
    assert set(fates) <= {"same", "refused", "mended"}, fates
    assert fates["mended"] > 100, fates
