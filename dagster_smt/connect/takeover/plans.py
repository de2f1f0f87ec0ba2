"""The plan of a take-over: the connector of a worker, and the component that continues its table."""

from collections.abc import Mapping

from dagster_smt.connect.connectors import Connector
from dagster_smt.connect.options import family_of
from dagster_smt.connect.settings_of_lakes import iceberg_table
from dagster_smt.connect.takeover.definition import Definition
from dagster_smt.connect.takeover.types import TakeOverPlan
from dagster_smt.errors import ConfigError, Problem, UnsupportedError
from dagster_smt.tables.spec import KafkaTopics

_APACHE = "org.apache.iceberg.connect.IcebergSinkConnector"
_FAMILIES = ("iceberg", "delta", "files")
_CATALOG = "iceberg.catalog"
_CATALOG_CLASS = "org.apache.iceberg.spark.SparkCatalog"


def take_over_plan(connector: Connector, url: str, definition: Definition) -> TakeOverPlan:
    """Returns the plan.

    Raises:
        UnsupportedError: SMT784, tables of this connector cannot be taken over.
        ConfigError: SMT792, the component and the connector read different topics.
    """
    family = family_of(connector)
    if family not in _FAMILIES or not connector.is_sink:
        statement = f"no run can continue the store of {connector.class_name or 'this connector'}"
        hint = "let the asset begin with a table of its own: table.start: group:connect-NAME"
        raise UnsupportedError(Problem("SMT784", connector.name, statement, hint))
    if family == "iceberg" and (connector.class_name != _APACHE or not iceberg_table(connector)):
        statement = "only Apache's Iceberg sink with one table in iceberg.tables can be taken over"
        hint = "move the connector to org.apache.iceberg.connect first; import it once for each table"
        raise UnsupportedError(Problem("SMT784", connector.name, statement, hint))
    table = definition.spec.table
    if not isinstance(table.source, KafkaTopics):
        raise ConfigError(
            Problem("SMT792", "table.source", "the component does not read from a Kafka cluster", "set kafka")
        )
    if connector.topics and {*table.topics} != {*connector.topics}:
        statement = "the component reads other topics than the connector"
        raise ConfigError(Problem("SMT792", "table.topics", statement, "import the connector again"))
    config = connector.config
    group = config.get("consumer.override.group.id", "").strip() or f"connect-{connector.name}"
    control = ""
    if family == "iceberg":
        group = config.get("iceberg.connect.group-id", "").strip() or group
        control = config.get("iceberg.control.topic", "").strip() or "control-iceberg"
    return TakeOverPlan(connector, url, definition.folder, definition.spec, group, control)


def catalog_conf(config: Mapping[str, str]) -> dict[str, str]:
    """Returns Spark's settings for the catalog of an Iceberg sink, as its default catalog.

    The catalog has the sink's name for it, so that connector and runs write the same table.
    """
    prefix = f"{_CATALOG}."
    options = {name.removeprefix(prefix): value for name, value in config.items() if name.startswith(prefix)}
    if not options:
        return {}
    name = config.get(_CATALOG, "").strip() or "iceberg"
    head = f"spark.sql.catalog.{name}"
    conf = {f"{head}.{option}": value for option, value in options.items()}
    return {**conf, head: _CATALOG_CLASS, "spark.sql.defaultCatalog": name}
