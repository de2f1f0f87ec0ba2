"""The JVM lane gives what the interpreter gives: the same bytes, ledger, outcomes, for whatever records hold."""

import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_smt.chain import parse_chain
from dagster_smt.chain.plugins import transforms
from dagster_smt.effects.code import CodeTransform
from dagster_smt.effects.effect import Change
from dagster_smt.effects.field_rule import Constant, FieldRule
from dagster_smt.errors import ConfigError
from dagster_smt.tools.parity.datums import case_chain, parse_cases
from dagster_smt.transforms.kafka.cast import Cast
from dagster_smt.transforms.kafka.mask_field import MaskField
from dagster_smt.values.java.dates import date_format
from tests.jvm.harness import SCHEMA, agree, batch_of, program
from tests.jvm.random_records import PLAIN, broken, chains, objects
from tests.random_chains import joined, parsed, stages
from tests.random_records import documents

EXAMPLES = settings(max_examples=settings.default.max_examples * 6)
FLAT = {
    "transforms": "hide,amount,route,tidy,keep,when,origin",
    "transforms.hide.type": "MaskField$Value",
    "transforms.hide.fields": "note,ref,gone",
    "transforms.amount.type": "Cast$Value",
    "transforms.amount.spec": "amount:float64,n:string",
    "transforms.route.type": "RegexRouter",
    "transforms.route.regex": "raw\\.(.*)",
    "transforms.route.replacement": "clean.$1",
    "transforms.tidy.type": "ReplaceField$Value",
    "transforms.tidy.exclude": "device",
    "transforms.tidy.renames": "status:state,n:m,m:n",
    "transforms.keep.type": "MaskField$Value",
    "transforms.keep.fields": "state",
    "transforms.keep.replacement": "***",
    "transforms.keep.predicate": "eu",
    "predicates": "eu",
    "predicates.eu.type": "TopicNameMatches",
    "predicates.eu.pattern": ".*\\.eu",
    "transforms.when.type": "TimestampConverter$Value",
    "transforms.when.field": "ts",
    "transforms.when.target.type": "string",
    "transforms.when.format": "yyyy-MM-dd",
    "transforms.origin.type": "InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": 'a "text"',
    "transforms.origin.topic.field": "topic",
    "transforms.origin.partition.field": "partition",
    "transforms.origin.offset.field": "offset",
    "transforms.origin.timestamp.field": "timestamp",
}


ODD = [
    b'{"n\\u006fte":"x"}',
    b'{"a":"\\ud83d"}',
    b'{"a":"\\ude00\\ud83d"}',
    b"[1]",
    b'"text"',
    b"7",
    b"",
    None,
    b'{"a":1',
    b'{"a":1}}',
    b'{"a":1,}',
    b'{"a":01}',
    b'{"a":.5}',
    b'{"a":1.}',
    b'{"a":-}',
    b'{"a":1e}',
    b'{"a":+1}',
    b'{"a":tru}',
    b'{"a":nul',
    b'{"a":falsy}',
    b'{"a":"\x01"}',
    b'{"a":"\\x"}',
    b'{"a":"\\u12g4"}',
    b'{"a" 1}',
    b"{a:1}",
    b'{"a":[1,]}',
    b'{"a":[1 2]}',
    b'{"a":{"b":1,}}',
    b'{"a":{"b"}}',
    b'{"a":[}',
    b"{,}",
    b'{"a":1}x',
    b"\x00",
    b'{"amount":"much"}',
    b'{"amount":{}}',
    b'{"ts":"25.4.2019"}',
    b'{"ts":{}}',
    b'{"a":' + b"[" * 1000 + b"]" * 1000 + b"}",
    b'{"a":' + b"[" * 100_000,
    b'\xef\xbb\xbf{"a":1,"amount":"2"}',
    *('{"a":1,"amount":"2","é":"€"}'.encode(encoding) for encoding in ("utf-16", "utf-16-be", "utf-32-le")),
    '{"a":'.encode("utf-16-le"),
]
UNUSUAL = [
    b'{"a":1,"a":2}',
    b'{"note":"x","note":"y"}',
    b'{"a":"\\ud83d\\ude00"}',
    b'{"a":' + b"[" * 900 + b"]" * 900 + b"}",
    b"{" + b",".join(b'"f%d":%d' % (n, n) for n in range(1100)) + b"}",
    b'{"note":"' + b"x" * 5_000_000 + b'","n":1}',
    b'{"a":' + b"1" * 400 + b"}",
    b'{"a":"\\u0000"}',
]


