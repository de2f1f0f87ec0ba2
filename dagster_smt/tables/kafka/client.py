"""A client that asks brokers for topics, ids, offsets and consumer groups, without Spark and with time limits."""

import difflib
import logging
import re
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from dagster_smt.errors import EngineError, Problem, TableError
from dagster_smt.model.secrets import resolved
from dagster_smt.model.windows.offsets import OffsetSet, offsets_of
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.tables.available import Position, TopicEnds, Waiting
from dagster_smt.tables.kafka.client_options import client_config
from dagster_smt.tables.kafka.demands import OF_BROKERS, Demands, demands_of
from dagster_smt.tables.kafka.spec import KafkaTopics, NewTopics

Place = tuple[str, int]
"""A topic-partition, such as ``("orders", 0)`` for partition 0 of the topic ``orders``."""
_LOG = logging.getLogger("dagster_smt.kafka")
_LOG.addHandler(logging.NullHandler())
_PARTITIONER = "murmur2_random"
"""The partitioner of Java's producer. With it, a key gets the same partition from this package as from a Java program.
The default of librdkafka chooses other partitions.
"""
_BATCH = 10_000
_LITTLE = 1024  # bytes; a longer record is returned nevertheless
# librdkafka states the offset of a cut only in the text of its error
_TRUNCATED = re.compile(r"truncation detected.*broker end offset is (\d+)")
_UNKNOWN = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
_RETRIED = (
    *(KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION),
    *(KafkaError.UNSTABLE_OFFSET_COMMIT, KafkaError.COORDINATOR_LOAD_IN_PROGRESS),
    *(KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE),
)
DENIED = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
          KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)  # fmt: skip
"""Error codes for missing permissions."""
_SILENT = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE,
           KafkaError.REQUEST_TIMED_OUT, KafkaError._TIMED_OUT_QUEUE)  # fmt: skip
_UNTOLD = {"SMT628", "SMT629"}
"""Problem codes for a request that the brokers reject: a permission is missing (SMT628), or the reason is another one
(SMT629). If a request for the settings of a topic fails with such a code, the client leaves out this topic instead of
raising an error.
"""
_LOGIN = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED)


@dataclass(frozen=True)
class Committed:
    """An offset that a consumer group has committed for a partition."""

    offset: int
    metadata: str


@dataclass(frozen=True)
class _OffsetAnswer:
    """The brokers' answer to a request for an offset."""

    offset: int
    epoch: int | None
    millis: int


