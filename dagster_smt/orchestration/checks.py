"""Asset checks of a table: what every run is held to. Each has a result in each run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg

from dagster_smt.authoring.mask_exception import MaskException
from dagster_smt.chain import Chain
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.reports.run_report import MISMATCHED, LedgerEntry, RunReport, TopicCounts, silent_lines
from dagster_smt.model.reports.unmasked import Unmasked
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.columns import Row
from dagster_smt.model.topics.keyed import TableMode
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.orchestration.metadata.table_values import problem_table, table
from dagster_smt.tables.ddl import parse_ddl
from dagster_smt.tables.spec import Sink, TableSink
from dagster_smt.visible import visible

if TYPE_CHECKING:
    from dagster_smt.run.facts import TableFacts
    from dagster_smt.tables.maintenance.steps import FileSizes

Severity = Literal["WARN", "ERROR"]
_DEAD_COLUMNS = {
    **dict.fromkeys(("stage", "action", "side", "path"), "string"),
    "offsets": "int",
    **dict.fromkeys(("ranges", "runs", "why"), "string"),
}
REPAIR_HINT = "mend the chain, then launch the repair job: docs/repair.md"
_RESIDUE_COLUMNS = {"masked": "string", "also in": "string", "records": "int"}
_BROKEN_COLUMNS = {"column": "string", "problem": "string", "read by": "string"}
_DIFFERING_COLUMNS = {"column": "string", "records": "int"}
SMALL_FILES = "small_files"
DEFAULT_SMALL_FILES = 0.5
"""The share of small files from which on a maintenance job warns, unless the checks of the table name another one."""
MANY_FILES = 50
"""A table with fewer files has too few for a share of small ones to matter."""
_MOST_ROWS = 200
_NAMED = 5


@dataclass(frozen=True)
class SmtChecks:
    """The checks of a table, and the severity of failures.

    Attributes:
        off: Names of checks to leave out.
        blocking: Names of checks whose failure keeps the assets downstream from running in the same run.
        severity: ``WARN`` or ``ERROR`` by the name of a check, instead of the check's own severity. Dead letters (up to
            ``failed_share``), gaps, lag, masked values in other fields and differing keys warn; the other checks are
            errors. ``dead_mask`` is an error for masks, and for stages that a run's chain omitted; it warns for drops
            and renames.
        failed_share: The share of failed records, of a run or of one topic, from which on dead letters are an error;
            1.0: only if all records failed.
        max_lag: Limit of the offsets that are unread after a run; None: no such check.
        contract: Columns that readers of the table rely on, as a DDL text (``id BIGINT NOT NULL, name STRING``). The
            table may have more columns. None: no such check.
        max_small_files: The share of small files from which on ``small_files`` warns, such as 0.5, in a table with at
            least 50 files. None: no such check in runs; maintenance jobs report the check in any case.
        small_file_mb: A file below this size, in megabytes, is small.

    Raises:
        ConfigError: SMT036, there is no check of a name; SMT307, ``failed_share`` or ``max_small_files`` is no
            share; or what is wrong with the contract.
    """

    off: Sequence[str] = ()
    blocking: Sequence[str] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    max_lag: int | None = None
    contract: str | None = None
    failed_share: float = 1.0
    max_small_files: float | None = None
    small_file_mb: float = 16.0

    def __post_init__(self) -> None:
        for name in ("failed_share", "max_small_files"):
            share = getattr(self, name)
            if share is not None and not 0 < share <= 1:
                hint = f"write 0.5 for half of the {'files' if name == 'max_small_files' else 'records'}"
                statement = "a share is above 0 and at most 1"
                raise ConfigError(Problem("SMT307", f"checks.{name}", statement, hint))
        if self.contract is not None:
            parse_ddl(self.contract, place="checks.contract")
        known = tuple(CHECKS)
        unknown = []
        for a in ("off", "blocking", "severity"):
            for n in getattr(self, a):
                if n not in known:
                    unknown.append((a, n))
        if unknown:
            hint = f"there are: {', '.join(known)}"
            raise ConfigError(Problem("SMT036", f"checks.{a}", f"there is no check '{n}'", hint) for a, n in unknown)

    @property
    def small_file_bytes(self) -> int:
        """The size below which a file is small."""
        return int(self.small_file_mb * 2**20)


@dataclass(frozen=True)
class Evidence:
    """What checks look at: the report of a run, and what holds of the table after it."""

    report: RunReport
    facts: "TableFacts"
    max_lag: int = 0
    mask_exceptions: Sequence[MaskException] = ()
    failed_share: float = 1.0
    readers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Columns of other assets that come from a column of this one, as their lineage says."""
    checks: SmtChecks = field(default_factory=SmtChecks)
    """The limits of the table."""


