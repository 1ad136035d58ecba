"""Fixtures of the workflow tests."""

import pytest
from scene import Scene


@pytest.fixture
def scene(client, name) -> Scene:
    return Scene(client, name)
