"""The asset checks of a table. Each check returns a result in every run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dagster_smt.authoring.mask_exception import MaskException
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.reports.run_report import MISMATCHED, LedgerEntry, RunReport, TopicCounts, silent_lines
from dagster_smt.model.reports.table_facts import FileSizes, TableFacts
from dagster_smt.model.reports.unmasked import Unmasked
from dagster_smt.model.topics.keyed import TableMode
from dagster_smt.model.windows.offsets import offsets_of
from dagster_smt.model.windows.window import number_of_records, range_texts
from dagster_smt.orchestration.metadata.table_values import problem_table, table
from dagster_smt.tables.ddl import parse_ddl

if TYPE_CHECKING:
    from dagster_smt.certify import Certificate

Severity = Literal["WARN", "ERROR"]
_DEAD_COLUMNS = {
    **dict.fromkeys(("stage", "action", "side", "path"), "string"),
    "offsets": "int",
    **dict.fromkeys(("ranges", "runs", "why"), "string"),
}
REPAIR_HINT = "fix the chain, then launch the repair job: docs/repair.md"
_RESIDUE_COLUMNS = {"masked": "string", "also in": "string", "records": "int"}
_BROKEN_COLUMNS = {"column": "string", "problem": "string", "read by": "string"}
_DIFFERING_COLUMNS = {"column": "string", "records": "int"}
_CERTIFIED_COLUMNS = {"stage": "string", "verdict": "string", "records": "int", "first": "string"}
SMALL_FILES = "small_files"
DEFAULT_SMALL_FILES = 0.5
"""The share of small files at which a maintenance job warns, if the checks of the table do not set a share."""
MANY_FILES = 50
"""A table with fewer than 50 files always passes the check ``small_files``, even if all of its files are small."""
HELD_BACK_HINT = (
    "add it to the file of paths with its tags, or with [], then run its records again: docs/how-to/policy.md"
)
_HELD_COLUMNS = {"topic": "string", "part": "string", "path": "string", "records": "int"}
_MOST_ROWS = 200
_MOST_NAMES = 5
"""The largest number of fields, topics or ranges that the result of a check lists by name."""


@dataclass(frozen=True)
class SmtChecks:
    """The checks of a table, and the severity of failures.

    Attributes:
        off: The names of checks to leave out.
        blocking: The names of blocking checks. If such a check fails, downstream assets do not run in the same run.
        severity: Maps the name of a check to ``WARN`` or ``ERROR``, which replaces its default severity. By default,
            ``offsets_contiguous``, ``masked_values``, ``key_matches_value``, ``lag``, ``small_files`` and ``held_back``
            warn. ``no_dead_letters`` warns about failed records. It is an error if the share of failed records reaches
            ``failed_share``, or if a dead letter could not be written. ``dead_mask`` warns about drops and renames
            without effect. It is an error if a mask has no effect, or if a run's chain lacked a mask or drop of the
            definition. All other checks are errors.
        failed_share: A share of failed records, such as 0.1. The check ``no_dead_letters`` is an error if at least this
            share of a run's records failed, or of the records of one topic. With 1.0, it is an error only if all of
            them failed.
        max_lag: The largest permitted number of offsets that are unread after a run. None: the table does not get the
            check ``lag``.
        contract: The columns that readers of the table rely on, as a DDL string (``id BIGINT NOT NULL, name STRING``).
            The table may have more columns. None: the table does not get the check ``contract``.
        max_small_files: The check ``small_files`` warns if at least this share of the table's files is small, such as
            0.5. The check ignores tables with fewer than 50 files. None: runs do not perform this check. Maintenance
            jobs report the check in any case.
        small_file_mb: A file below this size, in megabytes, is small.
        same_as_connect: The number of records, such as 1000, that each run takes as a sample. The sample also goes
            through Kafka Connect's own classes, and the results must be equal. None: the table does not get the check
            ``same_as_connect``.
        connector: A file with the connector's own chain, as JSON or properties. For ``same_as_connect``, Connect's
            classes run this chain, so that a changed option is also a difference. None: Connect's classes run the
            chain of the asset.

    Raises:
        ConfigError: SMT036, a name in ``off``, ``blocking`` or ``severity`` is not the name of a check; SMT307,
            ``failed_share`` or ``max_small_files`` is not a share, ``same_as_connect`` is below 1, or ``connector`` is
            set without ``same_as_connect``. If the contract is wrong, the error lists its problems.
    """

    off: Sequence[str] = ()
    blocking: Sequence[str] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    max_lag: int | None = None
    contract: str | None = None
    failed_share: float = 1.0
    max_small_files: float | None = None
    small_file_mb: float = 16.0
    same_as_connect: int | None = None
    connector: str | None = None

    def __post_init__(self) -> None:
        for name in ("failed_share", "max_small_files"):
            share = getattr(self, name)
            if share is not None and not 0 < share <= 1:
                hint = f"write 0.5 for half of the {'files' if name == 'max_small_files' else 'records'}"
                statement = "a share is above 0 and at most 1"
                raise ConfigError(Problem("SMT307", f"checks.{name}", statement, hint))
        if self.same_as_connect is not None and self.same_as_connect < 1:
            statement = "a sample has at least one record"
            raise ConfigError(Problem("SMT307", "checks.same_as_connect", statement, "write 1000, or leave it out"))
        if self.connector is not None and self.same_as_connect is None:
            statement = "only the check same_as_connect reads the connector"
            hint = "set same_as_connect=1000 as well, or leave connector out"
            raise ConfigError(Problem("SMT307", "checks.connector", statement, hint))
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
        """The size in bytes below which a file is small."""
        return int(self.small_file_mb * 2**20)


@dataclass(frozen=True)
class Evidence:
    """The evidence that checks judge: the report of a run, and facts about the table after the run."""

    report: RunReport
    facts: TableFacts
    mask_exceptions: Sequence[MaskException] = ()
    readers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Maps each column of this asset to columns of downstream assets that are derived from this column."""
    checks: SmtChecks = field(default_factory=SmtChecks)
    """The checks as the table declares them, with their limits."""
    certificate: "Certificate | Problem | None" = None
    """The result of comparing a sample with Kafka Connect, or the problem that prevented the comparison."""


