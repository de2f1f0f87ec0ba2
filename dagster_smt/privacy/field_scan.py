"""Searches sampled records for personal fields. The results are paths, kinds of values and counts, but never values."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from dagster_smt.authoring.stage import Chain
from dagster_smt.interpret.leaves import parsed
from dagster_smt.interpret.preview import RecordSnapshot, Sample, preview
from dagster_smt.model.paths.steps import Step
from dagster_smt.model.schema import Schema
from dagster_smt.model.topics.format import Format
from dagster_smt.privacy.field_paths import EVERY, Steps, covers, path_steps, text_of, value_paths
from dagster_smt.privacy.patterns import KINDS, kinds_in, tag_of_name
from dagster_smt.privacy.policy import NO_TAG, Decision
from dagster_smt.privacy.tags import Part

_DATA = "[*]"
"""The text that replaces a field name in the schemas of reports if the name looks like personal data."""

MOST_NAMES = 200
"""The largest number of names in an object that are still treated as field names. If an object has more names, they are
data, such as user names.
"""


@dataclass
class FieldScan:
    """The result of scanning one field in sampled records.

    Attributes:
        part: The part of the record.
        steps: The path of the field.
        values: The number of values that are not null.
        kinds: Maps each kind of personal value to the number of the field's values that contain such a value:
            ``{"e-mail": 12}``.
    """

    part: Part
    steps: Steps
    values: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def path(self) -> str:
        """The path of the field as a string. For a header, it is the name of the header. For a whole key, it is an
        empty string.
        """
        if self.part == "headers" and isinstance(self.steps[0], str):
            return self.steps[0]
        return text_of(self.steps)

    @property
    def personal(self) -> tuple[str, ...]:
        """The kinds of personal values, such as ``e-mail``, that enough values of the field contain. For some kinds one
        value is enough; for others a share of the values is required.
        """
        likely = []
        for kind, count in self.kinds.items():
            # numbers of orders pass the checksum of cards by chance, so a single such value must not suggest a tag
            if count >= KINDS[kind].share * self.values:
                likely.append(kind)
        return tuple(sorted(likely))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags to propose for the field, such as ``PII.email``. If enough values of the field contain personal
        values, such as e-mail addresses, the kinds of these values determine the tags (see ``personal``). Otherwise the
        field's name determines the tag. The result is empty if the name suggests no tag.
        """
        tags = dict.fromkeys(KINDS[kind].tag for kind in self.personal)
        names = [step for step in self.steps if isinstance(step, str)]
        if not tags and names and (tag := tag_of_name(names[-1])):
            tags[tag] = None
        return tuple(tags)


def _nothing(text: str) -> Iterator[str]:
    return iter(())


def scan(
    samples: Iterable[Sample], key: Format, value: Format, more: Callable[[str], Iterator[str]] = _nothing
) -> list[FieldScan]:
    """Scans ``samples``, and returns their fields in the order of their first appearance.

    A field name that looks personal, such as an e-mail address, becomes ``[*]`` in the path. An object with more than
    ``MOST_NAMES`` names is treated as a map with data as its keys, so all its names also become ``[*]``. For example,
    ``{"users": {"ann@example.org": 1}}`` gives the field ``users[*]``, and ``kinds`` of the field ``users`` counts an
    e-mail address.

    Args:
        samples: The records.
        key, value: The formats of the records' keys and values.
        more: A function that yields further kinds of personal values in a string. It is called only for strings in
            which no pattern has a match.
    """
    fields: dict[tuple[Part, Steps], FieldScan] = {}
    for _, steps in preview(Chain(()), samples, key, value):
        record = steps[0].record
        for part, path, content in _contents(record) if record is not None else ():
            for at, kinds in _personal_names(path):
                around = fields.setdefault((part, path[:at]), FieldScan(part, path[:at]))
                around.values += 1
                around.kinds.update(kinds)
            path = fields_only(path)
            one = fields.setdefault((part, path), FieldScan(part, path))
            if content is None:
                continue
            one.values += 1
            if isinstance(content, str):
                # ``more`` is asked last, because Presidio needs milliseconds for each text
                one.kinds.update(list(kinds_in(content)) or more(content))
    return _without_data(list(fields.values()))


def _contents(record: RecordSnapshot) -> Iterator[tuple[Part, Steps, Any]]:
    for name, header in record.headers:
        # the name would appear in the output, and a header has no other name to show
        if not any(kinds_in(name)):
            yield "headers", (name,), header
    sides: tuple[tuple[Part, str | None], ...] = (("key", record.key), ("value", record.value))
    for part, text in sides:
        whole = parsed(text) if text is not None else None
        # a value without fields cannot be tagged, but a key can: "key: []" is a decision about the whole key
        if part == "key" and text is not None and not isinstance(whole, dict):
            yield part, (), str(whole)
        for steps, content in value_paths(whole):
            if steps:
                yield part, steps, content