@pytest.mark.parametrize("topics", [("raw.eu",), ("raw.us",), ("raw.eu", "raw.us", "other")], ids=str)
def test_records_it_is_made_for(topics):
    chain = parse_chain(FLAT)
    assert agree(chain, batch_of(PLAIN, topics)) == []


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:30])
def test_records_that_it_leaves_to_the_interpreter(value):
    chain = parse_chain(FLAT)
    assert agree(chain, batch_of([*PLAIN[:2], value, *PLAIN[2:]])) == [0]


@pytest.mark.parametrize("value", UNUSUAL, ids=lambda value: repr(value)[:30])
def test_records_that_are_unusual_and_plain(value):
    assert agree(parse_chain(FLAT), batch_of([*PLAIN[:2], value, *PLAIN[2:]])) == []


CAST = {"type": "Cast$Value", "spec": "a:int8"}
TWO = {
    "a value that is dropped has been cast": ({"type": "ReplaceField$Value", "exclude": "a"}, [2]),
    "a value that is replaced": ({"type": "InsertField$Value", "static.field": "a", "static.value": "x"}, [2]),
    "a value that gets another name": ({"type": "ReplaceField$Value", "renames": "a:b"}, [2]),
    "a value that another takes the name of": ({"type": "ReplaceField$Value", "renames": "b:a"}, [2]),
    "the only field that is kept": ({"type": "ReplaceField$Value", "include": "a"}, [2]),
    "all fields that are kept": ({"type": "ReplaceField$Value", "include": "a,b,c"}, [2]),
    "a name that comes again": ({"type": "ReplaceField$Value", "exclude": "a", "renames": "b:a"}, [2]),
}


@pytest.mark.parametrize(("stage", "left"), TWO.values(), ids=TWO)
def test_values_that_are_cast_before(stage, left):
    stages = {"s": CAST, "t": stage}
    options = {f"transforms.{alias}.{k}": v for alias, one in stages.items() for k, v in one.items()}
    values = [b'{"a":300}', b'{"b":1}', b'{"a":"much","b":1}', b'{"a":1,"b":2,"c":3}', b'{"c":1,"d":2}', b"{}"]
    batch = batch_of([b"{}", b"{}", *values])
    assert agree(parse_chain({"transforms": "s,t", **options}), batch) == left


NESTED = [
    b'{"a":{"b":{"c":1,"d":[{"e":1}]}},"f":null}',
    b'{"a":{},"b":{"c":{}}}',
    b'{"a.b":1,"a":{"b":2,"c":3}}',
    b'{"a":{"b":2},"a.b":1}',
    b'{"":{"":{"x":1}},"y":{"":2}}',
    b' { "a" : { "b" : 1 , "c" : [ 1 , 2 ] } } ',
    '{"é":{"ü":"\\u00e9"},"n":{"x":1e3,"y":-0}}'.encode(),
    b'{"a":1,"b":[{"c":1}]}',
    b"{" + b",".join(b'"f%d":{"a":%d,"b":{"c":true}}' % (n, n) for n in range(300)) + b"}",
    b'{"a":' + b'{"b":' * 300 + b"1" + b"}" * 301,
]


@pytest.mark.parametrize("delimiter", [".", "_", "", '"', "\\n", "é"])
def test_nested_objects_are_flattened(delimiter):
    options = {"transforms.s.type": "Flatten$Value", "transforms.s.delimiter": delimiter}
    assert agree(parse_chain({"transforms": "s", **options}), batch_of([*PLAIN, *NESTED, None])) == []


