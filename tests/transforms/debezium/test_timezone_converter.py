"""TimezoneConverter: Debezium's own cases (TimezoneConverterTest, the page timezone-converter), and the edges.

The rows are those of Debezium 3.6.1: ``TimezoneConverterTest`` where a row says nothing else.
"""

import pytest

from dagster_smt.chain import plan_chain
from dagster_smt.interpret.interpreter import Interpreter
from dagster_smt.model.schema import JavaDate
from dagster_smt.model.schema_json import schema_from_json
from dagster_smt.transforms.debezium.events.times import InZone
from dagster_smt.transforms.debezium.timezone_converter import TimezoneConverter
from tests.transforms.debezium.events import LONG, TEXT, struct, text
from tests.transforms.helpers import Case, chain_of, check, record_of, refusal

PLACE = "{} transforms.t (TimezoneConverter): {}"
ZONE = "converted.timezone"
INDIA = {ZONE: "+05:30"}
TIME = "io.debezium.time."


def kind(type_, name, **more):
    return {"type": type_, "name": name, "version": 1, "optional": True, **more}


ZONED, OF_DAY = kind("string", TIME + "ZonedTimestamp"), kind("string", TIME + "ZonedTime")
MILLIS, MICROS, NANOS = (kind("int64", f"{TIME}{unit}Timestamp") for unit in ("", "Micro", "Nano"))
CONNECT = kind("int64", "org.apache.kafka.connect.data.Timestamp")
COLUMNS = {
    "id": {"type": "int32", "optional": True},
    "ms": MILLIS, "us": MICROS, "ns": NANOS, "at": CONNECT, "zoned": ZONED, "order_date_zoned_time": OF_DAY,
    "date": kind("int32", TIME + "Date"), "day": kind("int32", "org.apache.kafka.connect.data.Date"),
    "iso": kind("string", TIME + "IsoTimestamp"), "plain": LONG,
}  # fmt: skip
SOURCE = {"table": TEXT, "ts_ms": LONG, "ts_us": LONG, "ts_ns": LONG, "random": LONG, "named": MILLIS}
AT = 1600000000000  # in summer
NO_SOURCE = {"source": None}


def filled(schema, value):
    """A struct with nulls in the fields that a row leaves out."""
    if value is None or schema["type"] != "struct":
        return value
    return {field["field"]: value.get(field["field"]) for field in schema["fields"]}


def change(table="customers", source=None, schema=None, before=None, columns=COLUMNS, there=True, ts_ms=AT, **after):
    """An event with a row after the change, if it is ``there``, and maybe one before it."""
    row = struct(columns, None, True)
    fields = {"before": row, "after": row, "source": struct(SOURCE, "source", True), "op": TEXT, "ts_ms": LONG}
    fields |= schema or {}
    fields = {name: result for name, result in fields.items() if result is not None}
    value = {"before": before, "after": after if there else None, "source": {"table": table, **(source or {})}}
    value |= {"op": "c", "ts_ms": ts_ms}
    return text(struct(fields, "dummy.Envelope"), {name: filled(kind, value[name]) for name, kind in fields.items()})


def converted(title, options, row, result, touches=None, **more):
    """A row: what is in ``after`` of an event, and what the stage changes."""
    return Case(title, options, change(**row, **more), change(**{**row, **result}, **more), touches=touches)


def only(rules, zone="+05:30"):
    return {ZONE: zone, "include.list": rules}


def but(rules, zone="+05:30"):
    return {ZONE: zone, "exclude.list": rules}


