"""Defines tags of fields, such as ``PII.email``. Reads the tags from a tags file, a data contract, a schema, or a
registry.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import yaml

from dagster_smt.chain.problems import did_you_mean
from dagster_smt.errors import ConfigError, Problem
from dagster_smt.privacy.field_paths import EVERY, Steps, name_pattern, path_steps, text_of
from dagster_smt.values.java.regex import compile_java

Part = Literal["value", "key", "headers"]
PARTS: tuple[Part, ...] = ("value", "key", "headers")
_HINT = "docs/how-to/policy.md shows the file"


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of a field, such as ``PII.email``. Dots separate the levels of the name.

    Attributes:
        name: The tag.
        source: The source of the tag, for people: ``tags.yaml``, or the version of a subject.
    """

    name: str
    source: str = ""

    def matches(self, pattern: str) -> bool:
        """Returns True if a rule with the pattern ``pattern`` applies to this tag.

        ``PII.*`` matches ``PII`` and each tag that begins with ``PII.``. The comparison ignores case, so that a tag in
        a different spelling cannot escape its rule.
        """
        name, pattern = self.name.lower(), pattern.lower()
        # unlike fnmatch, fnmatchcase gives the same result on every operating system
        return fnmatchcase(name, pattern) or (pattern.endswith(".*") and name == pattern.removesuffix(".*"))


@dataclass(frozen=True, slots=True)
class TaggedField:
    """A field that a source of tags lists.

    Attributes:
        part: The part of the record.
        path: The path of the field in this part; for headers, their name. Empty for the whole key.
        tags: The tags; empty if the source lists the field without any.
        decided: True if the source states that the field needs no tag, as in ``id: []``. The policy keeps such a field,
            unless another source gives the field a tag.
        steps: The steps of the path.
    """

    part: Part
    path: str
    tags: tuple[Tag, ...]
    decided: bool
    steps: Steps


@dataclass(frozen=True, slots=True)
class TopicTags:
    """The fields of some topics, with their tags, as one source lists them.

    Attributes:
        pattern: A Java regular expression that matches the whole names of these topics.
        fields: The fields.
        source: The name of the source, such as ``tags.yaml``.
    """

    pattern: str
    fields: tuple[TaggedField, ...]
    source: str

    def matches(self, topic: str) -> bool:
        """Returns True if the fields belong to ``topic``."""
        return topic_matches(self.pattern, topic)


def topic_matches(pattern: str, topic: str) -> bool:
    """Returns True if the Java regular expression ``pattern`` matches the whole name ``topic``."""
    return bool(compile_java(pattern).fullmatch(topic))


def value_field(steps: Steps, tags: Sequence[str], source: str) -> TaggedField:
    """Returns a field of a schema as a ``TaggedField`` with the tags ``tags``.

    The attribute ``decided`` of the result is False: a schema lists every field, so a field without tags may still need
    a tag.
    """
    return TaggedField("value", text_of(steps), tuple(Tag(t, source) for t in tags), False, steps)


