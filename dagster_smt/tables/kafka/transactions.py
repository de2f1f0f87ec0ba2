"""Sends records in transactions. If two producers have the same name, brokers fence the earlier producer."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from dagster_smt.errors import Problem, TableError
from dagster_smt.model.windows.window import Range
from dagster_smt.tables.kafka.client import DENIED, KafkaClient, Place
from dagster_smt.tables.kafka.outgoing import Outgoing

OnDelivery = Callable[[KafkaError | None, Message], None]
FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
"""Errors of a producer that the brokers have fenced, because another producer with the same name has begun."""
REQUEST = 64 * 2**20
"""The client's limit for the size of a record in bytes. The topic limits the size further."""
LONGEST = REQUEST - 1024
"""The size in bytes of the longest record that this package sends, even if a topic accepts longer records. This size is
smaller than the client's limit, because the client adds some bytes of its own.
"""
_BATCH = 1_000_000
_MOST, _BYTES = 10_000, 32 * 2**20
"""The largest number of records in a transaction, and the largest size of these records in bytes. The records stay in
memory until the transaction ends, because they may have to be sent again.
"""
_TRIES = 5
"""The largest number of attempts to send a transaction that fails although no record was rejected."""
_OF_RECORDS = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError._INVALID_DIFFERENT_RECORD)
"""Errors of brokers that concern the content of a record, for example its size. If one record of a batch is invalid,
all records of the batch may get such an error. All other errors concern the producer or the topic.
"""
_NOT_SENT = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
"""Errors that the client reports for records that it did not send. After a rejected record, the client sends no further
record, not even the records of the next transaction.

The reason is that the client numbers its records. A rejected record leaves a gap in these numbers, and brokers accept
no record after the gap. The gap disappears when the client gets a new epoch.
"""


