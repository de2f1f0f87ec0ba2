"""How one side of a record is encoded."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.primitives import WHOLE
from dagster_smt.model.schema import Schema

Structured = Literal["json", "json_schema", "envelope", "csv", "debezium-json", "canal-json"]
Single = Literal["string", "bytes", "short", "integer", "long", "float", "double", "boolean"]
FormatKind = Structured | Single
CSV_OPTIONS = (
    "field-delimiter",
    "quote-character",
    "disable-quote-character",
    "escape-character",
    "array-element-delimiter",
    "null-literal",
)
"""Options of Flink's ``csv`` that are done here."""


@dataclass(frozen=True)
class Format:
    """How one side of a record is encoded.

    Attributes:
        kind: ``json`` (schemaless), ``json_schema`` (JSON with the declared ``schema``), ``envelope`` (Connect's
            ``{"schema", "payload"}``), ``string`` (UTF-8 text) or ``bytes`` (as they are); ``short`` to
            ``boolean``: single values as Kafka's serializers write them; ``csv``: lines with the columns of ``schema``;
            of values only ``debezium-json`` and ``canal-json``: messages with a row inside.
        schema: The declared schema of ``json_schema`` and ``csv``; of messages what is read of them.
        replace_null_with_default: The JSON converter's option of that name.
        decimal_format: ``BASE64`` or ``NUMERIC``: the JSON converter's ``decimal.format``.
        options: Of ``csv``: pairs, or a mapping, of Flink's options.
    """

    kind: FormatKind = "json"
    schema: Schema | None = None
    replace_null_with_default: bool = True
    decimal_format: Literal["BASE64", "NUMERIC"] = "BASE64"
    options: tuple[tuple[str, str], ...] | Mapping[str, str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(sorted(self.settings.items())))
        known = CSV_OPTIONS if self.kind == "csv" else ()
        hint = f"there are: {', '.join(known)}" if known else "leave it out"
        problems = [
            Problem("SMT272", f"{self.kind}.{k}", "is no option", hint) for k in self.settings if k not in known
        ]
        if problems:
            raise ConfigError(problems)

    @property
    def settings(self) -> dict[str, str]:
        """``options`` as a mapping."""
        return dict(self.options)

    @property
    def known_schema(self) -> Schema | None:
        """The schema that every value has, as Connect's converter of this format gives it; None if it varies."""
        return Schema(WHOLE[self.kind], optional=True) if self.kind in WHOLE else self.schema
