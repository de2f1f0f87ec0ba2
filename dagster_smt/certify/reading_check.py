"""Compares Connect's converters with the converters of this package on the same bytes. The comparison finds records
that only Connect or only this package can read.
"""

import struct
from collections.abc import Sequence

from dagster_smt.certify.certificate import READING, Finding
from dagster_smt.certify.chain_pair import ChainPair
from dagster_smt.certify.difference_places import DifferencePlace
from dagster_smt.certify.reading import Reader, Readings, asks_connect, raw_case
from dagster_smt.errors import Problem
from dagster_smt.foreign.segment import ForeignSegment
from dagster_smt.interpret.interpreter import KEY_CONVERTER
from dagster_smt.interpret.preview import Sample
from dagster_smt.tools.parity.as_kafka import coerced

WAY = "converters"
# Long.MIN_VALUE, which the host reads as no timestamp (Plain.java)
_NO_TIME = -(2**63)
_CREATE_TIME = 1
_COERCED = {"SMT401", "SMT411", "SMT412", "SMT414", "SMT416", "SMT417", "SMT405"}
"""The codes of problems with values that this package rejects. Connect converts these values to a different type (the
intended difference D5).
"""
_READS, _REFUSES = "a record", "a record that no converter reads"


def reading_findings(pair: ChainPair, reader: Reader, readings: Readings) -> list[Finding]:
    """Compares which records the converters of Connect and of this package can read. Returns a finding for records that
    only one of the two can read.

    Formats for which Connect's jars have no converter, such as Avro, are not compared. Our reader reads such records
    for both chains.
    """
    key = reader.key.kind if reader.keys else ""
    if not asks_connect(reader.value) or (key and not asks_connect(reader.key)):
        return []
    samples = [*readings.samples, *(sample for sample, _, _ in readings.refused)]
    refused = refused_by_connect(pair, samples, key, reader.value.kind)
    findings = _Findings()
    for number, sample in enumerate(samples):
        # ``samples`` begins with the records that our converters have read
        if number < len(readings.samples):
            if number in refused:
                findings.add("", number, DifferencePlace(sample.place, refused[number], "", _REFUSES, _READS))
            continue
        _, problem, side = readings.refused[number - len(readings.samples)]
        if number not in refused:
            decision = "D5" if _is_coerced(reader, sample, problem, side) else ""
            place = DifferencePlace(sample.place, side, "", _READS, f"a record that is refused ({problem.code})")
            findings.add(decision, number, place)
    return findings.all()


class _Findings:
    """Collects differences, grouped by the rule that explains them. Each group becomes one finding, with the location
    of its first difference.
    """

    def __init__(self) -> None:
        self.places: dict[str, dict[int, DifferencePlace]] = {}

    def add(self, decision: str, number: int, place: DifferencePlace) -> None:
        self.places.setdefault(decision, {})[number] = place

    def all(self) -> list[Finding]:
        findings = []
        for decision, places in self.places.items():
            lasting = frozenset() if decision else frozenset(places)
            first = next(iter(places.values()))
            findings.append(Finding(WAY, READING, decision, len(places), lasting, first))
        return findings


def _is_coerced(reader: Reader, sample: Sample, problem: Problem, side: str) -> bool:
    if problem.code not in _COERCED:
        return False
    case = raw_case(sample, reader.key, reader.value)
    try:
        return coerced({}, case)[side]
    except Exception:  # noqa: BLE001 - if the rule cannot read the text, it does not explain the difference
        return False


def refused_by_connect(pair: ChainPair, samples: Sequence[Sample], key: str, value: str) -> dict[int, str]:
    """Returns the records that Connect's own converters reject, as a dict such as ``{3: "value"}``: Connect rejects the
    value of the record at position 3.

    Args:
        pair: Our chain and Connect's chain.
        samples: The records.
        key, value: The formats; with an empty key format, keys are not read.

    Raises:
        EngineError: The Java process with Connect's classes cannot run.
    """
    # without a stage, the host only reads and writes the records with Connect's converters
    segment = ForeignSegment([], {}, pair.classes, pair.connect.foreign)
    count = len(samples)
    times = []
    for sample in samples:
        times.append(_NO_TIME if sample.timestamp is None else sample.timestamp)
    request = [
        key or "bytes",
        value,
        count,
        [sample.topic for sample in samples],
        # the host reads columns of numbers as little-endian bytes
        struct.pack(f"<{count}i", *(sample.partition for sample in samples)),
        struct.pack(f"<{count}q", *(sample.offset for sample in samples)),
        struct.pack(f"<{count}q", *times),
        bytes([_CREATE_TIME]) * count,
        _column([sample.key if key else None for sample in samples]),
        _column([sample.value for sample in samples]),
    ]
    try:
        _, status, stages, *_ = segment.call_plain(request)
    finally:
        segment.close()
    refused = {}
    for number, (state, stage) in enumerate(zip(status, struct.unpack(f"<{count}i", stages), strict=True)):
        if state:
            refused[number] = "key" if stage == KEY_CONVERTER else "value"
    return refused


def _column(data: Sequence[bytes | None]) -> list[bytes] | None:
    """Packs a column of keys or values for the Java process with Connect's classes. Returns two byte strings: the
    lengths of the values (-1 for null), and the values one after the other. Returns None if all values are null.
    """
    if all(one is None for one in data):
        return None
    lengths = []
    for one in data:
        lengths.append(-1 if one is None else len(one))
    return [struct.pack(f"<{len(lengths)}i", *lengths), b"".join(one or b"" for one in data)]
