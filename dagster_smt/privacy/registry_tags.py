"""Reads tags from a schema registry. The tags are in the schemas of a subject, and in the metadata of its versions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from dagster_smt.errors import ConfigError, DataError, Problem, needs_extras
from dagster_smt.formats.protobuf.text import proto_files
from dagster_smt.formats.registry.client import SubjectVersion, versions_of
from dagster_smt.model.topics.format import REGISTERED, Format, Single
from dagster_smt.privacy.field_paths import Steps, name_pattern, text_of
from dagster_smt.privacy.policy import TagSource
from dagster_smt.privacy.schema_tags import SchemaField, avro_fields, json_fields, protobuf_fields
from dagster_smt.privacy.tags import Part, Tag, TaggedField, TopicTags


def registry_tags(source: TagSource, topics: Sequence[str], formats: Mapping[Part, Format]) -> Iterator[TopicTags]:
    """Yields the tags of the fields in each topic of ``topics``, as they are stored in a schema registry.

    If several versions of a subject contain a field, the tags in the newest of these versions apply. A field that only
    occurs in older versions therefore keeps its tags, because the topic still contains records with this field.

    If the source has its own registry, the function also reads the tags of keys from this registry. It does not do so
    in two cases: the format of the keys has no fields, or the options of the registry contain ``subject``.

    Args:
        source: The source, with the options of its registry if it has its own.
        topics: The topics.
        formats: The formats of the keys and of the values.

    Raises:
        ConfigError: SMT767 if neither keys nor values have a registry, or if the registry's subjects are not named
            after topics.
        DataError: SMT442 if the registry has no subject for a topic.
        EngineError: SMT636 if the registry does not respond.
    """
    sides = {}
    for part, form in formats.items():
        if form.kind in REGISTERED:
            sides[part] = form
    may_lack_subject = False
    if source.options:
        # the kind of the format has no effect here: only its options, the connection to the registry, are used
        own = Format("avro-confluent", options=dict(source.options))
        may_lack_subject = "key" not in sides
        sides = {"value": own}
        if "subject" not in own.settings and formats["key"].kind not in get_args(Single):
            sides["key"] = own
    if not sides:
        hint = "remove the source, or give it the address of a registry: {registry: {url: …}}"
        raise ConfigError(Problem("SMT767", "policy tags", "neither keys nor values have a registry", hint))
    for topic in topics:
        fields: list[TaggedField] = []
        for part, form in sides.items():
            subject = _subject(form, part, topic)
            try:
                versions = versions_of(tuple(form.settings.items()), subject)
            except DataError as error:
                # keys that are not written with a registry often have no subject
                if part == "key" and may_lack_subject and error.problem.code == "SMT442":
                    continue
                raise
            fields += _fields(part, subject, versions)
        yield TopicTags(name_pattern(topic), tuple(fields), "the registry")


def _subject(form: Format, part: Part, topic: str) -> str:
    settings = form.settings
    if "subject" in settings:
        return settings["subject"]
    if settings.get("subject.name.strategy", "TopicNameStrategy") == "TopicNameStrategy":
        return f"{topic}-{part}"
    hint = "set the option subject of the format, or write the tags into a file of paths"
    statement = "the subjects of the registry depend on the records"
    raise ConfigError(Problem("SMT767", f"policy tags {topic}", statement, hint))


def _fields(part: Part, subject: str, versions: Sequence[SubjectVersion]) -> Iterator[TaggedField]:
    newest: dict[Steps, TaggedField] = {}
    for version in versions:
        source = f"{subject} version {version.number}"
        for field in _of_version(version, source):
            names = tuple(dict.fromkeys((*field.tags, *_of_metadata(version, field.name))))
            if names or field.is_leaf:
                tags = tuple(Tag(name, source) for name in names)
                newest[field.steps] = TaggedField(part, text_of(field.steps), tags, False, field.steps)
            else:
                # a newer version has made the field a struct without a tag, so only the tags of its inner fields apply
                newest.pop(field.steps, None)
    yield from newest.values()


def _of_version(version: SubjectVersion, place: str) -> list[SchemaField]:
    schema = version.schema
    if version.kind == "AVRO":
        return avro_fields(schema.text, [text for _, text in schema.references], place)
    if version.kind == "JSON":
        return json_fields(schema.text, place)
    return protobuf_fields(proto_files(schema.text, schema.references, place), (0,), place)


def _of_metadata(version: SubjectVersion, name: str) -> Iterator[str]:
    """Yields the tags of the field with the full name ``name`` from the metadata of ``version``. The metadata maps
    patterns of field names to tags, such as ``**.email`` to ``PII``.
    """
    if not version.tags:
        return
    with needs_extras():
        from confluent_kafka.schema_registry.wildcard_matcher import wildcard_match
    for pattern, names in version.tags:
        if wildcard_match(name, pattern):
            yield from names
