"""Defines, as plain data, the rules by which events (records with changes of rows) change a table with keys. Such a
table contains the current row of each key, or each version of the row.
"""

from dataclasses import dataclass, field
from typing import Literal

from dagster_smt.errors import Problem

TableMode = Literal["append", "upsert", "scd2"]
Deletes = Literal["apply", "soft", "ignore"]
RECORD_KEY = "record_key"
MODES = ("append", "upsert", "scd2")
DELETES = ("apply", "soft", "ignore")
DELETE_FLAG = "__deleted"
"""The column in which Debezium's ExtractNewRecordState marks a deletion, if its mode rewrites deletions into rows."""
UNAVAILABLE_VALUE = "__debezium_unavailable_value"
"""The default of Debezium's option ``unavailable.value.placeholder``. A large column has this value if an update left
it unchanged.
"""

NULL_KEY = Problem(
    "SMT720",
    "",
    "a column of the record's key is null, so the table has no row for the record",
    "make the key in the chain (ValueToKey), or name other key columns",
)
NO_SEQUENCE = Problem(
    "SMT721",
    "",
    "the column of sequence_by is null, so the event has no place among those of its key",
    "choose a column that every event has, or drop such records with Filter",
)
CROSSING = Problem(
    "SMT722",
    "",
    "the key is met in two partitions, and nothing orders their events",
    "name a column of the source that does with sequence_by, such as a log position or source.ts_ms",
)


@dataclass(frozen=True)
class SoftDeleteColumns:
    """The names of two columns in a table that keeps deleted rows. One column is a flag for deleted rows. The other
    column contains the timestamp of the deleting record.
    """

    deleted: str = "_is_deleted"
    at: str = "_deleted_at"

    @property
    def names(self) -> tuple[str, str]:
        return self.deleted, self.at


@dataclass(frozen=True)
class ValidityColumns:
    """The names of additional columns in a table with one row for each version of a key. These columns contain the
    beginning and the end of a version, and a flag for the current version.

    ``closed_by`` contains the offset of the record that ended the version. If a run reads older offsets again, this
    column shows which versions were still open at those offsets. For example, a version that the record with the offset
    50 ended was still open at the offset 40.
    """

    start: str = "valid_from"
    end: str = "valid_to"
    current: str = "is_current"
    closed_by: str = "_closed_by_offset"

    @property
    def names(self) -> tuple[str, str, str, str]:
        return self.start, self.end, self.current, self.closed_by


@dataclass(frozen=True)
class KeyedRows:
    """The rules by which events change a table with keys.

    Attributes:
        mode: ``upsert``: a row for each key; ``scd2``: a row for each version of a key.
        keys: The table's key columns. If empty, the key columns are the fields of the record's key.
        deletes: The effect of a deletion: ``apply`` removes the row, ``soft`` flags it, ``ignore`` does nothing.
        delete_flag: The column with which the chain marks deletions. The table does not have this column.
        sequence_by: The column that orders the events of a key. If empty, the offsets order the events, so all events
            of a key must be in the same partition.
        track: The columns whose change creates a new version; empty for all columns.
        unavailable_value: The placeholder that an update event contains instead of a large unchanged value; empty if
            events contain no placeholders.
        soft, validity: The names of the columns that the table gets in addition: ``soft`` for flagged deletions,
            ``validity`` for the mode ``scd2``.
    """

    mode: Literal["upsert", "scd2"]
    keys: tuple[str, ...] = ()
    deletes: Deletes = "apply"
    delete_flag: str = DELETE_FLAG
    sequence_by: str = ""
    track: tuple[str, ...] = ()
    unavailable_value: str = UNAVAILABLE_VALUE
    soft: SoftDeleteColumns = field(default_factory=SoftDeleteColumns)
    validity: ValidityColumns = field(default_factory=ValidityColumns)

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that the mode adds to the columns of the chain."""
        if self.mode == "scd2":
            return self.validity.names
        if self.deletes == "soft":
            return self.soft.names
        return ()
