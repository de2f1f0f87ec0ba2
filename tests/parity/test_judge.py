"""The judge: wrong results of every kind that the rules could excuse are different, right ones beside them are not."""

import copy
import json
from functools import cache

import pytest

from dagster_smt.errors import ConfigError
from dagster_smt.tools.parity.datums import case_chain, run_case
from dagster_smt.tools.parity.runner import on_python, run_cases, verdict_of
from tests.parity.cases import FILES, cases_of

P = "org.apache.kafka.connect.transforms."
DATA = "org.apache.kafka.connect.errors.DataException"
CAST = {"transforms": "t", "transforms.t.type": P + "Cast$Value", "transforms.t.spec": "a:string,b:float32"}
NOTHING = {"transforms": ""}


@cache
def recorded():
    return {case["id"]: case for path in FILES for case in cases_of(path)}


def verdict(case, answer):
    result = verdict_of(case, answer)
    return result.verdict, result.decision


def record(value, **others):
    results = {"topic": "orders", "partition": 0, "offset": 42, "timestamp": 1, "timestampType": "CreateTime"}
    return {**results, "kind": "sink", "key": None, "value": value, "headers": [], **others}


def case_of(source, want, config=NOTHING):
    """A case of one record whose result is a record."""
    expect = {"results": [{"record": record(want)}]}
    return {"id": "made", "tags": [], "config": config, "records": [record(source)], "expect": expect}


def free(text):
    return {"schemaless": text}


def typed(schema, payload):
    return {"envelope": f'{{"schema":{schema},"payload":{payload}}}'}


def judged(source, want, got, config=NOTHING, **mark):
    return verdict(case_of(source, want, config), {"results": [{"record": record(got), **mark}]})


DOUBLE, FLOAT, STRING = ('{"type":"%s","optional":false}' % t for t in ("double", "float", "string"))  # noqa: UP031
WITH_NAME, NUMBERED = '{"type":"string","name":"%s"}', '{"type":"string","version":%s}'
INFINITY_WAR = free('{"Infinity War":1,"NaN":"NaN","a":"x"}')

# Values: what Kafka wrote, what we wrote instead.
VALUES = [
    ("a scale is lost", free('{"a":"1.50"}'), free('{"a":"1.5"}'), CAST),
    ("a scale is added", free('{"a":"1.5"}'), free('{"a":"1.50"}'), CAST),
    ("a text as no Java prints it", free('{"a":"1.0E+10"}'), free('{"a":"1.0E10"}'), CAST),
    ("the form of another size", free('{"a":"2.0E-3"}'), free('{"a":"0.002"}'), CAST),
    ("digits that Java 17 does not print", free('{"a":"1.1000000000000001"}'), free('{"a":"1.1"}'), CAST),
    ("two spellings, but nothing is printed", free('{"a":"9.999999999999999E22"}'), free('{"a":"1.0E23"}'), NOTHING),
    ("eight digits are no 32 bits", free('{"b":1234567.89}'), free('{"b":1234567.9}'), NOTHING),
    ("eight digits, where 32 bits are printed", free('{"b":1234567.89}'), free('{"b":1234567.9}'), CAST),
    ("a declared double", typed(DOUBLE, "1234567.89"), typed(DOUBLE, "1234567.9"), NOTHING),
    ("the sign of zero", free("-0.0"), free("0.0"), NOTHING),
    ("the sign of a declared zero", typed(DOUBLE, "-0.0"), typed(DOUBLE, "0.0"), NOTHING),
    ("a declared float", typed(FLOAT, "1.5"), typed(FLOAT, "1.25"), NOTHING),
    ("a whole number for a double", free("1.0"), free("1"), NOTHING),
    ("a text for a number", free("1"), free('"1"'), NOTHING),
    ("true for 1", free("1"), free("true"), NOTHING),
    ("no key for a null", free('{"a":null}'), free("{}"), NOTHING),
    ("another order of an array", free("[1,2]"), free("[2,1]"), NOTHING),
    ("true for version 1", typed(NUMBERED % 1, '"x"'), typed(NUMBERED % "true", '"x"'), NOTHING),
    ("optional", typed('{"type":"string","optional":true}', '"x"'), typed(STRING, '"x"'), NOTHING),
    ("another name", typed(WITH_NAME % "a", '"x"'), typed(WITH_NAME % "b", '"x"'), NOTHING),
    ("no schema", typed(STRING, '"x"'), free('"x"'), NOTHING),
    ("a null with a schema", typed('{"type":"string","optional":true}', "null"), None, NOTHING),
    ("an unmasked value beside infinity", free('{"a":"Infinity","b":""}'), free('{"a":"Infinity","b":"secret"}'), CAST),
]  # fmt: skip


