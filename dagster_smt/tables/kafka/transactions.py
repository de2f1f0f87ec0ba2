"""Records sent in transactions: of two producers of one name the later one shuts the earlier one out."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.window import Range
from dagster_smt.tables.kafka.client import DENIED, KafkaClient, Place

_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
_REQUEST = 64 * 2**20
LONGEST = _REQUEST - 1024
"""Bytes of the longest record that is sent, whatever a topic takes: the client adds some of its own."""
_BATCH = 1_000_000
_MOST, _LONGEST = 10_000, 10.0
"""Records and seconds of a transaction: readers of what is committed wait for its end."""


class Transactions:
    """A producer that sends records in one transaction after the other.

    Args:
        client: The brokers.
        name: The transactional id.
        owner: Who sends, for messages.
        limits: How many bytes the topics take at a time: librdkafka does not split batches that are refused.
    """

    def __init__(self, client: KafkaClient, name: str, owner: str, limits: Iterable[int] = ()):
        self.client, self.owner = client, owner
        self.producer = client.producer(
            **{
                "transactional.id": name,
                "partitioner": "murmur2_random",  # as Java's producer chooses
                "message.max.bytes": _REQUEST,  # how long a record may be is the topic's to say
                "batch.size": max(1, min([_BATCH, *limits])),
                "linger.ms": 20,
            }
        )
        self.sent: dict[Place, list[int]] = {}
        self.refused: list[KafkaError] = []
        self.open, self.pending, self.begun, self.times = False, 0, 0.0, 0

    def begin(self) -> None:
        """Shut earlier ones out: what they have not committed is gone, the rest can be read."""
        with self.client.asking(self.owner):
            self.producer.init_transactions(self.client.timeout)

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
        beat: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Send a record; it is there when ``commit`` comes back.

        Raises:
            TableError: SMT528, a later producer has this name.
        """
        if self.open and (self.pending >= _MOST or time.monotonic() - self.begun > _LONGEST):
            self.commit()
            beat("")
        with self._asking():
            if not self.open:
                self.producer.begin_transaction()
                self.open, self.pending, self.begun = True, 0, time.monotonic()
            while True:
                try:
                    given = list(headers)
                    self.producer.produce(topic, value, key, headers=given, on_delivery=self._told)
                    break
                except BufferError:
                    self.producer.poll(0.5)
            self.producer.poll(0)
        self.pending += 1

    def commit(self) -> list[Range]:
        """End the transaction.

        Returns:
            Ranges that surely hold nothing but what was sent.

        Raises:
            TableError: SMT528 a later producer has this name, SMT590 the brokers refuse a record.
            EngineError: SMT628 a right is missing.
        """
        if self.open:
            with self._asking():
                self.producer.flush(self.client.timeout)
                if self.refused and not self._is_about_a_right():
                    statement = f"the brokers refused {len(self.refused)} records: {self.refused[0].name()}"
                    raise TableError(Problem("SMT590", self.owner, statement, _hint(self.refused[0])))
                self.producer.commit_transaction(self.client.timeout)
            self.open, self.times = False, self.times + 1
        if self.times > 1:  # each has left a mark between its records and the next one's
            return []
        ranges = [Range(*place, min(offsets), max(offsets) + 1) for place, offsets in sorted(self.sent.items())]
        return [r for r in ranges if r.records == len(self.sent[r.topic, r.partition])]

    def _is_about_a_right(self) -> bool:
        """Whether a right is missing: records that wait are purged, and a commit raises what the brokers said."""
        return self.refused[0].code() in (KafkaError._PURGE_QUEUE, *DENIED)

    def close(self) -> None:
        """Leave nothing open."""
        if not self.open:
            return
        with suppress(KafkaException):  # shut out, or no broker answers: then they end it themselves
            self.producer.abort_transaction(self.client.timeout)

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.refused.append(error)
            return
        place = (str(message.topic()), int(message.partition() or 0))
        self.sent.setdefault(place, []).append(int(message.offset() or 0))

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with self.client.asking(self.owner):
            try:
                yield
            except (KafkaException, SystemError):
                if self._is_shut_out():
                    raise self._overtaken() from None
                raise
        if any(map(_is_fenced, self.refused)):
            raise self._overtaken()

    def _is_shut_out(self) -> bool:
        """Tells whether a later producer has this name.

        The error at hand does not tell: where librdkafka reports records while its fatal error is raised, Python turns
        that error into a ``SystemError``, one around the other for each record; and a producer that is asked again says
        ``_FATAL`` alone. A producer with a fatal error answers every question about transactions with that error.
        """
        if any(map(_is_fenced, self.refused)):
            return True
        try:
            self.producer.begin_transaction()
        except KafkaException as error:
            return _is_fenced(error.args[0])
        except SystemError:
            return False
        return False

    def _overtaken(self) -> TableError:
        statement = "another run publishes the dead letters of this table now; nothing of this one was written"
        return TableError(Problem("SMT528", self.owner, statement, "run again: it takes what is new then"))


def _hint(error: KafkaError) -> str:
    if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:  # the limit was not known, or has changed meanwhile
        return "raise max.message.bytes of the topic, or grant DescribeConfigs on it: then letters are cut to fit"
    return "look into the settings of the topic"


def _is_fenced(error: Any) -> bool:
    return isinstance(error, KafkaError) and error.code() in _FENCED


@contextmanager
def transactions(client: KafkaClient, name: str, owner: str, limits: Iterable[int] = ()) -> Iterator[Transactions]:
    """A producer of a name, for as long as the block runs; earlier ones of this name are shut out.

    Args:
        client: The brokers.
        name: The transactional id.
        owner: Who sends, for messages.
        limits: See ``Transactions``.

    Raises:
        EngineError: What the brokers refuse.
    """
    producer = Transactions(client, name, owner, limits)
    try:
        producer.begin()
        yield producer
    finally:
        producer.close()
