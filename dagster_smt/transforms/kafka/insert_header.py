"""InsertHeader: append a header with a fixed value."""

from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import PACKAGE, Example, Transform
from dagster_smt.effects.effect import AddHeader, Effect


class InsertHeader(Transform):
    """Append one header to each record. Existing headers of the same name stay.

    As in Connect, the spelling of the value determines its type:

    | spelling | type |
    |---|---|
    | `1`, `128` | the smallest integer type that can hold the number: int8 for `1`, int16 for `128` |
    | `1.5` | 32-bit float |
    | `true` | boolean |
    | `null` | a header without a value |
    | `2020-01-01`, `2020-01-01T12:34:56.789Z` | Date for the first, Timestamp (UTC) for the second |
    | `[1,2]`, `{"a":1}` | array for the first, map for the second |
    | anything else | string |

    If more text follows an array or map, the text is dropped: `[1] x` is the array `[1]`. If more text follows a number
    or date, the text is dropped only if it begins with a comma, colon, quote or bracket: `1,2` is the int8 1. In all
    other cases, the whole value is a string: `1 x` is the string `1 x`, and `a,2` is the string `a,2`.
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
