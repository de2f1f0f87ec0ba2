"""Writes schemas as column lists. ``parse_ddl`` and ``CREATE TABLE`` statements accept these lists."""

from dagster_smt.model.schema import MAX_DIGITS, Schema, Type

_SIMPLE = {
    Type.INT8: "TINYINT",
    Type.INT16: "SMALLINT",
    Type.INT32: "INT",
    Type.INT64: "BIGINT",
    Type.FLOAT32: "FLOAT",
    Type.FLOAT64: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.STRING: "STRING",
    Type.BYTES: "BYTES",
}
_WIDTH = 100
"""The greatest number of characters of a type, such as ``ROW<id BIGINT>``, on one line. A longer type gets a line per
field.
"""
_WORDS = frozenset(
    "CONSTRAINT PRIMARY UNIQUE CHECK WATERMARK KEY METADATA HEADER HEADERS VIRTUAL NOT NULL COMMENT AS".split()
)
"""Column names that must be in backticks in a statement, because the parser would take them for keywords."""


def quoted_name(name: str) -> str:
    """Returns ``name`` as a column list spells it: in backticks, unless the name is a plain word."""
    plain = name.isascii() and name.isidentifier() and name.upper() not in _WORDS
    if plain:
        return name
    return in_backticks(name)


def in_backticks(name: str) -> str:
    """Returns ``name`` in backticks. Backticks inside the name are doubled."""
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def type_text(schema: Schema, indent: str = "  ") -> str:
    """Returns the type ``schema`` in Flink's syntax. A long type is spread over several lines."""
    line = _type(schema, None)
    if len(line) <= _WIDTH:
        return line
    return _type(schema, indent)


def column_text(name: str, schema: Schema, indent: str = "  ") -> str:
    """Returns the definition of the column ``name``: its name, its type, and ``NOT NULL`` if the column cannot be
    null.
    """
    end = "" if schema.optional else " NOT NULL"
    return f"{quoted_name(name)} {type_text(schema, indent)}{end}"


def _type(schema: Schema, indent: str | None) -> str:
    if schema.logical == "Decimal":
        # Connect's Decimal declares a scale, but no precision
        return f"DECIMAL({schema.precision or MAX_DIGITS}, {schema.scale})"
    if schema.logical == "Date":
        return "DATE"
    if schema.logical == "Time":
        return "TIME(3)"
    if schema.logical == "Timestamp":
        if schema.zoned:
            return "TIMESTAMP_LTZ(3)"
        return "TIMESTAMP(3)"
    if schema.type is Type.ARRAY:
        return f"ARRAY<{_item(schema.values, indent)}>"
    if schema.type is Type.MAP:
        return f"MAP<{_type(schema.keys or Schema(Type.STRING), indent)}, {_item(schema.values, indent)}>"
    if schema.type is Type.STRUCT:
        return _row(schema, indent)
    return _SIMPLE[schema.type]


def _item(schema: Schema | None, indent: str | None) -> str:
    if schema is None:
        return "STRING"
    return _type(schema, indent) + ("" if schema.optional else " NOT NULL")


def _row(schema: Schema, indent: str | None) -> str:
    if indent is None:
        fields = []
        for n, child in schema.fields:
            fields.append(f"{quoted_name(n)} {_item(child, None)}")
        return f"ROW<{', '.join(fields)}>"
    deeper = indent + "  "
    lines = []
    for n, child in schema.fields:
        lines.append(f"{deeper}{column_text(n, child, deeper)}")
    body = ",\n".join(lines)
    return f"ROW<\n{body}\n{indent}>"
