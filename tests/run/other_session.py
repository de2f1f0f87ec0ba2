"""A process with a Spark session of its own, which runs statements on Iceberg tables for tests: a line for each."""

import json
import sys
from pathlib import Path

from dagster_smt.tables.sink_options import IcebergSink
from dagster_smt.tables.sinks import open_table
from tests.run.kill_child import start


def main() -> None:
    session = start("")
    for line in sys.stdin:
        order = json.loads(line)
        table = open_table(session, IcebergSink(Path(order["folder"]) / "table", "columns", mode="upsert"))
        session.sql(order["statement"].replace("TABLE", table.name, 1)).collect()
        sys.stdout.write("done\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
