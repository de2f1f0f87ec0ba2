"""Remembers the time spans that runs have read from a topic-partition. For each span, it also remembers the offset up
to which runs have read the records of the span.

A record may arrive late: its timestamp belongs to a span that a run has already read. The run of the next span has to
read such a record. That run therefore begins at the offset where the previous run ended. It does not begin at the first
record of its own span.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dagster_smt.model.windows.offsets import TopicPartition

EVER = 2**63 - 1
"""The end of a time span that has no end. A time span without a beginning begins at the negative of this number."""


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
    """Returns ``spans`` with the span ``new`` added. Spans that touch or overlap are joined: 10 to 20 and 20 to 30
    become 10 to 30. The joined span gets its end offset from the span that ends last. If both spans end at the same
    time, it gets the end offset of ``new``.
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
    """Returns the end offset of the span that begins before the time ``since``, and ends at or after this time. A run
    whose own span begins at ``since`` starts to read at this offset. Returns None if there is no such span.
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
