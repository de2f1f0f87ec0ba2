"""Checks the destination of dead letters. Dead letters contain original records, so readers of masked rows must not see
them.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from dagster_smt.errors import ConfigError, Problem, needs_extras
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables import local
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.locations import locations, overlap, same_name
from dagster_smt.tables.sink_options import FileTopicSink, KafkaSink, LetterPlace, TableSink
from dagster_smt.tables.topic_table import FileTopics, SourceSpec, TableSource


def check_dead_letters(spec: RunSpec, topics: Sequence[str], session: SparkSession) -> None:
    """Raises an error if the destination of the dead letters of ``spec`` is wrong. Without any setting for dead
    letters, there is no error.

    Raises:
        ConfigError: SMT531: ``dead_letters`` has no topic, or the run reads a table, and only a topic is set; SMT534:
            the table would read its own dead letters; SMT537: the dead letters would be stored inside the table.
    """
    place = spec.dead_letters or spec.table.source
    if isinstance(place, TableSink):
        _refuse_in_sink(session, spec, place)
        _refuse_in_source(session, spec, place)
        return
    if spec.dead_letters is not None and not spec.dead_letter_topic:
        raise ConfigError(Problem("SMT531", spec.name, "dead letters have a place but no topic", "name the topic"))
    if not spec.dead_letter_topic:
        return
    if isinstance(place, TableSource):
        hint = "name topics or a table as dead_letters"
        raise ConfigError(
            Problem("SMT531", spec.name, "dead letters cannot be written next to a table that the run reads", hint)
        )
    own = (*topics, *spec.table.topics)
    pattern = spec.table.pattern and re.fullmatch(spec.table.pattern, spec.dead_letter_topic)
    if (spec.dead_letter_topic in own or pattern) and same_topics(place, spec.table.source):
        hint = "choose a topic that neither the topics nor the pattern of the table name"
        raise _read_again(spec.dead_letter_topic, hint)
    if isinstance(place, FileTopics) and not has_letters_in(spec):
        _refuse_in_sink(session, spec, FileTopics(local.local_folder(place.root) / spec.dead_letter_topic))


def has_letters_in(spec: RunSpec) -> bool:
    """Returns True if the topic of the dead letters of ``spec`` is one of the topics to which the sink writes, in the
    same cluster or folder.
    """
    place = spec.dead_letters or spec.table.source
    if not spec.dead_letter_topic or isinstance(place, TableSink | TableSource):
        return False
    if isinstance(spec.sink, KafkaSink):
        return same_topics(place, spec.sink.topics)
    return isinstance(spec.sink, FileTopicSink) and same_topics(place, FileTopics(Path(spec.sink.path)))


def letters_among_records(topic: str) -> Problem:
    """Returns the problem to report if the chain sends records to ``topic``, which is the topic of the dead letters."""
    hint = "give the dead letters a topic that no record is routed to"
    return Problem("SMT592", topic, "the chain routes the record to the topic of the dead letters", hint)


def _refuse_in_sink(session: SparkSession, spec: RunSpec, place: TableSink | FileTopics) -> None:
    sink = spec.sink
    is_same = isinstance(place, TableSink) and same_name(session, place.table, sink.table)
    if is_same or overlap(locations(session, place), locations(session, sink)):
        hint = "they hold original records: choose a place outside of the table, and one that does not hold it"
        raise ConfigError(
            Problem("SMT537", place.place, "the dead letters would be inside the folder of the table", hint)
        )


def _refuse_in_source(session: SparkSession, spec: RunSpec, place: TableSink) -> None:
    source = spec.table.source
    if not isinstance(source, TableSource):
        return
    is_same = same_name(session, place.table, source.name)
    if is_same or overlap(locations(session, place), locations(session, source)):
        raise _read_again(place.place, "write them to a separate table")


def _read_again(place: str, hint: str) -> ConfigError:
    return ConfigError(Problem("SMT534", place, "the table would read its own dead letters", hint))


def same_topics(place: LetterPlace, source: SourceSpec) -> bool:
    """Returns True if ``place`` and ``source`` are on the same cluster or in the same folder, even if their locations
    are spelled differently.
    """
    if isinstance(place, KafkaTopics) and isinstance(source, KafkaTopics):
        with needs_extras():
            from dagster_smt.tables.kafka.client import KafkaClient

        # different lists of brokers may belong to one cluster, so its id decides; equal lists need no request
        same = place.bootstrap_servers == source.bootstrap_servers
        return same or KafkaClient(place).cluster_id() == KafkaClient(source).cluster_id()
    if isinstance(place, FileTopics) and isinstance(source, FileTopics):
        return local.local_folder(place.root).resolve() == local.local_folder(source.root).resolve()
    return False