def read_yaml(path: Path) -> Any:
    """Returns the parsed contents of the YAML file ``path``.

    Raises:
        ConfigError: SMT761 if the file cannot be read, or is not YAML.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        statement = (error.strerror or "it cannot be read").lower()
        raise ConfigError(Problem("SMT761", path.name, statement, f"check the path: {path}")) from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        raise ConfigError(Problem("SMT761", path.name, "it is not YAML", _HINT)) from None


def read_tags(path: Path) -> tuple[TopicTags, ...]:
    """Returns the tags in the file ``path``, which lists the paths of fields with their tags.

    .. code-block:: yaml

        topics:
          orders:                       # a regular expression for whole topic names
            value:
              customer.email: [PII.email]
              id: []                    # decided: the field needs no tag
            key: []                     # the same for the whole key
            headers: {user: [PII.name]}

    Raises:
        ConfigError: SMT760 if a path is wrong; SMT761 if the file cannot be read; SMT762 if the file has a different
            form.
    """
    data = read_yaml(path)
    topics = data.get("topics") if isinstance(data, Mapping) else None
    if not isinstance(topics, Mapping) or set(data) - {"topics"}:
        raise _wrong(path.name, "the file is not a mapping with the single key 'topics'")
    topics_tags = []
    for pattern, parts in topics.items():
        topics_tags.append(_topic(str(pattern), parts, path.name))
    return tuple(topics_tags)


def _topic(pattern: str, parts: Any, source: str) -> TopicTags:
    place = f"{source} {pattern}"
    try:
        compile_java(pattern)
    except ConfigError:
        raise _wrong(place, "the name of the topic is not a regular expression") from None
    if not isinstance(parts, Mapping):
        raise _wrong(place, "a topic has a mapping of value, key and headers")
    fields: list[TaggedField] = []
    for part, listed in parts.items():
        if part not in PARTS:
            hint = did_you_mean(str(part), PARTS)
            raise ConfigError(Problem("SMT762", place, f"a topic has no part '{part}'", hint))
        fields.extend(_fields(part, listed, f"{place} {part}", source))
    return TopicTags(pattern, tuple(fields), source)


def _fields(part: Part, listed: Any, place: str, source: str) -> Iterator[TaggedField]:
    if isinstance(listed, list) and part == "key":  # the whole key
        tags = _tags(listed, place, source)
        yield TaggedField(part, "", tags, not tags, ())
        return
    if not isinstance(listed, Mapping):
        raise _wrong(place, "fields are a mapping of paths to lists of tags")
    for path, texts in listed.items():
        tags = _tags(texts, f"{place} {path}", source)
        steps = (str(path),) if part == "headers" else path_steps(str(path), place)
        yield TaggedField(part, str(path), tags, not tags, steps)


def _tags(texts: Any, place: str, source: str) -> tuple[Tag, ...]:
    listed = [texts] if isinstance(texts, str) else texts
    if not isinstance(listed, list) or not all(isinstance(text, str) and text.strip() for text in listed):
        raise _wrong(place, "tags are a list of texts; [] says that the field needs no tag")
    return tuple(Tag(text.strip(), source) for text in listed)


def read_contract(path: Path) -> tuple[TopicTags, ...]:
    """Returns the tags in ``path``, a data contract (Open Data Contract Standard, version 3).

    Each object of the contract's schema describes a topic. The topic's name is the object's ``physicalName``, or its
    ``name`` if there is no ``physicalName``. The tags of a property are its ``tags``. The property's ``classification``
    also becomes a tag: for example, ``classification.confidential``.

    Raises:
        ConfigError: SMT761 if the file cannot be read; SMT762 if the file is not such a contract.
    """
    data = read_yaml(path)
    objects = data.get("schema") if isinstance(data, Mapping) else None
    version = str(data.get("apiVersion", "")) if isinstance(data, Mapping) else ""
    if not isinstance(objects, list) or not version.startswith("v3"):
        raise _wrong(path.name, "it is not a contract of the Open Data Contract Standard, version 3")
    topics = []
    for thing in objects:
        name = isinstance(thing, Mapping) and (thing.get("physicalName") or thing.get("name"))
        if not name:
            raise _wrong(path.name, "an object of the schema has no name")
        fields = tuple(_properties(thing, (), path.name))
        topics.append(TopicTags(name_pattern(str(name)), fields, path.name))
    return tuple(topics)


def _properties(thing: Mapping[str, Any], above: Steps, source: str) -> Iterator[TaggedField]:
    for one in thing.get("properties") or ():
        if not isinstance(one, Mapping) or not one.get("name"):
            raise _wrong(source, "a property of the schema has no name")
        steps = (*above, str(one["name"]))
        tags = []
        for tag in one.get("tags") or ():
            tags.append(str(tag))
        if one.get("classification"):
            tags.append(f"classification.{one['classification']}")
        items = one.get("items")
        inner = [*_properties(one, steps, source)]
        if isinstance(items, Mapping):
            inner += _properties(items, (*steps, EVERY), source)
        if tags or not inner:
            yield value_field(steps, tags, source)
        yield from inner


def _wrong(place: str, statement: str) -> ConfigError:
    return ConfigError(Problem("SMT762", place, statement, _HINT))
