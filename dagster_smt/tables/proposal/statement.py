"""Writes a proposed topic table as a ``CREATE TABLE`` statement, with its notes as comments above the columns."""

from collections.abc import Iterable, Mapping, Sequence

from dagster_smt.model.paths.extended import below
from dagster_smt.model.schema import Schema
from dagster_smt.tables.ddl_text import column_text, quoted_name
from dagster_smt.tables.proposal.proposed_types import Note
from dagster_smt.visible import visible


def statement_text(
    name: str,
    columns: Sequence[tuple[str, Schema]],
    options: Mapping[str, str],
    notes: Iterable[Note] = (),
    head: Iterable[str] = (),
) -> str:
    """Returns a ``CREATE TABLE`` statement with ``columns``, ``options`` and remarks.

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
        own = []
        for note in left:
            if _is_in(note.path, below("", column)):
                own.append(note)
        left = [note for note in left if note not in own]
        comments = []
        for note in own:
            comments.append(f"  {_comment(f'{note.path} {note.text}')}\n")
        above = "".join(comments)
        body.append(f"{above}  {column_text(column, schema)}")
    for note in left:
        lines.append(_comment(f"{note.path} {note.text}".strip()))
    texts = []
    for key, value in options.items():
        texts.append(f"  {_quoted(key)} = {_quoted(value)}")
    settings = ",\n".join(texts)
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
