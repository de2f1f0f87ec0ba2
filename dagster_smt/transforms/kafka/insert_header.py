"""InsertHeader: append a header with a fixed value."""

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.effects.effect import AddHeader, Effect


class InsertHeader(Transform):
    """Append one header to each record. Existing headers of the same name stay.

    As in Connect, the spelling of the value determines its type: `1` is an int8, `128` an int16, `1.5` a 32-bit float,
    `true` a boolean, `null` a header without a value, `2020-01-01` a Date, `2020-01-01T12:34:56.789Z` a Timestamp
    (UTC), `[1,2]` an array, `{"a":1}` a map, and anything else a string. If a comma, colon or bracket ends the first
    value, the rest is dropped: `1,2` is the int8 1.
    """

    connect_class = PACKAGE + "InsertHeader"
    sided = False
    header: Text = option("Name of the header.")
    value_literal: Text = option("The value, as a string.")
    examples = (
        Example("a text", {"header": "env", "value.literal": "dev"}, "[]", '[{"key":"env","value":"dev"}]', "headers"),
        Example("a number", {"header": "v", "value.literal": "007"}, "[]", '[{"key":"v","value":7}]', "headers"),
    )

    def effects(self) -> tuple[Effect, ...]:
        return (AddHeader(self.header, self.value_literal),)
