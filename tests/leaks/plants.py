"""Leaks that tests put into the package on purpose, to see the judge refuse them."""

import hashlib
import os
import sys
from pathlib import Path

import dagster as dg
from confluent_kafka import TopicPartition

_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")

PLANTS = ("message", "metadata", "lineage", "log", "page")
PLACES = {
    "value": r"^planted_delta/.*\.parquet$",
    "key": r"^planted_delta/.*\.parquet$",
    "header": r"^planted_delta/.*\.parquet$",
    "comment": r"^planted_delta/_delta_log/.*\.json$",
    "row": r"^planted_iceberg/data/.*\.parquet$",
    "bounds": r"^planted_iceberg/metadata/.*\.avro$",
    "summary": r"^planted_iceberg/metadata/.*\.metadata\.json$",
    "line": r"^planted_files/.*\.jsonl$",
    "folder": r"^planted_files/",
    "letter": r"^context in .*planted_delta\.dead",
    "entry": r"^home/history/runs/.*\.db$",
    "run": r"^home/history/runs\.db$",
    "output": r"^home/storage/.*\.out$",
    "errors": r"^home/storage/.*\.err$",
    "warning": r"^home/history/runs/.*\.db$",
    "java": r"^stderr\.txt$|^home/storage/.*\.err$",
    "worker": r"^stderr\.txt$|^home/storage/.*\.err$",
    "plan": r"^spark/",
    "description": r"^spark/",
    "event": r"^lineage\.jsonl$",
    "explain": r"^out/explain\.txt$",
    "page": r"^out/.*\.html$",
    "record": r"^kafka/clean/records\.jsonl$",
    "recordkey": r"^kafka/clean/records\.jsonl$",
    "recordheader": r"^kafka/clean/records\.jsonl$",
    "topic": r"^kafka/names\.txt$",
    "group": r"^kafka/names\.txt$",
    "commit": r"^kafka/names\.txt$",
}
"""Each place that the judge searches, as a pattern of paths, by the name of the leak that is planted there."""


def planted_word(name):
    """Returns the value that is planted in a place, and nowhere else. A bound of Iceberg has 16 characters at most."""
    return "zqxvk" + hashlib.sha256(name.encode()).hexdigest().translate(_LETTERS)[:10]


def plant(name, runs):
    """Makes one place of the package tell a value of a record.

    Args:
        name: ``message``: the messages of failing records, and so the context of dead letters; ``metadata``: the
            metadata of a materialization; ``lineage``: an OpenLineage event; ``log``: the log of a run; ``page``: the
            page of a certificate. Empty: nothing.
        runs: The runs, which know the values.
    """
    if name:
        {"message": _message, "metadata": _metadata, "lineage": _lineage, "log": _log, "page": _page}[name](runs)


def _any_value(runs):
    return max(runs.people.values, key=len)


def _message(runs):
    from dagster_smt.run import dead_letters

    context = dead_letters._context

    def telling(draft):
        from pyspark.sql import functions as F

        words = F.struct(
            F.lit("__connect.errors.exception.stacktrace").alias("key"), F.substring("value", 1, 400).alias("value")
        )
        return F.concat(context(draft), F.array(words))

    dead_letters._context = telling


def _metadata(runs):
    from dagster_smt.orchestration.runs import execution

    metadata = execution.run_metadata

    def telling(*args, **kwargs):
        return {**metadata(*args, **kwargs), "example": dg.MetadataValue.text(_any_value(runs).upper())}

    execution.run_metadata = telling


def _lineage(runs):
    from dagster_smt.lineage import open_lineage

    inputs = open_lineage.Emitter._input

    def telling(self, name, records=None):
        return inputs(self, type(name)(name.namespace, f"{name.name}/{_any_value(runs)}"), records)

    open_lineage.Emitter._input = telling


def _log(runs):
    from dagster_smt.orchestration.runs import spark_work

    run = spark_work.run_cancellable

    def telling(session, tag, fn, log, **kwargs):
        log(f"reading {_any_value(runs)[:4]} {_any_value(runs)[4:]}")
        return run(session, tag, fn, log=log, **kwargs)

    spark_work.run_cancellable = telling


def _page(runs):
    write = Path.write_text

    def telling(self, text, *args, **kwargs):
        more = f"<!-- {_any_value(runs).encode().hex()} -->" if self.suffix == ".html" else ""
        return write(self, text + more, *args, **kwargs)

    Path.write_text = telling


