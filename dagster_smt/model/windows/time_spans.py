"""Spans of time that runs by time have read of a topic's partition, and the offset that each of them reached.

A record can come late: with a timestamp of a span that was read before. The run of the following span has to take it
in, so it begins where the former one ended, not at the first record of its own time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dagster_smt.model.windows.offsets import TopicPartition

EVER = 2**63 - 1
"""Stands for no end; its negative for no beginning."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Milliseconds ``since`` (included) to ``until`` (excluded), read up to the offset ``end``."""

    since: int
    until: int
    end: int


Spans = tuple[Span, ...]
"""Sorted spans that do not touch."""


def with_span(spans: Spans, new: Span) -> Spans:
    """The spans with one more, which may touch others or lie over them; where the later one ended counts."""
    merged: list[Span] = []
    for span in sorted((*spans, new)):
        if merged and span.since <= merged[-1].until:
            merged[-1] = _joined(merged[-1], span, new)
        else:
            merged.append(span)
    return tuple(merged)


def _joined(one: Span, other: Span, new: Span) -> Span:
    if one.until == other.until:  # the last span once more: what it reached this time
        end = new.end
    else:
        end = max(one, other, key=lambda span: span.until).end
    return Span(min(one.since, other.since), max(one.until, other.until), end)


def reached(spans: Spans, since: int) -> int | None:
    """The offset up to which the time right before ``since`` was read; None if it was not."""
    ends = []
    for span in spans:
        if span.since < since <= span.until:
            ends.append(span.end)
    if ends:
        return ends[0]
    return None


def spans_to_json(spans: Mapping[TopicPartition, Spans]) -> dict[str, dict[str, list[list[int]]]]:
    """``{topic: {partition: [[since, until, end], …]}}``"""
    found: dict[str, dict[str, list[list[int]]]] = {}
    for (topic, partition), of_place in sorted(spans.items()):
        found.setdefault(topic, {})[str(partition)] = [[s.since, s.until, s.end] for s in of_place]
    return found


def spans_from_json(data: Mapping[str, Mapping[str, list[list[int]]]]) -> dict[TopicPartition, Spans]:
    """Read what ``spans_to_json`` wrote."""
    results = {}
    for topic, parts in data.items():
        for partition, spans in parts.items():
            results[(topic, int(partition))] = tuple(Span(*numbers) for numbers in spans)
    return results