@pytest.mark.parametrize(("want", "got", "config"), [v[1:] for v in VALUES], ids=[v[0] for v in VALUES])
def test_another_value_is_different(want, got, config):
    assert judged(free('{"x":1}'), want, got, config) == ("different", "")
    assert judged(INFINITY_WAR, want, got, config) == ("different", "")


SAME = [
    ("Java 17 and 19 of a double", free('{"a":"9.999999999999999E22"}'), free('{"a":"1.0E23"}'), CAST),
    ("Java 17 and 19 of a float", free('{"a":"2.14748365E9"}'), free('{"a":"2.1474836E9"}'), CAST),
    ("the same as a number", free('{"b":2.14748365E9}'), free('{"b":2.1474836E9}'), CAST),
    ("two ways to write a double", free("1.0E7"), free("10000000.0"), NOTHING),
    ("two doubles of one float", typed(FLOAT, "16777217.0"), typed(FLOAT, "16777216.0"), NOTHING),
    ("the order of keys", free('{"a":1,"b":2}'), free('{"b":2,"a":1}'), NOTHING),
    ("the order of a schema", typed('{"type":"int8","doc":""}', "1"), typed('{"doc":"","type":"int8"}', "1"), NOTHING),
]  # fmt: skip


@pytest.mark.parametrize(("want", "got", "config"), [v[1:] for v in SAME], ids=[v[0] for v in SAME])
def test_what_is_the_same_is_equal(want, got, config):
    assert judged(free('{"x":1}'), want, got, config) == ("equal", "")


def test_a_text_that_was_there_before_is_not_printed():
    text = free('{"a":"9.999999999999999E22"}')
    assert judged(text, text, free('{"a":"1.0E23"}'), CAST) == ("different", "")


def failed(code, stage="t", class_=DATA):
    return {"error": {"class": class_, "message": "", "stage": stage, "code": code}}


def dropped():
    return {"dropped": True}


def config_error(code):
    return {"configError": {"class": DATA, "message": "", "code": code}}


def crash(text):
    """A recorded case of one record, on which Kafka crashes."""
    for case in recorded().values():
        for source, result in zip(case["records"], case["expect"].get("results", ()), strict=False):
            error = result.get("error", {"class": ""})
            if error["class"].startswith("java.lang.") and text in (error["message"] or ""):
                return {**case, "records": [source], "expect": {"results": [result]}}
    raise AssertionError(text)


CRASHES = [("Field.schema()", "SMT102"), ("No group 2", "SMT406"), ('"config.format" is null', "SMT421")]


@pytest.mark.parametrize(("text", "code"), CRASHES)
def test_a_crash_is_one_coded_problem_and_nothing_else(text, code):
    case = crash(text)
    stage, source = case["expect"]["results"][0]["error"]["stage"], case["records"][0]
    assert verdict(case, {"results": [failed(code, stage)]}) == ("deliberate", "D2")
    wrong = [
        failed("SMT999", stage),
        failed("SMT414", stage),
        failed(code, "value.converter"),
        failed(code, "elsewhere"),
        dropped(),
        {"record": record(free('{"a":999}'))},
        {"record": source},
    ]
    assert [verdict(case, {"results": [result]}) for result in wrong] == [("different", "")] * len(wrong)
    assert [verdict(case, config_error(c)) for c in ("SMT011", "SMT013", "SMT014")] == [("different", "")] * 3


