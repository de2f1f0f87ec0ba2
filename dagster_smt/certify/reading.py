"""Reads the sample records of a certificate for both chains."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.authoring.stage import Chain
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.interpret.interpreter import KEY_CONVERTER, PASSED, Interpreter, reads_keys
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.record import Record
from dagster_smt.model.topics.format import Format
from dagster_smt.tools.parity.datums import Converter
from dagster_smt.values.headers.fields import header_as_read
from dagster_smt.values.json.lazy import converted_to_utf8

Case = dict[str, Any]
CONVERTER = {"replace.null.with.default": "false"}
"""The settings of the converter that writes results for the comparison. With these settings, the converter does not
replace a null with a default.
"""
_STORED = ("json", "envelope")
_PLAIN = ("json", "envelope", "string", "bytes")
"""The formats that Connect's own converters can read in the host (the Java process with Connect's classes)."""


@dataclass
class Readings:
    """The sample records of a certificate.

    Attributes:
        samples: The records that our converters could read.
        cases: The same records as dicts with JSON text, in the form that the parity tests use.
        refused: The records that our converters reject, with their problems and the side (``key`` or ``value``).
        skipped: The number of messages that contain no row, such as a DDL statement from Canal.
    """

    samples: list[Sample] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    refused: list[tuple[Sample, Problem, str]] = field(default_factory=list)
    skipped: int = 0


class Reader:
    """A reader of the samples of a certificate. Each run of a chain needs new records, because a chain changes its
    records.

    Args:
        chain: Our chain; it determines whether keys are decoded.
        key, value: The formats of keys and values.

    Raises:
        ConfigError: SMT970 if the format turns one record into several rows.
    """

    def __init__(self, chain: Chain, key: Format, value: Format):
        if value.arrays_as_rows:
            hint = "leave arrays-as-rows out, and certify the chain on whole values"
            raise ConfigError(Problem("SMT970", "certify", "Connect makes no rows of the elements of arrays", hint))
        self.key, self.value = key, value
        self.keys = reads_keys(chain, key)
        self.interpreter = Interpreter(chain, key, value)
        self.converter = Converter(CONVERTER)

    def read(self, sample: Sample) -> tuple[Record, int, Problem | None]:
        """Reads ``sample`` into a record, as it enters the first stage.

        Returns three items. The first is the record. The second is the number of the step at which reading stopped,
        such as -2 for the key converter; 0 if reading did not stop. The third is the problem; None if there is none.
        """
        headers = []
        for name, raw in sample.headers:
            headers.append(header_as_read(name, raw))
        record = Record(sample.topic, sample.partition, sample.offset, sample.timestamp, "CreateTime", headers=headers)
        record.leader_epoch = sample.leader_epoch
        outcome = self.interpreter.read(record, sample.key, sample.value, keys=self.keys)
        return record, outcome.stage if outcome.status != PASSED else 0, outcome.problem

    def records(self, samples: Sequence[Sample]) -> list[Record]:
        """Reads ``samples`` into records that one run of a chain may change. All samples must be readable."""
        records = []
        for number, sample in enumerate(samples):
            record, _, _ = self.read(sample)
            record.number = number
            records.append(record)
        return records

    def readings(self, samples: Sequence[Sample]) -> Readings:
        """Reads each of ``samples`` once. Returns the readable records, the rejected records, and the number of
        messages that contain no row (such as a DDL statement from Canal).
        """
        readings = Readings()
        for sample in samples:
            record, stage, problem = self.read(sample)
            if problem is not None:
                readings.refused.append((sample, problem, "key" if stage == KEY_CONVERTER else "value"))
            elif stage:
                readings.skipped += 1
            else:
                readings.samples.append(sample)
                readings.cases.append(self.case_of(record, sample))
        return readings

    def case_of(self, record: Record, sample: Sample) -> Case:
        """Returns ``record`` as a dict with JSON text, which the tests of parity with Kafka also use. ``sample``
        contains the bytes from which the record has been read.
        """
        case = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": record.timestamp_type,
            "kind": record.kind,
            "key": self._datum(self.key, sample.key, record.key_schema, record.key) if self.keys else None,
            "value": self._datum(self.value, sample.value, record.value_schema, record.value),
        }
        headers = [{"key": h.key, "value": self.converter.write(h.schema, h.value)} for h in record.headers]
        return {**case, "headers": headers}

    def _datum(self, form: Format, data: bytes | None, schema: Any, value: Any) -> Any:
        if form.kind == "json" and not form.options:
            if data is None:
                return None
            text = converted_to_utf8(data)
            # a string keeps the spelling of numbers
            return {"schemaless": (data if text is None else text).decode()}
        return self.converter.write(schema, value)


def raw_case(sample: Sample, key: Format, value: Format) -> Case:
    """Returns a rejected record as a dict, in the form that the tests of parity with Kafka use. Key and value are the
    original bytes, written as strings. A key or value in a format other than ``json`` and ``envelope`` becomes None.
    """
    case: Case = {"topic": sample.topic, "partition": sample.partition, "offset": sample.offset, "headers": []}
    case |= {"timestamp": sample.timestamp, "timestampType": "CreateTime", "kind": "sink"}
    for side, form, data in (("key", key, sample.key), ("value", value, sample.value)):
        kind = "envelope" if form.kind == "envelope" else "schemaless"
        # the converters have rejected these bytes, so they may not be UTF-8
        case[side] = None if data is None else {kind: data.decode("utf-8", "surrogateescape")}
        if form.kind not in _STORED:
            case[side] = None
    return case


def asks_connect(form: Format) -> bool:
    """Returns True if Kafka's jars have a converter for the format ``form``. The host (the Java process with these
    jars) can then read the format.
    """
    return form.kind in _PLAIN and not form.options and form.schema is None
