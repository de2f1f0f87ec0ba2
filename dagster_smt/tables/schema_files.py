"""Reads Avro and Protobuf schemas from files next to a topic table."""

import base64
from dataclasses import replace
from pathlib import Path

from dagster_smt.errors import ConfigError, Problem
from dagster_smt.formats.fixed_schema import described
from dagster_smt.model.topics.format import Format

_FILES = {"schema": ".avsc", "descriptor": ".desc"}


def with_files(form: Format, folder: Path) -> Format:
    """Returns ``form`` with the content of the schema file that its options name: an Avro ``.avsc`` file, or a
    ``.desc`` file from ``protoc``.

    Args:
        form: The format.
        folder: The folder in which a relative file path begins.

    Raises:
        ConfigError: SMT273, a file cannot be read.
    """
    options = form.settings
    for option, ending in _FILES.items():
        if options.get(option, "").endswith(ending):
            path = folder / options[option]
            try:
                data = path.read_bytes()
                # options are strings, but a descriptor from protoc is binary
                options[option] = data.decode() if option == "schema" else base64.b64encode(data).decode()
            except (OSError, UnicodeDecodeError):
                place, hint = f"{form.kind}.{option}", "give the path of a file"
                raise ConfigError(Problem("SMT273", place, f"{path} cannot be read", hint)) from None
    return replace(form, options=options)


def with_schema(form: Format) -> Format:
    """Returns ``form``, a format such as ``avro`` or ``protobuf``, with its schema. The options of ``form`` contain the
    schema itself, or the name of a file with the schema.

    Formats without such options are returned unchanged.

    Raises:
        ConfigError: SMT273, the file does not exist, or it is not a schema.
    """
    if not form.described or form.schema is not None:
        return form
    form = with_files(form, Path())
    description = described(form)
    if description is None:
        return form
    return replace(form, schema=description.schema)
