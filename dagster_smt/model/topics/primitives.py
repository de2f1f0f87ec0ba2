"""Lists the formats of single values, which Kafka's serializers and some converters of Connect write."""

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
"""Maps the names of formats to their types. These are the formats of the converters from ``ShortConverter`` to
``BooleanConverter`` in ``org.apache.kafka.connect.converters``.
"""
WHOLE: Mapping[str, Type] = {"string": Type.STRING, "bytes": Type.BYTES, **PRIMITIVES}
"""Maps all formats of single values to their types."""
