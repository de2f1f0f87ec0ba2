"""Writes the log line about stages that Python must run, because the JVM lane (the faster path in Java) cannot run them
(``docs/decisions/0031-a-lane-in-the-jvm.md``).
"""

from dagster_smt.chain import Plan
from dagster_smt.jvm.program import in_python
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.spark.records.arrow_map import ArrowMap
from dagster_smt.spark.records.jvm_records import why_not


def what_runs_in_python(spec: RunSpec, plan: Plan) -> list[str]:
    """Returns a list with one log line that explains why Python must run the chain of ``plan``. The line names the
    stages that the JVM lane, the faster path in Java, cannot run. The list is empty if there are no such stages, if the
    sink stores columns, or if the chain runs Java classes from jars.
    """
    # the report of the run states where foreign stages run
    if spec.sink.kind != "records" or plan.chain.has_foreign:
        return []
    table = spec.table
    out = why_not(ArrowMap(plan.chain, table.key, table.value, len(plan.entries), written=spec.written))
    if out is None:
        return []
    return [in_python(out)]
