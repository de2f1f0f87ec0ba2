"""Take-overs there and back, killed at random on both sides: every record is in the table once.

``TAKE_OVERS`` says how many take-overs, ``SEED`` how they are killed.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue

import pytest

from dagster_smt.testing.broker import KafkaBroker
from tests.connect.takeover.workers import Worker
from tests.connect.takeover.world import TwoTables, World, repeated

pytestmark = [pytest.mark.spark, pytest.mark.long]
ROOT = Path(__file__).parents[3]
TAKE_OVERS = int(os.environ.get("TAKE_OVERS", "3"))
SEED = int(os.environ.get("SEED", "1"))
BROKER = {"auto.create.topics.enable": "false", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
QUICK = {"iceberg.kafka.transaction.timeout.ms": "8000", "iceberg.kafka.session.timeout.ms": "6000"}


class Child:
    """A process that carries out one order after another."""

    def __init__(self, world: World, conf: dict[str, str] | None = None):
        folder = world.root / "children"
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "tests.connect.takeover.child", str(world.lake), str(folder)]
        command.append(json.dumps(conf or {}))
        self.log = (folder / "log").open("ab")
        self.process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )  # fmt: skip
        self.lines: Queue[str] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put("GONE")

    def ready(self) -> "Child":
        assert self.lines.get(timeout=900) == "READY", (self.log.name, "the child did not start")
        return self

    def order(self, **order: object) -> None:
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def answer(self, seconds: float) -> str | None:
        with suppress(Empty):
            return self.lines.get(timeout=seconds)
        return None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.log.close()


class Children:
    """Hands out a process that is ready; the next one starts meanwhile."""

    def __init__(self, world: World):
        self.world, self.now, self.next = world, Child(world).ready(), Child(world)

    def killed(self) -> None:
        self.now.kill()
        self.now, self.next = self.next.ready(), Child(self.world)

    def end(self) -> None:
        self.now.kill()
        self.next.kill()


class Judge:
    """Kills at random what works, until it is done."""

    def __init__(self, world: World, worker: Worker, seed: int):
        self.world, self.worker, self.random = world, worker, random.Random(seed)
        self.children = Children(world)
        self.kills = {"command": 0, "run": 0, "worker": 0}

    def restart_worker(self) -> None:
        self.kills["worker"] += 1
        self.worker.kill()
        if self.random.random() < 0.5:
            time.sleep(self.random.uniform(0, 2))
        self.worker.start()

    def until_done(self, what: str, longest: float, **order: object) -> str:
        """Gives an order again and again; kills the process at a random moment in most tries."""
        refused = 0
        for number in range(12):
            self.children.now.order(**order)
            kills = number < 3 and self.random.random() < 0.6
            worker = what == "command" and number < 2 and self.random.random() < 0.15
            if worker:
                threading.Timer(self.random.uniform(0, longest), self.restart_worker).run()
            answer = self.children.now.answer(self.random.uniform(0.1, longest) if kills else 300)
            if answer is None:
                self.kills[what] += 1
                self.children.killed()
            elif answer.startswith("DONE") and answer != "DONE 1":
                return answer
            else:
                refused += 1
                assert refused < 6, (answer, order)
        raise AssertionError(order)

    def command(self, command: str, *more: str) -> None:
        argv = self.world.command(command, self.worker.url, "--wait", "180", *more)
        assert self.until_done("command", 7, do="main", argv=argv) == "DONE 0"

    def run(self) -> None:
        for folder in self.world.folders:
            self.until_done("run", 3, do="run", folder=str(folder))

    def connector_works(self) -> None:
        """The connector reads records; its worker may die at any moment."""
        self.world.produce(self.random.randrange(5, 60))
        time.sleep(self.random.uniform(0, 4))
        if self.random.random() < 0.3:
            self.restart_worker()
        self.world.produce(self.random.randrange(0, 40))
        if self.random.random() < 0.3:
            time.sleep(self.random.uniform(0, 3))


@pytest.mark.parametrize(("kind", "kinds"), [(World, ()), (TwoTables, ("a", "b", "c"))], ids=["one", "several"])
def test_every_record_is_there_once(tmp_path, kind, kinds):
    with KafkaBroker(tmp_path / "kafka", BROKER) as broker:
        world = kind(tmp_path, broker.servers, "orders", kinds=kinds)
        worker = Worker(tmp_path / "worker", broker.servers)
        judge = Judge(world, worker, SEED)
        try:
            worker.start()
            worker.create("orders", {**world.config, **QUICK})
            world.produce(40)
            first = {table: len(ids) for table, ids in world.expected_ids().items()}
            worker.until(lambda: all(world.snapshot_rows(table) >= rows for table, rows in first.items()))
            for number in range(TAKE_OVERS):
                judge.connector_works()
                judge.command("takeover")
                assert worker.status("orders") == ("STOPPED", [])
                for _ in range(judge.random.randrange(1, 3)):
                    world.produce(judge.random.randrange(1, 50))
                    judge.run()
                for table, ids in world.expected_ids().items():
                    assert sorted(ids_of(world, table)) == ids, (number, table)
                if number + 1 < TAKE_OVERS:
                    judge.command("takeover", "--back")
                rows = 0
                for table in world.expected_ids():
                    ids = ids_of(world, table)
                    assert repeated(ids) == {}, (number, table)
                    rows += len(ids)
                print(f"{number + 1}: {rows} rows, kills {judge.kills}", flush=True)
            judge.run()
            for table, ids in world.expected_ids().items():
                assert sorted(ids_of(world, table)) == ids, table
        finally:
            judge.children.end()
            worker.kill()


def ids_of(world: World, name: str) -> list[int]:
    """The ids in the current files of a table, read without Spark."""
    import fastavro
    import pyarrow.parquet as pq

    table = world.metadata(name)
    current = next(s for s in table["snapshots"] if s["snapshot-id"] == table["current-snapshot-id"])
    ids: list[int] = []
    with Path(current["manifest-list"].removeprefix("file:")).open("rb") as lists:
        manifests = [m["manifest_path"] for m in fastavro.reader(lists)]
    for manifest in manifests:
        with Path(manifest.removeprefix("file:")).open("rb") as file:
            entries = [e for e in fastavro.reader(file) if e["status"] != 2]
        for entry in entries:
            path = entry["data_file"]["file_path"].removeprefix("file://").removeprefix("file:")
            ids += pq.read_table(path, columns=["id"])["id"].to_pylist()
    return ids
