"""The transforms of Aiven, in the order of the reference."""

from dagster_smt.authoring.transform import Transform
from dagster_smt.transforms.aiven.case_transform import CaseTransform
from dagster_smt.transforms.aiven.concat_fields import ConcatFields
from dagster_smt.transforms.aiven.extract_timestamp import ExtractTimestamp
from dagster_smt.transforms.aiven.extract_topic import ExtractTopic
from dagster_smt.transforms.aiven.filter_by_field_value import FilterByFieldValue
from dagster_smt.transforms.aiven.hash import Hash

ALL: tuple[type[Transform], ...] = (
    CaseTransform,
    ConcatFields,
    ExtractTimestamp,
    ExtractTopic,
    FilterByFieldValue,
    Hash,
)
