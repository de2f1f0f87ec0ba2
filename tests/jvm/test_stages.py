"""Headers, conditions on fields, vendors' transforms, long ledgers: the JVM lane gives what the interpreter gives."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.effects.code import Code, CodePredicate
from dagster_smt.effects.condition import Not
from dagster_smt.model.topics.topic_names import INTERNAL
from dagster_smt.predicates.aiven.field_value_matches import FieldValueMatches
from tests.jvm.harness import LEFT, agree, batch_of, program, run
from tests.jvm.random_records import PLAIN, objects
from tests.jvm.test_records import EXAMPLES, ODD
from tests.random_chains import joined, parsed

KAFKA, AIVEN = "org.apache.kafka.connect.transforms.", "io.aiven.kafka.connect."
CONFLUENT = "io.confluent.connect.transforms."
SCALARS = [
    b'{"a":"x","b":7,"c":1.50,"d":true,"e":null,"f":{"g":1},"h":[1,"x"]}',
    b'{"a":"7","b":"X","c":"\\u00e9\\n","d":"true","e":"  ","f":"","h":0}',
    b'{"a":1,"b":-0.0,"c":1e3,"d":false,"e":-1,"f":12345678.5,"h":9223372036854775807}',
    b'{"a":1556204536,"b":1556204536123,"c":0,"d":-5,"e":300000000000000}',
    b'{ "a" : "Orders.EU" , "f" : { "g" : "in" } , "b" : "no topic!" }',
    '{"a":"é","b":"ÄÖ","c":"ß"}'.encode(),
    b'{"a":"x7","b":"x7"}',
    b'{"a":"2020-01-01","day":"2024-02-29 and more","e":null}',
    b'{"a":"2020-01-01","day":"29.2.2024"}',
    b'{"a":"2020-01-01","day":7}',
    b'{"a":"2020-01-01"}',
    b"{}",
    b'{"a":["x"],"b":{"x":1}}',
    b"null",
    None,
    b'"x"',
    b"[1]",
    b"7",
    b"",
]


def stage(kind, predicate=None, negate=False, **options):
    """A stage's class, options, and the class and options of its predicate."""
    return kind, {key.replace("_", "."): value for key, value in options.items()}, predicate, negate


def chain_of(*stages):
    options = {"transforms": ",".join(f"s{n}" for n in range(len(stages)))}
    for number, (kind, own, predicate, negate) in enumerate(stages):
        options[f"transforms.s{number}.type"] = kind
        options |= {f"transforms.s{number}.{key}": value for key, value in own.items()}
        if predicate is not None:
            options[f"transforms.s{number}.predicate"] = f"p{number}"
            options[f"transforms.s{number}.negate"] = str(negate).lower()
            options |= {f"predicates.p{number}.{key}": value for key, value in predicate.items()}
    aliases = {name.split(".")[1] for name in options if name.startswith("predicates.")}
    return parse_chain(options | {"predicates": ",".join(sorted(aliases))})


def insert_header(value, name="a"):
    return stage(KAFKA + "InsertHeader", header=name, value_literal=value)


def from_fields(operation, fields="a,b,c,d,e", side="Value", **others):
    headers = ",".join(f"h{n}" for n in range(fields.count(",") + 1))
    return stage(f"{KAFKA}HeaderFrom${side}", fields=fields, headers=headers, operation=operation, **others)


def has_header(name):
    return {"type": KAFKA + "predicates.HasHeaderKey", "name": name}


def field_is(field, **test):
    options = {"type": AIVEN + "predicates.FieldValueMatches", "field": field}
    return options | {key.replace("_", "."): value for key, value in test.items()}


def kept_by(name, side="Value", **test):
    return stage(f"{AIVEN}transforms.FilterByFieldValue${side}", field_name=name, **test)


def masked(*fields, **others):
    return stage(KAFKA + "MaskField$Value", fields=",".join(fields), **others)


