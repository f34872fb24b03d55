"""The certificates of the claims of ``certificate_pieces``, found once."""

from __future__ import annotations

import pytest
from certificate_pieces import CLAIMS

from bilevel_verify.audit.formula import claims_of
from bilevel_verify.certificates.finding import Certificate, certify


@pytest.fixture(scope="session")
def certificates() -> list[Certificate | None]:
    """One for each claim, None where none was found."""
    return [certify(claim) for one in CLAIMS for claim in claims_of(*one)]
