"""Finds records that the chain sends to a forbidden topic. Two kinds of topics are forbidden: a topic that the same run
reads, and the topic of dead letters.
"""

import re
from collections.abc import Collection, Iterable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dagster_smt.errors import Problem
from dagster_smt.run.letter_place import has_letters_in, letters_among_records
from dagster_smt.run.rejects import with_failed
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.sinks.protocol import Table
from dagster_smt.tables.sinks.records import RecordTable, TargetRecords, own_topic


def misrouted(
    targets: Iterable[TargetRecords], spec: RunSpec, table: Table, read: Collection[str]
) -> dict[str, Problem]:
    """Returns a problem for each topic to which records must not be sent.

    Args:
        targets: The topics to which the window's records go.
        spec: The run.
        table: The table or the topics that the run writes.
        read: The topics of the window.
    """
    if not isinstance(table, RecordTable):
        return {}
    beside = table.beside_source()
    if not beside and not spec.dead_letter_topic:
        return {}
    written = sorted({target.topic for target in targets})
    own, pattern = {*spec.table.topics, *read}, spec.table.pattern
    problems = {}
    for topic in written:
        if beside and (topic in own or (pattern and re.fullmatch(pattern, topic))):
            problems[topic] = own_topic(topic)
        elif topic == spec.dead_letter_topic and has_letters_in(spec):
            problems[topic] = letters_among_records(topic)
    return problems


def refused(frame: DataFrame, problems: Mapping[str, Problem], stages: int) -> DataFrame:
    """Marks the records for the topics in ``problems`` as failed, and returns ``frame``, the evaluated window. The
    chain has ``stages`` stages; the records fail at the last stage.
    """
    for topic, problem in problems.items():
        to_topic = F.col("__out.topic") == topic
        frame = with_failed(frame, to_topic, stages - 1, problem, F.lit(problem.statement))
    return frame
