"""The formats that records are written in, and what they do not take."""

from dagster_smt.chain.plan import Plan
from dagster_smt.errors import ConfigError, PlanError, Problem, UnsupportedError
from dagster_smt.model.change_formats import is_change
from dagster_smt.model.format import SCHEMALESS, Format, Formats
from dagster_smt.model.schema import Schema
from dagster_smt.tables.spec import Sink, TopicTable


def written_formats(table: TopicTable, sink: Sink) -> Formats:
    """The formats of what a sink holds; of columns they do not matter.

    Raises:
        UnsupportedError: SMT905, records in a format that they cannot be written in.
    """
    found = Formats(sink.key or table.key, sink.value or table.value)
    if sink.kind == "columns":
        return found
    problems = []
    if is_change(found.key):
        hint = "choose json or string"
        problems.append(Problem("SMT905", f"key.format {found.key.kind}", "keys are no messages", hint))
    if is_change(found.value) and is_change(table.value):
        hint = "give the sink another format: value=Format('json')"
        statement = "what was deleted would be written as if it were new"
        problems.append(Problem("SMT905", f"value.format {found.value.kind}", statement, hint))
    for side, form, read in (("key", found.key, table.key), ("value", found.value, table.value)):
        if form != read and form.kind not in SCHEMALESS and read.kind == "json":
            hint = f"declare the columns of the topic table, or another format than {form.kind}"
            statement = f"the {side}s have no schema, and {form.kind} needs one"
            problems.append(Problem("SMT905", f"{side}.format {form.kind}", statement, hint))
    if problems:
        raise UnsupportedError(problems)
    return found


def check_names(plan: Plan, written: Formats, kind: str) -> None:
    """Refuse names that the formats of what is written do not take, as far as the plan knows them.

    Raises:
        PlanError: SMT274, SMT275; every name.
    """
    if kind != "records":
        return
    problems: list[Problem] = []
    for record in plan.results.values():
        for form, node in ((written.key, record.key), (written.value, record.value)):
            problems += _refused(form, node.schema) if node is not None else []
    if problems:
        raise PlanError(dict.fromkeys(problems))


def _refused(form: Format, schema: Schema) -> list[Problem]:
    if form.kind.startswith("avro"):
        from dagster_smt.interpret.avro_write import avro_problems  # loads fastavro

        return avro_problems(schema)
    if form.kind.startswith("protobuf"):
        from dagster_smt.interpret.protobuf_schema import descriptor_of

        try:
            descriptor_of(schema)
        except ConfigError as error:
            return list(error.problems)
    return []
