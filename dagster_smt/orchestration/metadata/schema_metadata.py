"""Converts the columns, the lineage and the chain of a table into Dagster metadata. The information comes from a plan,
or from the report of a run.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

import dagster as dg

from dagster_smt.chain import Chain
from dagster_smt.model.paths.extended import WHOLE, below
from dagster_smt.model.reports.markdown import plain, table
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.columns import HeaderValue
from dagster_smt.tables.keyed.keys import key_names
from dagster_smt.tables.sink_options import Sink, TableSink
from dagster_smt.tables.topic_table import TopicTable

MASKED_TAG = "dagster_smt/masked"
ROLE_TAG = "dagster_smt/role"
"""The tag for columns that do not come from the value of the record. The tag has one of three values: ``key`` for a key
column; ``source`` for a column with the record's topic, partition or offset; ``added`` for a column that the mode of
the table adds, such as the end of a version.
"""
RECORD_COLUMNS = {
    "key": "bytes",
    "value": "bytes",
    "topic": "string",
    "partition": "int32",
    "offset": "int64",
    "timestamp": "timestamp",
    "timestampType": "int32",
    "headers": "array<struct<key: string, value: bytes>>",
    "source_topic": "string",
}
_COLUMN_NAMES = {"timestamp-type": "timestampType", "leader-epoch": "leaderEpoch"}
"""Maps the names that topic tables use for some of Kafka's columns to the names that Spark uses."""
_NEVER_NULL = ("topic", "partition", "offset", "timestampType", "source_topic")


class PlanOrReport(Protocol):
    """An object that describes the columns of a table: the plan of a chain, or the report of a run. Both classes have
    the attributes of this protocol, which ``chain.plan.Plan`` explains.
    """

    @property
    def after(self) -> Schema | None: ...
    @property
    def lineage(self) -> Mapping[str, Collection[str]]: ...
    @property
    def masked(self) -> Collection[str]: ...
    @property
    def key_after(self) -> Schema | None: ...
    @property
    def key_lineage(self) -> Mapping[str, Collection[str]]: ...


def column_schema(described: PlanOrReport, sink: Sink) -> dg.TableSchema | None:
    """Returns the column schema of the table of ``sink``. Fields of structs are listed by their paths.

    Returns None if the columns are not known yet, because they depend on the records.
    """
    if sink.kind == "records":
        columns = []
        for n, t in RECORD_COLUMNS.items():
            columns.append(_column(n, t, n not in _NEVER_NULL))
        return dg.TableSchema(columns=columns)
    if described.after is None:
        return None
    keys = _key_columns(described, sink)
    names = {below("", name) for name in keys}
    in_value = []
    for path, schema in _columns(described.after):
        if not _is_delete_flag(path, sink):
            in_value.append((path, schema))
    paths = {path for path, _ in in_value}
    columns = []
    for name, kind in keys.items():
        # a key column that is also in the value follows with the columns of the value
        if below("", name) not in paths:
            columns.append(_column(name, kind, False, role="key"))
    for p, s in in_value:
        columns.append(_schema_column(p, s, described.masked, "key" if p in names else ""))
    columns += _added_columns(sink)
    for name, kind in _source_columns(sink).items():
        columns.append(_column(name, kind, True, role="source"))
    return dg.TableSchema(columns=columns)


def _key_columns(described: PlanOrReport, sink: Sink) -> dict[str, str]:
    """Maps each key column of the table of ``sink`` to the type that the column has in the keys of the records."""
    if sink.keyed is None:
        return {}
    key, kinds = described.key_after, dict[str, str]()
    for name in key_names(sink.keyed, key):
        child = key.by_name.get(name) if key is not None and key.type is Type.STRUCT else key
        # the label of an optional type ends with "?", as in ``int32?``; a Dagster column states this as a constraint
        kinds[name] = child.label.removesuffix("?") if child is not None else ""
    return kinds


