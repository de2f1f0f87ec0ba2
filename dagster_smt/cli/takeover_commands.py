"""Implements two commands for replacing a connector. ``shadow`` compares the rows of our chain with the connector's
rows. ``takeover`` prepares runs that continue the connector's table.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_smt.cli.arguments import add_jars, count
from dagster_smt.cli.terminal import progress, say
from dagster_smt.connect import (
    ANY_CLUSTER,
    NO_WORKER,
    Connector,
    ConnectorComponent,
    by_table,
    component_report,
    read_worker,
    session_for,
    write_session,
    written_component,
)
from dagster_smt.connect.component import is_folder_of
from dagster_smt.connect.connectors import names_in
from dagster_smt.connect.iceberg_catalog import catalog_conf
from dagster_smt.connect.report import Imported
from dagster_smt.errors import ConfigError, Problem, needs_extras

if TYPE_CHECKING:
    from dagster_smt.connect.takeover.shadow import ShadowReport
    from dagster_smt.connect.takeover.takeover_parts import TakeOverPlan


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands ``shadow`` and ``takeover``."""
    takeover = commands.add_parser(
        "takeover", help="let an asset continue the table of a connector, or give the table back"
    )
    _add_connector(takeover)
    takeover.add_argument("--back", action="store_true", help="give the table back to the connector")
    takeover.add_argument("--dry-run", action="store_true", help="change nothing, and print the steps")
    takeover.add_argument(
        "--accept-columns", action="store_true", help="accept columns that only the table or only the chain has"
    )
    takeover.set_defaults(run=_takeover)
    shadow = commands.add_parser("shadow", help="compare the rows of a connector with those of the chain")
    _add_connector(shadow)
    for option, word in (("--from", "first offset"), ("--to-offset", "offset after the last one")):
        shadow.add_argument(
            option,
            action="append",
            default=[],
            metavar="OFFSET",
            # from_, because arguments.from is no valid Python
            dest=option.strip("-").replace("-", "_") + "_",
            help=f"the {word}: a number, or TOPIC-PARTITION=NUMBER; may be repeated",
        )
    shadow.add_argument("--keys", default="", help="columns by which the differences of a row are looked up")
    shadow.set_defaults(run=_shadow)


def _add_connector(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("connector", help="the name of the connector")
    parser.add_argument("--url", required=True, help="the address of a Connect worker's REST API")
    parser.add_argument(
        "--to",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="the folder of the components; missing ones are imported",
    )
    parser.add_argument(
        "--bootstrap-servers",
        default=ANY_CLUSTER,
        help=f"the Kafka cluster of an imported component (default: {ANY_CLUSTER}, looked up in each run)",
    )
    parser.add_argument("--worker", type=Path, metavar="FILE", help="properties of the Connect worker")
    parser.add_argument("--accept-import", action="store_true", help="continue although options are not done")
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of Spark; may be repeated (default: the catalog of the connector)",
    )
    parser.add_argument("--scratch", default="", metavar="FOLDER", help="folder or URI for scratch tables")
    parser.add_argument(
        "--sample", type=count, default=1000, metavar="N", help="records whose columns are compared (default: 1000)"
    )
    parser.add_argument("--by", default="", help="who runs the command, for the record (default: the user)")
    parser.add_argument(
        "--wait",
        type=count,
        default=120,
        metavar="SECONDS",
        help="how long to wait for the connector to stop, and for its next commit (default: 120)",
    )
    add_jars(parser)


def _takeover(arguments: argparse.Namespace) -> int:
    with needs_extras():
        from dagster_smt.connect.takeover.take_over import TakeOver, TakeOverOptions
    with _opened(arguments) as (session, plans, scratch):
        options = TakeOverOptions(
            scratch=scratch,
            wait=arguments.wait,
            by=arguments.by,
            accept_columns=arguments.accept_columns,
            sample=arguments.sample,
            dry_run=arguments.dry_run,
        )
        takeover = TakeOver(session, plans, options, progress)
        records = takeover.back() if arguments.back else takeover.take()
        say(f"{arguments.connector}: {records[0].result}")
        for plan in plans:
            if not arguments.dry_run:
                say(f"record: {plan.folder / 'takeover.md'}")
    return 0


def _shadow(arguments: argparse.Namespace) -> int:
    with needs_extras():
        from dagster_smt.connect.takeover.shadow import Shadow, ShadowOptions
    same = True
    with _opened(arguments) as (session, plans, scratch):
        options = ShadowOptions(
            scratch=scratch,
            wait=arguments.wait,
            start=_bounds(arguments.from_),
            end=_bounds(arguments.to_offset_),
            keys=names_in(arguments.keys),
            by=arguments.by,
        )
        for plan in plans:
            report = Shadow(session, plan, options, progress).compare()
            _print_comparison(plan, report)
            same &= report.same
    return 0 if same else 1


