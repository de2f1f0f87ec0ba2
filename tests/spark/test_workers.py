"""Workers read the directory of each jar on their path once, and still find modules that are there."""

import zipfile

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

from dagster_smt.spark import sql, workers
from dagster_smt.spark.plain import python_function
from dagster_smt.spark.workers import map_in_arrow, small_offsets

DDL = "pid int, reads int, archives int, module string"


def look(batches):
    """Count how often directories of archives are read when caches are invalidated, as before each task."""
    import importlib
    import os
    import sys
    import zipimport

    for _ in batches:
        pass
    reads, read = [], zipimport._read_directory
    zipimport._read_directory = lambda archive: reads.append(archive) or read(archive)
    try:
        importlib.invalidate_caches()
    finally:
        zipimport._read_directory = read
    try:
        module = importlib.import_module("smt_shipped_later").TEXT
    except ImportError:
        module = ""
    archives = [k for k in sys.path_importer_cache if k.endswith((".jar", ".zip"))]
    row = {"pid": os.getpid(), "reads": len(reads), "archives": len(archives), "module": module}
    yield pa.RecordBatch.from_pylist(
        [row], pa.schema([(k, pa.int32()) for k in list(row)[:3]] + [("module", pa.string())])
    )


def test_directories_are_read_once(spark, tmp_path):
    frame = spark.range(2).coalesce(1)
    (plain,) = frame.mapInArrow(look, DDL).collect()
    assert plain.archives > 3, "Spark puts jars on the path"
    (ours,) = map_in_arrow(frame, look, DDL).collect()
    assert (ours.reads, ours.module) == (0, "")
    with zipfile.ZipFile(tmp_path / "shipped.jar", "w") as archive:
        archive.writestr("smt_shipped_later.py", "TEXT = 'found'")
    spark.sparkContext.addPyFile(str(tmp_path / "shipped.jar"))
    (later,) = map_in_arrow(frame, look, DDL).collect()
    assert (later.reads, later.module) == (0, "found")


def finders(_):
    """Count archives on the path, and those whose directory stays; then have Python look at all of them anew."""
    import importlib.util
    import os
    import sys

    results = [type(f).__name__ for k, f in sys.path_importer_cache.items() if k.endswith((".jar", ".zip"))]
    sys.path_importer_cache.clear()
    importlib.util.find_spec("smt_no_such_module")
    return f"{os.getpid()} {results.count('_Steady')} {results.count('_Nothing')} {len(results)}"


def test_functions_in_columns_keep_them_too(spark):
    message = python_function(finders, [T.StringType()], T.StringType())
    frame = spark.range(1).coalesce(1).select(F.lit("x").alias("x"))
    seen = set()
    for _ in range(20):  # until a worker is asked a second time
        ((text,),) = sql.select(frame, message(sql.col("x"))).collect()
        worker, steady, empty, archives = map(int, text.split())
        if worker in seen:
            break
        seen.add(worker)
    assert worker in seen and steady + empty == archives
    assert empty, "of jars without Python nothing is kept: of Spark's own there is one"


def test_batches_without_rows_never_reach_our_functions():
    """If ``maxRecordsPerBatch`` sets no limit, Spark 3.5 sends such a batch for an empty partition. Its buffers of
    offsets are empty, and a cast of lists ends the process.
    """
    texts = pa.Array.from_buffers(pa.large_string(), 0, [None, pa.py_buffer(b""), pa.py_buffer(b"")])
    empty = pa.RecordBatch.from_arrays([texts], names=["a"])
    full = pa.RecordBatch.from_pydict({"a": ["x"]})
    assert list(small_offsets([empty, full])) == [full]


def test_columns_with_offsets_of_64_bits_come_as_those_with_32(monkeypatch):
    """With ``useLargeVarTypes`` Spark sends them so, and who reads buffers would take one value for another's."""
    small = pa.schema(
        [
            ("text", pa.string()),
            ("bytes", pa.binary()),
            ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
            ("tags", pa.map_(pa.string(), pa.list_(pa.string()))),
            ("number", pa.int64()),
        ]
    )
    text, data = pa.large_string(), pa.large_binary()
    large = pa.schema(
        [
            ("text", text),
            ("bytes", data),
            ("headers", pa.large_list(pa.struct([("key", text), ("value", data)]))),
            ("tags", pa.map_(text, pa.list_(text))),
            ("number", pa.int64()),
        ]
    )
    row = {"text": "x", "bytes": b"\xff", "headers": [{"key": "k", "value": None}], "tags": [("a", ["b"])], "number": 7}
    rows = [row, dict.fromkeys(row), {**row, "text": "longer", "headers": []}]
    want = pa.RecordBatch.from_pylist(rows, small)
    assert list(small_offsets([want])) == [want]
    (got,) = small_offsets([pa.RecordBatch.from_pylist(rows, large)])
    assert got.schema.types == small.types and got == want
    monkeypatch.setattr(workers, "_MOST_BYTES", 10)
    parts = list(small_offsets([pa.RecordBatch.from_pylist(rows, large)]))
    assert len(parts) == 3 and pa.Table.from_batches(parts).to_pylist() == want.to_pylist()
