"""To be written."""

import pytest

pytestmark = pytest.mark.fast


def test_nothing():
    pass
