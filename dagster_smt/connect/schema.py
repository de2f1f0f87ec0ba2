"""Columns for a connector's table, proposed from the last records of its topics."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.chain.dead_paths import refuse_dead_paths
from dagster_smt.chain.properties import read_properties
from dagster_smt.errors import SmtError
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.proposal.beside_chain import propose_beside, table_of
from dagster_smt.tables.proposal.encodings import Encoding, encoding_of
from dagster_smt.tables.proposal.look import Seen
from dagster_smt.tables.proposal.table import Proposal, propose


@dataclass
class SchemaProposal:
    """A statement beside ``defs.yaml``.

    Attributes:
        file: Its name.
        statement: The statement; empty if no columns could be told.
        wired: Whether the component reads it: the table then has its columns.
        lines: What the report says of it.
    """

    file: str
    statement: str = ""
    wired: bool = False
    lines: list[str] = field(default_factory=list)


def seen_encodings(seen: Seen | None) -> Mapping[str, Encoding]:
    """How keys and values of the last records are encoded; empty if there are none."""
    if seen is None or not seen.samples:
        return {}
    return {"key": encoding_of([s.key for s in seen.samples]), "value": encoding_of([s.value for s in seen.samples])}


def proposed_schema(file: str, topics: Mapping[str, Any], chain: str, seen: Seen) -> SchemaProposal:
    """Propose the columns of a table that a chain writes.

    Args:
        file: How the statement's file is called; so is the table, without the ending.
        topics: ``topics`` or ``pattern``.
        chain: The chain, as properties text.
        seen: The last records.
    """
    if seen.problem:
        what = f"no columns are proposed: {seen.problem}; records are written as they are"
        return SchemaProposal(file, lines=[f"{what}; dagster-smt schema proposes columns later"])
    parsed = _parsed(chain)
    samples = seen.samples
    if parsed is None:
        proposal = propose(samples, with_key=False)
    else:
        proposal = propose_beside(parsed, samples, with_key=False)
    if proposal.value.kind != "json" or proposal.options["value.format"] != "json" or not proposal.columns:
        what = f"no columns are proposed: values are {proposal.value.text}; records are written as they are"
        return SchemaProposal(file, lines=[what, *proposal.remarks])
    place = {"topic-pattern": topics["pattern"]} if "pattern" in topics else {"topic": ";".join(topics["topics"])}
    refused = _refused(parsed, proposal)
    statement = proposal.statement(file.removesuffix(".sql"), place)
    if not _is_text(statement):
        return SchemaProposal(file, lines=["no columns are proposed: a name has half a character, which no file holds"])
    found = SchemaProposal(file, statement, not refused)
    columns = f"{len(proposal.columns)} columns from {proposal.origin}"
    if refused:
        found.lines += [f"{file}: {columns}; not in use, records are written as they are: {refused}"]
    else:
        found.lines += [f"{file}: {columns}; the table has them (sink kind: columns)"]
    found.lines += [*proposal.remarks, *(f"{note.path} {note.text}" for note in proposal.notes)]
    return found


def _is_text(statement: str) -> bool:
    """Whether it can be written: JSON can hold half a character."""
    try:
        statement.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _parsed(chain: str) -> Chain | None:
    """The chain; None if it has a transform that is not supported, which its component says when it loads."""
    try:
        return parse_chain(read_properties(chain))
    except SmtError:
        return None


def _refused(chain: Chain | None, proposal: Proposal) -> str:
    """Why the chain does not take the columns; empty if it does."""
    table = table_of(proposal)
    if chain is None or table is None:
        return ""
    try:
        refuse_dead_paths(plan_table(chain, table), table.value.known_schema)
    except SmtError as error:
        return "; ".join(f"{p.code} {p.place}: {p.statement}" for p in error.problems)
    return ""
