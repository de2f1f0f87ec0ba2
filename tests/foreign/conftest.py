"""One jar of our own for all tests of foreign stages."""

import pytest

from tests.foreign.jar import compiled


@pytest.fixture(scope="session")
def jar(tmp_path_factory):
    """The jar of ``java/acme``."""
    return compiled(tmp_path_factory.mktemp("acme"))
