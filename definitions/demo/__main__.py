"""``python -m definitions.demo``: materialize the demo's assets through Dagster, and say what happened."""

import argparse
import logging
import os
import sys
import time
from collections.abc import Sequence

import dagster as dg

from dagster_smt.orchestration import SmtError, check_java, topic_to_partition_key
from definitions.demo import dagster_home, demo_folder, lake, working_topics
from definitions.demo.report import details, overview, summaries

PUSHES = "github.push"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m definitions.demo", description=__doc__)
    parser.add_argument(
        "--append", type=int, default=0, metavar="N", help="first append N pushes, as if they had just arrived"
    )
    options = parser.parse_args(arguments)
    try:
        check_java()
    except SmtError as error:
        problem = error.problems[0]
        print(f"demo: {problem.statement}: {problem.hint}.", file=sys.stderr)
        return 1
    os.environ["DAGSTER_HOME"] = str(dagster_home())
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if options.append:
        append_pushes(options.append)
    return materialize_all()


def append_pushes(count: int) -> None:
    """Append copies of the shipped pushes to their topic."""
    from dagster_smt.tables.sources.file_writer import NewRecord, append_records
    from dagster_smt.tables.sources.segments import parse_name, read_rows
    from dagster_smt.tables.spec import FileTopics

    first = next((working_topics() / PUSHES / "0").glob(f"{0:020d}.jsonl"))
    segment = parse_name(first, PUSHES, 0)
    rows = list(read_rows(segment)) if segment else []
    records = [NewRecord(_bytes(row.key), _bytes(row.value)) for row in (rows * (count // len(rows) + 1))[:count]]
    added = append_records(FileTopics(working_topics()), PUSHES, records)
    print(f"appended {added.records} records to {PUSHES}: offsets {added.start} to {added.end - 1}")


def _bytes(side: object) -> bytes | None:
    return side.encode() if isinstance(side, str) else None


def materialize_all() -> int:
    """Materialize both assets in this process, with one Spark session; print what Dagster was told."""
    from definitions.definitions import TOPICS

    started = time.monotonic()
    topics = sorted(p.name for p in working_topics().iterdir() if p.name.startswith("github."))
    keys = [topic_to_partition_key(topic) for topic in topics]
    defs = _definitions()
    print(f"{len(topics)} topics in {working_topics()}; starting Spark", flush=True)
    events: list[dg.AssetMaterialization] = []
    with dg.DagsterInstance.get() as instance:
        instance.add_dynamic_partitions(str(TOPICS.name), keys)
        every = instance.get_dynamic_partitions(str(TOPICS.name))
        whole = {"dagster/asset_partition_range_start": every[0], "dagster/asset_partition_range_end": every[-1]}
        for key, tags in ((["webhooks", "masked"], whole), (["webhooks", "pushes"], {})):
            print(f"{'/'.join(key)} ...", flush=True)
            job = defs.resolve_job_def(f"demo_{key[-1]}")
            config: dict[str, dict[str, dict[str, str]]] = {"loggers": {"console": {}}}
            result = job.execute_in_process(config, instance=instance, tags=tags, raise_on_error=False)
            events += [e.step_materialization_data.materialization for e in result.get_asset_materialization_events()]
            if not result.success:
                print(f"demo: the run of {'/'.join(key)} failed, see above.", file=sys.stderr)
                return 1
    _tell(events, time.monotonic() - started)
    return 0


def _definitions() -> dg.Definitions:
    """The code location's assets, with a job for each, a quiet console and a quiet Spark."""
    from definitions.definitions import build_masked, build_pushes, spark

    assets = [build_masked(), build_pushes()]
    jobs = [dg.define_asset_job(f"demo_{asset.key.path[-1]}", dg.AssetSelection.assets(asset)) for asset in assets]
    return dg.Definitions(assets, jobs=jobs, resources={"spark": spark("ERROR")}, loggers={"console": console})


def _tell(events: list[dg.AssetMaterialization], seconds: float) -> None:
    found = summaries(events)
    print()
    for summary in found:
        if summary.counts["records_in"]:
            print(details(summary) + "\n")
    print(overview(found) + "\n")
    if not any(s.counts["records_in"] for s in found):
        print('Nothing new since the last run. Let records arrive: make demo ARGS="--append 10"\n')
    print(f"done in {seconds:.0f} s")
    print(f"tables:   {lake('webhooks_masked')}\n          {lake('webhooks_pushes')}")
    print(f"topics:   {working_topics()}")
    print("Dagster:  make dev, then http://127.0.0.1:3000/assets")
    print(f"again:    make demo; from the start: rm -r {demo_folder()}")


class _Lines(logging.Handler):
    """Prints what runs log themselves, without Dagster's own events."""

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
    """A quiet console."""
    logger = logging.Logger("demo", level=logging.INFO)
    logger.addHandler(_Lines())
    return logger


if __name__ == "__main__":
    sys.exit(main())
