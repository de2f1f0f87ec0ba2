"""Reads the last records of topics within a short time. A broker that does not respond once gets no further request."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dagster_smt.errors import EngineError, SmtError
from dagster_smt.interpret.preview import Sample
from dagster_smt.tables.kafka.spec import KafkaTopics
from dagster_smt.tables.samples import samples
from dagster_smt.tables.topic_table import FileTopics
from dagster_smt.tables.windows import matching

_MOST_TOPICS = 20
"""The largest number of topics that are sampled for a topic pattern, even if the pattern matches more topics."""
_SECONDS = 4.0
"""The time limit of one request to a broker, in seconds. A check whether the broker responds takes two requests."""


@dataclass(frozen=True)
class TopicSamples:
    """Records that were sampled from topics.

    Attributes:
        samples: The last records of the topics, oldest first in each topic.
        problem: The reason why there are no samples. An empty string if there are samples.
    """

    samples: Sequence[Sample] = ()
    problem: str = ""


@dataclass
class Look:
    """A reader of the last records of topics. The reader stops sending requests after a broker has not responded.

    Attributes:
        place: The broker or folder of the topics.
        records: The number of records to read from each topic.
        silent: The reason why the reader sends no request, such as the error of a broker that did not respond. Empty if
            the reader may send requests.
    """

    place: FileTopics | KafkaTopics
    records: int = 100
    silent: str = field(default="", init=False)

    def __post_init__(self) -> None:
        if isinstance(self.place, KafkaTopics):
            if "{{" in self.place.bootstrap_servers:
                self.silent = "the address of the brokers is a template, which only Dagster renders"
            self.place = replace(self.place, timeout=min(_SECONDS, self.place.timeout))

    def at(self, topics: Sequence[str], pattern: str = "") -> TopicSamples:
        """Samples the last records of ``topics``. If ``topics`` is empty, samples the topics that match ``pattern``."""
        if self.silent:
            return TopicSamples(problem=self.silent)
        try:
            names = list(topics) or self._matching(pattern)
            records = []
            for name in names:
                records.extend(samples(self.place, name, self.records))
        except SmtError as error:
            problem = error.problems[0]
            said = f"{problem.code} {problem.place}: {problem.statement}"
            if isinstance(error, EngineError):
                self.silent = said
            return TopicSamples(problem=said)
        if any(sample.value is not None for sample in records):
            return TopicSamples(records)
        return TopicSamples(problem="there is no record with a value in the topics" if names else "no topic matches")

    def _matching(self, pattern: str) -> list[str]:
        from dagster_smt.tables.sources import open_source  # may load a Kafka client

        return matching(pattern, open_source(self.place).topics())[:_MOST_TOPICS]
