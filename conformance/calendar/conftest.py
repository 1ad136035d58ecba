"""Fixtures of the calendar's tests."""

import pytest
from temporal_server import TemporalServer


@pytest.fixture(scope="session")
def temporal():
    server = TemporalServer()
    yield server
    server.stop()
