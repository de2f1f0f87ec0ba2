"""The Python evaluator: a record's whole way, what it leaves alone, and where it fails."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_smt.chain.plan import ledger_entries
from dagster_smt.errors import DATA_EXCEPTION
from dagster_smt.interpret.interpreter import (
    DROPPED_STATUS,
    FAILED,
    KEY_CONVERTER,
    NO_STAGE,
    PASSED,
    VALUE_CONVERTER,
    Interpreter,
)
from dagster_smt.model.record import KEY_DIRTY, VALUE_DIRTY, Header, Record
from dagster_smt.model.schema import Schema, Type, optional
from dagster_smt.model.topics.format import Format
from dagster_smt.values.json.lazy import decode
from tests.chain.helpers import EUROPEAN, ORDERS, TOMBSTONE, TRACED, chain_of, stage

JSON = Format()
V2 = {"field_syntax_version": "V2"}
ROW = Schema(Type.STRUCT, fields=(("a", Schema(Type.INT8)), ("b", optional(Schema(Type.STRING)))))


def record(topic="orders"):
    return Record(topic, 1, 7, 1000, "CreateTime", headers=[Header("trace", None, "x", b"x", from_stage=False)])


def process(*stages, key=b"k", value=b"{}", key_format=None, value_format=JSON, source=None):
    """(outcome, key bytes, value bytes, record) of one record's whole way."""
    interpreter, source = Interpreter(chain_of(*stages), key_format, value_format), source or record()
    return *interpreter.process(source, key, value), source


def touched(stages, source):
    entries = ledger_entries(chain_of(*stages))
    return [e.path for n, e in enumerate(entries) if source.touched >> n & 1]


# -- what is not touched stays -----------------------------------------------------------------------------------------

MASK = stage("MaskField$Value", fields="secret")
SPELLED = b' { "a" : 1.0e2,"b":\t{"x":01.5, "x":[ 1 , 2 ]}, "secret" : "s" }\n'.replace(b"01.5", b"1.50")


def test_a_record_that_no_stage_changes_keeps_its_bytes():
    for stages in ([], [stage("Filter", when=TOMBSTONE)], [stage("RegexRouter", regex="(.*)", replacement="$1-x")]):
        assert process(*stages, key=b"\xff", value=SPELLED, key_format=Format("bytes"))[:3] == (
            UNTOUCHED,
            b"\xff",
            SPELLED,
        )
    assert process(stage("MaskField$Value", when=EUROPEAN, fields="a"), value=SPELLED)[2] == SPELLED


def test_other_fields_keep_their_spelling():
    assert process(MASK, value=SPELLED)[2] == b'{"a":1.0e2,"b":{"x":1.50, "x":[ 1 , 2 ]},"secret":""}'


def test_fields_beside_a_nested_one_keep_their_spelling():
    value = b'{"p":{"q":{"secret":"s","n":1.0e2},"l":[ 1 ],"d":{"x":1,"x":2}},"o":{ }}'
    assert process(stage("MaskField$Value", fields="p.q.secret", **V2), value=value)[2] == (
        b'{"p":{"q":{"secret":"","n":1.0e2},"l":[ 1 ],"d":{"x":1,"x":2}},"o":{ }}'
    )


def spelled(draw, value):
    """JSON text of a value with blanks, escapes, exponents and duplicate keys in free places."""
    blank = draw(st.sampled_from(["", " ", "\n\t"]))
    if isinstance(value, dict):
        items = [f"{spelled(draw, k)}{blank}:{blank}{spelled(draw, v)}" for k, v in value.items()]
        again = items + [i for i in items if draw(st.booleans())]
        return "{" + blank + f"{blank},".join(again) + "}"
    if isinstance(value, list):
        return "[" + f",{blank}".join(spelled(draw, v) for v in value) + blank + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    if isinstance(value, float):
        return draw(st.sampled_from([repr(value), f"{value:.3e}", f"{value:.2E}"]))
    return json.dumps(value)


@st.composite
def objects(draw):
    """(JSON texts of the fields of an object, by name)"""
    values = st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=4),
        lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3),
        max_leaves=5,
    )
    fields = draw(st.dictionaries(st.text(max_size=3).filter(lambda k: k != "secret"), values, max_size=4))
    return {name: spelled(draw, value) for name, value in fields.items()}


