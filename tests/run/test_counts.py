"""Counts of records: one aggregate of the JVM lane gives what an aggregate for each stage and entry gives."""

import random

import pytest

from dagster_smt.chain import parse_chain, plan_chain
from dagster_smt.run.counts import count_columns, read_counts
from dagster_smt.spark.outcome_columns import BITS, LEFT
from tests.jvm.test_stages import chain_of, masked

FRAME = "__topic string, __status tinyint, __stage int, __touched array<bigint>"
MANY = chain_of(*(masked(f"f{n}") for n in range(2 * BITS)))
PLANS = {
    name: plan_chain(chain, None, None, typed=False)
    for name, chain in {"many": MANY, "none": parse_chain({"transforms": ""})}.items()
}


def rows(plan, count):
    rng, stages, entries = random.Random(7), len(plan.chain.stages), len(plan.entries)
    words = -(-entries // BITS)
    results = []
    for _ in range(count):
        status = rng.choice((0, 0, 1, 2, LEFT))
        stage = rng.choice((-3, -2, *range(stages))) if status in (1, 2) else -1
        touched = [rng.getrandbits(BITS) if rng.random() < 0.8 else 0 for _ in range(words)]
        if words:
            touched[-1] &= (1 << entries - BITS * (words - 1)) - 1
        results.append((rng.choice("ab"), status, stage, touched))
    return results


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("count", [0, 500])
def test_one_aggregate_counts_as_many_do(spark, name, count):
    plan = PLANS[name]
    sizes = len(plan.chain.stages), len(plan.entries)
    frame = spark.createDataFrame(rows(plan, count), FRAME).repartition(3)
    counts = []
    for lane in (False, True):
        grouped = frame.groupBy("__topic").agg(*count_columns(plan.chain, plan.entries, lane=lane)).collect()
        counts.append({row["__topic"]: read_counts(row, *sizes) for row in grouped})
    assert counts[0] == counts[1] and sum(c.records for c in counts[1].values()) == count
