"""Proposes columns for a connector's table. The proposal is based on the last records of the connector's topics."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.chain import Chain, parse_chain
from dagster_smt.chain.dead_paths import refuse_dead_paths
from dagster_smt.chain.properties import read_properties
from dagster_smt.errors import SmtError
from dagster_smt.tables.planning import plan_table
from dagster_smt.tables.proposal.beside_chain import propose_beside, table_of
from dagster_smt.tables.proposal.column_proposal import Proposal, propose
from dagster_smt.tables.proposal.encodings import Encoding, encoding_of
from dagster_smt.tables.proposal.look import TopicSamples


@dataclass
class SchemaProposal:
    """The ``CREATE TABLE`` statement that is proposed for a component.

    Attributes:
        file: The name of the statement's file.
        statement: The statement; empty if the columns are unknown.
        wired: True if the component uses the statement, so that the table has the columns of the statement.
        lines: The lines of the report.
    """

    file: str
    statement: str = ""
    wired: bool = False
    lines: list[str] = field(default_factory=list)


def sample_encodings(topic_samples: TopicSamples | None) -> Mapping[str, Encoding]:
    """Returns the encodings of the keys and values in ``topic_samples``, the last records. If there are no records, the
    result is empty.
    """
    if topic_samples is None or not topic_samples.samples:
        return {}
    return {
        "key": encoding_of([s.key for s in topic_samples.samples]),
        "value": encoding_of([s.value for s in topic_samples.samples]),
    }


def proposed_schema(file: str, topics: Mapping[str, Any], chain: str, topic_samples: TopicSamples) -> SchemaProposal:
    """Returns the proposed columns of the table that a chain writes. The proposal is based on the last records.

    Args:
        file: The name of the statement's file. Without its extension, it is the name of the table.
        topics: ``topics`` or ``pattern``.
        chain: The chain, as properties text.
        topic_samples: The last records.
    """
    if topic_samples.problem:
        text = f"no columns are proposed: {topic_samples.problem}; records are written as they are"
        return SchemaProposal(file, lines=[f"{text}; dagster-smt schema proposes columns later"])
    parsed = _parsed(chain)
    samples = topic_samples.samples
    if parsed is None:
        proposal = propose(samples, with_key=False)
    else:
        proposal = propose_beside(parsed, samples, with_key=False)
    if proposal.value.kind != "json" or proposal.options["value.format"] != "json" or not proposal.columns:
        text = f"no columns are proposed: values are {proposal.value.text}; records are written as they are"
        return SchemaProposal(file, lines=[text, *proposal.remarks])
    place = {"topic-pattern": topics["pattern"]} if "pattern" in topics else {"topic": ";".join(topics["topics"])}
    refused = _refused(parsed, proposal)
    statement = proposal.statement(file.removesuffix(".sql"), place)
    if not _is_text(statement):
        return SchemaProposal(file, lines=["no columns are proposed: a name has half a character, which no file holds"])
    result = SchemaProposal(file, statement, not refused)
    columns = f"{len(proposal.columns)} columns from {proposal.origin}"
    if refused:
        result.lines += [f"{file}: {columns}; not in use, records are written as they are: {refused}"]
    else:
        result.lines += [f"{file}: {columns}; the table has them (sink kind: columns)"]
    result.lines += [*proposal.remarks, *(f"{note.path} {note.text}" for note in proposal.notes)]
    return result


def _is_text(statement: str) -> bool:
    """Returns True if ``statement`` can be encoded and written to a file. A string in JSON may contain half of a
    surrogate pair, which cannot be encoded.
    """
    try:
        statement.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _parsed(chain: str) -> Chain | None:
    """Parses ``chain``. Returns None if the chain has problems, because the component itself reports them when it
    loads.
    """
    try:
        return parse_chain(read_properties(chain))
    except SmtError:
        return None


def _refused(chain: Chain | None, proposal: Proposal) -> str:
    """Plans ``chain`` for the proposed columns, and returns the problems as text. Returns an empty string if there is
    no problem, or if the chain or the columns are unknown.
    """
    table = table_of(proposal)
    if chain is None or table is None:
        return ""
    try:
        refuse_dead_paths(plan_table(chain, table), table.value.known_schema)
    except SmtError as error:
        return "; ".join(f"{p.code} {p.place}: {p.statement}" for p in error.problems)
    return ""
