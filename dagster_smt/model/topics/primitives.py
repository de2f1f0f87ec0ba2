"""Formats of single values, as Kafka's serializers and Connect's converters of these types write them."""

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
"""Format and type of ``org.apache.kafka.connect.converters.ShortConverter`` to ``BooleanConverter``."""
WHOLE: Mapping[str, Type] = {"string": Type.STRING, "bytes": Type.BYTES, **PRIMITIVES}
"""All formats of single values, with their types."""
