"""Measures the conversion of Avro values into columns. Each value begins with the id of its schema in a schema
registry. For comparison, Spark's ``from_avro`` is measured, which gets the schema as an argument.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from benchmarks.cases import FLAT, NOTHING, Case, Setting, Target, write_counted
from benchmarks.records import TOPIC, value_schema
from dagster_smt.chain import parse_chain
from dagster_smt.chain.forms import plan_forms
from dagster_smt.formats.avro.write import avro_out
from dagster_smt.formats.sides import side_codec
from dagster_smt.model.topics.format import Format
from dagster_smt.spark.evaluate import evaluate
from dagster_smt.spark.reading.window_forms import WindowForms, guessed_forms, window_forms
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from tests.registry import Registry

Look = Callable[[DataFrame, TopicTable], WindowForms | None]
_BARE = "bare from_avro to Parquet columns"
_OURS = "Avro with a registry to Parquet columns"


@cache
def _registry() -> Registry:
    return Registry().__enter__()


@dataclass(frozen=True)
class _ToAvro:
    """A function for ``mapInArrow`` that Spark can send to its workers. It turns JSON values into Avro values with a
    schema id in front.
    """

    number: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read, write = side_codec(Format("json_schema", value_schema())).read, avro_out(value_schema()).write
        # Confluent's format: a zero byte, the id of the schema in four bytes, and the Avro value
        head = b"\0" + self.number.to_bytes(4, "big")
        for batch in batches:
            values = [head + write(read(text)[1]) for text in batch.column("value").to_pylist()]
            place = batch.schema.get_field_index("value")
            yield batch.set_column(place, "value", pa.array(values, pa.binary()))


def _frame(setting: Setting) -> DataFrame:
    """Returns the records with Avro values. The first call (in the warm-up) writes them as Parquet, with Python."""
    folder = setting.scratch.with_name("avro")
    if not Path(folder).exists():
        number = _registry().add(f"{TOPIC}-value", avro_out(value_schema()).text)
        frame = setting.frame
        frame.mapInArrow(_ToAvro(number), frame.schema).write.parquet(str(folder))
    return setting.frame.sparkSession.read.parquet(str(folder))


def bare_avro(setting: Setting) -> None:
    """Reads the Avro values with Spark's own reader. Spark's reader gets the schema as an argument, and the bytes of
    the schema id are cut off first.
    """
    # SQL counts from 1, so this leaves out the first five bytes
    parsed = from_avro(F.expr("substring(value, 6)"), avro_out(value_schema()).text)
    setting.to_parquet(_frame(setting).select(parsed.alias("v")).select("v.*"))


def with_registry(
    chain: dict[str, str], look: Look = guessed_forms, *, alone: bool = True
) -> Callable[[Setting], None]:
    """Returns a case that reads the Avro values with this package, runs a chain on them, and writes columns as Parquet.

    If the function ``look`` guesses one schema for all records, and a record has a different schema, the case fails.

    Args:
        chain: The ``transforms`` properties.
        look: Finds the schemas of the values: by a guess, or by reading the ids of all values.
        alone: True if Spark makes the rows, False if Python does.
    """

    def measured(setting: Setting) -> None:
        frame, parsed = _frame(setting), parse_chain(chain)
        value = Format("avro-confluent", options={"url": _registry().url})
        table = TopicTable(FileTopics(Path()), topics=(TOPIC,), value=value)
        result = look(frame, table)
        assert result is not None
        plan = plan_forms(parsed, result.forms, topics=(TOPIC,))
        done = evaluate(frame, plan, table, "columns", None, result if alone else None)
        write_counted(setting, done, plan, setting.to_parquet)

    return measured


CASES = (
    Case(_BARE, bare_avro),
    Case(f"{_OURS}, no stage", with_registry(NOTHING), _BARE, target=Target(bare=1.25)),
    Case(f"{_OURS}, six stages", with_registry(FLAT), _BARE, target=Target(bare=1.25)),
    Case(f"{_OURS}, six stages, all ids looked for", with_registry(FLAT, window_forms), _BARE),
    Case(f"{_OURS}, six stages, rows made by Python", with_registry(FLAT, window_forms, alone=False), _BARE),
)
