"""Messages of Debezium and Canal that are no change of one row: every combination of their parts."""

import itertools
import json

import pytest

from dagster_smt.errors import DataError
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.record import DropRecord
from dagster_smt.model.topics.format import Format
from dagster_smt.tables.topic_table import FileTopics, TopicTable

OTHERS = [None, 7, True, "x", "", [], [{}], [None], {}, 1.5]
PARTS = {
    "debezium-json": {
        "op": ["c", "r", "u", "d", "t", "m", "C", *OTHERS],
        "before": [{"id": 1}, *OTHERS],
        "after": [{"id": 2}, *OTHERS],
        "source": [{"ts_ms": 1, "db": "d", "table": "t"}, {"ts_ms": "x"}, *OTHERS],
    },
    "canal-json": {
        "type": ["INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "TRUNCATE", "QUERY", *OTHERS],
        "data": [[{"id": "1"}], [{"id": "1"}, {"id": "2"}], ["x"], [[]], *OTHERS],
        "isDdl": [False, *OTHERS],
        "old": [[{"id": "0"}], *OTHERS],
    },
}
BESIDE = {
    "debezium-json": {"at": "TIMESTAMP METADATA FROM 'value.source.timestamp'",
                      "db": "STRING METADATA FROM 'value.source.database'",
                      "name": "STRING METADATA FROM 'value.source.table'"},
    "canal-json": {"old": "MAP<STRING, STRING> METADATA FROM 'value.old'"},
}  # fmt: skip


def has_row(kind, message):
    """Whether a message is the change of one row, in other words than the reader's."""
    if kind == "canal-json":
        kind_of_change = message["type"] in ("INSERT", "UPDATE", "DELETE") and message["isDdl"] is not True
        data = message["data"]
        return kind_of_change and isinstance(data, list) and len(data) == 1 and isinstance(data[0], dict)
    rows = {"c": "after", "r": "after", "u": "after", "d": "before"}
    op = message["op"]
    return isinstance(op, str) and op in rows and isinstance(message[rows[op]], dict)


@pytest.mark.parametrize("kind", PARTS)
def test_no_message_without_a_row_becomes_one_and_none_is_unforeseen(kind):
    """Every combination of parts: a row of nulls would be a row that nobody has written."""
    table = TopicTable(FileTopics("unused"), ("t",), value=Format(kind), columns={"id": "INT", **BESIDE[kind]})
    read = side_codec(table.value).read
    names, rows = list(PARTS[kind]), 0
    for values in itertools.product(*PARTS[kind].values()):
        message = dict(zip(names, values, strict=True))
        try:
            read(json.dumps(message).encode())
        except DropRecord:
            assert not has_row(kind, message), message
        except DataError as error:
            assert error.problem.code in ("SMT414", "SMT438", "SMT439", "SMT447", "SMT448"), message
        else:
            rows += 1
            assert has_row(kind, message), message
    assert rows > 20