def _personal_names(steps: Steps) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Finds names in the path ``steps`` that look personal. For ``("users", "ann@example.org")``, yields
    ``(1, ("e-mail",))``: the position of the name, and the kinds of personal values in it.
    """
    for at, step in enumerate(steps):
        kinds = tuple(kinds_in(step)) if isinstance(step, str) else ()
        if kinds:
            yield at, kinds


def fields_only(steps: Steps) -> Steps:
    """Returns the path ``steps`` with ``[*]`` in place of names that look like personal data. For example,
    ``("users", "ann@example.org")`` becomes ``("users", EVERY)``, which is the path ``users[*]``.

    Such a name is the key of a map, not the name of a field.
    """
    field_steps = []
    for step in steps:
        field_steps.append(EVERY if isinstance(step, str) and _is_data(step) else step)
    return tuple(field_steps)


def _is_data(name: str) -> bool:
    return name == _DATA or any(kinds_in(name))


def schema_without_data(schema: Schema) -> Schema:
    """Returns ``schema`` for reports, with ``[*]`` in place of names that look like personal data.

    Such names occur if a producer turns a map into a struct, so that the map's keys become fields. If several fields of
    a struct have such names, the result contains only the first of them.
    """
    fields: dict[str, Schema] = {}
    for name, child in schema.fields:
        fields.setdefault(_DATA if _is_data(name) else name, schema_without_data(child))
    values = None if schema.values is None else schema_without_data(schema.values)
    return replace(schema, fields=tuple(fields.items()), values=values)


def _without_data(fields: list[FieldScan]) -> list[FieldScan]:
    """Returns ``fields``, with the fields of huge objects joined. If an object has more than ``MOST_NAMES`` names, its
    names are data. All its fields then become one field with the name ``[*]``.
    """
    names: dict[tuple[Part, Steps], set[Step]] = {}
    for one in fields:
        for at, step in enumerate(one.steps):
            names.setdefault((one.part, one.steps[:at]), set()).add(step)
    joined: dict[tuple[Part, Steps], FieldScan] = {}
    for one in fields:
        short_steps = []
        for at, step in enumerate(one.steps):
            short_steps.append(EVERY if len(names[one.part, one.steps[:at]]) > MOST_NAMES else step)
        steps = tuple(short_steps)
        same = joined.setdefault((one.part, steps), FieldScan(one.part, steps))
        same.values += one.values
        same.kinds.update(one.kinds)
    return list(joined.values())


def new_personal(fields: Iterable[FieldScan], decisions: Sequence[Decision]) -> dict[str, tuple[str, ...]]:
    """Finds fields of the record's value that look personal, although the policy has no decision about them.

    Args:
        fields: The scanned fields.
        decisions: The decisions of a policy.

    Returns:
        A dict from the path of each such field to the kinds of its values, such as ``{"note": ("e-mail",)}``.
    """
    decided = []
    for decision in decisions:
        if decision.part == "value" and decision.reason != NO_TAG:
            decided.append(path_steps(decision.path, ""))
    personal = {}
    for one in fields:
        is_new = one.part == "value" and not any(covers(path, one.steps) for path in decided)
        if is_new and one.personal:
            personal[one.path] = one.personal
    return personal


def tags_file(topic: str, fields: Sequence[FieldScan], records: int, before: Mapping[str, Any] | None = None) -> str:
    """Returns the text of a tags file that contains the proposed tags. Entries that are already in the file stay
    unchanged.

    Args:
        topic: A regular expression for the topic.
        fields: The scanned fields.
        records: The number of sampled records.
        before: The contents of the file so far.
    """
    topics = {str(name): dict(parts) for name, parts in ((before or {}).get("topics") or {}).items()}
    parts = topics.setdefault(topic, {})
    for one in fields:
        if one.part == "key" and not one.steps:
            parts.setdefault("key", list(one.tags))
            continue
        if one.part == "value" and (not one.steps or one.steps[0] is EVERY):
            continue  # a path of this kind would match every field
        listed = parts.setdefault(one.part, {})
        if isinstance(listed, dict):
            listed.setdefault(one.path, list(one.tags))
    head = (
        f"# Proposed by `dagster-smt scan` from {records} records. Read every line before a policy uses this file:\n"
        "# [] says that somebody has decided that the field needs no tag.\n"
    )
    # default_flow_style=None writes the lists of tags on one line: [PII.email]
    return head + yaml.safe_dump({"topics": topics}, sort_keys=False, allow_unicode=True, default_flow_style=None)
