"""From a chain to instructions for the compiled lane: one program per topic, as routers and predicates know it."""

from dataclasses import dataclass, field
from typing import Any

from dagster_smt.authoring.field_changes import Change, Drop, FieldChange, Insert, Keep, Rename, speaks_for
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.stage import Chain, Stage
from dagster_smt.chain.plan import first_entries, input_record, plan_test
from dagster_smt.errors import DataError
from dagster_smt.interpret.compiled.steps import CHANGE, DROP, FILL, INSERT, INSERT_NUMBER, KEEP, PUT, TAKE
from dagster_smt.interpret.stages import DROPPED, Runner, reads_topic_only
from dagster_smt.model.cell import Call, Expr, Ref
from dagster_smt.model.record import DropRecord, Record
from dagster_smt.values.basic import IsNull
from dagster_smt.values.lazy import Raw

MOST = 62
"""Names, acts and ledger entries that a program may have: they are bits of signed words."""
_NUMBERS = ("partition", "offset", "timestamp")


@dataclass
class Program:
    """What a chain does to the objects of one topic.

    Attributes:
        topic: Where its records go.
        touched: The bits that are set for each of them.
        changes: Whether a stage acts on values at all: else their bytes stay.
        names: By slot.
        steps: The instructions; see ``steps``.
        acts: What steps do to values.
        constants: What they put in, decoded; the first is null.
        numbers: The columns that they need, of ``partition``, ``offset`` and ``timestamp``.
    """

    topic: str | None
    touched: int = 0
    changes: bool = False
    names: dict[str, int] = field(default_factory=dict)
    steps: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    acts: list[Change] = field(default_factory=list)
    constants: list[Any] = field(default_factory=lambda: [None])
    numbers: list[str] = field(default_factory=list)
    renames: int = 0

    @property
    def slots(self) -> int:
        """Names, and values on their way to a new name."""
        return len(self.names) + self.renames

    def slot(self, name: str) -> int:
        """The slot of a name."""
        return self.names.setdefault(name, len(self.names))

    def constant(self, value: Any) -> int:
        """The number of a constant."""
        self.constants.append(value)
        return len(self.constants) - 1

    def add(self, change: FieldChange, topic: str | None) -> None:
        """Append the steps of a change; ``topic``: where records go so far."""
        if isinstance(change, Change):
            new = -1 if change.text is None else self.constant(Raw(change.text))
            self.acts.append(change)
            what = FILL if change.fills else CHANGE
            self.steps.append((what, self.slot(change.name), new, len(self.acts) - 1, change.bit))
        elif isinstance(change, Drop):
            self.steps.append((DROP, self.slot(change.name), 0, 0, change.bit))
        elif isinstance(change, Keep):
            self.steps.append((KEEP, 0, sum(1 << self.slot(name) for name in sorted(change.names)), 0, change.bit))
        elif isinstance(change, Rename):
            ways = [(self.slot(old), self.slot(new), bit) for old, new, bit in change.names]
            # the slots on the way are numbered from the end, until all names are known
            self.steps += [(TAKE, old, ~(self.renames + n), 0, bit) for n, (old, _, bit) in enumerate(ways)]
            self.steps += [(PUT, ~(self.renames + n), new, 0, 0) for n, (_, new, _) in enumerate(ways)]
            self.renames += len(ways)
        else:
            self._insert(change, topic)

    def _insert(self, change: Insert, topic: str | None) -> None:
        slot, keeps = self.slot(change.name), 0 if change.overwrites else 1
        if change.source in _NUMBERS:
            if change.source not in self.numbers:
                self.numbers.append(change.source)
            self.steps.append((INSERT_NUMBER, slot, self.numbers.index(change.source), keeps, change.bit))
        else:
            text = topic if change.source == "topic" else change.text
            self.steps.append((INSERT, slot, self.constant(text), keeps, change.bit))


def eligible(chain: Chain) -> bool:
    """Whether the compiled lane can run a chain, as far as stages show; ``program_of`` may still say no."""
    if chain.reads_headers or chain.reads_key or chain.writes_timestamp or chain.reads_timestamp_type:
        return False
    entries = first_entries(chain)[-1] + len(chain.stages[-1].transform.ledger()) if chain.stages else 0
    return entries <= MOST and all(map(_known, chain.stages))


def _known(stage: Stage) -> bool:
    predicate = stage.predicate
    if predicate is not None and not _same_for_objects(predicate):
        return False
    if stage.side:
        return stage.side == "value" and not stage.transform.reads_key and _changes(stage, 0) is not None
    return not stage.acts_on and not stage.transform.reads_metadata


def _same_for_objects(predicate: Predicate) -> bool:
    """Whether a predicate says the same of all objects of a topic."""
    if predicate.reads_key or predicate.reads_value or predicate.reads_headers:
        return False
    test = plan_test(predicate, input_record(None, None, nullable=True))
    return isinstance(test, bool) or _of_topic(test)


def _of_topic(expr: Expr) -> bool:
    if isinstance(expr, Call) and isinstance(expr.rule, IsNull) and expr.args == (Ref(("value",)),):
        return True  # objects are not null
    if isinstance(expr, Call):
        return all(map(_of_topic, expr.args))
    return reads_topic_only(expr)


def _changes(stage: Stage, first: int) -> tuple[FieldChange, ...] | None:
    if not speaks_for(type(stage.transform), "field_changes", "schemaless"):
        return None
    entries = range(first, first + len(stage.transform.ledger()))
    return stage.transform.field_changes(tuple(1 << entry for entry in entries))


def program_of(chain: Chain, runners: tuple[Runner, ...], topic: str | None) -> Program | None:
    """The program for the objects of a topic; None: the interpreter has to run them.

    Args:
        chain: An eligible chain.
        runners: Its stages, ready to run.
        topic: Where the records are from.
    """
    record, made = Record(topic, value={}), Program(topic)
    for stage, runner, first in zip(chain.stages, runners, first_entries(chain), strict=True):
        try:
            if runner.test is not None and not runner.test(record):
                continue
            if not stage.side and runner.apply(record) is DROPPED:
                return None
        except (DataError, DropRecord):
            return None
        if stage.side:
            made.changes = True
            for change in _changes(stage, first) or ():
                made.add(change, record.topic)
    if record.dirty or record.value != {} or record.key is not None or max(made.slots, len(made.acts)) > MOST:
        return None
    made.topic, made.touched = record.topic, record.touched
    return _settled(made)


def _settled(made: Program) -> Program:
    """With the final numbers of the slots on the way."""
    names = len(made.names)

    def number(slot: int) -> int:
        return names + ~slot if slot < 0 else slot

    made.steps = [
        (what, number(slot), number(other) if what == TAKE else other, act, bit)
        for what, slot, other, act, bit in made.steps
    ]
    return made
