"""The request of one run, as plain data."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Literal

from dagster_smt.chain import Chain, Plan
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.topics.format import SELF_DESCRIBED, Formats
from dagster_smt.model.windows.window import Window
from dagster_smt.tables.erasure.spec import SmtErasure
from dagster_smt.tables.planning import keeping_key, plan_sink
from dagster_smt.tables.rows.row_stages import with_row
from dagster_smt.tables.sink_of_statement import sink_of_statement
from dagster_smt.tables.sink_options import LetterPlace, Sink, TableSink
from dagster_smt.tables.topic_table import TopicTable
from dagster_smt.tables.window_request import WindowRequest
from dagster_smt.tables.written_formats import written_formats

Progress = Callable[[str], None]


@dataclass(frozen=True)
class RunSpec:
    """The request of one run.

    Attributes:
        name: The name of the asset or op, which appears as the connector's name in dead letters.
        chain: The chain. The run adds the stages that the columns of the topic table need.
        table: The topic table that the run reads.
        sink: The table or the topics that the run writes.
        window: The requested offsets; by default the offsets after the last committed window.
        errors_tolerance: Connect's option ``errors.tolerance``. With ``none``, the run leaves out topics whose records
            fail. With ``all``, the run continues without the failed records.
        dead_letters: The destination of dead letters: topics, or a separate table. If None, the topic of dead letters
            is in the same cluster or folder as the topics that the run reads.
        dead_letter_topic: The topic of dead letters. If empty, the run writes no dead letters.
        rebuild: True to start over: this window replaces all rows, or all rows of ``window.topics``.
        take_over: True to continue a table that runs with a different name have written.
        settle: True to accept changes of other writers. The counts in the state then start from the current rows.
        key: The orchestrator's run and step. A second run with the same key and request is a retry.
        asked: If this run is only a part of a request: the string that identifies the whole request.
        touched: The fingerprints (hashes) of the masks, drops and other changes that touched records in earlier batches
            of the run.
        defined: The chain of the definition, which the run may replace with ``chain``. None if it is not known.
        erasure: The locations of people's ids in records, and the register of erased people. The run leaves out the
            records of these people. None if the definition has no erasure.
    """

    name: str
    chain: Chain
    table: TopicTable
    sink: Sink
    window: WindowRequest = field(default_factory=WindowRequest)
    errors_tolerance: Literal["none", "all"] = "none"
    dead_letters: LetterPlace | None = None
    dead_letter_topic: str = ""
    rebuild: bool = False
    take_over: bool = False
    settle: bool = False
    key: str = ""
    asked: str = ""
    touched: frozenset[str] = frozenset()
    defined: Chain | None = None
    erasure: SmtErasure | None = None

    def __post_init__(self) -> None:
        if isinstance(self.dead_letters, TableSink) and self.dead_letters.keyed is not None:
            hint = "leave mode and keys out: each letter is a row"
            raise ConfigError(Problem("SMT700", "dead_letters", "a table of dead letters has no keys", hint))
        if isinstance(self.dead_letters, TableSink) and self.dead_letters.per_topic:
            hint = "name one table: each letter names the source of its record"
            raise ConfigError(Problem("SMT730", "dead_letters", "dead letters need a single table", hint))
        object.__setattr__(self, "sink", sink_of_statement(self.sink, self.table))
        written = written_formats(self.table, self.sink)
        chain = with_row(self.chain, self.table, self.sink.kind, written.value)
        object.__setattr__(self, "chain", keeping_key(chain, self.table, self.sink))

    def plan(self) -> Plan:
        """Returns the plan of the chain, as far as it is known before a window is read. The plan is created only once.

        Raises:
            PlanError, UnsupportedError: The run can never work; see ``plan_sink``.
        """
        return self._plan

    @cached_property
    def _plan(self) -> Plan:
        return plan_sink(self.chain, self.table, self.sink)

    @property
    def request(self) -> str:
        """Returns a string that identifies the request.

        The string depends on the requested window, on ``rebuild`` and on ``settle``. For a redrive (a run that reads
        failed records again) or a repair (a run that reads unmasked records again), the string also depends on the
        chain. For a fixed window or a rebuild, the string depends on the chain, the columns, the formats and the kind
        of the sink. If one of these settings changes, the run is not a retry, so it runs again.
        """
        if self.asked:
            return self.asked
        if self.window.explicit:
            explicit = self.window.explicit.to_json()
        else:
            explicit = None
        asked = {**asdict(replace(self.window, explicit=None)), "explicit": explicit, "rebuild": self.rebuild}
        del asked["cuts"]  # cuts only divide the counts
        if self.window.late == "next":  # older versions supported nothing else
            del asked["late"]
        if not self.window.begin_anew:  # older versions did not have this option
            del asked["begin_anew"]
        if self.settle:
            asked["settle"] = True
        if self.window.redrive or self.window.repair:
            asked["chain"] = self.chain.hash
        if self.window.fixed or self.rebuild:
            asked["made"] = self._row_inputs
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def _row_inputs(self) -> list[str]:
        """Returns the settings on which the rows of the run depend."""
        table = self.table
        formats = [f"{form.kind} {form.schema!r} {form.options!r}" for form in (table.key, table.value)]
        return [self.chain.hash, repr(table.row), *formats, self.sink.kind]

    def of_topics(self, topics: tuple[str, ...]) -> "RunSpec":
        """Returns this run limited to ``topics``. The result keeps the string that identifies the request, so a retry
        is still recognized.
        """
        explicit = self.window.explicit
        if explicit is not None:
            explicit = Window(tuple(r for r in explicit.ranges if r.topic in topics))
        return replace(self, window=replace(self.window, topics=topics, explicit=explicit), asked=self.request)

    @property
    def written(self) -> Formats:
        """The formats of the records that the run writes."""
        return written_formats(self.table, self.sink)

    @property
    def finds_schemas(self) -> bool:
        """True if the run learns the columns of the table from the records. This is the case if the values of the
        records contain schemas or schema ids, or if a Java class from a jar produces the columns.
        """
        if self.sink.kind != "columns":
            return False
        return self.chain.has_foreign or self.table.value.kind in SELF_DESCRIBED
