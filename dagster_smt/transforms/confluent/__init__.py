"""The transforms of Confluent, in the order of the reference."""

from dagster_smt.authoring.transform import Transform
from dagster_smt.transforms.confluent.drop import Drop
from dagster_smt.transforms.confluent.extract_topic import ExtractTopic
from dagster_smt.transforms.confluent.extract_topic_header import ExtractTopicHeader
from dagster_smt.transforms.confluent.filter import Filter
from dagster_smt.transforms.confluent.message_timestamp_router import MessageTimestampRouter
from dagster_smt.transforms.confluent.tombstone_handler import TombstoneHandler

ALL: tuple[type[Transform], ...] = (
    Drop,
    ExtractTopic,
    ExtractTopicHeader,
    Filter,
    MessageTimestampRouter,
    TombstoneHandler,
)
