"""Reads schemas and topic tables from command-line arguments."""

import json
from pathlib import Path

from dagster_smt.chain import Chain, Plan, plan_chain
from dagster_smt.chain.dead_paths import refuse_dead_paths
from dagster_smt.cli.arguments import file_text
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.applied_policy import AppliedPolicy, Subject, apply_policy
from dagster_smt.privacy.policy import read_policy
from dagster_smt.tables.planning import declared_values, plan_table
from dagster_smt.tables.topic_table import FileTopics, TopicTable


def read_table(path: Path | None, schema: str | None) -> TopicTable | None:
    """Reads a topic table from the ``CREATE TABLE`` statement in the file ``path``; returns None without a file. The
    statement need not name the source of the topics.

    Raises:
        ConfigError: The statement has problems; SMT270, ``path`` and ``schema`` are both set.
    """
    if path is None:
        return None
    if schema:
        problem = Problem(
            "SMT270", "--schema", "conflicts with --table", "remove --schema: the statement has the columns"
        )
        raise ConfigError(problem)
    text = file_text(path)
    return TopicTable.create(text, place=path.name, elsewhere=FileTopics(Path()))


def read_schema(text: str | None) -> Schema | None:
    """Reads a schema from ``text``; returns None without a text. The text is a DDL string, or the name of a file: a
    ``.sql`` file with a DDL string, or a ``.json`` file with a schema.
    """
    if not text:
        return None
    path = Path(text)
    if path.suffix == ".json":
        from dagster_smt.formats.json import resolve_defaults
        from dagster_smt.model.schema_json import schema_from_json

        try:
            data = json.loads(file_text(path))
        except ValueError as error:
            raise ConfigError(Problem("SMT003", path.name, f"the file is not valid json: {error}")) from None
        except RecursionError:
            statement = "the file is not valid json: it is nested too deeply"
            raise ConfigError(Problem("SMT003", path.name, statement)) from None
        return resolve_defaults(schema_from_json(data, place=path.name), Format())
    from dagster_smt.tables.ddl import parse_ddl

    if path.suffix == ".sql":
        return parse_ddl(file_text(path), place=path.name)
    return parse_ddl(text)


def policy_on(path: Path | None, schema: Schema | None, table: TopicTable | None, topic: str) -> AppliedPolicy | None:
    """Applies the privacy policy in the file ``path`` to the topics of a command, and returns its decisions and stages.
    Returns None if there is no file.

    Raises:
        ConfigError: The policy is wrong, or does not fit the topic.
    """
    if path is None:
        return None
    topics: tuple[str, ...] = (topic,) if topic else ()
    key, value = Format("string"), Format("json_schema", schema) if schema is not None else Format()
    declared = value.known_schema
    added: tuple[str, ...] = ()
    if table is not None:
        topics, key, value = topics or table.topics, table.key, table.value
        declared, added = declared_values(table), tuple(below("", column.name) for column in table.row.others)
    return apply_policy(read_policy(path), Subject(topics, key, value, declared, added))


def planned(chain: Chain, schema: Schema | None, table: TopicTable | None, topic: str = "") -> Plan:
    """Returns the plan of ``chain``, which is the schema after each stage. The input of the chain is the rows of
    ``table``. If ``table`` is None, the input is values with the schema ``schema``, or without a schema if ``schema``
    is None, too.

    Raises:
        PlanError: No record can pass through the chain. Or a mask, drop or rename names a field that does not exist,
            and the chain does not permit that.
    """
    topics = (topic,) if topic else ()
    if table is not None:
        return refuse_dead_paths(plan_table(chain, table, topics), table.value.known_schema)
    return refuse_dead_paths(plan_chain(chain, None, schema, topics=topics, typed=schema is not None), schema)