def _is_delete_flag(path: str, sink: Sink) -> bool:
    """Returns True if ``path`` is the column with which the chain marks deletions, such as ``__deleted``. A table with
    keys does not store this column: the run deletes the row instead.
    """
    return sink.keyed is not None and path == below("", sink.keyed.delete_flag)


def _added_columns(sink: Sink) -> list[dg.TableColumn]:
    """Returns the columns that the mode of ``sink`` adds to the columns of the chain. In the mode ``scd2``, for
    example, these are the beginning and the end of a version.
    """
    keyed = sink.keyed
    if keyed is None or not keyed.added_columns:
        return []
    time = "timestamp"
    if keyed.mode == "upsert":
        kinds = {"boolean": "True: the key was deleted", time: "The time of the record that deleted the key"}
        columns = []
        for name, (kind, doc) in zip(keyed.soft.names, kinds.items(), strict=True):
            columns.append(_column(name, kind, True, doc=doc, role="added"))
        return columns
    start, end, current, closed_by = keyed.validity.names
    return [
        _column(start, time, True, doc="The beginning of the version", role="added"),
        _column(end, time, True, doc="The end of the version; null: it holds", role="added"),
        _column(current, "boolean", True, doc="True: the version holds", role="added"),
        _column(closed_by, "int64", True, doc="The offset of the record that ended the version", role="added"),
    ]


def topic_columns(table: TopicTable) -> dg.TableSchema:
    """Returns the column schema of the topics in ``table``: Kafka's columns, and the declared fields of keys, values
    and headers. Column lineage refers to these columns.
    """
    columns = []
    for n, t in RECORD_COLUMNS.items():
        if n != "source_topic":
            columns.append(_column(n, t, n not in _NEVER_NULL))
    if any(c.origin == "leader-epoch" for c in table.row.others):
        columns.append(_column("leaderEpoch", "int32", True))
    for side, schema in (("key", table.key.known_schema), ("value", table.value.known_schema)):
        if schema is not None and schema.type is Type.STRUCT:
            for path, child in _columns(schema, side):
                columns.append(_schema_column(path, child, ()))
    headers = set()
    for c in table.row.others:
        if isinstance(c.source, HeaderValue):
            headers.add(c.origin)
    return dg.TableSchema(columns=[*columns, *(_column(name, "bytes", True) for name in sorted(headers))])


def _source_columns(sink: Sink) -> dict[str, str]:
    """Maps the source columns of ``sink`` to their types. These columns contain the topic, partition and offset of
    a row's record.
    """
    if not isinstance(sink, TableSink) or sink.source_columns is None:
        return {}
    return dict(zip(sink.source_columns.names, ("string", "int32", "int64"), strict=True))


def column_lineage(described: PlanOrReport, sink: Sink, topics: Sequence[dg.AssetKey]) -> dg.TableColumnLineage | None:
    """Returns the column lineage of the table of ``sink``: for each column, the fields of ``topics`` from which its
    values come. Returns None if the columns are not known yet.
    """
    schema = column_schema(described, sink)
    if schema is None:
        return None
    sources = {}
    for c in schema.columns:
        sources[c.name] = _sources(described, sink, c.name)
    deps = {}
    for name, fields in sources.items():
        fields_of_topics = []
        for key in topics:
            for field in sorted(fields):
                fields_of_topics.append(dg.TableColumnDep(asset_key=key, column_name=field))
        deps[name] = fields_of_topics
    return dg.TableColumnLineage(deps_by_column=deps)


def _sources(described: PlanOrReport, sink: Sink, column: str) -> set[str]:
    """Returns the fields of the topics from which the values of ``column`` come."""
    if sink.kind == "columns" and _comes_from_key(described, sink, column):
        return _key_sources(described, column)
    if sink.kind == "records":
        if column == "value":
            fields_of_columns = set[str]()
            for sources in described.lineage.values():
                fields_of_columns.update(sources)
            return fields_of_columns or {"value"}
        return {"topic" if column == "source_topic" else column}
    if column in _source_columns(sink):
        return {("topic", "partition", "offset")[list(_source_columns(sink)).index(column)]}
    # a value that is not a struct is the only column, and its lineage is the lineage of the whole value
    if described.after is not None and described.after.type is not Type.STRUCT:
        column = WHOLE
    # the sources of a column include those of its nested fields and elements
    below_column = (f"{column}.", f"{column}[")
    inside = (s for path, s in described.lineage.items() if path == column or path.startswith(below_column))
    results = set()
    for sources in inside:
        for source in sources:
            results.add(_COLUMN_NAMES.get(source, source))
    return results


