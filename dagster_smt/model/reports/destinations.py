"""The results of a run that writes many tables: one result for each table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dagster_smt.errors import Problem


@dataclass(frozen=True, slots=True)
class Destination:
    """The result of a run for one of its tables.

    Attributes:
        topic: The output topic of the chain.
        table: The path or name of the table.
        status: ``written``, ``failed`` or ``held``. ``held`` means that this run had nothing to write. For example, an
            earlier run wrote the rows to this table, but ended before it wrote all tables.
        records: The number of records for the table.
        rows: The number of rows that were written; for a table with keys, the number of records.
        is_new: True if this run is the first to write the table.
        problems: The reasons for a failure.
    """

    topic: str
    table: str
    status: str
    records: int = 0
    rows: int = 0
    is_new: bool = False
    problems: tuple[Problem, ...] = ()

    @property
    def failed(self) -> bool:
        """True if nothing was committed to the table. The next run then has to read the records of this table again."""
        return self.status == "failed"


def joined_destinations(batches: Iterable[Sequence[Destination]]) -> tuple[Destination, ...]:
    """Returns one result for each table of a run that read several windows (ranges of offsets) one after the other.
    Each item of ``batches`` contains the results of one window. The numbers of records and rows are summed.

    The status of a table is its status in the last window. A table that failed earlier, but was written in the last
    window, counts as written.
    """
    together: dict[str, Destination] = {}
    for batch in batches:
        for one in batch:
            former = together.get(one.topic)
            if former is not None:
                one = replace(
                    one,
                    records=former.records + one.records,
                    rows=former.rows + one.rows,
                    is_new=former.is_new or one.is_new,
                )
            together[one.topic] = one
    return tuple(together[topic] for topic in sorted(together))


def summary_of(destinations: Sequence[Destination]) -> str:
    """Returns a summary of ``destinations``, such as ``200 tables written, 3 of them new, 1 failed``."""
    written = [one for one in destinations if not one.failed]
    failed = len(destinations) - len(written)
    new = sum(one.is_new for one in written)
    parts = [f"{len(written)} tables written"]
    if new:
        parts.append(f"{new} of them new")
    if failed:
        parts.append(f"{failed} failed")
    return ", ".join(parts)
