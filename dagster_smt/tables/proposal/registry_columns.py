"""Proposes columns for values whose schema is in a schema registry."""

from collections.abc import Sequence
from dataclasses import replace

from dagster_smt.errors import DataError
from dagster_smt.formats.registry.versions import SchemaWithId, registered_schema
from dagster_smt.formats.registry.wire import RegistryReader
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.schema import Type
from dagster_smt.model.topics.format import Format, FormatKind
from dagster_smt.tables.proposal.column_proposal import Proposal

_KINDS: tuple[FormatKind, ...] = ("avro-confluent", "protobuf-confluent", "json-confluent")


def with_registered_columns(proposal: Proposal, samples: Sequence[Sample], url: str) -> Proposal:
    """Returns ``proposal`` with new columns: the fields of the schema that the last record of ``samples`` uses.

    Args:
        proposal: The proposal for these records.
        samples: The records in order. Their values begin with the id of a schema in the registry.
        url: The registry's address.

    Raises:
        DataError: The registry does not have the schema, or the schema has no equivalent in Connect.
        EngineError: SMT636, the registry does not respond.
    """
    last = next(s.value for s in reversed(samples) if s.value is not None and s.value[:1] == b"\0")
    form, registered = _format_and_schema(last, url)
    if registered.schema is None or registered.schema.type is not Type.STRUCT:
        remark = "The schema that the last record names has no fields: the columns come with the records."
        return replace(proposal, remarks=[remark])
    remarks = [f"Columns are those of the schema that the last record names; {len(proposal.value.ids)} are in use."]
    options = {"value.format": form.kind, f"value.{form.kind}.url": url}
    value = replace(proposal.value, kind=form.kind, note="")
    return replace(proposal, value=value, columns=registered.schema.fields, options=options, remarks=remarks)


def _format_and_schema(value: bytes, url: str) -> tuple[Format, SchemaWithId]:
    """Returns the format and the schema of ``value``, whose bytes begin with a schema id.

    The id does not show the format. So the function first asks the registry for an Avro schema, then for a Protobuf
    schema, and finally for a JSON Schema.
    """
    problem: DataError | None = None
    for kind in _KINDS:
        form = Format(kind, options={"url": url})
        try:
            return form, registered_schema(form, RegistryReader(form).schema_text(value) or b"")
        except DataError as error:
            problem = problem or error
    assert problem is not None
    raise problem
