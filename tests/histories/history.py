"""A history: a world, the model of it, and steps that are done to both. After each step the judge compares them."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dagster_smt.chain import parse_chain
from dagster_smt.errors import SmtError
from dagster_smt.model.reports.run_report import RunReport
from dagster_smt.model.topics.format import Format
from dagster_smt.model.windows.window import Range, Window
from dagster_smt.run.batch import run
from dagster_smt.run.micro_batch import MicroBatches, run_batches
from dagster_smt.run.run_spec import RunSpec
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.topic_table import FileTopics, TopicTable
from dagster_smt.tables.window_request import WindowRequest
from tests.histories import faults
from tests.histories.judge import Evidence, judged
from tests.histories.model import Answer, Ask, Model, Table
from tests.histories.sinks import Letters, open_sink
from tests.histories.sources import open_topics
from tests.histories.topics import BASE, Fate, Offset
from tests.kafka import Committed, KafkaClient

TRANSFORMS = "org.apache.kafka.connect.transforms."
CAST = {"transforms.cast.type": TRANSFORMS + "Cast$Value", "transforms.cast.spec": "note:int32"}
MASK = {"transforms.mask.type": TRANSFORMS + "MaskField$Value", "transforms.mask.fields": "name"}
DROP = {
    "transforms.drop.type": TRANSFORMS + "Filter",
    "transforms.drop.predicate": "gone",
    "predicates": "gone",
    "predicates.gone.type": TRANSFORMS + "predicates.RecordIsTombstone",
}
MEND = {
    "transforms.mend.type": TRANSFORMS + "MaskField$Value",
    "transforms.mend.fields": "note",
    "transforms.mend.replacement": "0",
}
ROUTE = {
    "transforms.route.type": TRANSFORMS + "RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "clean.$1",
}
CHAINS = {
    "first": {"transforms": "drop,cast,mask", **DROP, **CAST, **MASK},
    "mended": {"transforms": "drop,mend,cast,mask", **DROP, **CAST, **MASK, **MEND},
}
COLUMNS = Format("json_schema", parse_ddl("id INT, name STRING, note STRING"))
FATES: dict[str, Fate] = {"g": "good", "b": "bad", "x": "broken", "d": "dropped"}
PATTERN = r"shop\..*"


@dataclass(frozen=True)
class Setting:
    """What a history is played with.

    Attributes:
        source: ``files``, ``kafka`` or ``bronze``.
        sink: ``delta records``, ``delta columns``, ``iceberg records``, ``iceberg columns``, ``files`` or ``kafka``.
        letters: ``files``, ``kafka`` or ``table``.
        start, start_time, on_data_loss: As in the model.
        route: Whether records that go to topics go to others than those with the names of their own.
    """

    source: str
    sink: str
    letters: str = "files"
    start: str = "earliest"
    start_time: int = 0
    on_data_loss: str = "fail"
    route: bool = True


@dataclass
class Run:
    """How a run ended."""

    status: str
    codes: frozenset[str] = frozenset()


@dataclass
class History:
    """The world and the model of a history.

    Steps are tuples: the name of a method and its arguments, to be printed and played again.
    """

    setting: Setting
    session: SparkSession
    folder: Path
    servers: str = ""
    steps: list[tuple[Any, ...]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    marks: list[tuple[Any, Table]] = field(default_factory=list)

    def __post_init__(self) -> None:
        s = self.setting
        self.source = open_topics(s.source, self.folder, self.servers)
        self.sink = open_sink(s.sink, self.session, self.folder, self.source)
        self.letters = Letters(s.letters, self.folder, self.source)
        self.model = Model(
            s.source,
            sink=self.sink.model,
            start=s.start,
            start_time=s.start_time,
            on_data_loss=s.on_data_loss,
        )
        self.late: dict[tuple[str, int], list[dict[int, Any]]] = {}
        """Records of a bronze table that are on their way."""
        self.last = Run("")
        self.message = ""
        """What the last run said that was refused."""

    def play(self, steps: Sequence[tuple[Any, ...]]) -> list[str]:
        """Do steps until one goes wrong; gives what is wrong with it."""
        for step in steps:
            if self.do(step):
                break
        return self.problems

    def do(self, step: tuple[Any, ...]) -> list[str]:
        """Do a step and have it judged."""
        self.steps.append(step)
        answers = getattr(self, step[0])(*step[1:])
        result = Evidence(self.last.status, self.last.codes, *self._look())
        answer, self.problems = judged(answers, result)
        if answer is not None:
            self.model.table, self.model.letters = answer.table, answer.letters
            self._mark()
        return self.problems

    def _look(self) -> tuple[list[Any], list[Any]]:
        rows = [(self._plain(offset), value) for offset, value in self.sink.rows()]
        return rows, [(self._plain(offset), value) for offset, value in self.letters.read()]

    def _plain(self, offset: Offset) -> Offset:
        """The offset without what tells the topics of one history from those of another."""
        topic, partition, number = offset
        return topic.removeprefix(self.source.name("")), partition, number

    def _mark(self) -> None:
        """Remember the version that the table is at now."""
        if not self.sink.restores:
            return
        version = self.sink.version()
        if version is not None and version not in [v for v, _ in self.marks]:
            self.marks.append((version, deepcopy(self.model.table)))

    # --- steps of the world ---

    def _done(self) -> list[Answer]:
        """The answer of a step that is none of a run's."""
        self.last = Run("done")
        return [self.model._same("done")]

    def create(self, topic: str, partitions: int) -> list[Answer]:
        """An empty topic, or new partitions."""
        self.source.create(topic, partitions)
        self.model.create(topic, partitions)
        return self._done()

    def append(self, topic: str, partition: int, fates: str, times: Sequence[int]) -> list[Answer]:
        """New records."""
        records = self.model.append(topic, partition, zip((FATES[f] for f in fates), times, strict=True))
        self.source.append(topic, partition, records)
        return self._done()

    def postpone(self, topic: str, partition: int, fates: str, times: Sequence[int]) -> list[Answer]:
        """Offsets of a bronze table whose records come later."""
        records = self.model.append(topic, partition, zip((FATES[f] for f in fates), times, strict=True))
        log = self.model.topics[topic].logs[partition]
        for offset in records:
            del log.records[offset]
        self.late.setdefault((topic, partition), []).append(records)
        return self._done()

    def arrive(self, topic: str, partition: int) -> list[Answer]:
        """The records that were postponed first come."""
        records = self.late[topic, partition].pop(0)
        self.source.append(topic, partition, records)
        self.model.topics[topic].logs[partition].records.update(records)
        return self._done()

    def abort(self, topic: str, partition: int, count: int) -> list[Answer]:
        """Offsets without records: a transaction that was aborted."""
        self.model.skip(topic, partition, self.source.abort(topic, partition, count))
        return self._done()

    def expire(self, topic: str, partition: int, to: int) -> list[Answer]:
        """Retention."""
        self.model.expire(topic, partition, self.source.expire(topic, partition, to))
        return self._done()

    def delete(self, topic: str) -> list[Answer]:
        """A topic is deleted; whatever comes under its name is another one."""
        self.source.delete(topic)
        del self.model.topics[topic]
        if self.sink.model == "kafka" and self.setting.source == "kafka":
            self.sink.forget(topic)
            self.model.table.lose(topic)
        return self._done()

    def commit_group(self) -> list[Answer]:
        """A consumer group commits offsets in the middle of each partition that there is."""
        for topic, there in self.model.topics.items():
            for number, log in there.logs.items():
                self.model.group[topic, number] = (log.start + log.end) // 2
        commits = {(self.source.name(t), p): Committed(o, "") for (t, p), o in self.model.group.items()}
        KafkaClient(self.source.spec).commit(self._group, commits)
        return self._done()

    @property
    def _group(self) -> str:
        return f"before-{self.source.id}"

    def foreign(self) -> list[Answer]:
        """Somebody else writes to the topics of the letters and of the sink."""
        self.letters.foreign()
        if self.sink.model != "table":
            self.sink.foreign()
        return self._done()

    # --- steps of the table ---

    def restore(self, back: int) -> list[Answer]:
        """Go back by so many versions of those that are known."""
        version, table = self.marks[-1 - back]
        self.sink.restore(version)
        self.model.table = deepcopy(table)
        self.model.table.rolled_back = True
        if self.setting.sink.startswith("iceberg"):
            del self.marks[len(self.marks) - back :]
        return self._done()

    def upkeep(self) -> list[Answer]:
        """Maintenance: no row changes. A table that was rolled back may not know any more that it was."""
        if self.sink.upkeep():
            self.model.table.unsure = self.model.table.unsure or self.model.table.rolled_back
            self.marks.clear()
        return self._done()

    def erase(self, topic: str, partition: int, offset: int) -> list[Answer]:
        """Somebody deletes a row; no run brings it back by itself."""
        self.sink.erase((self.source.name(topic), partition, offset))
        self.model.table.remove({(topic, partition, offset)})
        if not self.model.table.rows:  # whoever removes all rows may have replaced the table: SMT554
            self.model.table.unsure = True
        return self._done()

    # --- runs ---

    def run(self, ask: Ask) -> list[Answer]:
        """A run, which may die, or be overtaken by another one."""
        answers = self.model.run(ask)
        ended: list[Run] = []
        rival = (lambda: ended.append(self._run(ask))) if ask.rival else None
        with faults.dying(ask.death), faults.overtaken(rival):
            ended.append(self._run(ask))
        self.last = ended[0] if len(ended) == 1 else _rivals(ended)
        return answers

    def _run(self, ask: Ask) -> Run:
        spec = self.spec(ask)
        try:
            if ask.batches:
                reports = run_batches(spec, self.session, MicroBatches(ask.max_records or 1, ask.batches))
            else:
                reports = [run(spec, self.session)]
        except faults.Died:
            return Run("died")
        except SmtError as error:
            self.message = str(error)
            return Run("refused", frozenset(p.code for p in error.problems))
        return Run(reports[-1].status, frozenset(_codes(reports)))

    def spec(self, ask: Ask) -> RunSpec:
        """The run that is asked for."""
        setting, name, kafka = self.setting, self.source.name, self.setting.source == "kafka"
        starts = {"time": str(BASE + setting.start_time), "group": f"group:{self._group if kafka else ''}"}
        columns = "columns" in setting.sink
        table = TopicTable(
            self.source.spec,
            pattern=name(PATTERN) if not kafka else name("").replace(".", r"\.") + PATTERN,
            value=COLUMNS if columns else Format(),
            start=starts.get(setting.start, setting.start),
            on_data_loss=setting.on_data_loss,  # type: ignore[arg-type]
        )
        chain = dict(CHAINS[ask.chain])
        if self.sink.model != "table" and setting.route:
            chain |= {**ROUTE, "transforms": chain["transforms"] + ",route"}
        return RunSpec(
            "shop",
            parse_chain(chain),
            table,
            self.sink.spec,
            window=self._window(ask),
            errors_tolerance=ask.tolerance,
            dead_letters=self.letters.spec,
            dead_letter_topic=self.letters.topic if not isinstance(self.letters.spec, FileTopics) else "dead",
            rebuild=ask.rebuild,
            key=ask.key,
        )

    def _window(self, ask: Ask) -> WindowRequest:
        explicit = None
        if ask.kind == "explicit":
            explicit = Window(tuple(Range(self.source.name(t), *part) for t, *part in ask.ranges))
        return WindowRequest(
            topics=tuple(map(self.source.name, ask.topics)),
            explicit=explicit,
            since=None if ask.since is None else BASE + ask.since,
            until=None if ask.until is None else BASE + ask.until,
            max_records=None if ask.batches else ask.max_records,
            accept_gap=ask.accept_gap,
            redrive=ask.kind == "redrive",
            **({"begin_anew": True} if ask.anew else {}),
        )


def _codes(reports: Sequence[RunReport]) -> list[str]:
    return [p.code for report in reports for problems in report.failures.values() for p in problems]


def _rivals(runs: list[Run]) -> Run:
    """Two runs of which one commits and one is refused, whichever: nothing is wrong."""
    if sorted(r.status for r in runs) == ["committed", "refused"]:
        (refused,) = (r for r in runs if r.status == "refused")
        (committed,) = (r for r in runs if r.status == "committed")
        if "SMT528" in refused.codes:
            return Run("rivals", committed.codes)
    return Run(" and ".join(r.status for r in runs), frozenset().union(*(r.codes for r in runs)))
