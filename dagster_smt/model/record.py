"""Records of two kinds: ``Record`` contains the data of one Kafka record, and ``PlanRecord`` describes all records of
one schema in a plan.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dagster_smt.model.cell import Cell, Const, Expr, Node
from dagster_smt.model.schema import INT32, Schema, optional

KEY_DIRTY, VALUE_DIRTY = 1, 2
Side = Literal["key", "value"]


class DropRecord(Exception):
    """A function that transforms a key or value without a schema raises this exception to drop the record."""


@dataclass(slots=True)
class Header:
    """One header of a record.

    Attributes:
        key: The name of the header.
        schema, value: The schema and the value, if a stage has set the header.
        raw: The bytes of the header, if it was read from Kafka.
        from_stage: True if a stage has set the header.
    """

    key: str
    schema: Schema | None = None
    value: Any = None
    raw: bytes | None = None
    from_stage: bool = True


@dataclass(slots=True)
class Record:
    """One Kafka record in a chain, as in ``org.apache.kafka.connect.connector.ConnectRecord``.

    A key or value whose schema is ``None`` is schemaless.

    Attributes:
        timestamp: The timestamp, in milliseconds.
        kind: ``sink`` for a record that was read from Kafka, ``source`` for a record of a source connector.
        touched: A number with one bit for each ledger entry (an action whose records a report counts). The bit is set
            if the entry counts this record.
        dirty: A number with the bit ``KEY_DIRTY`` if a stage has changed the key, and ``VALUE_DIRTY`` for the value.
        number: The position of the record in its batch.
        headers_read: The headers before the first stage.
        target_partition: The partition that a stage has chosen in the topic to which the record is written.
        leader_epoch: The epoch of the leader that wrote the record, if a stage reads the epoch.
        changes: The changes that foreign stages (Java classes from jars) made, as one line for each changed field. A
            line is a JSON list of stage, action, side and path.
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
    changes: str = ""


NO_TARGET = Cell(optional(INT32), Const(None, optional(INT32)), frozenset())
"""The target partition of a record in a plan, if no stage has chosen a partition: always null."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A planned change: a stage will change some or all records, and a ledger entry counts the changed records.

    ``entry`` is the number of the ledger entry. The stage changes each record for which the expression ``when`` is not
    null. If ``when`` is None, the stage changes every record.
    """

    entry: int
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """A record in a plan, with nodes (descriptions of values) instead of values.

    A key or value that is ``None`` has no schema and is null.

    Attributes:
        touched: The changes by the current stage that the ledger counts.
        dropped: True if the current stage drops all records, and False if it drops none. Otherwise an expression that
            is true for a dropped record, and false or null for any other record. The stage neither changes the fields
            of a dropped record nor fails because of them.
        null_key, null_value: The schema of a key or value that is null after the stage. None: the null has no schema.
            False: the null keeps the schema that the key or value has in this plan.
        target_partition: The partition that a stage has chosen in the topic of the record.
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
