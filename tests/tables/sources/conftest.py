"""What tests of file topics start from."""

import pytest

from dagster_smt.tables.topic_table import FileTopics


@pytest.fixture
def source(tmp_path):
    (tmp_path / "topics").mkdir()
    return FileTopics(tmp_path / "topics")
