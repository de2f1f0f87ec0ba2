"""Records: as data (what an evaluator works on) and symbolic (what a plan works on)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dagster_smt.model.cell import Cell, Const, Expr, Node
from dagster_smt.model.schema import INT32, Schema, optional

KEY_DIRTY, VALUE_DIRTY = 1, 2
Side = Literal["key", "value"]


class DropRecord(Exception):
    """What the schemaless form of a transform raises to drop a record."""


@dataclass(slots=True)
class Header:
    """One header. ``raw`` are the bytes as read; a header made by a stage has ``schema`` and ``value`` instead."""

    key: str
    schema: Schema | None = None
    value: Any = None
    raw: bytes | None = None
    made: bool = True


@dataclass(slots=True)
class Record:
    """One Kafka record under a chain, as in ``org.apache.kafka.connect.connector.ConnectRecord``.

    A side whose schema is ``None`` is schemaless. ``timestamp`` is in milliseconds. ``kind`` is ``sink`` (read from
    Kafka) or ``source``. ``touched`` has one bit per ledger entry of the chain, ``dirty`` says which
    sides a stage has changed (``KEY_DIRTY``, ``VALUE_DIRTY``), ``number`` is its position among those it is with,
    ``headers_read`` what its headers were before the first stage, ``target_partition`` the partition that a stage has
    chosen for it in the topic it goes to, ``leader_epoch`` that of the leader that wrote it, where a stage looks at it.
    """

    topic: str | None
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None
    timestamp_type: str | None = None
    key_schema: Schema | None = None
    key: Any = None
    value_schema: Schema | None = None
    value: Any = None
    headers: Sequence[Header] = ()
    kind: str = "sink"
    touched: int = 0
    dirty: int = 0
    number: int = 0
    headers_read: Sequence[Header] = ()
    target_partition: int | None = None
    leader_epoch: int | None = None


NO_TARGET = Cell(optional(INT32), Const(None, optional(INT32)), frozenset())
"""No stage has chosen a partition."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A ledger entry touched by a stage, in the records where ``when`` is not null (``None``: in all)."""

    entry: int
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """A record as a plan sees it: nodes instead of values.

    A side that is ``None`` has no schema and is null. ``touched`` and ``dropped`` belong to the stage being planned.
    ``dropped`` is an expression where it depends on the record: true drops it, false and null keep it. A record that is
    dropped touches no ledger entry of the stage, and nothing else of the stage can fail for it. ``null_key`` and
    ``null_value`` are the schema of keys and values that are null after the stage (None: they have none), where it is
    not that of the others. ``target_partition`` is the partition that a stage has chosen in the topic of the record.
    """

    key: Node | None
    value: Node | None
    topic: Cell
    partition: Cell
    offset: Cell
    timestamp: Cell
    timestamp_type: Cell
    leader_epoch: Cell
    headers: Cell
    kind: str = "sink"
    touched: tuple[Touch, ...] = ()
    dropped: Expr | bool = False
    null_key: Schema | Literal[False] | None = False
    null_value: Schema | Literal[False] | None = False
    target_partition: Cell = NO_TARGET
