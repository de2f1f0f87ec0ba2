"""Derives the models of ``defs.yaml`` from dataclasses, and converts the data of a model back into its dataclass.

An option of a source, a sink or the checks is declared only in its dataclass. There it is a field, with a line under
``Attributes:`` in the docstring. ``model_of`` takes the type, the default and the description from the dataclass, so a
new option needs no code in this module. For a type that YAML cannot express, a ``ConfigSpelling`` describes how users
write its values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import reduce
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import dagster as dg
import pydantic

from dagster_smt.orchestration.docstrings import attribute_docs, summary_of

T = TypeVar("T")


@dataclass(frozen=True)
class ConfigSpelling:
    """The way in which users write the values of a Python type in ``defs.yaml``. For example, they write a ``Format``
    as YAML with the fields of ``FormatModel``.

    Attributes:
        type: The type that the model has instead of the Python type, such as ``FormatModel``.
        read: Converts a value of the model into a value of the dataclass. Its arguments are the value of the model, the
            folder of ``defs.yaml``, and the location for messages.
        write: Converts the default of the dataclass into the default of the model.
    """

    type: Any
    read: Callable[[Any, Path, str], Any]
    write: Callable[[Any], Any] = lambda value: value


Spellings = Mapping[type, ConfigSpelling]
Examples = Mapping[type, Mapping[str, list[Any]]]


def model_of(
    cls: type,
    spellings: Spellings,
    *,
    inline: Sequence[type] = (),
    examples: Examples | None = None,
    own: Mapping[str, tuple[Any, Any]] | None = None,
) -> type[dg.Model]:
    """Returns the model of ``defs.yaml`` that has the fields of the dataclass ``cls``.

    Args:
        cls: The dataclass. The first paragraph of its docstring describes the model.
        spellings: Maps a type to its ``ConfigSpelling``, if users write its values differently in ``defs.yaml`` than in
            Python.
        inline: Dataclasses to flatten. If a field of ``cls`` has one of these types, the model has the fields of that
            dataclass in place of the field.
        examples: Maps a class (``cls`` or one of its base classes) to a dict from field name to examples.
        own: Additional fields of the model, as a dict from name to a pair of a type and a ``pydantic.Field``. A field
            with the same name in ``cls`` is replaced.
    """
    definitions = {**_definitions(cls, spellings, inline, examples or {}), **(own or {})}
    # mypy does not know the signature of create_model with fields as a dictionary
    return pydantic.create_model(  # type: ignore[call-overload]
        f"{cls.__name__}Model", __base__=dg.Model, __doc__=summary_of(cls), **definitions
    )


def choice_of(name: str, doc: str, options: Mapping[str, tuple[Any, str, list[Any] | None]]) -> type[dg.Model]:
    """Returns a model with one field for each option. All of these fields are optional.

    Args:
        name: The name of the model.
        doc: The description of the model.
        options: Maps the name of each option to its type, description and examples.
    """
    definitions = {}
    for option, (kind, description, examples) in options.items():
        definitions[option] = (kind | None, pydantic.Field(default=None, description=description, examples=examples))
    return pydantic.create_model(name, __base__=dg.Model, __doc__=doc, **definitions)  # type: ignore[call-overload]


def instance_of(
    cls: type[T],
    data: Mapping[str, Any],
    spellings: Spellings,
    folder: Path,
    place: str,
    *,
    inline: Sequence[type] = (),
) -> T:
    """Returns an instance of the dataclass ``cls``, created from the data of its model.

    Args:
        cls: The dataclass.
        data: The dumped model.
        spellings: Maps a type to its ``ConfigSpelling``, as in ``model_of``.
        folder: The folder of ``defs.yaml``.
        place: The location of the data, for messages.
        inline: The dataclasses whose fields are fields of the model, as in ``model_of``.

    Raises:
        ConfigError: A value is wrong.
    """
    hints = get_type_hints(cls)
    arguments: dict[str, Any] = {}
    for field in _init_fields(cls):
        if hints[field.name] in inline:
            arguments[field.name] = instance_of(hints[field.name], data, spellings, folder, place)
        elif field.name in data:
            value = data[field.name]
            spelling = _spelling(hints[field.name], spellings)
            if spelling is not None and value is not None:
                value = spelling.read(value, folder, f"{place}.{field.name}")
            arguments[field.name] = value
    return cls(**arguments)


def _definitions(
    cls: type, spellings: Spellings, inline: Sequence[type], examples: Examples
) -> dict[str, tuple[Any, Any]]:
    """Maps the name of each field of the model for ``cls`` to a pair of its type and its ``pydantic.Field``. The
    function ``pydantic.create_model`` accepts such pairs.
    """
    hints, docs = get_type_hints(cls), attribute_docs(cls)
    shown: dict[str, list[Any]] = {}
    # base classes come first, so that examples of a subclass replace those of its base
    for base in reversed(cls.__mro__):
        shown |= examples.get(base, {})
    definitions: dict[str, tuple[Any, Any]] = {}
    for field in _init_fields(cls):
        hint = hints[field.name]
        if hint in inline:
            definitions |= _definitions(hint, spellings, (), examples)
            continue
        more: dict[str, Any] = {"description": docs.get(field.name), "examples": shown.get(field.name)}
        if field.default_factory is not MISSING:
            more["default_factory"] = _default_factory(field, _spelling(hint, spellings))
        elif field.default is not MISSING:
            more["default"] = _written(field.default, _spelling(hint, spellings))
        definitions[field.name] = (_model_type(hint, spellings), pydantic.Field(**more))
    return definitions


def _init_fields(cls: type) -> list[Field[Any]]:
    return [field for field in fields(cls) if field.init]


def _default_factory(field: Field[Any], spelling: ConfigSpelling | None) -> Callable[[], Any]:
    factory = field.default_factory
    assert factory is not MISSING
    return lambda: _written(factory(), spelling)


def _written(default: Any, spelling: ConfigSpelling | None) -> Any:
    if spelling is None or default is None:
        return default
    return spelling.write(default)


def _spelling(hint: Any, spellings: Spellings) -> ConfigSpelling | None:
    """Returns the entry of ``spellings`` for the type ``hint``; None if there is no entry.

    If ``hint`` is a union, such as ``Format | None``, returns the entry of the first member that has an entry.
    """
    parts = get_args(hint) if _is_union(hint) else (hint,)
    for part in parts:
        if isinstance(part, type) and part in spellings:
            return spellings[part]
    return None


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _model_type(hint: Any, spellings: Spellings) -> Any:
    """Returns the type that a field of the model has, if the dataclass field has the type ``hint``.

    For example, a ``Path`` becomes ``str``, because YAML has no paths. A collection becomes a collection of YAML types.
    """
    spelling = _spelling(hint, spellings)
    if _is_union(hint):
        parts = []
        for part in get_args(hint):
            if part is not Path:
                parts.append(part)
        return reduce(or_, [_model_type(part, spellings) for part in parts])
    if spelling is not None:
        return spelling.type
    arguments = []
    for part in get_args(hint):
        if part is not Ellipsis:
            arguments.append(_model_type(part, spellings))
    if get_origin(hint) is Literal or hint is NoneType:
        return hint
    if get_origin(hint) is not None and issubclass(get_origin(hint), Mapping):
        return dict[arguments[0], arguments[1]]  # type: ignore[valid-type]
    if get_origin(hint) is tuple:
        return Sequence[arguments[0]]  # type: ignore[valid-type]
    return hint
