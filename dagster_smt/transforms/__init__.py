"""All transforms, in the order of the reference."""

from dagster_smt.spec.transform import Transform
from dagster_smt.transforms.cast import Cast
from dagster_smt.transforms.extract_field import ExtractField
from dagster_smt.transforms.filter import Filter
from dagster_smt.transforms.insert_field import InsertField
from dagster_smt.transforms.mask_field import MaskField
from dagster_smt.transforms.regex_router import RegexRouter
from dagster_smt.transforms.replace_field import ReplaceField

ALL: tuple[type[Transform], ...] = (Cast, ExtractField, Filter, InsertField, MaskField, RegexRouter, ReplaceField)
