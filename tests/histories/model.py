"""What must be there: topics, a table and runs as a simple program that knows nothing of the package.

It works on single offsets, one at a time. Where a run may end in more than one right way, it gives all of them.
The rules are those of the documentation: ``docs/kafka.md``, ``docs/dagster.md`` and the design's chapter on windows,
progress and writes.
"""

from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from tests.histories.topics import Offset, Output, Place, Topics

Span = tuple[float, float, int]
"""Since, until, and the offset that was reached."""
FOREVER = float("inf")
UNSURE = frozenset({"SMT522", "SMT554", "SMT555", "SMT556", "SMT557", "SMT558"})
"""The table cannot tell what it holds: somebody has to decide."""


@dataclass(frozen=True, repr=False)
class Ask:
    """What a run is asked to do.

    Attributes:
        kind: ``new``, ``explicit``, ``time`` or ``redrive``.
        topics: Only these; empty for all.
        ranges: Explicit ones: topic, partition, start, end.
        since, until: A range of time.
        max_records: At most so many offsets of each partition.
        batches: Not one window but so many small ones.
        anew: Topics that were made anew begin anew, and the rows of the former ones stay.
        chain: ``first`` or ``mended``.
        tolerance: ``none`` or ``all``.
        key: Who runs.
        death: Where the run dies: see ``faults.POINTS``.
        rival: Whether another run of the same begins and ends while this one is about to commit.
    """

    kind: Literal["new", "explicit", "time", "redrive"] = "new"
    topics: tuple[str, ...] = ()
    ranges: tuple[tuple[str, int, int, int], ...] = ()
    since: int | None = None
    until: int | None = None
    max_records: int | None = None
    batches: int = 0
    accept_gap: bool = False
    rebuild: bool = False
    anew: bool = False
    chain: str = "first"
    tolerance: Literal["none", "all"] = "all"
    key: str = ""
    death: str = ""
    rival: bool = False

    def __repr__(self) -> str:
        """Only what is asked, to be read and played again."""
        asked = [f"{f.name}={value!r}" for f in fields(self) if (value := getattr(self, f.name)) != f.default]
        return f"Ask({', '.join(asked)})"

    @property
    def fixed(self) -> bool:
        """Whether it names a range."""
        return self.kind != "new"

    @property
    def request(self) -> "Ask":
        """What tells two requests apart: also the chain, where rows are replaced."""
        chain = self.chain if self.fixed or self.rebuild else ""
        return replace(self, chain=chain, key="", death="", rival=False, tolerance="all", batches=0)


@dataclass
class Table:
    """What a table or a group knows and holds.

    Attributes:
        held: Offsets that were taken in.
        gaps: Offsets that were left out for good.
        former: Offsets with rows of topics that were made anew.
        failed: Offsets of ``held`` whose records failed when they were last read.
        births: Which topic of its name was read.
        begins: Where each partition began when it was first seen.
        spans: What runs by time have read of each partition: since, until, and the offset that they reached.
        runs: Key, request and topics left out of each run that committed.
        rows: The rows.
        rolled_back: Whether nothing was committed since it went back to an earlier version.
        unsure: Whether it may be impossible to tell what is held.
    """

    held: set[Offset] = field(default_factory=set)
    gaps: set[Offset] = field(default_factory=set)
    former: set[Offset] = field(default_factory=set)
    failed: set[Offset] = field(default_factory=set)
    births: dict[str, int] = field(default_factory=dict)
    begins: dict[Place, int] = field(default_factory=dict)
    spans: dict[Place, list[Span]] = field(default_factory=dict)
    runs: list[tuple[str, Ask, tuple[str, ...]]] = field(default_factory=list)
    rows: list[tuple[Offset, Output]] = field(default_factory=list)
    rolled_back: bool = False
    unsure: bool = False

    def forget(self, topic: str) -> None:
        """The topic starts over, and its rows go."""
        self.begin_anew(topic)
        self.former -= {o for o in self.former if o[0] == topic}
        self.rows = [row for row in self.rows if row[0][0] != topic]

    def begin_anew(self, topic: str) -> None:
        """The topic starts over, and its rows stay."""
        self.former |= {o for o in self.held if o[0] == topic}
        for offsets in (self.held, self.gaps, self.failed):
            offsets -= {o for o in offsets if o[0] == topic}
        for places in (self.begins, self.spans):
            for place in [place for place in places if place[0] == topic]:
                del places[place]  # type: ignore[attr-defined]
        self.births.pop(topic, None)

    def lose(self, topic: str) -> None:
        """A broker forgets what a group knows of a topic that is deleted; with its last topic, the group is new."""
        self.begin_anew(topic)
        if not self.births:
            self.runs = []

    def topics(self) -> set[str]:
        """The topics that it holds anything of."""
        return {o[0] for o in self.held | self.former}

    def remove(self, offsets: set[Offset]) -> None:
        """Rows go."""
        self.rows = [row for row in self.rows if row[0] not in offsets]