def test_a_crash_because_of_an_option_may_be_refused_with_the_configuration():
    case = recorded()["extractfield-079"]  # V2 with an empty path
    assert verdict(case, config_error("SMT014")) == ("deliberate", "D2")
    assert verdict(case, config_error("SMT011")) == ("different", "")
    assert verdict(recorded()["extractfield-001"], config_error("SMT014")) == ("different", "")


def answer_to(case):
    return run_case(case, case_chain(case))


def changed(answer, number, path, value):
    """An answer with one part of one result replaced."""
    answer = copy.deepcopy(answer)
    *above, last = path
    part = answer["results"][number]
    for step in above:
        part = part[step]
    part[last] = value
    return answer


def text_changed(answer, number, side, old, new):
    datum = answer["results"][number]["record"][side]
    kind, text = next(iter(datum.items()))
    assert old in text
    return changed(answer, number, ("record", side), {kind: text.replace(old, new)})


# Recorded cases with a deliberate difference; the part it explains, spoilt, and the parts beside it.
DELIBERATE = {
    "D1": ["cast-168", "headerfrom-039", "insertfield-038"],
    "D2": ["timestampconverter-088"],
    "D4": ["cast-129", "flatten-016", "replacefield-009", "converter-010", "fuzz-031"],
    "D5": ["converter-011", "converter-013", "converter-001", "cast-105"],
}
VENDORS = {
    "D2": [
        "v-eventrouter-0007", "v-eventrouter-0008", "v-eventrouter-0050", "v-eventrouter-0085", "v-eventrouter-0096",
        "v-eventrouter-0331", "v-found-032", "v-found-044", "v-extractnewrecordstate-0682", "v-timezoneconverter-0122",
    ],
    "D9": ["v-bylogicaltablerouter-0332", "v-bylogicaltablerouter-0348", "v-bylogicaltablerouter-0354"],
}  # fmt: skip
"""The same of cases recorded from Debezium's classes."""
DELIBERATE = {name: [*DELIBERATE.get(name, ()), *VENDORS.get(name, ())] for name in {**DELIBERATE, **VENDORS}}
IDS = [(decision, id) for decision, ids in DELIBERATE.items() for id in ids]


@pytest.mark.parametrize(("decision", "id"), IDS)
def test_a_deliberate_difference_excuses_nothing_else(decision, id):
    case = recorded()[id]
    answer = answer_to(case)
    assert verdict(case, answer) == ("deliberate", decision)
    for number, result in enumerate(answer["results"]):
        wrong = []
        if "record" in result:
            wrong += [changed(answer, number, ("record", "topic"), "elsewhere")]
            wrong += [changed(answer, number, ("record", "timestamp"), 1)]
            wrong += [changed(answer, number, ("record", "key"), free('{"a":999}'))]
            wrong += [changed(answer, number, ("record", "value"), free('{"a":999}'))]
            wrong += [changed(answer, number, ("record", "headers"), [{"key": "x", "value": None}])]
        else:
            wrong += [changed(answer, number, ("error", "stage"), "elsewhere")]
            wrong += [changed(answer, number, ("error", "class"), "java.lang.Error")]
        wrong += [{"results": [*answer["results"][:number], dropped(), *answer["results"][number + 1 :]]}]
        assert {verdict(case, w) for w in wrong} == {("different", "")}


REFUSED = [
    ("v-eventrouter-0201", "D12"),
    ("v-found-039", "D12"),
    ("v-aiven-0208", "D12"),
    ("v-aiven-0115", "D12"),
    ("v-eventrouter-0495", "D11"),
    ("v-headertovalue-0095", "D11"),
    ("v-extractnewrecordstate-0746", "D11"),
    ("v-bylogicaltablerouter-0004", "D2"),
    ("v-headertovalue-0187", "D2"),
]