TOUCHING = [
    ("mask", [MASK], '"s"', '""'),
    ("cast", [stage("Cast$Value", spec="secret:int32")], '"7"', "7"),
    ("replace", [stage("ReplaceField$Value", renames="secret:open", exclude="none")], "1.50", "1.50"),
    ("insert", [stage("InsertField$Value", static_field="secret", static_value="x")], "1", '"x"'),
    (
        "several",
        [MASK, stage("Cast$Value", spec="secret:boolean"), stage("ReplaceField$Value", exclude="none")],
        '"s"',
        "false",
    ),
]


@pytest.mark.parametrize(("stages", "before", "after"), [t[1:] for t in TOUCHING], ids=[t[0] for t in TOUCHING])
@settings(max_examples=settings.default.max_examples // 2)
@given(fields=objects())
def test_any_other_field_keeps_its_bytes(stages, before, after, fields):
    texts = [f"{json.dumps(name)} : {text}" for name, text in fields.items()]
    outcome, _, value, _ = process(*stages, value=("{" + ",".join([*texts, f'"secret":{before}']) + "}").encode())
    assert outcome.status == PASSED
    results = {name: bytes(raw).decode() for name, raw in decode(value).items()}
    changed = results.pop("secret", results.pop("open", None))
    assert (results, changed) == (fields, after)
    assert list(results) == list(fields)


# -- sides, topics, headers --------------------------------------------------------------------------------------------


def test_the_key_does_not_change_with_the_value_it_was_made_from():
    stages = stage("ValueToKey", fields="p,q"), stage("MaskField$Key", fields="p.x,q", **V2)
    outcome, key, value, source = process(*stages, value=b'{"p":{"x":"s","y":[1]},"q":"t"}')
    assert (outcome, key, value) == (UNTOUCHED, b'{"p":{"x":"","y":[1]},"q":""}', b'{"p":{"x":"s","y":[1]},"q":"t"}')
    assert source.dirty == KEY_DIRTY


def test_nor_the_value_with_the_key():
    stages = (
        stage("MaskField$Value", fields="p.y", **V2),
        stage("ValueToKey", fields="p"),
        stage("MaskField$Value", fields="p.x", **V2),
    )
    _, key, value, source = process(*stages, value=b'{"p":{"x":"s","y":1}}')
    assert (key, value) == (b'{"p":{"x":"s","y":0}}', b'{"p":{"x":"","y":0}}')
    assert source.dirty == KEY_DIRTY | VALUE_DIRTY


def test_headers_taken_from_a_field_do_not_change_with_it():
    copy = stage("HeaderFrom$Value", fields="p", headers="h", operation="copy")
    outcome = process(copy, stage("MaskField$Value", fields="p.x", **V2), value=b'{"p":{"x":"s"}}')[3]
    assert [(h.key, h.value) for h in outcome.headers] == [("trace", "x"), ("h", {"x": "s"})]


@pytest.mark.parametrize(
    ("kind", "key", "after"),
    [
        ("string", b"k", b"k"),
        ("bytes", b"\xff", b"\xff"),
        ("json", b'{ "a":1}', b'{ "a":1}'),
        ("string", None, None),
        ("json", b"null", b"null"),
    ],
)
def test_keys_of_every_format_pass(kind, key, after):
    assert process(MASK, key=key, key_format=Format(kind))[:2] == (UNTOUCHED, after)


def test_a_json_key_is_changed():
    stages = stage("ReplaceField$Key", renames="a:b"), stage("MaskField$Key", fields="b")
    outcome, key, value, _ = process(*stages, key=b'{"a":7,"c": 1}', key_format=JSON)
    assert (outcome, json.loads(key), value) == (UNTOUCHED, {"b": 0, "c": 1}, b"{}")


def test_a_text_key_can_be_hoisted_and_extracted():
    assert process(stage("HoistField$Key", field="k"))[1] == b'{"k":"k"}'
    assert process(stage("HoistField$Key", field="k"), stage("ExtractField$Key", field="k"))[1] == b"k"


def test_sides_of_different_forms():
    stages = stage("MaskField$Key", fields="k"), stage("MaskField$Value", fields="b")
    formats = {"key_format": JSON, "value_format": Format("json_schema", ROW)}
    assert process(*stages, key=b'{"k":1.0}', value=b'{"a":1,"b":"x","c":0}', **formats)[:3] == (
        UNTOUCHED, b'{"k":0.0}', b'{"a":1,"b":""}',
    )  # fmt: skip


def test_envelopes_of_several_schemas_in_one_topic():
    interpreter = Interpreter(chain_of(stage("Flatten$Value")), None, Format("envelope"))
    run = interpreter.process
    for _ in range(2):
        for inner in ("int8", "string"):
            schema = {
                "type": "struct",
                "fields": [{"field": "n", "type": "struct", "fields": [{"field": "x", "type": inner}]}],
            }
            payload = {"n": {"x": 1 if inner == "int8" else "a"}}
            outcome, _, value = run(record(), None, json.dumps({"schema": schema, "payload": payload}).encode())
            assert outcome == UNTOUCHED
            after = json.loads(value)
            assert [(f["field"], f["type"]) for f in after["schema"]["fields"]] == [("n.x", inner)]
    assert run(record(), None, b'{"schema":null,"payload":{"n":{"x":1}}}')[2] == b'{"schema":null,"payload":{"n.x":1}}'


def test_a_declared_schema_fills_in_and_drops():
    value = process(
        stage("MaskField$Value", fields="name"), value=b'{"id":1,"x":2}', value_format=Format("json_schema", ORDERS)
    )[2]
    assert value == b'{"id":1,"name":null,"a":null,"amount":null}'


def test_predicates_see_the_record_as_it_is_by_then():
    stages = (
        stage("RegexRouter", regex="(.*)", replacement="$1-eu"),
        stage("InsertField$Value", when=EUROPEAN, topic_field="t"),
        stage("DropHeaders", headers="trace"),
        stage("Filter", when=TRACED),
        stage("ExtractField$Value", field="none"),
        stage("Filter", when=TOMBSTONE),
    )
    outcome, _, _, source = process(*stages)
    assert (outcome.status, outcome.stage, outcome.problem) == (DROPPED_STATUS, 5, None)
    assert (source.topic, source.headers) == ("orders-eu", [])


def test_headers_are_carried_as_they_are():
    source = record()
    before = source.headers
    assert process(MASK, stage("RegexRouter", regex=".*", replacement="x"), source=source)[0] == UNTOUCHED
    assert source.headers is before


UNTOUCHED = Interpreter(chain_of()).run(record())


def test_what_became_of_a_record_that_went_through():
    assert (UNTOUCHED.status, UNTOUCHED.stage, UNTOUCHED.problem) == (PASSED, NO_STAGE, None)


# -- failures ----------------------------------------------------------------------------------------------------------

CAST = stage("Cast$Value", spec="n:int8")
DATE = stage("TimestampConverter$Value", field="n", target_type="Timestamp")
STRUCT = Format("json_schema", ROW)
FAILURES = [
    (
        "value.converter",
        [CAST],
        {"value": b"{"},
        VALUE_CONVERTER,
        "SMT411 value.converter: the text is not valid JSON in UTF-8",
    ),
    ("key.converter", [CAST], {"key": b"\xff"}, KEY_CONVERTER, "SMT416 key.converter: the text is not valid UTF-8"),
    (
        "the key first",
        [CAST],
        {"key": b"\xff", "value": b"{"},
        KEY_CONVERTER,
        "SMT416 key.converter: the text is not valid UTF-8",
    ),
    (
        "a stage",
        [MASK, CAST],
        {"value": b'{"n":"x"}'},
        1,
        "SMT404 transforms.cast (Cast$Value): 'n' is a string that is not a valid int8, or is out of range",
    ),
    (
        "invalid inside",
        [stage("MaskField$Value", fields="n.x", **V2)],
        {"value": b'{"n":12345678901234567890}'},
        0,
        "SMT412 transforms.maskfield (MaskField$Value): an integer that 64 bits cannot hold",
    ),
    (
        "a tombstone",
        [MASK],
        {"value": None},
        0,
        "SMT402 transforms.maskfield (MaskField$Value): a null key or value cannot be used for [mask fields]",
    ),
    (
        "no object",
        [MASK],
        {"value": b"[1]"},
        0,
        "SMT408 transforms.maskfield (MaskField$Value): only an object can be used for [mask fields] without a schema, "
        "but this is java.util.ArrayList",
    ),
    (
        "no record of this schema",
        [stage("ExtractField$Value", field="z")],
        {"value": b'{"a":1}', "value_format": STRUCT},
        0,
        "SMT102 transforms.extractfield (ExtractField$Value): there is no field 'z' for 'z'",
    ),
    (
        "what cannot be written",
        [DATE],
        {"value": b'{"n":1}'},
        VALUE_CONVERTER,
        "SMT413 value.converter: JSON without a schema cannot hold this value",
    ),
    (
        "a key that cannot be written",
        [stage("ValueToKey", fields="n"), stage("TimestampConverter$Key", field="n", target_type="Date")],
        {"value": b'{"n":1}'},
        KEY_CONVERTER,
        "SMT413 key.converter: JSON without a schema cannot hold this value",
    ),
]


@pytest.mark.parametrize(
    ("stages", "source", "place", "problem"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES]
)
def test_failures_have_a_place(stages, source, place, problem):
    outcome, key, value, _ = process(*stages, **source)
    assert (outcome.status, outcome.stage, key, value) == (FAILED, place, None, None)
    assert str(outcome.problem).splitlines()[0] == problem
    assert outcome.problem.connect_class in (DATA_EXCEPTION, "java.lang.IllegalArgumentException")


def test_reading_running_and_writing_are_the_same_way_in_three_steps():
    interpreter = Interpreter(chain_of(MASK, CAST))
    for value in (b'{"n":"7","secret":"s"}', b'{"n":"x"}', b"{", b'{"n":1'):
        whole, source = record(), record()
        outcome = interpreter.read(source, b"k", value)
        outcome = interpreter.run(source) if outcome.status == PASSED else outcome
        written = interpreter.write(source) if outcome.status == PASSED else (outcome, None, None)
        assert interpreter.process(whole, b"k", value) == written
        assert whole.touched == source.touched


# -- ledger ------------------------------------------------------------------------------------------------------------

TOUCHES = [
    ([stage("MaskField$Value", fields="a,b,c")], b'{"a":1,"b":null}', ["a"]),
    ([stage("MaskField$Value", fields="a.x,a.y", **V2)], b'{"a":{"x":1}}', ["a.x"]),
    ([stage("Cast$Value", spec="a:int8,b:int8,c:int8")], b'{"a":1,"b":null}', ["a"]),
    ([stage("ReplaceField$Value", exclude="a,z", renames="b:c,y:x")], b'{"a":1,"b":2}', ["a", "b"]),
    ([stage("ReplaceField$Value", include="a")], b'{"a":1,"b":2}', ["all but a"]),
    ([stage("ReplaceField$Value", include="a")], b'{"a":1}', []),
    ([stage("InsertField$Value", topic_field="t", offset_field="o")], b"{}", ["t", "o"]),
    ([stage("ExtractField$Value", field="a")], b'{"a":null}', []),
    ([stage("ExtractField$Value", field="a")], b'{"a":1}', ["a"]),
    (
        [stage("RegexRouter", regex="x", replacement="y"), stage("RegexRouter", regex="o.*", replacement="y")],
        b"{}",
        ["o.*"],
    ),
    ([stage("MaskField$Value", when=EUROPEAN, fields="a"), MASK], b'{"a":1,"secret":1}', ["secret"]),
    # a stage that fails has touched nothing; those before it have
    ([MASK, stage("Cast$Value", spec="a:int8,b:int8")], b'{"secret":"s","a":"1","b":"x"}', ["secret"]),
]


@pytest.mark.parametrize(("stages", "value", "paths"), TOUCHES)
def test_touches_without_a_schema(stages, value, paths):
    assert touched(stages, process(*stages, value=value)[3]) == paths


FIELDS = Schema(Type.STRUCT, fields=tuple((n, optional(Schema(Type.STRING))) for n in ("a", "b", "secret")))


@pytest.mark.parametrize(("stages", "value", "paths"), [
    ([stage("MaskField$Value", fields="a,b,c")], b'{"a":"x"}', ["a"]),
    ([stage("Cast$Value", spec="a:int8,b:int8")], b'{"a":"1"}', ["a"]),
    ([stage("ReplaceField$Value", exclude="a", renames="b:c")], b'{"a":"x"}', ["a", "b"]),
    ([stage("ReplaceField$Value", exclude="a", renames="b:c")], None, []),
    ([stage("ExtractField$Value", field="a")], b'{"a":null}', []),
    ([stage("ExtractField$Value", field="a")], b'{"a":""}', ["a"]),
    ([MASK, stage("Cast$Value", spec="a:int8,b:int8")], b'{"secret":"s","a":"1","b":"x"}', ["secret"]),
])  # fmt: skip
def test_touches_with_a_schema(stages, value, paths):
    assert touched(stages, process(*stages, value=value, value_format=Format("json_schema", FIELDS))[3]) == paths