class KafkaClient:
    """A client that sends requests to the brokers of a Kafka cluster.

    Args:
        topics: The cluster with its options.

    Raises:
        ConfigError: SMT582: a variable is not set; SMT583: librdkafka has no equivalent of an option.
    """

    def __init__(self, topics: KafkaTopics):
        self.topics_of = topics
        own = resolved(topics.client_options, "KafkaTopics client_options")
        config = client_config(topics.kafka_options(), own, topics.servers)
        # by default, librdkafka writes its own messages to stderr
        self._config: dict[str, Any] = {**config, "log_level": 0}
        self._admin: Any = None
        self.times: dict[Place, tuple[int, int]] = {}
        """The records that the last call of ``offsets_at`` found: for each topic-partition, the offset and the
        timestamp of the record.
        """
        self._lock = threading.Lock()

    @property
    def timeout(self) -> float:
        return self.topics_of.timeout

    def admin(self) -> Any:
        """Returns librdkafka's admin client, which is created on first use."""
        with self._lock:
            if self._admin is None:
                with self.asking(""):
                    self._admin = AdminClient(self._config)
            return self._admin

    # --- topics ---

    def names(self) -> list[str]:
        """Returns the sorted names of all topics, without Kafka's internal topics."""
        with self.asking("topics"):
            topics = self.admin().list_topics(timeout=self.timeout).topics
        own_topics = []
        for name in topics:
            if not name.startswith("__"):
                own_topics.append(name)
        return sorted(own_topics)

    def described(self, topics: Iterable[str]) -> dict[str, tuple[str, list[int]]]:
        """Returns the id and the partition numbers of each topic in ``topics``, such as
        ``{"orders": ("MkTRaP2cQ0", [0, 1, 2])}``.

        Raises:
            TableError: SMT501, for each topic that does not exist.
        """
        topics = list(dict.fromkeys(topics))
        if not topics:
            return {}
        with self.asking("topics"):
            answers_by_name = self.admin().describe_topics(TopicCollection(topics), request_timeout=self.timeout)
        ids_and_partitions, missing = {}, []
        for topic, future in answers_by_name.items():
            try:
                with self.asking(topic):
                    description = future.result()
                ids_and_partitions[topic] = (str(description.topic_id), sorted(p.id for p in description.partitions))
            except _Unknown:
                missing.append(topic)
        if missing:
            raise TableError(Problem("SMT501", t, "there is no such topic", self._hint(t)) for t in missing)
        return ids_and_partitions

    def _hint(self, missing: str) -> str:
        """Returns a hint that lists topics with names similar to ``missing``, or the first topics of the cluster."""
        names = self.names()
        similar = difflib.get_close_matches(missing, names, 3)
        if similar:
            return f"did you mean {' or '.join(similar)}?"
        return f"topics there: {', '.join(names[:10]) or 'none'}"

    def create(self, names: Sequence[str], how: NewTopics) -> None:
        """Creates the topics ``names`` with the settings in ``how``. If another client creates one of the topics at the
        same time, this is not an error.
        """
        settings = dict(how.settings)
        topics = [NewTopic(name, how.partitions, how.replication_factor, config=settings) for name in names]
        with self.asking("topics"):
            futures = self.admin().create_topics(topics, request_timeout=self.timeout)
        for topic, future in futures.items():
            try:
                with self.asking(topic):
                    future.result()
            except EngineError as error:
                # asking() raises without a cause (``from None``), but Python keeps the original error here
                cause = error.__context__
                if not isinstance(cause, KafkaException) or cause.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
        # after create_topics has succeeded, it may take seconds until all brokers know the topics
        # (``Admin.createTopics``)
        until = time.monotonic() + self.timeout
        while set(names) - set(self.names()) and time.monotonic() < until:
            time.sleep(0.1)

    def make_missing(self, names: Sequence[str]) -> None:
        """Creates those topics in ``names`` that do not exist, if the cluster's option ``create`` is set.

        Raises:
            TableError: SMT586, for each topic that does not exist, if ``create`` is not set.
        """
        missing = sorted({*names} - {*self.names()})
        if not missing:
            return
        if self.topics_of.create is None:
            hint = "give KafkaTopics create=NewTopics(partitions=…); on the command line append has --create N"
            raise TableError(Problem("SMT586", t, "there is no such topic to write to", hint) for t in missing)
        self.create(missing, self.topics_of.create)

    def demands(self, names: Iterable[str]) -> dict[str, Demands]:
        """Returns the requirements that each topic in ``names`` has for its records: their largest size, and whether
        they need a key.

        For a topic that does not exist, these are the requirements that it will have after its creation. If this user
        may not read the settings of a topic, the result does not contain the topic.
        """
        names = {*names}
        if not names:
            return {}
        there = {*self.names()}
        settings_by_topic = self._settings(ResourceType.TOPIC, names & there)
        if absent := names - there:
            settings_by_topic |= dict.fromkeys(absent, self._settings_of_new())
        results = {}
        for name, settings in settings_by_topic.items():
            if settings:
                results[name] = demands_of(settings)
        return results

    def _settings_of_new(self) -> dict[str, str]:
        """Returns the settings that a topic would get if this client created it. The result contains only two settings:
        the largest size of a batch (``max.message.bytes``), and the clean-up policy.
        """
        new_topics = self.topics_of.create
        if new_topics is not None:
            own = {}
            for name in OF_BROKERS:
                if name in new_topics.settings:
                    own[name] = new_topics.settings[name]
        else:
            own = {}
        if own.keys() == OF_BROKERS.keys():
            return own
        with self.asking("brokers"):
            broker = str(min(self.admin().list_topics(timeout=self.timeout).brokers))
        of_brokers = self._settings(ResourceType.BROKER, [broker]).get(broker, {})
        defaults = {}
        for name, of_broker in OF_BROKERS.items():
            if of_broker in of_brokers:
                defaults[name] = of_brokers[of_broker]
        return defaults | own

    def _settings(self, kind: Any, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Returns the settings of each resource in ``names``. ``kind`` states whether these are topics or brokers.

        Settings that the user may not read are left out. Topics that have been deleted are also left out.
        """
        settings_by_name: dict[str, dict[str, str]] = {}
        resources = []
        for name in sorted(names):
            resources.append(ConfigResource(kind, name))
        if not resources:
            return settings_by_name
        with self.asking("settings"):
            answers_by_name = self.admin().describe_configs(resources, request_timeout=self.timeout)
        for resource, future in answers_by_name.items():
            try:
                with self.asking(resource.name):
                    entries = future.result()
            except _Unknown:
                continue
            except EngineError as error:
                if error.problems[0].code not in _UNTOLD:
                    raise
                continue
            texts = {}
            for name, entry in entries.items():
                texts[name] = str(entry.value)
            settings_by_name[resource.name] = texts
        return settings_by_name

    # --- offsets ---

    def ranges(self, topics: Iterable[str]) -> list[Range]:
        """Returns the offset range of each partition of ``topics``, sorted. For example, ``orders-0 [10, 20)`` starts
        at the earliest offset that still exists. With ``read_committed``, the range ends before the first open
        transaction.
        """
        return list(self.measure(topics).ranges)

    def measure(self, topics: Iterable[str]) -> TopicEnds:
        """Returns three facts about the partitions of ``topics``: their offset ranges, their leader epochs, and the
        records that consumers cannot read yet, because a transaction is still open.
        """
        places = []
        for t, (_, partitions) in self.described(topics).items():
            for p in partitions:
                places.append((t, p))
        starts = self.offsets(places, OffsetSpec.earliest())
        ends = self._offset_answers(places, OffsetSpec.latest(), self._isolation)
        ranges = []
        for place in places:
            ranges.append(Range(*place, starts[place], max(starts[place], ends[place].offset)))
        epochs = {}
        for place, answer in ends.items():
            if answer.epoch is not None:
                epochs[place] = answer.epoch
        waiting: list[Waiting] = []
        if self._isolation is IsolationLevel.READ_COMMITTED:
            # `ends` are the last stable offsets; the records from there up to the real ends are hidden
            marks = self.offsets(places, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)
            held_back = {}
            for place, answer in ends.items():
                held_back[place] = (answer.offset, marks[place])
            behind = {}
            for place, parts in held_back.items():
                if parts[0] < parts[1]:
                    behind[place] = parts
            waiting = self._waiting(behind)
        return TopicEnds(sorted(ranges), epochs, waiting)

    def _waiting(self, held_back: Mapping[Place, tuple[int, int]]) -> list[Waiting]:
        """Describes the records that consumers cannot read yet, because a transaction is still open. For each
        topic-partition, the result contains the first offset, the number of offsets, and the timestamp of the first
        record.

        Args:
            held_back: Maps a topic-partition to two offsets: its last stable offset, and its end.
        """
        if not held_back:
            return []
        stable_offsets = {}
        for place, (stable, _) in held_back.items():
            stable_offsets[place] = stable
        since = self.timestamps(stable_offsets)
        waiting = []
        for place, (a, b) in sorted(held_back.items()):
            waiting.append(Waiting(*place, a, b - a, since.get(place)))
        return waiting

    @property
    def _isolation(self) -> Any:
        committed = self.topics_of.isolation_level == "read_committed"
        if committed:
            return IsolationLevel.READ_COMMITTED
        return IsolationLevel.READ_UNCOMMITTED

    def offsets(self, places: Sequence[Place], which: Any, isolation: Any = None) -> dict[Place, int]:
        """Requests one offset of each topic-partition in ``places``. The result is -1 for a partition that has no such
        offset.

        Args:
            places: The topic-partitions.
            which: Selects the offset, such as ``OffsetSpec.earliest()`` or ``OffsetSpec.latest()``.
            isolation: The isolation level. If None, the level of the cluster's options.
        """
        answers = self._offset_answers(places, which, self._isolation if isolation is None else isolation)
        offsets = {}
        for place, at in answers.items():
            offsets[place] = at.offset
        return offsets

    def _offset_answers(self, places: Sequence[Place], which: Any, isolation: Any) -> dict[Place, "_OffsetAnswer"]:
        if not places:
            return {}
        requests = {}
        for place in places:
            requests[TopicPartition(*place)] = which
        return self._patiently(lambda: self._offsets(requests, isolation))

    def _offsets(self, requests: Mapping[Any, Any], isolation: Any) -> dict[Place, "_OffsetAnswer"]:
        with self.asking("offsets"):
            answers_by_name = self.admin().list_offsets(
                requests, isolation_level=isolation, request_timeout=self.timeout
            )
        answers = {}
        for place, future in answers_by_name.items():
            with self.asking(f"{place.topic}-{place.partition}"):
                answer = future.result()
                answers[place.topic, place.partition] = _OffsetAnswer(
                    answer.offset, answer.leader_epoch, answer.timestamp
                )
        return answers

    def offsets_at(self, places: Sequence[Place], millis: int) -> dict[Place, int]:
        """Returns, for each partition in ``places``, the offset of the first record with the timestamp ``millis`` or a
        later one. The result is -1 if there is no such record.
        """
        # in a ListOffsets request, negative numbers have other meanings: -1 is the end, -2 the earliest offset
        answers = self._offset_answers(places, OffsetSpec.for_timestamp(max(0, millis)), self._isolation)
        times = {}
        for place, at in answers.items():
            if at.offset >= 0:
                times[place] = (at.offset, at.millis)
        self.times = times
        offsets = {}
        for place, at in answers.items():
            offsets[place] = at.offset
        return offsets

    def timestamps(self, offsets: Mapping[Place, int]) -> dict[Place, int]:
        """Returns, for each topic-partition, the timestamp of the first record at or after its offset in ``offsets``.
        The result may also be the timestamp of a record in an open or aborted transaction.
        """
        millis_by_place: dict[Place, int] = {}

        def take(place: Place, message: Any) -> None:
            kind, millis = message.timestamp()
            if kind != TIMESTAMP_NOT_AVAILABLE:
                millis_by_place[place] = millis

        starts = []
        for place, offset in offsets.items():
            starts.append(TopicPartition(*place, offset))
        # read_committed would hide the records of an open transaction, which measure() asks for
        self._look(starts, "read_uncommitted", take)
        return millis_by_place

    def cut_back(self, positions: Mapping[Place, Position]) -> dict[Place, int]:
        """Finds partitions that have lost records which a run had already read. Returns the first lost offset of each
        such partition. For example, a run has read ``orders-0`` up to offset 100, and the new leader has only the
        offsets below 80: the result is ``{("orders", 0): 80}``.

        Brokers can detect this loss if a consumer sends the leader epoch together with its position (KIP-320).

        Args:
            positions: Maps a topic-partition to a pair: the offset up to which a run has read, and the leader epoch.
        """
        cuts: dict[Place, int] = {}

        def refused(place: Place, error: KafkaError) -> None:
            truncated = _TRUNCATED.search(error.str())
            if truncated is not None:
                cuts[place] = int(truncated[1])

        starts = []
        for place, (at, epoch) in positions.items():
            starts.append(TopicPartition(*place, at, leader_epoch=epoch))
        self._look(starts, "read_uncommitted", lambda place, message: None, refused)
        return cuts

    def _look(
        self,
        starts: Sequence[TopicPartition],
        isolation: str,
        take: Callable[[Place, Any], None],
        refused: Callable[[Place, KafkaError], None] = lambda place, error: None,
    ) -> None:
        """Reads one record of each partition: the first record at or after the offset in ``starts``.

        Args:
            starts: The partitions with their offsets.
            isolation: ``read_committed`` or ``read_uncommitted``.
            take: Is called with a topic-partition and its record.
            refused: Is called with a topic-partition and its error, if the brokers reject the request.
        """
        # by default, librdkafka silently goes to the end of a partition if the requested offset does not exist
        more = {"isolation.level": isolation, "auto.offset.reset": "error", "enable.partition.eof": True,
                "fetch.wait.max.ms": 50, "max.partition.fetch.bytes": _LITTLE}  # fmt: skip
        consumer = self.consumer("dagster_smt.look", **more)
        open_, until = {(start.topic, start.partition) for start in starts}, time.monotonic() + self.timeout
        with self.asking("records"):
            try:
                consumer.assign(list(starts))
                while open_ and time.monotonic() < until:
                    message = consumer.poll(0.5)
                    # brokers send whole batches, of which only the first record is needed
                    if message is None or (message.topic(), message.partition()) not in open_:
                        continue
                    place = (message.topic(), message.partition())
                    open_.discard(place)
                    error = message.error()
                    if error is None:
                        take(place, message)
                    elif error.code() != KafkaError._PARTITION_EOF:
                        refused(place, error)
            finally:
                consumer.close()

    def count(self, window: Window, beat: Callable[[], None] = lambda: None) -> dict[str, int]:
        """Returns the number of records in ``window`` (a set of offset ranges), as a dict from topic to number. To
        count the records, the method has to read them all.

        Args:
            window: The offset ranges, such as ``orders-0 [10, 20)``.
            beat: Is called again and again while the method reads. An error that it raises stops the method.
        """
        counts = dict.fromkeys(window.topics, 0)
        offsets = offsets_of(window)
        more = {"isolation.level": self.topics_of.isolation_level, "auto.offset.reset": "error",
                "enable.partition.eof": True}  # fmt: skip
        consumer = self.consumer("dagster_smt.count", **more)
        with self.asking("records"):
            try:
                positions = []
                for place, parts in offsets.parts.items():
                    positions.append(TopicPartition(*place, parts[0][0]))
                consumer.assign(positions)
                self._count(consumer, offsets, counts, beat)
            finally:
                consumer.close()
        return counts

    def _count(self, consumer: Any, offsets: OffsetSet, counts: dict[str, int], beat: Callable[[], None]) -> None:
        open_, until = set(offsets.parts), time.monotonic() + self.timeout
        starts = {}
        for place, parts in offsets.parts.items():
            starts[place] = [start for start, _ in parts]
        # a partition is done at its last offset or at its end: the last offsets may be markers of transactions or
        # aborted records, which a consumer does not get
        while open_:
            beat()
            messages = consumer.consume(_BATCH, timeout=1.0)
            if messages:
                until = time.monotonic() + self.timeout
            elif time.monotonic() > until:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            for message in messages:
                place = (message.topic(), message.partition())
                if (error := message.error()) is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    open_.discard(place)
                    continue
                parts, at = offsets.parts[place], bisect_right(starts[place], message.offset()) - 1
                # `at` is the last range that starts at or before the offset; the offset may be between two ranges
                counts[place[0]] += at >= 0 and message.offset() < parts[at][1]
                if message.offset() + 1 >= parts[-1][1]:
                    open_.discard(place)

    # --- groups ---

    def committed(self, group: str) -> dict[Place, Committed]:
        """Returns the offsets that the consumer group ``group`` has committed.

        The method uses a consumer, which requests the offsets of all partitions and waits for the end of transactions.
        The reason is that the admin client of librdkafka 2.16 crashes if a broker asks for a retry of this request.
        """
        with self.asking("topics"):
            listed = self.admin().list_topics(timeout=self.timeout).topics.values()
        places = []
        for t in listed:
            for p in t.partitions:
                if not t.topic.startswith("__"):
                    places.append(TopicPartition(t.topic, p))
        if not places:
            return {}
        try:
            return self._patiently(lambda: self._committed(group, places))
        except EngineError as error:
            # if brokers answer other requests in time, they hold back only these offsets: a transaction that commits
            # them is open (KIP-447)
            if error.problems[0].code != "SMT625" or not self._answers():
                raise
            raise EngineError(self._unstable(group)) from None

    def _answers(self) -> bool:
        """Returns True if a broker responds to a request."""
        try:
            self.names()
        except EngineError:
            return False
        return True

    def _unstable(self, group: str) -> Problem:
        """Returns the problem for a consumer group whose committed offsets the brokers do not return, because a
        transaction of the group is still open.
        """
        statement = f"a transaction that commits the group's offsets is still open after {self.timeout:g} s"
        hint = "run again: the brokers end the transaction of a crashed run; or set a longer timeout of KafkaTopics"
        return Problem("SMT597", f"group {group}", statement, hint)

    def _committed(self, group: str, places: list[TopicPartition]) -> dict[Place, Committed]:
        consumer = self.consumer(group)
        try:
            with self.asking(group):
                answers = consumer.committed(places, self.timeout)
                for place in answers:
                    if place.error is not None:
                        raise KafkaException(place.error)
        finally:
            consumer.close()
        results = {}
        for p in answers:
            # for a partition without a committed offset, librdkafka returns a negative number (OFFSET_INVALID)
            if p.offset >= 0:
                results[(p.topic, p.partition)] = Committed(p.offset, p.metadata or "")
        return results

    def members(self, group: str) -> int:
        """Returns the number of members of the consumer group ``group``; 0 if the group does not exist."""
        with self.asking(f"group {group}"):
            (future,) = self.admin().describe_consumer_groups([group], request_timeout=self.timeout).values()
            return len(future.result().members)

    def commit(self, group: str, offsets: Mapping[Place, Committed]) -> None:
        """Commits ``offsets`` for the consumer group ``group``, which must not have members."""
        positions = []
        for (t, p), c in offsets.items():
            positions.append(TopicPartition(t, p, c.offset, c.metadata))
        consumer = self.consumer(group)
        try:
            with self.asking(group):
                for place in consumer.commit(offsets=positions, asynchronous=False):
                    if place.error is not None:
                        raise KafkaException(place.error)
        finally:
            consumer.close()

    def producer(self, **more: Any) -> Any:
        """Returns a producer with the additional librdkafka settings ``more``."""
        with self.asking(""):
            # with a logger, librdkafka prints nothing to stderr, for example if another run fences this producer
            return Producer({"partitioner": _PARTITIONER, **self._config, **more}, logger=_LOG)

    def consumer(self, group: str, **more: Any) -> Any:
        """Returns a consumer for the group ``group`` that does not join the group."""
        with self.asking(""):
            return Consumer(self.consumer_config(group, **more))

    def consumer_config(self, group: str, **more: Any) -> dict[str, Any]:
        """Returns the librdkafka settings of a consumer that does not join ``group``. The settings include secrets."""
        return {**self._config, "group.id": group, "enable.auto.commit": False, **more}

    def cluster_id(self) -> str:
        """Returns the id of the cluster."""
        with self.asking("cluster"):
            return str(self.admin().cluster_id(timeout=self.timeout))

    # --- failures ---

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        """Calls ``ask`` and returns its result. If a broker is not ready yet, as often happens right after its start,
        the method repeats the call.
        """
        until = time.monotonic() + self.timeout
        while True:
            try:
                return ask()
            except EngineError as error:
                cause = error.__context__
                code = cause.args[0].code() if isinstance(cause, KafkaException) else None
                if code not in _RETRIED or time.monotonic() > until:
                    raise
            time.sleep(0.2)

    @contextmanager
    def asking(self, what: str) -> Iterator[None]:
        """Converts failures of the client in the ``with`` block into errors of this package. ``what`` names the
        requested information in these errors.

        Raises:
            EngineError: SMT625: no broker responds; SMT626: the login fails; SMT627: TLS fails; SMT628: a permission is
                missing; SMT629: the brokers reject the request for another reason.
            TableError: SMT501: there is no such topic or partition.
        """
        try:
            yield
        except KafkaException as error:
            if error.args and isinstance(error.args[0], KafkaError):
                first = error.args[0]
            else:
                first = KafkaError(-1)
            if first.code() in _UNKNOWN:
                raise _Unknown(Problem("SMT501", what, "there is no such topic or partition")) from None
            raise EngineError(self._problem([first, *self._heard(first)], what)) from None

    def _heard(self, error: KafkaError) -> list[KafkaError]:
        """Returns the reasons behind ``error``, if ``error`` only states that no broker answers. An example of a reason
        is a failed TLS handshake.

        A time-out does not carry a reason. So the method creates a second client, lets it connect for up to five
        seconds, and collects its errors.

        Only this short-lived client has a callback for errors. A client that lives longer would call the callback from
        librdkafka's threads even while Python shuts down.
        """
        heard: list[KafkaError] = []
        if error.code() in _SILENT:
            probe = Producer({**self._config, "error_cb": heard.append}, logger=_LOG)
            until = time.monotonic() + min(5.0, self.timeout)
            while not heard and time.monotonic() < until:
                probe.poll(0.1)
        return heard

    def _problem(self, errors: Sequence[KafkaError], what: str) -> Problem:
        codes = {e.code() for e in errors}
        place = self.topics_of.addressed
        # a time-out is among the errors even if another error is its reason, so the reasons come first
        if codes & {*_LOGIN}:
            hint = "check kafka.sasl.mechanism, kafka.sasl.jaas.config and the variables that it refers to"
            return Problem("SMT626", place, "the brokers refuse the login", hint)
        if KafkaError._SSL in codes or any("handshake failed" in str(e.str()) for e in errors):
            hint = "check kafka.security.protocol, the certificates and the host names in them"
            return Problem("SMT627", place, "the TLS connection fails", hint)
        if codes & {*DENIED}:
            hint = (
                "grant Read and Describe on the topics and the group, Write and Create where the run writes, and Write "
                "on the transactional ids dagster_smt.*"
            )
            return Problem("SMT628", what or place, "the brokers deny access", hint)
        if codes & {*_SILENT}:
            hint = "check bootstrap_servers, kafka.security.protocol and the network; run again when they answer"
            return Problem("SMT625", place, f"no broker responds within {self.timeout:g} s", hint)
        hint = "look into the brokers' logs"
        return Problem("SMT629", what or place, f"the brokers refuse: {errors[0].name()}", hint)


class _Unknown(TableError):
    """Raised for a topic or partition that does not exist."""
