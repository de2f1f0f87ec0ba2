"""Materializes the demo's assets through Dagster, and prints the results: ``python -m definitions.demo``."""

import argparse
import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from dagster_smt import SmtError, SparkSessionResource, check_java, topic_to_partition_key
from dagster_smt.tables.sources import open_source
from dagster_smt.testing.broker import ensure_running
from definitions.demo import KAFKA_VARIABLE, PROJECT, dagster_home, demo_folder, lake, on_kafka, topics, working_topics
from definitions.demo.changes import build_products, folder, show_changes
from definitions.demo.new_field import POLICY, build_customers, show_new_field
from definitions.demo.publish import PUSHES, append_pushes, publish
from definitions.demo.report import details, overview, summaries


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demo and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m definitions.demo", description=__doc__)
    parser.add_argument(
        "--append", type=int, default=0, metavar="N", help="first append N pushes, as if they had just arrived"
    )
    parser.add_argument(
        "--kafka", action="store_true", help="use topics of a Kafka broker, which is started if necessary"
    )
    parser.add_argument("--cdc", action="store_true", help="show a table with keys before and after changes instead")
    parser.add_argument("--policy", action="store_true", help="show a policy and a new personal field instead")
    options = parser.parse_args(arguments)
    try:
        check_java()
    except SmtError as error:
        problem = error.problems[0]
        print(f"demo: {problem.statement}: {problem.hint}.", file=sys.stderr)
        return 1
    os.environ["DAGSTER_HOME"] = str(dagster_home(options.kafka))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if options.cdc:
        return follow_changes()
    if options.policy:
        return hold_back()
    try:
        fill(options.append, options.kafka)
    except SmtError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return materialize_all()


def fill(append: int, kafka: bool) -> None:
    """Prepares the demo's topics. First, starts a broker if ``kafka`` is set. Then publishes the shipped topics, if the
    demo's topics are on a broker. Finally appends ``append`` copies of the shipped pushes.
    """
    if kafka and not on_kafka():
        os.environ[KAFKA_VARIABLE] = ensure_running(PROJECT / ".kafka")
    if on_kafka():
        records = publish()
        print(f"Kafka on {os.environ[KAFKA_VARIABLE]}: {records} records published")
    if append:
        count, first = append_pushes(append)
        print(f"appended {count} records to {PUSHES}: offsets {first} to {first + count - 1}")


def materialize_all() -> int:
    """Materializes both assets in this process with one Spark session, and prints their metadata in Dagster. Returns
    the exit code.
    """
    from definitions.definitions import TOPICS, spark

    started = time.monotonic()
    names = []
    for name in open_source(topics()).topics():
        if name.startswith("github."):
            names.append(name)
    keys = [topic_to_partition_key(name) for name in names]
    session = spark("ERROR")
    defs = _definitions(session)
    log = demo_folder() / "spark.log"
    print(f"{len(names)} topics in {_place()}; starting Spark, which logs to {log}", flush=True)
    with _jvm_output_to(log):
        session.spark_session  # noqa: B018 - the runs use this session
    events: list[dg.AssetMaterialization] = []
    with dg.DagsterInstance.get() as instance:
        instance.add_dynamic_partitions(str(TOPICS.name), keys)
        # a range follows the order in which the partitions were added, which an earlier run of the demo may have done
        every = instance.get_dynamic_partitions(str(TOPICS.name))
        whole = {"dagster/asset_partition_range_start": every[0], "dagster/asset_partition_range_end": every[-1]}
        for key, tags in ((["webhooks", "masked"], whole), (["webhooks", "pushes"], {})):
            print(f"{'/'.join(key)} ...", flush=True)
            job = defs.resolve_job_def(f"demo_{key[-1]}")
            config: dict[str, dict[str, dict[str, str]]] = {"loggers": {"console": {}}}
            result = job.execute_in_process(config, instance=instance, tags=tags, raise_on_error=False)
            events += [e.step_materialization_data.materialization for e in result.get_asset_materialization_events()]
            if not result.success:
                print(f"demo: the run of {'/'.join(key)} failed, see above and {log}.", file=sys.stderr)
                return 1
    _print(events, time.monotonic() - started)
    return 0


