"""What goes into the compiled lane, and what comes out of it."""

from collections.abc import Callable
from dataclasses import dataclass

from dagster_smt.interpret.compiled.arrays import Bytes
from dagster_smt.interpret.compiled.places import Array

Numbers = Callable[[str], Array]
"""The column ``partition``, ``offset`` or ``timestamp`` (milliseconds), as 64-bit integers without nulls."""


@dataclass(frozen=True)
class Given:
    """Records of one topic.

    Attributes:
        values: Their values, in UTF-8.
        odd: 1 for those that are left to the interpreter in any case, such as tombstones; changed in place.
        numbers: Gives columns that the chain puts into records.
        keys: Their keys, if those have to be JSON.
    """

    values: Bytes
    odd: Array
    numbers: Numbers
    keys: Bytes | None = None


@dataclass(frozen=True)
class Done:
    """What became of a batch.

    Attributes:
        topic: The topic of all that are not odd.
        touched: The bits of the ledger.
        odd: 1 where the interpreter has to run the record.
        values: The values after the chain, those of odd records empty; None: the bytes stay as they are.
        keys: The keys, if the chain has made them; ``key_there``: whether it is there, if it may be null.
    """

    topic: str | None
    touched: Array
    odd: Array
    values: Bytes | None
    keys: Bytes | None = None
    key_there: Array | None = None
