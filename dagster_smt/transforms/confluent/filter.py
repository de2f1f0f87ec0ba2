"""Filter: keep or drop records by a JSONPath condition."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.fields.json_path import check_json_path
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText, one_of
from dagster_smt.effects.condition import PathFinds, Refusal
from dagster_smt.effects.effect import Effect, Reject
from dagster_smt.model.paths.json_path import parse_json_path
from dagster_smt.values.json.path import FOUND, INVALID_PATH, MISSING, NO_OBJECT, NOTHING, PATH_NOT_FOUND


class Filter(Transform):
    """Keep the records in which a JSONPath condition finds something (`filter.type=include`), or drop them (`exclude`).

    These parts of JSONPath can be used, and every other is refused by name:

    - `$.a.b` and `$['any name']`: it finds the field if it is there, be it null.
    - `$.a[?(test)]` and `$[?(test)]`: it finds the object if it passes the test; of an array, the elements that do.
      Further names and filters may follow.
    - In a test `@.a.b` (the field is there) and `!@.a.b`; `==`, `!=`, `===`, `!==`, `<`, `<=`, `>`, `>=` with a text in
      quotes, a number, `true`, `false` or `null`; `in ['x', 1]` and `nin`; `=~ /regex/i`, which the whole text must
      match; `&&`, `||`, `!(…)` and parentheses.

    A name with other signs than letters, digits and `_-$@#:` stands in brackets and quotes.

    A field of a test that is not there is equal to nothing, so it passes `!=` and `nin`, and no record fails for it. A
    number and a text are compared too: `==` and `!=` take `1`, `1.0` and `'1'` for equal where the field is a number;
    `===` and `!==` do not. Where a field outside of tests is missing, or leads through what has no fields,
    `missing.or.null.behavior` decides. What a filter looks at must be an object or array: where it is null, a text, a
    number or a boolean, the record fails, whatever the option says. A null key or value passes.

    Confluent takes conditions from the library json-path, and these are the rules of its version 2.9. Not public, and
    so decided here: with a schema a null is read as its default; bytes and dates cannot be compared, and a schema that
    has one in a comparison is refused; the options are written in lower case.
    """

    connect_class = "io.confluent.connect.transforms.Filter"
    purpose = "filter by a condition"
    null = "pass"
    filter_condition: NonEmptyText = option("The condition, in JSONPath.")
    filter_type: Annotated[Text, one_of("include", "exclude")] = option(
        "`include`: what matches is kept, the rest dropped; `exclude`: what matches is dropped."
    )
    missing_or_null_behavior: Annotated[Text, one_of("fail", "include", "exclude")] = option(
        "What happens to a record without the fields that lead to the condition: it fails, is kept (`include`) or is "
        "dropped (`exclude`), whatever `filter.type` says.",
        "fail",
    )
    examples = (
        Example(
            "one of two texts",
            {
                "filter.condition": '$.key[?(@.nestedKey == "value1" || @.nestedKey == "value2")]',
                "filter.type": "include",
            },
            '{"key":{"nestedKey":"value2"}}',
            '{"key":{"nestedKey":"value2"}}',
        ),
        Example(
            "drop what matches",
            {"filter.condition": "$[?(@.age >= 18 && @.name =~ /a.*/i)]", "filter.type": "exclude"},
            '{"age":21,"name":"Ann"}',
            None,
        ),
        Example(
            "a field that only some records have",
            {
                "filter.condition": "$.after.topic_name",
                "filter.type": "include",
                "missing.or.null.behavior": "exclude",
            },
            '{"after":{}}',
            None,
        ),
    )

    def check(self) -> Iterator[tuple[str, str, str]]:
        yield from check_json_path("filter.condition", self.filter_condition)

    def effects(self) -> tuple[Effect, ...]:
        wrong = NOTHING if self.filter_type == "include" else FOUND
        answers = (wrong, MISSING) if self.missing_or_null_behavior == "exclude" else (wrong,)
        return (Reject(PathFinds(parse_json_path(self.filter_condition), answers, self._refusals)),)

    @property
    def _refusals(self) -> tuple[tuple[str, Refusal], ...]:
        condition = f"the condition '{self.filter_condition}'"
        statement = f"{condition} leads to a field through what is null or has no fields to test"
        hint = "guard the stage with a predicate, or correct the condition"
        refusals = [(NO_OBJECT, Refusal("SMT457", statement, hint, INVALID_PATH))]
        if self.missing_or_null_behavior == "fail":
            statement = f"{condition} needs a field that is missing"
            refusals.append((MISSING, Refusal("SMT456", statement, "set missing.or.null.behavior", PATH_NOT_FOUND)))
        return tuple(refusals)