@pytest.mark.parametrize(("id", "decision"), REFUSED)
def test_a_refusal_in_a_vendors_transform_is_that_problem_of_that_stage_and_no_value(id, decision):
    case = recorded()[id]
    answer = answer_to(case)
    assert verdict(case, answer) == ("deliberate", decision)
    number = next(n for n, result in enumerate(answer["results"]) if "error" in result)
    stage, source = answer["results"][number]["error"]["stage"], case["records"][number]
    spoilt = [
        failed("SMT999", stage, ""),
        failed("SMT414", stage, ""),
        failed(answer["results"][number]["error"]["code"], "elsewhere"),
        failed(answer["results"][number]["error"]["code"], "value.converter"),
        dropped(),
        {"record": source},
        {"record": {**source, "value": free('{"a":999}')}},
    ]
    results = [[*answer["results"][:number], wrong, *answer["results"][number + 1 :]] for wrong in spoilt]
    assert [verdict(case, {"results": wrong}) for wrong in results] == [("different", "")] * len(results)


REFUSED_OPTIONS = ["v-timezoneconverter-0022", "v-timezoneconverter-0069", "v-eventrouter-0229", "v-eventrouter-0196"]


@pytest.mark.parametrize("id", REFUSED_OPTIONS)
def test_an_option_of_a_vendor_may_be_refused_where_its_value_does_nothing(id):
    case = recorded()[id]
    with pytest.raises(ConfigError) as error:
        case_chain(case)
    answer = config_error(error.value.problems[0].code)
    assert verdict(case, answer) == ("deliberate", "D1")
    wrong = copy.deepcopy(case)
    for result in wrong["expect"]["results"]:
        if "record" in result:
            result["record"]["topic"] = "elsewhere"
    assert verdict(wrong, answer) == ("different", "")
    assert verdict(recorded()["v-extractnewrecordstate-0076"], answer) == ("different", "")


@pytest.mark.parametrize("id", ["v-found-041", "v-timezoneconverter-0004"])
def test_names_that_a_vendor_refuses_do_what_other_names_do(id):
    case = recorded()[id]
    answer = answer_to(case)
    assert verdict(case, answer) == ("deliberate", "D1")
    for number, result in enumerate(answer["results"]):
        spoilt = [dropped(), failed("SMT487")]
        if "record" in result:
            spoilt.append({"record": {**result["record"], "value": free('{"a":999}')}})
            spoilt.append({"record": {**result["record"], "topic": "elsewhere"}})
        for wrong in spoilt:
            results = [*answer["results"][:number], wrong, *answer["results"][number + 1 :]]
            assert verdict(case, {"results": results}) == ("different", "")


def test_columns_may_refuse_a_stage_whose_schema_data_decides_with_that_very_problem():
    case = recorded()["v-headertovalue-0003"]
    stage = "t"
    right = {**failed("SMT476", stage, ""), "spark": True}
    assert verdict(case, {"results": [right]}) == ("deliberate", "D10")
    wrong = [
        failed("SMT476", stage, ""),
        {**failed("SMT471", stage), "spark": True},
        {**failed("SMT476", "elsewhere"), "spark": True},
        {**dropped(), "spark": True},
        {"record": {**case["records"][0], "topic": "elsewhere"}, "spark": True},
    ]
    assert [verdict(case, {"results": [result]}) for result in wrong] == [("different", "")] * len(wrong)
    plain = recorded()["v-bylogicaltablerouter-0335"]  # its schemas do not hang on data
    refused = [right] * len(plain["records"])
    assert verdict(plain, {"results": refused}) == ("different", "")


def test_columns_may_lack_the_names_that_data_gives_and_nothing_else():
    case = recorded()["v-eventrouter-0163"]
    answer = answer_to(case)
    answer["results"][0]["spark"] = True
    without = text_changed(answer, 0, "value", "shop.public.outbox.Order.Value", "shop.public.outbox.Value")
    for header in without["results"][0]["record"]["headers"]:
        header["bytes"] = b"406c07f3"
    assert verdict(case, without) == ("deliberate", "D10")
    spoilt = [
        text_changed(without, 0, "value", '"sequence":3', '"sequence":4'),
        text_changed(without, 0, "value", "shop.public.outbox.Value", "made.up.Value"),
        text_changed(without, 0, "value", '"field":"sequence"', '"field":"seq"'),
        changed(without, 0, ("record", "timestamp"), 1),
        changed(without, 0, ("record", "partition"), 1),
        changed(without, 0, ("record", "headers"), []),
    ]
    assert [verdict(case, wrong) for wrong in spoilt] == [("different", "")] * len(spoilt)


