"""Implements the commands for chains and transforms: ``lint``, ``explain``, ``list``."""

import argparse
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dagster_smt.authoring.options import Options
from dagster_smt.chain import Plan, parse_chain
from dagster_smt.chain.explain import explain
from dagster_smt.chain.plugins import predicates, transforms
from dagster_smt.chain.problems import did_you_mean
from dagster_smt.chain.vendors import by_vendor
from dagster_smt.cli.arguments import add_jars, add_policy
from dagster_smt.cli.explain_page import page
from dagster_smt.cli.grid import grid
from dagster_smt.cli.schema_arguments import planned, policy_on, read_schema, read_table
from dagster_smt.cli.terminal import say
from dagster_smt.errors import ConfigError, PlanError, Problem, SmtError
from dagster_smt.foreign.check import check_options
from dagster_smt.foreign.kafkas_classes import runs_in_jvm, why_in_host
from dagster_smt.jvm.columns import columns_program
from dagster_smt.jvm.program import in_python, kept_out
from dagster_smt.model.cell import Const
from dagster_smt.model.topics.columns import describe_columns
from dagster_smt.model.topics.format import SELF_DESCRIBED, Format
from dagster_smt.model.topics.table_names import unfit_topics
from dagster_smt.privacy.applied_policy import AppliedPolicy
from dagster_smt.privacy.policy_stages import OTHER_HEADERS
from dagster_smt.spark.ways import PlannedFacts, possible_ways
from dagster_smt.tables.push_down import explained
from dagster_smt.tables.sink_options import DeltaSink
from dagster_smt.tables.topic_table import TopicTable