def with_span(spans: list[Span], new: Span) -> list[Span]:
    """Spans of time with one more: those that touch are one, and the offset is that of the last moment in it."""
    touching = [span for span in spans if span[0] <= new[1] and new[0] <= span[1]]
    others = [span for span in spans if span not in touching]
    last = max([new, *touching], key=lambda span: span[1])
    since = min(span[0] for span in [new, *touching])
    return [*others, (since, last[1], last[2])]


@dataclass
class Answer:
    """One right way in which a step may end.

    Attributes:
        status: ``committed``, ``empty``, ``already committed``, ``refused``, ``died``, or of two runs ``rivals``.
        codes: Problems that must be told.
        table: The table then.
        letters: Topic, partition, offset and value of the record in each dead letter; each is there once.
        any_code: One of these must be told.
    """

    status: str
    codes: frozenset[str]
    table: Table
    letters: set[tuple[Offset, bytes]]
    any_code: frozenset[str] = frozenset()


@dataclass
class Plan:
    """What a run reads, leaves out, and refuses."""

    read: set[Offset] = field(default_factory=set)
    gaps: set[Offset] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    spans: dict[Place, Span] = field(default_factory=dict)
    anew: set[str] = field(default_factory=set)
    topics: tuple[str, ...] = ()

    def refuse(self, topic: str, code: str) -> None:
        """Leave a topic out."""
        self.refused.setdefault(topic, code)