def _comes_from_key(described: PlanOrReport, sink: Sink, column: str) -> bool:
    if column not in {below("", name) for name in _key_columns(described, sink)}:
        return False
    return described.after is None or column not in {path for path, _ in _columns(described.after)}


def _key_sources(described: PlanOrReport, column: str) -> set[str]:
    """Returns the fields from which the values of ``column`` come. The column is in the record's key, and not in the
    record's value.
    """
    sources = described.key_lineage.get(column) or described.key_lineage.get(WHOLE) or ()
    return {_COLUMN_NAMES.get(source, source) for source in sources}


def _columns(schema: Schema, above: str = "") -> Iterable[tuple[str, Schema]]:
    if schema.type is not Type.STRUCT:
        yield "value", schema
        return
    for name, child in schema.fields:
        path = below(above, name)
        yield path, child
        if child.type is Type.STRUCT:
            yield from _columns(child, path)


def _schema_column(path: str, schema: Schema, masked: Collection[str], role: str = "") -> dg.TableColumn:
    kind, word = schema.label.removesuffix("?"), _masked_word(path, schema, masked)
    return _column(path, kind, schema.optional and role != "key", word, schema.doc, role)


def _masked_word(path: str, schema: Schema, masked: Collection[str]) -> str | None:
    """Returns the value of the tag ``MASKED_TAG``, which marks masked columns, for the column ``path``.

    The value is an empty string if the whole column is masked, and ``partly`` if a part of it is masked. Returns None
    if nothing is masked.
    """
    if _all_masked(path, schema, masked):
        return ""
    inside = (f"{path}.", f"{path}[")
    if any(other.startswith(inside) for other in masked):
        return "partly"
    return None


def _all_masked(path: str, schema: Schema, masked: Collection[str]) -> bool:
    """Returns True if masks hide the whole column ``path``. In a struct, every field must be masked. In an array or
    map, the elements must be masked.
    """
    # a value that is not a struct becomes a column called ``value``
    if path in masked or (path == "value" and WHOLE in masked):
        return True
    if schema.type is Type.STRUCT:
        # all() is true for a struct without fields, in which nothing is masked
        return bool(schema.fields) and all(
            _all_masked(below(path, name), child, masked) for name, child in schema.fields
        )
    return f"{path}[]" in masked


def _column(
    name: str, kind: str, nullable: bool, masked: str | None = None, doc: str | None = None, role: str = ""
) -> dg.TableColumn:
    tags = {}
    if masked is not None:
        tags[MASKED_TAG] = masked
    if role:
        tags[ROLE_TAG] = role
    return dg.TableColumn(
        name=name,
        type=kind,
        description=doc,
        constraints=dg.TableColumnConstraints(nullable=nullable),
        tags=tags or None,
    )


def chain_markdown(chain: Chain) -> str:
    """Returns the stages of ``chain`` as a Markdown table."""
    rows = [["#", "stage", "transform", "options", "acts"]]
    for number, stage in enumerate(chain.stages, 1):
        acts = "always"
        if stage.predicate is not None:
            condition = _options(stage.predicate_name, stage.predicate.configured())
            acts = f"{'unless' if stage.negate else 'where'} {condition}"
        cells = (str(number), stage.alias, stage.label, _options("", stage.transform.configured()), acts)
        rows.append([plain(cell) for cell in cells])
    return table(rows)


def _options(head: str, options: dict[str, object]) -> str:
    texts = (f"{k}={','.join(map(str, v)) if isinstance(v, list) else v}" for k, v in options.items())
    return " ".join((head, *texts)).strip()
