"""From a chain to instructions for the compiled lane: one program per topic, as routers and predicates know it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.chain.plan import first_entries
from dagster_smt.errors import DataError
from dagster_smt.interpret.compiled.eligibility import MOST, changes_of
from dagster_smt.interpret.compiled.field_changes import (
    Change,
    Drop,
    Extract,
    FieldChange,
    Insert,
    Keep,
    MakeKey,
    Rename,
)
from dagster_smt.interpret.compiled.paths import Paths
from dagster_smt.interpret.compiled.steps import (
    CHANGE,
    CHANGE_SPOTS,
    DROP,
    DROP_SPOTS,
    FILL,
    INSERT,
    INSERT_NUMBER,
    KEEP,
    PUT,
    READ_KEY,
    TAKE,
)
from dagster_smt.interpret.stages import DROPPED, Runner
from dagster_smt.model.path import FieldPath
from dagster_smt.model.record import DropRecord, Record
from dagster_smt.values.lazy import Raw

_NUMBERS = ("partition", "offset", "timestamp")
Step = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Key:
    """What a program makes the key of.

    Attributes:
        names: The fields of the key, an object.
        extracted: Whether its only field takes its place; ``bit`` is set then, unless that is null.
    """

    names: tuple[str, ...]
    extracted: bool = False
    bit: int = 0


@dataclass
class Program:
    """What a chain does to the objects of one topic.

    Attributes:
        topic: Where its records go.
        names: By slot.
        touched: The bits that are set for each of them.
        changes: Whether values are written again: else their bytes stay.
        on_the_way: Slots beside those of the names, for values on their way to a new name.
        steps: The instructions; see ``steps``.
        acts: What steps do to values.
        constants: What they put in, decoded; the first is null.
        numbers: The columns that they need, of ``partition``, ``offset`` and ``timestamp``.
        paths: Those that lead below the top level or have patterns.
        path_acts, path_bits: By bit of ``paths``: the act that is noted where a path ends, and what is set then.
        key: None: the key stays.
    """

    topic: str | None
    names: tuple[str, ...] = ()
    touched: int = 0
    changes: bool = False
    on_the_way: int = 0
    steps: list[Step] = field(default_factory=list)
    acts: list[Change] = field(default_factory=list)
    constants: list[Any] = field(default_factory=lambda: [None])
    numbers: list[str] = field(default_factory=list)
    paths: Paths = field(default_factory=Paths)
    path_acts: dict[int, int] = field(default_factory=dict)
    path_bits: dict[int, int] = field(default_factory=dict)
    key: Key | None = None

    @property
    def slots(self) -> int:
        """Names, and values on their way to a new name."""
        return len(self.names) + self.on_the_way

    @property
    def fits(self) -> bool:
        """Whether there are bits for all of it."""
        return max(self.slots, len(self.acts), len(self.paths.steps)) <= MOST


class UnableError(Exception):
    """The lane has no steps for what a chain does."""


def program_of(chain: Chain, runners: tuple[Runner, ...], topic: str | None) -> Program | None:
    """The program for the objects of a topic; None: the interpreter has to run them.

    Args:
        chain: An eligible chain.
        runners: Its stages, ready to run.
        topic: Where the records are from.
    """
    record, stages = Record(topic, value={}), []
    try:
        for stage, runner, first in zip(chain.stages, runners, first_entries(chain), strict=True):
            if runner.test is not None and not runner.test(record):
                continue
            if stage.acts_on:
                stages.append(Acting(changes_of(stage, first) or (), record.topic, stage.side == "value"))
            elif runner.apply(record) is DROPPED:
                return None
        if record.dirty or record.value != {} or record.key is not None:
            return None
        made = built(stages, record.topic)
    except (DataError, DropRecord, UnableError):
        return None
    made.touched |= record.touched
    return made if made.fits else None


@dataclass(frozen=True)
class Acting:
    """What a stage does to fields; ``topic``: where records go by then; whether it has the value written again."""

    changes: tuple[FieldChange, ...]
    topic: str | None
    rewrites: bool


def built(stages: Sequence[Acting], topic: str | None) -> Program:
    """The program of stages.

    Raises:
        UnableError: There are no steps for them.
    """
    changes = [change for stage in stages for change in stage.changes]
    names = tuple(dict.fromkeys(name for change in changes for name in _names(change)))
    builder = _Builder(Program(topic, names, changes=any(stage.rewrites for stage in stages)), _extracted(changes))
    for stage in stages:
        builder.add(stage)
    return builder.made


def _names(change: FieldChange) -> Iterable[str]:
    """The names of the top level that get slots."""
    if isinstance(change, Change | Drop):
        return (change.path.leaf,) if change.path.flat else ()
    if isinstance(change, Keep):
        return sorted(change.names)
    if isinstance(change, Rename):
        return (name for old, new, _ in change.names for name in (old, new))
    if isinstance(change, Insert):
        return (change.name,)
    return (str(path.steps[0]) for path in change.paths) if isinstance(change, MakeKey) else ()


def _extracted(changes: Sequence[FieldChange]) -> Extract | None:
    """What is extracted from the key that the chain makes."""
    kinds = [type(change) for change in changes if isinstance(change, MakeKey | Extract)]
    if kinds not in ([], [MakeKey], [MakeKey, Extract]):
        raise UnableError
    return next((change for change in changes if isinstance(change, Extract)), None)


class _Builder:
    """Writes the steps of a program, whose names are known."""

    def __init__(self, made: Program, extracted: Extract | None):
        self.made, self.extracted = made, extracted
        self.slots = {name: slot for slot, name in enumerate(made.names)}
        self.renamed: set[str] = set()

    def add(self, stage: Acting) -> None:
        """Append the steps of a stage. Its drops happen at once, before anything else."""
        drops = [change for change in stage.changes if isinstance(change, Drop)]
        if drops:
            self._drop(drops)
        for kind, changes in groupby(stage.changes, type):
            if kind is Change:
                self._change([change for change in changes if isinstance(change, Change)])
            else:
                for change in changes:
                    self._add_one(change, stage.topic)

    def _add_one(self, change: FieldChange, topic: str | None) -> None:
        if isinstance(change, Keep):
            self._step(KEEP, 0, sum(1 << self.slots[name] for name in change.names), 0, change.bit)
        elif isinstance(change, Rename):
            self._rename(change)
        elif isinstance(change, Insert):
            self._insert(change, topic)
        elif isinstance(change, MakeKey):
            self._make_key(change)

    def _step(self, what: int, slot: int, other: int = 0, act: int = 0, bit: int = 0) -> None:
        self.made.steps.append((what, slot, other, act, bit))

    def _constant(self, value: Any) -> int:
        self.made.constants.append(value)
        return len(self.made.constants) - 1

    def _places(self, path: FieldPath) -> tuple[list[int], int]:
        """(slots, last bit) of what a path leads to: what has a slot is no spot. The bit is 0 where a slot is all."""
        if path.flat:
            return [self.slots[path.leaf]], 0
        paths = self.made.paths
        root = 1 << len(paths.steps)
        last = paths.add(path)
        if last is None or last >= MOST:
            raise UnableError
        one_step = root == 1 << last
        if not one_step and any(root & paths.of_name(name) for name in self.renamed):
            raise UnableError  # the bytes were looked through under the former name
        return [slot for name, slot in self.slots.items() if one_step and root & paths.of_name(name)], 1 << last

    def _drop(self, drops: Sequence[Drop]) -> None:
        mask, found = 0, []
        for drop in drops:
            slots, last = self._places(drop.path)
            mask |= last
            self.made.path_bits[last] = drop.bit
            found += [(slot, drop.bit) for slot in slots]
        if mask:
            self._step(DROP_SPOTS, 0, mask)
        for slot, bit in reversed(found):  # of several paths the last one counts
            self._step(DROP, slot, 0, 0, bit)

    def _change(self, changes: Sequence[Change]) -> None:
        made, mask, numbers = self.made, 0, self._numbered(changes)
        by_pattern: dict[int, bool] = {}
        for change in changes:
            text, act = numbers[change.text], len(made.acts)
            made.acts.append(change)
            slots, last = self._places(change.path)
            if last:
                mask, made.path_acts[last], made.path_bits[last] = mask | last, act, change.bit
            for slot in slots:
                if slot in by_pattern and (last or by_pattern[slot]):
                    raise UnableError  # what two paths find is changed once by some stages, twice by others
                by_pattern[slot] = last > 0
                self._step(FILL if change.fills and not last else CHANGE, slot, text, act, change.bit)
        if mask:
            texts = {numbers[change.text] for change in changes if not change.path.flat}
            if len(texts) > 1:
                raise UnableError
            self._step(CHANGE_SPOTS, 0, mask, texts.pop())

    def _numbered(self, changes: Sequence[Change]) -> dict[bytes | None, int]:
        """The constants that texts become."""
        texts = dict.fromkeys(change.text for change in changes)
        return {text: -1 if text is None else self._constant(Raw(text)) for text in texts}

    def _rename(self, rename: Rename) -> None:
        first = self.made.slots
        ways = [(self.slots[old], self.slots[new], bit) for old, new, bit in rename.names]
        for number, (old, _, bit) in enumerate(ways):
            self._step(TAKE, old, first + number, 0, bit)
        for number, (_, new, _) in enumerate(ways):
            self._step(PUT, first + number, new)
        self.made.on_the_way += len(ways)
        self.renamed |= {name for old, new, _ in rename.names for name in (old, new)}

    def _insert(self, change: Insert, topic: str | None) -> None:
        slot, keeps, numbers = self.slots[change.name], 0 if change.overwrites else 1, self.made.numbers
        if change.source in _NUMBERS:
            if change.source not in numbers:
                numbers.append(change.source)
            self._step(INSERT_NUMBER, slot, numbers.index(change.source), keeps, change.bit)
        else:
            text = topic if change.source == "topic" else change.text
            self._step(INSERT, slot, self._constant(text), keeps, change.bit)

    def _make_key(self, change: MakeKey) -> None:
        """Values of the key are read where it is made, whatever a later stage takes out of it."""
        self.made.touched |= change.bits
        key, paths = Key(tuple(path.leaf for path in change.paths)), change.paths
        if self.extracted is not None:
            first, *rest = self.extracted.path.steps
            if key.names != (first,):
                raise UnableError
            key = replace(key, extracted=True, bit=self.extracted.bit)
            paths = (FieldPath("", (*paths[0].steps, *rest)),)
        for number, path in enumerate(paths):
            name, mask = str(path.steps[0]), 0
            if len(path.steps) > 2:
                raise UnableError
            if not path.flat:
                _, mask = self._places(path)
            self._step(READ_KEY, self.slots[name], mask, number, 1 if key.extracted else 0)
        self.made.key = key
