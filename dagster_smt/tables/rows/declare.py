"""Derives the schemas of keys and values from the columns of a topic table."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Schema, Type, optional
from dagster_smt.model.topics.change_formats import CHANGE_METADATA, ROW, is_change, metadata_key, type_label
from dagster_smt.model.topics.columns import RECORD_METADATA, Column, FieldsInclude, Integrity, Metadata, Row
from dagster_smt.model.topics.csv_options import csv_misfits
from dagster_smt.model.topics.format import DESCRIBED, MOMENTS, SELF_DESCRIBED, Format
from dagster_smt.model.topics.primitives import WHOLE
from dagster_smt.tables.rows.column_texts import Declaration, parse_columns

_SQL = {Type.INT16: "SMALLINT", Type.INT32: "INT", Type.INT64: "BIGINT", Type.FLOAT32: "FLOAT", Type.FLOAT64: "DOUBLE"}
_BY_TYPE: dict[Type, Any] = {kind: name for name, kind in WHOLE.items()}


def declared_row(
    columns: Declaration, key_fields: tuple[str, ...], prefix: str, include: FieldsInclude, verify: Integrity
) -> Row:
    """Parses the columns of a topic table, and returns them together with the options of the key columns.

    Args:
        columns: The declaration; see ``parse_columns``. Columns marked ``KEY`` are only in the key, as in ksqlDB.
        key_fields, prefix, include, verify: The options of the key columns; see ``Row``.

    Raises:
        ConfigError: All problems of the declaration: SMT250 to SMT253, SMT260 to SMT268.
    """
    row_columns, keys = parse_columns(columns) if columns else ((), ())
    if keys:
        key_fields, include = (*key_fields, *(k for k in keys if k not in key_fields)), "EXCEPT_KEY"
    row = Row(row_columns, key_fields, prefix, include, verify)
    if problems := row.problems() if row_columns else _without_columns(row):
        raise ConfigError(problems)
    return row


def _without_columns(row: Row) -> list[Problem]:
    options = {
        "key.fields": row.key_fields,
        "key.fields-prefix": row.key_fields_prefix,
        "fields.verify-integrity": row.verify_integrity,
        "value.fields-include": row.value_fields_include != "ALL",
    }
    hint = "also declare the columns of the topic table"
    results = []
    for name, there in options.items():
        if there:
            results.append(Problem("SMT261", name, "has no effect without columns", hint))
    return results


def declared_formats(row: Row, key: Format, value: Format) -> tuple[Format, Format]:
    """Returns the formats ``key`` and ``value``, each with the schema that the columns of the topic table (``row``)
    declare.

    Raises:
        ConfigError: All problems. SMT263, the format of the values lacks the metadata that a column reads; SMT264, the
            metadata has a type other than the column; SMT269, a format does not support the columns.
    """
    problems: list[Problem] = []
    for column in row.others:
        problems.extend(_format_metadata(column, value))
    if is_change(value):
        value = _messages(row, value, problems)
    else:
        problems += _only_column(row, value)
        value = _declared("value", value, _value_schema(row, value), problems)
    if row.key_fields:
        key = _declared("key", key, _key_schema(row, key), problems)
    problems += _bare_moments(row, key, value)
    problems += undescribed("value", value)
    problems += undescribed("key", key)
    if problems:
        raise ConfigError(problems)
    return key, value


def _key_schema(row: Row, form: Format) -> Schema | None:
    """Returns the schema of the record's key, as the key columns of ``row`` declare it.

    Usually, this is a struct of the key columns. If ``form`` writes a single column without a struct, the result is the
    schema of this column.
    """
    # as in ksqlDB: with the only key column K, the key is 33 instead of {"K": 33}
    if row.key_column is not None and form.kind in ("json", "json_schema", "avro"):
        return optional(row.key_column.schema)
    return row.key_schema()


def _value_schema(row: Row, form: Format) -> Schema | None:
    """Returns the schema of the record's value, as the value columns of ``row`` declare it.

    Usually, this is a struct of the value columns. If ``form`` writes a single column without a struct, the result is
    the schema of this column.
    """
    schema = row.value_schema()
    if schema is None or not form.is_column or len(schema.fields) != 1:
        return schema
    return optional(schema.fields[0][1])


def _only_column(row: Row, form: Format) -> Iterator[Problem]:
    """Yields a problem if ``form`` requires exactly one column, but ``row`` has several columns or none."""
    columns = row.value_schema()
    if form.is_column and (columns is None or len(columns.fields) != 1):
        count = 0 if columns is None else len(columns.fields)
        hint = "leave it out: ksqlDB also accepts it only for a single column"
        yield Problem("SMT269", "WRAP_SINGLE_VALUE", f"is false, and the value has {count} declared columns", hint)


def undescribed(side: str, form: Format) -> Iterator[Problem]:
    """Yields a problem if the Avro or Protobuf format ``form`` has no schema. Without a schema, no record could be
    read.
    """
    if form.kind in DESCRIBED and form.schema is None:
        if form.kind == "avro":
            options = "avro.schema"
        else:
            options = "protobuf.descriptor and protobuf.message-name"
        hint = f"declare its columns, give {options}, or choose {form.kind}-confluent with a registry, as ksqlDB does"
        yield Problem("SMT269", f"{side}.format {form.kind}", "has no schema for reading", hint)


def _bare_moments(row: Row, key: Format, value: Format) -> Iterator[Problem]:
    """Yields a problem for each column of ``row`` that is a timestamp in Avro with an unknown unit.

    Avro stores such a timestamp as a number, which may count milliseconds or microseconds. The declaration must state
    the unit, for example ``TIMESTAMP(3)``.
    """
    for side, form in (("key", key), ("value", value)):
        if form.kind != "avro" or form.described:
            continue
        for column in row.physical:
            if side == "value":
                inside = row.in_value(column.name)
            else:
                inside = column.name in row.key_fields
            if inside and column.bare_moments:
                hint = "declare TIMESTAMP(3) if they are milliseconds; else give avro.schema, and read a BIGINT"
                statement = f"{side}.format avro does not show whether its timestamps are milliseconds or microseconds"
                yield Problem("SMT269", column.place, statement, hint)


def _format_metadata(column: Column, value: Format) -> Iterator[Problem]:
    """Yields a problem if ``column`` reads metadata that the format ``value`` does not have."""
    if not isinstance(column.source, Metadata) or column.source.key in RECORD_METADATA:
        return
    place, key = column.place, metadata_key(value, column.source.key)
    known = CHANGE_METADATA.get(value.kind, {})
    if key is None or key not in known:
        if known:
            hint = f"keys of {value.kind} are: {', '.join(f'value.{k}' for k in known)}"
        else:
            hint = "leave it out"
        yield Problem("SMT263", place, f"the format {value.kind} does not have '{column.source.key}'", hint)
    elif type_label(column.schema) not in known[key]:
        hint = f"types of {column.source.key} are: {', '.join(known[key])}"
        statement = f"'{column.source.key}' cannot be read as {column.schema.label.rstrip('?')}"
        yield Problem("SMT264", place, statement, hint)


def _messages(row: Row, form: Format, problems: list[Problem]) -> Format:
    """Returns the change data format ``form`` with a schema: the row's columns, and the metadata that ``row`` reads.

    A change data format, such as ``debezium-json``, contains a row and facts about its change.

    Args:
        row: The columns of the topic table.
        form: The format.
        problems: The list to which the function adds problems.
    """
    inside = row.value_schema()
    # a schema with ROW comes from this function, because a copy of a topic table declares its columns once more
    if inside is None or (form.schema is not None and ROW not in form.schema.by_name):
        hint = "declare the columns of the rows; leave the format's schema out"
        problems.append(Problem("SMT269", f"value.format {form.kind}", "needs the columns of its rows", hint))
        return form
    form = _texts(form)
    problems += _odd_maps(f"value.format {form.kind}", form, inside)
    fields = {ROW: inside}
    for column in row.others:
        key = metadata_key(form, column.origin)
        if key is not None and fields.setdefault(key, optional(column.schema)) != optional(column.schema):
            hint = "read it once, and cast it in the chain"
            problems.append(Problem("SMT264", column.place, f"'{key}' is read as two types", hint))
    return replace(form, schema=Schema(Type.STRUCT, optional=True, fields=tuple(fields.items())))


def _texts(form: Format) -> Format:
    """Returns ``form`` with the option that determines how dates, times and decimals are written.

    The default is SQL's form: strings such as ``2026-01-31 10:00:00``. For ``debezium-json``, the default is the form
    of Connect's converter: dates and times are numbers, and decimals are base64. An option that the user has set stays.
    """
    usual = "CONNECT" if form.kind == "debezium-json" else "SQL"
    return replace(form, options={MOMENTS: usual, **form.settings})


def _declared(side: str, form: Format, schema: Schema | None, problems: list[Problem]) -> Format:
    if schema is None:
        return form
    # such records have their own schemas, which are fitted to the columns
    if form.kind in SELF_DESCRIBED or form.described:
        return form
    if form.kind in DESCRIBED and form.schema in (None, schema):
        return replace(form, schema=schema)
    if form.kind == "csv":
        problems += no_columns_of_csv(f"{side}.format csv", schema)
        return replace(form, schema=schema)
    if form.kind == "json":
        form = _texts(form)
        problems += _odd_maps(f"{side}.format json", form, schema)
        return replace(form, kind="json_schema", schema=schema)
    # the formats raw (Flink) and kafka (ksqlDB) depend on the column's type
    if form.kind == "bytes" and len(schema.fields) == 1:
        only = schema.fields[0][1]
        form = replace(form, kind=_BY_TYPE.get(only.type, form.kind) if only.logical is None else form.kind)
    place = f"{side}.format {form.kind}"
    # a copy of a topic table declares its columns once more, with the schema of the first time
    if form.kind == "json_schema" and form.schema == schema:
        return form
    if form.kind in WHOLE:
        fitting = []
        for _, child in schema.fields:
            if child.type is WHOLE[form.kind] and child.logical is None:
                fitting.append(child)
        if len(schema.fields) != 1 or not fitting:
            problems.append(_not_whole(side, form, schema))
        return form
    hint = "choose the format json, or declare metadata and header columns only"
    statement = "the format has its own schema, and the columns also declare one"
    problems.append(Problem("SMT269", place, statement, hint))
    return form


def _not_whole(side: str, form: Format, schema: Schema) -> Problem:
    """Returns the problem that ``form``, a format for single values, cannot hold the columns of ``schema``.

    Such a format can hold exactly one column, of a suitable type.
    """
    kinds = list(_BY_TYPE) if form.kind == "bytes" else [WHOLE[form.kind]]
    names = ", ".join(_SQL.get(kind, kind.name) for kind in kinds)
    texts = []
    for name, child in schema.fields:
        texts.append(f"{below('', name)} {child.label.rstrip('?')}")
    columns = ", ".join(texts)
    if form.kind == "bytes":
        called = "bytes (raw and kafka in statements)"
    else:
        called = form.kind
    hint = f"set {side}.format, to json for instance, or declare exactly one column of such a type"
    return Problem("SMT269", f"{side}.format {called}", f"holds one value of {names}, the columns are {columns}", hint)


def _odd_maps(place: str, form: Format, schema: Schema) -> Iterator[Problem]:
    """Yields a problem for each map in ``schema`` whose keys are not strings.

    The keys of a JSON object are always strings. Only Connect's converter can write maps whose keys have other types:
    it writes such a map as a list of pairs.
    """
    if not form.text_standard:
        return
    for name, child in schema.fields:
        if _has_odd_map(child):
            hint = f"declare MAP<STRING, …>, or set {form.kind}.{MOMENTS} to CONNECT if the values are Connect's pairs"
            yield Problem(
                "SMT269", place, f"'{name}' is a map whose keys are not strings, which JSON cannot hold", hint
            )


def _has_odd_map(schema: Schema) -> bool:
    odd = schema.keys is not None and schema.keys.type is not Type.STRING
    return odd or any(map(_has_odd_map, schema.children))


def no_columns_of_csv(place: str, schema: Schema) -> list[Problem]:
    """Returns a problem for each field of ``schema`` that a CSV line cannot contain. With such fields, every record
    would fail.
    """
    hint = "flatten it with Flatten, or choose another format"
    results = []
    for name in csv_misfits(schema):
        results.append(
            Problem("SMT269", place, f"'{name}' is a struct, a map or an array of these, which CSV cannot hold", hint)
        )
    return results


def described_format(form: Format) -> Format:
    """Returns ``form`` with its schema. The options of ``form`` contain the schema itself, or the name of a file with
    the schema. See ``tables.schema_files``.
    """
    # here and not in ``topic_table``, whose import contract keeps the formats out; the module loads fastavro
    from dagster_smt.tables.schema_files import with_schema

    return with_schema(form)