def test_what_is_not_an_object_cannot_be_flattened_here():
    chain = parse_chain({"transforms": "s", "transforms.s.type": "Flatten$Value"})
    values = [b"[1]", b"7", b'"a"', b'{"a":{"b":tru}}', b'{"a":{"b\\u0041":1}}', b'{"a":{"b":1}}']
    assert agree(chain, batch_of([None, None, *values])) == [0, 1, 2, 3, 4]


def test_what_was_cast_before_is_flattened():
    stages = {"cast": {"type": "Cast$Value", "spec": "a:int8,b:float64"}, "flat": {"type": "Flatten$Value"}}
    stages["insert"] = {"type": "InsertField$Value", "static.field": "x.y", "static.value": "z"}
    options = {f"transforms.{alias}.{key}": text for alias, one in stages.items() for key, text in one.items()}
    chain = parse_chain({"transforms": "cast,flat,insert", **options})
    assert agree(chain, batch_of([b'{"a":7,"b":-0.0,"x":{"y":1}}', b'{"a":7}'])) == []


def numbers(count):
    """Texts of numbers: few and many digits, zeros at both ends, the point anywhere, now and then an exponent."""
    random = Random(0)
    for _ in range(count):
        digits = "".join(random.choices("0000123456789", k=random.choice((1, 2, 3, 6, 9, 14, 15, 16, 17, 20))))
        at = random.randint(1, len(digits))
        whole, rest = digits[:at], digits[at:]
        exponent = random.choice(("", "", "", "e5", "E-7", "e+20"))
        yield random.choice(("", "-")) + (whole.lstrip("0") or "0") + (f".{rest}" if rest else "") + exponent


def test_numbers_are_read_and_written_as_java_does():
    options = {"type": "Cast$Value", "spec": "a:float64,b:float64,c:string,d:int32,e:float32"}
    chain = parse_chain({"transforms": "s", **{f"transforms.s.{name}": text for name, text in options.items()}})
    texts = [*numbers(3000), "0.0", "-0.0", "0.00001", "0.000009", "0.001", "0.0009", "9999999.9", "10000000.5"]
    values = [f'{{"a":"{text}","b":{text},"c":{text},"d":{text},"e":{text}}}'.encode() for text in texts]
    spelled = [f'{{"a":"{text}"}}'.encode() for text in ("1.", ".5", "+1", "007", "00.50", " 1.5", "1_0", "1.5f", "")]
    left = agree(chain, batch_of([*values, *spelled]))
    assert len(left) < len(values) / 10


