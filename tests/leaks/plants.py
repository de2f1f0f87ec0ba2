"""Leaks that tests put into the package on purpose, to see the judge refuse them."""

from pathlib import Path

import dagster as dg

PLANTS = ("message", "metadata", "lineage", "log", "page")


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
