"""Determines the formats in which records are written, and finds names that these formats do not permit."""

from collections.abc import Iterator

from dagster_smt.chain.plan import Plan
from dagster_smt.errors import ConfigError, PlanError, Problem, UnsupportedError
from dagster_smt.model.caseless import caseless
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.change_formats import is_change
from dagster_smt.model.topics.format import ARRAYS_AS_ROWS, SCHEMALESS, Format, Formats
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink, KafkaSink, Sink
from dagster_smt.tables.topic_table import TopicTable


def written_formats(table: TopicTable, sink: Sink) -> Formats:
    """Returns the formats in which ``sink`` writes keys and values: its own formats, or the formats of the topic table.

    For tables with one column per field, these formats have no effect.

    Raises:
        UnsupportedError: SMT905: the records cannot be written in their format; SMT279: arrays become rows, but the
            sink holds records; SMT269: the value must be a single column, but no column is declared.
    """
    if isinstance(sink, FileTopicSink | KafkaSink):
        place = sink.storage
    else:
        place = ""
    formats = Formats(sink.key or table.key, sink.value or table.value, place)
    if sink.kind == "columns":
        return formats
    problems = list(_rows(formats, table))
    if is_change(formats.key):
        hint = "choose json or string"
        problems.append(Problem("SMT905", f"key.format {formats.key.kind}", "a key cannot be a change event", hint))
    # the change event has been read into a row, and the row lacks the operation of the event, so every row would be
    # written as an insert
    if is_change(formats.value) and is_change(table.value):
        hint = "give the sink another format: value=Format('json')"
        statement = "deleted rows would be written as new rows"
        problems.append(Problem("SMT905", f"value.format {formats.value.kind}", statement, hint))
    if formats.value.is_column and not table.row.physical:
        hint = "declare the column of the topic table, or leave it out"
        problems.append(Problem("SMT269", "WRAP_SINGLE_VALUE", "is false, and no column is declared", hint))
    if formats.value != table.value and formats.value.kind not in SCHEMALESS and table.value.kind == "json":
        hint = f"declare the columns of the topic table, or another format than {formats.value.kind}"
        statement = f"the values have no schema, and {formats.value.kind} needs one"
        problems.append(Problem("SMT905", f"value.format {formats.value.kind}", statement, hint))
    if problems:
        raise UnsupportedError(problems)
    return formats


def _rows(formats: Formats, table: TopicTable) -> Iterator[Problem]:
    """Yields a problem for each format that converts one record into several rows.

    Later runs find a written record by the offset of its source record. So two written records must not have the same
    source offset.
    """
    sides = {"key": {formats.key}, "value": {formats.value, table.value}}
    for side, forms in sides.items():
        if any(form.arrays_as_rows for form in forms):
            hint = "write into a table of columns, or leave it out"
            yield Problem(
                "SMT279", f"{side}.json.{ARRAYS_AS_ROWS}", "only a table of columns can have rows of arrays", hint
            )


def check_names(plan: Plan, written: Formats, sink: Sink) -> None:
    """Raises an error if ``plan`` contains a name that the sink, or a format of its records, does not permit.

    Raises:
        PlanError: All names that are not permitted: SMT210, SMT563 to SMT567 and SMT572 for tables, SMT274 for formats.
    """
    problems: list[Problem] = []
    if sink.kind == "columns":
        problems = _refused_columns(plan, sink)
    for record in plan.results.values() if sink.kind == "records" else ():
        for form, node in ((written.key, record.key), (written.value, record.value)):
            problems += _refused(form, node.schema) if node is not None else []
    if problems:
        # several variants of a record may have the same problem
        raise PlanError(dict.fromkeys(problems))


def _refused_columns(plan: Plan, sink: Sink) -> list[Problem]:
    if plan.after is None or not _unusual(plan.after):
        return []
    from dagster_smt.spark.stages.output import output_schema  # loads pyspark, which plans rarely need
    from dagster_smt.tables.sinks import delta, iceberg_sql

    rows = output_schema(plan, "columns")
    if isinstance(sink, IcebergSink):
        return iceberg_sql.refused(rows)
    if isinstance(sink, DeltaSink):
        return delta.refused(rows)
    return []


def _unusual(schema: Schema) -> bool:
    """Returns True if a name in ``schema`` is unusual, so that a table format may reject it.

    Such a name contains special characters, begins with ``_``, or differs from another name only in case.
    """
    names = schema.field_names
    plain = all(name.isidentifier() and not name.startswith("_") for name in names)
    return not plain or len(set(map(caseless, names))) < len(names) or any(map(_unusual, schema.children))


def _refused(form: Format, schema: Schema) -> list[Problem]:
    if form.kind == "csv" and schema.type is Type.STRUCT:
        from dagster_smt.tables.rows.declare import no_columns_of_csv  # loads sqlglot

        return no_columns_of_csv("format csv", schema)
    if form.kind.startswith("avro"):
        from dagster_smt.formats.avro.write import avro_problems  # loads fastavro

        return avro_problems(schema)
    if form.kind.startswith("protobuf"):
        from dagster_smt.formats.protobuf.message_schema import descriptor_of

        try:
            descriptor_of(schema)
        except ConfigError as error:
            return list(error.problems)
    return []