@dataclass(frozen=True)
class CheckVerdict:
    """The result of a check.

    Attributes:
        passed: True if the check passed.
        statement: The result in one sentence.
        metadata: Counts, offsets and names; never the value of a field.
        severity: The default severity of a failure. The table's ``SmtChecks`` may set a different one.
    """

    passed: bool
    statement: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "ERROR"


def no_dead_letters(evidence: Evidence) -> CheckVerdict:
    """No record of the run failed in the chain."""
    report = evidence.report
    failed = report.failed_records
    if failed:
        statement = f"{failed} of {report.records_in} records failed"
    else:
        statement = "no record failed"
    codes = sorted({reject.problem.code for reject in report.rejects})
    severity: Severity = "WARN"
    share = evidence.checks.failed_share
    if failed >= share * report.records_in:
        severity = "ERROR"
    elif bad := [topic for topic, counts in report.topics.items() if _mostly_failed(counts, share)]:
        # all records of a small topic may have failed although the share of the whole run is small
        severity = "ERROR"
        statement += f"; of {', '.join(bad[:_MOST_NAMES])} {share:.0%} or more"
    metadata: dict[str, Any] = {"dead_letters": failed, "codes": codes}
    if report.unwritten:
        severity = "ERROR"
        statement += f"; {number_of_records(report.unwritten)} dead letters could not be written"
        metadata["not_written"] = offsets_of(report.unwritten).to_json()
    return CheckVerdict(not failed, statement, metadata, severity)


def _mostly_failed(counts: TopicCounts, share: float) -> bool:
    # without the first condition, a topic without records would count, because 0 >= share * 0
    return counts.failed_records > 0 and counts.failed_records >= share * counts.records


def offsets_contiguous(evidence: Evidence) -> CheckVerdict:
    """The table holds every offset from its first offset on; no offset was skipped permanently."""
    gaps, holes = evidence.facts.gaps, evidence.facts.holes
    skipped, between = _offsets_in(gaps), _offsets_in(holes)
    parts = [f"{skipped} offsets were skipped permanently"] if skipped else []
    if between:
        parts.append(f"{between} offsets between those that the table holds are not read yet")
    statement = "; ".join(parts) or "no offset was skipped"
    return CheckVerdict(not parts, statement, {"gaps": dict(gaps), "holes": dict(holes)}, "WARN")


def _offsets_in(ranges: Mapping[str, Mapping[str, list[list[int]]]]) -> int:
    number = 0
    for parts in ranges.values():
        for spans in parts.values():
            for start, end in spans:
                number += end - start
    return number


