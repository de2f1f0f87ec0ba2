"""Prints the summary at the end of the demo. All numbers come from the metadata that the runs stored in Dagster."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

ACTIONS = ("masked", "dropped", "renamed", "cast", "added", "routed")
COUNTS = ("records_in", "records_out", "records_dropped", "records_dead_lettered")


@dataclass
class AssetSummary:
    """A summary of an asset's materializations in one run of the demo. Each number is the sum over all partitions."""

    key: str
    partitions: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    touched: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    changes: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def add(self, event: dg.AssetMaterialization) -> None:
        """Adds the numbers of a materialization to the summary."""
        self.partitions += event.partition is not None
        for name in COUNTS:
            self.counts[name] += _value(event.metadata, f"dagster_smt/{name}") or 0
        for row in _rows(event.metadata, "dagster_smt/ledger"):
            name = f"{row['path']} -> {row['target']}" if row["target"] else str(row["path"])
            self.touched[str(row["action"]), str(row["stage"]), name] += int(row["records"] or 0)
        for row in _rows(event.metadata, "dagster_smt/schema_diff"):
            self.changes[str(row["change"]), str(row["field"]), str(row["before"]), str(row["after"])] += 1

    def fields(self, action: str) -> int:
        """Returns the number of fields that ``action``, such as ``masked``, changed in at least one record."""
        number = 0
        for (a, _, _), records in self.touched.items():
            if a == action and records:
                number += 1
        return number


def _value(metadata: Mapping[str, dg.MetadataValue], name: str) -> Any:
    return metadata[name].value if name in metadata else None


def _rows(metadata: Mapping[str, dg.MetadataValue], name: str) -> list[Mapping[str, Any]]:
    table = metadata.get(name)
    return [record.data for record in table.records] if isinstance(table, dg.TableMetadataValue) else []


def summaries(events: Iterable[dg.AssetMaterialization]) -> list[AssetSummary]:
    """Returns a summary of each asset in ``events``, in order of appearance."""
    assets: dict[str, AssetSummary] = {}
    for event in events:
        key = event.asset_key.to_user_string()
        assets.setdefault(key, AssetSummary(key)).add(event)
    return list(assets.values())


def overview(assets: Sequence[AssetSummary]) -> str:
    """Returns a table with a line for each asset of ``assets``."""
    head = ("asset", "partitions", "in", "out", "dropped", "dead letters", *(f"fields {a}" for a in ACTIONS))
    rows = []
    for s in assets:
        counts = [s.counts[c] for c in COUNTS]
        rows.append((s.key, s.partitions or "-", *counts, *map(s.fields, ACTIONS)))
    return grid(head, rows)


def details(summary: AssetSummary) -> str:
    """Returns the text about one asset. A table lists the changed fields, each with the stage and the number of
    records. If the schema has changed, a second table lists the changes of the schema.
    """
    touched = []
    for (a, stage, name), n in summary.touched.items():
        if n:
            touched.append((a, stage, name, n))
    silent = len(summary.touched) - len(touched)
    lines = [f"{summary.key}: what the stages did", grid(("action", "stage", "field", "records"), touched)]
    if silent:
        lines.append(f"({silent} configured fields occur in no record of this run)")
    if summary.changes:
        rows = [(change, name, before, after) for change, name, before, after in summary.changes]
        lines += [
            "",
            f"{summary.key}: the schema, before and after",
            grid(("change", "field", "before", "after"), rows),
        ]
    return "\n".join(lines)


def grid(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns ``head`` and ``rows`` as text in columns, with numbers aligned to the right."""
    texts = []
    for row in (head, *rows):
        texts.append(list(map(str, row)))
    widths = []
    for column in zip(*texts, strict=True):
        widths.append(max(map(len, column)))
    numeric = []
    for i in range(len(head)):
        numeric.append(all(isinstance(row[i], int) or row[i] == "-" for row in rows))
    lines = []
    for row in texts:
        cells = []
        for t, w, n in zip(row, widths, numeric, strict=True):
            cells.append(t.rjust(w) if n else t.ljust(w))
        lines.append("  ".join(cells).rstrip())
    rule = "  ".join("-" * width for width in widths)
    indented = []
    for line in (lines[0], rule, *lines[1:]):
        indented.append("  " + line)
    return "\n".join(indented)
