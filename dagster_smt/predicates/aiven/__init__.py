"""The predicates of Aiven, in the order of the reference."""

from dagster_smt.predicates.aiven.field_value_matches import FieldValueMatches
from dagster_smt.spec.predicate import Predicate

ALL: tuple[type[Predicate], ...] = (FieldValueMatches,)