def rows_match_offsets(evidence: Evidence) -> CheckVerdict:
    """The table has exactly the rows that commits wrote, and the run wrote, dropped or rejected every record."""
    report, rows, counted = evidence.report, evidence.facts.rows, evidence.facts.counted
    accounted = report.records_out + report.dropped + report.failed
    metadata = {"records_in": report.records_in, "accounted_for": accounted, "rows_committed": rows}
    # with arrays-as-rows, a record becomes a row for each array element, and the run counts both
    if report.rows_in == report.records_in:
        unit = "records"
    else:
        unit = "rows of records"
    if report.rows_in != report.records_in:
        metadata["rows_in"] = report.rows_in
    if accounted != report.rows_in:
        return CheckVerdict(False, f"{report.rows_in} {unit} were read, {accounted} are accounted for", metadata)
    written = report.rows_written
    if written is not None and written != report.records_out:
        metadata["rows_written"] = written
        statement = f"the commit added {written} rows, {report.records_out} were counted before"
        return CheckVerdict(False, statement, metadata)
    if counted is None:
        return CheckVerdict(True, f"all {accounted} {unit} are accounted for; rows were not counted", metadata)
    metadata["rows_counted"] = counted
    if counted != rows:
        return CheckVerdict(
            False, _by_others(evidence, counted, rows), metadata | {"commits": list(evidence.facts.foreign)}
        )
    return CheckVerdict(True, f"the table has the {rows} {_ROWS_OF[evidence.facts.mode]} of its commits", metadata)


_ROWS_OF: Mapping[TableMode, str] = {"append": "rows", "upsert": "keys", "scd2": "versions of keys"}
"""Maps the mode of a table to the word for its rows in the statement of a check. For ``upsert``, the word is "keys":
"the table has the 12 keys of its commits".
"""


def keys_unique(evidence: Evidence) -> CheckVerdict:
    """The table has exactly one row, or one current version, for each key."""
    facts = evidence.facts
    unit = "current version" if facts.mode == "scd2" else "row"
    if facts.repeated_keys is None:
        return CheckVerdict(True, "nothing was written, so keys were not counted")
    if not facts.repeated_keys:
        return CheckVerdict(True, f"every key has one {unit}", {"repeated_keys": 0})
    statement = f"{facts.repeated_keys} keys have more than one {unit}; launch once with window.rebuild: true"
    return CheckVerdict(False, statement, {"repeated_keys": facts.repeated_keys, "commits": list(facts.foreign)})


def _by_others(evidence: Evidence, counted: int, rows: int) -> str:
    statement = f"the table has {counted} {_ROWS_OF[evidence.facts.mode]}, its commits have {rows}"
    commits = evidence.facts.foreign
    if not commits:
        return statement
    more = f" and {len(commits) - 3} more" if len(commits) > 3 else ""
    settle = "if this was intended, launch once with window.settle: true"
    return f"{statement}; other writers have committed: {', '.join(commits[:3])}{more}; {settle}"


def tables_written(evidence: Evidence) -> CheckVerdict:
    """Each table with new records was written, and no record waits for a table that could not be written."""
    destinations, waiting = evidence.report.destinations, evidence.facts.waiting
    failed = [one for one in destinations if one.failed]
    metadata: dict[str, Any] = {"tables": len(destinations), "failed": len(failed), "waiting": waiting}
    if failed:
        names = ", ".join(one.topic or "new topics" for one in failed[:_MOST_NAMES])
        more = f" and {len(failed) - _MOST_NAMES} more" if len(failed) > _MOST_NAMES else ""
        metadata["problems"] = problem_table([problem for one in failed for problem in one.problems][:_MOST_ROWS])
        return CheckVerdict(
            False, f"{len(failed)} of {len(destinations)} tables were not written: {names}{more}", metadata
        )
    if waiting:
        return CheckVerdict(False, f"{waiting} offsets wait for a table that could not be written", metadata)
    return CheckVerdict(True, f"{len(destinations)} tables were written", metadata)


def schema_matches_plan(evidence: Evidence) -> CheckVerdict:
    """The table has every column of the plan, with its type."""
    problems = evidence.facts.schema_problems
    if problems:
        statement = f"{len(problems)} columns differ from the plan"
    else:
        statement = "the table has every planned column"
    return CheckVerdict(not problems, statement, dict(problems))


