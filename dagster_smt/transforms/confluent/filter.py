"""Filter: keep or drop records by a JSONPath condition."""

from collections.abc import Iterator
from typing import Annotated

from dagster_smt.authoring.fields.jayway_paths import check_json_path
from dagster_smt.authoring.options import Text, option
from dagster_smt.authoring.transform import Example, Transform
from dagster_smt.authoring.validate import NonEmptyText, one_of
from dagster_smt.effects.condition import PathFinds, Refusal
from dagster_smt.effects.effect import Effect, Reject
from dagster_smt.model.paths.json_path import parse_json_path
from dagster_smt.values.json.path import INVALID_PATH, MATCH, MISSING, NO_OBJECT, NOTHING, PATH_NOT_FOUND


class Filter(Transform):
    """Keep the records that match a JSONPath condition (`filter.type=include`), or drop them (`exclude`).

    A condition may use only the following parts of JSONPath; an error message names any other part:

    - `$.a.b` and `$['any name']` match if the field exists, even if it is null.
    - `$.a[?(test)]` and `$[?(test)]` match an object that passes the test, or the elements of an array that pass it.
      More names and filters may follow.
    - Tests: `@.a.b` (the field exists) and `!@.a.b`; `==`, `!=`, `===`, `!==`, `<`, `<=`, `>`, `>=` with a string in
      quotes, a number, `true`, `false` or `null`; `in ['x', 1]` and `nin`; `=~ /regex/i`, which must match the whole
      string; `&&`, `||`, `!(…)` and parentheses.

    A name with characters other than letters, digits and `_-$@#:` needs brackets and quotes.

    In a test, a missing field is not equal to any value, so it passes `!=` and `nin`, and the record does not fail. A
    number can be compared with a string: if the field is a number, `1`, `1.0` and `'1'` are equal for `==` and `!=`,
    but not for `===` and `!==`. If a field outside a test is missing, `missing.or.null.behavior` determines what
    happens to the record. For example, `$.a.b` is missing if there is no `a`, or if `a` is a value without fields, such
    as a string. A JSONPath filter (`[?(…)]`) needs an object or array. If it meets a null, a string, a number or a
    boolean, the record fails, whatever the option says. A null key or value passes through unchanged.

    Confluent evaluates conditions with the library json-path, so the rules above are those of json-path 2.9. Confluent
    does not document the following rules, so this project chose them. With a schema, a null is read as the field's
    default. Bytes and dates cannot be compared: a schema with such a field in a comparison is rejected. The values of
    the options must be in lower case.
    """

    connect_class = "io.confluent.connect.transforms.Filter"
    purpose = "filter by a condition"
    null = "pass"
    filter_condition: NonEmptyText = option("The condition, in JSONPath.")
    filter_type: Annotated[Text, one_of("include", "exclude")] = option(
        "`include` keeps the records that match and drops all others; `exclude` drops the records that match."
    )
    missing_or_null_behavior: Annotated[Text, one_of("fail", "include", "exclude")] = option(
        "The treatment of a record without a field on the path of the condition: `fail` fails the record, `include` "
        "keeps it, `exclude` drops it, whatever `filter.type` says.",
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
            "drop the records that match",
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
        unwanted = NOTHING if self.filter_type == "include" else MATCH
        answers = (unwanted, MISSING) if self.missing_or_null_behavior == "exclude" else (unwanted,)
        return (Reject(PathFinds(parse_json_path(self.filter_condition), answers, self._refusals)),)

    @property
    def _refusals(self) -> tuple[tuple[str, Refusal], ...]:
        condition = f"the condition '{self.filter_condition}'"
        statement = f"{condition} reads a field of a value that is null or has no fields"
        hint = "guard the stage with a predicate, or correct the condition"
        refusals = [(NO_OBJECT, Refusal("SMT457", statement, hint, INVALID_PATH))]
        if self.missing_or_null_behavior == "fail":
            statement = f"{condition} needs a field that is missing"
            refusals.append((MISSING, Refusal("SMT456", statement, "set missing.or.null.behavior", PATH_NOT_FOUND)))
        return tuple(refusals)