@dataclass
class Model(Topics):
    """Topics, a sink, and everything that was done.

    Attributes:
        sink: ``table``, ``files`` or ``kafka``.
        start: Where a table begins with a topic: ``earliest``, ``latest``, ``time`` or ``group``.
        start_time: The time of the former.
        group: The committed offsets of the latter.
        on_data_loss: ``fail`` or ``gap``.
    """

    sink: str = "table"
    start: str = "earliest"
    start_time: int = 0
    group: dict[Place, int] = field(default_factory=dict)
    on_data_loss: str = "fail"
    table: Table = field(default_factory=Table)
    letters: set[tuple[Offset, bytes]] = field(default_factory=set)

    # --- what a run reads ---

    def plan(self, ask: Ask) -> Plan:
        """What a run reads, with everything that is to be said of its topics."""
        names = {r[0] for r in ask.ranges} if ask.kind == "explicit" else set(ask.topics)
        plan = Plan(topics=tuple(sorted(names or self.listed())))
        for topic in plan.topics:
            self._plan_topic(plan, ask, topic)
        for offsets in (plan.read, plan.gaps):
            offsets -= {o for o in offsets if o[0] in plan.refused}
        plan.spans = {place: span for place, span in plan.spans.items() if place[0] not in plan.refused}
        return plan

    def _plan_topic(self, plan: Plan, ask: Ask, topic: str) -> None:
        if ask.rebuild:
            self._plan_offsets(plan, ask, topic, set())
            return
        birth, bounds = self.table.births.get(topic), self.bounds(topic)
        if birth is not None and birth != self.topics[topic].birth:
            if not ask.anew:
                plan.refuse(topic, "SMT516")
                return
            plan.anew.add(topic)
            self._plan_offsets(plan, ask, topic, set())
            return
        covered = {o for o in self.table.held | self.table.gaps if o[0] == topic}
        if any(o[2] >= bounds.get(o[1], (0, 0))[1] for o in self.table.held if o[0] == topic):
            plan.refuse(topic, "SMT515")
            return
        if not ask.fixed and self.start != "earliest" and birth is None:
            covered = covered | self._begin(plan, topic)
        self._plan_offsets(plan, ask, topic, covered)
        self._plan_losses(plan, ask, topic, covered)

    def _begin(self, plan: Plan, topic: str) -> set[Offset]:
        """What lies before the beginning of a topic that is read for the first time."""
        skipped: set[Offset] = set()
        if self.start == "group" and not any(place[0] == topic for place in self.group):
            plan.refuse(topic, "SMT517")
        for number, (start, end) in self.bounds(topic).items():
            begin = {
                "latest": end,
                "time": self.topics[topic].logs[number].at(self.start_time),
                "group": self.group.get((topic, number), start),
            }[self.start]
            skipped |= {(topic, number, o) for o in range(start, min(max(begin, start), end))}
        plan.gaps |= skipped
        return skipped

    def _plan_offsets(self, plan: Plan, ask: Ask, topic: str, covered: set[Offset]) -> None:
        for number, (start, end) in self.bounds(topic).items():
            log = self.topics[topic].logs[number]
            if ask.kind == "new":
                offsets = self._new(topic, number, covered, ask.max_records)
            elif ask.kind == "time":
                offsets = self._of_time(plan, topic, number, ask, covered)
            elif ask.kind == "redrive":
                known = self.table.failed & self.table.held
                offsets = {o for t, p, o in known if (t, p) == (topic, number) and start <= o < end}
            else:
                offsets = self._explicit(plan, ask, topic, number)
            if self.source == "bronze":  # what is not there yet may come later
                offsets = offsets & log.records.keys()
            plan.read |= {(topic, number, o) for o in offsets}

    def _new(self, topic: str, number: int, covered: set[Offset], most: int | None) -> set[int]:
        """The first stretch that the table does not have."""
        start, end = self.bounds(topic)[number]
        log = self.topics[topic].logs[number]
        results: list[int] = []
        for o in range(start, end):
            missing = (topic, number, o) not in covered
            if self.source == "bronze" and o not in log.records:
                continue
            if missing:
                results.append(o)
            elif results and self.source != "bronze":
                break
        return set(results[:most])

    def _of_time(self, plan: Plan, topic: str, number: int, ask: Ask, covered: set[Offset]) -> set[int]:
        """From the first record of that time to the first one after it.

        What came late to the time right before, after that was read, comes along.
        """
        start, end = self.bounds(topic)[number]
        log = self.topics[topic].logs[number]
        first = start if ask.since is None else min(max(log.at(ask.since), start), end)
        last = end if ask.until is None else max(first, min(log.at(ask.until), end))
        since, until = (-FOREVER if ask.since is None else ask.since, FOREVER if ask.until is None else ask.until)
        plan.spans[topic, number] = (since, until, last)
        former = self._reached(ask, topic, number)
        late = set() if former is None else set(range(max(former, start), first))
        return {o for o in late if (topic, number, o) not in covered} | set(range(first, last))

    def _reached(self, ask: Ask, topic: str, number: int) -> int | None:
        """The offset up to which the time right before was read; of a partition that was added nothing was."""
        if ask.kind != "time" or ask.since is None:
            return None
        reached = {
            place: end
            for place, spans in self.table.spans.items()
            for since, until, end in spans
            if since < ask.since <= until
        }
        if (topic, number) in reached:
            return reached[topic, number]
        added = topic in self.table.births and (topic, number) not in self.table.begins
        return 0 if added and any(place[0] == topic for place in reached) else None

    def _explicit(self, plan: Plan, ask: Ask, topic: str, number: int) -> set[int]:
        start, end = self.bounds(topic)[number]
        offsets: set[int] = set()
        for t, p, first, last in ask.ranges:
            if (t, p) == (topic, number):
                if first < last and not start <= first <= last <= end:
                    plan.refuse(topic, "SMT510")
                offsets |= set(range(first, last))
        return offsets

    def _plan_losses(self, plan: Plan, ask: Ask, topic: str, covered: set[Offset]) -> None:
        """What was deleted before it was read; and what a run leaves out because it may."""
        for number, (start, _) in self.bounds(topic).items():
            own = {o for t, p, o in covered if (t, p) == (topic, number)}
            accepts = ask.accept_gap and ask.kind != "redrive"
            begin = self._begins(topic, number) if accepts or not ask.fixed else self._reached(ask, topic, number)
            gone = set() if begin is None else set(range(begin, start)) - own
            if self.source == "bronze":  # only what runs have read is ever deleted there
                gone = set()
            lost = {(topic, number, o) for o in gone}
            if accepts:
                read = {o for t, p, o in plan.read if (t, p) == (topic, number)}
                before = set(range(start, min(read))) - own if read else set()
                plan.gaps |= lost | {(topic, number, o) for o in before}
            elif lost and self.on_data_loss == "gap":
                plan.gaps |= lost
            elif lost:
                plan.refuse(topic, "SMT511")

    def _begins(self, topic: str, number: int) -> int:
        """Where the table begins with a partition: an added one begins at offset 0, whatever is left of it."""
        if (topic, number) in self.table.begins:
            return self.table.begins[topic, number]
        return 0 if topic in self.table.births else self.bounds(topic)[number][0]

    # --- what a run does ---

    def run(self, ask: Ask) -> list[Answer]:
        """Every right way in which a run may end."""
        if ask.batches:
            return [self._batches(ask)]
        answers = self._run(ask)
        if self.table.unsure and not (ask.rebuild and not ask.topics):
            answers.append(Answer("refused", frozenset(), self.table, self.letters, UNSURE))
        return answers

    def _same(self, status: str, *codes: str) -> Answer:
        """Nothing changes."""
        return Answer(status, frozenset(codes), deepcopy(self.table), set(self.letters))

    def _run(self, ask: Ask) -> list[Answer]:
        asked = ask
        if self.sink != "table" and ask.kind == "redrive":
            return [self._same("refused", "SMT578")]
        for key, request, left_out in reversed(self.table.runs):
            if ask.key and (key, request) == (ask.key, ask.request):
                if not left_out:
                    return [self._same("already committed")]
                ask = replace(ask, topics=left_out, ranges=tuple(r for r in ask.ranges if r[0] in left_out))
                break
        plan = self.plan(ask)
        if self._replaces(ask, plan) and self.sink != "table":
            return [self._same("refused", "SMT574")]
        if self._lasts(ask, plan):
            return [self._same("refused", "SMT556")]
        if plan.read or plan.gaps or self._news(ask, plan):
            return self._of_plan(ask, asked, plan)
        if plan.refused:
            return [self._same("refused", *plan.refused.values())]
        return [self._same("empty")]

    def _replaces(self, ask: Ask, plan: Plan) -> bool:
        """Whether rows may have to go."""
        if ask.rebuild:
            return not ask.topics or bool(self.table.topics() & {*plan.topics})
        again = {o for o in plan.read & self.table.held if o[0] not in plan.anew}  # rows of former topics stay
        return bool(again) and ask.kind != "redrive"

    def _lasts(self, ask: Ask, plan: Plan) -> bool:
        """Whether rows of records would go that no topic has any more, and nobody has agreed to it."""
        if ask.accept_gap or not self._replaces(ask, plan):
            return False
        if not ask.rebuild:
            return bool(plan.read & self.table.former)
        going = {*plan.topics} if ask.topics else self.table.topics()
        remade = {t for t in plan.topics if self.table.births.get(t) not in (None, self.topics[t].birth)}
        with_rows = {o[0] for o, _ in self.table.rows}
        for topic, number, offset in self.table.held:
            start, end = self.bounds(topic).get(number, (0, 0)) if topic in plan.topics else (0, 0)
            agreed = topic in remade and topic in ask.topics
            if topic in going & with_rows and not start <= offset < end and not agreed:
                return True
        return bool(going & with_rows & {o[0] for o in self.table.former})

    def _news(self, ask: Ask, plan: Plan) -> bool:
        """Whether there is something to note although nothing is read."""
        if ask.rebuild:
            return self._replaces(ask, plan) and bool(self.table.runs)
        if plan.anew:
            return True
        new = {topic for topic in plan.topics if topic not in self.table.births and topic not in plan.refused}
        if new and not ask.fixed:
            return True
        known = self.table.spans
        return any(
            sorted(with_span(known.get(place, []), span)) != sorted(known.get(place, []))
            for place, span in plan.spans.items()
        )

    def _of_plan(self, ask: Ask, asked: Ask, plan: Plan) -> list[Answer]:
        """A run that has something to read or to note."""
        records = {o: r for o in plan.read if (r := self.record(o)) is not None}
        failing = {o for o, r in records.items() if r.fails(ask.chain)}
        codes = set(plan.refused.values())
        if ask.death == "before the letters":
            return [self._same("died")]
        out: tuple[str, ...] = ()
        if ask.tolerance == "none" and failing:
            out = tuple(sorted({o[0] for o in failing}))
            codes.add("SMT530")
            if {o[0] for o in plan.read} <= {*out} or (ask.rebuild and not ask.topics):
                return [self._same("refused", *codes)]
        died = self._death(ask, plan, failing)
        if died is not None:
            return [died]
        answer = self._committed(ask, asked, plan, out)
        answer.codes = frozenset(codes)
        if ask.death == "after the commit":
            answer.status, answer.codes = "died", frozenset()  # a run that died reports nothing
        if ask.rival:
            answer.status = "rivals"
        return [answer]

    def _death(self, ask: Ask, plan: Plan, failing: set[Offset]) -> Answer | None:
        """A run that dies before its commit: letters are out, and records in topics."""
        if ask.death not in ("before the commit", "while committing"):
            return None
        answer = self._same("died")
        if ask.tolerance == "all":
            answer.letters |= self._letters(failing)
        if ask.death == "while committing" and self.sink != "table":
            out = {o[0] for o in failing} if ask.tolerance == "none" else set()
            self._write(answer.table, ask, {o for o in plan.read if o[0] not in out})
        return answer

    def _letters(self, failing: set[Offset]) -> set[tuple[Offset, bytes]]:
        names = set()
        for offset in failing:
            record = self.record(offset)
            assert record is not None and record.value is not None
            names.add((offset, record.value))
        return names

    def _committed(self, ask: Ask, asked: Ask, plan: Plan, out: tuple[str, ...]) -> Answer:
        """The table after a commit."""
        table, left_out = deepcopy(self.table), {*out, *plan.refused}
        topics = [t for t in plan.topics if t not in left_out]
        read = {o for o in plan.read if o[0] not in left_out}
        failing = {o for o in read if (r := self.record(o)) is not None and r.fails(ask.chain)}
        for topic in plan.anew:
            table.begin_anew(topic)
        if ask.rebuild:
            for topic in topics if ask.topics else table.topics() | {*table.births} | {o[0] for o, _ in table.rows}:
                table.forget(topic)
            table.unsure = table.unsure and bool(ask.topics)
        if read & table.held:
            table.remove(read)
        table.held |= read
        table.rolled_back = False
        table.gaps = (table.gaps | {o for o in plan.gaps if o[0] not in left_out}) - read
        table.failed = (table.failed - read) | failing
        for topic in topics:
            table.births[topic] = self.topics[topic].birth
            for number, (start, _) in self.bounds(topic).items():
                added = any(place[0] == topic for place in self.table.begins) and not ask.rebuild
                table.begins.setdefault((topic, number), 0 if added else start)
        for place, span in plan.spans.items():
            if place[0] in topics:
                table.spans[place] = with_span(table.spans.get(place, []), span)
        table.runs.append((ask.key, asked.request, tuple(sorted(left_out))))
        self._write(table, ask, read)
        return Answer("committed", frozenset(), table, self.letters | self._letters(failing))

    def _write(self, table: Table, ask: Ask, read: set[Offset]) -> None:
        """Rows of what was read. File topics are asked what a try that died has left; a broker is not."""
        there = {(o, output[0]) for o, output in table.rows}
        for offset in sorted(read):
            record = self.record(offset)
            if record is None or record.fate == "dropped" or record.fails(ask.chain):
                continue
            if self.sink != "files" or (offset, record.number) not in there:
                table.rows.append((offset, record.output(ask.chain)))

    def _batches(self, ask: Ask) -> Answer:
        """A series of runs, until nothing is new."""
        now = replace(self)
        last = now._same("empty")
        batch, status, codes = replace(ask, batches=0), "empty", set[str]()
        for number in range(ask.batches):
            key = f"{ask.key}#{number}" if ask.key else ""
            (last, *_) = now.run(replace(batch, key=key, rebuild=ask.rebuild and number == 0))
            now.table, now.letters = last.table, last.letters
            codes |= last.codes
            if last.status in ("refused", "empty"):
                status = last.status if last.status == "refused" else status
                break
            status = last.status
            batch = replace(batch, accept_gap=False, anew=False)
            if last.codes:
                left_out = now.table.runs[-1][2]
                batch = replace(batch, topics=tuple(t for t in batch.topics or now.listed() if t not in left_out))
                if not batch.topics:
                    break
        return Answer(status, frozenset(codes), now.table, now.letters)
