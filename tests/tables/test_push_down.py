"""What of a window is not read: a table of chains, and that every record left unread would be dropped by that stage."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.authoring.transform import Transform
from dagster_smt.chain import parse_chain
from dagster_smt.effects.condition import FieldPasses, ValuePasses
from dagster_smt.effects.effect import Reject
from dagster_smt.effects.passing import passes
from dagster_smt.errors import ConfigError
from dagster_smt.interpret.interpreter import DROPPED_STATUS, FAILED, Interpreter
from dagster_smt.model.paths.connect import FieldPath
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.push_down import explained, narrowed
from dagster_smt.tables.rows.row_stages import with_row
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.values.java import regex as java_regex
from dagster_smt.values.value_rule import ValueRule

KAFKA, CONFLUENT = "org.apache.kafka.connect.transforms.", "io.confluent.connect.transforms."
AIVEN = "io.aiven.kafka.connect.transforms.FilterByFieldValue$Value"
PREDICATES = {
    "orders": {"type": KAFKA + "predicates.TopicNameMatches", "pattern": "orders"},
    "tombstone": {"type": KAFKA + "predicates.RecordIsTombstone"},
    "traced": {"type": KAFKA + "predicates.HasHeaderKey", "name": "trace"},
    "third": {"type": "io.aiven.kafka.connect.predicates.FieldValueMatches", "field": "partition", "value": "3"},
    "many": {"type": "io.aiven.kafka.connect.predicates.FieldValueMatches", "field": "part", "value.pattern": "[12]"},
}
"""By the names that stages of these tests give them."""
COLUMNS = (
    "id BIGINT, name STRING, `offset` BIGINT METADATA VIRTUAL, position INT METADATA FROM 'offset' VIRTUAL, "
    "place STRING METADATA FROM 'offset' VIRTUAL, partition INT METADATA VIRTUAL, "
    "part STRING METADATA FROM 'partition' VIRTUAL, topic STRING METADATA, at BIGINT METADATA FROM 'timestamp' VIRTUAL"
)
WITHOUT_SCHEMA = COLUMNS.removeprefix("id BIGINT, name STRING, ")
"""No column of the value: values keep all their fields, and have no schema."""


def keep(condition, side="Value", **more):
    return {"type": f"{CONFLUENT}Filter${side}", "filter.condition": condition, "filter.type": "include", **more}


def drop(condition, side="Value", **more):
    return keep(condition, side, **more) | {"filter.type": "exclude"}


def aiven(**options):
    return {"type": AIVEN, **{f"field.{k.replace('_', '.')}": v for k, v in options.items()}}


def if_(stage, predicate):
    return {**stage, "predicate": predicate.removeprefix("!"), "negate": str(predicate.startswith("!")).lower()}


ALL = {"type": KAFKA + "Filter"}
TOMBSTONES = if_(ALL, "tombstone")
MASK = {"type": KAFKA + "MaskField$Value", "fields": "name"}
CHANGED = {"type": KAFKA + "ReplaceField$Value", "renames": "offset:old,id:offset"}


def chain_of(*stages):
    result = {"transforms": ",".join(f"s{n}" for n in range(len(stages)))}
    used = {stage["predicate"] for stage in stages if "predicate" in stage}
    result |= {"predicates": ",".join(sorted(used))} if used else {}
    for n, stage in enumerate(stages):
        result |= {f"transforms.s{n}.{key}": value for key, value in stage.items()}
    for name in used:
        result |= {f"predicates.{name}.{key}": value for key, value in PREDICATES[name].items()}
    return parse_chain(result)


def table_of(push_down="no-tombstones", columns=COLUMNS, **more):
    return TopicTable(FileTopics(Path("topics")), ("orders",), columns=columns, push_down=push_down, **more)


def no_times(topics, millis):
    raise AssertionError("nobody should ask")


@dataclass
class Case:
    """``read`` and ``unread`` as ``topic-partition start:end``; the window is offsets 0 to 200 of ``places``."""

    name: str
    stages: tuple
    read: str
    unread: dict[str, str] = field(default_factory=dict)
    push_down: str = "no-tombstones"
    columns: str = COLUMNS
    places: str = "orders-0"


OFFSET = keep("$[?(@.offset >= 100)]")
NONE, WHOLE = "", "orders-0 0:200"
HALF = ("orders-0 100:200", {"s0": "orders-0 0:100"})
TWO = "orders-0, orders-1"
CASES = [
    Case("at least", (OFFSET,), *HALF),
    Case("more than", (keep("$[?(@.offset > 99)]"),), *HALF),
    Case("more than a fraction", (keep("$[?(@.offset > 99.5)]"),), *HALF),
    Case("at least a fraction", (keep("$[?(@.offset >= 99.5)]"),), *HALF),
    Case("less than", (keep("$[?(@.offset < 100)]"),), "orders-0 0:100", {"s0": "orders-0 100:200"}),
    Case("at most", (keep("$[?(@.offset <= 99)]"),), "orders-0 0:100", {"s0": "orders-0 100:200"}),
    Case("at most a fraction", (keep("$[?(@.offset <= 99.5)]"),), "orders-0 0:100", {"s0": "orders-0 100:200"}),
    Case("one", (keep("$[?(@.offset == 7)]"),), "orders-0 7:8", {"s0": "orders-0 0:7, orders-0 8:200"}),
    Case("one, as a text", (keep("$[?(@.offset == '7')]"),), "orders-0 7:8", {"s0": "orders-0 0:7, orders-0 8:200"}),
    Case("never one", (keep("$[?(@.offset == 7.5)]"),), NONE, {"s0": "orders-0 0:200"}),
    Case("no order with a text", (keep("$[?(@.offset > '7')]"),), NONE, {"s0": "orders-0 0:200"}),
    Case("another kind", (keep("$[?(@.offset === '7')]"),), NONE, {"s0": "orders-0 0:200"}),
    Case("some: what is between is read", (keep("$[?(@.offset in [7, 9])]"),), "orders-0 7:10",
         {"s0": "orders-0 0:7, orders-0 10:200"}),
    Case("all but some", (keep("$[?(@.offset nin [0, 7])]"),), "orders-0 1:200", {"s0": "orders-0 0:1"}),
    Case("all but one in the middle", (keep("$[?(@.offset != 7)]"),), WHOLE),
    Case("a range", (keep("$[?(@.offset >= 10 && @.offset < 20)]"),), "orders-0 10:20",
         {"s0": "orders-0 0:10, orders-0 20:200"}),
    Case("not a range", (keep("$[?(!(@.offset >= 10 && @.offset < 300))]"),), "orders-0 0:10",
         {"s0": "orders-0 10:200"}),
    Case("dropped below", (drop("$[?(@.offset < 100)]"),), *HALF),
    Case("dropped above", (drop("$[?(@.offset >= 100)]"),), "orders-0 0:100", {"s0": "orders-0 100:200"}),
    Case("beyond 64 bits", (keep("$[?(@.offset < 1e99999999)]"),), WHOLE),
    Case("far beyond", (keep("$[?(@.offset > 1e99999999)]"),), NONE, {"s0": "orders-0 0:200"}),
    Case("it is there", (keep("$[?(@.offset)]"),), WHOLE),
    Case("it is not there", (keep("$[?(!@.offset)]"),), NONE, {"s0": "orders-0 0:200"}),
    Case("and what only the record knows", (keep("$[?(@.id > 3 && @.offset >= 100)]"),), *HALF),
    Case("or what only the record knows", (keep("$[?(@.id > 3 || @.offset >= 100)]"),), WHOLE),
    Case("not both", (drop("$[?(@.id > 3 && @.offset < 100)]"),), WHOLE),
    Case("either dropped", (drop("$[?(@.id > 3 || @.offset < 100)]"),), *HALF),
    Case("a name behind it", (keep("$[?(@.offset >= 100)].id"),), *HALF),
    Case("a name behind it, dropped", (drop("$[?(@.offset < 100)].id"),), WHOLE),
    Case("a second filter behind it", (keep("$[?(@.offset >= 50)][?(@.offset >= 100)]"),), *HALF),
    Case("a name before it", (keep("$.id[?(@.offset >= 100)]"),), WHOLE),
    Case("below it", (keep("$[?(@.offset.x >= 100)]"),), WHOLE),
    Case("an expression", (keep("$[?(@.offset =~ /1.*/)]"),), WHOLE),
    Case("of the key", (keep("$[?(@.offset >= 100)]", "Key"),), WHOLE),
    Case("as an INT", (keep("$[?(@.position >= 100)]"),), *HALF),
    Case("as a text", (keep("$[?(@.place >= '100')]"),), WHOLE),
    Case("as another name", (OFFSET,), *HALF, columns="id INT, `offset` BIGINT METADATA"),
    Case("a field of the value of that name", (OFFSET,), WHOLE,
         columns="`offset` BIGINT, o BIGINT METADATA FROM 'offset'"),
    Case("a header of that name", (OFFSET,), WHOLE, columns="id INT, `offset` BYTES HEADER('offset')"),
    Case("no columns", (OFFSET,), WHOLE, columns=""),
    Case("without schema", (OFFSET,), *HALF, columns=WITHOUT_SCHEMA),
    # partitions and topics
    Case("a partition", (keep("$[?(@.partition == 1)]"),), "orders-1 0:200", {"s0": "orders-0 0:200"}, places=TWO),
    Case("a partition as a text", (keep("$[?(@.part == '1')]"),), "orders-1 0:200", {"s0": "orders-0 0:200"},
         places=TWO),
    Case("a text and a number", (keep("$[?(@.part == 1)]"),), "orders-1 0:200", {"s0": "orders-0 0:200"}, places=TWO),
    Case("an order of texts", (keep("$[?(@.part > '0')]"),), "orders-1 0:200", {"s0": "orders-0 0:200"}, places=TWO),
    Case("an expression on it", (drop("$[?(@.partition =~ /[0-4]/)]"),), NONE, {"s0": "orders-0 0:200, orders-1 0:200"},
         places=TWO),
    Case("by partition", (keep("$[?((@.partition == 0 && @.offset >= 100) || (@.partition == 1 && @.offset < 5))]"),),
         "orders-0 100:200, orders-1 0:5", {"s0": "orders-0 0:100, orders-1 5:200"}, places=TWO),
    Case("a topic", (drop("$[?(@.topic == 'orders')]"),), "other-0 0:200", {"s0": "orders-0 0:200"},
         places="orders-0, other-0"),
    Case("Aiven's filter of a text", (aiven(name="topic", value="orders"),), "orders-0 0:200", {"s0": "other-0 0:200"},
         places="orders-0, other-0"),
    Case("with a pattern", (aiven(name="partition", value_pattern="^1$", value_matches="false"),), "orders-0 0:200",
         {"s0": "orders-1 0:200"}, places=TWO),
    Case("a number, whose class may be another", (aiven(name="partition", value="1"),), NONE,
         {"s0": "orders-0 0:200, orders-1 0:200"}, places=TWO),
    Case("its class depends on the schema", (aiven(name="partition", value="40000"),), "orders-40000 0:200",
         {"s0": "orders-0 0:200"}, places="orders-0, orders-40000"),
    Case("so both are possible", (aiven(name="partition", value="40000", value_matches="false"),),
         "orders-0 0:200, orders-40000 0:200", places="orders-0, orders-40000"),
    Case("of offsets it is not known", (aiven(name="offset", value="100"),), WHOLE),
    Case("nor where it fails", (aiven(name="topic", value="null"),), WHOLE),
    # predicates
    Case("a topic's name", (if_(ALL, "orders"),), "other-0 0:200", {"s0": "orders-0 0:200"}, "exact", "",
         "orders-0, other-0"),
    Case("another topic's name", (if_(ALL, "!orders"),), "orders-0 0:200", {"s0": "other-0 0:200"}, "exact", "",
         "orders-0, other-0"),
    Case("a predicate on a column", (if_(ALL, "!third"),), "orders-3 0:200", {"s0": "orders-0 0:200"}, "exact",
         places="orders-0, orders-3"),
    Case("a predicate that finds nothing in a tombstone", (if_(ALL, "many"),), "orders-0 0:200, orders-1 0:200", {},
         "exact", places=TWO),
    Case("the same where there is none", (if_(ALL, "many"),), "orders-0 0:200", {"s0": "orders-1 0:200"}, places=TWO),
    Case("a guarded condition", (if_(OFFSET, "orders"),), "orders-0 100:200, other-0 0:200", {"s0": "orders-0 0:100"},
         places="orders-0, other-0"),
    Case("a guard that only the record knows", (if_(OFFSET, "traced"),), WHOLE),
    Case("no record is a tombstone", (if_(OFFSET, "!tombstone"),), *HALF),
    Case("no record gets there", (if_(OFFSET, "tombstone"),), WHOLE),
    # several stages
    Case("one after the other", (OFFSET, keep("$[?(@.offset < 150)]")), "orders-0 100:150",
         {"s0": "orders-0 0:100", "s1": "orders-0 150:200"}),
    Case("the first drops it", (OFFSET, keep("$[?(@.offset >= 150)]")), "orders-0 150:200",
         {"s0": "orders-0 0:100", "s1": "orders-0 100:150"}),
    Case("one that may drop it before", (keep("$[?(@.id > 3)]"), OFFSET), WHOLE),
    Case("one that may drop it before, in part", (keep("$[?(@.id > 3 || @.offset < 20)]"), drop("$[?(@.offset < 50)]")),
         "orders-0 20:200", {"s1": "orders-0 0:20"}),
    Case("behind a stage that does more", (MASK, OFFSET), WHOLE),
    Case("behind another column of that name", (CHANGED, OFFSET), WHOLE),
    Case("before a stage that does more", (OFFSET, MASK), *HALF),
    # tombstones
    Case("off", (OFFSET,), WHOLE, {}, "off"),
    Case("tombstones pass", (OFFSET,), WHOLE, {}, "exact"),
    Case("nobody knows which stage it is", (TOMBSTONES, OFFSET), WHOLE, {}, "exact"),
    Case("there is no tombstone", (TOMBSTONES, OFFSET), "orders-0 100:200", {"s1": "orders-0 0:100"}),
    Case("Confluent's way with tombstones", ({"type": CONFLUENT + "TombstoneHandler"}, OFFSET), "orders-0 100:200",
         {"s1": "orders-0 0:100"}),
    Case("a stage for both", (if_(ALL, "!third"), OFFSET), "orders-3 0:200", {"s0": "orders-0 0:200"}, "exact",
         places="orders-0, orders-3"),
]  # fmt: skip


def text_of(ranges):
    return ", ".join(f"{r.topic}-{r.partition} {r.start}:{r.end}" for r in ranges)


def window_of(places):
    results = (place.split("-") for place in places.split(", "))
    return Window(tuple(Range(topic, int(partition), 0, 200) for topic, partition in results))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("kind", ["columns", "records"])
def test_what_is_read(case, kind):
    table = table_of(case.push_down, case.columns)
    chain = with_row(chain_of(*case.stages), table, kind)
    result = narrowed(window_of(case.places), chain, table, None)
    assert text_of(result.window.ranges) == case.read
    assert {u.alias: text_of(u.ranges) for u in result.unread} == case.unread
    for unread in result.unread:
        assert chain.stages[unread.stage].alias == unread.alias
        assert unread.records == sum(r.records for r in unread.ranges) and {unread.topic} == {
            r.topic for r in unread.ranges
        }


def test_a_pattern_that_is_given_up_leaves_nothing_out(monkeypatch):
    """The records are read, and each is a dead letter: the run does not end before."""
    monkeypatch.setattr(java_regex, "SECONDS", 0.1)
    topic = "a" * 40 + "!"
    predicate = {"type": KAFKA + "predicates.TopicNameMatches", "options": {"pattern": "(a|aa)+$"}}
    chain = parse_chain([{"alias": "f", "type": ALL["type"], "predicate": predicate}])
    for kind in ("columns", "records"):
        table = table_of("exact", COLUMNS)
        window = window_of(f"{topic}-0, orders-0")
        result = narrowed(window, with_row(chain, table, kind), table, None)
        assert result.window == window and not result.unread


TIMES = [
    ("at least", keep("$[?(@.at >= 1000)]"), 1000),
    ("more than", keep("$[?(@.at > 999)]"), 1000),
    ("equal", keep("$[?(@.at == 1000)]"), 1000),
    ("one of some", keep("$[?(@.at in [2000, 1000])]"), 1000),
    ("a range", keep("$[?(@.at >= 1000 && @.at < 2000)]"), 1000),
    ("or later", keep("$[?(@.at >= 1000 || @.at > 5000)]"), 1000),
    ("at most", keep("$[?(@.at <= 1000)]"), None),
    ("less than", keep("$[?(@.at < 1000)]"), None),
    ("not less: a null is not, either", drop("$[?(@.at < 1000)]"), None),
    ("another", keep("$[?(@.at != 1000)]"), None),
    ("before the first", keep("$[?(@.at >= 0)]"), None),
    ("brokers mean something else by it", keep("$[?(@.at >= -1)]"), None),
    ("and by it", keep("$[?(@.at >= -2)]"), None),
    ("a moment without schema", keep("$[?(@.moment >= 1000)]"), None),
]


@pytest.mark.parametrize(("stage", "millis"), [t[1:] for t in TIMES], ids=[t[0] for t in TIMES])
def test_a_lower_end_of_timestamps_is_an_offset(stage, millis):
    """An upper one is none: timestamps need not be in order."""
    asked = []

    def offsets_at(topics, at):
        asked.append((tuple(topics), at))
        return {("orders", 0): 60 if at == 1000 else 199}

    table = table_of(columns=WITHOUT_SCHEMA + ", moment TIMESTAMP METADATA FROM 'timestamp'")
    chain = with_row(chain_of(stage), table, "records")
    result = narrowed(window_of("orders-0"), chain, table, offsets_at)
    assert text_of(result.window.ranges) == ("orders-0 0:200" if millis is None else "orders-0 60:200")
    assert len(asked) == len(set(asked)) and (millis is None or (("orders",), millis) in asked)
    assert text_of(narrowed(window_of("orders-0"), chain, table, None).window.ranges) == "orders-0 0:200"


def test_where_records_tell_the_columns_all_are_read():
    chain = with_row(chain_of(OFFSET), table_of(), "columns")
    whole = window_of("orders-0")
    assert narrowed(whole, chain, table_of(), None, found_schemas=True).window == whole


class IsOne(ValueRule):
    """Whether a text is 1."""

    def python(self, value):
        return value == "1"


class DropOne(Transform):
    """Drops the records of a partition by a value rule of its own."""

    connect_class = "com.example.DropOne"
    sided = False
    null = "drop"

    def effects(self):
        return (Reject(FieldPasses(FieldPath("part", ("part",)), ValuePasses(IsOne())), side="value"),)


def test_a_condition_of_ones_own_is_known_from_its_effects():
    table = table_of()
    chain = with_row(Chain((Stage("own", DropOne()),)), table, "columns")
    assert text_of(narrowed(window_of("orders-0, orders-1"), chain, table, None).window.ranges) == "orders-0 0:200"


def test_of_a_stage_that_does_more_than_drop_nothing_is_known():
    (stage,) = chain_of({"type": KAFKA + "RegexRouter", "regex": "a", "replacement": "b"}).stages
    assert passes(stage) is None


# --- every record that is not read would be dropped, and by that stage ---


@dataclass(frozen=True)
class Row:
    topic: str
    partition: int
    offset: int
    value: bytes | None
    timestamp: int | None


literals = st.one_of(st.integers(-2, 12).map(str), st.sampled_from(["2.5", "'3'", "'orders'", "null", "true", "1e30"]))
names = st.sampled_from(["offset", "position", "place", "partition", "part", "topic", "at", "id", "none"])
compared = st.tuples(names, st.sampled_from("== != === !== < <= > >=".split()), literals).map(
    lambda t: f"@.{t[0]} {t[1]} {t[2]}"
)
listed = st.tuples(names, st.sampled_from(["in", "nin"]), st.lists(st.integers(0, 9), min_size=1, max_size=3)).map(
    lambda t: f"@.{t[0]} {t[1]} {t[2]}"
)
other = st.tuples(names, st.sampled_from(["@.{}", "!@.{}", "@.{} =~ /[1-5o].*/"])).map(lambda t: t[1].format(t[0]))
tests = st.recursive(
    st.one_of(compared, listed, other).map(lambda text: f"({text})"),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' && '.join(parts)})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' || '.join(parts)})"),
        inner.map(lambda text: f"(!{text})"),
    ),
    max_leaves=4,
)
conditions = st.one_of(tests.map("$[?{}]".format), tests.map("$[?{}].id".format))
yes_or_no = st.sampled_from(["true", "false"])
equal = st.builds(
    aiven,
    name=st.sampled_from(["topic", "partition", "part", "offset"]),
    value=st.sampled_from(["1", "orders"]),
    value_matches=yes_or_no,
)
aiven_chains = st.builds(
    aiven,
    name=st.sampled_from(["topic", "partition", "place"]),
    value_pattern=st.sampled_from(["^1", "o", "[2-5]"]),
    value_matches=yes_or_no,
)
jsonpath = st.builds(lambda condition, kind: kind(condition), conditions, st.sampled_from([keep, drop]))
filters = st.one_of(jsonpath, equal, aiven_chains, st.just({"type": CONFLUENT + "TombstoneHandler"}))
guards = st.sampled_from([*PREDICATES, *(f"!{name}" for name in PREDICATES)])
guarded = st.builds(if_, st.just(ALL), guards)
stages = st.one_of(filters, guarded, guarded, st.builds(if_, filters, guards), st.just(MASK))
objects = st.integers(0, 9).map(lambda n: json.dumps({"id": n, "name": "x"}).encode())
values = st.one_of(st.none(), st.just(b"null"), objects)
TOPICS = [("orders", 0), ("orders", 3), ("other", 1)]


def outcomes(chain, table, records):
    """What becomes of each record: its status, and the stage that dropped it."""
    interpreter = Interpreter(chain, table.key, table.value)
    results = []
    for r in records:
        record = Record(r.topic, r.partition, r.offset, r.timestamp, "CreateTime")
        outcome, _, _ = interpreter.process(record, None, r.value)
        results.append((outcome.status, outcome.stage))
    return results


@pytest.mark.parametrize("push_down", ["exact", "no-tombstones"])
@pytest.mark.parametrize("columns", [COLUMNS, WITHOUT_SCHEMA], ids=["schema", "schemaless"])
@given(data=st.data())
def test_what_is_not_read_would_be_dropped_by_that_stage(push_down, columns, data):
    chain = chain_of(*data.draw(st.lists(stages, min_size=1, max_size=3)))
    there = values if push_down == "exact" else objects
    times = st.one_of(st.none(), st.integers(-1, 12))
    records = [Row(*place, offset, data.draw(there), data.draw(times)) for place in TOPICS for offset in range(8)]

    def offsets_at(topics, millis):
        result = dict.fromkeys(TOPICS, 8)
        for r in reversed(records):
            if r.timestamp is not None and r.timestamp >= millis:
                result[r.topic, r.partition] = r.offset
        return result

    table = table_of(push_down, columns, value=Format())
    chain = with_row(chain, table, "records")
    window = Window(tuple(Range(*place, 0, 8) for place in TOPICS))
    outcome = narrowed(window, chain, table, offsets_at)
    stage_of = {
        (r.topic, r.partition, n): u.stage for u in outcome.unread for r in u.ranges for n in range(r.start, r.end)
    }
    read = {(r.topic, r.partition, n) for r in outcome.window.ranges for n in range(r.start, r.end)}
    assert len(stage_of) + len(read) == 24 and not read & stage_of.keys()
    for record, (status, stage) in zip(records, outcomes(chain, table, records), strict=True):
        if (place := (record.topic, record.partition, record.offset)) in stage_of and status != FAILED:
            assert (status, stage) == (DROPPED_STATUS, stage_of[place])


# --- options ---


def test_the_option_is_spelled_in_statements():
    statement = "CREATE TABLE t (id INT) WITH ('connector'='kafka', 'topic'='orders'{})"
    there = FileTopics(Path("topics"))
    for word in ("off", "exact", "no-tombstones"):
        assert TopicTable.create(statement.format(f", 'scan.push-down'='{word}'"), there).push_down == word
    assert TopicTable.create(statement.format(""), there).push_down == "off"
    with pytest.raises(ConfigError, match=r"SMT270 WITH 'scan\.push-down'"):
        TopicTable.create(statement.format(", 'scan.push-down'='on'"), there)
    with pytest.raises(ConfigError, match="SMT584 push_down: unknown value: on"):
        table_of("on")


def test_it_is_explained():
    def lines(*stages, push_down="exact", kind="columns"):
        table = table_of(push_down)
        return explained(with_row(chain_of(*stages), table, kind), table)

    pass_ = "; and tombstones, so the run reads all records unless push-down is no-tombstones"
    assert lines(MASK) == lines(keep("$[?(@.id > 3)]")) == []
    assert lines(OFFSET, push_down="no-tombstones")[1] == "stage 's0' keeps records by offset: only offsets from 100"
    assert lines(OFFSET) == ["push-down is exact", f"stage 's0' keeps records by offset: only offsets from 100{pass_}"]
    assert lines(
        if_(ALL, "!third"), keep("$[?(@.offset >= 5 && @.offset < 9 && @.topic == 'a')]"), push_down="off"
    ) == [
        "push-down is off",
        "stage 's0' keeps records by partition",
        f"stage 's1' keeps records by offset, topic: only offsets from 5 to 8{pass_}",
    ]