def dead_mask(evidence: Evidence) -> CheckVerdict:
    """Every mask, drop and rename changed records of this run, and no earlier run has left rows unmasked by mistake."""
    silent = silent_lines(evidence.report.ledger, evidence.report.stages)
    on_record = evidence.facts.unmasked
    if not silent and not on_record:
        return CheckVerdict(True, _alive(evidence), _accepted(evidence))
    entries = [line.entry for line in silent]
    recorded = {(one.stage, one.action, one.side, one.path) for one in on_record}
    rows = [_on_record(one) for one in on_record]
    for entry in entries:
        effect = (entry.alias, entry.action, entry.side, entry.path)
        if effect not in recorded:  # the state of the table has a limit, so it may not contain this effect
            rows.append({**_NO_RECORD, **dict(zip(("stage", "action", "side", "path"), effect, strict=True))})
    hints = []
    for p in evidence.report.warnings:
        # SMT303: no record can have the path; SMT350: the stage changed no record of this run there
        if p.code in ("SMT303", "SMT350") and p.hint:
            hints.append(p.hint)
    metadata = {
        "untouched": table(rows[:_MOST_ROWS], _DEAD_COLUMNS),
        "hint": "\n".join([*dict.fromkeys(hints), REPAIR_HINT]),  # a string, because the UI hides lists behind a button
        **_accepted(evidence),
    }
    actions = {one.action for one in on_record} | {entry.action for entry in entries}
    severity: Severity = "ERROR" if "masked" in actions or _left_out(evidence) else "WARN"
    return CheckVerdict(False, "; ".join(_dead_texts(evidence, entries)), metadata, severity)


def _left_out(evidence: Evidence) -> bool:
    return any(one.left_out for one in evidence.facts.unmasked)


def _alive(evidence: Evidence) -> str:
    """Returns the statement of the check ``dead_mask`` if the check passes, such as "every mask, drop and rename
    touched records". If no record reached the stage of a mask, the run did not test the mask, and the statement says
    so.
    """
    report = evidence.report
    if not report.records_in:
        return "nothing was read"
    relied_on = []
    for line in report.ledger:
        if line.entry.relied_on:
            relied_on.append(line.entry)
    idle = []
    for entry in relied_on:
        if not report.stages[entry.stage].seen:
            idle.append(entry)
    if not idle:
        return "every mask, drop and rename touched records"
    if len(idle) == len(relied_on):
        return "no record reached a mask, drop or rename, so this run does not show whether they work"
    paths = ", ".join(f"{entry.path} ({entry.alias})" for entry in idle[:_MOST_NAMES])
    return f"every mask, drop and rename that records reached touched some; no record reached {paths}"


def _dead_texts(evidence: Evidence, entries: Sequence[LedgerEntry]) -> Iterator[str]:
    """Yields texts for the message of the failed check ``dead_mask``.

    The first text lists the masks, drops and renames in ``entries``, which touched nothing in this run. Each further
    text names a field that earlier runs left unmasked in some records, according to the state of the table.
    """
    if entries:
        paths = ", ".join(f"{entry.path} ({entry.alias})" for entry in entries[:_MOST_NAMES])
        yield f"touched nothing although records reached it: {paths}"
    for one in evidence.facts.unmasked[:_MOST_NAMES]:
        why = "was not in the run's chain" if one.left_out else "touched nothing"
        runs = f", written by {', '.join(one.runs[-_MOST_NAMES:])}" if one.runs else ""
        ranges = list(one.offsets.ranges())
        if len(ranges) > _MOST_NAMES:
            more = f" and {len(ranges) - _MOST_NAMES} more ranges"
        else:
            more = ""
        places = ", ".join(range_texts(ranges[:_MOST_NAMES]))
        yield f"on record: {one.path} ({one.stage}) {why} in {places}{more}{runs}"


def _on_record(one: Unmasked) -> dict[str, Any]:
    ranges = range_texts(one.offsets.ranges())
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


def _accepted(evidence: Evidence) -> dict[str, Any]:
    if not evidence.facts.accepted:
        return {}
    rows = []
    for a in evidence.facts.accepted:
        rows.append({"run": a.run, "reason": a.reason, "paths": ", ".join(a.paths), "offsets": a.records})
    return {"accepted": table(rows, {"run": "string", "reason": "string", "paths": "string", "offsets": "int"})}


