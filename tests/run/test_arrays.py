"""Topic tables that make rows of arrays: what comes out; and that records are still counted, found and run again."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dagster_smt.errors import ConfigError, RecordsRejected, TableError, UnsupportedError
from dagster_smt.model.topics.format import Format
from dagster_smt.orchestration.checks import rows_match_offsets
from dagster_smt.run.batch import run
from dagster_smt.run.micro_batch import MicroBatches, run_batches
from dagster_smt.tables.sink_options import DeltaSink, FileTopicSink, IcebergSink
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sources.file_writer import NewRecord
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.window_request import WindowRequest
from dagster_smt.tables.written_formats import written_formats
from tests.run.world import CHAIN, MASK, SECRET, World, window

ARRAYS = {"arrays-as-rows": "true"}
COLUMNS = {
    "id": "INT NOT NULL",
    "name": "STRING",
    "k": "STRING KEY",
    "at": "BIGINT METADATA FROM 'timestamp'",
    "trace": {"type": "STRING", "header": "trace", "decode": "utf8"},
}
LETTERS = {"errors_tolerance": "all", "dead_letter_topic": "orders.dead"}
REDRIVE = WindowRequest(redrive=True)


def one(number: int) -> str:
    return json.dumps({"id": number, "name": SECRET})


def record(*parts: str, array: bool = True, number: int = 0) -> NewRecord:
    text = f" [{', '.join(parts)}]" if array else parts[0]
    return NewRecord(b"k%d" % number, text.encode(), (("trace", b"t%d" % number),), 1000 + number)


class Arrays(World):
    """A world whose topic table makes rows of arrays."""

    sink: DeltaSink | IcebergSink | None = None

    def spec(self, chain=MASK, columns=COLUMNS, options=ARRAYS, **changes):
        table = TopicTable(self.topics, ("orders",), columns=columns, value=Format("json", options=options))
        sink = self.sink or DeltaSink(self.folder / "table", "columns")
        return replace(super().spec(chain, "columns", **changes), table=table, sink=sink)

    def places(self):
        """Partition, offset and identifier of each row."""
        rows = (self.table if self.sink is None else open_table(self.session, self.sink)).read().collect()
        return sorted((r["_source_partition"], r["_source_offset"], r["id"]) for r in rows)


@pytest.fixture
def world(spark, tmp_path):
    return Arrays(tmp_path, spark)


def counts(report):
    return report.records_in, report.rows_in, report.records_out, report.dropped, report.failed, report.failed_records


def test_each_object_is_a_row_with_what_its_record_has(world):
    world.add(record(one(1), one(2)), record(one(3), array=False, number=1), record(one(4), number=2))
    world.add(record(one(5), one(6), one(7), number=3), partition=1)
    report = world.run()
    names = ("id", "name", "k", "at", "trace", "_source_topic", "_source_partition", "_source_offset")
    assert sorted(tuple(r[n] for n in names) for r in world.table.read().collect()) == [
        (1, "", "k0", 1000, "t0", "orders", 0, 0),
        (2, "", "k0", 1000, "t0", "orders", 0, 0),
        (3, "", "k1", 1001, "t1", "orders", 0, 1),
        (4, "", "k2", 1002, "t2", "orders", 0, 2),
        *((n, "", "k3", 1003, "t3", "orders", 1, 0) for n in (5, 6, 7)),
    ]
    assert counts(report) == (4, 7, 7, 0, 0, 0)
    assert world.state.rows == {"orders": 7}
    assert [(s.alias, s.records_in) for s in report.stages] == [("columns", 7), ("mask", 7)]
    assert {line.entry.path: line.records for line in report.ledger if line.entry.action == "masked"} == {"name": 7}
    assert world.run().status == "empty"


NO_ROW = "the value does not fit the declared type struct?"
NULL = "a null key or value cannot be used for [mask fields]"
ONE_VALUE = [  # a value, identifiers of its rows, rows dropped, problems of the records' letters
    ("[]", [], 1, ""),
    (" \t\r\n[ \n] ", [], 1, ""),
    (f"[{one(1)}]", [1], 0, ""),
    (f"\n[ {one(1)} ,\t{one(2)}\r\n]\n", [1, 2], 0, ""),
    (f"[{one(1)},{one(1)}]", [1, 1], 0, ""),
    (one(1), [1], 0, ""),
    ('{"id":[1]}', [], 0, "SMT414 id does not fit the declared type int32"),
    (f"[{one(1)},null]", [1], 0, "SMT402 element [1] of the array: " + NULL),
    (f"[{one(1)},{{}}]", [1], 0, "SMT401 element [1] of the array: null in the required field 'id'"),
    (f"[7,{one(1)}]", [1], 0, "SMT414 element [0] of the array: " + NO_ROW),
    (f'[{one(1)},{{"id":"x"}}]', [1], 0, "SMT414 element [1] of the array: id does not fit the declared type int32"),
    (f'["a",{one(1)},true]', [1], 0, "SMT414 element [0] of the array: " + NO_ROW),
    (f"[[{one(1)}]]", [], 0, "SMT414 element [0] of the array: " + NO_ROW),
    (f"[{one(1)},1e999]", [1], 0, "SMT414 element [1] of the array: " + NO_ROW),
    (f"[{one(1)}", [], 0, "SMT411 the text is not valid JSON in UTF-8"),
    (f"[{one(1)},]", [], 0, "SMT411 the text is not valid JSON in UTF-8"),
    (f"[{one(1)}] x", [], 0, "SMT411 the text is not valid JSON in UTF-8"),
    (f'[{one(1)},{{"id":01}}]', [], 0, "SMT411 the text is not valid JSON in UTF-8"),
    (b'[{"id":1},{"id":2,"name":"\xff"}]', [], 0, "SMT411 the text is not valid JSON in UTF-8"),
    ('[{"id":1},{"id":2,"name":"\u00fc\U0001f600"}]', [1, 2], 0, ""),
    ("[" * 1001 + "]" * 1001, [], 0, "SMT411 the JSON is nested too deeply"),
    (b"\xef\xbb\xbf" + f"[{one(1)},{one(2)}]".encode(), [1, 2], 0, ""),
    (f"[{one(1)},{one(2)}]".encode("utf-16-le"), [1, 2], 0, ""),
    (one(1).encode("utf-32"), [1], 0, ""),
    (f"[{one(1)}".encode("utf-16"), [], 0, "SMT411 the text is not valid JSON in UTF-8"),
    (" ", [], 0, "SMT411 the text is not valid JSON in UTF-8"),
    ("", [], 0, "SMT402 " + NULL),
]  # fmt: skip


def test_values(world):
    """One window with all of them: each is read as it would be alone."""
    world.add(*(NewRecord(b"k", v if isinstance(v, bytes) else v.encode()) for v, *_ in ONE_VALUE))
    report = world.run(**LETTERS)
    results = [(0, n, i) for n, (_, result, *_) in enumerate(ONE_VALUE) for i in result]
    assert world.places() == sorted(results)
    letters = {int(header(r, "offset")): header(r, "exception.message") for r in world.dead()}
    assert letters == {n: problem for n, (*_, problem) in enumerate(ONE_VALUE) if problem}
    assert len(world.dead()) == len(letters) == report.failed_records
    originals = {int(header(r, "offset")): bytes(r.value).decode("latin-1") for r in world.dead()}
    assert all(originals[n] == (v.decode("latin-1") if isinstance(v, bytes) else v.encode().decode("latin-1"))
               for n, (v, *_) in enumerate(ONE_VALUE) if n in letters)  # fmt: skip
    assert (report.records_in, report.empty, report.dropped) == (len(ONE_VALUE), 2, sum(d for *_, d, _ in ONE_VALUE))
    assert report.rows_in == report.records_out + report.dropped + report.failed
    assert SECRET not in str(report) + str(letters) + "".join(world.lines)


def header(row, name):
    return next(bytes(h.value).decode() for h in row.headers if h.key == f"__connect.errors.{name}")


def test_stages_run_on_each_element(world):
    """A null element is a tombstone to them; what they cast and refuse is of one element."""
    chain = {**CHAIN, "transforms.mask.fields": "name", "transforms.cast.spec": "amount:int32"}
    columns = {"id": "INT", "name": "STRING", "amount": "STRING"}
    world.add(record('{"id":1,"amount":"5"}', "null", '{"id":2,"amount":"x"}', '{"id":3}', '{"id":4,"amount":"y"}'))
    report = world.run(chain, columns=columns, **LETTERS)
    assert sorted((r.id, r.amount) for r in world.table.read().collect()) == [(1, 5), (3, None)]
    assert counts(report) == (1, 5, 2, 1, 2, 1)
    assert [(s.alias, s.records_in, s.dropped, s.failed) for s in report.stages] == [
        ("columns", 5, 0, 0), ("drop", 5, 1, 0), ("cast", 4, 0, 2), ("mask", 2, 0, 0),
    ]  # fmt: skip
    ((reject,), (letter,)) = report.rejects, world.dead()
    assert (reject.stage, reject.problem.statement[:24]) == ("cast", "element [2] of the array")
    assert header(letter, "exception.message").startswith(f"{reject.problem.code} element [2] of the array: ")


def test_without_tolerance_the_run_names_the_element(world):
    world.add(record(one(1)), record(one(2), one(3), '{"id":"x"}', '{"id":"y"}'), record("[]", array=False))
    with pytest.raises(RecordsRejected) as caught:
        world.run()
    first, summary = map(str, caught.value.problems)
    assert first.startswith("SMT414 orders-0@1 value.converter: element [2] of the array: id does not fit")
    assert summary.startswith("SMT530 orders: 1 of 3 records failed; nothing was committed")
    assert world.state is None


@pytest.mark.parametrize("bad", ["key", "timestamp"])
def test_what_is_wrong_with_the_whole_record_is_one_letter(world, bad):
    key, at = (b"\xff", 5) if bad == "key" else (b"k", 2**62)
    world.add(*(NewRecord(key, value.encode(), (), at) for value in (f"[{one(1)},{one(2)}]", "[]")), record(one(3)))
    report = world.run(**LETTERS)
    assert counts(report) == (3, 4, 1, 0, 3, 2)
    code = "SMT416 the text" if bad == "key" else "SMT429 element [0] of the array: the record's timestamp"
    assert header(world.dead()[0], "exception.message").startswith(code)


SINKS = [lambda f: DeltaSink(f / "table", "columns"), lambda f: IcebergSink(f / "table", "columns")]


@pytest.mark.parametrize("result", [SINKS[0], pytest.param(SINKS[1], marks=pytest.mark.long)], ids=["delta", "iceberg"])
def test_a_redrive_replaces_the_rows_of_the_whole_record(world, result):
    world.sink = result(world.folder)
    strict = {**COLUMNS, "name": "STRING NOT NULL"}
    world.add(record(one(1), '{"id":2}', one(3)), record(one(4), one(5)), record("[]", array=False))
    world.add(record('{"id":6}', '{"id":7}'), record(one(8), array=False), record('{"id":9}'), partition=1)
    report = world.run(columns=strict, **LETTERS)
    rest = [(0, 1, 4), (0, 1, 5), (1, 1, 8)]
    assert counts(report) == (6, 10, 5, 1, 4, 3)
    assert world.places() == sorted([(0, 0, 1), (0, 0, 3), *rest])
    state = open_table(world.session, world.sink).state()
    assert (state.rows, state.failed.to_json()) == ({"orders": 5}, {"orders": {"0": [[0, 1]], "1": [[0, 1], [2, 3]]}})
    again = world.run(columns=strict, window=REDRIVE, **LETTERS)  # it fails again: what was fine is still there, once
    assert counts(again) == (3, 6, 2, 0, 4, 3)
    assert world.places() == sorted([(0, 0, 1), (0, 0, 3), *rest]) and len(world.dead()) == 3
    mended = world.run(window=REDRIVE, **LETTERS)
    assert counts(mended) == (3, 6, 6, 0, 0, 0)
    assert world.places() == sorted([(0, 0, 1), (0, 0, 2), (0, 0, 3), (1, 0, 6), (1, 0, 7), (1, 2, 9), *rest])
    state = open_table(world.session, world.sink).state()
    assert (state.rows, bool(state.failed), state.roughly) == ({"orders": 9}, False, False)
    assert world.run(window=REDRIVE, **LETTERS).status == "empty"


@pytest.mark.long
def test_a_redrive_without_the_option_leaves_no_half_records(world):
    """Whoever takes the option away finds the record as a dead letter, and no row of it."""
    world.add(record(one(1), '{"id":"2"}'), record(one(3), array=False))
    world.run(**LETTERS)
    report = world.run(options={}, window=REDRIVE, **LETTERS)
    assert counts(report) == (1, 1, 0, 0, 1, 1)
    assert world.places() == [(0, 1, 3)] and world.state.rows == {"orders": 1}


@pytest.mark.long
def test_a_table_that_does_not_tell_where_rows_come_from_has_no_redrive_of_half_records(world):
    world.sink = DeltaSink(world.folder / "table", "columns", source_columns=None)
    world.add(record('{"id":"1"}', array=False))
    world.run(**LETTERS)
    assert world.run(window=REDRIVE, **LETTERS).failed == 1  # without rows there is nothing to replace
    world.add(record(one(2), '{"id":"3"}'))
    world.run(**LETTERS)
    with pytest.raises(TableError, match="SMT514"):
        world.run(window=REDRIVE, **LETTERS)


def test_windows_that_are_run_again_and_rebuilds_give_the_same(world):
    world.add(*(record(*(one(10 * n + i) for i in range(n)), number=n) for n in range(6)))
    first = world.run(key="run/step")
    before = world.places()
    assert (len(before), first.empty, first.dropped) == (15, 1, 1)
    assert world.run(key="run/step").status == "already committed"
    again = world.run(window=WindowRequest(explicit=window(2, 5)))
    assert counts(again) == (3, 9, 9, 0, 0, 0) and world.places() == before
    rebuilt = world.run(rebuild=True)
    assert counts(rebuilt) == counts(first) and world.places() == before
    assert world.state.rows == {"orders": 15}


@pytest.mark.long
def test_batches_count_records_and_rows(world):
    world.add(*(record(one(n), one(n + 100), number=n) for n in range(5)))
    reports = run_batches(world.spec(), world.session, MicroBatches(2), world.lines.append)
    assert [counts(r)[:3] for r in reports] == [(2, 4, 4), (2, 4, 4), (1, 2, 2)]
    assert len(world.places()) == 10


@pytest.mark.parametrize("lost", [1, -1])
def test_records_that_are_not_read_are_missed(world, monkeypatch, lost):
    """Elements do not stand in for a record that the source left out, or gave twice."""
    world.add(*(record(one(n), one(n + 100)) for n in range(4)))
    from dagster_smt.spark.evaluate import evaluate

    def losing(frame, *args):
        other = frame.where("offset < 3") if lost > 0 else frame.union(frame.where("offset = 0"))
        return evaluate(other, *args)

    with pytest.raises(TableError, match="SMT544"):
        run(world.spec(), world.session, evaluate=losing)


def test_checks_and_metadata_show_rows_beside_records(world):
    from dagster_smt.orchestration.checks import Evidence, no_dead_letters
    from dagster_smt.orchestration.metadata.run_metadata import RunContext, run_metadata
    from dagster_smt.orchestration.runs.execution import summary
    from dagster_smt.run.facts import table_facts
    from dagster_smt.tables.planning import plan_sink

    world.add(record(one(1), one(2), '{"id":"x"}', '{"id":"y"}'), record("[]", array=False))
    spec = world.spec(**LETTERS)
    report = run(spec, world.session)
    assert [(s.alias, s.records_in) for s in report.stages] == [("columns", 2), ("mask", 2)]
    plan = plan_sink(spec.chain, spec.table, spec.sink)
    facts = table_facts(spec, plan, world.session, report.window)
    evidence = Evidence(report=report, facts=facts)
    judged = rows_match_offsets(evidence)
    assert (judged.passed, judged.metadata["rows_in"], judged.metadata["rows_counted"]) == (True, 5, 2)
    assert no_dead_letters(evidence).statement == "1 of 2 records failed"
    assert "2 records in (5 rows), 2 out, 1 dropped, 1 dead letters" in summary(report)
    metadata = run_metadata(report, RunContext(plan, spec.sink, rows=2))
    names = ("records_in", "rows_in", "records_out", "records_dropped", "records_without_rows", "rows_failed")
    assert [metadata[f"dagster_smt/{n}"] for n in (*names, "records_dead_lettered")] == [2, 5, 2, 1, 1, 2, 1]
    head = "| records in | their rows | out | dropped | of these without a row | dead letters |"
    assert head in metadata["dagster_smt/report"].value


def test_masked_values_are_looked_for_in_elements(world):
    """A sample of the window is read once more for that, row by row."""
    from dagster_smt.run.facts import table_facts
    from dagster_smt.tables.planning import plan_sink

    text = json.dumps({"id": 1, "name": SECRET, "other": f"it is {SECRET}"})
    world.add(record(one(1), text))
    spec = world.spec(columns={**COLUMNS, "other": "STRING"})
    report, plan = run(spec, world.session), plan_sink(spec.chain, spec.table, spec.sink)
    facts = table_facts(spec, plan, world.session, report.window, search=True)
    assert facts.residue == {("value.name", "value.other"): 1}


def test_big_arrays(world):
    """More elements than a batch of Arrow has rows."""
    world.add(record(*(one(n) for n in range(3000))), record(one(3000)))
    assert counts(world.run())[:3] == (2, 3001, 3001)
    assert [i for *_, i in world.places()] == list(range(3001))


def test_the_example_of_the_documentation(world):
    page = (Path(__file__).parents[2] / "docs" / "topic-tables.md").read_text(encoding="utf-8")
    section = page[page.index("## Rows of arrays") : page.index("## Writing back")]
    statement, values = (re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)[0] for kind in ("sql", "json"))
    lines = re.findall(r"^\| (\w+) \| ([-.\w]+) \| (\d) \|$", section, re.MULTILINE)
    world.add(*(NewRecord(None, value.encode()) for value in values.splitlines()), topic="readings")
    statement = re.sub("  'properties.*\n", "", statement)
    table = TopicTable.create(statement, world.topics)
    spec = replace(world.spec({"transforms": ""}, **LETTERS), table=table)
    report = run(spec, world.session)
    rows = world.table.read().orderBy("offset", "celsius").collect()
    shown = sorted((r.sensor, "null" if r.celsius is None else str(r.celsius), str(r.offset)) for r in rows)
    assert shown == sorted(lines) and len(lines) == 4
    assert header(world.dead()[0], "exception.message").startswith("SMT401 element [1] of the array: ")
    assert (report.empty, report.dropped, report.failed_records) == (1, 1, 1)


ROW = {"columns": "id INT"}
REFUSED = [
    (lambda: {"value": Format("json", options=ARRAYS)}, ConfigError, "value.json.arrays-as-rows: the columns"),
    (lambda: {"value": Format("json", options=ARRAYS), "columns": "at BIGINT METADATA FROM 'timestamp'"},
     ConfigError, "SMT279 value.json.arrays-as-rows: the columns of a row are not declared"),
    (lambda: {**ROW, "key": Format("json", options=ARRAYS)}, ConfigError, "SMT279 key.json.arrays-as-rows"),
    (lambda: {**ROW, "value": Format("json", options=ARRAYS), "push_down": "exact"}, ConfigError,
     "SMT279 push_down: rows of arrays must be counted, so the run reads all of them"),
    (lambda: {**ROW, "value": Format("csv", options=ARRAYS)}, ConfigError,
     "SMT272 csv.arrays-as-rows: is not an option"),
    (lambda: {"value": Format("string", options=ARRAYS)}, ConfigError,
     "SMT272 string.arrays-as-rows: is not an option"),
    (lambda: {**ROW, "value": Format("json", options={"arrays-as-rows": "yes"})}, ConfigError,
     "SMT272 json.arrays-as-rows: is neither true nor false"),
]  # fmt: skip


@pytest.mark.parametrize(("result", "error", "message"), REFUSED)
def test_where_it_does_not_fit(tmp_path, result, error, message):
    from dagster_smt.tables.topic_table import FileTopics

    with pytest.raises(error) as caught:
        TopicTable(FileTopics(tmp_path), ("orders",), **result())
    assert message in str(caught.value)


def test_records_have_no_rows(tmp_path):
    from dagster_smt.tables.topic_table import FileTopics

    plain = TopicTable(FileTopics(tmp_path), ("orders",), columns="id INT")
    arrays = TopicTable(FileTopics(tmp_path), ("orders",), columns="id INT", value=Format("json", options=ARRAYS))
    into = [
        (arrays, FileTopicSink(tmp_path / "out")),
        (arrays, DeltaSink(tmp_path / "out")),
        (arrays, FileTopicSink(tmp_path / "out", value=Format())),
        (plain, FileTopicSink(tmp_path / "out", value=Format("json", options=ARRAYS))),
    ]
    for table, sink in into:
        with pytest.raises(UnsupportedError, match=r"SMT279 value.json.arrays-as-rows: only a table of columns"):
            written_formats(table, sink)
    off = TopicTable(
        FileTopics(tmp_path), ("orders",), columns="id INT", value=Format("json", options={"arrays-as-rows": "false"})
    )
    assert written_formats(off, FileTopicSink(tmp_path / "out")).value.schema is not None


def test_without_the_option_an_array_is_refused_and_told_of_it(world):
    world.add(record(one(1)), record('{"id":"x"}', array=False))
    report = world.run(options={}, **LETTERS)
    assert counts(report) == (2, 2, 0, 0, 2, 2)
    first, second = report.rejects
    assert first.problem.statement == "the value does not fit the declared type struct?"
    assert "json.arrays-as-rows" in first.problem.hint and not second.problem.hint