def unserialisable_header():
    """Kafka has a header that JSON cannot carry; the stage masks the value."""
    config = {"transforms": "m", "transforms.m.type": P + "MaskField$Value", "transforms.m.fields": "a"}
    case = case_of(free('{"a":"secret"}'), free('{"a":""}'), config)
    java = {"unserialisable": "no", "java": {"map": [["k", {"date_ms": 5}]]}}
    case["expect"]["results"][0]["record"]["headers"] = [{"key": "h", "value": java}]
    return case


@pytest.mark.parametrize(
    ("value", "header", "expected"),
    [
        (free('{"a":""}'), {"unserialisable": "cannot", "java": {"map": [["k", {"date_ms": 5}]]}}, "equal"),
        (free('{"a":"secret"}'), {"unserialisable": "cannot", "java": {"map": [["k", {"date_ms": 5}]]}}, "different"),
        (free('{"a":""}'), {"unserialisable": "cannot", "java": {"map": [["k", {"date_ms": 6}]]}}, "different"),
        (free('{"a":""}'), free('{"k":6}'), "different"),
        (free('{"a":""}'), None, "different"),
    ],
)
def test_what_json_cannot_carry_is_compared_too(value, header, expected):
    case = unserialisable_header()
    answer = {"results": [{"record": record(value, headers=[{"key": "h", "value": header}])}]}
    assert verdict(case, answer)[0] == expected


@pytest.mark.parametrize("source", [INFINITY_WAR, free('{"a":1}'), typed(DOUBLE, "1.5"), free('["Infinity"]')])
def test_a_good_record_must_not_be_refused(source):
    for code in ("SMT411", "SMT412", "SMT414", "SMT417"):
        answer = {"results": [failed(code, "value.converter")]}
        assert verdict(case_of(source, source), answer) == ("different", "")


@pytest.mark.parametrize("stage", ["key.converter", "header.converter", "t"])
def test_a_refusal_belongs_to_the_side_that_connect_coerces(stage):
    case = case_of(free("12345678901234567890"), free("-6101065172474983726"))
    assert verdict(case, {"results": [failed("SMT412", "value.converter")]}) == ("deliberate", "D5")
    assert verdict(case, {"results": [failed("SMT412", stage)]}) == ("different", "")
    assert verdict(case, {"results": [failed("SMT401", "value.converter")]}) == ("different", "")


def test_a_map_with_optional_text_keys_is_no_coercion():
    keys = '{"type":"map","keys":{"type":"string","optional":true},"values":{"type":"int8"}}'
    source = typed(keys, '{"a":1}')
    assert judged(source, source, source) == ("equal", "")
    assert verdict(case_of(source, source), {"results": [failed("SMT414", "value.converter")]}) == ("different", "")


def untouched(text, wrapped):
    return case_of(free('{"a":%s,"b":1}' % text), free('{"a":%s,"b":1}' % wrapped))  # noqa: UP031


@pytest.mark.parametrize(
    ("text", "wrapped"),
    [("12345678901234567890", "-6101065172474983726"), ("1e400", '"Infinity"'), ("-0.0", "0.0")],
)
def test_an_untouched_number_keeps_its_spelling(text, wrapped):
    case = untouched(text, wrapped)
    results = {"results": [{"record": record(free('{"a":%s,"b":1}' % text))}]}  # noqa: UP031
    assert verdict(case, results) == ("deliberate", "D5")
    assert verdict(case, text_changed(results, 0, "value", '"b":1', '"b":2')) == ("different", "")
    assert verdict(case, text_changed(results, 0, "value", text, "7")) == ("different", "")
    other = untouched(text, "7")  # Kafka made something else of it
    assert verdict(other, results) == ("different", "")


