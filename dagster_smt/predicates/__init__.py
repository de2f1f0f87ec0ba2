"""All predicates, in the order of the reference."""

from dagster_smt.authoring.predicate import Predicate
from dagster_smt.predicates.has_header_key import HasHeaderKey
from dagster_smt.predicates.record_is_tombstone import RecordIsTombstone
from dagster_smt.predicates.topic_name_matches import TopicNameMatches

ALL: tuple[type[Predicate], ...] = (HasHeaderKey, RecordIsTombstone, TopicNameMatches)