@dataclass(frozen=True)
class Judged:
    """What a check says.

    Attributes:
        passed: Whether it holds.
        statement: One sentence.
        metadata: Counts, offsets and names; never the value of a field.
        severity: Of a failure, unless the table's ``SmtChecks`` say otherwise.
    """

    passed: bool
    statement: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "ERROR"


def no_dead_letters(found: Evidence) -> Judged:
    """No record of the run failed in the chain."""
    report = found.report
    failed = report.failed_records
    if failed:
        statement = f"{failed} of {report.records_in} records failed"
    else:
        statement = "no record failed"
    codes = sorted({reject.problem.code for reject in report.rejects})
    severity: Severity = "WARN"
    if failed >= found.failed_share * report.records_in:
        severity = "ERROR"
    elif bad := [topic for topic, counts in report.topics.items() if _mostly_failed(counts, found.failed_share)]:
        severity = "ERROR"
        statement += f"; of {', '.join(bad[:_NAMED])} {found.failed_share:.0%} or more"
    metadata: dict[str, Any] = {"dead_letters": failed, "codes": codes}
    if report.unwritten:
        severity = "ERROR"
        statement += f"; {sum(r.records for r in report.unwritten)} dead letters could not be written"
        metadata["not_written"] = offsets_of(report.unwritten).to_json()
    return Judged(not failed, statement, metadata, severity)


def _mostly_failed(counts: TopicCounts, share: float) -> bool:
    return counts.failed_records > 0 and counts.failed_records >= share * counts.records


def offsets_contiguous(found: Evidence) -> Judged:
    """The table has taken in every offset from its first one on; nothing was left out for good."""
    gaps, holes = found.facts.gaps, found.facts.holes
    left_out, between = _offsets_in(gaps), _offsets_in(holes)
    parts = [f"{left_out} offsets were left out for good"] if left_out else []
    if between:
        parts.append(f"{between} offsets between those that the table holds are not read yet")
    statement = "; ".join(parts) or "no offset was left out"
    return Judged(not parts, statement, {"gaps": dict(gaps), "holes": dict(holes)}, "WARN")


def _offsets_in(ranges: Mapping[str, Mapping[str, list[list[int]]]]) -> int:
    return sum(end - start for parts in ranges.values() for spans in parts.values() for start, end in spans)


def rows_match_offsets(found: Evidence) -> Judged:
    """The rows that are in the table are those that its commits took in; and a run's records all went somewhere."""
    report, rows, counted = found.report, found.facts.rows, found.facts.counted
    accounted = report.records_out + report.dropped + report.failed
    metadata = {"records_in": report.records_in, "accounted_for": accounted, "rows_committed": rows}
    if report.rows_in == report.records_in:
        what = "records"
    else:
        what = "rows of records"
    if report.rows_in != report.records_in:
        metadata["rows_in"] = report.rows_in
    if accounted != report.rows_in:
        return Judged(False, f"{report.rows_in} {what} were read, {accounted} are accounted for", metadata)
    written = report.rows_written
    if written is not None and written != report.records_out:
        metadata["rows_written"] = written
        statement = f"the commit added {written} rows, {report.records_out} were counted before"
        return Judged(False, statement, metadata)
    if counted is None:
        return Judged(True, f"all {accounted} {what} are accounted for; rows were not counted", metadata)
    metadata["rows_counted"] = counted
    if counted != rows:
        return Judged(False, _by_others(found, counted, rows), metadata | {"commits": list(found.facts.foreign)})
    return Judged(True, f"the table has the {rows} {_ROWS_OF[found.facts.mode]} that its commits took in", metadata)


_ROWS_OF: Mapping[TableMode, str] = {"append": "rows", "upsert": "keys", "scd2": "versions of keys"}
"""The rows of a table, by its mode."""


def keys_unique(found: Evidence) -> Judged:
    """The table has one row for each key, or one current version."""
    facts = found.facts
    what = "current version" if facts.mode == "scd2" else "row"
    if facts.repeated_keys is None:
        return Judged(True, "nothing was written, so keys were not counted")
    if not facts.repeated_keys:
        return Judged(True, f"every key has one {what}", {"repeated_keys": 0})
    statement = f"{facts.repeated_keys} keys have more than one {what}; launch once with window.rebuild: true"
    return Judged(False, statement, {"repeated_keys": facts.repeated_keys, "commits": list(facts.foreign)})