NOON, LATER = {"order_date_zoned_time": "11:55:30+00:00"}, {"order_date_zoned_time": "17:25:30+05:30"}
DAY, DAY_LATER = {"zoned": "2020-01-01T11:55:30+00:00"}, {"zoned": "2020-01-01T17:25:30+05:30"}
ROW = {
    "us": 1529507596945104, "ns": 1531481025340000104, "ms": 1514908810123,
    "zoned": "2018-01-02T11:15:30.123456789+00:00", "order_date_zoned_time": "11:15:30.123456789+00:00",
}  # fmt: skip
IN_INDIA = {
    "us": 1529487796945104, "ns": 1531461225340000104, "ms": 1514889010123,
    "zoned": "2018-01-02T16:45:30.123456789+05:30", "order_date_zoned_time": "16:45:30.123456789+05:30",
}  # fmt: skip
STAMPS = {"ts_ms": 1762652621071, "ts_us": 1762652621071088, "ts_ns": 1762652621071088000, "random": 125}
STAMPS_IN_INDIA = {"ts_ms": 1762672421071, "ts_us": 1762672421071088, "ts_ns": 1762672421071088000, "random": 125}
EVERY_STAMP = "source:customers:source.ts_ms,customers:source.ts_ns,customers:source.ts_us,customers:source.random"
DEBEZIUMS = (
    converted("all types", INDIA, ROW, IN_INDIA, ("after",), source={"ts_ms": 123456789}),
    *(converted(f"a zone: {time}", {ZONE: "Pacific/Easter"}, {"zoned": time}, {"zoned": local}) for time, local in (
        ("2011-01-11T16:40:30.123456789+00:00", "2011-01-11T11:40:30.123456789-05:00"),
        ("2011-02-02T11:04:30.123456789+00:00", "2011-02-02T06:04:30.123456789-05:00"))),
    converted("Connect's type", {ZONE: "Africa/Cairo"}, {"at": 1522116000000}, {"at": 1522108800000}),
    converted("one field of the row after", only("source:customers:after.zoned", "Atlantic/Azores"), {**DAY, **NOON},
              {"zoned": "2020-01-01T10:55:30-01:00"}, before=DAY),
    converted("one field, by topic", only("topic:orders:order_date_zoned_time"), {**DAY, **NOON}, LATER),
    converted("one field, by name", only("orders:order_date_zoned_time", "Asia/Kolkata"), NOON, LATER),
    converted("all but one", but("source:customers:zoned"), {**DAY, **NOON}, LATER),
    converted("all but one, which is all", but("topic:orders:order_date_zoned_time", "America/Chicago"),
              {**NOON, "date": 18262}, {}, ()),
    converted("an offset with seconds", {ZONE: "+08:00:00", "exclude.list": "orders:ship_date"}, NOON,
              {"order_date_zoned_time": "19:55:30+08:00"}),
    *(converted(f"several tables: {table}", only("source:customers1,orders1,public1", "+03:00"), DAY,
                {"zoned": "2020-01-01T14:55:30+03:00"}, table=table) for table in ("customers1", "orders1")),
    converted("another table", only("source:customers1,orders1,public1", "+03:00"), DAY, {}, table="other1"),
    converted("topics that are not", but("topic:orders,public"), DAY, {}),
    converted("topics that are not, of others", but("topic:customers,public", "-06:00"),
              {"zoned": "2023-08-01T11:50:45+00:00"}, {"zoned": "2023-08-01T05:50:45-06:00"}),
    *(converted(f"summer: {time}", {ZONE: "Europe/Paris"}, {"zoned": time}, {"zoned": local}) for time, local in (
        ("2014-06-22T10:15:30Z", "2014-06-22T12:15:30+02:00"), ("2014-12-22T10:15:30Z", "2014-12-22T11:15:30+01:00"))),
    converted("a type that stays", only("source:customers:date"), {"date": 1}, {}),
    converted("the source", only("source:customers:source.ts_ms", "Europe/Moscow"),
              {**NOON, "source": {"ts_ms": 1234567890}}, {"source": {"ts_ms": 1245367890}}, ("source",)),
    converted("all of the source", only(f"{EVERY_STAMP},customers:order_date_zoned_time", "Asia/Kolkata"),
              {**NOON, "source": STAMPS}, {**LATER, "source": STAMPS_IN_INDIA}, ("after", "source")),
    refusal("both lists", {**only("a:b"), "exclude.list": "a:b"}, "null",
            "SMT014 transforms.t (TimezoneConverter) exclude.list: include.list is set, too"),
    refusal("no zone", {}, "null",
            "SMT012 transforms.t (TimezoneConverter): the option 'converted.timezone' is missing"),
    refusal("half of a zone", {ZONE: "Asia"}, "null", "SMT013 transforms.t (TimezoneConverter) converted.timezone: "
            "expected a time zone such as America/Los_Angeles, or an offset such as +08:00"),
)  # fmt: skip
NO_EVENT = text(struct({"ms": MILLIS}, "x"), {"ms": 1})
CHICAGO = {ZONE: "America/Chicago"}
EDGES = (
    Case("null", INDIA, "null", "null"),
    Case("no schema", INDIA, '{"after":{"at":1}}', '{"after":{"at":1}}'),
    Case("no event", INDIA, NO_EVENT, NO_EVENT, touches=()),
    Case("both rows", INDIA, change(before=DAY, **NOON), change(before=DAY_LATER, **LATER),
         touches=("before", "after")),
    Case("nothing there", INDIA, change(there=False), change(there=False), touches=()),
    Case("before alone", only("source:customers:before.zoned"), change(before=DAY, **DAY),
         change(before=DAY_LATER, **DAY), touches=("before",)),
    converted("types that stay", INDIA, {"iso": "2020-01-01T00:00:00", "day": 7, "plain": 7, "date": 7}, {}, ()),
    converted("before 1970", CHICAGO, {"us": -1, "ns": -1, "ms": -1, "at": -1},
              {"us": 21599999999, "ns": 21599999999999, "ms": 21599999, "at": 21599999}),
    converted("numbers begin anew", {ZONE: "-18:00"}, {"us": 2**63 - 1, "ns": 2**63 - 1},
              {"us": -(2**63) + 64_800_000_000 - 1, "ns": -(2**63) + 64_800 * 10**9 - 1}),
    refusal("milliseconds do not", {ZONE: "-18:00"}, change(ms=2**63 - 1),
            PLACE.format("SMT422", "the instant is out of the range of Spark's Timestamp")),
    # in the gap of 2020-03-08T02:30, and where 2020-11-01T01:30 is twice: the offset before the change
    converted("the clock changes", CHICAGO, {"ms": 1583634600000, "at": 1604194200000},
              {"ms": 1583656200000, "at": 1604212200000}),
    converted("an offset on the other side of it", CHICAGO, {"zoned": "2020-03-08T07:00:00Z"},
              {"zoned": "2020-03-08T02:00:00-05:00"}),
    converted("texts", {ZONE: "UTC"},
              {"zoned": "2020-01-01T00:30:00.120+00:30", "order_date_zoned_time": "00:00+01:00"},
              {"zoned": "2020-01-01T00:00:00.12Z", "order_date_zoned_time": "23:00:00Z"}),
    converted("far years", {ZONE: "Europe/Paris"}, {"zoned": "+12020-07-01T00:00:00Z", "ms": 317_000_000_000_000},
              {"zoned": "+12020-07-01T02:00:00+02:00", "ms": 316_999_992_800_000}),
    converted("a year before Christ", {ZONE: "Europe/Paris"}, {"zoned": "-0001-01-01T00:00:00Z"},
              {"zoned": "-0001-01-01T00:09:21+00:09:21"}),
    converted("a time of the day has the offset of the event's day", {ZONE: "Europe/Paris"}, NOON,
              {"order_date_zoned_time": "13:55:30+02:00"}),
    refusal("a time of the day, and no day", {ZONE: "Europe/Paris"}, change(ts_ms=None, **NOON),
            PLACE.format("SMT483", "the event has no 'ts_ms'")),
    converted("a null time of the day needs none", {ZONE: "Europe/Paris"}, DAY, {"zoned": "2020-01-01T12:55:30+01:00"}),
    refusal("no time", INDIA, change(zoned="2020-02-30T00:00:00Z"),
            PLACE.format("SMT489", "the text is not a time with an offset in ISO 8601")),
    refusal("no time of the day", INDIA, change(order_date_zoned_time="24:00Z"),
            PLACE.format("SMT489", "the text is not a time with an offset in ISO 8601")),
    refusal("a name of a type on another", INDIA, change(columns={"x": kind("string", MICROS["name"])}, x="1"),
            PLACE.format("SMT487", "the field 'x' is string?, but it must be int64")),
    refusal("a name of a type on another: texts", INDIA, change(columns={"x": kind("int64", ZONED["name"])}, x=1),
            PLACE.format("SMT474", "the field 'x' is int64?, but it must be a string")),
    Case("no source", INDIA, change(schema=NO_SOURCE, **DAY), change(schema=NO_SOURCE, **DAY_LATER)),
    converted("no table", only("source:customers"), DAY, {}, (), schema={"source": struct({"ts_ms": LONG})}),
    converted("a null table", only("source:customers"), DAY, {}, table=None),
    converted("a row that is no struct", INDIA, DAY, DAY_LATER, schema={"before": TEXT}),
)  # fmt: skip
# rules, and whether zoned, order_date_zoned_time of a row, and ts_ms, ts_us of source are converted
RULES = (
    ("topic:orders", 1, 1, 0, 0), ("source:customers", 1, 1, 0, 0), ("customers", 1, 1, 0, 0), ("orders", 1, 1, 0, 0),
    ("topic:customers", 0, 0, 0, 0), ("source:orders", 0, 0, 0, 0),
    ("topic:orders:zoned", 1, 0, 0, 0), ("source:customers:zoned", 1, 0, 0, 0), ("customers:zoned", 1, 0, 0, 0),
    ("source:a,b,customers:zoned", 1, 0, 0, 0), ("source:a,topic:b,orders:zoned", 1, 0, 0, 0),
    ("source:a,orders:zoned", 0, 0, 0, 0), ("source:a,topic:b,customers:zoned", 0, 0, 0, 0),
    ("topic:orders:order_date_zoned_time,source:customers:zoned", 0, 1, 0, 0),
    ("source:customers:zoned,source:customers:order_date_zoned_time", 1, 1, 0, 0),
    ("source:customers,customers:zoned", 1, 0, 0, 0), ("customers:zoned,orders:order_date_zoned_time", 0, 1, 0, 0),
    ("Topic:customers:zoned", 1, 0, 0, 0), ("SOURCE:orders", 1, 1, 0, 0), (" orders:zoned ,, customers:x", 1, 0, 0, 0),
    ("customers:after.zoned", 1, 0, 0, 0), ("customers:before.zoned", 0, 0, 0, 0),
    ("customers:source.ts_ms,customers:zoned", 1, 0, 1, 0), ("customers:source.zoned", 0, 0, 0, 0),
    ("customers:ts_ms", 0, 0, 0, 0), ("my-topic*/$:f,customers:zoned", 1, 0, 0, 0),
)  # fmt: skip
EXCLUDED = (
    ("topic:orders", 0, 0, 0, 0), ("source:customers", 0, 0, 0, 0), ("source:other", 1, 1, 0, 0),
    ("customers:zoned", 0, 1, 0, 0), ("customers:source.ts_us", 1, 1, 1, 0), ("customers:after.zoned", 0, 1, 0, 0),
    ("customers:before.zoned", 1, 1, 0, 0), ("topic:orders:x,source:customers", 1, 1, 0, 0),
)  # fmt: skip


