"""What a run says of itself: the ledger, the counts, the schema diff. All metadata is made from a ``RunReport``."""

from dataclasses import dataclass, field

from dagster_smt.errors import Problem
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.window import Window

ACTIONS = ("added", "dropped", "renamed", "cast", "masked", "extracted", "routed")


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One thing a stage may do to a record, numbered by its position in the plan.

    Attributes:
        stage: Index of the stage.
        alias: Alias of the stage.
        action: One of ``ACTIONS``.
        path: The configured path or name, in the user's spelling.
        side: ``key``, ``value``, ``headers`` or ``topic``.
        target: For ``renamed`` and ``cast``: the new name or type.
        matched: The fields that a path with patterns matches, where the schema is known when planning.
    """

    stage: int
    alias: str
    action: str
    path: str
    side: str = "value"
    target: str = ""
    matched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """How many records a ledger entry touched."""

    entry: LedgerEntry
    records: int


@dataclass(frozen=True, slots=True)
class StageCounts:
    """Records that reached a stage, and what became of them there."""

    alias: str
    transform: str
    records_in: int
    dropped: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One line of a schema diff. ``before`` or ``after`` is empty for an added or removed field."""

    field: str
    change: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Reject:
    """Where a record failed and why; never what was in it.

    ``stage`` is the alias of the stage, or ``key.converter`` / ``value.converter``.
    """

    topic: str
    partition: int
    offset: int
    stage: str
    problem: Problem


@dataclass(slots=True)
class RunReport:
    """One run over one window.

    Attributes:
        name: Name of the run's asset or op.
        window: The offsets read.
        records_in, records_out, dropped, failed: Counts; ``failed`` are dead letters under ``errors.tolerance=all``.
        stages: Counts per stage, in order.
        ledger: Counts per (stage, path).
        before, after: Value schema before and after the chain; ``None`` if schemaless.
        lineage: Output column (dotted path) to the input fields it comes from; empty if schemaless.
        masked: Output columns whose value a MaskField stage replaced.
        rejects: The first few rejects.
        files: Data files committed, relative to the sink's root.
        bytes: Their size.
        seconds: Wall time per phase.
        status: ``committed``, ``empty`` (nothing new), or ``already committed``.
        warnings: Problems that did not stop the run, such as a mask that touched nothing.
    """

    name: str
    window: Window
    records_in: int = 0
    records_out: int = 0
    dropped: int = 0
    failed: int = 0
    stages: list[StageCounts] = field(default_factory=list)
    ledger: list[LedgerLine] = field(default_factory=list)
    before: Schema | None = None
    after: Schema | None = None
    lineage: dict[str, tuple[str, ...]] = field(default_factory=dict)
    masked: tuple[str, ...] = ()
    rejects: list[Reject] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    status: str = "committed"
    warnings: list[Problem] = field(default_factory=list)

    def touched(self, action: str) -> dict[str, int]:
        """Records touched per path, for one action, over all stages."""
        found: dict[str, int] = {}
        for line in self.ledger:
            if line.entry.action == action:
                found[line.entry.path] = found.get(line.entry.path, 0) + line.records
        return found


def leaf_labels(schema: Schema | None, prefix: str = "") -> dict[str, str]:
    """Dotted path to type label, for every field of a schema that is not a struct itself."""
    if schema is None:
        return {}
    if schema.type is not Type.STRUCT:
        return {prefix or "(whole)": schema.label}
    found: dict[str, str] = {}
    for name, child in schema.fields:
        found.update(leaf_labels(child, f"{prefix}.{name}" if prefix else name))
    return found


def schema_diff(before: Schema | None, after: Schema | None) -> list[FieldChange]:
    """Compare two schemas field by field: removed, changed, then added."""
    old, new = leaf_labels(before), leaf_labels(after)
    changes = [FieldChange(p, "removed", old[p]) for p in old if p not in new]
    changes += [FieldChange(p, "changed", old[p], new[p]) for p in old if p in new and old[p] != new[p]]
    return changes + [FieldChange(p, "added", "", new[p]) for p in new if p not in old]
