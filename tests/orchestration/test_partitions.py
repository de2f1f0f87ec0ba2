"""Topics as partition keys."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.orchestration import partition_key_to_topic, topic_to_partition_key

CASES = [("orders.v1", "orders.v1"), ("a...b", "a%2E%2E%2Eb"), ("a....b", "a%2E%2E%2E.b"), ("...", "%2E%2E%2E")]


@pytest.mark.parametrize(("topic", "key"), CASES)
def test_only_what_dagster_reads_as_a_range_is_encoded(topic, key):
    assert topic_to_partition_key(topic) == key
    assert partition_key_to_topic(key) == topic


@given(st.from_regex(re.compile(r"[A-Za-z0-9._%-]{1,249}"), fullmatch=True))
def test_keys_are_reversible_and_never_a_range(topic):
    key = topic_to_partition_key(topic)
    assert "..." not in key
    assert partition_key_to_topic(key) == topic