PATTERNS = [
    "yyyy-MM-dd'T'HH:mm:ss.SSSX",
    "yyyy-MM-dd'T'HH:mm:ssXXX",
    "yyyy-MM-dd HH:mm:ss Z",
    "EEE, dd MMM yyyy HH:mm:ss",
    "EEEE d MMMM y",
    "dd-MMM-yy",
    "hh:mm:ss a, M/d/yyyy",
    "K:mm a kk 'o''clock' ''yy",
]
TEXTS = [
    "2024-02-30T25:61:61.1234Z",
    "2024-02-29T12:00:00+02:00",
    "2024-02-29T12:00:00-0530",
    "2024-02-29 12:00:00 +0100",
    "thu, 29 FEBRUARY 2024 12:00:00",
    "Thursday 29 Feb 2024",
    "29-sept-24",
    "31-Sep-99",
    "12:00:00 pm, 2/29/2024 and more",
    "0:30 AM 24 o'clock '49",
    "Sunday",
    "",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_dates_with_words_and_offsets(pattern):
    unix = {"type": "TimestampConverter$Value", "field": "a", "target.type": "unix", "format": pattern}
    text = unix | {"target.type": "string"}
    moments = [0, -1, 1556204536123, 1709164800000, 951827696789, -62135596800000, -99999999999999, 253402300800000]
    moments += [1577836800000 + day * 86_400_000 * 29 + day * 3_723_004 for day in range(40)]
    to_text = parse_chain({"transforms": "s", **{f"transforms.s.{name}": value for name, value in text.items()}})
    to_unix = parse_chain({"transforms": "s", **{f"transforms.s.{name}": value for name, value in unix.items()}})
    numbers = [f'{{"a":{moment}}}'.encode() for moment in moments]
    assert agree(to_text, batch_of(numbers)) == []
    texts = [date_format(pattern).format(moment) for moment in moments]
    values = [json.dumps({"a": text}).encode() for text in [*texts, *TEXTS]]
    assert len(agree(to_unix, batch_of(values))) < len(TEXTS)
    agree(to_text, batch_of(values))


def test_bytes_that_are_no_text():
    batch = batch_of([*PLAIN, b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}'])
    assert len(agree(parse_chain(FLAT), batch)) == 2


def test_every_byte_at_every_place_of_a_word():
    texts = [b"x" * at + bytes([byte]) + b"y" * (9 - at) for byte in range(256) for at in range(10)]
    values = [b'{"' + text + b'":1,"note":"' + text + b'"}' for text in texts]
    left = agree(parse_chain(FLAT), batch_of(values))
    assert len(left) == 10 * (256 - 0x60 + 2)  # all but printable ASCII without the quote and the backslash


def test_slices_and_records_without_metadata():
    chain, batch = parse_chain(FLAT), batch_of([*PLAIN, *ODD], ("raw.eu", None))
    assert agree(chain, batch.slice(3, 5)) == [1, 3, 5]  # a router refuses records without a topic
    assert agree(chain, batch.slice(0, 0)) == []
    for name in ("partition", "offset", "timestamp"):
        number = batch.schema.get_field_index(name)
        agree(chain, batch.set_column(number, name, pa.nulls(len(batch), SCHEMA.field(name).type)))


def test_values_keep_their_bytes_where_no_stage_changes_them():
    chain = parse_chain({k: v for k, v in FLAT.items() if ".route." in k} | {"transforms": "route"})
    assert agree(chain, batch_of(PLAIN)) == []


def test_records_that_a_stage_drops():
    chain = parse_chain({"transforms": "f", "transforms.f.type": "Filter"})
    assert agree(chain, batch_of(PLAIN)) == []


NOT_ELIGIBLE = [
    {"type": "MaskField$Key", "fields": "a"},
    {"type": "ByLogicalTableRouter", "topic.regex": "(.*)", "topic.replacement": "all"},
    {"type": "TimestampRouter", "timestamp.format": "z"},
    {"type": "TimestampConverter$Value", "field": "a", "target.type": "string", "format": "D"},
    {"type": "TimestampConverter$Value", "field": "a", "target.type": "Timestamp"},
    {"type": "SetSchemaMetadata$Value", "schema.name": "a"},
]


@pytest.mark.parametrize("stage", NOT_ELIGIBLE, ids=str)
def test_stages_that_it_cannot_run(stage):
    chain = parse_chain({"transforms": "s", **{f"transforms.s.{k}": v for k, v in stage.items()}})
    assert program(chain) is None


def test_a_class_that_is_code_is_not_run_whatever_it_says():
    class Louder(CodeTransform, MaskField):
        connect_class = "org.example.Louder"

        def schemaless(self, bits):
            return lambda value, record: {"all": "changed"}

    chain = parse_chain({"transforms": "s", "transforms.s.type": "MaskField$Value", "transforms.s.fields": "a"})
    assert program(chain) is not None
    stage = chain.stages[0]
    object.__setattr__(stage, "transform", Louder(fields="a"))
    assert program(chain) is None


def test_a_rule_of_ones_own_is_run():
    class Own(FieldRule):
        constant = True

        def of_kind(self, kind):
            return Constant("own")

    class Both(Cast):
        connect_class = "org.example.Both"

        def effects(self):
            return (Change(self.path("n"), Own(), "masked"),)

    chain = parse_chain({"transforms": "s", "transforms.s.type": "Cast$Value", "transforms.s.spec": "n:string"})
    object.__setattr__(chain.stages[0], "transform", Both(spec="n:string"))
    assert program(chain) is not None
    assert agree(chain, batch_of(PLAIN)) == []


texts = objects.map(str.encode)
records = st.lists(documents | texts | texts | broken(), max_size=6)


@EXAMPLES
@given(chains(), records)
def test_any_chain_on_any_records(chain, values):
    if program(chain) is not None:
        agree(chain, batch_of(values, ("orders", "orders-eu")))


@EXAMPLES
@given(stages("a"), records)
def test_any_transform_that_it_runs(stage, values):
    chain = parsed(joined({"a": stage}))
    if chain is not None and program(chain) is not None:
        agree(chain, batch_of([*PLAIN, *values], ("orders",)))


def test_most_random_chains_and_many_records_take_the_lane():
    seen = []

    @settings(max_examples=200, database=None)
    @given(chains(), objects)
    def look(chain, text):
        if program(chain) is not None:
            seen.append(len(agree(chain, batch_of([text.encode()]))))
        else:
            seen.append(2)

    look()
    assert seen.count(2) < len(seen) / 4
    assert seen.count(0) > len(seen) / 5


PARITY = sorted((Path(__file__).parents[1] / "parity").rglob("*.jsonl"))


def test_the_chains_recorded_from_kafka():
    """On the texts that stand in the cases; what Kafka makes of them is compared elsewhere, with the interpreter."""
    ran = 0
    for file in PARITY:
        for case in parse_cases(file.read_bytes()):
            try:
                chain = case_chain(case)
            except ConfigError:
                continue
            if program(chain) is not None:
                texts = [value for record in case["records"] if (value := text_of(record.get("value"))) is not None]
                ran += len(texts)
                agree(chain, batch_of([*texts, *PLAIN[:3]], ("orders",)))
    assert ran > 100


def text_of(datum):
    """The JSON text of a value without schema, if a case has one."""
    text = datum.get("schemaless") or datum.get("envelope") if isinstance(datum, dict) else None
    return text and text.encode("utf-8", "surrogatepass")


def test_documented_examples():
    ran = 0
    for cls in transforms().values():
        for example in cls.examples:
            kind = cls.connect_class + ("$Value" if cls.sided else "")
            options = {f"transforms.e.{key}": value for key, value in example.options.items()}
            chain = parse_chain({"transforms": "e", "transforms.e.type": kind, **options})
            if program(chain) is not None and example.shows in ("value", "headers"):
                ran += 1
                agree(chain, batch_of([example.before.encode(), *PLAIN], ("orders",)))
    assert ran >= 10


def test_a_stage_that_changes_nothing_leaves_what_it_would_refuse():
    chain = parse_chain({"transforms": "none", "transforms.none.type": "ReplaceField$Value"})
    assert agree(chain, batch_of([*PLAIN, b"[1]", b"7", None])) == [6, 7]


def test_records_with_the_names_of_the_record_before():
    """The lane compares names with those of the record before: others, fewer, more, twice, in another order."""
    ten = [f"n{n}" for n in range(10)]
    orders = [ten, ten, ten[:9], ten[:3], ten, [*ten, "more"], [*ten, "n3"], ten, ten[::-1], [*ten[:5], "x", *ten[5:]]]
    orders += [[], ten, ["n"], ten[:2], ten[:2], [*ten[:2], "n0"], ["x", "x"], ten, [*ten, *ten], ten]
    texts = [("{" + ",".join(f'"{name}":"{at}"' for at, name in enumerate(names)) + "}").encode() for names in orders]
    wrong = [texts[0][:-1], texts[0][:40] + b'"', b"[1]", b"7", texts[0].replace(b":", b" : "), b'{"n0" :1}']
    texts += [text for each in wrong for text in (texts[0], each, texts[3])]
    spec = {"s0.type": "ReplaceField$Value", "s0.renames": "n1:z,n8:n0", "s0.exclude": "n2"}
    spec |= {"s1.type": "InsertField$Value", "s1.topic.field": "n9", "s1.offset.field": "at"}
    spec |= {"s2.type": "MaskField$Value", "s2.fields": "n3,z,at", "s2.replacement": "7"}
    for names in ("s0,s1,s2", "s1,s0", "s2,s0", "s0"):
        aliases = names.split(",")
        stages = {f"transforms.{key}": option for key, option in spec.items() if key[:2] in aliases}
        agree(parse_chain({"transforms": names, **stages}), batch_of(texts))
