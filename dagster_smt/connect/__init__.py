"""Imports connectors from Kafka Connect. The code reads connectors, and writes a Dagster component for each connector.
For each transform, the code gives a verdict: whether the transform does the same here as in Kafka.
"""

from dagster_smt.connect.component import ANY_CLUSTER as ANY_CLUSTER
from dagster_smt.connect.component import ConnectorComponent as ConnectorComponent
from dagster_smt.connect.component import written_component as written_component
from dagster_smt.connect.connector_sources import Cluster as Cluster
from dagster_smt.connect.connector_sources import cluster_at as cluster_at
from dagster_smt.connect.connector_sources import connectors_at as connectors_at
from dagster_smt.connect.connectors import Connector as Connector
from dagster_smt.connect.connectors import read_connectors as read_connectors
from dagster_smt.connect.option_rules import OptionVerdict as OptionVerdict
from dagster_smt.connect.project_session import ProjectSession as ProjectSession
from dagster_smt.connect.project_session import session_for as session_for
from dagster_smt.connect.project_session import write_session as write_session
from dagster_smt.connect.report import component_report as component_report
from dagster_smt.connect.report import index_report as index_report
from dagster_smt.connect.settings_of_lakes import by_table as by_table
from dagster_smt.connect.survey import TransformVerdict as TransformVerdict
from dagster_smt.connect.survey import survey as survey
from dagster_smt.connect.worker import NO_WORKER as NO_WORKER
from dagster_smt.connect.worker import Worker as Worker
from dagster_smt.connect.worker import read_worker as read_worker