class Transactions:
    """A producer that sends records in successive transactions.

    If brokers reject a record, its transaction ends, and the next transaction can begin only half a second later. To
    avoid this delay, the producer remembers the size limit of the topic, and shortens later records that exceed this
    limit. ``Outgoing`` states how a record is shortened.

    Args:
        client: The brokers.
        name: The transactional id.
        owner: The sender, for messages.
        limits: Maps a topic to the largest size of a batch in bytes, if the size is known. To a topic whose limit is
            unknown, each record is sent in a batch of its own, because librdkafka does not split a rejected batch.

    Attributes:
        unwritten: The records that were not written, because brokers reject them even if they are shortened.
        shortened: The number of records that were written without some of their parts.
    """

    def __init__(self, client: KafkaClient, name: str, owner: str, limits: Mapping[str, int] | None = None):
        self.client, self.owner = client, owner
        self.limits = dict(limits or {})
        self.producer = client.producer(
            **{
                "transactional.id": name,
                "message.max.bytes": REQUEST,
                # librdkafka does not split a batch that is larger than the limit of its topic
                "batch.size": max(1, min([_BATCH, *self.limits.values()])),
                "linger.ms": 20,
            }
        )
        self.batches = {*self.limits}
        self.with_keys: set[str] = set()
        self.sent: dict[Place, list[int]] = {}
        self.refused: list[KafkaError] = []
        self.waiting: list[Outgoing] = []
        self.unwritten: list[Outgoing] = []
        self.open, self.bytes, self.shortened, self.times = False, 0, 0, 0

    def begin(self) -> None:
        """Registers the producer with the brokers, and fences earlier producers with the same name.

        The brokers abort the open transactions of the earlier producers. Committed transactions of these producers
        are not affected.
        """
        with self.client.asking(self.owner):
            self.producer.init_transactions(self.client.timeout)

    def send(self, record: Outgoing, beat: Callable[[str], None] = lambda line: None) -> None:
        """Adds ``record`` to the next transaction. If the transaction is full (10,000 records or 32 MB), the method
        first sends the full transaction and calls ``beat``.

        Raises:
            TableError: SMT528: a later producer uses this name; SMT590: the brokers reject records because of their
                topic.
        """
        if len(self.waiting) >= _MOST or self.bytes + record.size > _BYTES:
            self.commit()
            beat("")
        self.waiting.append(record)
        self.bytes += record.size

    def commit(self) -> list[Range]:
        """Sends the records that ``send`` has collected, in one transaction. If brokers reject a record, the remaining
        records are sent in another transaction.

        Returns:
            Ranges of offsets that contain only records of this producer. Empty if the producer has sent more than one
            transaction.

        Raises:
            TableError: SMT528: a later producer uses this name; SMT590: the brokers reject records because of their
                topic.
            EngineError: SMT628, a permission is missing.
        """
        records, self.waiting, self.bytes = self.waiting, [], 0
        tries = 0
        while records := self._with_forms(records):
            if self._transaction(records):
                self.shortened += sum(record.shortened for record in records)
                break
            # A rejection changes the next attempt: records are sent one by one, shortened or left out. So attempts with
            # rejections come to an end, and only the number of attempts without a rejection is limited.
            tries = 0 if self.refused else tries + 1
            if tries == _TRIES:
                raise self._refused("transactions of its producer fail")
        if self.times > 1:  # each transaction has left a marker between its records and those of the next transaction
            return []
        ranges = []
        for place, offsets in sorted(self.sent.items()):
            ranges.append(Range(*place, min(offsets), max(offsets) + 1))
        results = []
        for r in ranges:
            if r.records == len(self.sent[r.topic, r.partition]):
                results.append(r)
        return results

    def _with_forms(self, records: Iterable[Outgoing]) -> list[Outgoing]:
        """Shortens each record that is too long for its topic, and returns the records that can be sent.

        The remaining records are added to ``unwritten``: they cannot be shortened enough, or lack a key that their
        topic requires.
        """
        writable: list[Outgoing] = []
        for record in records:
            while record.parts is not None and not self._may_take(record):
                record.shorten()
            (self.unwritten if record.parts is None else writable).append(record)
        return writable

    def _may_take(self, record: Outgoing) -> bool:
        assert record.parts is not None
        fits = record.size <= self.limits.get(record.topic, LONGEST)
        return fits and (record.parts[0] is not None or record.topic not in self.with_keys)

    def _transaction(self, records: Sequence[Outgoing]) -> bool:
        """Sends all ``records`` in one transaction, or none of them. Returns True if the transaction was committed."""
        delivered: list[tuple[str, int, int]] = []
        refused: list[KafkaError] = []
        # a new list, because the client may still report errors of the earlier transaction, to the old list
        self.refused, self.lost = refused, False

        def note_delivery(error: KafkaError | None, message: Message) -> None:
            if error is None:
                delivered.append((str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)))
            elif error.code() in _NOT_SENT:
                self.lost = True
            else:
                refused.append(error)

        with self._asking():
            self.producer.begin_transaction()
            self.open, self.times = True, self.times + 1
            last = self._produce_all(records, note_delivery)
            if self.lost or refused:
                self._abort(last)
                return False
            self.producer.commit_transaction(self.client.timeout)
        self.open = False
        for topic, partition, offset in delivered:
            self.sent.setdefault((topic, partition), []).append(offset)
        return True

    def _produce_all(self, records: Sequence[Outgoing], on_delivery: OnDelivery) -> Outgoing:
        """Produces ``records`` until the client reports a rejected record. Returns the record that was produced
        last.
        """
        for record in records:
            self._produce(record, on_delivery)
            if record.topic not in self.batches:
                self._flush()
            if self.refused or self.lost:
                return record
        self._flush()
        return records[-1]

    def _produce(self, record: Outgoing, on_delivery: OnDelivery) -> None:
        assert record.parts is not None
        key, value, headers = record.parts
        while True:
            try:
                self.producer.produce(record.topic, value, key, headers=headers, on_delivery=on_delivery)
                self.producer.poll(0)
                return
            except BufferError:
                # the client's queue is full; each delivery report that poll() processes frees a place
                self.producer.poll(0.5)
            except KafkaException:
                self.producer.poll(0)  # an earlier rejection ends the transaction
                if not self.refused and not self.lost:
                    raise
                return

    def _flush(self) -> None:
        """Waits until all records are delivered, or until a record is rejected. The client's own ``flush`` would wait
        until the client gives up.
        """
        until = time.monotonic() + self.client.timeout
        while self.producer.flush(0.1) and not self.refused and time.monotonic() < until:
            pass

    def _abort(self, last: Outgoing) -> None:
        """Aborts a transaction in which records were rejected or lost, and notes how to avoid the rejection.

        There are two cases. If brokers rejected a batch of several records, they do not report which record is wrong.
        The method then notes that later records must be sent one by one. If the records of the topic are sent one by
        one, brokers rejected ``last``, the record that was sent last. The method then notes the reason: the record is
        too large, the topic requires keys, or the record cannot be written at all.

        Raises:
            TableError: SMT590, the brokers rejected the records because of the producer or the topic.
        """
        # _asking() raises the error of a fenced producer
        if any(map(_is_fenced, self.refused)):
            return
        others = []
        for error in self.refused:
            if error.code() not in _OF_RECORDS:
                others.append(error)
        if others and others[0].code() in DENIED:
            # KafkaClient.asking() converts this error into SMT628
            raise KafkaException(others[0])
        if not self.refused:
            self._check_rights()
        if others:
            raise self._refused(f"the brokers reject the records: {others[0].name()}")
        self.producer.abort_transaction(self.client.timeout)
        self.open = False
        if self.refused and last.topic in self.batches:
            self.batches.clear()  # the brokers do not report which record of the batch they rejected
        elif self.refused:
            self._learn(last, self.refused[0])

    def _check_rights(self) -> None:
        """Raises an error if the client sent no records because it lacks a permission. The client reports a missing
        permission only when it commits, so the method tries to commit.
        """
        try:
            self.producer.commit_transaction(self.client.timeout)
        except KafkaException as error:
            if error.args[0].code() in DENIED:
                raise

    def _learn(self, record: Outgoing, error: KafkaError) -> None:
        assert record.parts is not None
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            # The brokers do not state the limit, which is lower than this size. A limit of one byte less is enough to
            # refuse the shortest form, which cannot be shortened further.
            self.limits[record.topic] = record.size * 2 // 3 if not record.shortest else record.size - 1
        elif record.parts[0] is None:
            self.with_keys.add(record.topic)
        else:
            record.parts = None

    def _refused(self, what: str) -> TableError:
        return TableError(Problem("SMT590", self.owner, what, "check the settings of the topic"))

    def close(self) -> None:
        """Aborts the transaction if one is open."""
        if not self.open:
            return
        # if the call fails because of fencing, or because no broker answers, the brokers end the transaction themselves
        with suppress(KafkaException):
            self.producer.abort_transaction(self.client.timeout)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with self.client.asking(self.owner):
            try:
                yield
            except (KafkaException, SystemError) as error:
                if self._is_shut_out(error):
                    raise self._overtaken() from None
                raise
        if any(map(_is_fenced, self.refused)):
            raise self._overtaken()

    def _is_shut_out(self, failure: KafkaException | SystemError) -> bool:
        """Returns True if a later producer has taken over the name of this producer. The brokers then fence this
        producer.

        ``failure`` does not always show that the producer was fenced: librdkafka may raise a ``SystemError`` instead,
        or report only ``_FATAL``. But every call that begins or ends a transaction raises the original error again. So
        the method makes such a call.
        """
        if any(map(_is_fenced, self.refused)):
            return True
        if self._is_answer_fenced(self.producer.begin_transaction):
            return True
        # A broker may answer "unknown" while it assigns the name to the later producer. Only a call that ends the
        # transaction then shows the reason. After other failures, such as a broker that is gone, this call would only
        # cost time.
        return _is_unknown(failure) and self._is_answer_fenced(
            partial(self.producer.abort_transaction, self.client.timeout)
        )

    def _is_answer_fenced(self, ask: Callable[[], None]) -> bool:
        """Calls ``ask``, a function of the client. Returns True if this call raises the error of a fenced producer."""
        try:
            ask()
        except KafkaException as error:
            return _is_fenced(error.args[0])
        except SystemError:
            pass
        return False

    def _overtaken(self) -> TableError:
        statement = "another run publishes the dead letters of this table now; nothing of this one was written"
        return TableError(Problem("SMT528", self.owner, statement, "run again: the next run reads the new records"))


def _is_fenced(error: Any) -> bool:
    return isinstance(error, KafkaError) and error.code() in FENCED


def _is_unknown(failure: Exception) -> bool:
    error = failure.args[0] if failure.args else None
    return isinstance(error, KafkaError) and error.code() == KafkaError.UNKNOWN


@contextmanager
def transactions(
    client: KafkaClient, name: str, owner: str, limits: Mapping[str, int] | None = None
) -> Iterator[Transactions]:
    """Yields a producer with the transactional id ``name``. Brokers fence earlier producers with this id.

    Args:
        client: The brokers.
        name: The transactional id.
        owner: The sender, for messages.
        limits: Maps a topic to the largest size of a batch in bytes, if the size is known; see ``Transactions``.

    Raises:
        EngineError: The brokers do not accept the producer.
    """
    producer = Transactions(client, name, owner, limits)
    try:
        producer.begin()
        yield producer
    finally:
        producer.close()
