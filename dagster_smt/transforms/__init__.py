"""All transforms, in the order of the reference."""

from dagster_smt.authoring.transform import Transform
from dagster_smt.transforms.cast import Cast
from dagster_smt.transforms.drop_headers import DropHeaders
from dagster_smt.transforms.extract_field import ExtractField
from dagster_smt.transforms.filter import Filter
from dagster_smt.transforms.flatten import Flatten
from dagster_smt.transforms.header_from import HeaderFrom
from dagster_smt.transforms.hoist_field import HoistField
from dagster_smt.transforms.insert_field import InsertField
from dagster_smt.transforms.insert_header import InsertHeader
from dagster_smt.transforms.mask_field import MaskField
from dagster_smt.transforms.regex_router import RegexRouter
from dagster_smt.transforms.replace_field import ReplaceField
from dagster_smt.transforms.set_schema_metadata import SetSchemaMetadata
from dagster_smt.transforms.timestamp_converter import TimestampConverter
from dagster_smt.transforms.timestamp_router import TimestampRouter
from dagster_smt.transforms.value_to_key import ValueToKey

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
