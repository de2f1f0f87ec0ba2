"""What every sink does: one suite over all kinds of them; see ``kinds``."""

import subprocess
import sys
import threading

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from dagster_smt.errors import TableError
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.spark.versions import missing
from dagster_smt.tables.sinks.protocol import Replaced
from tests.tables.sinks.kinds import KINDS, NOTHING, ONE_OF_EACH, REPLACEABLE, TABLES, Delta, offsets, state

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def sink(request, spark, tmp_path):
    more = [request.getfixturevalue("broker").servers] if request.param is KINDS["kafka"] else []
    return request.param(spark, tmp_path, *more)


def over(kinds):
    """Run a test over kinds of sinks; a table by name is one by path for all but its opening, so CI leaves it."""
    twins = {f"{name} by name" for name in kinds}
    marks = {name: [pytest.mark.long] if name in twins else [] for name in kinds}
    params = [pytest.param(kind, marks=marks[name], id=name) for name, kind in kinds.items()]
    return pytest.mark.parametrize("sink", params, indirect=True)


def refused_code(call, *arguments):
    with pytest.raises(TableError) as caught:
        call(*arguments)
    problem = caught.value.problems[0]
    assert problem.hint
    return problem.code


# --- commits ---


@over(KINDS)
def test_commits_follow_each_other(sink):
    table = sink.open()
    assert table.state() is None and table.schema() is None
    one, two, three = state(1), state(2), state(3)
    written = table.commit(sink.rows(0, 1, 2), one, NOTHING, None)
    assert (written.rows, written.files) == (3, 1)
    assert sink.open().state() == one
    written = table.commit(sink.rows(3, 4), two, NOTHING, one)
    assert (written.rows, written.files) == (2, 1)
    assert table.state() == two and sink.held() == sink.plain() == sink.outside() == [0, 1, 2, 3, 4]
    written = table.commit(sink.rows(9).where("1 = 0"), three, NOTHING, two)
    assert written.rows == 0
    assert table.state() == three and sink.held() == sink.outside() == [0, 1, 2, 3, 4]


@over(ONE_OF_EACH)
def test_a_first_commit_without_rows(sink):
    frame = sink.rows(1)
    sink.open().commit(frame.limit(0), state(1), NOTHING, None)
    assert sink.open().state() == state(1) and not sink.open().holds_rows() and sink.held() == []
    if sink.columns:
        assert sink.open().schema().names == frame.columns


@over(KINDS)
def test_a_state_that_is_not_the_expected_one_is_refused(sink):
    table = sink.open()
    table.commit(sink.rows(1), state(1), NOTHING, None)
    table.commit(sink.rows(2), state(2), NOTHING, state(1))
    for expected in (None, state(1), state(2, "other")):
        assert refused_code(table.commit, sink.rows(9), state(3), NOTHING, expected) == "SMT528"
    assert sink.held() == [1, 2] and table.state() == state(2)


