"""Runs a chain stage by stage, and returns the results after each stage. A result is a dict, such as
``{"dropped": True}``.
"""

from collections.abc import Sequence
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.certify.reading import Reader
from dagster_smt.foreign.segment import Classes
from dagster_smt.interpret.interpreter import DROPPED_STATUS, Interpreter, Outcome
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.record import Record
from dagster_smt.tools.parity.datums import Converter, failure

Result = dict[str, Any]
Steps = list[list[Result]]
"""The results of all records after each stage: ``steps[0][2]`` is the result of the third record after the first stage.
"""


def steps_of(chain: Chain, reader: Reader, samples: Sequence[Sample], classes: Classes | None = None) -> Steps:
    """Runs ``chain`` on ``samples``, and returns the result of each record after each stage.

    If a stage drops or rejects a record, the same result is repeated for all later stages. All records run through the
    chain in their order, because a stage may remember earlier records.

    Args:
        chain: The chain.
        reader: Reads the samples.
        samples: The records.
        classes: The locations of the Java classes that foreign stages (stages from jars) run; None to use the settings
            of the chain.

    Raises:
        EngineError: The Java process that runs the foreign stages cannot run.
    """
    # join=False: neighbouring foreign stages run one by one, so that there are results after each of them
    interpreter = Interpreter(chain, reader.key, reader.value, classes=classes, join=False)
    records, steps = reader.records(samples), Steps()

    def after(stage: int, left: list[Record], lost: dict[int, Outcome]) -> None:
        results: list[Result] = [{}] * len(samples)
        for number, outcome in lost.items():
            results[number] = _lost(outcome)
        for record in left:
            results[record.number] = {"record": written(record, reader.converter)}
        steps.append(results)

    try:
        interpreter.run_stepwise(records, after)
    finally:
        interpreter.close()
    return steps


def _lost(outcome: Outcome) -> Result:
    if outcome.status == DROPPED_STATUS:
        return {"dropped": True}
    assert outcome.problem is not None
    # the alias that properties_of gives to the stage
    return failure(outcome.problem, f"s{outcome.stage + 1}")


def written(record: Record, converter: Converter) -> dict[str, Any]:
    """Returns ``record`` as a dict that can be compared with Connect's result. ``converter`` writes the key, the value
    and the headers.
    """
    headers = [{"key": h.key, "value": converter.write(h.schema, h.value)} for h in record.headers]
    return {
        "topic": record.topic,
        "partition": record.partition if record.target_partition is None else record.target_partition,
        "offset": record.offset,
        "timestamp": None if record.timestamp is None else int(record.timestamp),
        "timestampType": record.timestamp_type,
        "kind": record.kind,
        "key": converter.write(record.key_schema, record.key),
        "value": converter.write(record.value_schema, record.value),
        "headers": headers,
    }
