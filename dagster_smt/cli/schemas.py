"""Schemas as given on the command line."""

import json
from pathlib import Path

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.model.schema import Schema


def read_schema(text: str | None) -> Schema | None:
    """A schema from a DDL string, from a ``.sql`` file of one, or from a ``.json`` file of Connect schema JSON."""
    if not text:
        return None
    path = Path(text)
    if path.suffix == ".json":
        from dagster_smt.interpret.codec import resolve_defaults
        from dagster_smt.model.format import Format
        from dagster_smt.model.schema_json import schema_from_json

        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConfigError(Problem("SMT003", path.name, f"the file is no valid json: {error}")) from error
        return resolve_defaults(schema_from_json(data, place=path.name), Format())
    from dagster_smt.tables.ddl import parse_ddl

    if path.suffix == ".sql":
        return parse_ddl(path.read_text(encoding="utf-8"), place=path.name)
    return parse_ddl(text)
