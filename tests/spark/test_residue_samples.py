"""Records that are looked at for masked values, as workers get them."""

import pyarrow as pa

from dagster_smt.spark.residue import _samples
from dagster_smt.tables.sources.arrow_rows import SCHEMA


def test_timestamps_that_no_calendar_has_are_samples_too():
    """Microseconds where milliseconds belong: the year 55840."""
    columns = {name: pa.nulls(3, SCHEMA.field(name).type) for name in SCHEMA.names}
    columns["timestamp"] = pa.array([1_700_000_000_000_000_000, -(2**62), None], pa.int64()).cast(
        pa.timestamp("us", "UTC")
    )
    batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=SCHEMA)
    assert [sample.timestamp for sample in _samples(batch)] == [1_700_000_000_000_000, -(2**62) // 1000, None]
