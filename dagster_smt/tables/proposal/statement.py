"""A proposed topic table as a ``CREATE TABLE`` statement, with its notes as comments above the columns."""

from collections.abc import Iterable, Mapping, Sequence

from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Schema
from dagster_smt.tables.ddl_text import column_text, quoted_name
from dagster_smt.tables.proposal.types import Note
from dagster_smt.visible import visible


def statement_text(
    name: str,
    columns: Sequence[tuple[str, Schema]],
    options: Mapping[str, str],
    notes: Iterable[Note] = (),
    head: Iterable[str] = (),
) -> str:
    """Returns the statement.

    Args:
        name: The table's name.
        columns: Names and types, in order.
        options: The options in ``WITH``.
        notes: Remarks about columns and their fields.
        head: Remarks about the whole table.
    """
    left = list(notes)
    lines = [_comment(text) for text in head]
    body: list[str] = []
    for column, schema in columns:
        own = [note for note in left if _is_in(note.path, below("", column))]
        left = [note for note in left if note not in own]
        above = "".join(f"  {_comment(f'{note.path} {note.text}')}\n" for note in own)
        body.append(f"{above}  {column_text(column, schema)}")
    lines += [_comment(f"{note.path} {note.text}".strip()) for note in left]
    settings = ",\n".join(f"  {_quoted(key)} = {_quoted(value)}" for key, value in options.items())
    return (
        "\n".join([*lines, f"CREATE TABLE {quoted_name(name)} (", ",\n".join(body), ") WITH (", settings, ")"]) + "\n"
    )


def _is_in(path: str, column: str) -> bool:
    return path == column or path.startswith((f"{column}.", f"{column}[", f"{column}{{"))


def _comment(text: str) -> str:
    return f"-- {visible(text)}"


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