def masked_values(evidence: Evidence) -> CheckVerdict:
    """No original value of a masked field is in another field, the key, a header or the topic of the same record."""
    sampled, exceptions, hits = evidence.facts.sampled, set[str](), dict[tuple[str, str], int]()
    for (masked, place), records in evidence.facts.residue.items():
        reason = None
        for e in evidence.mask_exceptions:
            if e.covers(place):
                reason = e.reason
                break
        if reason is None:
            hits[masked, place] = records
        else:
            exceptions.add(f"{place}: {reason}")
    metadata: dict[str, Any] = {"sampled": sampled}
    if exceptions:
        metadata["excepted"] = sorted(exceptions)
    if not hits:
        but = f", except {len(exceptions)} fields that the chain permits" if exceptions else ""
        return CheckVerdict(True, f"in a sample of {sampled} records no masked value is elsewhere{but}", metadata)
    rows = []
    for (m, p), n in sorted(hits.items(), key=lambda h: -h[1]):
        rows.append({"masked": m, "also in": p, "records": n})
    metadata |= {"found": table(rows[:_MOST_ROWS], _RESIDUE_COLUMNS), "pairs": len(rows)}
    texts = []
    for m, p in sorted(hits)[:_MOST_NAMES]:
        texts.append(f"{p} (of {m})")
    paths = ", ".join(texts)
    statement = f"masked values are also in {paths}; mask or drop these fields, or list them in mask.exceptions"
    return CheckVerdict(False, statement, metadata, "WARN")


def key_matches_value(evidence: Evidence) -> CheckVerdict:
    """In every record, a column that both the key and the value contain has the same content in both."""
    lines = []
    for line in evidence.report.ledger:
        if line.entry.action == MISMATCHED:
            lines.append(line)
    rows = []
    for line in lines:
        if line.records:
            rows.append({"column": line.entry.path, "records": line.records})
    metadata: dict[str, Any] = {"columns": [line.entry.path for line in lines]}
    if not rows:
        return CheckVerdict(True, "key and value agree in every column that both hold", metadata)
    texts = []
    for row in rows:
        texts.append(f"{row['column']} ({row['records']} records)")
    columns = ", ".join(texts)
    statement = f"key and value differ in {columns}; the table has those of the value"
    metadata["differing"] = table(rows, _DIFFERING_COLUMNS)
    return CheckVerdict(False, statement, metadata, "WARN")


def lag(evidence: Evidence) -> CheckVerdict:
    """The topics hold no more unread offsets than the limit."""
    behind = sum(evidence.facts.lag.values())
    behind_by_topic = {}
    for t, n in evidence.facts.lag.items():
        if n:
            behind_by_topic[t] = n
    metadata = {"lag": behind, "lag_by_topic": behind_by_topic}
    limit = evidence.checks.max_lag or 0
    return CheckVerdict(behind <= limit, f"{behind} offsets are not read yet", metadata, "WARN")


def contract(evidence: Evidence) -> CheckVerdict:
    """The table has the columns that its readers rely on."""
    broken = evidence.facts.broken
    if not broken:
        return CheckVerdict(True, "the table has every promised column")
    rows = []
    for path, problem in broken.items():
        readers: list[str] = []
        for column, names in evidence.readers.items():
            if _related(column, path):
                readers += names
        rows.append({"column": path, "problem": problem, "read by": ", ".join(sorted(readers))})
    texts = []
    for path, problem in list(broken.items())[:_MOST_NAMES]:
        texts.append(f"{path}: {problem}")
    problems = "; ".join(texts)
    return CheckVerdict(
        False, f"the contract is broken: {problems}", {"broken": table(rows[:_MOST_ROWS], _BROKEN_COLUMNS)}
    )


def small_files(evidence: Evidence) -> CheckVerdict:
    """Most files of the table are large. Many small files would make queries slow."""
    sizes = evidence.facts.files
    if sizes is None:
        return CheckVerdict(True, "the table has no files yet")
    return small_files_of(sizes, evidence.checks)


def small_files_of(sizes: FileSizes, checks: SmtChecks, *, compacted: bool = False) -> CheckVerdict:
    """Returns the verdict on the sizes of a table's files.

    Args:
        sizes: The files.
        checks: The settings with the limits, such as ``max_small_files``.
        compacted: True if the files have just been compacted.
    """
    share = sizes.small / sizes.files if sizes.files else 0.0
    metadata = {"files": sizes.files, "small_files": sizes.small, "bytes": sizes.bytes, "share": round(share, 3)}
    counts = f"{sizes.small} of {sizes.files} files are smaller than {checks.small_file_mb:g} MB"
    limit = DEFAULT_SMALL_FILES if checks.max_small_files is None else checks.max_small_files
    if sizes.files < MANY_FILES or share < limit:
        return CheckVerdict(True, counts, metadata)
    if compacted:
        remedy = "compaction leaves a file for each partition: partition the table by fewer values"
    else:
        remedy = "launch the maintenance job, which compacts them: docs/how-to/upkeep.md"
    return CheckVerdict(False, f"{counts}; {remedy}", metadata, "WARN")