def _print_comparison(plan: "TakeOverPlan", report: "ShadowReport") -> None:
    from dagster_smt.cli.shadow_page import PAGE, shadow_page

    (plan.folder / PAGE).write_text(shadow_page(report), encoding="utf-8")
    rows = report.rows
    result = "same rows" if report.same else "different"
    say(f"{plan.connector.label}: {result}: {report.records} records, {rows['ours']} rows of the chain")
    say(f"  only in the chain's rows: {rows['only_ours']}; only in the table: {rows['only_connectors']}")
    for column in report.columns:
        say(f"  {column['column']}: {column['text']}")
    for row in rows["first"]:
        say(f"  {row['place']}: {', '.join(row['columns']) or 'no row is similar'}")
    say(f"report: {plan.folder / PAGE}")


def _bounds(texts: list[str]) -> dict[str, int]:
    bounds = {}
    for text in texts:
        place, _, number = text.rpartition("=")
        if not number.isdecimal():
            hint = "write a number, or TOPIC-PARTITION=NUMBER"
            raise ConfigError(Problem("SMT794", "--from, --to-offset", f"'{text}' is not an offset", hint))
        bounds[place] = int(number)
    return bounds


@contextmanager
def _opened(arguments: argparse.Namespace) -> "Iterator[tuple[Any, list[TakeOverPlan], str]]":
    """Yields three items: a Spark session, the plan of each table, and a folder for scratch tables. At the end of the
    block, stops the session if this function has started it, and removes the folder if it is temporary.
    """
    with needs_extras():
        from dagster_smt.connect.takeover.definition import Definition
        from dagster_smt.connect.takeover.plans import catalog_of, check_iceberg, take_over_plan
        from dagster_smt.connect.takeover.rest import ConnectRest
        from dagster_smt.connect.takeover.session import take_over_session
    connector = ConnectRest(arguments.url, arguments.connector).connector()
    plans, folders = [], list[Path]()
    for part in by_table(connector):
        check_iceberg(part)
        folders.append(_component_folder(part, arguments, folders))
        plans.append(take_over_plan(part, arguments.url, Definition(folders[-1])))
    conf = catalog_conf(connector.config, catalog_of(plans[0])) | _conf(arguments.conf)
    with tempfile.TemporaryDirectory(prefix="dagster_smt_") as temporary:
        session, is_ours = take_over_session(conf, plans[0].spec)
        try:
            yield session, plans, arguments.scratch or temporary
        finally:
            if is_ours:
                session.stop()


def _component_folder(connector: Connector, arguments: argparse.Namespace, others: Sequence[Path]) -> Path:
    """Returns the folder of the component for ``connector``. Imports the component if the folder does not exist.

    Args:
        connector: The connector, or its part for one table.
        arguments: The arguments of the command.
        others: The folders for the connector's other tables.

    Raises:
        ConfigError: SMT785, a part of the connector is not supported.
    """
    from dagster_smt.cli.topic_commands import topics_at
    from dagster_smt.tables.proposal.look import Look

    servers = arguments.bootstrap_servers
    source = {"kafka": {"bootstrap_servers": servers}}
    worker = read_worker(arguments.worker) if arguments.worker else NO_WORKER
    look = Look(topics_at(servers, None, folder=False), arguments.sample)
    component = written_component(connector, source, "lake", look, arguments.smt_jars, worker=worker, group="connect")
    move_apart(component, arguments.to, connector.name, others)
    folder = Path(arguments.to) / component.folder
    if component.refused and not arguments.accept_import:
        raise ConfigError(_not_done(connector, component))
    if not (folder / "defs.yaml").exists():
        session = session_for([(worker.with_usual_providers(connector), component)])
        write_session(session, arguments.to)
        component.save(arguments.to, component_report(Imported(connector, component), list(session.to_do())))
        say(f"written: {folder / 'defs.yaml'}")
        if session.file is not None:
            say(f"Spark session: {session.file}")
    return folder


def move_apart(component: ConnectorComponent, root: Path, connector: str, others: Sequence[Path]) -> None:
    """Adds a number to the folder name of ``component`` if the folder under ``root`` belongs to another connector than
    ``connector``, or is in ``others``. The import adds the same numbers: the connectors ``a.b`` and ``a-b`` have the
    folders ``a_b`` and ``a_b_2``.
    """
    name, number = component.folder, 2
    while root / component.folder in others or not is_folder_of(root / component.folder, connector):
        component.move_to(f"{name}_{number}")
        number += 1


def _not_done(connector: Connector, component: ConnectorComponent) -> list[Problem]:
    hint = "follow the report of the import, then accept it with --accept-import"
    problems = []
    for verdict in component.options:
        if verdict.verdict == "not done":
            problems.append(Problem("SMT785", f"{connector.name}: {verdict.option}", f"not done: {verdict.text}", hint))
    for stage in (*component.stages, *component.notes):
        if stage.verdict == "not supported":
            problems.append(Problem("SMT785", f"{connector.name}: {stage.part}", f"not done: {stage.text}", hint))
    return problems


def _conf(settings: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in settings]
    if strange := [name for name, equals, _ in pairs if not equals]:
        raise ConfigError(Problem("SMT794", "--conf", f"'{strange[0]}' has no value", "write --conf NAME=VALUE"))
    conf = {}
    for name, _, value in pairs:
        conf[name.strip()] = value.strip()
    return conf
