"""Records that a chain sends to topics which the same table reads: they would come back, and be sent again."""

import re
from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dagster_smt.errors import DATA_EXCEPTION
from dagster_smt.run.counts import FAILED
from dagster_smt.run.staging import Staged
from dagster_smt.spark.columns import PROBLEM_FIELDS
from dagster_smt.tables.sinks.protocol import Table
from dagster_smt.tables.sinks.records import RecordTable, own_topic
from dagster_smt.tables.spec import TopicTable


def own_topics(found: Staged, spec: TopicTable, table: Table, read: Collection[str]) -> list[str]:
    """The topics that records of a window go to although the topic table reads them.

    Args:
        found: The evaluated window.
        spec: The topic table.
        table: Where the records go.
        read: The topics of the window.
    """
    if not isinstance(table, RecordTable) or not table.beside_source():
        return []
    written = [row[0] for row in found.kept().select("__out.topic").distinct().collect()]
    own = {*spec.topics, *read}
    return sorted(t for t in written if t in own or (spec.pattern and re.fullmatch(spec.pattern, t)))


def refused(frame: DataFrame, topics: Sequence[str], stages: int) -> DataFrame:
    """The evaluated window with the records of these topics as failed ones: of the last stage, which sends them."""
    problem = own_topic("")
    texts = dict(zip(PROBLEM_FIELDS, (problem.code, problem.statement, problem.hint, DATA_EXCEPTION), strict=True))
    own = (F.col("__status") == 0) & F.col("__out.topic").isin(*topics)
    made = {
        "__status": F.lit(FAILED).cast("tinyint"),
        "__stage": F.lit(stages - 1),
        "__problem": F.struct(*(F.lit(text).alias(name) for name, text in texts.items())),
    }
    return frame.select(
        *(F.when(own, made[c]).otherwise(F.col(c)).alias(c) if c in made else F.col(c) for c in frame.columns)
    )
