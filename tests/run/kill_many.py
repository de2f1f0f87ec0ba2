"""One run writes many tables and is killed at random: ``python -m tests.run.kill_many --topics 200 --kills 5``.

Each round gives every topic a record and kills the run over all topics, at a time that is drawn between its start and
the time that a whole run takes. After the kills a run is left alone, and each table must hold each record once.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from deltalake import DeltaTable

from dagster_smt.tables.sources.file_writer import NewRecord, append_records
from dagster_smt.tables.topic_table import FileTopics
from tests.run.kill_pool import Child, Pool


class ManyTables:
    """A folder with topics and a table of each."""

    def __init__(self, folder: Path, topics: int):
        self.folder, self.topics, self.rounds = folder, topics, 0

    def produce(self) -> None:
        """Append a record to each topic."""
        for number in range(self.topics):
            value = json.dumps({"id": self.rounds, "amount": number}).encode()
            append_records(FileTopics(self.folder / "topics"), f"events.{number}", [NewRecord(None, value)])
        self.rounds += 1

    def order(self) -> dict[str, str]:
        return {"kind": "plain", "sink": "many", "folder": str(self.folder)}

    def written(self) -> int:
        """How many tables there are."""
        return len([*self.folder.glob("lake/events.*/_delta_log")])

    def judge(self) -> list[str]:
        """What is wrong when nothing is new."""
        problems, expected = [], Counter(range(self.rounds))
        for number in range(self.topics):
            place = self.folder / "lake" / f"events.{number}"
            if not place.exists():
                problems.append(f"events.{number} has no table")
                continue
            rows = DeltaTable(str(place)).to_pyarrow_table().to_pylist()
            if Counter(row["id"] for row in rows) != expected or {row["amount"] for row in rows} != {number}:
                problems.append(f"events.{number} has {rows}")
        return problems


def answer(child: Child, until: float) -> str | None:
    """How a run ended; None if it has not ended by then."""
    while (line := child.hear(until)) is not None:
        if line[1].startswith("DONE "):
            return line[1].removeprefix("DONE ")
    return None


def play(world: ManyTables, pool: Pool, kills: int, seed: int) -> list[str]:
    """A whole run to learn how long it takes, then kills; what is wrong."""
    rng, killed, child = random.Random(seed), 0, pool.take()
    world.produce()
    length, problems = 240.0, []
    while True:
        start, deadline = time.monotonic(), float("inf")
        if killed < kills:
            deadline = start + rng.random() * length
        child.send(world.order())
        end = answer(child, min(deadline, start + 1800))
        seconds = time.monotonic() - start
        if end is None:
            child.kill()
            killed += 1
            print(f"killed after {seconds:.0f} s: {world.written()} of {world.topics} tables", flush=True)
            child = pool.take(last=killed == kills)
            continue
        length = seconds if end == "committed" else length
        problems += world.judge()
        print(f"{end} after {seconds:.0f} s: {world.written()} tables, {len(problems)} problems", flush=True)
        if killed == kills or problems or end.startswith("refused"):
            child.kill()
            return problems if not end.startswith("refused") else [*problems, end]
        world.produce()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kill-many-"))
    pool, world = Pool(folder, cores=2), ManyTables(folder, arguments.topics)
    try:
        problems = play(world, pool, arguments.kills, arguments.seed)
    finally:
        pool.close()
    for problem in problems[:20]:
        print(f"PROBLEM {problem}")
    print(f"{arguments.topics} tables, {arguments.kills} kills, {world.rounds} rounds, {len(problems)} problems")
    shutil.rmtree(folder)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
