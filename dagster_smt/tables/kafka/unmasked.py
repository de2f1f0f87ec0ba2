"""Stores the list of unmasked records: the offsets of records that a mask, drop or rename did not touch. The list is in
the metadata strings next to the offsets that a consumer group commits.

A metadata string has little space. If the list is too long, ranges of offsets are joined: ``[10, 20)`` and ``[50, 60)``
become ``[10, 60)``.
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
"""The largest size of the full list of unmasked records, in bytes of JSON. A longer list is merged into one entry."""
_ENTRIES, _JOINED, _RANGE, _ACCEPTED = "um", "uj", "ur", "ua"


def texts_of(state: TableState, places: list[Place]) -> dict[Place, dict[str, Any]]:
    """Returns the parts of the metadata strings that store the unmasked records in ``state``. These are the records
    that a mask, drop or rename did not touch. The result maps a topic-partition to a dict, which becomes a part of its
    metadata string.

    Usually, the first partition stores the whole list. The list has an entry for each mask, drop or rename, and each
    entry has one range of offsets per partition. If the list is too long, its entries are merged into one, and each
    partition stores only its own range.

    The first partition also stores the latest note that a user has accepted unmasked records.
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
    """Reads the unmasked records from ``texts``, the metadata that ``texts_of`` has returned. Unmasked records are
    records that a mask, drop or rename did not touch.
    """
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
    """Reads the latest note that a user has accepted unmasked records. Unmasked records are records that a mask, drop
    or rename did not touch. The result is empty if there is no such note.

    Args:
        texts: The metadata that ``texts_of`` has returned.
    """
    noted = (text[_ACCEPTED] for text in texts.values() if _ACCEPTED in text)
    accepted = []
    for run, reason, paths, records in noted:
        accepted.append(Accepted(run, reason, tuple(paths), records))
    return tuple(accepted)
