"""HashField: put the SHA-256 of texts in their place."""

import hashlib
from dataclasses import dataclass
from typing import Any

from dagster_smt.authoring.transform import Example
from dagster_smt.effects.python_field_rules import FieldRules
from dagster_smt.errors import data_error
from dagster_smt.values.value_rule import ValueRule


@dataclass(frozen=True, slots=True)
class Sha256(ValueRule):
    """The SHA-256 of a text, in hexadecimal digits."""

    def python(self, text: str | None) -> str | None:
        return None if text is None else hashlib.sha256(text.encode()).hexdigest()

    def column(self, F: Any, text: Any) -> Any:
        return F.sha2(text.cast("binary"), 256)


class HashField(FieldRules):
    """Replace texts by their SHA-256, so that they can still be joined.

    A null stays null, what is neither text nor structure is left alone. A null key or value passes.
    """

    connect_class = "com.example.transforms.HashField"
    purpose = "hash fields"
    null = "pass"
    action = "masked"
    examples = (
        Example(
            "a name",
            {"fields": "name"},
            '{"name":"Ann","age":7}',
            '{"name":"17239b6e250110330eda64a29c610bf146f89883371fab093feda03bec61b646","age":7}',
        ),
    )

    def rule(self, kind: str) -> ValueRule | None:
        if kind in ("struct", "map", "array"):
            raise data_error("ACME01", f"a value of type {kind} cannot be hashed", "hash its fields")
        return Sha256() if kind == "string" else None
