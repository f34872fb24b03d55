"""The certificates of the claims of ``certificate_pieces``, found once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from certificate_pieces import CLAIMS
from once import once

if TYPE_CHECKING:
    from bilevel_verify.certificates.finding import Certificate


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> list[Certificate | None]:
    """One for each claim, None where none was found."""
    return once(tmp_path_factory, "certificates", _found)


def _found() -> list[Certificate | None]:
    from bilevel_verify.audit.formula import claims_of  # tests of the checker alone do not import the rest
    from bilevel_verify.certificates.finding import certify

    return [certify(claim) for one in CLAIMS for claim in claims_of(*one)]
