"""Debezium's transforms, in the order of the reference."""

from dagster_smt.authoring.transform import Transform
from dagster_smt.transforms.debezium.by_logical_table_router import ByLogicalTableRouter
from dagster_smt.transforms.debezium.event_router import EventRouter
from dagster_smt.transforms.debezium.extract_new_record_state import ExtractNewRecordState
from dagster_smt.transforms.debezium.header_to_value import HeaderToValue
from dagster_smt.transforms.debezium.timezone_converter import TimezoneConverter

ALL: tuple[type[Transform], ...] = (
    ByLogicalTableRouter,
    EventRouter,
    ExtractNewRecordState,
    HeaderToValue,
    TimezoneConverter,
)
