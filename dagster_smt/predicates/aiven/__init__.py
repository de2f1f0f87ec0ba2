"""The predicates of Aiven, in the order of the reference."""

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.predicates.aiven.field_value_matches import FieldValueMatches

ALL: tuple[type[Predicate], ...] = (FieldValueMatches,)