def ruled(options, flags):
    zoned, of_day, ms, us = flags
    results = {"ts_ms": 0, "ts_us": 0, "named": None}
    after = {"ts_ms": ms * 19_800_000, "ts_us": us * 19_800_000_000, "named": None}
    rows = (DAY_LATER if zoned else DAY) | (LATER if of_day else NOON)
    return Case(next(iter(options.values())), INDIA | options, change(source=results, **DAY, **NOON),
                change(source=after, **rows))  # fmt: skip


CHOSEN = (
    *(ruled({"include.list": rules}, flags) for rules, *flags in RULES),
    *(ruled({"exclude.list": rules}, flags) for rules, *flags in EXCLUDED),
)
DEFAULTS = {"zoned": {**ZONED, "default": "2020-01-01T00:00:00Z"}, "ms": {**MILLIS, "default": 0}}
FILLED = (
    converted("nulls become defaults", INDIA, {"zoned": None, "ms": None},
              {"zoned": "2020-01-01T05:30:00+05:30", "ms": -19_800_000}, ("after",), columns=DEFAULTS),
    converted("not where they are not chosen", only("customers:ms"), {"zoned": None, "ms": None}, {"ms": -19_800_000},
              columns=DEFAULTS),
    Case("not in a row that is null", INDIA, change(columns=DEFAULTS, there=False),
         change(columns=DEFAULTS, there=False), touches=()),
)  # fmt: skip
RULE = (
    "transforms.t (TimezoneConverter) include.list: '{}' is not "
    "a name, or a name and a field, with or without 'source' or 'topic' before it"
)
CONFIGURED = (
    *(refusal(f"a rule: {item}", only(item), "null", f"SMT014 {RULE.format(item)}")
      for item in ("a:b:c", "source:a:b:c", "source:", "a:", "a::b", ":a")),
    refusal("no rules", {**INDIA, "exclude.list": ""}, "null",
            "SMT014 transforms.t (TimezoneConverter) exclude.list: the list is empty"),
    *(refusal(f"a zone: {zone}", {ZONE: zone}, "null", "SMT013 transforms.t (TimezoneConverter) converted.timezone: "
              "expected a time zone such as America/Los_Angeles, or an offset such as +08:00")
      for zone in ("", "Z", "+5", "UTC+2", "+99:00", "+18:01", "+05:60", "PST", "EST", "america/chicago", "../UTC")),
)  # fmt: skip


