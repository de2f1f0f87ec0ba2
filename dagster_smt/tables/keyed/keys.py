"""Determines the key columns of a table from the schemas of a plan, without Spark."""

from collections.abc import Mapping
from dataclasses import dataclass

from dagster_smt.chain import Plan
from dagster_smt.errors import PlanError, Problem
from dagster_smt.model.caseless import caseless
from dagster_smt.model.schema import Schema, Type
from dagster_smt.model.topics.keyed import KeyedRows

WHOLE_KEY = "value"
"""The name of the field in the struct ``__key`` that contains the whole key, if a record's key is not a struct."""
_ORDERED = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.STRING)


@dataclass(frozen=True)
class KeyColumns:
    """The key columns of a table, and their location in a record.

    Attributes:
        names: The names, in order.
        from_key: Maps a key column to a field of the record's key, such as ``{"id": "id"}``.
        in_value: The key columns that are also fields of the record's value.
        is_whole: True if the record's key is a single value, not a struct, and this value is the only key column.
    """

    names: tuple[str, ...]
    from_key: Mapping[str, str]
    in_value: frozenset[str]
    is_whole: bool = False


def key_columns(plan: Plan, keyed: KeyedRows) -> KeyColumns:
    """Returns the key columns of a table for the records that ``plan`` describes.

    Args:
        plan: The plan of the chain. It contains the schemas after the chain, and must have a schema for the values.
        keyed: The mode of the table and its options.

    Raises:
        PlanError: SMT701: the record's key has no fields; SMT702: the column does not exist; SMT703: the value is not a
            struct; SMT704: the chain already has a column that the mode adds; SMT705: the type of ``sequence_by`` has
            no order.
    """
    value, key = plan.after, plan.key_after
    if value is None or value.type is not Type.STRUCT:
        hint = "make a struct in the chain (HoistField), or use mode='append'"
        raise PlanError(Problem("SMT703", "mode", f"mode '{keyed.mode}' needs values that are structs", hint))
    problems = [*_missing(value, keyed), *_clashes(value, keyed), *_unordered(value, keyed)]
    fields = _key_fields(key)
    # a key that is a single value becomes the only key column, whatever the column's name
    is_whole = key is not None and key.type is not Type.STRUCT and len(keyed.keys) == 1
    if keyed.keys:
        names = keyed.keys
        for name in names:
            if name not in value.by_name and name not in fields and not is_whole:
                problems.append(_no_column("keys", name, value))
    else:
        names = tuple(fields)
        if key is None or key.type is not Type.STRUCT:
            hint = "name the key columns: keys=['id']; or declare the format of the record's key with its fields"
            problems.append(Problem("SMT701", "keys", "the record's key has no fields that could be columns", hint))
    if problems:
        raise PlanError(problems)
    from_key = {}
    for name in names:
        if name in fields:
            from_key[name] = name
    if is_whole:
        from_key = {names[0]: WHOLE_KEY}
    return KeyColumns(names, from_key, frozenset(names) & frozenset(value.by_name), is_whole)


def key_names(keyed: KeyedRows, key: Schema | None) -> tuple[str, ...]:
    """Returns the names of a table's key columns: the names in the option ``keys``, such as ``("id",)``. If the option
    is empty, the names are the field names of the record's key.

    Args:
        keyed: The mode of the table and its options.
        key: The schema of the record's key after the chain.
    """
    return keyed.keys or _key_fields(key)


def _key_fields(key: Schema | None) -> tuple[str, ...]:
    if key is None or key.type is not Type.STRUCT:
        return ()
    return tuple(key.by_name)


def _missing(value: Schema, keyed: KeyedRows) -> list[Problem]:
    problems = []
    if keyed.sequence_by and keyed.sequence_by not in value.by_name:
        problems.append(_no_column("sequence_by", keyed.sequence_by, value))
    for name in keyed.track:
        if name not in value.by_name:
            problems.append(_no_column("track", name, value))
    return problems


def _no_column(option: str, name: str, value: Schema) -> Problem:
    columns = ", ".join(list(value.by_name)[:10])
    return Problem("SMT702", f"{option}: {name}", "the chain makes no such column", f"it makes: {columns}")


def _clashes(value: Schema, keyed: KeyedRows) -> list[Problem]:
    """Returns a problem for each column of ``value`` whose name the table's mode needs for a column of its own.

    For example, the mode ``scd2`` adds the column ``valid_from``, so ``value`` must not have a column ``valid_from``.
    """
    own = set(map(caseless, keyed.added_columns))
    problems = []
    for name in value.by_name:
        if caseless(name) in own:
            statement = f"mode '{keyed.mode}' adds a column of this name, and the chain makes one"
            problems.append(Problem("SMT704", name, statement, "rename it in the chain, or name the mode's columns"))
    return problems


def _unordered(value: Schema, keyed: KeyedRows) -> list[Problem]:
    schema = value.by_name.get(keyed.sequence_by)
    if schema is None or schema.type in _ORDERED or schema.logical == "Decimal":
        return []
    hint = "choose a number, a timestamp, or a string that sorts in the order of the events"
    return [Problem("SMT705", f"sequence_by: {keyed.sequence_by}", "values of this type have no order", hint)]