EXTENDED = {"field_syntax_version": "extended"}
RUN = {
    "headers put in": [insert_header("x"), insert_header("7"), insert_header("null"), insert_header("é", "h")],
    "headers dropped": [stage(KAFKA + "DropHeaders", headers="a,trace,gone")],
    "headers put in and dropped": [insert_header("x", "z"), stage(KAFKA + "DropHeaders", headers="z")],
    "fields copied to headers": [from_fields("copy")],
    "fields moved to headers": [from_fields("move")],
    "a field moved twice": [from_fields("move", "a,a")],
    "fields from inside": [from_fields("move", "f.g,h[0]", **EXTENDED)],
    "fields that a stage changed": [masked("a"), from_fields("copy", "a,b")],
    "a stage with a header": [masked("a", predicate=has_header("a"))],
    "a stage without a header": [masked("a", predicate=has_header("trace"), negate=True)],
    "a header that a stage put in": [insert_header("x", "z"), masked("a", predicate=has_header("z"))],
    "records without a header go": [stage(KAFKA + "Filter", predicate=has_header("a"), negate=True)],
    "a topic from a header": [stage(CONFLUENT + "ExtractTopic$Header", field="a", skip_missing_or_null="true")],
    "a topic from a header that must be there": [stage(CONFLUENT + "ExtractTopic$Header", field="a")],
    "a field with a text": [masked("b", predicate=field_is("a", value="x"))],
    "a field with another text": [masked("b", predicate=field_is("a", value="x"), negate=True)],
    "a field that matches": [masked("a", predicate=field_is("b", value_pattern="[-0-9.]+"))],
    "records with a text stay": [stage(KAFKA + "Filter", predicate=field_is("a", value="x"), negate=True)],
    "a field inside": [masked("a", predicate=field_is("f.g", value="1", field_syntax_version="extended"))],
    "the whole value": [stage(KAFKA + "Filter", predicate=field_is("", value="7"))],
    "a field that a stage changed": [masked("a", replacement="x"), masked("b", predicate=field_is("a", value="x"))],
    "kept by a pattern": [kept_by("a", field_value_pattern="x|7")],
    "dropped by a pattern": [kept_by("a", field_value_pattern="E", field_value_matches="false")],
    "kept by a text": [kept_by("a", field_value="x")],
    "kept by a number": [kept_by("e", field_value="300000000000000")],
    "kept by a small number, which JSON has none of": [kept_by("b", field_value="7")],
    "kept by a boolean": [kept_by("d", field_value="true")],
    "dropped by a boolean": [kept_by("d", field_value="true", field_value_matches="false")],
    "kept by the whole value": [kept_by("", field_value="x")],
    "tombstones go": [stage(CONFLUENT + "TombstoneHandler", behavior="ignore")],
    "tombstones fail": [stage(CONFLUENT + "TombstoneHandler", behavior="fail")],
    "values become null": [stage(CONFLUENT + "Drop$Value", schema_behavior="nullify")],
    "some values become null": [stage(CONFLUENT + "Drop$Value", predicate=field_is("a", value="x"))],
    "fields joined": [
        stage(
            AIVEN + "transforms.ConcatFields$Value",
            field_names="a,b,gone,c,e",
            output_field_name="o",
            delimiter="-",
            field_replace_missing="?",
        )
    ],
    "a field that is joined and replaced": [
        stage(AIVEN + "transforms.ConcatFields$Value", field_names="a,b", output_field_name="a")
    ],
    "upper case": [stage(AIVEN + "transforms.CaseTransform$Value", field_names="a,b,d,gone", case="upper")],
    "lower case": [stage(AIVEN + "transforms.CaseTransform$Value", field_names="a,b,d,gone", case="lower")],
    "a timestamp in milliseconds": [stage(AIVEN + "transforms.ExtractTimestamp$Value", field_name="b")],
    "a timestamp of some records": [
        stage(
            AIVEN + "transforms.ExtractTimestamp$Value",
            predicate=field_is("b", value_pattern="[0-9]{13}"),
            field_name="b",
        )
    ],
    "a timestamp in seconds": [
        stage(AIVEN + "transforms.ExtractTimestamp$Value", field_name="a", timestamp_resolution="seconds"),
        stage(KAFKA + "TimestampRouter", topic_format="x-${timestamp}"),
        stage(KAFKA + "InsertField$Value", timestamp_field="t"),
    ],
    "a topic from a field": [
        stage(AIVEN + "transforms.ExtractTopic$Value", field_name="a", skip_missing_or_null="true")
    ],
    "a topic that must be in a field": [stage(AIVEN + "transforms.ExtractTopic$Value", field_name="e")],
    "a topic from a text": [stage(CONFLUENT + "ExtractTopic$Value", field="a", skip_missing_or_null="true")],
    "a topic from inside": [
        stage(CONFLUENT + "ExtractTopic$Value", field="$.f.g", field_format="JSON_PATH", skip_missing_or_null="true")
    ],
    "a topic from the time in a field": [
        stage(
            CONFLUENT + "MessageTimestampRouter",
            topic_format="${topic}-${timestamp}",
            topic_timestamp_format="yyyy-MM",
            message_timestamp_keys="e,day,a",
            message_timestamp_format="yyyy-MM-dd",
        )
    ],
    "seventy entries": [
        masked(*(f"f{n}" for n in range(40))),
        masked(*(f"g{n}" for n in range(22)), "a"),
        masked("b", *(f"h{n}" for n in range(6))),
        kept_by("a", field_value_pattern="7", field_value_matches="false"),
    ],
}


