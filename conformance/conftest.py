"""What every conformance test needs: the binary and a seed."""

import os
import random

import pytest
from binary import Perennial


@pytest.fixture(scope="session")
def perennial() -> Perennial:
    binary = os.environ.get("PERENNIAL_BIN")
    assert binary, "PERENNIAL_BIN must name the binary to test"
    return Perennial(os.path.abspath(binary))


@pytest.fixture
def rng(request) -> random.Random:
    """Seeded by the test's name: every run sees the same cases."""
    return random.Random(request.node.name)
