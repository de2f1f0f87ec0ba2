"""Implements ``python -m benchmarks``, which measures the benchmark's cases and prints a table."""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from benchmarks import avro, beside_connect, file_topics, kafka, keyed, many_tables, runs, transforms
from benchmarks.cases import CASES, Case
from benchmarks.data import Settings
from benchmarks.measure import Result, measure, micros, ratios, ratios_to_connect, table
from benchmarks.processes import worker_megabytes
from dagster_smt.interpret.examples import set_example_key
from dagster_smt.orchestration.resources import SESSION_CONF
from dagster_smt.spark.environment import local_java_options
from dagster_smt.spark.packages import JVM_OPTIONS, session_settings, with_fetched_jars

FOLDER = Path(".bench")
ALL = (*CASES, *file_topics.CASES, *runs.CASES, *keyed.CASES, *many_tables.CASES, *transforms.CASES, *avro.CASES)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line, and returns the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="how many records (default: 1 million)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds that count, after one warm-up (default: 5)")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="cases whose name holds TEXT")
    parser.add_argument(
        "--commits", type=int, default=0, metavar="N", help="only commits to tables that have had up to N before (1000)"
    )
    parser.add_argument(
        "--tables", type=int, default=0, metavar="N", help="only one run into N tables, beside N runs (200)"
    )
    parser.add_argument("--kafka", action="store_true", help="only runs from a Kafka broker, which is started for them")
    parser.add_argument(
        "--connect",
        action="store_true",
        help="only the cases with targets, beside Kafka Connect in memory",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    result = parser.parse_args(argv)
    if result.records < 1 or result.repeats < 1:
        parser.error("--records and --repeats must be 1 or more")
    return result


def chosen(only: Sequence[str], cases: Sequence[Case] = ALL) -> list[Case]:
    """Returns the cases whose name contains one of the strings in ``only``, and the cases that they are compared with.
    If ``only`` is empty, returns all cases.
    """
    names = {c.name for c in cases if not only or any(text.lower() in c.name.lower() for text in only)}
    names |= {other for c in cases if c.name in names for other in (c.bare, c.connect)}
    return [c for c in cases if c.name in names]


def session(scratch: Path) -> SparkSession:
    """Starts a Spark session that uses all cores of this machine. The session has no UI and no progress bar, and stores
    its files in ``scratch``.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        **JVM_OPTIONS,
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL",  # a case reads a table that does not exist yet, and Spark prints a long error
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        **SESSION_CONF,
    }
    # before the options for a local session, as in SparkSessionResource: packages bring Java options, too
    settings = session_settings(["avro", "delta", "iceberg", "kafka"], settings, pyspark.__version__)
    settings |= local_java_options(settings, os.environ)
    options: dict[str, bool | float | int | str | None] = {**with_fetched_jars(settings)}
    builder = SparkSession.builder.master("local[*]").appName("dagster_smt benchmarks").config(map=options)
    return builder.getOrCreate()


def machine(spark: SparkSession, folder: Path) -> dict[str, object]:
    """Returns the facts that affect the times, such as the number of cores and the versions of Python, Spark and Java.
    ``folder`` contains the measured records.
    """
    value_bytes = spark.read.parquet(str(folder)).selectExpr("avg(length(value))").first()
    return {
        "cores": spark.sparkContext.defaultParallelism,
        "python": platform.python_version(),
        "pyspark": pyspark.__version__,
        "java": spark._jvm.System.getProperty("java.version") if spark._jvm else "",
        "platform": f"{platform.system()} {platform.machine()}",
        "load_at_start": round(os.getloadavg()[0], 1),
        "bytes_per_value": round(value_bytes[0]) if value_bytes else 0,
    }


def as_json(results: Sequence[Result], facts: dict[str, object], count: int, summary: Sequence[str] = ()) -> str:
    """Returns the results as JSON text, which ``benchmarks.page`` reads.

    Args:
        results: The times of each case.
        facts: The facts about the machine.
        count: The number of records.
        summary: Sentences that compare several cases.
    """
    bare, connect, costs = ratios(results), ratios_to_connect(results), micros(results)
    cases = [
        {
            "name": r.case.name,
            "seconds": r.seconds,
            "median": r.median,
            "targets": asdict(r.case.target),
            "to_bare": bare[r.case.name],
            "to_connect": connect[r.case.name],
            "micros": costs[r.case.name],
        }
        for r in results
    ]
    return json.dumps({"records": count, **facts, "cases": cases, "summary": summary}, indent=2)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the cases that the command line names, and prints the results. Progress is printed to stderr. Returns
    the exit code.
    """
    options = arguments(argv)
    set_example_key()
    known = beside_connect.CASES if options.connect else ALL
    cases = chosen(options.only, known)
    cases = list(runs.aged_cases(options.commits)) if options.commits else cases
    cases = list(many_tables.cases(options.tables)) if options.tables else cases
    cases = list(kafka.CASES) if options.kafka else cases
    if options.list or not cases:
        print("\n".join(c.name for c in known))
        return 0 if options.list else 2
    FOLDER.mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=FOLDER, prefix="scratch-")).resolve()
    stack = ExitStack()
    try:
        if options.kafka:
            stack.enter_context(kafka.broker(scratch / "broker"))
        spark = session(scratch)
        settings = Settings(spark, FOLDER, options.records, scratch)
        facts = machine(spark, settings["flat"].folder)
        memory = [0]

        def say(line: str) -> None:
            memory.append(worker_megabytes())  # an idle worker lives for a minute, and VmHWM is its maximum
            print(line, file=sys.stderr, flush=True)

        results = measure(cases, settings, options.repeats, say)
        spark.stop()
    finally:
        stack.close()
        shutil.rmtree(scratch, ignore_errors=True)
    follows = beside_connect.summary(results, max(memory)) if options.connect else []
    if options.json:
        print(as_json(results, facts, options.records, follows))
    else:
        print(f"{options.records} records; " + "; ".join(f"{k.replace('_', ' ')} {v}" for k, v in facts.items()))
        print(table(results))
        print("\n".join(follows))
        print("Differences under 10 % are noise. Other work on the same cores spoils ratios too: see load at start.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