RENAMES = {"transforms": "x,r", "transforms.x.type": P + "InsertField$Value", "transforms.x.topic.field": "t"} | {
    "transforms.r.type": P + "ReplaceField$Value", "transforms.r.exclude": "a", "transforms.r.renames": "a:b",
}  # fmt: skip
FIELDS = '{"type":"struct","fields":[%s]}'
INT_A, INT_B = ('{"type":"int32","optional":false,"field":"%s"}' % name for name in "ab")  # noqa: UP031
TOPIC = '{"type":"string","optional":true,"field":"t"}'


def leak(b, a=""):
    return typed(FIELDS % f"{a}{INT_B},{TOPIC}", b)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (leak('{"b":2,"t":"orders"}'), ("deliberate", "D2")),
        (leak('{"b":1,"t":"elsewhere"}'), ("different", "")),
        (leak('{"b":3,"t":"orders"}'), ("different", "")),
        (typed(FIELDS % f"{INT_A},{INT_B},{TOPIC}", '{"a":1,"b":2,"t":"orders"}'), ("different", "")),
        (typed(FIELDS % f"{INT_A},{INT_B}", '{"a":1,"b":2}'), ("different", "")),
        (typed(FIELDS % INT_B, '{"b":2}'), ("different", "")),
    ],
    ids=["right", "another topic", "another value", "nothing excluded", "an earlier stage", "a field less"],
)
def test_the_excluded_value_that_leaks_in_kafka(got, expected):
    case = case_of(typed(FIELDS % f"{INT_A},{INT_B}", '{"a":1,"b":2}'), leak('{"b":1,"t":"orders"}'), RENAMES)
    assert verdict(case, {"results": [{"record": record(got)}]}) == expected
    on_key = {"results": [{"record": record(case["records"][0]["value"], key=got)}]}
    assert verdict(case, on_key) == ("different", "")


def test_kafka_fails_on_the_name_of_a_date_that_a_cast_has_left():
    case = recorded()["chains-009"]
    answer = answer_to(case)
    assert verdict(case, answer) == ("deliberate", "D2")
    spoilt = [
        text_changed(answer, 2, "key", "2019-04-26", "2019-04-27"),
        text_changed(answer, 2, "key", '"field":"k"', '"field":"l"'),
        changed(answer, 2, ("record", "topic"), "elsewhere"),
        {"results": [*answer["results"][:2], dropped(), *answer["results"][3:]]},
    ]
    assert {verdict(case, wrong) for wrong in spoilt} == {("different", "")}


# The Spark evaluator's own differences hold for its results only.
NULL = typed('{"type":"string","optional":true}', "null")
DECIMAL = '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"}}'
DECIMALS = FIELDS % DECIMAL.replace("}}", '},"field":"a"}')
STAMP = '{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1}'
TO_TEXT = {"transforms": "t", "transforms.t.type": P + "Cast$Value", "transforms.t.spec": "string"}


@pytest.mark.parametrize(
    ("source", "want", "got", "config", "decision"),
    [
        (NULL, NULL, None, NOTHING, "D6"),
        (NULL, NULL, free('""'), NOTHING, ""),
        (typed(DECIMAL, '"AA=="'), typed(STRING, '"0"'), typed(STRING, '"0.00"'), TO_TEXT, "D7"),
        (typed(DECIMAL, '"AA=="'), typed(STRING, '"0"'), typed(STRING, '"0.01"'), TO_TEXT, ""),
        (typed(STRING, '"x"'), typed(STRING, '"0"'), typed(STRING, '"0.00"'), TO_TEXT, ""),
        (typed(DECIMAL, '"AA=="'), typed(STRING, '"0"'), typed(STRING, '"0.00"'), NOTHING, ""),
    ],
)
def test_differences_of_spark(source, want, got, config, decision):
    expected = ("deliberate", decision) if decision else ("different", "")
    assert judged(source, want, got, config, spark=True) == expected
    assert judged(source, want, got, config) == ("different", "")


