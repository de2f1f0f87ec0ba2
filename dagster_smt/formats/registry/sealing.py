"""Encrypts fields of the records that this package writes, if the rules of the subject require it. Consumers of the
subject can decrypt the fields.

The rules select fields by tags. The schema of the written records comes from a Connect schema, which has no tags. When
this package registers the schema, it therefore adds the rules of the subject's latest version, and metadata with the
tags of the fields.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.errors import ConfigError, DataError, needs_extras
from dagster_smt.formats.registry.client import Contract, Options, SchemaKind
from dagster_smt.formats.registry.data_keys import DataKeys
from dagster_smt.formats.registry.rules import RegistryRule, unmatched
from dagster_smt.formats.registry.sealable_schemas import sealable_schema
from dagster_smt.formats.registry.tagged_fields import Tags


def _same(data: bytes) -> bytes:
    return data


@dataclass(frozen=True)
class SubjectSealing:
    """The consequences of a subject's rules for a producer: the metadata and rules that the producer must register with
    its schema, and the way in which the producer encrypts records.

    Attributes:
        parts: The metadata and the rules to register with the schema.
        seal: A function that encrypts fields in the bytes of a record, and returns the changed bytes.
    """

    parts: dict[str, Any] = field(default_factory=dict)
    seal: Callable[[bytes], bytes] = _same


def sealing_of(options: Options, subject: str, kind: SchemaKind, text: str, contract: Contract) -> SubjectSealing:
    """Returns the consequences of a subject's rules for a producer: the metadata and rules that the producer must
    register with its schema, and a function that encrypts records.

    Args:
        options: The format's options.
        subject: The subject.
        kind: The kind of the schema.
        text: The schema of the records.
        contract: The subject's latest schema, and the rules that producers must apply.

    Raises:
        DataError: SMT752 if the schema ``text`` lacks a field that producers encrypt, or if the field has a different
            type. In both cases, the field may have been renamed, and its values would be written in clear text. SMT273
            if the latest schema of the subject cannot be read. With Protobuf, also SMT273 if the latest schema lacks
            the message that is written.
    """
    source = contract.source
    try:
        new = sealable_schema(kind, text, (), "the schema that is written")
        latest = f"the latest schema of {subject}"
        old = sealable_schema(kind, source.text, source.references, latest, new.record)
    except ConfigError as error:
        raise DataError(error.problems[0]) from None
    tags = dict(source.tags)
    for rule in contract.rules:
        for path, names in old.fields(rule, source.tags).items():
            name = new.full_name(path)
            if name is None:
                raise _missing(rule, path)
            tags[name] = tuple(dict.fromkeys((*tags.get(name, ()), *names)))
    merged = tuple(tags.items())
    for rule in contract.rules:
        paths = old.fields(rule, source.tags)
        if not new.seals(rule, merged, paths):
            raise unmatched(rule, "fields, one of which is neither a text nor bytes in the schema that is written")
        for path in paths.keys() - new.fields(rule, merged).keys():
            raise _missing(rule, path)
    seal = new.sealer(contract.rules, merged, lambda rule: DataKeys(options, rule, subject))
    return SubjectSealing(_parts(contract, merged), seal)


def _missing(rule: RegistryRule, path: str) -> DataError:
    return unmatched(rule, f"the field {path}, which the schema that is written does not have")


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