@pytest.mark.parametrize("case", [*DEBEZIUMS, *EDGES, *CHOSEN, *FILLED, *CONFIGURED], ids=lambda case: case.title)
def test_timezone_converter(case):
    check(TimezoneConverter, case)


def test_all_that_is_wrong_is_told_at_once():
    from dagster_smt.errors import ConfigError

    with pytest.raises(ConfigError) as caught:
        chain_of(TimezoneConverter, {ZONE: "UTC", "include.list": ":", "exclude.list": "a:"})
    assert len(caught.value.problems) == 3


def test_saturated_and_other_numbers_of_the_source():
    """``TimeUnit`` saturates, and what is less than a second is added to that."""
    assert InZone("+01:00", "ts_ns").python(2**63 - 1, True) == -(2**63) + (2**63 - 1) % 10**9 - 1
    assert InZone("+01:00", "ts_us").python(7, None) == 7
    assert isinstance(InZone("+01:00", CONNECT["name"]).python(JavaDate(0), True), JavaDate)


def test_the_plan_knows_fields_that_no_event_has():
    chain = chain_of(TimezoneConverter, only("customers:zonde,customers:after.zoned,orders:source.ts_mss"))
    model = schema_from_json(
        struct({"after": struct(COLUMNS, None, True), "source": struct(SOURCE, "source")}, "a.Envelope")
    )
    plan = plan_chain(chain, None, model, typed=True)
    assert [warning.statement for warning in plan.warnings] == [
        "no record can have the field 'source.ts_mss'",
        "no record can have the field 'zonde'",
    ]
    assert "ts_ms" in plan.warnings[0].hint and "zoned" in plan.warnings[1].hint
    assert plan.after == model


def test_what_is_not_converted_is_not_written_again():
    record = record_of(change(**DAY))
    assert Interpreter(chain_of(TimezoneConverter, only("customers:iso"))).run(record).status == 0
    assert record.dirty == 0


def test_values_are_in_no_message():
    problem = Interpreter(chain_of(TimezoneConverter, INDIA)).run(record_of(change(zoned="4711"))).problem
    assert problem.code == "SMT489" and "4711" not in str(problem)
    assert problem.connect_class == "java.time.format.DateTimeParseException"


def test_a_null_source_has_no_table():
    record = record_of(change(**DAY))
    record.value["source"] = None
    assert Interpreter(chain_of(TimezoneConverter, but("source:customers"))).run(record).status == 0
    assert record.value["after"]["zoned"] == DAY_LATER["zoned"]
