"""The recorded cases as a run has them: bytes in, bytes out. A side that no stage changes must be what Connect writes.

``run_case`` reads and writes every datum, a run copies what no stage has changed. Both have to say the same.
"""

import json

import pytest

from dagster_smt.errors import ConfigError, DataError
from dagster_smt.interpret.interpreter import PASSED, Interpreter
from dagster_smt.model.topics.format import Format
from dagster_smt.tools.parity.as_kafka import WrittenConverter
from dagster_smt.tools.parity.compare import canonical_datum
from dagster_smt.tools.parity.datums import Converter, case_chain, read_record, run_case
from tests.parity.cases import FILES, cases_of

NEGATIVE_ZERO = "-0.0"
"""A double of JSON that Connect reads without its sign, and that is copied with it (D5)."""
PLAIN = WrittenConverter({"replace.null.with.default": "false"})


def as_read(datum):
    """A datum without the spelling that a copy keeps: 1 for 1.0, no field for null. Nulls stay nulls."""
    return canonical_datum(None if datum is None else PLAIN.write(*PLAIN.read(datum)))


def data_of(datum):
    return None if datum is None else datum.get("envelope", "null").encode()


def in_envelopes(case):
    """Whether both sides of all records are envelopes or nothing at all."""
    sides = [record[side] for record in case["records"] for side in ("key", "value")]
    return all(datum is None or "envelope" in datum for datum in sides)


def results_of_a_run(case, chain):
    """(number, key, value) of the records that are kept, the sides as datums."""
    converter = Converter(case.get("converter") or {})
    interpreter = Interpreter(chain, converter.form, converter.form)
    for number, data in enumerate(case["records"]):
        try:
            record = read_record(data, converter)
        except DataError:
            continue
        outcome, *sides = interpreter.process(record, data_of(data["key"]), data_of(data["value"]))
        if outcome.status == PASSED:
            yield number, [None if side is None else {"envelope": side.decode()} for side in sides]


def parsed(case):
    try:
        return case_chain(case)
    except ConfigError:
        return None


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_run_writes_what_connect_writes_also_where_no_stage_acts(path):
    wrong = []
    for case in filter(in_envelopes, cases_of(path)):
        chain = parsed(case)
        if chain is None or NEGATIVE_ZERO in json.dumps(case["records"]):
            continue
        answers = run_case(case, chain)["results"]
        for number, sides in results_of_a_run(case, chain):
            want = answers[number].get("record")
            shown = [want and want[side] for side in ("key", "value")]
            if any(datum and "envelope" not in datum for datum in shown):
                continue  # a schema is gone, or JSON cannot carry the value
            if [*map(as_read, sides)] != [*map(as_read, shown)]:
                wrong.append((case["id"], number))
    assert wrong == []


TEXT = '{"type":"string","optional":true,"default":"n/a","field":"note"}'
NO_DEFAULT = '{"type":"string","optional":true,"field":"note"}'
ENVELOPE = '{"schema":{"type":"struct","optional":false,"fields":[%s]},"payload":{"note":null}}'


@pytest.mark.parametrize(
    ("field", "fills", "written"),
    [(TEXT, True, "n/a"), (TEXT, False, None), (NO_DEFAULT, True, None)],
    ids=["a default", "replace.null.with.default=false", "no default"],
)
@pytest.mark.parametrize("side", ["key", "value"])
def test_a_null_becomes_its_default_in_a_side_that_no_stage_changes(side, field, fills, written):
    form = Format("envelope", replace_null_with_default=fills)
    chain = case_chain({"config": {"transforms": ""}})
    data = (ENVELOPE % field).encode()
    sides = {"key": None, "value": None, side: data}
    interpreter = Interpreter(chain, form, form)
    record = read_record(
        {**dict.fromkeys(("partition", "offset", "timestamp", "timestampType")), **RECORD}, Converter({})
    )
    _, *after = interpreter.process(record, sides["key"], sides["value"])
    assert json.loads(after[("key", "value").index(side)])["payload"] == {"note": written}
    same = written is None
    assert (after[("key", "value").index(side)] == data) is same, "what needs no writing is copied byte for byte"


METADATA = ("partition", "offset", "timestamp", "timestampType")
RECORD = {"topic": "t", "kind": "sink", "key": None, "value": None, "headers": []}