def held_back(evidence: Evidence) -> CheckVerdict:
    """No field or header was left out because the policy has no decision about it."""
    fields = evidence.facts.held_back
    if not fields:
        return CheckVerdict(True, "the policy holds no field back")
    texts = []
    for one in fields[:_MOST_NAMES]:
        texts.append(f"{one.part} {one.path} of {one.topic}" if one.path else "a field that a sample does not show")
    more = f" and {len(fields) - _MOST_NAMES} more" if len(fields) > _MOST_NAMES else ""
    statement = f"nobody has decided about: {', '.join(texts)}{more}; the rows do not have it; {HELD_BACK_HINT}"
    rows = []
    for one in fields[:_MOST_ROWS]:
        rows.append(asdict(one))
    return CheckVerdict(False, statement, {"held_back": table(rows, _HELD_COLUMNS), "hint": HELD_BACK_HINT}, "WARN")


def same_as_connect(evidence: Evidence) -> CheckVerdict:
    """For a sample of the run, the results equal those of Kafka Connect's own classes."""
    certificate = evidence.certificate
    if certificate is None:
        return CheckVerdict(True, "nothing was read")
    if isinstance(certificate, Problem):
        statement = f"not known: {certificate.code} {certificate.place}: {certificate.statement}"
        return CheckVerdict(False, statement, {"problems": problem_table([certificate])}, "WARN")
    rows = []
    for number, stage in enumerate(certificate.stages):
        findings = certificate.of_stage(number)
        reason = stage.same
        if findings:
            reason = f"{findings[0].decision or 'different'}: {findings[0].first.text}"
        verdict = certificate.verdict_of(number)
        rows.append(dict(zip(_CERTIFIED_COLUMNS, (stage.alias, verdict, stage.records, reason), strict=True)))
    metadata = {
        "sampled": certificate.records,
        "connect_version": certificate.connect_version,
        "stages": table(rows[:_MOST_ROWS], _CERTIFIED_COLUMNS),
        "ways": [way.name for way in certificate.ways if way.records],
    }
    statement = "; ".join([certificate.statement, *list(certificate.lines)[:1]])
    return CheckVerdict(certificate.verdict != "different", statement, metadata)


def _related(one: str, other: str) -> bool:
    """Returns True if the paths ``one`` and ``other`` are equal, or if one path is inside the other: ``a`` and
    ``a.b``.
    """
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


CHECKS: dict[str, Callable[[Evidence], CheckVerdict]] = {
    check.__name__: check
    for check in (
        no_dead_letters,
        offsets_contiguous,
        rows_match_offsets,
        tables_written,
        keys_unique,
        schema_matches_plan,
        dead_mask,
        masked_values,
        key_matches_value,
        lag,
        contract,
        small_files,
        same_as_connect,
        held_back,
    )
}


NEEDED: dict[str, tuple[str, ...]] = {
    "offsets_contiguous": ("state", "topics"),
    "rows_match_offsets": ("state", "rows"),
    "tables_written": ("state",),
    "keys_unique": ("columns", "keys"),
    "schema_matches_plan": ("columns",),
    "dead_mask": ("state",),
    "masked_values": ("sample",),
    "lag": ("state", "topics"),
    "contract": ("columns", "contract"),
    "small_files": ("files",),
    "same_as_connect": (),
    "no_dead_letters": (),
    "held_back": ("held_back",),
    "key_matches_value": (),
}
"""Maps each check to the facts about the table that the check needs, such as ``("state", "topics")``. If a fact could
not be read, ``TableFacts.unseen`` names the fact, and the check reports "not known".
"""


def judged(name: str, evidence: Evidence) -> CheckVerdict:
    """Returns the result of the check ``name``. If a fact that the check needs could not be read, the result says
    so.
    """
    unseen = []
    for fact in NEEDED[name]:
        if fact in evidence.facts.unseen:
            unseen.append(evidence.facts.unseen[fact])
    if unseen:
        statement = f"not known: {unseen[0].code} {unseen[0].place}: {unseen[0].statement}"
        return CheckVerdict(False, statement, {"problems": problem_table(unseen)}, "WARN")
    try:
        return CHECKS[name](evidence)
    except Exception as error:  # noqa: BLE001 - the run is committed, whatever is wrong with a check
        return CheckVerdict(False, f"not known: the check failed with {type(error).__name__}", {}, "WARN")