def _by_others(found: Evidence, counted: int, rows: int) -> str:
    statement = f"the table has {counted} {_ROWS_OF[found.facts.mode]}, its commits took in {rows}"
    commits = found.facts.foreign
    if not commits:
        return statement
    more = f" and {len(commits) - 3} more" if len(commits) > 3 else ""
    settle = "if that was meant, launch once with window.settle: true"
    return f"{statement}; others have committed: {', '.join(commits[:3])}{more}; {settle}"


def schema_matches_plan(found: Evidence) -> Judged:
    """The table has every column that the chain makes, with its type."""
    problems = found.facts.schema_problems
    if problems:
        statement = f"{len(problems)} columns differ from the plan"
    else:
        statement = "every planned column is there"
    return Judged(not problems, statement, dict(problems))


def dead_mask(found: Evidence) -> Judged:
    """Every mask, drop and rename touches records, and the table holds none that one left as they were."""
    silent = silent_lines(found.report.ledger, found.report.stages)
    on_record = found.facts.unmasked
    if not silent and not on_record:
        return Judged(True, _alive(found), _accepted(found))
    kept = {(one.stage, one.action, one.side, one.path) for one in on_record}
    entries = [line.entry for line in silent]
    unkept = [e for e in entries if (e.alias, e.action, e.side, e.path) not in kept]  # a state has no room for all
    rows = [_on_record(one) for one in on_record]
    rows += [{**_NO_RECORD, "stage": e.alias, "action": e.action, "side": e.side, "path": e.path} for e in unkept]
    hints = []
    for p in found.report.warnings:
        if p.code in ("SMT303", "SMT350") and p.hint:
            hints.append(p.hint)
    metadata = {
        "untouched": table(rows[:_MOST_ROWS], _DEAD_COLUMNS),
        "hints": [*dict.fromkeys(hints), REPAIR_HINT],
        **_accepted(found),
    }
    actions = {one.action for one in on_record} | {entry.action for entry in entries}
    severity: Severity = "ERROR" if "masked" in actions or _left_out(found) else "WARN"
    return Judged(False, "; ".join(_dead_texts(found, entries)), metadata, severity)


def _left_out(found: Evidence) -> bool:
    return any(one.left_out for one in found.facts.unmasked)


def _alive(found: Evidence) -> str:
    """What a run has seen of its masks, drops and renames, none of which is dead."""
    report = found.report
    if not report.records_in:
        return "nothing was read"
    relied_on = []
    for line in report.ledger:
        if line.entry.relied_on:
            relied_on.append(line.entry)
    unseen = []
    for entry in relied_on:
        if not report.stages[entry.stage].seen:
            unseen.append(entry)
    if not unseen:
        return "every mask, drop and rename touched records"
    if len(unseen) == len(relied_on):
        return "no record came through a mask, drop or rename: nothing is known of them"
    named = ", ".join(f"{entry.path} ({entry.alias})" for entry in unseen[:_NAMED])
    return f"every mask, drop and rename that records came through touched some; none came through {named}"


def _dead_texts(found: Evidence, entries: Sequence[LedgerEntry]) -> Iterator[str]:
    """What is dead in this run, and what the table still holds of it and of others."""
    if entries:
        named = ", ".join(f"{entry.path} ({entry.alias})" for entry in entries[:_NAMED])
        yield f"touched nothing although records reached it: {named}"
    for one in found.facts.unmasked[:_NAMED]:
        why = "was not in the run's chain" if one.left_out else "touched nothing"
        runs = f", written by {', '.join(one.runs[-_NAMED:])}" if one.runs else ""
        ranges = list(one.offsets.ranges())
        if len(ranges) > _NAMED:
            more = f" and {len(ranges) - _NAMED} more ranges"
        else:
            more = ""
        places = ", ".join(f"{r.topic}-{r.partition} [{r.start}, {r.end})" for r in ranges[:_NAMED])
        yield f"on record: {one.path} ({one.stage}) {why} in {places}{more}{runs}"


def _on_record(one: Unmasked) -> dict[str, Any]:
    ranges = [f"{r.topic}-{r.partition} [{r.start}, {r.end})" for r in one.offsets.ranges()]
    return {
        "stage": one.stage,
        "action": one.action,
        "side": one.side,
        "path": one.path,
        "offsets": one.offsets.records,
        "ranges": ", ".join(ranges[:_MOST_ROWS]),
        "runs": ", ".join(one.runs),
        "why": "not in the run's chain" if one.left_out else "touched nothing",
    }


_NO_RECORD = {"offsets": 0, "ranges": "", "runs": "", "why": "touched nothing"}


