"""Transforms of Apache Kafka, in the order of the reference."""

from dagster_smt.authoring.transform import Transform
from dagster_smt.transforms.kafka.cast import Cast
from dagster_smt.transforms.kafka.drop_headers import DropHeaders
from dagster_smt.transforms.kafka.extract_field import ExtractField
from dagster_smt.transforms.kafka.filter import Filter
from dagster_smt.transforms.kafka.flatten import Flatten
from dagster_smt.transforms.kafka.header_from import HeaderFrom
from dagster_smt.transforms.kafka.hoist_field import HoistField
from dagster_smt.transforms.kafka.insert_field import InsertField
from dagster_smt.transforms.kafka.insert_header import InsertHeader
from dagster_smt.transforms.kafka.mask_field import MaskField
from dagster_smt.transforms.kafka.regex_router import RegexRouter
from dagster_smt.transforms.kafka.replace_field import ReplaceField
from dagster_smt.transforms.kafka.set_schema_metadata import SetSchemaMetadata
from dagster_smt.transforms.kafka.timestamp_converter import TimestampConverter
from dagster_smt.transforms.kafka.timestamp_router import TimestampRouter
from dagster_smt.transforms.kafka.value_to_key import ValueToKey

ALL: tuple[type[Transform], ...] = (
    Cast,
    DropHeaders,
    ExtractField,
    Filter,
    Flatten,
    HeaderFrom,
    HoistField,
    InsertField,
    InsertHeader,
    MaskField,
    RegexRouter,
    ReplaceField,
    SetSchemaMetadata,
    TimestampConverter,
    TimestampRouter,
    ValueToKey,
)
