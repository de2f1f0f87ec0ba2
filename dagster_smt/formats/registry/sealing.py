"""Encrypts fields of Avro records under a subject whose producers do so, so that its consumers can decrypt them.

The written schema is derived from Connect's schema, so it has no tags. It is registered with the rules of the latest
version, and with the tags of the fields in its metadata.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.errors import ConfigError, DataError, needs_extras
from dagster_smt.formats.avro.read import Avro, avro_of
from dagster_smt.formats.registry.client import Contract, Options
from dagster_smt.formats.registry.data_keys import DataKeys
from dagster_smt.formats.registry.rules import unmatched
from dagster_smt.formats.registry.sealed_fields import Tags, fields_of, sealer, seals_all


def _same(data: bytes) -> bytes:
    return data


@dataclass(frozen=True)
class SubjectSealing:
    """Describes how records of a schema are written under a subject.

    Attributes:
        parts: More parts of the schema, for its registration.
        seal: A function that encrypts fields in the bytes of a record, and returns the changed bytes.
    """

    parts: dict[str, Any] = field(default_factory=dict)
    seal: Callable[[bytes], bytes] = _same


def sealing_of(options: Options, subject: str, text: str, contract: Contract) -> SubjectSealing:
    """Returns how records are encrypted.

    Args:
        options: The format's options.
        subject: The subject.
        text: The Avro schema of the records.
        contract: The duties of producers under the subject.

    Raises:
        DataError: SMT752 if the schema lacks a field that producers encrypt, or has the field with a different type.
            The field might have a new name, and its values would be written in clear text. SMT273 if the latest schema
            of the subject cannot be read.
    """
    source = contract.source
    old = _avro(source.text, [reference for _, reference in source.references], f"the latest schema of {subject}")
    new = _avro(text, [], "the schema that is written")
    tags = dict(source.tags)
    for rule in contract.rules:
        for name, names in fields_of(old, rule, source.tags).items():
            tags[name] = tuple(dict.fromkeys((*tags.get(name, ()), *names)))
    merged = tuple(tags.items())
    for rule in contract.rules:
        have = fields_of(new, rule, merged)
        for name in fields_of(old, rule, source.tags):
            if name not in have:
                raise unmatched(rule, f"the field {name}, which the schema that is written does not have")
        if not seals_all(new, rule, merged):
            raise unmatched(rule, "fields, one of which is neither a text nor bytes in the schema that is written")
    seal = sealer(new, contract.rules, merged, lambda rule: DataKeys(options, rule, subject))
    return SubjectSealing(_parts(contract, merged), seal)


def _avro(text: str, references: list[str], place: str) -> Avro:
    try:
        return avro_of(text, references, place)
    except ConfigError as error:
        raise DataError(error.problems[0]) from None


def _parts(contract: Contract, tags: Tags) -> dict[str, Any]:
    with needs_extras():
        from confluent_kafka.schema_registry import Metadata, MetadataTags

    metadata = contract.parts["metadata"]
    properties = getattr(metadata, "properties", None)
    sensitive = getattr(metadata, "sensitive", None)
    names_by_pattern = {}
    for pattern, names in tags:
        if names:
            names_by_pattern[pattern] = list(names)
    own = MetadataTags(names_by_pattern)
    return {"metadata": Metadata(own, properties, sensitive), "rule_set": contract.parts["rule_set"]}
