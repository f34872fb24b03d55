"""Where the data of this installation stand: found the same way from a wheel, an editable install and a checkout."""

from __future__ import annotations

from pathlib import Path

from bilevel_verify.errors import CardError


def theory_directory() -> Path:
    """The directory of the shipped cards, and of the definitions, notations and prints beside them.

    In a wheel it lies inside the package; in a checkout and in an editable install beside it.

    Raises
    ------
    CardError : the installation has no cards.
    """
    package = Path(__file__).resolve().parent
    for place in (package / "theory", package.parent / "theory"):
        if place.is_dir() and any(place.glob("*.toml")):
            return place
    raise CardError("the cards of this installation are missing: no directory 'theory' inside or beside the package")