@over(KINDS)
@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.long)], ids=["new", "append"])
def test_of_two_writers_one_wins(sink, first):
    """The other one is told; nothing is doubled, nothing is lost."""
    expected, there = None, []
    if not first:
        expected, there = state(1), [0]
        sink.open().commit(sink.rows(0), expected, NOTHING, None)
    for turn in range(1 if first else 3):
        outcomes: dict[int, object] = {}
        barrier = threading.Barrier(2)

        def commit(me, outcomes=outcomes, barrier=barrier, expected=expected, turn=turn):
            table, frame = sink.open(), sink.rows(100 * turn + me)
            barrier.wait()
            try:
                outcomes[me] = table.commit(frame, state(turn + 2, f"writer{me}x{turn}"), NOTHING, expected)
            except Exception as error:  # noqa: BLE001 - whatever it is, the test tells
                outcomes[me] = error

        threads = [threading.Thread(target=commit, args=(me,)) for me in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (lost,) = [me for me, outcome in outcomes.items() if isinstance(outcome, Exception)]
        assert isinstance(outcomes[lost], TableError) and outcomes[lost].problems[0].code == "SMT528", outcomes
        expected = state(turn + 2, f"writer{1 - lost}x{turn}")
        there = sorted([*there, 100 * turn + 1 - lost])
        assert sink.open().state() == expected and sink.held() == sink.outside()
        if not sink.exact and sink.held() != there:  # at least once: the other one had written already
            there = sorted([*there, 100 * turn + lost])
        assert sink.held() == there


@over(ONE_OF_EACH)
def test_a_state_of_many_topics(sink):
    names = [f"topic-{n}" for n in range(300)]
    sink.read_from(*names)
    held = offsets_of([Range(name, 0, 0, n + 1) for n, name in enumerate(names)])
    big = TableState(1, "a", "columns", window=Window((Range(names[5], 0, 0, 6),)), held=held)
    sink.open().commit(sink.rows(1), big, NOTHING, None)
    result = sink.open().state()
    assert result == big and result.held == held and result.gaps == OffsetSet()


@over(ONE_OF_EACH)
def test_rows_without_a_state(sink):
    """As dead letters come into a table that many runs add to."""
    table = sink.open()
    table.append(sink.rows(1))
    table.append(sink.rows(2))
    assert sink.held() == [1, 2] and table.state() is None
    table.commit(sink.rows(3), state(1), NOTHING, None)
    table.append(sink.rows(4))
    assert table.state() == state(1) and sink.held() == sink.outside() == [1, 2, 3, 4]


@over(TABLES)
def test_a_table_of_somebody_else(sink):
    sink.make()
    table = sink.open()
    assert table.state() is None and table.holds_rows() and table.schema() is not None
    table.commit(sink.rows(1), state(1), Replaced(everything=True), None)
    assert table.state() == state(1) and sink.held() == [1]


@over(ONE_OF_EACH)
def test_a_damaged_state_is_refused(sink):
    """It is never taken for a table without one: that would read everything again."""
    sink.open().commit(sink.rows(1), state(1), NOTHING, None)
    for text in ('{"dagster_smt":{"format":99}}', '{"dagster_smt":{"format":1}}', '{"dagster_smt":'):
        sink.damage(text)
        assert refused_code(sink.open().state) == "SMT522", text
        assert refused_code(sink.open().commit, sink.rows(2), state(2), NOTHING, state(1)) == "SMT522", text
    if sink.spec.replaceable:  # the hint leads out
        anew = state(sink.open().next_number(None), "anew")
        sink.open().commit(sink.rows(3), anew, Replaced(everything=True), None)
        assert sink.open().state() == anew and sink.held() == [3]
        sink.open().append(sink.rows(4))
        assert sink.open().state() == anew


# --- rows that go ---


@over(REPLACEABLE)
def test_replaced_offsets_inside_of_files(sink):
    table = sink.open()
    table.commit(sink.rows(*range(10)).union(sink.rows(4, 5, partition=1)).coalesce(1), state(1), NOTHING, None)
    where = offsets(Range("t", 0, 2, 4), Range("t", 0, 6, 7))
    written = table.commit(sink.rows(2, 3, 3), state(2), where, state(1))
    assert written.rows == 3
    assert sink.held() == sink.plain() == sink.outside() == [0, 1, 2, 3, 3, 4, 4, 5, 5, 7, 8, 9]
    assert table.state() == state(2)
    table.commit(sink.rows(3).limit(0), state(3), where, state(2))
    assert sink.held() == sink.outside() == [0, 1, 4, 4, 5, 5, 7, 8, 9] and table.state() == state(3)


@over(REPLACEABLE)
def test_replaced_topics(sink):
    table = sink.open()
    table.commit(
        sink.rows(1, 2).union(sink.rows(3, topic="it's")).union(sink.rows(4, topic="u")), state(1), NOTHING, None
    )
    table.commit(sink.rows(5), state(2), Replaced(topics=("it's", "t")), state(1))
    assert sink.held() == sink.outside() == [4, 5] and table.state() == state(2)


@over(REPLACEABLE)
def test_many_replaced_ranges(sink):
    table = sink.open()
    table.commit(sink.rows(*range(400)), state(1), NOTHING, None)
    table.commit(
        sink.rows(0).limit(0), state(2), offsets(*(Range("t", 0, n, n + 1) for n in range(0, 400, 2))), state(1)
    )
    assert sink.held() == list(range(1, 400, 2))


@over(REPLACEABLE)
def test_everything_is_replaced(sink):
    table = sink.open()
    table.commit(sink.rows(1, 2), state(1), NOTHING, None)
    written = table.commit(sink.rows(7).withColumn("new", F.lit("x")), state(2), Replaced(everything=True), state(1))
    assert written.rows == 1 and sink.held() == sink.plain() == sink.outside() == [7]
    assert table.state() == state(2)


@over(REPLACEABLE)
def test_everything_is_replaced_columns_too(sink):
    table = sink.open()
    before = sink.rows(1, 2).withColumn("gone", F.lit(1)).withColumn("kind", F.lit(1))
    table.commit(before, state(1), NOTHING, None)
    other = sink.rows(7).withColumn("kind", F.lit("text"))
    written = table.commit(other, state(2), Replaced(everything=True), state(1))
    assert written.rows == 1 and table.state() == state(2)
    assert table.read().columns == other.columns and table.read().select("n", "kind").collect() == [(7, "text")]
    table.commit(other, state(3), NOTHING, state(2))
    assert sink.held() == sink.outside() == [7, 7] and table.state() == state(3)


@over({n: k for n, k in KINDS.items() if n not in REPLACEABLE})
def test_a_sink_that_cannot_replace_says_so(sink):
    assert not sink.spec.replaceable and sink.spec.coordinates is None


# --- columns ---


@over({n: TABLES[n] for n in ("delta", "iceberg by name")})
def test_names_comments_and_metadata(sink):
    connect = {"name": "it's $x", "url": 1}
    inner = StructType([StructField("in.ner", IntegerType(), True, {"comment": "deep", "connect": connect})])
    first = StructField("a b", IntegerType(), True, {"comment": 'it\'s "q" \\ ü ${spark.app.id}', "connect": connect})
    schema = StructType(
        [
            first,
            StructField("x.y", StringType()),
            StructField("odd, name", inner, True, {"connect": connect}),
            StructField("b`t", ArrayType(inner)),
            StructField("größe 木", MapType(StringType(), inner)),
            StructField("new\nline;", StringType()),
        ]
    )
    table, spark = sink.open(), sink.spark
    assert table.refused(schema) == []
    table.commit(spark.createDataFrame([(1, "s", (2,), [(3,)], {"k": (4,)}, "n")], schema), state(1), NOTHING, None)
    result = table.schema()
    assert [f.name for f in result.fields] == schema.names
    assert [f.metadata for f in result.fields] == [f.metadata for f in schema.fields]
    for kind in (
        result["odd, name"].dataType,
        result["b`t"].dataType.elementType,
        result["größe 木"].dataType.valueType,
    ):
        assert kind["in.ner"].metadata == {"comment": "deep", "connect": connect}
    more = StructField("q`q", StringType(), True, {"comment": "new's", "connect": connect})
    wider = StructType([*inner.fields, more])
    kinds = {"größe 木": MapType(StringType(), wider), "b`t": ArrayType(wider), "odd, name": wider}
    results = [StructField(f.name, kinds.get(f.name, f.dataType), True, f.metadata) for f in schema.fields]
    evolved = StructType([*results, StructField("dots.and spaces", wider, True, {"comment": "c", "connect": connect})])
    data = [(9, "u", (8, "t"), [(7, "s")], {"k": (6, "r")}, "v", (5, "q"))]
    table.commit(spark.createDataFrame(data, evolved), state(2), NOTHING, state(1))
    result = table.schema()
    assert result["dots.and spaces"].metadata == {"comment": "c", "connect": connect}
    assert result["odd, name"].metadata == {"connect": connect} and result["a b"].metadata == first.metadata
    for kind in (
        result["odd, name"].dataType,
        result["b`t"].dataType.elementType,
        result["größe 木"].dataType.valueType,
    ):
        assert kind["q`q"].metadata == {"comment": "new's", "connect": connect}
        assert kind["in.ner"].metadata == {"comment": "deep", "connect": connect}
    old, new = table.read().orderBy("`a b`").collect()
    assert old["odd, name"] == (2, None) and old["dots.and spaces"] is None
    assert tuple(new) == data[0]


@over({n: TABLES[n] for n in ("delta", "iceberg by name")})
def test_an_odd_name_comes_later(sink):
    table = sink.open()
    table.commit(sink.rows(1), state(1), NOTHING, None)
    table.commit(sink.rows(2).withColumn("odd, name", F.lit("x")), state(2), NOTHING, state(1))
    rows = table.read().orderBy("n").select("n", F.col("`odd, name`")).collect()
    assert rows == [(1, None), (2, "x")] and sink.outside() == [1, 2]


@over({n: TABLES[n] for n in ("delta", "iceberg by name")})
def test_wider_types(sink):
    def schema(i, f, d):
        inner = StructType([StructField("i", i)])
        kinds = {"i": i, "f": f, "d": d, "s": inner, "a": ArrayType(i), "m": MapType(StringType(), inner)}
        return StructType([StructField(n, k) for n, k in kinds.items()])

    if isinstance(sink, Delta) and "wide types in Delta" in missing():
        pytest.skip("Delta of Spark 3.5 does not widen to these types, and runs are refused: SMT521")
    narrow = schema(IntegerType(), FloatType(), DecimalType(5, 2))
    wide = schema(LongType(), DoubleType(), DecimalType(9, 2))
    table, spark, big = sink.open(), sink.spark, 2**40
    small_row, big_row = (1, 1.5, None, (1,), [1], {"k": (1,)}), (big, 0.1, None, (big,), [big], {"k": (big,)})
    table.commit(spark.createDataFrame([small_row], narrow), state(1), NOTHING, None)
    table.commit(spark.createDataFrame([big_row], wide), state(2), NOTHING, state(1))
    assert table.schema().simpleString() == wide.simpleString()
    assert [tuple(r) for r in table.read().orderBy("i").collect()] == [small_row, big_row]


# --- upkeep ---


@pytest.mark.long
@over(TABLES)
def test_upkeep_does_not_lose_the_state(sink):
    table = sink.open()
    for number in (1, 2, 3):
        table.commit(sink.rows(number), state(number), NOTHING, state(number - 1) if number > 1 else None)
    assert sink.files() == 3
    sink.upkeep()
    assert sink.files() == 1  # it has done something
    assert sink.open().state() == state(3) and sink.held() == sink.outside() == [1, 2, 3]
    table.commit(sink.rows(4), state(4), NOTHING, state(3))
    sink.upkeep()
    assert sink.open().state() == state(4) and sink.held() == sink.plain() == sink.outside() == [1, 2, 3, 4]


@pytest.mark.long
@over({"delta": KINDS["delta"]})
def test_a_log_that_is_cleaned_up_does_not_lose_the_state(sink):
    table = sink.open()
    table.commit(sink.rows(1), state(1), NOTHING, None)
    sink.upkeep()  # switches the clean-up on
    table.commit(sink.rows(2), state(2), NOTHING, state(1))
    sink.rows(3).write.format("delta").mode("append").save(sink.place)
    sink.forget()
    assert sink.open().state() == state(2) and sink.held() == sink.outside() == [1, 2, 3]
    table.commit(sink.rows(4), state(3), NOTHING, state(2))
    sink.forget()
    assert sink.open().state() == state(3) and sink.held() == sink.outside() == [1, 2, 3, 4]


# --- sessions ---

_BARE = """
import sys
from pyspark.sql import SparkSession
from dagster_smt.errors import SmtError
from dagster_smt.model.topics.state import TableState
from dagster_smt.tables.sinks import open_table
from dagster_smt.tables.sinks.protocol import Replaced
from dagster_smt.tables.sink_options import DeltaSink, IcebergSink

session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
folder = sys.argv[1]
for sink in (DeltaSink(folder + "/d"), DeltaSink(table="d"), IcebergSink(folder + "/i"), IcebergSink(table="i")):
    try:
        table = open_table(session, sink)
        table.state()
        table.commit(session.range(1), TableState(1, "a", "columns"), Replaced(), None)
    except SmtError as error:
        print(type(sink).__name__, error.problems[0].code, error.problems[0].hint)
"""


@pytest.mark.long
def test_a_session_without_the_packages_is_told_what_is_missing(spark, tmp_path):
    command = [sys.executable, "-c", _BARE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert [line.split(" ", 2)[:2] for line in lines] == [
        ["DeltaSink", "SMT610"],
        ["DeltaSink", "SMT610"],
        ["IcebergSink", "SMT560"],
        ["IcebergSink", "SMT560"],
    ], done.stderr[-2000:]
    assert all("spark.jars.packages" in line and "spark.sql.extensions" in line for line in lines)
    assert not list(tmp_path.iterdir())
