"""The transforms of Confluent, in the order of the reference."""

from dagster_smt.spec.transform import Transform
from dagster_smt.transforms.confluent.tombstone_handler import TombstoneHandler

ALL: tuple[type[Transform], ...] = (TombstoneHandler,)
