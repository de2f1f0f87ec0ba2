"""Formats of single values: what Kafka's serializers of these types, and Connect's converters over them, write."""

from collections.abc import Mapping

from dagster_smt.model.schema import Type

PRIMITIVES: Mapping[str, Type] = {
    "short": Type.INT16,
    "integer": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "boolean": Type.BOOLEAN,
}
"""``org.apache.kafka.connect.converters.ShortConverter`` to ``BooleanConverter``: format and type."""
WHOLE: Mapping[str, Type] = {"string": Type.STRING, "bytes": Type.BYTES, **PRIMITIVES}
"""Every format of a side that is one value, and its type."""