def _accepted(found: Evidence) -> dict[str, Any]:
    if not found.facts.accepted:
        return {}
    rows = []
    for a in found.facts.accepted:
        rows.append({"run": a.run, "reason": a.reason, "paths": ", ".join(a.paths), "offsets": a.records})
    return {"accepted": table(rows, {"run": "string", "reason": "string", "paths": "string", "offsets": "int"})}


def masked_values(found: Evidence) -> Judged:
    """No value that a mask took away is in another field, the key, a header or the topic of the same record."""
    sampled, excepted, hits = found.facts.sampled, set[str](), dict[tuple[str, str], int]()
    for (masked, place), records in found.facts.residue.items():
        reason = next((e.reason for e in found.mask_exceptions if e.covers(place)), None)
        if reason is None:
            hits[masked, place] = records
        else:
            excepted.add(f"{place}: {reason}")
    metadata: dict[str, Any] = {"sampled": sampled, **({"excepted": sorted(excepted)} if excepted else {})}
    if not hits:
        if excepted:
            but = f" but for {len(excepted)} fields that the chain excepts"
        else:
            but = ""
        return Judged(True, f"in a sample of {sampled} records no masked value is elsewhere{but}", metadata)
    rows = [{"masked": m, "also in": p, "records": n} for (m, p), n in sorted(hits.items(), key=lambda h: -h[1])]
    metadata |= {"found": table(rows[:_MOST_ROWS], _RESIDUE_COLUMNS), "pairs": len(rows)}
    named = ", ".join(f"{p} (of {m})" for m, p in sorted(hits)[:5])
    statement = f"values that masks hide are also in {named}; mask or drop those, or name them in mask.exceptions"
    return Judged(False, statement, metadata, "WARN")


def key_matches_value(found: Evidence) -> Judged:
    """The key and the value of every record say the same of the columns that both hold."""
    lines = []
    for line in found.report.ledger:
        if line.entry.action == MISMATCHED:
            lines.append(line)
    rows = []
    for line in lines:
        if line.records:
            rows.append({"column": line.entry.path, "records": line.records})
    metadata: dict[str, Any] = {"columns": [line.entry.path for line in lines]}
    if not rows:
        return Judged(True, "key and value say the same of every column that both hold", metadata)
    named = ", ".join(f"{row['column']} ({row['records']} records)" for row in rows)
    statement = f"key and value differ in {named}; the value's was taken"
    metadata["differing"] = table(rows, _DIFFERING_COLUMNS)
    return Judged(False, statement, metadata, "WARN")


def lag(found: Evidence) -> Judged:
    """The topics hold no more new offsets than allowed."""
    behind = sum(found.facts.lag.values())
    metadata = {"lag": behind, "lag_by_topic": {t: n for t, n in found.facts.lag.items() if n}}
    return Judged(behind <= found.max_lag, f"{behind} offsets are not read yet", metadata, "WARN")


def contract(found: Evidence) -> Judged:
    """The table has the columns that are promised to those who read it."""
    broken = found.facts.broken
    if not broken:
        return Judged(True, "every promised column is there")
    used: dict[str, list[str]] = {}
    for p in broken:
        used[p] = sorted(reader for c, readers in found.readers.items() if _related(c, p) for reader in readers)
    rows = [{"column": p, "problem": what, "read by": ", ".join(used[p])} for p, what in broken.items()]
    named = "; ".join(f"{p}: {what}" for p, what in list(broken.items())[:5])
    return Judged(False, f"the contract is broken: {named}", {"broken": table(rows[:_MOST_ROWS], _BROKEN_COLUMNS)})


def small_files(found: Evidence) -> Judged:
    """Most files of the table are large: many small ones make queries slow."""
    sizes = found.facts.files
    if sizes is None:
        return Judged(True, "the table has no files yet")
    return small_files_of(sizes, found.checks)


def small_files_of(sizes: "FileSizes", checks: SmtChecks, *, compacted: bool = False) -> Judged:
    """Judges the files of a table.

    Args:
        sizes: The files.
        checks: The limits of the table.
        compacted: True if a compaction has just ended.
    """
    share = sizes.small / sizes.files if sizes.files else 0.0
    metadata = {"files": sizes.files, "small_files": sizes.small, "bytes": sizes.bytes, "share": round(share, 3)}
    counts = f"{sizes.small} of {sizes.files} files are smaller than {checks.small_file_mb:g} MB"
    limit = DEFAULT_SMALL_FILES if checks.max_small_files is None else checks.max_small_files
    if sizes.files < MANY_FILES or share < limit:
        return Judged(True, counts, metadata)
    if compacted:
        remedy = "compaction leaves a file for each partition: partition the table by fewer values"
    else:
        remedy = "launch the maintenance job, which compacts them: docs/how-to/upkeep.md"
    return Judged(False, f"{counts}; {remedy}", metadata, "WARN")


