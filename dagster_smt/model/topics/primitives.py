"""Formats of single values. Kafka's serializers and Connect's converters of these types write them."""

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
"""Maps the formats of ``org.apache.kafka.connect.converters.ShortConverter`` to ``BooleanConverter`` to their types."""
WHOLE: Mapping[str, Type] = {"string": Type.STRING, "bytes": Type.BYTES, **PRIMITIVES}
"""Maps all formats of single values to their types."""
