"""Remembers the time spans that runs have read from a topic-partition. Each span includes the offset up to which runs
have read it.

A record may be late: its timestamp may belong to a span that has already been read. The run of the next span has to
read such a record. That run therefore begins at the offset where the previous run ended, not at the first record of its
own span.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dagster_smt.model.windows.offsets import TopicPartition

EVER = 2**63 - 1
"""The end of a time span without an end. The negative of this number is the beginning of a time span without a
beginning.
"""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A time span in milliseconds, from ``since`` (included) to ``until`` (excluded). Runs have read the records of
    this span up to the offset ``end``.
    """

    since: int
    until: int
    end: int


Spans = tuple[Span, ...]
"""Time spans that are sorted and have gaps between them."""


def with_span(spans: Spans, new: Span) -> Spans:
    """Returns ``spans`` with the span ``new`` added. If ``new`` touches or overlaps other spans, they are joined. The
    joined span gets the end offset of the span that is later in time.
    """
    merged: list[Span] = []
    for span in sorted((*spans, new)):
        if merged and span.since <= merged[-1].until:
            merged[-1] = _joined(merged[-1], span, new)
        else:
            merged.append(span)
    return tuple(merged)


def _joined(one: Span, other: Span, new: Span) -> Span:
    if one.until == other.until:  # the last span has been read again, so its new end offset applies
        end = new.end
    else:
        end = max(one, other, key=lambda span: span.until).end
    return Span(min(one.since, other.since), max(one.until, other.until), end)


def reached(spans: Spans, since: int) -> int | None:
    """Finds the span that ends at the time ``since`` or contains this time, and returns the span's end offset. Returns
    None if there is no such span, because no run has read that time.
    """
    ends = []
    for span in spans:
        if span.since < since <= span.until:
            ends.append(span.end)
    if ends:
        return ends[0]
    return None


def spans_to_json(spans: Mapping[TopicPartition, Spans]) -> dict[str, dict[str, list[list[int]]]]:
    """Returns ``spans`` as ``{topic: {partition: [[since, until, end], …]}}``."""
    data: dict[str, dict[str, list[list[int]]]] = {}
    for (topic, partition), of_place in sorted(spans.items()):
        data.setdefault(topic, {})[str(partition)] = [[s.since, s.until, s.end] for s in of_place]
    return data


def spans_from_json(data: Mapping[str, Mapping[str, list[list[int]]]]) -> dict[TopicPartition, Spans]:
    """Returns the spans that ``spans_to_json`` has converted into ``data``."""
    results = {}
    for topic, parts in data.items():
        for partition, spans in parts.items():
            results[(topic, int(partition))] = tuple(Span(*numbers) for numbers in spans)
    return results