@pytest.mark.parametrize("key", ["string", "json"])
@pytest.mark.parametrize("stages", RUN.values(), ids=RUN)
def test_stages(stages, key):
    chain = chain_of(*stages)
    assert program(chain, key) is not None
    agree(chain, batch_of([*SCALARS, *PLAIN], ("raw.eu", "other")), key)


ON_KEYS = {
    "fields copied to headers": [from_fields("copy", "a,b", "Key")],
    "kept by a pattern": [kept_by("a", "Key", field_value_pattern="x|7")],
    "keys become null": [stage(CONFLUENT + "Drop$Key")],
    "a topic from a field": [stage(AIVEN + "transforms.ExtractTopic$Key", field_name="a", skip_missing_or_null="true")],
}


@pytest.mark.parametrize("stages", ON_KEYS.values(), ids=ON_KEYS)
def test_stages_on_keys(stages):
    chain = chain_of(*stages)
    assert program(chain, "json") is not None
    left = agree(chain, batch_of(SCALARS, keys=[value for value in SCALARS if value]), "json")
    assert len(left) < len(SCALARS)
    assert program(chain, "string") is None  # a text is no JSON


def test_few_records_with_scalars_are_left():
    """Those that Connect refuses, and objects and arrays as texts."""
    left = {name: agree(chain_of(*stages), batch_of(SCALARS[:7])) for name, stages in RUN.items()}
    often = {name for name, offsets in left.items() if len(offsets) > 3}
    assert often <= {
        "a timestamp in milliseconds",
        "a timestamp in seconds",
        "a topic from a header that must be there",
        "a topic that must be in a field",
        "upper case",
        "lower case",
        "kept by a number",
        "a topic from the time in a field",
        "kept by the whole value",
        "the whole value",
    }, left


NAMES = [".", "..", "...", ".x", "x.", "a-B_9.", "é", "", " a", "a/b", "x" * 249, "x" * 250, "a\n", *INTERNAL]


@pytest.mark.parametrize("place", ["", "file_topics", "kafka"])
def test_topics_that_take_no_records(place):
    chain = chain_of(stage(CONFLUENT + "ExtractTopic$Value", field="a"))
    values = [json.dumps({"a": name}, ensure_ascii=False).encode() for name in ["x", *NAMES, "x"]]
    left = agree(chain, batch_of(values), place=place)
    assert len(left) == {"": 1, "file_topics": 10, "kafka": 12}[place]


def test_records_that_are_left_keep_their_headers_and_timestamp():
    chain = chain_of(insert_header("x"), *RUN["a timestamp in milliseconds"])
    rows = [row | {"micros": 1_556_204_536_123_456} for row in batch_of(ODD).to_pylist()]
    for row, got in zip(rows, run(program(chain), rows), strict=True):
        assert got["__status"] == LEFT
        assert (got["headers"], got["timestamp"]) == (row["headers"], row["micros"])