def _started_spark() -> tuple[SparkSessionResource, Path]:
    """Starts the demo's Spark session, and returns the session and the file of Spark's log.

    Call this function after the assets have been created, because they name the packages that the session needs.
    """
    from definitions.definitions import spark

    session, log = spark("ERROR"), demo_folder() / "spark.log"
    print(f"starting Spark, which logs to {log}", flush=True)
    with _jvm_output_to(log):
        session.spark_session  # noqa: B018 - the runs find it there
    return session, log


def follow_changes() -> int:
    """Shows how change events of a database change a table with keys. Returns the exit code."""
    products = build_products()  # the asset is created first, so that the session gets the packages that it needs
    session, log = _started_spark()
    with dg.DagsterInstance.get() as instance:
        if not show_changes(products, session, instance):
            print(f"demo: a run failed, see above and {log}.", file=sys.stderr)
            return 1
    print(f"\ntable: {folder() / 'products'}\nhow:   docs/how-to/latest-rows.md")
    return 0


def hold_back() -> int:
    """Shows the effect of a policy: tagged fields are masked, and a new personal field stays out of the table. Returns
    the exit code.
    """
    customers = build_customers()  # the asset is created first, so that the session gets the packages that it needs
    session, log = _started_spark()
    with dg.DagsterInstance.get() as instance:
        if not show_new_field(customers, session, instance):
            print(f"demo: a run failed, see above and {log}.", file=sys.stderr)
            return 1
    print(f"\npolicy: {POLICY}\nhow:    docs/how-to/policy.md")
    return 0


@contextmanager
def _jvm_output_to(file: Path) -> Iterator[None]:
    """Redirects the output of a JVM to ``file``, if the JVM starts in the block. The redirection lasts as long as the
    JVM runs. This process keeps its own output.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    terminal = os.dup(2)
    try:
        with file.open("ab") as log:
            # a JVM inherits the file descriptor 2, so replacing sys.stderr would not be enough
            os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def _definitions(session: SparkSessionResource) -> dg.Definitions:
    """Returns the definitions of the demo: the assets, a job for each asset, the logger ``console``, and ``session`` as
    the resource ``spark``.
    """
    from definitions.definitions import build_masked, build_pushes

    assets = [build_masked(), build_pushes()]
    jobs = []
    for asset in assets:
        jobs.append(dg.define_asset_job(f"demo_{asset.key.path[-1]}", dg.AssetSelection.assets(asset)))
    return dg.Definitions(assets, jobs=jobs, resources={"spark": session}, loggers={"console": console})


def _print(events: list[dg.AssetMaterialization], seconds: float) -> None:
    assets = summaries(events)
    print()
    for summary in assets:
        if summary.counts["records_in"]:
            print(details(summary) + "\n")
    print(overview(assets) + "\n")
    if not any(s.counts["records_in"] for s in assets):
        more = " KAFKA=1" if on_kafka() else ""
        print(f'Nothing new since the last run. Let records arrive: make demo{more} ARGS="--append 10"\n')
    print(f"done in {seconds:.0f} s")
    print(f"tables:   {lake('webhooks_masked')}\n          {lake('webhooks_pushes')}")
    print(f"topics:   {_place()}")
    more = " KAFKA=1" if on_kafka() else ""
    print(f"Dagster:  make dev{more}, then http://127.0.0.1:3000/assets")
    clean = f"make kafka-stop; rm -r {PROJECT / '.kafka'} " if on_kafka() else "rm -r "
    print(f"again:    make demo{more}; from the start: {clean}{demo_folder()}")


def _place() -> str:
    return os.environ[KAFKA_VARIABLE] if on_kafka() else str(working_topics())


class _Lines(logging.Handler):
    """A log handler that prints a run's log lines, but no events of Dagster."""

    def emit(self, record: logging.LogRecord) -> None:
        meta = getattr(record, "dagster_meta", {})
        event = meta.get("dagster_event")
        if event is None:
            print(f"  {meta.get('orig_message', record.getMessage())}", flush=True)
        elif event.is_failure:
            data = event.event_specific_data
            reason = getattr(getattr(data, "user_failure_data", None), "description", None)
            print(f"  {reason or record.getMessage()}", file=sys.stderr, flush=True)


@dg.logger
def console(context: dg.InitLoggerContext) -> logging.Logger:
    """Returns a logger that prints only the log lines of runs."""
    logger = logging.Logger("demo", level=logging.INFO)
    logger.addHandler(_Lines())
    return logger


if __name__ == "__main__":
    sys.exit(main())