_EPOCHS = "leader epochs: the client of confluent-kafka reads the topics of a cluster, slower than Spark's reader"
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()]+\)")


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands ``lint``, ``explain`` and ``list``."""
    lint = commands.add_parser("lint", help="find every problem of chain files")
    lint.add_argument("chain", nargs="+", type=Path, help=".properties, .yaml or .json")
    lint.add_argument("--schema", help="the value's schema, as for explain, to check the chain against it")
    lint.add_argument("--table", type=Path, metavar="FILE", help="a CREATE TABLE statement of the topic instead")
    lint.add_argument("--topic", default="", help="the topic the records come from")
    lint.add_argument("--unknown-options", choices=("error", "warn"), default="error")
    lint.add_argument(
        "--dead-paths",
        choices=("error", "warn"),
        help="the verdict on a mask, drop or rename that can touch nothing: by default that of the chain (dead.paths), "
        "else an error",
    )
    add_policy(lint)
    add_jars(lint)
    lint.set_defaults(run=_lint)
    explain = commands.add_parser("explain", help="show the schema and the lineage after each stage")
    explain.add_argument("chain", type=Path)
    explain.add_argument(
        "--schema", help="the value's schema: a DDL string, a .sql file of one, or a .json file of Connect schema JSON"
    )
    explain.add_argument("--table", type=Path, metavar="FILE", help="a CREATE TABLE statement of the topic instead")
    explain.add_argument("--topic", default="", help="the topic the records come from")
    explain.add_argument(
        "--html", type=Path, metavar="FILE", help="write one page with a picture of the columns' sources"
    )
    explain.add_argument("--full", action="store_true", help="all fields after each stage, not only the changed ones")
    explain.add_argument(
        "--sink", default="", metavar="PLACE", help="a path or name with {topic}: show the tables of the topics"
    )
    add_policy(explain)
    add_jars(explain)
    explain.set_defaults(run=_explain)
    listed = commands.add_parser("list", help="list transforms and predicates with their options")
    listed.add_argument("name", nargs="?", default="", help="only this one: its options, defaults and documentation")
    listed.set_defaults(run=_list)


def _lint(arguments: argparse.Namespace) -> int:
    schema, failed = read_schema(arguments.schema), False
    table = read_table(arguments.table, arguments.schema)
    for path in arguments.chain:
        try:
            jars = {"smt_jars": arguments.smt_jars, "connect_version": arguments.connect_version}
            chain = parse_chain(path, unknown_options=arguments.unknown_options, **jars)
            more = check_options(chain)
            chain = replace(chain, dead_paths=arguments.dead_paths or chain.dead_paths)
            policy = policy_on(arguments.policy, schema, table, arguments.topic)
            chain = policy.on(chain) if policy is not None else chain
            plan = planned(chain, schema, table, arguments.topic)
        # the problems of a plan name the stage, but not the file
        except PlanError as error:
            failed = True
            lines = []
            for problem in error.problems:
                lines.append(str(problem.at(f"{path.name}:")))
            say("\n".join(lines))
            continue
        except SmtError as error:
            failed = True
            say(str(error))
            continue
        say(f"{path}: {len(chain.stages)} stages, no problems")
        for warning in dict.fromkeys((*plan.chain.warnings, *plan.warnings, *more)):
            say(f"warning {warning}")
    return int(failed)


def _explain(arguments: argparse.Namespace) -> int:
    table = read_table(arguments.table, arguments.schema)
    chain = parse_chain(arguments.chain, smt_jars=arguments.smt_jars, connect_version=arguments.connect_version)
    for warning in check_options(chain):
        say(f"warning {warning}")
    chain = replace(chain, dead_paths="warn")  # the command shows dead paths as warnings
    schema = read_schema(arguments.schema)
    policy = policy_on(arguments.policy, schema, table, arguments.topic)
    chain = policy.on(chain) if policy is not None else chain
    plan = planned(chain, schema, table, arguments.topic)
    if policy is not None and arguments.html is None:
        _decisions(policy)
    if table is not None and arguments.html is None:
        say("columns of the topic table")
        say(grid([("column", "type", "read from", "written to"), *describe_columns(table.row)], left=4))
        if table.value.arrays_as_rows:
            say("a value that is an array: a row of each of its elements")
        if any(column.origin == "leader-epoch" for column in table.row.others):
            say(_EPOCHS)
        for line in explained(plan.chain, table):
            say(line)
    if arguments.html is None:
        say(explain(plan, full=arguments.full))
        for line in (*_ways(plan, table), *_tables(plan, arguments.sink)):
            say(line)
        return 0
    arguments.html.write_text(page(plan, arguments.chain.name, full=arguments.full), encoding="utf-8")
    say(f"written: {arguments.html}")
    return 0


def _decisions(policy: AppliedPolicy) -> None:
    """Prints the decisions of ``policy``, such as "mask ``customer.email``", and its action on fields without a
    decision.
    """
    say(f"decisions of {policy.policy.name}")
    rows = [("topics", "field", "action", "reason")]
    for one in policy.decisions:
        rows.append((one.topics or "all", f"{one.part} {one.path or '(whole)'}", one.action, one.reason))
    say(grid(rows, left=4))
    say(f"all other fields of the value: {policy.policy.untagged}")
    if not any(one.part == "headers" and one.path == OTHER_HEADERS for one in policy.decisions):
        say(f"all other headers: {policy.policy.untagged}")


def _ways(plan: Plan, table: TopicTable | None) -> list[str]:
    """Returns lines that name the execution paths ("ways": the JVM lane, Python, Spark's columns) on which a run of the
    plan's chain may process records. There is a line for each kind of sink into which the chain can write.

    A further line says where classes from jars run, or why the chain cannot run in the JVM lane (this package's Java
    code). The lines need neither a Spark session nor records.
    """
    value, key = Format(), "json"
    if table is not None:
        value, key = table.value, table.key.kind
    elif plan.typed:
        value = Format("json_schema", schema=plan.value)
    lines = []
    out = kept_out(plan.chain, key) if value.kind == "json" else None
    key_format = Format("string") if table is None else table.key
    # None: the session determines whether the JVM runs Kafka's classes
    in_jvm = None if runs_in_jvm(plan.chain, key_format, value) else False
    in_lane = value.kind == "json" and out is None
    facts = PlannedFacts(True, value, lane_runs_chain=in_lane, jvm_runs_kafkas_classes=in_jvm)
    lines.append(f"way into a sink of records: {_names(facts)}")
    if plan.chain.has_foreign:
        lines.append(f"way into a table of columns: {_names(PlannedFacts(False, value, has_foreign=True))}")
    elif plan.typed or value.kind in SELF_DESCRIBED:
        parses = None if value.schema is not None and columns_program(value.schema, value, {}) is not None else False
        lines.append(f"way into a table of columns: {_names(PlannedFacts(False, value, lane_parses=parses))}")
    if plan.chain.has_foreign:
        lines.append(_where_foreign_run(plan, key_format, value))
    elif out is not None:
        lines.append(in_python(out))
    return lines


def _where_foreign_run(plan: Plan, key: Format, value: Format) -> str:
    """Returns a line that says in which process the classes from jars run: in Spark's JVM, or in a separate Java
    process.
    """
    why = why_in_host(plan.chain, key, value)
    if why:
        return f"a separate Java process runs the classes of jars: {why}"
    return (
        "Spark's JVM runs the classes of jars into a sink of records; "
        "into a table of columns, on a cluster and over Spark Connect, a separate Java process does"
    )


def _tables(plan: Plan, place: str) -> Iterator[str]:
    """Yields lines about the tables that the sink at ``place`` writes. If ``place`` contains ``{topic}``, the sink
    writes a table for each topic, and each table has a line. If the topics depend on the records, a line states the
    largest number of tables.

    Raises:
        ConfigError: SMT730, the template is wrong.
        PlanError: SMT731, SMT732, a topic cannot have a table.
    """
    if not place:
        return
    sink = DeltaSink(path=place) if "/" in place else DeltaSink(table=place)
    if not sink.per_topic:
        yield f"all records go to {sink.place}"
        return
    topics = _topics_after(plan)
    if problems := unfit_topics(topics, (), keeps_deletions=False):
        raise PlanError(problems.values())
    for topic in sorted(topics):
        yield f"records of topic {topic} go to {sink.of_topic(topic).place}"
    if not topics:
        yield f"the records choose the topic, and each topic has a table: {sink.place}"
        limits = f"{sink.max_tables} tables (max_tables), and {sink.max_new_tables} new ones of a run (max_new_tables)"
        yield f"  at most {limits}"


def _topics_after(plan: Plan) -> set[str]:
    """Returns the topics to which the records may belong after the chain of ``plan``. Empty if the plan does not know
    all of these topics.
    """
    topics = set()
    for record in plan.results.values():
        if not isinstance(record.topic.expr, Const):
            return set()
        topics.add(str(record.topic.expr.value))
    return topics


def _names(facts: PlannedFacts) -> str:
    return ", or ".join(way.name for way in possible_ways(facts))


def _list(arguments: argparse.Namespace) -> int:
    shown = 0
    for kind, classes in (("transforms", transforms()), ("predicates", predicates())):
        selected = []
        for c in classes.values():
            if arguments.name.lower() in ("", c.__name__.lower(), c.connect_class.lower()):
                selected.append(c)
        shown += len(selected)
        for vendor, names in by_vendor(c.connect_class for c in selected).items():
            if not arguments.name:
                say(f"{kind} of {vendor}")
            for name in names:
                _class(classes[name], full=bool(arguments.name))
    if not shown:
        names = []
        for known in (*transforms().values(), *predicates().values()):
            names.append(known.__name__)
        hint = did_you_mean(arguments.name, names)
        raise ConfigError(Problem("SMT010", arguments.name, "there is no such transform or predicate", hint))
    return 0


def _class(cls: type[Options], *, full: bool) -> None:
    sides = "$Key, $Value" if getattr(cls, "sided", False) else ""
    first, *rest = _without_links(inspect.cleandoc(cls.__doc__ or "")).splitlines() or [""]
    say(f"  {cls.__name__:20} {sides:12} {first}")
    if full:
        say("\n".join(f"  {line}".rstrip() for line in rest))
        say(f"  class: {cls.connect_class}\n")
    _options(cls, full=full)


def _options(cls: type[Options], *, full: bool) -> None:
    for name, field in cls.model_fields.items():
        if field.default in ("", (), None):
            default = ""
        else:
            default = f" (default: {_shown(field.default)})"
        needed = " (required)" if field.is_required() else default
        former = []
        for old, new in cls.former_options:
            if new == (field.alias or name):
                former.append(old)
        if full and former:
            before = f" Before Kafka 4.0: {', '.join(former)}."
        else:
            before = ""
        say(f"    {field.alias or name:28} {_without_links(field.description or '')}{needed}{before}")


def _without_links(text: str) -> str:
    """Returns ``text`` without its Markdown links: the words of a link stay, but its address is removed."""
    return _LINK.sub(r"\1", text)


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return str(default)