def planted(runs):
    """Runs tables, a broker and commands, and puts a value of its own into each of ``PLACES``."""
    from pyspark.sql import functions as F

    from dagster_smt import DeltaSink, FileTopicSink, IcebergSink
    from tests.leaks.wide import DECLARED, KEY, policy

    folder, word = runs.folder, planted_word
    runs.spark.spark_session.range(1)  # columns can be written down once there is a session
    for name in PLACES:
        runs.people.values.add(word(name))
    _change_frames(F, word)
    _speak(runs, word)
    delta = DeltaSink(folder / "planted_delta", comment=word("comment"))
    runs.write("planted_delta", KEY, delta, policy=policy(runs, "planted_delta"))
    iceberg = IcebergSink(folder / "planted_iceberg", "columns", properties={"summary": word("summary")})
    runs.write("planted_iceberg", {}, iceberg, value=DECLARED, policy=policy(runs, "planted_iceberg"))
    runs.write("planted_files", KEY, FileTopicSink(folder / "planted_files"), policy=policy(runs, "planted_files"))
    (folder / "planted_files" / word("folder")).mkdir()
    runs.instance.add_run_tags(runs.instance.get_runs(limit=1)[0].run_id, {"who": word("run")})
    _into_commands(runs, word)
    _onto_broker(runs, word)


def _change_frames(F, word):
    """Changes rows just before tables take them, and the context of letters."""
    from dagster_smt.run import dead_letters
    from dagster_smt.tables.sinks import delta, file_topics, iceberg

    header = F.array(F.struct(F.lit("x").alias("key"), F.lit(word("header")).cast("binary").alias("value")))
    columns = {
        "value": F.lit(word("value")).cast("binary"),
        "key": F.lit(word("key")).cast("binary"),
        "headers": header,
    }
    rows = {"name": F.lit(word("row")), "mail": F.lit(word("bounds"))}
    line = {"value": F.lit(word("line")).cast("binary")}
    for kind, new in ((delta.DeltaTable, columns), (iceberg.IcebergTable, rows), (file_topics.FileTopicsTable, line)):
        _change_commit(kind, new)
    context = dead_letters._context
    more = F.struct(F.lit("__connect.errors.more").alias("key"), F.lit(word("letter")).cast("binary").alias("value"))
    dead_letters._context = lambda draft: F.concat(context(draft), F.array(more))


def _change_commit(kind, columns):
    commit = kind.commit
    kind.commit = lambda self, frame, *more: commit(self, frame.withColumns(columns), *more)


def _speak(runs, word):
    """Puts values into what a run tells: metadata, lines, prints, jobs of Spark and events of OpenLineage."""
    from dagster_smt.lineage import open_lineage
    from dagster_smt.orchestration.runs import execution, spark_work

    metadata, run = execution.run_metadata, spark_work.run_cancellable
    execution.run_metadata = lambda *args, **more: {
        **metadata(*args, **more),
        "x": dg.MetadataValue.text(word("entry")),
    }

    def telling(session, tag, fn, log, **more):
        log(f"reading {word('warning')[:4]} {word('warning')[4:]}")
        print(word("output").upper())
        print(word("errors"), file=sys.stderr)
        session._jvm.java.lang.System.err.println(word("java"))
        session.sparkContext.setJobDescription(word("description"))
        session.sql(f"SELECT '{word('plan')}' AS x, id FROM range(3)").collect()
        session.sparkContext.parallelize([1], 1).foreach(lambda _: os.write(2, f"{planted_word('worker')}\n".encode()))
        return run(session, tag, fn, log=log, **more)

    spark_work.run_cancellable = telling
    name_of = open_lineage.Emitter._input
    open_lineage.Emitter._input = lambda self, name, records=None: name_of(
        self, type(name)(name.namespace, f"{name.name}/{word('event')}"), records
    )


def _into_commands(runs, word):
    from dagster_smt.cli import chain_commands

    explain = chain_commands.explain
    chain_commands.explain = lambda *args, **more: explain(*args, **more) + word("explain").encode().hex()
    chain = runs.folder / "chain.properties"
    chain.write_text("transforms=m\ntransforms.m.type=MaskField$Value\ntransforms.m.fields=name\n")
    runs.command("explain", "explain", chain)
    page = runs.folder / "out" / "page.html"
    page.write_text(f"<p>{''.join(f'&#{ord(sign)};' for sign in word('page'))}</p>")


def _onto_broker(runs, word):
    """Writes into topics and groups as a run could, since a run's own sink refuses names of topics."""
    from dagster_smt import KafkaTopics
    from dagster_smt.tables.sources.file_writer import NewRecord
    from dagster_smt.testing.broker import KafkaBroker, fetch_jars
    from tests.kafka import Topics
    from tests.leaks.cluster import dump

    fetch_jars()
    runs.allowed.append(runs.folder / "broker")
    with KafkaBroker(runs.folder / "broker") as broker:
        spec = KafkaTopics(broker.servers)
        topics = Topics(spec)
        topics.make(word("topic"))
        header = ((word("recordheader"), b"1"),)
        topics.add([("clean", 0, NewRecord(word("recordkey").encode(), word("record").encode(), header))])
        consumer = topics.client.consumer(word("group"))
        consumer.commit(offsets=[TopicPartition("clean", 0, 1, word("commit"))], asynchronous=False)
        consumer.close()
        dump(spec, runs.folder / "kafka")
