"""Stores the list of records that a mask, drop or rename did not touch. The list is in the metadata of the offsets that
a consumer group commits. This metadata has little space. If the list is too long, its ranges are joined.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dagster_smt.model.reports.unmasked import SEVERAL, Accepted, Unmasked, offsets_on_record
from dagster_smt.model.topics.state import TableState
from dagster_smt.model.windows.offsets import OffsetSet
from dagster_smt.tables.kafka.client import Place

ROOM = 1500
"""The number of bytes that the metadata of the first commit may use to list unmasked records entry by entry."""
_ENTRIES, _JOINED, _RANGE, _ACCEPTED = "um", "uj", "ur", "ua"


def texts_of(state: TableState, places: list[Place]) -> dict[Place, dict[str, Any]]:
    """Distributes the list of unmasked records in ``state`` over the committed offsets of the partitions in
    ``places``, as their metadata. Returns the metadata by partition.

    The first partition gets the whole list, in which each entry has one range per partition. If this list is too long,
    all entries are merged into one. The first partition then gets this entry without its ranges, and each partition
    gets its own range.
    """
    if not places or not (state.unmasked or state.accepted):
        return {}
    first: dict[str, Any] = {}
    texts: dict[Place, dict[str, Any]] = {places[0]: first}
    if state.accepted:
        last = state.accepted[-1]
        first[_ACCEPTED] = [last.run, last.reason[:200], [path[:50] for path in last.paths[:3]], last.records]
    entries = []
    for one in state.unmasked:
        entries.append(replace(one, runs=one.runs[-1:], offsets=one.offsets.coarse(1)).to_json())
    if len(json.dumps(entries)) <= ROOM:
        return texts | ({places[0]: {**first, _ENTRIES: entries}} if entries else {})
    masked = any(one.action == "masked" for one in state.unmasked)
    first[_JOINED] = ["masked" if masked else "dropped", any(one.left_out for one in state.unmasked)]
    joined = offsets_on_record(state.unmasked).coarse(1)
    for place in places:
        intervals = joined.of(*place)
        if intervals:
            texts.setdefault(place, {})[_RANGE] = intervals[0]
    return texts


def unmasked_in(texts: Mapping[Place, Mapping[str, Any]]) -> tuple[Unmasked, ...]:
    """Returns the unmasked records that ``texts_of`` has stored in ``texts``."""
    entries: list[Unmasked] = []
    joined: list[Any] = []
    for text in texts.values():
        entries += map(Unmasked.from_json, text.get(_ENTRIES, ()))
        joined = text.get(_JOINED, joined)
    if joined:
        action, left_out = joined
        spans = {}
        for place, text in texts.items():
            if _RANGE in text:
                spans[place] = (tuple(text[_RANGE]),)
        offsets = OffsetSet(spans)
        entries.append(Unmasked("", SEVERAL, action, "value", SEVERAL, left_out, offsets=offsets))
    return tuple(entries)


def accepted_in(texts: Mapping[Place, Mapping[str, Any]]) -> tuple[Accepted, ...]:
    """Returns the latest note that a user has accepted unmasked records, as ``texts_of`` has stored it in ``texts``.
    The result is empty if there is no such note.
    """
    noted = (text[_ACCEPTED] for text in texts.values() if _ACCEPTED in text)
    accepted = []
    for run, reason, paths, records in noted:
        accepted.append(Accepted(run, reason, tuple(paths), records))
    return tuple(accepted)