def _related(one: str, other: str) -> bool:
    """Whether one of two paths is the other, or a part of it."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


CHECKS: dict[str, Callable[[Evidence], Judged]] = {
    check.__name__: check
    for check in (
        no_dead_letters,
        offsets_contiguous,
        rows_match_offsets,
        keys_unique,
        schema_matches_plan,
        dead_mask,
        masked_values,
        key_matches_value,
        lag,
        contract,
        small_files,
    )
}


NEEDED: dict[str, tuple[str, ...]] = {
    "offsets_contiguous": ("state", "topics"),
    "rows_match_offsets": ("state", "rows"),
    "keys_unique": ("columns", "keys"),
    "schema_matches_plan": ("columns",),
    "dead_mask": ("state",),
    "masked_values": ("sample",),
    "lag": ("state", "topics"),
    "contract": ("columns", "contract"),
    "small_files": ("files",),
    "no_dead_letters": (),
    "key_matches_value": (),
}
"""What a check needs to have been looked at after a run: see ``TableFacts.unseen``."""


def judged(name: str, found: Evidence) -> Judged:
    """What a check says; that it does not know, if what it looks at could not be had."""
    unseen = []
    for what in NEEDED.get(name, ()):
        if what in found.facts.unseen:
            unseen.append(found.facts.unseen[what])
    if unseen:
        statement = f"not known: {unseen[0].code} {unseen[0].place}: {unseen[0].statement}"
        return Judged(False, statement, {"problems": problem_table(unseen)}, "WARN")
    try:
        return CHECKS[name](found)
    except Exception as error:  # noqa: BLE001 - the run is committed, whatever is wrong with a check
        return Judged(False, f"not known: the check failed with {type(error).__name__}", {}, "WARN")


def checks_of(checks: SmtChecks, chain: Chain, sink: Sink, row: Row | None = None) -> list[str]:
    """The names of the checks that a table has. ``row``: what its topic table declares."""
    names = [name for name in CHECKS if name not in checks.off]
    compared = row is not None and row.verify_integrity == "check"
    asked = {
        "lag": checks.max_lag is not None,
        "contract": checks.contract is not None,
        "key_matches_value": compared,
        "small_files": checks.max_small_files is not None,
    }
    results = []
    for n in names:
        if asked.get(n, True) and _applies(n, chain, sink):
            results.append(n)
    return results


def contract_of(checks: SmtChecks, sink: Sink, name: str) -> Schema | None:
    """The contract of a table.

    Raises:
        ConfigError: SMT044, the sink has no columns of its own to promise.
    """
    if checks.contract is not None and sink.kind != "columns":
        hint = "write columns, or leave the contract out"
        raise ConfigError(Problem("SMT044", f"{name} checks.contract", "records have Kafka's columns only", hint))
    if checks.contract is not None:
        return parse_ddl(checks.contract, place=f"{name} checks.contract")
    return None


def _applies(name: str, chain: Chain, sink: Sink) -> bool:
    if name == "schema_matches_plan":
        return isinstance(sink, TableSink) and sink.kind == "columns"
    if name == "keys_unique":
        return sink.keyed is not None
    if name == "small_files":
        return isinstance(sink, TableSink)
    if name == "masked_values":
        return any(e.action == "masked" for s in chain.stages for e in s.transform.ledger())
    if name == "dead_mask":
        return chain.hides or any(e.relied_on for s in chain.stages for e in s.transform.ledger())
    return True


def check_specs(key: dg.AssetKey, names: Sequence[str], checks: SmtChecks) -> list[dg.AssetCheckSpec]:
    """The specs of a table's checks, by their names."""
    results = []
    for name in names:
        results.append(
            dg.AssetCheckSpec(
                name,
                asset=key,
                description=(CHECKS[name].__doc__ or "").split("\n")[0],
                blocking=name in checks.blocking,
            )
        )
    return results


def check_results(
    key: dg.AssetKey, names: Sequence[str], checks: SmtChecks, found: Evidence
) -> Iterator[dg.AssetCheckResult]:
    """A result for each check."""
    for name in names:
        told = judged(name, found)
        severity = checks.severity.get(name, told.severity)
        yield dg.AssetCheckResult(
            passed=told.passed,
            asset_key=key,
            check_name=name,
            severity=dg.AssetCheckSeverity[severity],
            description=visible(told.statement),
            metadata=dict(told.metadata),
        )
