"""Plans a takeover: runs of this package continue the table of a connector. The plan combines the connector with the
component that continues its table.
"""

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.option_verdicts import family_of
from dagster_smt.connect.settings import is_true
from dagster_smt.connect.settings_of_lakes import iceberg_table
from dagster_smt.connect.takeover.definition import Definition
from dagster_smt.connect.takeover.file_names import file_naming
from dagster_smt.connect.takeover.takeover_parts import TakeOverPlan
from dagster_smt.errors import ConfigError, Problem, UnsupportedError
from dagster_smt.tables.kafka.spec import KafkaTopics

_APACHE = "org.apache.iceberg.connect.IcebergSinkConnector"
_TABULAR = "io.tabular.iceberg.connect.IcebergSinkConnector"
_ICEBERG = (_APACHE, _TABULAR)
_FAMILIES = ("iceberg", "delta", "files")


def take_over_plan(connector: Connector, url: str, definition: Definition) -> TakeOverPlan:
    """Returns the plan for the takeover of a connector's table.

    Args:
        connector: The connector. If the connector writes several tables, its part for one table (``by_table``).
        url: The address of a worker.
        definition: The component.

    Raises:
        UnsupportedError: SMT784, tables of this connector do not support a takeover; SMT795, the configuration does not
            list the tables; SMT797, the files are not Parquet, or their names contain no offsets.
        ConfigError: SMT792, the component and the connector read different topics, or the component reads no Kafka
            cluster.
    """
    family = family_of(connector)
    if family not in _FAMILIES or not connector.is_sink:
        statement = f"no run can continue the store of {connector.class_name or 'this connector'}"
        hint = "let the asset begin with a table of its own: table.start: group:connect-NAME"
        raise UnsupportedError(Problem("SMT784", connector.name, statement, hint))
    check_iceberg(connector)
    table = definition.spec.table
    if not isinstance(table.source, KafkaTopics):
        raise ConfigError(
            Problem("SMT792", "table.source", "the component does not read from a Kafka cluster", "set kafka")
        )
    if connector.topics and {*table.topics} != {*connector.topics}:
        statement = "the component reads other topics than the connector"
        raise ConfigError(Problem("SMT792", "table.topics", statement, "import the connector again"))
    config = connector.config
    group = worker_group = connector.group
    control = table_name = ""
    if family == "iceberg":
        group = config.get("iceberg.connect.group-id", "").strip() or group
        control = config.get("iceberg.control.topic", "").strip() or "control-iceberg"
        table_name = iceberg_table(connector)
    # Tabular's sink commits the offsets of this group in one transaction with the names of its data files. It commits
    # the offsets of connect-NAME afterwards, so these may be behind.
    if connector.class_name == _TABULAR:
        group = config.get("iceberg.control.group-id", "").strip() or f"cg-control-{connector.name}"
    return TakeOverPlan(
        connector,
        url,
        definition.folder,
        definition.spec,
        group,
        worker_group,
        control,
        table_name,
        file_naming(connector),
    )


def check_iceberg(connector: Connector) -> None:
    """Raises an error if no component can write the tables of ``connector``, an Iceberg sink. An import makes this
    check before it reports on the options.

    Raises:
        UnsupportedError: SMT784, the class is unknown; SMT795, the tables are not listed anywhere.
    """
    if family_of(connector) != "iceberg":
        return
    if connector.class_name not in _ICEBERG:
        statement = "only Apache's and Tabular's Iceberg sinks can be taken over"
        raise UnsupportedError(Problem("SMT784", connector.name, statement, f"move the connector to {_APACHE} first"))
    if is_true(connector, "iceberg.tables.dynamic-enabled"):
        statement = "the connector takes the name of the table from each record, so nothing lists its tables"
        hint = (
            "list the tables in iceberg.tables, each with iceberg.table.NAME.route-regex, set "
            "iceberg.tables.dynamic-enabled=false, let the connector commit once, and run again"
        )
        raise UnsupportedError(Problem("SMT795", connector.name, statement, hint))
    if not iceberg_table(connector):
        statement = "the connector names no table"
        raise UnsupportedError(Problem("SMT795", connector.name, statement, "name its tables in iceberg.tables"))


def catalog_of(plan: TakeOverPlan) -> str:
    """Returns the catalog in the table name of the component: ``iceberg_2`` for ``iceberg_2.shop.orders``. Returns an
    empty string if the table name contains no catalog.
    """
    table = getattr(plan.spec.sink, "table", "")
    catalog, _, rest = table.partition(".")
    return catalog if plan.table and rest == plan.table else ""
