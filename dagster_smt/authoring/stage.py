"""Defines stages and chains. A stage is a transform with an alias, a side (key or value) and a predicate."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal

from dagster_smt.authoring.foreign_settings import ForeignSettings
from dagster_smt.authoring.mask_exception import MaskException
from dagster_smt.authoring.predicate import Predicate
from dagster_smt.authoring.transform import PACKAGE, Transform
from dagster_smt.errors import Problem
from dagster_smt.model.guarded import SIDES
from dagster_smt.model.record import Side


def label_of(cls: type[Transform], side: str) -> str:
    """Returns the name of the class ``cls`` as in a connector's properties, but without the package:
    ``MaskField$Value``. ``side`` is ``key``, ``value`` or empty.
    """
    # an inner class that is not about a side, such as Confluent's `ExtractTopic$Header`
    if "$" in cls.connect_class:
        return cls.connect_class.rpartition(".")[2]
    return cls.__name__ + (f"${side.capitalize()}" if side else "")


@dataclass(frozen=True)
class Stage:
    """A transform in a chain, with its alias and its predicate.

    Attributes:
        alias: The user's name for the stage.
        transform: The configured transform.
        side: ``key`` or ``value``; empty if the transform does not act on one of the two.
        predicate: The configured predicate, if any.
        predicate_name: The user's name for the predicate.
        negate: True if the stage acts on records for which the predicate is false.
    """

    alias: str
    transform: Transform
    side: str = ""
    predicate: Predicate | None = None
    predicate_name: str = ""
    negate: bool = False

    @property
    def label(self) -> str:
        """The name of the class as in a connector's properties, but without the package: ``MaskField$Value``."""
        return label_of(type(self.transform), self.side)

    @property
    def place(self) -> str:
        return f"transforms.{self.alias} ({self.label})"

    @property
    def relied_on(self) -> bool:
        """True if the user expects this stage to change at least one record. A mask, drop or rename that changes no
        record is then reported.
        """
        return True

    @property
    def foreign(self) -> bool:
        """True if the transform or the predicate runs from a jar."""
        return self.transform.foreign or (self.predicate is not None and self.predicate.foreign)

    @property
    def acts_on(self) -> str:
        """The side (key or value) to which the transform's rule for nulls applies: the rule says what happens if this
        side is null. For a transform that reads both sides, it is the value. Empty for a transform that reads neither
        side.
        """
        if self.side:
            return self.side
        reads = self.transform.reads
        for side in ("value", "key"):
            if side in reads:
                return side
        return ""

    @property
    def reads(self) -> tuple[Side, ...]:
        """The sides (key or value) whose fields the transform may read."""
        reads = self.transform.reads
        sides = []
        for side in SIDES:
            if side == self.side or side in reads:
                sides.append(side)
        return tuple(sides)

    @property
    def connect_class(self) -> str:
        """The full name of Kafka's class, as in the headers of Connect's dead letters."""
        return self.transform.connect_class + (f"${self.side.capitalize()}" if self.side else "")


@dataclass(frozen=True)
class Chain:
    """The stages of a chain, in order, with the settings of the chain.

    Attributes:
        stages: The stages.
        properties: The chain as flat properties of a connector, every value a string.
        warnings: The warnings from parsing.
        mask_exceptions: The fields that may contain the original of a value that is masked in another field.
        dead_paths: What happens if a mask, drop or rename has a path that cannot match: ``error`` or ``warn``.
        keeps_key: True if runs read the key of each record, and keep this key after the chain. A table with key columns
            needs it.
        keeps_topic: True if each output topic has its own table. Runs then keep the topic that a record has after the
            chain.
        foreign: The settings of the stages that run from jars.

    The hash of the chain depends only on ``properties``, and on no other attribute.
    """

    stages: tuple[Stage, ...]
    properties: dict[str, str] = field(default_factory=dict, hash=False)
    warnings: tuple[Problem, ...] = ()
    mask_exceptions: tuple[MaskException, ...] = ()
    dead_paths: Literal["error", "warn"] = "error"
    keeps_key: bool = False
    foreign: ForeignSettings = field(default_factory=ForeignSettings)
    keeps_topic: bool = False

    @property
    def hash(self) -> str:
        """The hash of the chain: sixteen hex digits that depend on its properties."""
        # sorted, because the order of properties has no meaning: the order of stages is in `transforms`
        return hashlib.sha256(json.dumps(self.properties, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def hides(self) -> bool:
        """True if a stage masks or drops a field. Also True if a stage runs from a jar, because such a stage may do
        both.
        """
        if any(stage.transform.foreign for stage in self.stages):
            return True  # a class from a jar may hide anything
        for stage in self.stages:
            for e in stage.transform.ledger():
                if e.action in ("masked", "dropped"):
                    return True
        return False

    @property
    def has_foreign(self) -> bool:
        """True if a stage runs from a jar."""
        return any(stage.foreign for stage in self.stages)

    @property
    def reads_metadata(self) -> bool:
        """True if a stage reads partition, offset or timestamp."""
        return any("metadata" in stage.transform.reads for stage in self.stages)

    @property
    def reads_timestamp_type(self) -> bool:
        """True if a stage reads the timestamp's type."""
        return any("timestamp_type" in stage.transform.reads for stage in self.stages)

    @property
    def reads_leader_epoch(self) -> bool:
        """True if a stage reads the leader epoch. Sources read the epoch only in this case."""
        return any("leader_epoch" in stage.transform.reads for stage in self.stages)

    @property
    def reads_key(self) -> bool:
        """True if a stage or its predicate reads or creates the key, or if the result keeps the key."""
        if self.keeps_key:
            return True
        if any(s.side == "key" or "key" in s.transform.reads for s in self.stages):
            return True
        for s in self.stages:
            if s.predicate is not None and "key" in s.predicate.reads:
                return True
        return False

    @property
    def writes_timestamp(self) -> bool:
        """True if a stage changes the timestamp of a record."""
        return any("timestamp" in stage.transform.writes for stage in self.stages)

    @property
    def writes_partition(self) -> bool:
        """True if a stage chooses the partition of the record."""
        return any("partition" in stage.transform.writes for stage in self.stages)

    @property
    def reads_headers(self) -> bool:
        """True if a stage reads or adds headers, or if the predicate of a stage reads headers."""
        predicates = []
        for stage in self.stages:
            if stage.predicate is not None:
                predicates.append(stage.predicate)
        return any("headers" in s.transform.reads for s in self.stages) or any("headers" in p.reads for p in predicates)

    def to_stages(self) -> list[dict[str, Any]]:
        """Returns the stages as a list, in the form that YAML files and the Launchpad use."""
        return [_to_dict(stage) for stage in self.stages]


def _to_dict(stage: Stage) -> dict[str, Any]:
    # only short names of Kafka's classes are never ambiguous: `find_class` prefers Kafka's class to a vendor's
    if stage.transform.connect_class.startswith(PACKAGE):
        type_ = stage.label
    else:
        type_ = stage.connect_class
    data: dict[str, Any] = {"alias": stage.alias, "type": type_, "options": stage.transform.configured()}
    if stage.predicate is not None:
        ours = stage.predicate.connect_class.startswith(PACKAGE)
        data["predicate"] = {
            "name": stage.predicate_name,
            "type": type(stage.predicate).__name__ if ours else stage.predicate.connect_class,
            "options": stage.predicate.configured(),
        }
        if stage.negate:
            data["negate"] = True
    return data
