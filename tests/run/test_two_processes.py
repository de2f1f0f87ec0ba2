"""Two processes write one table with keys at the same time: the table stays the fold, and who was late says so."""

import time
from collections import Counter

import pytest

from tests.run.kill_keys import KeyWorld
from tests.run.kill_pool import Child, Pool

pytestmark = [pytest.mark.spark, pytest.mark.long]
ROUNDS = 6


def answer_of(child: Child) -> str:
    """How an order ended."""
    end = time.monotonic() + 300
    while (line := child.hear(end)) is not None:
        if line[1].startswith("DONE "):
            return line[1].removeprefix("DONE ")
    raise TimeoutError


@pytest.mark.parametrize("sink", ["keyed-delta", "keyed-iceberg"])
def test_two_processes_write_one_table(tmp_path, sink):
    (tmp_path / "world").mkdir()
    world, answers = KeyWorld(tmp_path / "world", sink, 3), Counter()
    pool = Pool(tmp_path)
    children = [pool.take(), pool.take(last=True)]
    try:
        for _ in range(ROUNDS):
            world.produce(4)
            before = len(world.evidence.states)
            order = world.of("plain")
            for child in children:
                child.send({**order, "key": ""})
            ends = [answer_of(child) for child in children]
            assert world.judge({**order, "kind": "micro", "max_batches": 2}) == []
            committed = len(world.evidence.states) - before
            for end in ends:
                if end.startswith("refused"):
                    assert "SMT528" in end
                    end = "SMT528"
                answers[end] += 1
            assert ends.count("committed") == committed >= 1, ends
    finally:
        for child in children:
            child.kill()
        pool.close()
    print(dict(answers))
    assert answers["SMT528"] >= 1
