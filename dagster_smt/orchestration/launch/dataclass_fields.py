"""Derives fields of a run config from dataclasses.

An option of a window or of micro-batches is declared only in its dataclass. There it is a field, with a line under
``Attributes:`` in the docstring. The config field gets its type, default and description from the dataclass.
"""

from collections.abc import Collection
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import dagster as dg

from dagster_smt.orchestration.docstrings import attribute_docs


def config_fields(cls: type, omit: Collection[str] = ()) -> dict[str, dg.Field]:
    """Returns the fields of a dataclass as fields of a run config.

    Args:
        cls: The dataclass. Each field is a flag, a number or a string, and may permit None.
        omit: Fields that have a different form in a run config.
    """
    hints, docs = get_type_hints(cls), attribute_docs(cls)
    config: dict[str, dg.Field] = {}
    for field in fields(cls):
        if field.name in omit:
            continue
        default = {} if field.default is MISSING else {"default_value": field.default}
        config[field.name] = dg.Field(_config_type(hints[field.name]), description=docs.get(field.name), **default)
    return config


def _config_type(hint: Any) -> Any:
    """Returns Dagster's config type for ``hint``, the type of a dataclass field. ``hint`` is the type of a flag, a
    number or a string, such as ``int``. It may also permit None, as in ``int | None``.
    """
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    (kind,) = [part for part in parts if part is not NoneType]
    if NoneType in parts:
        return dg.Noneable(kind)
    return kind
