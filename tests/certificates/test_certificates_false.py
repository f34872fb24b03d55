"""Nothing false is accepted: certificates that were found, with the statement or the proof falsified."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from certificate_pieces import damaged, mutants, violated
from seeds import SEED

from bilevel_check import check
from bilevel_verify.certificates.finding import Certificate


@pytest.fixture(scope="module")
def proofs(certificates: list[Certificate | None]) -> list[dict[str, Any]]:
    return [json.loads(one.text) for one in certificates if one is not None]


@pytest.mark.seeded
def test_no_false_statement_is_accepted(proofs: list[dict[str, Any]]) -> None:
    draw, false = random.Random(SEED), 0
    for data in proofs:
        for mutant in mutants(data, draw, 6):
            accepted = check(json.dumps(mutant)).accepted
            point = violated(mutant["statement"], draw, 200 if accepted else 30)
            false += point is not None
            assert not (accepted and point), (mutant["statement"], point)
    assert false >= 20


@pytest.mark.seeded
def test_no_damaged_identity_is_accepted(proofs: list[dict[str, Any]]) -> None:
    draw, number = random.Random(SEED), 0
    for data in proofs:
        for mutant in damaged(data, draw, 6):
            number += 1
            assert not check(json.dumps(mutant)).accepted, mutant["proof"]
    assert number >= 40
