"""What the demo prints at the end: made from the metadata that Dagster got, nothing else."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

ACTIONS = ("masked", "dropped", "renamed", "cast", "added", "routed")
COUNTS = ("records_in", "records_out", "records_dropped", "records_dead_lettered")


@dataclass
class AssetSummary:
    """An asset's materializations of one run, added up over its partitions."""

    key: str
    partitions: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    touched: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    changes: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def add(self, event: dg.AssetMaterialization) -> None:
        """Add one materialization."""
        self.partitions += event.partition is not None
        for name in COUNTS:
            self.counts[name] += _value(event.metadata, f"dagster_smt/{name}") or 0
        for row in _rows(event.metadata, "dagster_smt/ledger"):
            name = f"{row['path']} -> {row['target']}" if row["target"] else str(row["path"])
            self.touched[str(row["action"]), str(row["stage"]), name] += int(row["records"] or 0)
        for row in _rows(event.metadata, "dagster_smt/schema_diff"):
            self.changes[str(row["change"]), str(row["field"]), str(row["before"]), str(row["after"])] += 1

    def fields(self, action: str) -> int:
        """How many fields an action touched in at least one record."""
        return sum(1 for (a, _, _), records in self.touched.items() if a == action and records)


def _value(metadata: Mapping[str, dg.MetadataValue], name: str) -> Any:
    return metadata[name].value if name in metadata else None


def _rows(metadata: Mapping[str, dg.MetadataValue], name: str) -> list[Mapping[str, Any]]:
    found = metadata.get(name)
    return [record.data for record in found.records] if isinstance(found, dg.TableMetadataValue) else []


def summaries(events: Iterable[dg.AssetMaterialization]) -> list[AssetSummary]:
    """One summary per asset, in order of appearance."""
    found: dict[str, AssetSummary] = {}
    for event in events:
        key = event.asset_key.to_user_string()
        found.setdefault(key, AssetSummary(key)).add(event)
    return list(found.values())


def overview(found: Sequence[AssetSummary]) -> str:
    """One line per asset."""
    head = ("asset", "partitions", "in", "out", "dropped", "dead letters", *(f"fields {a}" for a in ACTIONS))
    rows = []
    for s in found:
        counts = [s.counts[c] for c in COUNTS]
        rows.append((s.key, s.partitions or "-", *counts, *map(s.fields, ACTIONS)))
    return grid(head, rows)


def details(summary: AssetSummary) -> str:
    """What each stage did to which field, in how many records, and what that changed of the schema."""
    touched = [(a, stage, name, n) for (a, stage, name), n in summary.touched.items() if n]
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
    """A table of text; numbers to the right."""
    texts = [list(map(str, row)) for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    numeric = []
    for i in range(len(head)):
        numeric.append(all(isinstance(row[i], int) or row[i] == "-" for row in rows))
    lines = []
    for row in texts:
        cells = [t.rjust(w) if n else t.ljust(w) for t, w, n in zip(row, widths, numeric, strict=True)]
        lines.append("  ".join(cells).rstrip())
    rule = "  ".join("-" * width for width in widths)
    return "\n".join("  " + line for line in (lines[0], rule, *lines[1:]))
