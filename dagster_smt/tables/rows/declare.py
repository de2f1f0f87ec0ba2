"""What the columns of a topic table say of its key and value: which schema each is read with."""

from dataclasses import replace

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.format import Format
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topic_columns import FieldsInclude, Row
from dagster_smt.tables.rows.columns import Given, parse_columns

_WHOLE = {"string": Type.STRING, "bytes": Type.BYTES}


def declared_row(columns: Given, key_fields: tuple[str, ...], prefix: str, include: FieldsInclude, verify: bool) -> Row:
    """The row of a topic table.

    Args:
        columns: As of ``parse_columns``. Columns marked ``KEY`` are in the key alone, as in ksqlDB.
        key_fields, prefix, include, verify: As of ``Row``.

    Raises:
        ConfigError: Everything that is wrong with it: SMT250 to SMT253, SMT260 to SMT268.
    """
    found, keys = parse_columns(columns) if columns else ((), ())
    if keys:
        key_fields, include = (*key_fields, *(k for k in keys if k not in key_fields)), "EXCEPT_KEY"
    row = Row(found, key_fields, prefix, include, verify)
    if problems := row.problems() if found else _without_columns(row):
        raise ConfigError(problems)
    return row


def _without_columns(row: Row) -> list[Problem]:
    given = {
        "key.fields": row.key_fields,
        "key.fields-prefix": row.key_fields_prefix,
        "fields.verify-integrity": row.verify_integrity,
        "value.fields-include": row.value_fields_include != "ALL",
    }
    hint = "declare the columns of the topic table, too"
    return [Problem("SMT261", name, "has no effect without columns", hint) for name, there in given.items() if there]


def declared_formats(row: Row, key: Format, value: Format) -> tuple[Format, Format]:
    """The formats of both sides, with the schemas that the columns declare.

    Raises:
        ConfigError: SMT269, a format and the columns do not go together.
    """
    problems: list[Problem] = []
    value = _declared("value", value, row.value_schema(), problems)
    if row.key_fields:
        key = _declared("key", key, row.key_schema(), problems)
    if problems:
        raise ConfigError(problems)
    return key, value


def _declared(side: str, form: Format, schema: Schema | None, problems: list[Problem]) -> Format:
    if schema is None:
        return form
    if form.kind == "json":
        return replace(form, kind="json_schema", schema=schema)
    place = f"{side}.format {form.kind}"
    if form.kind == "json_schema" and form.schema == schema:  # settled before
        return form
    if form.kind in _WHOLE:
        fitting = [child for _, child in schema.fields if child.type is _WHOLE[form.kind] and child.logical is None]
        if len(schema.fields) != 1 or not fitting:
            statement = f"holds one {form.kind}, the columns want {len(schema.fields)} fields of it"
            hint = f"choose json as {side}.format, or declare exactly one column of type {_WHOLE[form.kind].name}"
            problems.append(Problem("SMT269", place, statement, hint))
        return form
    what = "the records bring their schema" if form.kind == "envelope" else "the format has a schema of its own"
    hint = "choose the format json, or declare metadata and header columns only"
    problems.append(Problem("SMT269", place, f"{what}, and the columns declare one, too", hint))
    return form
