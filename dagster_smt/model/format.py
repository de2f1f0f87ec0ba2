"""How one side of a record is encoded."""

from dataclasses import dataclass
from typing import Literal

from dagster_smt.model.schema import STRING, Schema, Type, optional

FormatKind = Literal["json", "json_schema", "envelope", "string", "bytes", "debezium-json", "canal-json"]


@dataclass(frozen=True)
class Format:
    """How one side of a record is encoded.

    Attributes:
        kind: ``json`` (schemaless), ``json_schema`` (JSON with the declared ``schema``), ``envelope`` (Connect's
            ``{"schema", "payload"}``), ``string`` (UTF-8 text) or ``bytes`` (as they are); of values only
            ``debezium-json`` and ``canal-json``: messages with a row inside.
        schema: The declared schema of ``json_schema``; of messages what is read of them.
        replace_null_with_default: The JSON converter's option of that name.
        decimal_format: ``BASE64`` or ``NUMERIC``: the JSON converter's ``decimal.format``.
    """

    kind: FormatKind = "json"
    schema: Schema | None = None
    replace_null_with_default: bool = True
    decimal_format: Literal["BASE64", "NUMERIC"] = "BASE64"

    @property
    def known_schema(self) -> Schema | None:
        """The schema that every value has, as Connect's converter of this format gives it; None if it varies."""
        return {"string": optional(STRING), "bytes": Schema(Type.BYTES, optional=True)}.get(self.kind, self.schema)
