"""Proposes columns for a topic, based on some of its records. A proposal shows names and types, but never a value."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dagster_smt.errors import Problem, TableError
from dagster_smt.interpret.observation import BROKEN, Observation, Values, observed, parsed
from dagster_smt.interpret.preview import Sample
from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.format import ARRAYS_AS_ROWS, REGISTERED
from dagster_smt.privacy.patterns import is_personal
from dagster_smt.tables.ddl_text import in_backticks
from dagster_smt.tables.proposal.encodings import Encoding, encoding_of
from dagster_smt.tables.proposal.proposed_types import Note, TypeProposal
from dagster_smt.tables.proposal.statement import statement_text

Columns = tuple[tuple[str, Schema], ...]
_SINGLE: Mapping[str, Type] = {
    "string": Type.STRING,
    "bytes": Type.BYTES,
    "short": Type.INT16,
    "integer": Type.INT32,
    "long": Type.INT64,
}
"""Maps a format to the type of its only column. In such a format, the whole key or value is one value, such as a
number.
"""
_PREFIX = "key_"


@dataclass
class Proposal:
    """A topic table that fits sampled records, with remarks for the user.

    Attributes:
        topics: The topics whose records were sampled.
        records: The number of records.
        key, value: The encodings of keys and values.
        columns: The columns of the value, followed by the columns of the key.
        options: The options for ``WITH``, except topics and servers.
        notes: Remarks about ambiguous fields, and about fields that differ between records.
        remarks: Remarks about the whole table.
        rows: True if values are arrays such as ``[{"id": 7}, {"id": 8}]``, and each element becomes a row.
    """

    topics: tuple[str, ...]
    records: int
    key: Encoding
    value: Encoding
    columns: Columns = ()
    options: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    rows: bool = False

    @property
    def origin(self) -> str:
        """The origin of the proposal, such as ``the last 100 records of orders``."""
        return f"the last {self.records} records of {', '.join(self.topics)}"

    def statement(self, name: str, place: Mapping[str, str]) -> str:
        """Returns the proposal as a ``CREATE TABLE`` statement.

        Args:
            name: The table's name.
            place: The options that locate the topics.
        """
        head = [
            f"Proposed by dagster-smt from {self.origin}: read it before you use it.",
            f"Values: {self.value.text}. Keys: {self.key.text}.",
            *self.remarks,
        ]
        options = {"connector": "kafka", **place, **self.options}
        return statement_text(name, self.columns, options, self.notes, head)


def propose(samples: Sequence[Sample], plain: Collection[str] = (), *, with_key: bool = True) -> Proposal:
    """Proposes a topic table for the records in ``samples``.

    Args:
        samples: The records.
        plain: Paths of fields whose strings stay strings, even if they look like times or decimals.
        with_key: True if the key also becomes columns.

    Raises:
        TableError: SMT539, there is no record with a value.
    """
    key, value = encoding_of([s.key for s in samples]), encoding_of([s.value for s in samples])
    if value.kind is None:
        hint = "look at a topic with records, or write the columns by hand"
        raise TableError(Problem("SMT539", "schema", "no record has a value to propose columns from", hint))
    proposal = Proposal(tuple(dict.fromkeys(s.topic for s in samples)), len(samples), key, value)
    if absent := sum(s.value is None for s in samples):
        what = "a dead letter in a table of columns unless the chain drops it (Filter with RecordIsTombstone)"
        proposal.remarks.append(f"{absent} of {len(samples)} values are null: each is {what}.")
    if value.kind == "json":
        _of_json(proposal, [s.value for s in samples], plain)
    elif value.kind in _SINGLE:
        proposal.columns = (("value", Schema(_SINGLE[value.kind], optional=True)),)
        proposal.options["value.format"] = "raw"
    else:
        if value.kind in REGISTERED:
            what = "name their schema"
        else:
            what = "bring their schema along"
        proposal.remarks.append(f"The values {what}: columns come with the records.")
    if with_key and proposal.columns:
        _of_key(proposal, samples)
    elif proposal.columns and key.kind is not None:
        proposal.remarks.append("The key is not a column here: dagster-smt schema also proposes columns for the key.")
    return proposal


def _of_json(proposal: Proposal, values: Sequence[bytes | None], plain: Collection[str]) -> None:
    """Adds the columns of JSON values to ``proposal``:

    - For objects, such as ``{"id": 7}``, the columns are the fields.
    - For arrays of objects, each object becomes a row, and the columns are the fields of the objects.
    - For all other values, there is one string column for the whole value. Objects whose field names differ from record
      to record also become one column.

    If the values differ, the most frequent JSON type determines the case.
    """
    observation = observed(values)
    proposal.options["value.format"] = "json"
    if observation.broken:
        proposal.remarks.append(
            f"{observation.broken} of {observation.total} values are not JSON: they would be dead letters."
        )
    groups = observation.whole.groups
    group = max(groups, key=lambda name: groups[name])
    whole = observation.whole
    if group == "arrays" and whole.items is not None and set(whole.items.groups) == {"objects"}:
        proposal.rows = True
        proposal.options[f"value.json.{ARRAYS_AS_ROWS}"] = "true"
        proposal.remarks.append(f"{groups[group]} values are arrays of objects: each object becomes a row.")
        # single objects between the arrays also become rows, so their fields count
        if groups["objects"]:
            whole.items.take(_part(whole, "object"))
        whole = whole.items
    elif group != "objects":
        _make_one_column(proposal)
        proposal.remarks.append(f"Most values are {group}, not objects with fields: each is one string.")
        return
    _note_misfits(proposal, observation)
    types = TypeProposal(plain)
    schema = types.schema(_part(whole, "object"))
    if schema is not None and schema.type is Type.STRUCT:
        proposal.columns = schema.fields
    else:
        proposal.columns = ()
    if schema is not None and schema.type is Type.MAP:
        _make_one_column(proposal)
        proposal.remarks.append("The names in the values differ from record to record: each value is one string.")
    proposal.notes = types.notes


def _make_one_column(proposal: Proposal) -> None:
    """Changes ``proposal``: the table gets one string column for the whole value."""
    proposal.options["value.format"] = "raw"
    proposal.columns = (("value", Schema(Type.STRING, optional=True)),)


def _part(observation: Observation, kind: str) -> Observation:
    """Returns the counts and fields in ``observation`` for values of one JSON type, ``kind``, such as ``object``."""
    return Observation(kinds=type(observation.kinds)({kind: observation.kinds[kind]}), fields=observation.fields)


def _note_misfits(proposal: Proposal, observation: Values) -> None:
    """Adds remarks to ``proposal`` about the values that cannot become rows, because they are not objects.

    An example is ``3 of 100 values are numbers``. A JSON null is treated as a null value, so it gets no remark.
    """
    fitting = {"objects", "arrays"} if proposal.rows else {"objects"}
    odd = []
    for group, count in observation.whole.groups.items():
        if group not in fitting:
            odd.append((group, count))
    for group, count in odd:
        proposal.remarks.append(
            f"{count} of {observation.total} values are {group}, no objects: they would be dead letters."
        )


def _of_key(proposal: Proposal, samples: Sequence[Sample]) -> None:
    """Adds the columns of the key to ``proposal``. The records in ``samples`` contain the keys.

    If keys are JSON objects, each field becomes a column. If keys have a format for single values, such as ``string``,
    the key becomes one column, unless a field of the value always equals the key. Keys in any other format become no
    columns.
    """
    kind = proposal.key.kind
    if kind is None:
        return
    if kind in _SINGLE:
        same = _field_with_key(samples)
        if same:
            proposal.remarks.append(f"The key equals the value's field {same}, so it is not a separate column.")
            return
        name = "key" if "key" not in dict(proposal.columns) else "record_key"
        column = Schema(_SINGLE[kind], optional=True)
        proposal.columns = (*proposal.columns, (name, column))
        proposal.options |= {"key.format": "raw", "key.fields": _listed([name]), "value.fields-include": "EXCEPT_KEY"}
        return
    if kind == "json":
        _of_json_key(proposal, samples)
        return
    proposal.remarks.append(
        f"The key ({kind}) is not a column: set key.format, key.fields and a registry's address to make it one."
    )


def _of_json_key(proposal: Proposal, samples: Sequence[Sample]) -> None:
    types = TypeProposal()
    schema = types.schema(_part(observed([s.key for s in samples]).whole, "object"))
    if schema is None or schema.type is not Type.STRUCT or not schema.fields:
        return
    prefix = _PREFIX
    while any(prefix + name in dict(proposal.columns) for name, _ in schema.fields):
        prefix = f"record_{prefix}"
    names = []
    for name, _ in schema.fields:
        names.append(prefix + name)
    proposal.columns = (*proposal.columns, *zip(names, (child for _, child in schema.fields), strict=True))
    proposal.notes += [Note(prefix + note.path, note.text, note.misfits) for note in types.notes]
    proposal.options |= {
        "key.format": "json",
        "key.fields": _listed(names),
        "key.fields-prefix": prefix,
        "value.fields-include": "EXCEPT_KEY",
    }


def _listed(names: Sequence[str]) -> str:
    """Joins ``names`` with semicolons for the option ``key.fields``, such as ``id;country``. Unusual names get
    backticks.
    """
    parts = []
    for name in names:
        plain = name == name.strip() and name and not set(name) & set(";`")
        parts.append(name if plain else in_backticks(name))
    return ";".join(parts)


def _field_with_key(samples: Sequence[Sample]) -> str:
    """Returns the name of a field of the value that always equals the record's key. Returns an empty string if there is
    no such field.

    The field must equal the key in every sample with a key and a JSON object. Field names that look like personal data
    are skipped.
    """
    candidates: set[str] | None = None
    for sample in samples:
        if sample.key is None or sample.value is None:
            continue
        data = parsed(sample.value)
        if not isinstance(data, dict):
            continue
        same = set()
        for name, inside in data.items():
            if _is_key(inside, sample.key) and not is_personal(name):
                same.add(name)
        candidates = same if candidates is None else candidates & same
    if candidates:
        return below("", sorted(candidates)[0])
    return ""


def _is_key(value: Any, key: bytes) -> bool:
    if value is None or isinstance(value, (bool, dict, list)) or value is BROKEN:
        return False
    # Kafka's serializers of short, integer and long write 2, 4 and 8 bytes in big-endian order
    if isinstance(value, int) and len(key) in (2, 4, 8) and int.from_bytes(key, "big", signed=True) == value:
        return True
    return str(value).encode("utf-8", "surrogatepass") == key