def test_a_condition_that_is_the_opposite_of_another():
    """It is false for a null, too."""

    class Opposite(FieldValueMatches):
        connect_class = "org.example.Opposite"

        def condition(self):
            return Not(super().condition())

    for negate in (True, False):
        chain = chain_of(stage(KAFKA + "Filter", predicate=field_is("a", value="x"), negate=negate))
        object.__setattr__(chain.stages[0], "predicate", Opposite(field="a", value="x"))
        assert agree(chain, batch_of([value for value in SCALARS if value != b'{"a":["x"],"b":{"x":1}}'])) == []


def test_a_predicate_that_is_code_is_not_run():
    class Own(CodePredicate):
        connect_class = "org.example.Own"

        def condition(self):
            return Code(reads=frozenset({"value"}))

    chain = chain_of(masked("a", predicate=field_is("a", value="x")))
    assert program(chain) is not None
    object.__setattr__(chain.stages[0], "predicate", Own())
    assert program(chain) is None


names = st.sampled_from(["a", "b", "c", "a.b", "é", ""])
lists = st.lists(names, min_size=1, max_size=3).map(",".join)
texts = st.sampled_from(["x", "7", "true", "1.5", "null", "", "é", "-0.0", "[1]"])
flags = st.sampled_from(["true", "false"])
OPTIONS = {
    KAFKA + "InsertHeader": {"header": names, "value.literal": texts},
    KAFKA + "DropHeaders": {"headers": lists},
    KAFKA + "HeaderFrom$Value": {
        "fields": st.sampled_from(["a,b", "b,c", "é,a"]),
        "headers": st.sampled_from(["a,x", "y,é"]),
        "operation": st.sampled_from(["move", "copy"]),
    },
    KAFKA + "MaskField$Value": {"fields": lists},
    KAFKA + "Cast$Value": {"spec": names.map(lambda name: f"{name}:int8")},
    CONFLUENT + "ExtractTopic$Header": {"field": names, "skip.missing.or.null": flags},
    CONFLUENT + "ExtractTopic$Value": {"field": names, "skip.missing.or.null": flags},
    CONFLUENT + "TombstoneHandler": {"behavior": st.sampled_from(["ignore", "fail"])},
    CONFLUENT + "Drop$Value": {},
    AIVEN + "transforms.ExtractTopic$Value": {"field.name": names, "skip.missing.or.null": flags},
    AIVEN + "transforms.FilterByFieldValue$Value": {"field.name": names, "field.value": texts},
    AIVEN + "transforms.ConcatFields$Value": {"field.names": lists, "output.field.name": names, "delimiter": texts},
    AIVEN + "transforms.CaseTransform$Value": {"field.names": lists, "case": st.sampled_from(["upper", "lower"])},
    AIVEN + "transforms.ExtractTimestamp$Value": {"field.name": names},
}
PREDICATES = {
    AIVEN + "predicates.FieldValueMatches": {"field": names, "value": texts},
    KAFKA + "predicates.HasHeaderKey": {"name": names},
}


@st.composite
def chains(draw):
    stages = {}
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(list(OPTIONS)))
        prefix = f"transforms.t{number}"
        own = {f"{prefix}.type": kind}
        own |= {f"{prefix}.{name}": draw(values) for name, values in OPTIONS[kind].items()}
        if draw(st.booleans()):
            predicate = draw(st.sampled_from(list(PREDICATES)))
            own |= {f"{prefix}.predicate": f"p{number}", f"{prefix}.negate": draw(flags)}
            own[f"predicates.p{number}.type"] = predicate
            own |= {f"predicates.p{number}.{name}": draw(values) for name, values in PREDICATES[predicate].items()}
        if parsed(joined({f"t{number}": own})) is not None:
            stages[f"t{number}"] = own
    return parse_chain(joined(stages))


@EXAMPLES
@given(chains(), st.lists(objects.map(str.encode) | st.sampled_from(SCALARS), max_size=5))
def test_any_chain_of_these_stages(chain, values):
    if program(chain) is not None:
        agree(chain, batch_of(values, ("orders", "orders-eu")))


def test_most_chains_of_these_stages_have_a_program():
    seen = []

    @settings(max_examples=100, database=None)
    @given(chains())
    def look(chain):
        seen.append(program(chain) is not None)

    look()
    assert sum(seen) > 0.9 * len(seen)