def test_instants_beyond_spark():
    far, near = typed(STAMP, "9223372036854775807"), typed(STAMP, "5")
    for source, code, expected in [
        (far, "SMT414", ("deliberate", "D8")),
        (near, "SMT414", ("different", "")),
        (far, "SMT401", ("different", "")),
    ]:
        answer = {"results": [{**failed(code, "value.converter"), "spark": True}]}
        assert verdict(case_of(source, source), answer) == expected
        assert verdict(case_of(source, source), {"results": [failed(code, "value.converter")]}) == ("different", "")


@pytest.mark.parametrize(
    ("written", "decision"), [(b"1", "D6"), (b"2", ""), (b"true", ""), (None, "")], ids=["right", "2", "true", "null"]
)
def test_headers_on_spark_are_bytes(written, decision):
    config = {"transforms": "h", "transforms.h.type": P + "InsertHeader"}
    config |= {"transforms.h.header": "h", "transforms.h.value.literal": "1"}
    case = case_of(NULL, NULL, config)
    one = typed('{"type":"int8","optional":false}', "1")
    case["expect"]["results"][0]["record"]["headers"] = [{"key": "h", "value": one}]
    header = {"key": "h", "value": typed(STRING, '"1"'), "bytes": written}
    answer = {"results": [{"record": record(None, headers=[header]), "spark": True}]}
    assert verdict(case, answer) == (("deliberate", decision) if decision else ("different", ""))


def test_no_case_ends_the_run():
    deep = '{"a":' * 999 + "1" + "}" * 999
    good = case_of(free(deep), free(deep))
    del good["tags"]
    bent = case_of(free("1"), {"envelope": "{"})
    lone = case_of({"schemaless": '{"a":"\ud800"}'}, free("1"))
    report = run_cases([good, {"id": "empty"} | case_of(free("1"), free("1")), bent, lone], on_python)
    assert [v.verdict for v in report.verdicts] == ["equal", "equal", "different", "different"]


def test_an_evaluator_that_breaks_off_is_different():
    (result,) = run_cases([case_of(free("1"), free("1"))], lambda cases: [{"broken": "KeyError"}]).verdicts
    assert (result.verdict, result.reason) == ("different", "the evaluator broke off: KeyError")


def test_results_have_to_be_as_many():
    case = case_of(free("1"), free("1"))
    answer = {"results": [{"record": record(free("1"))}] * 2}
    assert verdict(case, answer) == ("different", "")
    assert json.loads(json.dumps(answer)) == answer


# what the record says, what Kafka wrote, what we wrote instead of reading it as Kafka does, or of refusing it
KEPT_UNDER_A_SCHEMA = [
    (FLOAT, "-0.0", "0.0", "-0.0"),
    (DOUBLE, "-0e5", "0.0", "-0.0"),
    (FLOAT, "1e400", '"Infinity"', "3.4028235E38"),
    ('{"type":"int8","optional":false}', "300", "44", "127"),
    (STRING, "7", "null", '"7"'),
]


@pytest.mark.parametrize(("schema", "source", "want", "got"), KEPT_UNDER_A_SCHEMA)
def test_only_json_without_a_schema_keeps_its_spelling(schema, source, want, got):
    assert judged(typed(schema, source), typed(schema, want), typed(schema, got))[0] == "different"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"field":"id"', '"field":"elsewhere"'),
        ('"type":"int32"', '"type":"int64"'),
        ('"optional":false', '"optional":true'),
        ('"payload":null', '"payload":{"id":1}'),
        ("shop.public.orders.Value", "shop.public.orders.Key"),
    ],
    ids=["another field", "another type", "optional", "a value", "another struct"],
)
def test_a_null_without_fields_in_kafka_has_the_fields_of_a_struct_of_its_record(old, new):
    case = recorded()["v-extractnewrecordstate-0682"]
    answer = answer_to(case)
    assert verdict(case, answer) == ("deliberate", "D2")
    spoilt = copy.deepcopy(answer)
    (datum,) = [h["value"] for h in spoilt["results"][0]["record"]["headers"] if h["key"] == "__before"]
    assert old in datum["envelope"]
    datum["envelope"] = datum["envelope"].replace(old, new)
    assert verdict(case, spoilt) == ("different", "")
