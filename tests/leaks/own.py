"""A user's own transform, whose errors quote values in their messages."""

from typing import Any

from dagster_smt.effects.python_field_rules import FieldRules
from dagster_smt.values.value_rule import PythonRule


class Quotes(PythonRule):
    """Raises an error that quotes the value, for texts with a vowel."""

    def python(self, text: str | None) -> str | None:
        if text is not None and set(text) & set("aeiou@"):
            raise ValueError(f"{text} is not what I expected")
        return text


class Raises(FieldRules):
    """Refuse texts by an error of the user's own."""

    connect_class = "tests.leaks.own.Raises"
    purpose = "check fields"
    null = "pass"

    def rule(self, kind: str) -> Any:
        return Quotes() if kind == "string" else None
