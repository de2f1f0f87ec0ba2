"""Determines, for records that name their schemas, whether Spark can read the records without Python.

For example, the header of an Avro record names the schema with id 7. Spark reads the records of each schema into a
separate frame, with a plan for exactly this schema. At the end, the rows of all frames are combined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dagster_smt.authoring.stage import Stage
from dagster_smt.chain.forms import FormsPlan
from dagster_smt.chain.plan import Plan, plan_chain
from dagster_smt.chain.schema_merge import merge
from dagster_smt.errors import DataError, Problem, problem_of_record
from dagster_smt.formats.avro.read import Avro
from dagster_smt.formats.registry.versions import HEADER, header_of, registered_avro
from dagster_smt.formats.sides import SelfDescribed, self_described
from dagster_smt.interpret.interpreter import reads_keys
from dagster_smt.jvm.availability import has_lane
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import SELF_DESCRIBED, Format, Formats, SideFormats
from dagster_smt.spark.avro_limits import has_limits
from dagster_smt.spark.reading.avro_columns import AvroSide, UnableError, avro_side, reads_avro
from dagster_smt.spark.reading.narrow import narrowed
from dagster_smt.spark.reading.window_forms import WindowForms, schema_text

_AVRO, _ENVELOPE = "avro-confluent", "envelope"
_MOST, _RECORDS = 8, 20_000
"""Two limits for reading records with several schemas in Spark: at most 8 schemas, and on average at least 20,000
records per schema. Each schema costs time: Spark reads the whole window (the run's range of offsets) once per schema,
and compiles code for each schema.
"""


@dataclass(frozen=True)
class OneSchema:
    """One schema, and the records of a window (the run's range of offsets) that name this schema.

    Attributes:
        plan: The plan of the chain for this schema.
        text: The bytes that identify the schema in each value: Avro's header, or the text of an envelope's schema.
        sides: Maps a side (``key`` or ``value``) whose format is Avro to its Avro reader.
        envelopes: Maps a side whose format is envelopes to a pair: the schema of the envelopes, and the text of this
            schema.
        others: Only for the first schema of a window: the texts of all other schemas. With the schemas 7, 8 and 9, the
            object for 7 has the texts of 8 and 9. It gets every value that has neither text, so also the values that
            name no schema. For 8 and 9, ``others`` is None: each object gets exactly the values with its own ``text``.
    """

    plan: Plan
    text: bytes
    sides: Mapping[str, AvroSide] = field(default_factory=dict)
    envelopes: Mapping[str, tuple[Schema, bytes]] = field(default_factory=dict)
    others: tuple[bytes, ...] | None = None

    def of(self, frame: DataFrame) -> DataFrame:
        """Returns the records of ``frame`` that name this schema. If ``others`` is not None, the result also contains
        the records that name no schema.
        """
        if self.envelopes:
            name = schema_text("value", _ENVELOPE)
        else:
            name = F.substring("value", 1, HEADER)
        if self.others is None:
            return frame.where(name == F.lit(self.text))
        if self.others:
            return frame.where(~F.coalesce(name.isin(*self.others), F.lit(False)))
        return frame

    def formats(self, table: SideFormats) -> Formats:
        """Returns the formats of key and value in ``table``. A format of envelopes gets the schema that this object has
        for the key or value.
        """
        forms = {"key": table.key, "value": table.value}
        forms |= {side: replace(forms[side], schema=schema) for side, (schema, _) in self.envelopes.items()}
        return Formats(forms["key"], forms["value"])


def by_schema(session: SparkSession, plan: Plan, table: SideFormats, forms: WindowForms) -> tuple[OneSchema, ...]:
    """Returns one item for each schema to which the values of a window (the run's range of offsets) refer. Returns an
    empty tuple if Spark cannot read all these records without Python.

    Args:
        session: The session. It may lack the function ``from_avro``, or limits for Java's Avro reader.
        plan: The plan for ``forms``.
        table: The topic table of the records, or the formats of key and value.
        forms: The combinations of topic, key schema and value schema in the window, and the ids of all schemas that the
            records name.

    Returns:
        An item for each schema. The result is empty in these cases, for example: the keys have several schemas; Spark
        would read a schema differently from Connect; or there are too many schemas for the number of records.
    """
    if not forms.forms or not _possible(plan, table, forms):
        return ()
    if isinstance(plan, FormsPlan):  # a run with many tables keeps their rows apart in Python
        return ()
    uses = [use for use in forms.uses if use.side == "value"]
    names: dict[str, tuple[str, ...]] = {}
    for use in uses:
        names[use.schema] = (*names.get(use.schema, ()), use.topic)
    has_few_records = sum(use.records for use in uses) < _RECORDS * len(names)
    # a single schema needs no extra pass over the window
    if len(names) > 1 and (len(names) > _MOST or has_few_records):
        return ()
    try:
        schemas = _kinds[table.value.kind](plan, table, forms, names)
    except UnableError:
        return ()
    except Exception as error:  # noqa: BLE001 a schema that nothing can be made of is a matter of its records
        problem_of_record(error)
        return ()
    # The table has the columns of ``plan``. Each part must fit them, or its rows could not be combined with the others.
    if not _make(plan.after, [one.plan.after for one in schemas]):
        return ()
    if table.value.kind == _ENVELOPE:
        if has_lane(session):
            return schemas
        return ()
    if has_limits(session) and reads_avro(session):
        return schemas
    return ()


def _possible(plan: Plan, table: SideFormats, forms: WindowForms) -> bool:
    """Returns True if Spark may be able to read the records of ``table`` schema by schema.

    Three conditions must be true. (1) The values are Avro or envelopes. (2) If values may be null, no stage converts a
    null key or value into something else. (3) If the chain reads keys, all keys have the same schema. If keys contain
    or name their schema, as in Avro, they must also have the same format as the values.
    """
    if table.value.kind not in (_AVRO, _ENVELOPE) or (forms.nulls and any(map(_sees_null, plan.chain.stages))):
        return False
    if not reads_keys(plan.chain, table.key):
        return True
    keys = {(_unversioned(form.key), form.free_key) for form in forms.forms}
    return (
        len(keys) == 1
        and not forms.forms[0].free_key
        and table.key.kind not in set(SELF_DESCRIBED) - {table.value.kind}
    )


def _envelope_schemas(
    plan: Plan, table: SideFormats, forms: WindowForms, names: Mapping[str, Sequence[str]]
) -> tuple[OneSchema, ...]:
    """Returns an item for each readable envelope schema in ``names``. ``names`` maps the name of a schema to the topics
    whose records contain this schema. The first item also gets the records that contain no schema.
    """
    if reads_keys(plan.chain, table.key):
        key_schema = forms.forms[0].key
    else:
        key_schema = None
    key = _envelope_key(table, forms, key_schema)
    reader = self_described(table.value)
    texts = {}
    for name in names:
        texts[name] = forms.texts["value", name]
    schemas = {name: _readable(reader, text) for name, text in texts.items()}
    planned = [name for name, schema in schemas.items() if schema is not None]
    schemas_so_far: list[OneSchema] = []
    for name in planned:
        schema, text = schemas[name], texts[name]
        # The first schema also gets the records that name no schema, and these may come from any topic.
        there, others = (
            (names[name], None) if schemas_so_far else (plan.topics, tuple(texts[other] for other in planned[1:]))
        )
        typed = plan_chain(plan.chain, key_schema, schema, topics=there, typed=True)
        assert schema is not None
        schemas_so_far.append(OneSchema(typed, text, envelopes={"value": (schema, text), **key}, others=others))
    return tuple(schemas_so_far)


def _readable(reader: SelfDescribed, text: bytes) -> Schema | None:
    """Parses ``text``, the JSON text of an envelope's schema, and returns the schema. Returns None if the text contains
    no schema or cannot be parsed. In that case, Python reads the records and reports the problem of each record.
    """
    try:
        return reader.schema(text)
    except DataError:
        return None


def _envelope_key(table: SideFormats, forms: WindowForms, schema: Schema | None) -> dict[str, tuple[Schema, bytes]]:
    """Returns ``{"key": (schema, text)}`` if the keys in ``table`` are envelopes and the chain reads keys. ``text`` is
    the JSON text of ``schema`` in the keys. Otherwise returns an empty dict.

    Raises:
        UnableError: The keys contain several schemas.
    """
    if table.key.kind != _ENVELOPE or schema is None:
        return {}
    texts = set()
    for use in forms.uses:
        if use.side == "key":
            texts.add(forms.texts["key", use.schema])
    if len(texts) != 1:
        raise UnableError("several schemas")
    return {"key": (schema, texts.pop())}


def _avro_schemas(
    plan: Plan, table: SideFormats, forms: WindowForms, names: Mapping[str, Sequence[str]]
) -> tuple[OneSchema, ...]:
    """Returns an item for each Avro schema in ``names``. ``names`` maps a schema id to the topics whose records contain
    this id. The first item also gets the records that contain no schema id.
    """
    ids = {}
    for name, topics in names.items():
        ids[int(name)] = topics
    form = forms.forms[0]
    key = _key(table.key, forms, form.key) if table.key.kind == _AVRO else {}
    key_schema = form.key if reads_keys(plan.chain, table.key) else None
    values = [_avro(registered_avro(table.value, number, "value", there)) for number, there in ids.items()]
    if {_unversioned(avro.schema) for avro in values} != {_unversioned(form.value) for form in forms.forms}:
        raise UnableError("another schema")
    rest = tuple(map(header_of, list(ids)[1:]))
    schemas_so_far: list[OneSchema] = []
    for avro, (number, topics) in zip(values, ids.items(), strict=True):
        # The first schema also gets the records that name no schema, and these may come from any topic.
        there, others = (topics, None) if schemas_so_far else (plan.topics, rest)
        typed = plan_chain(plan.chain, key_schema, avro.schema, topics=there, typed=True)
        side = avro_side(header_of(number), avro, narrowed(typed, avro.schema))
        schemas_so_far.append(OneSchema(typed, header_of(number), {"value": side, **key}, others=others))
    return tuple(schemas_so_far)


_kinds = {_AVRO: _avro_schemas, _ENVELOPE: _envelope_schemas}


def _make(after: Schema | None, parts: Sequence[Schema | None]) -> bool:
    """Returns True if rows with each schema in ``parts`` fit into a table whose rows have the schema ``after``. For
    example, the fields of a part must all exist in ``after``, with the same types.
    """
    # with one schema, there is nothing to merge, and the value may be something else than a struct
    if len(parts) == 1:
        return parts[0] == after
    if after is None or after.type is not Type.STRUCT:
        return False
    for part in parts:
        problems: list[Problem] = []
        if part is None or part.type is not Type.STRUCT or not part.by_name.keys() <= after.by_name.keys():
            return False
        if merge(after, part, "", problems).fields != after.fields or problems:
            return False
    return True


def _key(form: Format, forms: WindowForms, schema: Schema | None) -> dict[str, AvroSide]:
    uses = [use for use in forms.uses if use.side == "key"]
    ids = {use.schema for use in uses}
    if len(ids) != 1:
        raise UnableError("several schemas")
    number = int(ids.pop())
    avro = _avro(registered_avro(form, number, "key", [use.topic for use in uses]))
    if _unversioned(avro.schema) != _unversioned(schema):
        raise UnableError("another schema")
    return {"key": avro_side(header_of(number), avro, avro.schema)}


def _avro(avro: Avro | None) -> Avro:
    if avro is None:
        raise UnableError("no schema")
    return avro


def _unversioned(schema: Schema | None) -> Schema | None:
    """Returns ``schema`` without its version, because a schema id may have a different version under each topic's
    subject.
    """
    return schema and schema.with_(version=None)


def _sees_null(stage: Stage) -> bool:
    """Returns True if ``stage`` converts a null key or value into something else.

    In Connect, such a null has no schema. In Spark, the null is in a column, and the stage would use the column's
    schema (difference D6).
    """
    return bool(stage.acts_on) and stage.transform.on_null() in ("apply", "wrap")
